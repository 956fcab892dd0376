/* record_check: every type, at and beyond the ends of what is allowed, with the place. */
#include "proto/wire/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/limits.h"
#include "tests/proto/wire/specimen_checks.h"

static const struct field *field_of(const char *name)
{
    const struct field *field = record_field(&specimen_record, name, NULL);

    assert_non_null(field);
    return field;
}

static void check_passes_every_end_of_a_range(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    passes(&object);
    object.count = INT64_MAX;
    object.small = -3;
    object.real = 1e18;
    object.maybe = 0;
    object.maybe_real = 1;
    object.colour = BLUE;
    memset(object.text, 'x', 15);
    passes(&object);
    object.small = 10;
    object.real = 0.5;
    object.maybe_part = (struct part){ .present = true, .number = 10 };
    memcpy(object.text, "\xf0\x9f\x98\x80", 4);
    passes(&object);
}

static void check_refuses_numbers_out_of_range(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    object.count = -1;
    fails(&object, "/count: -1 is not allowed: an integer from 0 up");
    fill(&object);
    object.count = NONE_INT;
    fails(&object, "/count: null is not allowed: an integer from 0 up");
    fill(&object);
    object.small = 11;
    fails(&object, "/small: 11 is not allowed: an integer from -3 to 10");
    fill(&object);
    object.maybe = -1;
    fails(&object, "/maybe: -1 is not allowed: an integer from 0 up or null");
    fill(&object);
    object.real = 0.25;
    fails(&object, "/real: 0.25 is not allowed: a number from 0.5 to 1e+18");
    fill(&object);
    object.real = (double)INFINITY;
    fails(&object, "/real: inf is not allowed: a number from 0.5 to 1e+18");
    fill(&object);
    object.real = (double)NAN;
    fails(&object, "/real: null is not allowed: a number from 0.5 to 1e+18");
    fill(&object);
    object.inlined.first = 11;
    fails(&object, "/first: 11 is not allowed: an integer from 0 to 10");
    fill(&object);
    object.odd_key = -1;
    fails(&object, "/a~1b~0c: -1 is not allowed: a number from 0 to 10");
    fill(&object);
    object.named[1] = -2;
    fails(&object, "/named/a~1b: -2 is not allowed: an integer from 0 up or null");
}

static void check_refuses_texts_and_choices(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    memset(object.text, 'x', sizeof object.text);
    fails(&object, "/text: this text is not allowed: UTF-8 text of at most 15 bytes");
    fill(&object);
    memcpy(object.maybe_text, "\xc3(", 2);
    fails(&object, "/maybe_text: this text is not allowed: UTF-8 text of at most 15 bytes or null");
    fill(&object);
    object.colour = (enum colour)3;
    fails(&object, "/colour: 3 is not allowed: one of red, green, blue");
    fill(&object);
    *(int *)&object.colour = -1;
    fails(&object, "/colour: -1 is not allowed: one of red, green, blue");
}

static void check_refuses_parts(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    object.part.present = false;
    fails(&object, "/part: null is not allowed: an object (part)");
    fill(&object);
    object.maybe_part.present = true;
    object.maybe_part.number = 11;
    fails(&object, "/maybe_part/number: 11 is not allowed: an integer from 0 to 10");
    fill(&object);
    list_append(&object.parts, field_of("parts"));
    fails(&object, "/parts/0: null is not allowed: an object (part)");
    assert_int_equal(record_check(&part_record, &object.part, NULL), STATUS_RANGE);
}

static void check_refuses_elements(void **state)
{
    struct specimen object;
    int64_t *counts;

    (void)state;
    fill(&object);
    add_int(&object.ints, 10);
    add_int(&object.ints, 11);
    fails(&object, "/ints/1: 11 is not allowed: an integer from 0 to 10");
    fill(&object);
    *(double *)list_append(&object.reals, field_of("reals")) = (double)NAN;
    fails(&object, "/reals/0: null is not allowed: a number from 0 to 10");
    fill(&object);
    *(int *)list_append(&object.colours, field_of("colours")) = 7;
    fails(&object, "/colours/0: 7 is not allowed: one of red, green, blue");
    fill(&object);
    counts = list_append(&object.pairs, field_of("pairs"));
    counts[1] = -1;
    fails(&object, "/pairs/0: this pair is not allowed: a pair of integers [a, b] from 0 up");
    fill(&object);
    counts = list_append(&object.nameds, field_of("nameds"));
    counts[2] = -1;
    fails(&object, "/nameds/0/ip.~0: -1 is not allowed: an integer from 0 up or null");
}

static void check_refuses_points_that_are_not_finite(void **state)
{
    static const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    struct specimen object;
    double *point;

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        fill(&object);
        point = list_append(&object.points, field_of("points"));
        point[0] = -1e300;
        point[1] = 1e300;
        passes(&object);
        point[i % 2] = bad[i / 2];
        fails(&object, "/points/0: what is not finite is not allowed: a pair of numbers [x, y]");
    }
}

/* Fields that the colour rules out are not looked at, and those that it asks for are. */
static void check_asks_for_what_the_choice_has(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    object.colour = RED;
    object.cold.frost = 11;
    passes(&object);
    object.colour = BLUE;
    fails(&object, "/frost: 11 is not allowed: an integer from 0 to 10");
    fill(&object);
    object.colour = GREEN;
    object.cold.frost = object.warm.heat = 11;
    passes(&object);
    object.colour = RED;
    fails(&object, "/heat: 11 is not allowed: an integer from 0 to 10");
}

static void check_refuses_words(void **state)
{
    struct specimen object;
    char word[LIMIT_COMMAND_WORD_BYTES + 2] = { 0 };

    (void)state;
    memset(word, 'w', LIMIT_COMMAND_WORD_BYTES);
    fill(&object);
    add_word(&object.words, "");
    add_word(&object.words, word);
    passes(&object);
    word[LIMIT_COMMAND_WORD_BYTES] = 'w';
    free(((char **)object.words.items)[1]);
    ((char **)object.words.items)[1] = strdup(word);
    fails(&object, "/words/1: this text is not allowed: UTF-8 text of at most 4096 bytes");
    fill(&object);
    add_word(&object.words, "\xff");
    fails(&object, "/words/0: this text is not allowed: UTF-8 text of at most 4096 bytes");
    fill(&object);
    add_word(&object.words, NULL);
    fails(&object, "/words/0: null is not allowed: UTF-8 text of at most 4096 bytes");
}

static void check_refuses_what_is_too_many(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    for (int i = 0; i < 4; i++)
        add_int(&object.ints, 1);
    fails_as(&object, STATUS_TOO_LARGE, "/ints: 4 entries, at most 3 are allowed");
    fill(&object);
    for (int i = 0; i <= LIMIT_MAP_ENTRIES; i++)
        map_add_int(&object.numbers, "key", 1);
    fails_as(&object, STATUS_TOO_LARGE, "/numbers: 1025 entries, at most 1024 are allowed");
}

static void check_refuses_maps(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    map_add_int(&object.numbers, "a/~", -1);
    map_add_int(&object.numbers, "b", NONE_INT);
    map_add_int(&object.numbers, "a/~", 2);
    fails(&object, "/numbers/a~1~0: is there twice");
    fill(&object);
    map_add_int(&object.numbers, "\xff", 1);
    fails(&object, "/numbers: key 0 is no UTF-8 text");
    fill(&object);
    map_add_text(&object.texts, "key", "\xed\xa0\x80");
    fails(&object, "/texts/key: no UTF-8 text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_passes_every_end_of_a_range),
        cmocka_unit_test(check_refuses_numbers_out_of_range),
        cmocka_unit_test(check_refuses_texts_and_choices),
        cmocka_unit_test(check_refuses_parts),
        cmocka_unit_test(check_refuses_elements),
        cmocka_unit_test(check_refuses_points_that_are_not_finite),
        cmocka_unit_test(check_asks_for_what_the_choice_has),
        cmocka_unit_test(check_refuses_words),
        cmocka_unit_test(check_refuses_what_is_too_many),
        cmocka_unit_test(check_refuses_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
