/* Owns what --help prints of a command. Must not know any command in particular, nor parse. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/command/options.h"
#include "proto/base/buf.h"

enum { WIDTH = 100, FLAG_COLUMN_MAX = 30, DESCRIPTION_CAP = 8192, ALLOWED_SIZE = 256 };

/* Prints words from `column` on, every further line from `indent` on. */
static void print_wrapped(const char *text, size_t column, size_t indent)
{
    bool first = true;

    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        size_t room = WIDTH - indent;

        if (length > room)
            length = room; /* a word longer than a line is cut into lines */
        if (!first && column + 1 + length > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
        first = false;
    }
    putchar('\n');
}

static void print_lines(const char *text)
{
    char line[1024];

    while (*text != '\0') {
        size_t length = strcspn(text, "\n");

        assert(length < sizeof line);
        memcpy(line, text, length);
        line[length] = '\0';
        print_wrapped(line, 0, 0);
        text += length + (text[length] == '\n');
    }
}

static void add_scalar(struct buf *text, const struct field *field, enum field_type type,
                       const void *at)
{
    if (type == FIELD_INT)
        buf_printf(text, "%" PRId64, *(const int64_t *)at);
    else if (type == FIELD_REAL)
        buf_printf(text, "%.12g", *(const double *)at);
    else if (type == FIELD_ENUM)
        buf_text(text, field->names[*(const int *)at]);
    else if (type == FIELD_TEXT)
        buf_text(text, at);
}

static bool has_default(const struct field *field, const void *at)
{
    switch (field->type) {
    case FIELD_INT:
        return *(const int64_t *)at != NONE_INT;
    case FIELD_REAL:
        return !isnan(*(const double *)at);
    case FIELD_TEXT:
        return *(const char *)at != '\0';
    case FIELD_ENUM:
        return true;
    case FIELD_LIST:
        return ((const struct list *)at)->count > 0;
    case FIELD_BOOL:
    case FIELD_RECORD:
    case FIELD_INLINE:
    case FIELD_NAMED:
    case FIELD_PAIR:
    case FIELD_POINT:
    case FIELD_WORD:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
    case FIELD_BYTES:
        return false;
    }
    return false;
}

static void add_default(struct buf *text, const struct field *field, const void *at)
{
    const struct list *list = at;

    if (!has_default(field, at))
        return;
    buf_text(text, "; default ");
    if (field->type != FIELD_LIST) {
        add_scalar(text, field, field->type, at);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        buf_text(text, i == 0 ? "" : ",");
        add_scalar(text, field, field->of,
                   (const char *)list->items + i * field_element_size(field));
    }
}

/* What the flag does, allows, and has as its default. */
static void describe(const struct options *options, const struct option *option, struct buf *text)
{
    const struct field *field = NULL;
    char allowed[ALLOWED_SIZE];
    size_t base = 0;
    bool list;

    if (option->field != NULL) {
        assert(options->record != NULL);
        field = record_field(options->record, option->field, &base);
        assert(field != NULL);
    }
    buf_text(text, option->help != NULL || field == NULL ? option->help : field->help);
    if (field == NULL || field->type == FIELD_BOOL)
        return;
    list = field->type == FIELD_LIST;
    field_allowed_as(field, list ? field->of : field->type, allowed, sizeof allowed);
    buf_printf(text, " (%s%s", list ? "each " : "", allowed);
    add_default(text, field, (const char *)options->object + base + field->offset);
    buf_text(text, ")");
}

static size_t flag_width(const struct option *option)
{
    return strlen("  --") + strlen(option->name) +
           (option->argument != NULL ? 1 + strlen(option->argument) : 0);
}

/* The column of the descriptions: right of the widest flag, but for a few that are too wide. */
static size_t description_column(const struct options *options)
{
    size_t widest = strlen("  --help");

    for (size_t i = 0; i < options->count; i++) {
        size_t width = flag_width(&options->table[i]);

        if (width > widest && width <= FLAG_COLUMN_MAX - 2)
            widest = width;
    }
    return widest + 2;
}

static void print_flag(const struct option *option, const char *description, size_t column)
{
    size_t width = flag_width(option);

    printf("  --%s%s%s", option->name, option->argument != NULL ? " " : "",
           option->argument != NULL ? option->argument : "");
    if (width + 2 > column) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", (int)(column - width), "");
    print_wrapped(description, column, column);
}

static void print_flags(const struct options *options)
{
    static const struct option help = { .name = "help" };
    size_t column = description_column(options);
    struct buf text;

    printf("\nFlags:\n");
    for (size_t i = 0; i < options->count; i++) {
        buf_init(&text, DESCRIPTION_CAP);
        describe(options, &options->table[i], &text);
        print_flag(&options->table[i], buf_peek(&text), column);
        buf_done(&text);
    }
    print_flag(&help, "print this and do nothing else", column);
}

void options_help(const struct options *options)
{
    printf("Usage: %s %s\n\n", options->command, options->usage);
    print_lines(options->about);
    print_flags(options);
    if (options->examples == NULL)
        return;
    printf("\nExamples:\n%s", options->examples);
    if (options->examples[strlen(options->examples) - 1] != '\n')
        putchar('\n');
}
