/* The sender role must tell how long an echo was on its way, there and back, whatever the two ends'
 * clocks are apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/agent/probe/sender_role.h"

static const struct mono never = { INT64_MAX };

static void takes_the_echo_roles_time_off_a_round_trip(void **state)
{
    struct role role = role_new(44, 1);
    int64_t whole;
    struct asked asked;

    (void)state;
    sender_burst(role.sender);
    asked = take_request(&role);
    poll(NULL, 0, 20);
    whole = mono_between(sender_first_sent(role.sender), mono_now());
    make_echo(&role, &asked, 0, whole);
    send_back(&role, &asked, 44);
    assert_true(stage_readable(role.stage->client_fd[0], STAGE_WAIT_MS));
    collect(&role, false, never);
    whole = mono_between(sender_first_sent(role.sender), mono_now()) - whole;
    count(&role);
    assert_true(role.rtt.max <= whole);
    role_free(&role);
}

/* A residence longer than the whole way is no residence. */
static void does_not_believe_an_impossible_residence(void **state)
{
    static const int64_t residences[] = { 3600 * NS_PER_S, -5 * NS_PER_MS };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct role role = role_new(44, 1);
        struct asked asked;

        sender_burst(role.sender);
        asked = take_request(&role);
        poll(NULL, 0, 3);
        make_echo(&role, &asked, 0, residences[i]);
        send_back(&role, &asked, 44);
        assert_true(stage_readable(role.stage->client_fd[0], STAGE_WAIT_MS));
        collect(&role, false, never);
        count(&role);
        assert_int_equal(role.rtt.count, 1);
        assert_true(role.rtt.min >= 2 * NS_PER_MS);
        assert_int_equal(role.there.count + role.back.count, 0);
        role_free(&role);
    }
}

/* 20 ms there, 5 ms at the echo role, 10 ms back, told by clocks that are a day apart or not. */
static void tells_each_way_by_both_clocks(void **state)
{
    static const int64_t offsets[] = { 0, 86400 * NS_PER_S, -86400 * NS_PER_S };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct role role = role_new(44, 1);
        int64_t there, trip;
        struct mono sent, answered;
        struct asked asked;

        role.offset_ns = offsets[i];
        sender_burst(role.sender);
        sent = sender_first_sent(role.sender);
        asked = take_request(&role);
        poll(NULL, 0, 25);
        there = mono_between(sent, mono_now()) - 5 * NS_PER_MS;
        make_echo(&role, &asked, 0, 5 * NS_PER_MS);
        answered = mono_now();
        poll(NULL, 0, 10);
        send_back(&role, &asked, 44);
        assert_true(stage_readable(role.stage->client_fd[0], STAGE_WAIT_MS));
        collect(&role, false, never);
        trip = mono_between(sent, mono_now()) - 5 * NS_PER_MS;
        count(&role);
        assert_int_equal(role.rtt.count, 1);
        assert_in_range(role.rtt.min, there + 9 * NS_PER_MS, trip);
        assert_true(role.there.count == 1 && role.back.count == 1);
        assert_in_range(role.there.min - offsets[i], there,
                        mono_between(sent, answered) - 5 * NS_PER_MS + 2);
        assert_true(role.there.min + role.back.min == role.rtt.min);
        assert_true(offsets[i] <= 0 || role.back.max < 0); /* signed */
        assert_true(offsets[i] >= 0 || role.there.max < 0);
        role_free(&role);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_echo_roles_time_off_a_round_trip),
        cmocka_unit_test(does_not_believe_an_impossible_residence),
        cmocka_unit_test(tells_each_way_by_both_clocks),
    };

    return cmocka_run_group_tests_name("sender_times", tests, NULL, NULL);
}
