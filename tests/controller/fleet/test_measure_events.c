/* Every event in every state of a run has its answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/fleet/measure_world.h"

struct answer {
    enum end_role role;
    enum message_type type;
    enum measure_state next; /* MEASURE_STATE_COUNT: any other message changes nothing */
};

/* What moves a state on, in a run of one case without warm-up; 0 or more per state. */
static const struct answer awaited[][4] = {
    [MEASURE_OPEN_ECHO] = { { END_ECHO, MESSAGE_OPENED, MEASURE_OPEN_SENDER } },
    [MEASURE_OPEN_SENDER] = { { END_SENDER, MESSAGE_OPENED, MEASURE_BEGIN_ECHO } },
    [MEASURE_BEGIN_ECHO] = { { END_ECHO, MESSAGE_BEGUN, MEASURE_SEND } },
    [MEASURE_SEND] = { { END_SENDER, MESSAGE_ENDED, MEASURE_END_ECHO } },
    [MEASURE_END_ECHO] = { { END_ECHO, MESSAGE_ENDED, MEASURE_CLOSE } },
    [MEASURE_OVER] = { { 0 } },
};

static bool ends_a_session(enum message_type type)
{
    return type == MESSAGE_REFUSED || type == MESSAGE_FAILED || type == MESSAGE_CLOSED;
}

/* The state that follows. */
static enum measure_state expected(enum measure_state at, enum end_role role,
                                   enum message_type type)
{
    bool asked = role == END_ECHO || at > MEASURE_OPEN_ECHO;

    if (at < MEASURE_CLOSE && asked && ends_a_session(type)) {
        /* The end is gone; the other one is told and waited for, where it was asked to open. */
        return at == MEASURE_OPEN_ECHO ? MEASURE_OVER : MEASURE_CLOSE;
    }
    if (at < MEASURE_CLOSE && awaited[at][0].role == role && awaited[at][0].type == type)
        return awaited[at][0].next;
    return at;
}

static void each_message_in_each_state_has_its_answer(void **state)
{
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_STATE_COUNT; at++) {
        for (int type = 0; type < MESSAGE_COUNT; type++) {
            for (int role = 0; role < END_COUNT; role++) {
                enum measure_state next;

                world_begin_at(&world, (enum measure_state)at, 1);
                world_say(&world, (enum end_role)role, (enum message_type)type, PHASE_MEASURE);
                next = measure_state(world.measure);
                if (next !=
                    expected((enum measure_state)at, (enum end_role)role, (enum message_type)type))
                    fail_msg("%s of the %s in %s leads to %s", message_names[type],
                             world_ends[role], measure_state_names[at], measure_state_names[next]);
                assert_true(world.overs <= 1);
                world_done(&world);
            }
        }
    }
}

static void what_is_of_another_session_or_phase_changes_nothing(void **state)
{
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_STATE_COUNT; at++) {
        world_begin_at(&world, (enum measure_state)at, 1);
        text_copy(world.opened[END_ECHO].session, UUID_SIZE, "another");
        for (int type = 0; type < MESSAGE_COUNT; type++) {
            world_say(&world, END_ECHO, (enum message_type)type, PHASE_MEASURE);
            world_say(&world, END_SENDER, (enum message_type)type, PHASE_MEASURE);
        }
        assert_int_equal(at, measure_state(world.measure));
        world_expect(&world, "");
        world_done(&world);
    }
    world_begin_at(&world, MEASURE_SEND, 1);
    world_say(&world, END_SENDER, MESSAGE_ENDED, PHASE_WARMUP);
    assert_int_equal(MEASURE_SEND, measure_state(world.measure));
    world_done(&world);
}

static void each_state_has_a_deadline(void **state)
{
    static const int64_t patience_s[] = { 10 + 1, 20 + 1, 10, 1 + 30 + 10, 10, 10, 20 };
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_OVER; at++) {
        world_begin_at(&world, (enum measure_state)at, 2);
        world_pass(&world, patience_s[at] * NS_PER_S - 1);
        assert_int_equal(at, measure_state(world.measure));
        assert_int_equal(1, mono_between(world.now, measure_deadline(world.measure)));
        world_pass(&world, 1);
        assert_int_not_equal(at, measure_state(world.measure));
        assert_non_null(strstr(world.log, "case 0 failed: "));
        assert_null(strstr(world.log, "over"));
        /* Whatever was open is given up after one more deadline, and the next case begins. */
        if (measure_state(world.measure) == MEASURE_CLOSE)
            world_pass(&world, 10 * NS_PER_S);
        assert_int_equal(MEASURE_OPEN_ECHO, measure_state(world.measure));
        assert_int_equal(1, world.opened[END_ECHO].index);
        world_done(&world);
    }
}

static void each_state_can_be_stopped(void **state)
{
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_OVER; at++) {
        world_begin_at(&world, (enum measure_state)at, 3);
        measure_stop(world.measure, "stopped by ann", world.now);
        measure_stop(world.measure, "again", world.now);
        if (at != MEASURE_RESULTS) {
            world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
            world_say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
        }
        assert_int_equal(MEASURE_OVER, measure_state(world.measure));
        assert_int_equal(1, world.overs);
        assert_non_null(strstr(world.log, "over: stopped: stopped by ann\n"));
        assert_null(strstr(world.log, "failed"));
        measure_stop(world.measure, "after the end", world.now);
        assert_int_equal(1, world.overs);
        world_done(&world);
    }
}

static void an_agent_that_goes_away_fails_the_run(void **state)
{
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_CLOSE; at++) {
        for (int role = 0; role < END_COUNT; role++) {
            world_begin_at(&world, (enum measure_state)at, 3);
            world.away[role] = true;
            measure_away(world.measure, (enum end_role)role, "timed out", world.now);
            world_say(&world, role == END_SENDER ? END_ECHO : END_SENDER, MESSAGE_CLOSED,
                      PHASE_MEASURE);
            assert_int_equal(MEASURE_OVER, measure_state(world.measure));
            assert_non_null(strstr(world.log, "over: failed: "));
            assert_non_null(strstr(world.log, "is away: timed out"));
            world_done(&world);
        }
    }
}

static void one_that_is_away_while_it_closes_may_still_report(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_CLOSE, 1);
    measure_away(world.measure, END_ECHO, "cut", world.now);
    world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_away(world.measure, END_SENDER, "cut", world.now);
    measure_joined(world.measure, 0, world.now);
    world_expect(&world, "over: complete\n");
    world_done(&world);
}

/* An end that has closed, with a report that is on its way. */
static void close_with_report(struct world *world, enum end_role role)
{
    union message message;

    message_init(&message, MESSAGE_CLOSED);
    text_copy(message.closed.session, UUID_SIZE, world->opened[END_ECHO].session);
    text_copy(message.closed.result, UUID_SIZE, "a result");
    measure_message(world->measure, role, &message, world->now);
}

static void a_run_that_is_stopped_waits_for_what_was_measured(void **state)
{
    static struct world world;

    (void)state;
    for (int at = MEASURE_SEND; at <= MEASURE_CLOSE; at++) {
        world_begin_at(&world, (enum measure_state)at, 3);
        measure_stop(world.measure, "stopped by ann", world.now);
        close_with_report(&world, END_SENDER);
        measure_reported(world.measure, END_ECHO, 0, world.now);
        close_with_report(&world, END_ECHO);
        assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
        measure_reported(world.measure, END_SENDER, 1, world.now);
        assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
        measure_reported(world.measure, END_SENDER, 0, world.now);
        assert_int_equal(MEASURE_OVER, measure_state(world.measure));
        assert_non_null(strstr(world.log, "over: stopped: stopped by ann\n"));
        assert_null(strstr(world.log, "failed"));
        world_done(&world);
    }
}

static void reports_that_do_not_come_hold_a_stopped_run_for_a_while(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_CLOSE, 3);
    close_with_report(&world, END_SENDER);
    close_with_report(&world, END_ECHO);
    measure_stop(world.measure, "stopped by ann", world.now);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_away(world.measure, END_ECHO, "cut", world.now);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    world_pass(&world, MEASURE_RESULT_NS);
    world_expect(&world, "case 0 failed: the reports of both ends have not come within 20 s\n"
                         "over: stopped: stopped by ann\n");
    world_done(&world);
}

static void after_one_end_is_away_the_other_ones_report_is_waited_for(void **state)
{
    static struct world world;

    (void)state;
    world_begin_at(&world, MEASURE_SEND, 3);
    measure_away(world.measure, END_ECHO, "cut", world.now);
    close_with_report(&world, END_SENDER);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_reported(world.measure, END_SENDER, 0, world.now);
    world_expect(&world, "case 0 failed: the echo's end is away: cut\n"
                         "sender < close: the echo's end is away: cut\n"
                         "over: failed: the echo's end is away: cut\n");
    measure_reported(world.measure, END_ECHO, 0, world.now);
    world_expect(&world, "");
    world_done(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_in_each_state_has_its_answer),
        cmocka_unit_test(what_is_of_another_session_or_phase_changes_nothing),
        cmocka_unit_test(each_state_has_a_deadline),
        cmocka_unit_test(each_state_can_be_stopped),
        cmocka_unit_test(an_agent_that_goes_away_fails_the_run),
        cmocka_unit_test(one_that_is_away_while_it_closes_may_still_report),
        cmocka_unit_test(a_run_that_is_stopped_waits_for_what_was_measured),
        cmocka_unit_test(reports_that_do_not_come_hold_a_stopped_run_for_a_while),
        cmocka_unit_test(after_one_end_is_away_the_other_ones_report_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
