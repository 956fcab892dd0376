/* Owns values that a table allows, of every type. */
#include "tests/proto/wire/fill.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/wire/limits.h"

static void fill_fields(struct filler *filler, const struct record *record, void *object);

/* 0 .. most, both included. */
static uint64_t pick(struct filler *filler, uint64_t most)
{
    if (filler->how == FILL_LEAST)
        return 0;
    if (filler->how == FILL_MOST || most == UINT64_MAX)
        return most;
    return chance_below(&filler->chance, most + 1);
}

static bool pick_null(struct filler *filler, const struct field *field)
{
    if ((field->flags & FIELD_NULLABLE) == 0)
        return false;
    return filler->how == FILL_LEAST ||
           (filler->how == FILL_RANDOM && chance_below(&filler->chance, 4) == 0);
}

static int64_t pick_int(struct filler *filler, int64_t min, int64_t max)
{
    return (int64_t)((uint64_t)min + pick(filler, (uint64_t)max - (uint64_t)min));
}

static double pick_real(struct filler *filler, double min, double max)
{
    return min + (max - min) * ((double)pick(filler, 1 << 20) / (1 << 20));
}

/* Letters of one to four bytes. */
static void fill_text(struct filler *filler, char *text, size_t most)
{
    static const char *const letters[] = {
        "a", "\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "/", "\"", "~", "\x1b"
    };
    size_t length = pick(filler, most), used = 0;

    while (used < length) {
        const char *letter = letters[filler->how == FILL_MOST ? 0 : pick(filler, 7)];

        if (used + strlen(letter) > length)
            letter = letters[0];
        memcpy(text + used, letter, strlen(letter));
        used += strlen(letter);
    }
    text[used] = '\0';
}

static void fill_named(struct filler *filler, const struct field *field, int64_t *values)
{
    for (size_t i = 0; i < field->name_count; i++)
        values[i] = filler->how == FILL_LEAST ? NONE_INT : pick_int(filler, field->min, COUNT_MAX);
}

static void fill_element(struct filler *filler, const struct field *field, void *at)
{
    char word[LIMIT_COMMAND_WORD_BYTES + 1];

    switch ((int)field->of) {
    case FIELD_INT:
        *(int64_t *)at = pick_int(filler, field->min, field->max);
        break;
    case FIELD_REAL:
        *(double *)at = pick_real(filler, field->real_min, field->real_max);
        break;
    case FIELD_ENUM:
        *(int *)at = (int)pick(filler, field->name_count - 1);
        break;
    case FIELD_WORD:
        fill_text(filler, word, sizeof word - 1);
        *(char **)at = memory_new(strlen(word) + 1, 1);
        memcpy(*(char **)at, word, strlen(word));
        break;
    case FIELD_PAIR:
        for (int i = 0; i < 2; i++)
            ((int64_t *)at)[i] = pick_int(filler, field->min, COUNT_MAX);
        break;
    case FIELD_POINT:
        for (int i = 0; i < 2; i++)
            ((double *)at)[i] = pick_real(filler, -1e9, 1e9);
        break;
    case FIELD_NAMED:
        fill_named(filler, field, at);
        break;
    case FIELD_RECORD:
        fill_record(filler, field->record, at);
        break;
    default:
        assert(false && "no such element");
    }
}

static size_t pick_count(struct filler *filler, size_t most)
{
    return pick(filler, filler->list_cap != 0 && most > filler->list_cap ? filler->list_cap : most);
}

static void fill_list(struct filler *filler, const struct field *field, struct list *list)
{
    for (size_t left = pick_count(filler, field->size); left > 0; left--) {
        void *at = list_append(list, field);

        if (field->of == FIELD_RECORD)
            record_init(field->record, at);
        fill_element(filler, field, at);
    }
}

static void fill_map(struct filler *filler, const struct field *field, struct list *map)
{
    for (size_t left = pick_count(filler, LIMIT_MAP_ENTRIES); left > 0; left--) {
        char key[MAP_KEY_SIZE], text[MAP_TEXT_SIZE];

        fill_text(filler, key, sizeof key - 5);
        snprintf(key + strlen(key), 5, "%zu", left);
        fill_text(filler, text, sizeof text - 1);
        if (field->type == FIELD_MAP_INT)
            map_add_int(map, key, pick_int(filler, NONE_INT, COUNT_MAX));
        else
            map_add_text(map, key, text);
    }
}

static void fill_bytes(struct filler *filler, const struct field *field, struct bytes *bytes)
{
    size_t length = (size_t)pick_int(filler, field->min, (int64_t)field->size);
    uint8_t *data = memory_new(length + 1, 1);

    for (size_t i = 0; i < length; i++)
        data[i] = (uint8_t)(i * 7 + filler->chance.state);
    bytes_set(bytes, data, length);
    free(data);
}

static void fill_field(struct filler *filler, const struct field *field, void *at)
{
    switch ((int)field->type) {
    case FIELD_BOOL:
        *(bool *)at = pick(filler, 1) != 0;
        break;
    case FIELD_INT:
        *(int64_t *)at =
            pick_null(filler, field) ? NONE_INT : pick_int(filler, field->min, field->max);
        break;
    case FIELD_REAL:
        *(double *)at = pick_null(filler, field)
                            ? (double)NAN
                            : pick_real(filler, field->real_min, field->real_max);
        break;
    case FIELD_TEXT:
        fill_text(filler, at, field->size - 1);
        break;
    case FIELD_ENUM:
        *(int *)at = (int)pick(filler, field->name_count - 1);
        break;
    case FIELD_RECORD:
        if (!pick_null(filler, field))
            fill_record(filler, field->record, at);
        break;
    case FIELD_INLINE:
        fill_fields(filler, field->record, at);
        break;
    case FIELD_NAMED:
        fill_named(filler, field, at);
        break;
    case FIELD_LIST:
        fill_list(filler, field, at);
        break;
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        fill_map(filler, field, at);
        break;
    case FIELD_BYTES:
        fill_bytes(filler, field, at);
        break;
    default:
        assert(false && "no such field");
    }
}

static void fill_fields(struct filler *filler, const struct record *record, void *object)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];

        if (field_applies(field, object))
            fill_field(filler, field, (char *)object + field->offset);
    }
}

void fill_record(struct filler *filler, const struct record *record, void *object)
{
    record_done(record, object);
    fill_fields(filler, record, object);
    record_set_present(record, object, true);
}
