/* A family's count must be its own where the system has one, else the common one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/system_count.h"

static int64_t between(enum family family, int64_t own_before, int64_t own_after)
{
    struct counters before, after;

    counters_init(&before);
    counters_init(&after);
    before.value[UDP_RECEIVE_BUFFER_FULL] = 10;
    after.value[UDP_RECEIVE_BUFFER_FULL] = 13;
    before.value[UDP6_RECEIVE_BUFFER_FULL] = own_before;
    after.value[UDP6_RECEIVE_BUFFER_FULL] = own_after;
    return system_count_between(&before, &after, UDP_RECEIVE_BUFFER_FULL, family);
}

static void each_family_has_its_own(void **state)
{
    (void)state;
    assert_int_equal(between(FAMILY_IPV4, 100, 107), 3);
    assert_int_equal(between(FAMILY_IPV6, 100, 107), 7);
}

static void one_count_is_for_both_where_there_is_no_other(void **state)
{
    (void)state;
    assert_int_equal(between(FAMILY_IPV6, NONE_INT, NONE_INT), 3);
}

static void what_is_not_known_is_not_zero(void **state)
{
    struct counters nothing;

    (void)state;
    counters_init(&nothing);
    assert_true(system_count_between(&nothing, &nothing, UDP_NO_SOCKET, FAMILY_IPV4) == NONE_INT);
    assert_true(system_count_between(&nothing, &nothing, UDP_NO_SOCKET, FAMILY_IPV6) == NONE_INT);
    assert_true(between(FAMILY_IPV6, 100, NONE_INT) == NONE_INT);
}

static void the_system_counts_now(void **state)
{
    struct counters before, after;

    (void)state;
    assert_int_equal(system_counters(&before, NULL), STATUS_OK);
    assert_int_equal(system_counters(&after, NULL), STATUS_OK);
    assert_true(before.value[UDP_SENT] == NONE_INT ||
                after.value[UDP_SENT] >= before.value[UDP_SENT]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_family_has_its_own),
        cmocka_unit_test(one_count_is_for_both_where_there_is_no_other),
        cmocka_unit_test(what_is_not_known_is_not_zero),
        cmocka_unit_test(the_system_counts_now),
    };

    return cmocka_run_group_tests_name("system_count", tests, NULL, NULL);
}
