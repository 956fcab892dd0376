/* Owns a scanner that follows a JSON text just well enough to know where it is: strings, nesting,
 * keys, indices. It accepts more than JSON; the parser behind it decides. */
#include "proto/wire/json_place.h"

#include <stdbool.h>
#include <string.h>

#include "proto/wire/limits.h"
#include "proto/wire/place.h"

struct level {
    bool array;
    bool key_next; /* an object that waits for a key */
    size_t index;
    size_t back; /* the pointer's length outside of this level */
};

struct scan {
    const char *text;
    size_t length;
    size_t at;
    struct place place;
    struct level levels[LIMIT_JSON_DEPTH];
    size_t depth;
    bool too_deep;
};

/* Moves behind the string that starts at scan->at; its raw text goes to `key`, cut to fit. */
static void pass_string(struct scan *scan, char *key, size_t size)
{
    size_t used = 0;

    for (scan->at++; scan->at < scan->length && scan->text[scan->at] != '"'; scan->at++) {
        if (scan->text[scan->at] == '\\')
            scan->at++;
        if (used + 1 < size && scan->at < scan->length)
            key[used++] = scan->text[scan->at];
    }
    key[used] = '\0';
    if (scan->at < scan->length)
        scan->at++;
}

static void open_level(struct scan *scan, bool array)
{
    struct level *level;

    if (scan->depth == LIMIT_JSON_DEPTH) {
        scan->too_deep = true;
        return;
    }
    level = &scan->levels[scan->depth++];
    *level = (struct level){ .array = array, .key_next = !array, .back = scan->place.length };
    if (array)
        place_enter_index(&scan->place, 0);
}

static void close_level(struct scan *scan)
{
    if (scan->depth > 0)
        place_leave(&scan->place, scan->levels[--scan->depth].back);
}

static void next_element(struct scan *scan)
{
    struct level *level;

    if (scan->depth == 0)
        return;
    level = &scan->levels[scan->depth - 1];
    place_leave(&scan->place, level->back);
    if (level->array)
        place_enter_index(&scan->place, ++level->index);
    else
        level->key_next = true;
}

static void pass_text(struct scan *scan)
{
    char key[64];
    struct level *level = scan->depth == 0 ? NULL : &scan->levels[scan->depth - 1];

    pass_string(scan, key, sizeof key);
    if (level == NULL || !level->key_next)
        return;
    level->key_next = false;
    place_leave(&scan->place, level->back);
    place_enter(&scan->place, key);
}

static void step(struct scan *scan)
{
    switch (scan->text[scan->at]) {
    case '"':
        pass_text(scan);
        return;
    case '{':
    case '[':
        open_level(scan, scan->text[scan->at] == '[');
        break;
    case '}':
    case ']':
        close_level(scan);
        break;
    case ',':
        next_element(scan);
        break;
    default:
        break;
    }
    scan->at++;
}

/* Follows the text up to byte `end` or to where it nests too deep. */
static void follow(struct scan *scan, size_t end)
{
    while (scan->at < end && !scan->too_deep)
        step(scan);
}

static size_t line_of(const char *text, size_t position)
{
    size_t line = 1;

    for (size_t i = 0; i < position; i++)
        line += text[i] == '\n';
    return line;
}

enum status json_check_form(const char *text, size_t length, struct fault *fault)
{
    struct scan scan = { .text = text, .length = length };
    size_t start = 0;

    if (length == 0)
        return fault_set(fault, STATUS_INVALID, "/: empty, not a JSON object");
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return fault_set(fault, STATUS_INVALID,
                         "/: starts with a byte order mark; UTF-8 without one is asked for");
    while (start < length && strchr(" \t\r\n", text[start]) != NULL && text[start] != '\0')
        start++;
    if (start == length || text[start] != '{')
        return fault_set(fault, STATUS_INVALID,
                         "/: does not start with '{' (byte %zu), so it is not a JSON object",
                         start);
    follow(&scan, length);
    if (scan.too_deep)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: nested deeper than %d levels",
                         place_text(&scan.place), LIMIT_JSON_DEPTH);
    return STATUS_OK;
}

enum status json_fault_at(const char *text, size_t length, size_t position, const char *what,
                          struct fault *fault)
{
    struct scan scan = { .text = text, .length = length };
    size_t end = position < length ? position : length;

    follow(&scan, end);
    return fault_set(fault, STATUS_INVALID, "%s: %s (line %zu, byte %zu)", place_text(&scan.place),
                     what, line_of(text, end), end);
}
