/* What two ends say of their troubles becomes one sentence that says each of them once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller/fleet/verdict.h"

static void expect_words(const char *sender, const char *echo, const char *words)
{
    struct fault said = { "" };

    assert_int_equal(words[0] != '\0', verdict_errors(sender, echo, &said));
    assert_string_equal(words, said.text);
}

static void who_was_closed_with_the_others_words_is_not_heard_again(void **state)
{
    (void)state;
    expect_words("", "", "");
    expect_words("cut", "closed: the sender's end failed: cut", "sender: cut");
    expect_words("closed: the echo's end failed: off", "off", "echo: off");
    expect_words("", "off", "echo: off");
    expect_words("closed: gone", "closed: gone", "sender: closed: gone; echo: closed: gone");
    expect_words("cut", "closed: off", "sender: cut; echo: closed: off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_closed_with_the_others_words_is_not_heard_again),
    };

    return cmocka_run_group_tests_name("verdict_errors", tests, NULL, NULL);
}
