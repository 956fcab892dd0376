/* Repeats are counted, said in time, and never more than a few lines in ten seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/repeats.h"

struct said {
    size_t count;
    int64_t sum; /* of what was left out, and said */
    char last[200];
};

static void say(void *context, const struct repeats_line *line)
{
    struct said *said = context;

    said->count++;
    said->sum += line->left_out > 0 ? line->left_out : 1;
    snprintf(said->last, sizeof said->last, "%.60s: %.60s (%lld)", line->key, line->words,
             (long long)line->left_out);
}

static struct mono at_ms(int64_t ms)
{
    return (struct mono){ ms * NS_PER_MS };
}

static void the_first_is_said_and_others_are_counted(void **state)
{
    struct said said = { 0 };
    struct repeats *repeats = repeats_new(say, &said);

    (void)state;
    assert_int_equal(INT64_MAX, repeats_deadline(repeats).ns);
    repeats_add(repeats, "10.0.0.1", "no certificate", at_ms(0));
    assert_string_equal("10.0.0.1: no certificate (0)", said.last);
    assert_int_equal(INT64_MAX, repeats_deadline(repeats).ns); /* nothing to say: no wake-up */
    repeats_add(repeats, "10.0.0.1", "no certificate", at_ms(1000));
    repeats_add(repeats, "10.0.0.1", "no certificate", at_ms(9999));
    repeats_add(repeats, "10.0.0.2", "not TLS", at_ms(9999));
    assert_int_equal(2, said.count);
    assert_int_equal(10000 * NS_PER_MS, repeats_deadline(repeats).ns);
    repeats_tick(repeats, at_ms(9999));
    assert_int_equal(2, said.count);
    repeats_tick(repeats, at_ms(10000));
    assert_int_equal(3, said.count);
    assert_string_equal("10.0.0.1: no certificate (2)", said.last);
    repeats_tick(repeats, at_ms(20000));
    assert_int_equal(3, said.count);
    repeats_add(repeats, "10.0.0.1", "again", at_ms(20001));
    assert_string_equal("10.0.0.1: again (0)", said.last);
    repeats_free(repeats);
}

/* Behind one address may be many. */
static void each_reason_of_a_key_is_said(void **state)
{
    struct said said = { 0 };
    struct repeats *repeats = repeats_new(say, &said);

    (void)state;
    repeats_add(repeats, "10.0.0.1", "no certificate", at_ms(0));
    repeats_add(repeats, "10.0.0.1", "not TLS", at_ms(1));
    assert_string_equal("10.0.0.1: not TLS (0)", said.last);
    repeats_add(repeats, "10.0.0.1", "no certificate", at_ms(2));
    assert_int_equal(2, said.count);
    for (int i = 0; i < 1000; i++) {
        char words[32];

        snprintf(words, sizeof words, "made up %d", i);
        repeats_add(repeats, "10.0.0.1", words, at_ms(3));
    }
    assert_int_equal(REPEATS_REASONS, said.count);
    repeats_tick(repeats, at_ms(20000));
    assert_int_equal(1003, said.sum);
    repeats_free(repeats);
}

static void a_flood_of_keys_is_a_few_lines(void **state)
{
    struct said said = { 0 };
    struct repeats *repeats = repeats_new(say, &said);

    (void)state;
    for (int64_t i = 0; i < 30000; i++) {
        char key[REPEATS_KEY_SIZE];

        snprintf(key, sizeof key, "[2001:db8::%llx]", (unsigned long long)i);
        repeats_add(repeats, key, "silence", at_ms(i));
    }
    assert_true(said.count >= REPEATS_KEYS);
    assert_true(said.count <= 3 * (REPEATS_KEYS + 1));
    repeats_tick(repeats, at_ms(60000));
    assert_int_equal(30000, said.sum); /* none is forgotten */
    repeats_free(repeats);
}

static void long_keys_and_words_are_cut(void **state)
{
    struct said said = { 0 };
    struct repeats *repeats = repeats_new(say, &said);
    char text[4 * REPEATS_WORDS_SIZE];

    (void)state;
    memset(text, 'k', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    repeats_add(repeats, text, text, at_ms(0));
    repeats_add(repeats, text, text, at_ms(1));
    assert_int_equal(1, said.count);
    repeats_free(repeats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_said_and_others_are_counted),
        cmocka_unit_test(each_reason_of_a_key_is_said),
        cmocka_unit_test(a_flood_of_keys_is_a_few_lines),
        cmocka_unit_test(long_keys_and_words_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
