/* mtu_plan: what is asked for is possible for every family, or the fault says which flag is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/limits.h"
#include "proto/wire/mtu.h"
#include "proto/wire/record_yaml.h"

/* The defaults, of this family; of neither with FAMILY_COUNT. The caller's. */
static struct mtu_plan plan_of(int family)
{
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    if (family != FAMILY_COUNT)
        *(int *)list_append_sized(&plan.families, sizeof(int)) = family;
    return plan;
}

/* Frees the plan. An empty `expected`: it is allowed. */
static void expect(struct mtu_plan *plan, const char *expected)
{
    struct fault fault = { "" };
    enum status status;

    assert_int_equal(record_check(&mtu_plan_record, plan, NULL), STATUS_OK);
    status = mtu_plan_check(plan, &fault);
    assert_string_equal(fault.text, expected);
    assert_int_equal(status, *expected == '\0' ? STATUS_OK : STATUS_RANGE);
    record_done(&mtu_plan_record, plan);
}

static void extent(int family, int64_t floor, int64_t ceiling, const char *expected)
{
    struct mtu_plan plan = plan_of(family);

    plan.common.floor = floor;
    plan.common.ceiling = ceiling;
    expect(&plan, expected);
}

static void the_defaults_are_allowed(void **state)
{
    struct mtu_plan plan = plan_of(FAMILY_COUNT);

    (void)state;
    assert_int_equal(mtu_plan_sessions(&plan), 0);
    assert_true(plan.common.direction == MTU_WAYS_BOTH && plan.common.flows == 1);
    assert_true(plan.common.tries == 3 && plan.common.budget == 3000);
    assert_true(plan.common.pace == 12500000 && plan.common.fragments && plan.common.trace);
    assert_true(plan.common.sizes == 0 && plan.common.watch_s == 0);
    assert_true(plan.common.check_s == 1 && plan.common.raise_s == 600);
    expect(&plan, "");
    for (int family = 0; family < FAMILY_COUNT; family++) {
        plan = plan_of(family);
        expect(&plan, "");
    }
}

static void any_sane_pair_of_sizes_is_allowed(void **state)
{
    (void)state;
    extent(FAMILY_IPV4, 140, 65535, "");
    extent(FAMILY_IPV4, 144, 144, "");
    extent(FAMILY_IPV4, 0, 576, "");
    extent(FAMILY_IPV6, 160, 65575, "");
    extent(FAMILY_IPV6, 164, 200, "");
    extent(FAMILY_IPV6, 0, 1280, "");
    extent(FAMILY_IPV4, 9000, 0, "");
}

static void the_sizes_are_those_of_datagrams(void **state)
{
    (void)state;
    extent(FAMILY_IPV4, 139, 0,
           "floor: no ipv4 datagram has 139 bytes: 140, or 144 to 65535, are allowed");
    extent(FAMILY_IPV4, 143, 0,
           "floor: no ipv4 datagram has 143 bytes: 140, or 144 to 65535, are allowed");
    extent(FAMILY_IPV4, 0, 65536,
           "ceiling: no ipv4 datagram has 65536 bytes: 140, or 144 to 65535, are allowed");
    extent(FAMILY_IPV6, 1280, 161,
           "ceiling: no ipv6 datagram has 161 bytes: 160, or 164 to 65575, are allowed");
    extent(FAMILY_IPV6, 159, 0,
           "floor: no ipv6 datagram has 159 bytes: 160, or 164 to 65575, are allowed");
}

static void the_floor_is_not_above_the_ceiling(void **state)
{
    struct mtu_plan plan = plan_of(FAMILY_IPV4);

    (void)state;
    extent(FAMILY_IPV4, 1500, 1499, "floor: 1500 is above the ceiling: at most 1499 is allowed");
    extent(FAMILY_IPV4, 0, 575,
           "ceiling: 575 is below the floor, which is 576 (ipv4) unless another is asked for: at "
           "least that is allowed");
    extent(FAMILY_IPV6, 0, 1279,
           "ceiling: 1279 is below the floor, which is 1280 (ipv6) unless another is asked for: "
           "at least that is allowed");
    /* Each family that is named has to do it. */
    *(int *)list_append_sized(&plan.families, sizeof(int)) = FAMILY_IPV6;
    plan.common.ceiling = 1000;
    expect(&plan,
           "ceiling: 1000 is below the floor, which is 1280 (ipv6) unless another is asked for: "
           "at least that is allowed");
}

/* Which families there are is not known yet: that one could do it is enough. */
static void without_families_one_has_to_do_it(void **state)
{
    (void)state;
    extent(FAMILY_COUNT, 0, 1000, "");
    extent(FAMILY_COUNT, 141, 0,
           "floor: no ipv4 datagram has 141 bytes: 140, or 144 to 65535, are allowed");
    extent(FAMILY_COUNT, 162, 0, "");
    extent(FAMILY_COUNT, 65560, 0, "");
    extent(FAMILY_COUNT, 1500, 1400, "floor: 1500 is above the ceiling: at most 1400 is allowed");
}

static void a_family_is_there_once(void **state)
{
    struct mtu_plan plan = plan_of(FAMILY_IPV6);

    (void)state;
    *(int *)list_append_sized(&plan.families, sizeof(int)) = FAMILY_IPV6;
    expect(&plan, "family: ipv6 is there twice");
}

static void loss_by_size_needs_sizes_and_its_own_time(void **state)
{
    struct mtu_plan plan = plan_of(FAMILY_IPV4);

    (void)state;
    plan.common.sizes = 20000;
    expect(&plan, "");
    plan = plan_of(FAMILY_IPV4);
    plan.common.sizes = 31;
    expect(&plan, "sizes: 31 is not allowed: 0, or 32 to 10000000");
    plan = plan_of(FAMILY_IPV4);
    plan.common.sizes = 20000;
    plan.common.watch_s = 60;
    expect(&plan, "sizes: loss by size is not measured while watching: one of sizes and watch "
                  "must be 0");
    plan = plan_of(FAMILY_IPV6);
    plan.common.sizes = 32;
    plan.common.ceiling = 1280;
    expect(&plan, "sizes: loss by size needs more sizes than one: floor and ceiling are both 1280");
}

/* Ranges are the table's. */
static void numbers_have_their_ranges(void **state)
{
    static const struct {
        const char *text, *place;
    } wrong[] = {
        { "flows: 0", "flows" },
        { "flows: 257", "flows" },
        { "floor: -1", "floor" },
        { "ceiling: 65576", "ceiling" },
        { "tries: 2", "tries" },
        { "budget: 99", "budget" },
        { "budget: 1000001", "budget" },
        { "pace: 9999", "pace" },
        { "sizes: 10000001", "sizes" },
        { "watch_s: 86401", "watch_s" },
        { "check_s: 0.05", "check_s" },
        { "raise_s: 0", "raise_s" },
        { "families: [ipv5]", "families" },
        { "families: [ipv4, ipv6, ipv4]", "families" },
        { "direction: up", "direction" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct mtu_plan plan = plan_of(FAMILY_COUNT);
        struct fault fault = { "" };
        const struct yaml_text text = { "plan", wrong[i].text, strlen(wrong[i].text) };
        enum status status = record_from_yaml(&mtu_plan_record, &text, &plan, &fault);

        if (status == STATUS_OK || strstr(fault.text, wrong[i].place) == NULL)
            fail_msg("%s: %s", wrong[i].text, fault.text);
        record_done(&mtu_plan_record, &plan);
    }
}

static void each_family_is_a_session(void **state)
{
    struct mtu_plan plan = plan_of(FAMILY_IPV6), copy;
    struct mtu_params params;

    (void)state;
    *(int *)list_append_sized(&plan.families, sizeof(int)) = FAMILY_IPV4;
    plan.common.flows = 16;
    mtu_plan_copy(&plan, &copy);
    record_done(&mtu_plan_record, &plan);
    assert_int_equal(mtu_plan_sessions(&copy), 2);
    params = mtu_plan_session(&copy, 0);
    assert_true(params.family == FAMILY_IPV6 && params.common.flows == 16);
    params = mtu_plan_session(&copy, 1);
    assert_true(params.family == FAMILY_IPV4 && params.common.flows == 16);
    record_done(&mtu_plan_record, &copy);
}

/* Every member counts. */
static void what_differs_is_not_equal(void **state)
{
    struct mtu_plan plan = plan_of(FAMILY_IPV4);
    const struct mtu_params params = mtu_plan_session(&plan, 0);
    struct mtu_params others[14];

    (void)state;
    for (size_t i = 0; i < 14; i++)
        others[i] = params;
    others[0].family = FAMILY_IPV6;
    others[1].common.direction = MTU_WAYS_FORWARD;
    others[2].common.flows++;
    others[3].common.floor++;
    others[4].common.ceiling++;
    others[5].common.tries++;
    others[6].common.budget++;
    others[7].common.pace++;
    others[8].common.fragments ^= true;
    others[9].common.trace ^= true;
    others[10].common.sizes++;
    others[11].common.watch_s += 0.5;
    others[12].common.check_s += 0.5;
    others[13].common.raise_s += 0.5;
    assert_true(mtu_params_equal(&params, &params));
    for (size_t i = 0; i < 14; i++) {
        if (mtu_params_equal(&params, &others[i]) || mtu_params_equal(&others[i], &params))
            fail_msg("change %zu is not seen", i);
    }
    record_done(&mtu_plan_record, &plan);
}

/* Long enough for what is asked for, and within what a report can say. */
static void a_phase_has_the_time_that_it_needs(void **state)
{
    struct mtu_plan plan = plan_of(FAMILY_IPV4);
    struct mtu_params params = mtu_plan_session(&plan, 0), more;
    double seconds = mtu_phase_seconds(&params);

    (void)state;
    /* 3,000 datagrams in rounds of 24, a second each. */
    assert_true(seconds > 125 && seconds < 1800);
    more = params;
    more.common.flows = 256;
    assert_true(mtu_phase_seconds(&more) > 256.0 * 3000 * 65535 / 12.5e6);
    more.common.ceiling = 1500;
    assert_true(mtu_phase_seconds(&more) < 2 * seconds);
    more = params;
    more.common.sizes = 20000;
    more.common.pace = 100000;
    more.common.ceiling = 1500;
    assert_true(mtu_phase_seconds(&more) > 20000 * 1500 / 1e5);
    more = params;
    more.common.watch_s = 3600;
    assert_true(mtu_phase_seconds(&more) > 3600 && mtu_phase_seconds(&more) < 3600 + seconds);
    more.common.watch_s = LIMIT_SECONDS;
    more.common.budget = 1000000;
    more.common.pace = 10000;
    assert_true(mtu_phase_seconds(&more) <= 2 * LIMIT_SECONDS);
    record_done(&mtu_plan_record, &plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_allowed),
        cmocka_unit_test(any_sane_pair_of_sizes_is_allowed),
        cmocka_unit_test(the_sizes_are_those_of_datagrams),
        cmocka_unit_test(the_floor_is_not_above_the_ceiling),
        cmocka_unit_test(without_families_one_has_to_do_it),
        cmocka_unit_test(a_family_is_there_once),
        cmocka_unit_test(loss_by_size_needs_sizes_and_its_own_time),
        cmocka_unit_test(numbers_have_their_ranges),
        cmocka_unit_test(each_family_is_a_session),
        cmocka_unit_test(what_differs_is_not_equal),
        cmocka_unit_test(a_phase_has_the_time_that_it_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
