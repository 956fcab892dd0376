/* UTF-8 is what RFC 3629 says, and words from outside cannot move a terminal's cursor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/utf8.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void utf8_is_what_rfc_3629_says(void **state)
{
    static const struct {
        const char *bytes;
        bool valid;
    } cases[] = {
        { "", true },
        { "plain", true },
        { "\xc3\xa9", true },
        { "\xe2\x82\xac", true },
        { "\xf0\x9f\x98\x80", true },
        { "\xed\x9f\xbf", true },
        { "\xf4\x8f\xbf\xbf", true },
        { "\x80", false },
        { "\xc3", false },
        { "\xc3(", false },
        { "\xc0\xaf", false },         /* overlong */
        { "\xe0\x9f\xbf", false },     /* overlong */
        { "\xf0\x8f\xbf\xbf", false }, /* overlong */
        { "\xed\xa0\x80", false },     /* surrogate */
        { "\xf4\x90\x80\x80", false }, /* above U+10FFFF */
        { "\xf5\x80\x80\x80", false },
        { "\xff", false },
        { "\xe2\x82", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (utf8_is_valid(cases[i].bytes, strlen(cases[i].bytes)) != cases[i].valid)
            fail_msg("case %zu", i);
    }
    assert_true(utf8_is_valid("a\0b", 3));
    assert_false(utf8_is_valid("\xe2\x82\xac", 2));
}

static void masking_leaves_letters_and_no_controls(void **state)
{
    char text[] = "a\tb\x1b[0m\x7f \xc2\x9b \xc2\xa0\xc3\xa9\xe2\x82\xac \xff \xe2\x82";

    (void)state;
    utf8_mask(text);
    assert_string_equal(text, "a?b?[0m? ?? \xc2\xa0\xc3\xa9\xe2\x82\xac ? ??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_what_rfc_3629_says),
        cmocka_unit_test(masking_leaves_letters_and_no_controls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
