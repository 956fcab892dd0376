/* What has come is known for the newest number and 64 before it, in whatever order they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/mtu_came.h"
#include "tests/agent/probe/chance.h"

enum { NUMBERS = 400 };

static void in_order_all_before_are_known(void **state)
{
    struct mtu_came came = { .any = false };

    (void)state;
    assert_int_equal(0, mtu_came_add(&came, 7));
    assert_int_equal(1, mtu_came_add(&came, 8));
    assert_int_equal(3, mtu_came_add(&came, 9));
    for (uint32_t number = 10; number < 100; number++)
        (void)mtu_came_add(&came, number);
    assert_true(mtu_came_add(&came, 100) == UINT64_MAX);
}

static void what_has_not_come_is_a_gap(void **state)
{
    struct mtu_came came = { .any = false };

    (void)state;
    (void)mtu_came_add(&came, 0);
    assert_int_equal(4, mtu_came_add(&came, 3));
    /* A late one says nothing itself, and the next newest knows of it. */
    assert_int_equal(0, mtu_came_add(&came, 2));
    assert_int_equal(11, mtu_came_add(&came, 4));
    /* Again: the same. */
    assert_int_equal(11, mtu_came_add(&came, 4));
}

static void a_leap_forgets(void **state)
{
    struct mtu_came came = { .any = false };

    (void)state;
    (void)mtu_came_add(&came, 5);
    assert_true(mtu_came_add(&came, 5 + MTU_CAME_BEFORE) == UINT64_C(1) << 63);
    assert_int_equal(0, mtu_came_add(&came, 6 + 2 * MTU_CAME_BEFORE));
    assert_int_equal(0, mtu_came_add(&came, UINT32_MAX));
    assert_int_equal(0, mtu_came_add(&came, 6)); /* far behind: too old to be kept */
    assert_int_equal(0, mtu_came_add(&came, UINT32_MAX));
}

static void check_one(struct mtu_came *came, bool has_come[NUMBERS], uint32_t *newest,
                      uint32_t number)
{
    uint64_t told, expected = 0;

    has_come[number] = true;
    *newest = number > *newest ? number : *newest;
    for (uint32_t back = 1; back <= MTU_CAME_BEFORE && back <= number; back++)
        if (number == *newest && has_come[number - back])
            expected |= UINT64_C(1) << (back - 1);
    told = mtu_came_add(came, number);
    if (told != expected)
        fail_msg("number %u: %llx is not %llx", number, (unsigned long long)told,
                 (unsigned long long)expected);
}

/* Against a list of all that has come; some never do, some late. */
static void any_order_is_told_as_it_was(void **state)
{
    struct chance chance = chance_start("any_order_is_told_as_it_was");

    (void)state;
    for (int round = 0; round < 50; round++) {
        struct mtu_came came = { .any = false };
        bool has_come[NUMBERS] = { false };
        uint32_t newest = 0;

        for (uint32_t i = 0; i + 9 < NUMBERS; i++) {
            if (chance_below(&chance, 5) > 0)
                check_one(&came, has_come, &newest, i + (uint32_t)chance_below(&chance, 9));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_all_before_are_known),
        cmocka_unit_test(what_has_not_come_is_a_gap),
        cmocka_unit_test(a_leap_forgets),
        cmocka_unit_test(any_order_is_told_as_it_was),
    };

    return cmocka_run_group_tests_name("mtu_came", tests, NULL, NULL);
}
