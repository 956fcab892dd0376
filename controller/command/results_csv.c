/* Owns how a flat record becomes a line of CSV, by its table. Knows no column by name. */
#include "controller/command/results_csv.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Where a walk over a record's fields is: commas go between. */
struct line {
    struct buf *out;
    bool begun;
};

/* A spreadsheet takes what begins with these for a formula. */
static bool looks_like_formula(const char *text)
{
    return *text != '\0' && strchr("=+-@\t\r", *text) != NULL;
}

static void put_text(struct buf *out, const char *text)
{
    bool formula = looks_like_formula(text);

    if (!formula && strpbrk(text, ",\"\r\n") == NULL) {
        buf_text(out, text);
        return;
    }
    buf_text(out, formula ? "\"'" : "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"')
            buf_text(out, "\"");
        buf_append(out, text, 1);
    }
    buf_text(out, "\"");
}

static void put_value(struct buf *out, const struct field *field, const void *at)
{
    switch (field->type) {
    case FIELD_BOOL:
        buf_text(out, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_INT:
        if (*(const int64_t *)at != NONE_INT)
            buf_printf(out, "%lld", (long long)*(const int64_t *)at);
        break;
    case FIELD_REAL:
        if (!isnan(*(const double *)at))
            buf_printf(out, "%.12g", *(const double *)at);
        break;
    case FIELD_TEXT:
        put_text(out, at);
        break;
    case FIELD_ENUM:
        buf_text(out, field->names[*(const int *)at]);
        break;
    case FIELD_RECORD:
    case FIELD_INLINE:
    case FIELD_NAMED:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
    case FIELD_BYTES:
        assert(false && "a line of CSV has no such value");
    }
}

/* Without an object, the names. */
static void put_fields(struct line *line, const struct record *record, const void *object,
                       const char *prefix)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        const void *at = object == NULL ? NULL : (const char *)object + field->offset;

        if (field->type == FIELD_RECORD || field->type == FIELD_INLINE) {
            put_fields(line, field->record, at, field->type == FIELD_RECORD ? field->name : prefix);
            continue;
        }
        if (line->begun)
            buf_text(line->out, ",");
        line->begun = true;
        if (at == NULL)
            buf_printf(line->out, "%s%s%s", prefix, *prefix != '\0' ? "." : "", field->name);
        else
            put_value(line->out, field, at);
    }
}

void results_csv(const struct record *record, const struct list *rows, struct buf *out_text)
{
    struct line names = { .out = out_text };

    put_fields(&names, record, NULL, "");
    buf_text(out_text, "\r\n");
    for (size_t i = 0; i < rows->count; i++) {
        struct line line = { .out = out_text };

        put_fields(&line, record, (const char *)rows->items + i * record->size, "");
        buf_text(out_text, "\r\n");
    }
}
