/* Padding must be the same at both ends, look random, and differ between neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/probe/pattern.h"

static struct pattern one, other;

static void is_the_same_for_the_same_seed(void **state)
{
    (void)state;
    pattern_init(&one, 0);
    pattern_init(&other, 0);
    assert_memory_equal(&one, &other, sizeof one);
    pattern_init(&other, 2);
    assert_memory_not_equal(&one, &other, sizeof one);
}

static void uses_every_byte_about_as_often(void **state)
{
    size_t count[256] = { 0 };

    (void)state;
    pattern_init(&one, 12345);
    for (size_t i = 0; i < PATTERN_PERIOD; i++)
        count[one.bytes[i]]++;
    /* 16 expected; 40 is six times the deviation above */
    for (size_t i = 0; i < 256; i++)
        assert_in_range(count[i], 1, 40);
}

static void has_room_for_the_largest_at_every_slice(void **state)
{
    (void)state;
    for (uint32_t sequence = 0; sequence < 2 * PATTERN_SLICES; sequence++) {
        const uint8_t *slice = pattern_slice(&one, sequence);

        assert_true(slice >= one.bytes);
        assert_true(slice + PAYLOAD_MAX_IPV6 <= one.bytes + sizeof one.bytes);
    }
    assert_ptr_equal(pattern_slice(&one, 0xffffffff),
                     pattern_slice(&one, 0xffffffff % PATTERN_SLICES));
}

static void differs_between_neighbours(void **state)
{
    (void)state;
    pattern_init(&one, 99);
    for (uint32_t a = 0; a < PATTERN_SLICES; a++) {
        for (uint32_t b = 0; b < a; b++)
            assert_memory_not_equal(pattern_slice(&one, a), pattern_slice(&one, b), 16);
    }
}

/* At every length around the period, each changed byte and each page out of place. */
static void matches_itself_and_nothing_else(void **state)
{
    static const size_t lengths[] = { 1, 63, 4031, 4032, 4033, 4095, 4096, 8064, 8065, 65463 };
    static uint8_t bytes[PAYLOAD_MAX_IPV6];

    (void)state;
    pattern_init(&one, 7);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t length = lengths[i];

        memcpy(bytes, pattern_slice(&one, 5), length);
        assert_true(pattern_matches(&one, 5, bytes, length));
        assert_false(length > 16 && pattern_matches(&one, 6, bytes, length));
        for (size_t at = 0; at < length; at += length < 5000 ? 1 : 97) {
            bytes[at] ^= 1;
            assert_false(pattern_matches(&one, 5, bytes, length));
            bytes[at] ^= 1;
        }
    }
    memcpy(bytes + 4096, pattern_slice(&one, 5) + 8192, 4096);
    assert_false(pattern_matches(&one, 5, bytes, 16384));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_same_for_the_same_seed),
        cmocka_unit_test(uses_every_byte_about_as_often),
        cmocka_unit_test(has_room_for_the_largest_at_every_slice),
        cmocka_unit_test(differs_between_neighbours),
        cmocka_unit_test(matches_itself_and_nothing_else),
    };

    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
