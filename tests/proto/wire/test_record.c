/* record: objects start absent, own what they hold, and tell of their fields. */
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

static void words_are_copied_found_and_freed(void **state)
{
    struct list words = { 0 };
    char word[] = "lost";

    (void)state;
    assert_false(words_have(&words, "lost"));
    words_add(&words, word);
    words_add(&words, "");
    word[0] = 'm';
    assert_int_equal(words.count, 2);
    assert_true(words_have(&words, "lost"));
    assert_true(words_have(&words, ""));
    assert_false(words_have(&words, "most"));
    assert_false(words_have(&words, "los"));
    words_done(&words);
    assert_null(words.items);
    assert_int_equal(words.count, 0);
    words_done(&words);
}

static void maps_are_equal_in_any_order(void **state)
{
    struct list a = { 0 }, b = { 0 };

    (void)state;
    assert_true(map_equal_int(&a, &b));
    map_add_int(&a, "x", 1);
    assert_false(map_equal_int(&a, &b));
    assert_false(map_equal_int(&b, &a));
    map_add_int(&a, "y", NONE_INT);
    map_add_int(&b, "y", NONE_INT);
    map_add_int(&b, "x", 1);
    assert_true(map_equal_int(&a, &b));
    ((struct map_item *)b.items)[1].number = 2;
    assert_false(map_equal_int(&a, &b));
    free(a.items);
    free(b.items);
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
        cmocka_unit_test(done_frees_also_what_does_not_apply),
        cmocka_unit_test(a_field_applies_while_its_choice_is_made),
        cmocka_unit_test(words_are_copied_found_and_freed),
        cmocka_unit_test(maps_are_equal_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
