/* record: objects start absent, own what they hold, and are checked on every type. */
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
#include "tests/proto/wire/specimen.h"

static const struct field *field_of(const char *name)
{
    const struct field *field = record_field(&specimen_record, name, NULL);

    assert_non_null(field);
    return field;
}

static void add_int(struct list *list, int64_t value)
{
    *(int64_t *)list_append_sized(list, sizeof value) = value;
}

static void add_word(struct list *list, const char *word)
{
    char *copy = word == NULL ? NULL : strdup(word);

    *(char **)list_append_sized(list, sizeof copy) = copy;
}

/* An object that passes. */
static void fill(struct specimen *out_object)
{
    record_init(&specimen_record, out_object);
    out_object->real = 1;
    out_object->part.present = true;
}

static void passes(const struct specimen *object)
{
    struct fault fault = { "" };

    assert_int_equal(record_check(&specimen_record, object, &fault), STATUS_OK);
    assert_string_equal(fault.text, "");
}

/* Frees the object, too. */
static void fails_as(struct specimen *object, enum status status, const char *expected)
{
    struct fault fault = { "" };

    assert_int_equal(record_check(&specimen_record, object, &fault), status);
    assert_string_equal(fault.text, expected);
    assert_int_equal(record_check(&specimen_record, object, NULL), status);
    record_done(&specimen_record, object);
}

static void fails(struct specimen *object, const char *expected)
{
    fails_as(object, STATUS_RANGE, expected);
}

static void starts_absent_zero_or_empty(void **state)
{
    struct specimen object;

    (void)state;
    memset(&object, 0xaa, sizeof object);
    record_init(&specimen_record, &object);
    assert_false(object.flag);
    assert_int_equal(object.count, 0);
    assert_int_equal(object.small, 0);
    assert_true(object.maybe == NONE_INT && object.optional == NONE_INT);
    assert_true(object.real == 0 && isnan(object.maybe_real));
    assert_string_equal(object.text, "");
    assert_int_equal(object.colour, RED);
    assert_false(object.part.present || object.maybe_part.present);
    for (size_t i = 0; i < 3; i++)
        assert_true(object.named[i] == NONE_INT);
    assert_true(object.ints.items == NULL && object.ints.count == 0);
    assert_true(object.numbers.items == NULL && object.numbers.count == 0);
}

static void done_frees_and_starts_anew(void **state)
{
    struct specimen object, fresh;
    struct part *part;

    (void)state;
    fill(&object);
    record_init(&specimen_record, &fresh);
    add_int(&object.ints, 1);
    add_word(&object.words, "a word");
    add_word(&object.words, NULL);
    map_add_int(&object.numbers, "key", 1);
    map_add_text(&object.texts, "key", "text");
    part = list_append(&object.parts, field_of("parts"));
    part->present = true;
    record_done(&specimen_record, &object);
    assert_memory_equal(&object, &fresh, sizeof object);
    record_done(&specimen_record, &object);
    assert_memory_equal(&object, &fresh, sizeof object);
    record_done(&specimen_record, NULL);
}

static void a_list_grows_to_its_cap(void **state)
{
    struct list list = { 0 };
    const struct field *field = field_of("ints");

    (void)state;
    for (int64_t i = 0; i < 3; i++) {
        int64_t *element = list_append(&list, field);

        assert_non_null(element);
        assert_int_equal(*element, 0);
        *element = i + 1;
    }
    assert_null(list_append(&list, field));
    assert_int_equal(list.count, 3);
    for (int64_t i = 0; i < 3; i++)
        assert_int_equal(((int64_t *)list.items)[i], i + 1);
    free(list.items);
}

/* Growth happens at powers of two; the sanitizers see a byte too far. */
static void a_long_list_keeps_everything(void **state)
{
    struct list list = { 0 };

    (void)state;
    for (int64_t i = 0; i < 10000; i++)
        add_int(&list, i * i);
    assert_int_equal(list.count, 10000);
    for (int64_t i = 0; i < 10000; i++)
        assert_int_equal(((int64_t *)list.items)[i], i * i);
    free(list.items);
}

static void elements_have_their_size(void **state)
{
    (void)state;
    assert_int_equal(field_element_size(field_of("ints")), sizeof(int64_t));
    assert_int_equal(field_element_size(field_of("reals")), sizeof(double));
    assert_int_equal(field_element_size(field_of("colours")), sizeof(enum colour));
    assert_int_equal(field_element_size(field_of("pairs")), 2 * sizeof(int64_t));
    assert_int_equal(field_element_size(field_of("points")), 2 * sizeof(double));
    assert_int_equal(field_element_size(field_of("words")), sizeof(char *));
    assert_int_equal(field_element_size(field_of("parts")), sizeof(struct part));
    assert_int_equal(field_element_size(field_of("nameds")), 3 * sizeof(int64_t));
}

static void maps_find_what_was_added_and_cut_what_is_long(void **state)
{
    struct list map = { 0 };
    char key[MAP_KEY_SIZE + 8] = { 0 }, text[MAP_TEXT_SIZE + 8] = { 0 };

    (void)state;
    memset(key, 'k', sizeof key - 1);
    memset(text, 't', sizeof text - 1);
    /* The cut falls into a character of two bytes, which goes as a whole. */
    memcpy(text + MAP_TEXT_SIZE - 2, "\xc3\xb6", 2);
    map_add_int(&map, "one", 1);
    map_add_int(&map, "none", NONE_INT);
    map_add_text(&map, key, text);
    assert_int_equal(map_find(&map, "one")->number, 1);
    assert_true(map_find(&map, "none")->number == NONE_INT);
    assert_null(map_find(&map, "two"));
    assert_null(map_find(&map, key));
    key[MAP_KEY_SIZE - 1] = '\0';
    assert_non_null(map_find(&map, key));
    assert_int_equal(strlen(map_find(&map, key)->text), MAP_TEXT_SIZE - 2);
    free(map.items);
}

static void finds_fields_also_inside_inline_records(void **state)
{
    size_t base = 99;

    (void)state;
    assert_ptr_equal(record_field(&specimen_record, "small", &base), &specimen_fields[2]);
    assert_int_equal(base, 0);
    assert_ptr_equal(record_field(&specimen_record, "second", &base), &inlined_fields[1]);
    assert_int_equal(base, offsetof(struct specimen, inlined));
    assert_non_null(record_field(&specimen_record, "a/b~c", NULL));
    base = 99;
    assert_null(record_field(&specimen_record, "inlined", &base));
    assert_null(record_field(&specimen_record, "number", &base));
    assert_null(record_field(&specimen_record, "", &base));
    assert_int_equal(base, 99);
}

static void allows(const char *name, const char *expected)
{
    char text[320];

    field_allowed(field_of(name), text, sizeof text);
    assert_string_equal(text, expected);
}

static void says_what_is_allowed(void **state)
{
    char text[8];

    (void)state;
    allows("flag", "true or false");
    allows("count", "an integer from 0 up");
    allows("small", "an integer from -3 to 10");
    allows("real", "a number from 0.5 to 1e+18");
    allows("text", "UTF-8 text of at most 15 bytes");
    allows("colour", "one of red, green, blue");
    allows("part", "an object");
    allows("named", "an object");
    allows("ints", "a list of up to 3, each an integer from 0 to 10");
    allows("colours", "a list of up to 3, each one of red, green, blue");
    allows("pairs", "a list of up to 3, each a pair of integers [a, b] from 0 up");
    allows("points", "a list of up to 3, each a pair of numbers [x, y]");
    allows("words", "a list of up to 2, each UTF-8 text of at most 4096 bytes");
    allows("numbers", "an object");
    field_allowed(field_of("colour"), text, sizeof text);
    assert_string_equal(text, "one of ");
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

/* Whatever the choice says when the object ends: lists of all of them are freed. */
static void done_frees_also_what_does_not_apply(void **state)
{
    struct specimen object;

    (void)state;
    fill(&object);
    object.colour = RED;
    add_word(&object.warm.marks, "a word");
    object.colour = GREEN;
    record_done(&specimen_record, &object);
    assert_null(object.warm.marks.items);
}

static void a_field_applies_while_its_choice_is_made(void **state)
{
    struct specimen object;
    size_t applying = 0, cold = 0;

    (void)state;
    fill(&object);
    object.colour = BLUE;
    for (size_t i = 0; i < specimen_record.count; i++) {
        bool applies = field_applies(&specimen_fields[i], &object);

        applying += applies;
        cold += applies && specimen_fields[i].record == &cold_record;
    }
    assert_int_equal(applying, specimen_record.count - 1);
    assert_int_equal(cold, 1);
    record_done(&specimen_record, &object);
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
        cmocka_unit_test(starts_absent_zero_or_empty),
        cmocka_unit_test(done_frees_and_starts_anew),
        cmocka_unit_test(a_list_grows_to_its_cap),
        cmocka_unit_test(a_long_list_keeps_everything),
        cmocka_unit_test(elements_have_their_size),
        cmocka_unit_test(maps_find_what_was_added_and_cut_what_is_long),
        cmocka_unit_test(finds_fields_also_inside_inline_records),
        cmocka_unit_test(says_what_is_allowed),
        cmocka_unit_test(check_passes_every_end_of_a_range),
        cmocka_unit_test(check_refuses_numbers_out_of_range),
        cmocka_unit_test(check_refuses_texts_and_choices),
        cmocka_unit_test(check_refuses_parts),
        cmocka_unit_test(check_refuses_elements),
        cmocka_unit_test(check_refuses_points_that_are_not_finite),
        cmocka_unit_test(check_asks_for_what_the_choice_has),
        cmocka_unit_test(done_frees_also_what_does_not_apply),
        cmocka_unit_test(a_field_applies_while_its_choice_is_made),
        cmocka_unit_test(check_refuses_words),
        cmocka_unit_test(check_refuses_what_is_too_many),
        cmocka_unit_test(check_refuses_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
