/* One run between two hosts on virtual time: what it sends, in which order, and the words of what
 * ends it. Every event in every state is in test_measure_events.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/fleet/measure_world.h"

/* --- the way through ------------------------------------------------------------------------ */

static void two_cases_with_warm_up(void **state)
{
    static const char case_lines[] = "echo < open\n"
                                     "sender < open 10.9.2.2:7900\n"
                                     "echo < begin warmup\n"
                                     "sender < begin warmup\n"
                                     "echo < end warmup\n"
                                     "echo < begin measure\n"
                                     "sender < begin measure\n"
                                     "echo < end measure\n"
                                     "sender < close\n"
                                     "echo < close\n";
    static struct world world;
    char first[UUID_SIZE];
    uint8_t key[SESSION_KEY_SIZE];
    uint16_t ssid;

    (void)state;
    world_begin(&world, 2, 0.25, "10.9.2.2");
    world_bring(&world, MEASURE_END_ECHO, PHASE_WARMUP);
    assert_string_equal(world.opened[END_ECHO].session, world.opened[END_SENDER].session);
    assert_memory_equal(world.keys[END_ECHO], world.keys[END_SENDER], SESSION_KEY_SIZE);
    assert_int_equal(world.opened[END_ECHO].ssid, world.opened[END_SENDER].ssid);
    assert_true(world.opened[END_SENDER].of_case.idle_s > 0.9);
    text_copy(first, sizeof first, world.opened[END_ECHO].session);
    memcpy(key, world.keys[END_ECHO], sizeof key);
    ssid = (uint16_t)world.opened[END_ECHO].ssid;
    world_say(&world, END_ECHO, MESSAGE_ENDED, PHASE_WARMUP);
    world_say(&world, END_ECHO, MESSAGE_BEGUN, PHASE_MEASURE);
    world_say(&world, END_SENDER, MESSAGE_ENDED, PHASE_MEASURE);
    world_say(&world, END_ECHO, MESSAGE_ENDED, PHASE_MEASURE);
    world_say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
    world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    world_expect(&world, case_lines);
    assert_string_equal("", measure_session(world.measure));
    measure_joined(world.measure, 1, world.now);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_joined(world.measure, 0, world.now);
    assert_int_equal(MEASURE_OPEN_ECHO, measure_state(world.measure));
    assert_int_equal(1, world.opened[END_ECHO].index);
    assert_int_equal(2, world.opened[END_ECHO].of_case.params.window);
    assert_true(world.opened[END_ECHO].of_case.idle_s < 0.1);
    assert_string_not_equal(first, world.opened[END_ECHO].session);
    assert_memory_not_equal(key, world.keys[END_ECHO], SESSION_KEY_SIZE);
    assert_true(world.opened[END_ECHO].ssid >= ssid + 4);
    world.used = 0;
    measure_joined(world.measure, 1, world.now);
    world_bring(&world, MEASURE_OPEN_SENDER, PHASE_WARMUP);
    world_done(&world);
}

static void a_run_without_warm_up_ends_complete(void **state)
{
    static struct world world;

    (void)state;
    world_begin(&world, 1, 0, "fd00::2");
    world_bring(&world, MEASURE_OVER, PHASE_MEASURE);
    world_expect(&world,
                 "echo < open\nsender < open [fd00::2]:7900\necho < begin measure\n"
                 "sender < begin measure\necho < end measure\nsender < close\necho < close\n"
                 "over: complete\n");
    assert_int_equal(INT64_MAX, measure_deadline(world.measure).ns);
    assert_int_equal(1, world.overs);
    world_done(&world);
}

static void reports_may_come_before_the_ends_say_closed(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_CLOSE, 1);
    measure_joined(world.measure, 0, world.now);
    world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    world_say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
    world_expect(&world, "over: complete\n");
    world_done(&world);
}

static void watchers_see_states_and_progress(void **state)
{
    static struct world world;
    size_t before;

    (void)state;
    world_begin_at(&world, MEASURE_SEND, 1);
    assert_string_equal("send", world.progress.state);
    before = world.progresses;
    world_say(&world, END_SENDER, MESSAGE_PROGRESS, PHASE_MEASURE);
    assert_int_equal(before + 1, world.progresses);
    assert_int_equal(7, world.progress.sent);
    world_say(&world, END_SENDER, MESSAGE_PROGRESS, PHASE_WARMUP);
    world_say(&world, END_ECHO, MESSAGE_PROGRESS, PHASE_MEASURE);
    assert_int_equal(before + 1, world.progresses);
    world_done(&world);
}

/* --- words ---------------------------------------------------------------------------------- */

static void a_refusal_says_who_and_ends_the_run(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_OPEN_SENDER, 3);
    world_say(&world, END_SENDER, MESSAGE_REFUSED, PHASE_MEASURE);
    world_expect(&world, "case 0 failed: the sender's end refused: too much\n"
                         "echo < close: the sender's end refused: too much\n");
    world_say(&world, END_ECHO, MESSAGE_FAILED, PHASE_MEASURE);
    world_expect(&world, "over: failed: the sender's end refused: too much\n");
    world_done(&world);
}

static void a_failure_goes_on_with_the_next_case(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_SEND, 2);
    world_say(&world, END_SENDER, MESSAGE_FAILED, PHASE_MEASURE);
    world_expect(&world, "case 0 failed: the sender's end failed: broke\n"
                         "echo < close: the sender's end failed: broke\n");
    world_say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
    world_expect(&world, "echo < open\n");
    world_done(&world);
}

static void a_failure_while_closing_is_the_cases(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_CLOSE, 1);
    world_say(&world, END_ECHO, MESSAGE_FAILED, PHASE_MEASURE);
    world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    world_expect(&world, "case 0 failed: the echo's end failed: broke\nover: complete\n");
    world_done(&world);
}

static void hosts_that_are_away_from_the_start(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_RESULTS, 2);
    world.away[END_SENDER] = world.away[END_ECHO] = true;
    measure_joined(world.measure, 0, world.now);
    world_expect(&world, "case 1 failed: the echo's end is away: not connected\n"
                         "over: failed: the echo's end is away: not connected\n");
    world_done(&world);
}

static void the_deadlines_words(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_OPEN_SENDER, 1);
    world_pass(&world, 21 * NS_PER_S);
    world_pass(&world, 10 * NS_PER_S);
    world_expect(&world,
                 "case 0 failed: the sender's end did not come to an agreement with the echo "
                 "role within 21 s\n"
                 "sender < close: the sender's end did not come to an agreement with the echo "
                 "role within 21 s\n"
                 "echo < close: the sender's end did not come to an agreement with the echo "
                 "role within 21 s\n"
                 "over: complete\n");
    world_done(&world);
    world_begin_at(&world, MEASURE_CLOSE, 1);
    world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    world_pass(&world, 10 * NS_PER_S);
    world_expect(&world,
                 "case 0 failed: the echo's end did not close within 10 s\nover: complete\n");
    world_done(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_cases_with_warm_up),
        cmocka_unit_test(a_run_without_warm_up_ends_complete),
        cmocka_unit_test(reports_may_come_before_the_ends_say_closed),
        cmocka_unit_test(watchers_see_states_and_progress),
        cmocka_unit_test(a_refusal_says_who_and_ends_the_run),
        cmocka_unit_test(a_failure_goes_on_with_the_next_case),
        cmocka_unit_test(a_failure_while_closing_is_the_cases),
        cmocka_unit_test(hosts_that_are_away_from_the_start),
        cmocka_unit_test(the_deadlines_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
