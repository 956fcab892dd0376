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
    for (size_t i = 0; i < sizeof one.bytes; i++)
        count[one.bytes[i]]++;
    /* 272 expected, six times their deviation around it */
    for (size_t i = 0; i < 256; i++)
        assert_in_range(count[i], 172, 372);
}

static void has_room_for_the_largest_at_every_slice(void **state)
{
    (void)state;
    for (uint32_t sequence = 0; sequence < 2 * PATTERN_SLICES; sequence++) {
        const uint8_t *slice = pattern_slice(&one, sequence);

        assert_true(slice >= one.bytes);
        assert_true(slice + PAYLOAD_MAX_IPV6 <= one.bytes + sizeof one.bytes);
    }
    assert_ptr_equal(pattern_slice(&one, 0xffffffff), pattern_slice(&one, PATTERN_SLICES - 1));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_same_for_the_same_seed),
        cmocka_unit_test(uses_every_byte_about_as_often),
        cmocka_unit_test(has_room_for_the_largest_at_every_slice),
        cmocka_unit_test(differs_between_neighbours),
    };

    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
