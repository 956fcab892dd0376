/* Owns a scanner that follows a JSON text just well enough to know where it is: strings, nesting,
 * keys, indices. It accepts more than JSON; the parser behind it decides. The pointer is made only
 * when somebody asks, so that following is one pass of a few instructions for each byte. */
#include "proto/wire/json_place.h"

#include <stdbool.h>
#include <string.h>

#include "proto/wire/limits.h"
#include "proto/wire/place.h"

struct level {
    bool array;
    bool key_next; /* an object that waits for a key */
    bool inside;   /* an array, or an object whose key is known: a value stands or comes here */
    size_t index;
    const char *key; /* as it stands in the text, escapes and all */
    size_t key_length;
};

struct scan {
    const char *text;
    size_t length;
    size_t at;
    struct level levels[LIMIT_JSON_DEPTH];
    size_t depth;
    size_t values; /* met so far, about */
    bool too_deep;
    bool too_many;
};

/* Moves behind the string that starts at scan->at; false when the text ends inside of it. */
static bool pass_string(struct scan *scan)
{
    for (scan->at++; scan->at < scan->length; scan->at++) {
        if (scan->text[scan->at] == '"') {
            scan->at++;
            return true;
        }
        if (scan->text[scan->at] == '\\')
            scan->at++;
    }
    scan->at = scan->length;
    return false;
}

/* A string is the next key where one is due; one that is cut off names nothing yet. */
static void pass_text(struct scan *scan)
{
    const char *start = scan->text + scan->at + 1;
    bool whole = pass_string(scan);
    struct level *level = scan->depth == 0 ? NULL : &scan->levels[scan->depth - 1];

    if (level == NULL || !level->key_next || !whole)
        return;
    level->key_next = false;
    level->inside = true;
    level->key = start;
    level->key_length = (size_t)(scan->text + scan->at - 1 - start);
}

static void open_level(struct scan *scan, bool array)
{
    if (scan->depth == LIMIT_JSON_DEPTH) {
        scan->too_deep = true;
        return;
    }
    scan->values++;
    scan->levels[scan->depth++] =
        (struct level){ .array = array, .key_next = !array, .inside = array };
}

static void next_element(struct scan *scan)
{
    struct level *level;

    if (++scan->values > LIMIT_JSON_VALUES)
        scan->too_many = true;
    if (scan->depth == 0)
        return;
    level = &scan->levels[scan->depth - 1];
    level->index++;
    level->key_next = !level->array;
    level->inside = level->array;
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
        scan->depth -= scan->depth > 0;
        break;
    case ',':
        next_element(scan);
        break;
    default:
        break;
    }
    scan->at++;
}

/* Follows the text up to byte `end` or to where it goes too far. */
static void follow(struct scan *scan, size_t end)
{
    while (scan->at < end && !scan->too_deep && !scan->too_many)
        step(scan);
}

/* The pointer of where the scan stands: a value, or the object or list that waits for one. */
static void place_of(const struct scan *scan, struct place *out_place)
{
    *out_place = (struct place){ 0 };
    for (size_t i = 0; i < scan->depth && scan->levels[i].inside; i++) {
        const struct level *level = &scan->levels[i];
        char key[PLACE_TEXT_SIZE];
        size_t kept = level->key_length < sizeof key ? level->key_length : sizeof key - 1;

        if (level->array) {
            place_enter_index(out_place, level->index);
        } else {
            memcpy(key, level->key, kept);
            key[kept] = '\0';
            place_enter(out_place, key);
        }
    }
}

static size_t line_of(const char *text, size_t position)
{
    size_t line = 1;

    for (size_t i = 0; i < position; i++)
        line += text[i] == '\n';
    return line;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static enum status check_start(const char *text, size_t length, struct fault *fault)
{
    size_t start = 0;

    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return fault_set(fault, STATUS_INVALID,
                         "/: starts with a byte order mark; UTF-8 without one is asked for");
    while (start < length && is_blank(text[start]))
        start++;
    if (start == length)
        return fault_set(fault, STATUS_INVALID, "/: empty, not a JSON object");
    if (text[start] != '{')
        return fault_set(fault, STATUS_INVALID,
                         "/: does not start with '{' (byte %zu), so it is not a JSON object",
                         start + 1);
    return STATUS_OK;
}

enum status json_check_form(const char *text, size_t length, struct fault *fault)
{
    struct scan scan = { .text = text, .length = length };
    enum status status = check_start(text, length, fault);
    const char *zero;
    struct place place;

    if (status != STATUS_OK)
        return status;
    zero = memchr(text, '\0', length);
    if (zero != NULL)
        return json_fault_at(text, length, (size_t)(zero - text) + 1, "a zero byte", fault);
    follow(&scan, length);
    if (!scan.too_deep && !scan.too_many)
        return STATUS_OK;
    place_of(&scan, &place);
    if (scan.too_many)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: more than %d values", place_text(&place),
                         LIMIT_JSON_VALUES);
    return fault_set(fault, STATUS_TOO_LARGE, "%s: nested deeper than %d levels",
                     place_text(&place), LIMIT_JSON_DEPTH);
}

enum status json_fault_at(const char *text, size_t length, size_t position, const char *what,
                          struct fault *fault)
{
    size_t end = position < length ? position : length;
    struct scan scan = { .text = text, .length = end };
    struct place place;

    /* The last byte is of what was refused: it must not lead out of the place that it broke. */
    if (position > 0)
        follow(&scan, position - 1 < length ? position - 1 : length);
    place_of(&scan, &place);
    return fault_set(fault, STATUS_INVALID, "%s: %s (line %zu, byte %zu)", place_text(&place), what,
                     line_of(text, end), end);
}
