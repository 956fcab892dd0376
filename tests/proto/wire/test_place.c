/* place: a JSON pointer grows, shrinks, escapes and never overflows. */
#include "proto/wire/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/utf8.h"

static void whole_document_is_a_slash(void **state)
{
    struct place place = { 0 };

    (void)state;
    assert_string_equal(place_text(&place), "/");
}

static void enters_keys_and_elements_and_leaves_them(void **state)
{
    struct place place = { 0 };
    size_t top = place_enter(&place, "cases");
    size_t cases = place_enter_index(&place, 3);
    size_t element = place_enter(&place, "window");

    (void)state;
    assert_string_equal(place_text(&place), "/cases/3/window");
    place_leave(&place, element);
    assert_string_equal(place_text(&place), "/cases/3");
    place_leave(&place, cases);
    place_enter_index(&place, SIZE_MAX);
    assert_string_equal(place_text(&place), "/cases/18446744073709551615");
    place_leave(&place, top);
    assert_string_equal(place_text(&place), "/");
}

static void escapes_tilde_and_slash(void **state)
{
    struct place place = { 0 };

    (void)state;
    place_enter(&place, "~a/b~1");
    place_enter(&place, "");
    assert_string_equal(place_text(&place), "/~0a~1b~01/");
}

/* Whatever stands in front of it, a cut falls between characters, never into an escape. */
static void cuts_between_characters(void **state)
{
    static const char *const units[] = { "~", "/", "\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };

    (void)state;
    for (size_t unit = 0; unit < sizeof units / sizeof units[0]; unit++) {
        for (size_t before = 0; before < 8; before++) {
            struct place place = { 0 };
            char key[4 * PLACE_TEXT_SIZE + 8] = { 0 };

            memset(key, 'x', before);
            while (strlen(key) < 2 * PLACE_TEXT_SIZE)
                memcpy(key + strlen(key), units[unit], strlen(units[unit]) + 1);
            place_enter(&place, key);
            assert_true(place.length < PLACE_TEXT_SIZE && place.length >= PLACE_TEXT_SIZE - 4);
            assert_int_equal(strlen(place_text(&place)), place.length);
            assert_true(utf8_is_valid(place.text, place.length));
            if (unit < 2)
                assert_int_equal((place.length - 1 - before) % 2, 0);
        }
    }
}

static void a_full_place_stays_full_and_can_be_left(void **state)
{
    struct place place = { 0 };
    char key[PLACE_TEXT_SIZE + 1] = { 0 };
    size_t back;

    (void)state;
    place_enter(&place, "a");
    memset(key, 'k', PLACE_TEXT_SIZE);
    back = place_enter(&place, key);
    for (int i = 0; i < 1000; i++)
        place_enter_index(&place, 7);
    assert_int_equal(place.length, PLACE_TEXT_SIZE - 1);
    place_leave(&place, back);
    assert_string_equal(place_text(&place), "/a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_document_is_a_slash),
        cmocka_unit_test(enters_keys_and_elements_and_leaves_them),
        cmocka_unit_test(escapes_tilde_and_slash),
        cmocka_unit_test(cuts_between_characters),
        cmocka_unit_test(a_full_place_stays_full_and_can_be_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
