/* A difference of counters is what happened between two snapshots, or says that nobody knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "proto/wire/counters.h"

static int64_t delta_of(int64_t before, int64_t after, bool narrow, bool *out_reset)
{
    struct counters a, b, delta;
    bool reset[COUNTER_COUNT], width32[COUNTER_COUNT] = { false };

    counters_init(&a);
    counters_init(&b);
    a.value[UDP_DELIVERED] = before;
    b.value[UDP_DELIVERED] = after;
    width32[UDP_DELIVERED] = narrow;
    memset(reset, 1, sizeof reset);
    counters_subtract(&a, &b, width32, &delta, reset);
    *out_reset = reset[UDP_DELIVERED];
    assert_true(delta.value[QDISC_DROPPED] == NONE_INT);
    assert_false(reset[QDISC_DROPPED]);
    return delta.value[UDP_DELIVERED];
}

static void a_counter_that_rises_gives_the_step(void **state)
{
    bool reset;

    (void)state;
    assert_int_equal(delta_of(100, 123, false, &reset), 23);
    assert_false(reset);
    assert_int_equal(delta_of(7, 7, true, &reset), 0);
    assert_false(reset);
    assert_true(delta_of(0, INT64_MAX, false, &reset) == INT64_MAX);
    assert_false(reset);
}

static void a_counter_that_falls_is_a_reset_and_not_a_wrap(void **state)
{
    bool reset;

    (void)state;
    assert_true(delta_of(4000000000, 12, false, &reset) == NONE_INT);
    assert_true(reset);
    assert_true(delta_of(4294967290, 5, false, &reset) == NONE_INT);
    assert_true(reset);
    assert_true(delta_of(INT64_MAX, 0, false, &reset) == NONE_INT);
    assert_true(reset);
}

static void a_source_of_32_bits_wraps(void **state)
{
    bool reset;

    (void)state;
    assert_int_equal(delta_of(4294967290, 5, true, &reset), 11);
    assert_false(reset);
    assert_int_equal(delta_of(4294967295, 0, true, &reset), 1);
    assert_false(reset);
}

static void a_source_of_32_bits_that_falls_far_is_a_reset(void **state)
{
    bool reset;

    (void)state;
    assert_true(delta_of(1000000, 12, true, &reset) == NONE_INT);
    assert_true(reset);
    /* The border: a step of 2^31 - 1 is a wrap, of 2^31 a reset. */
    assert_int_equal(delta_of(2147483649, 0, true, &reset), 2147483647);
    assert_false(reset);
    assert_true(delta_of(2147483648, 0, true, &reset) == NONE_INT);
    assert_true(reset);
    /* No 32-bit source has such a value. */
    assert_true(delta_of(4294967296, 4294967295, true, &reset) == NONE_INT);
    assert_true(reset);
}

static void what_one_side_lacks_is_unknown_and_no_reset(void **state)
{
    bool reset;

    (void)state;
    assert_true(delta_of(NONE_INT, 5, true, &reset) == NONE_INT);
    assert_false(reset);
    assert_true(delta_of(5, NONE_INT, true, &reset) == NONE_INT);
    assert_false(reset);
}

static void without_widths_all_are_wide(void **state)
{
    struct counters a, b, delta;
    bool reset[COUNTER_COUNT];

    (void)state;
    for (int i = 0; i < COUNTER_COUNT; i++) {
        a.value[i] = 4294967290;
        b.value[i] = 5;
    }
    counters_subtract(&a, &b, NULL, &delta, reset);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        assert_true(delta.value[i] == NONE_INT);
        assert_true(reset[i]);
    }
}

static void names_are_unique_and_grouped(void **state)
{
    (void)state;
    for (int i = 0; i < COUNTER_COUNT; i++) {
        assert_non_null(counter_names[i]);
        assert_non_null(strchr(counter_names[i], '.'));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(counter_names[i], counter_names[j]);
    }
}

/* The families stand in the same order, so that one table of fields serves both. */
static void families_have_the_same_names_in_the_same_order(void **state)
{
    (void)state;
    for (int i = 0; i < UDP6_DELIVERED - UDP_DELIVERED; i++)
        assert_string_equal(strchr(counter_names[UDP_DELIVERED + i], '.'),
                            strchr(counter_names[UDP6_DELIVERED + i], '.'));
    for (int i = 0; i < IP6_FRAGMENTS_CREATED - IP_FRAGMENTS_CREATED; i++)
        assert_string_equal(strchr(counter_names[IP_FRAGMENTS_CREATED + i], '.'),
                            strchr(counter_names[IP6_FRAGMENTS_CREATED + i], '.'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_rises_gives_the_step),
        cmocka_unit_test(a_counter_that_falls_is_a_reset_and_not_a_wrap),
        cmocka_unit_test(a_source_of_32_bits_wraps),
        cmocka_unit_test(a_source_of_32_bits_that_falls_far_is_a_reset),
        cmocka_unit_test(what_one_side_lacks_is_unknown_and_no_reset),
        cmocka_unit_test(without_widths_all_are_wide),
        cmocka_unit_test(names_are_unique_and_grouped),
        cmocka_unit_test(families_have_the_same_names_in_the_same_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
