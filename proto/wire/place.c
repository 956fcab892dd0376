/* Owns the text of a JSON pointer while a document is walked. */
#include "proto/wire/place.h"

#include <stdio.h>

static void put(struct place *place, char c)
{
    if (place->length + 1 >= sizeof place->text)
        return;
    place->text[place->length++] = c;
    place->text[place->length] = '\0';
}

size_t place_enter(struct place *place, const char *key)
{
    size_t before = place->length;

    put(place, '/');
    for (; *key != '\0'; key++) {
        if (*key == '~' || *key == '/') {
            put(place, '~');
            put(place, *key == '~' ? '0' : '1');
        } else {
            put(place, *key);
        }
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
