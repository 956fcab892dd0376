/* Owns the text of a JSON pointer while a document is walked. */
#include "proto/wire/place.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* All of the bytes or none of them; false when they do not fit. */
static bool put(struct place *place, const char *bytes, size_t count)
{
    if (count >= sizeof place->text - place->length)
        return false;
    memcpy(place->text + place->length, bytes, count);
    place->length += count;
    place->text[place->length] = '\0';
    return true;
}

/* A byte and the UTF-8 continuation bytes behind it: what must not be cut. */
static size_t unit_length(const char *text)
{
    size_t length = 1;

    while (((unsigned char)text[length] & 0xc0) == 0x80)
        length++;
    return length;
}

size_t place_enter(struct place *place, const char *key)
{
    size_t before = place->length;
    bool fits = put(place, "/", 1);

    while (fits && *key != '\0') {
        size_t unit = unit_length(key);

        if (*key == '~')
            fits = put(place, "~0", 2);
        else if (*key == '/')
            fits = put(place, "~1", 2);
        else
            fits = put(place, key, unit);
        key += unit;
    }
    return before;
}

size_t place_enter_index(struct place *place, size_t index)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%zu", index);
    return place_enter(place, digits);
}

void place_leave(struct place *place, size_t length)
{
    place->length = length;
    place->text[length] = '\0';
}

const char *place_text(const struct place *place)
{
    return place->length == 0 ? "/" : place->text;
}
