/* A run of path MTU on virtual time: a session per family, both ways, and what ends one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/fleet/measure_world.h"

/* What this end says in this phase. */
struct line {
    enum end_role role;
    enum message_type type;
    enum phase_kind phase;
};

/* A session from its first order to both ends' closing. */
static const struct line both_ways[] = {
    { END_ECHO, MESSAGE_OPENED, PHASE_FORWARD },   { END_SENDER, MESSAGE_OPENED, PHASE_FORWARD },
    { END_ECHO, MESSAGE_BEGUN, PHASE_FORWARD },    { END_SENDER, MESSAGE_ENDED, PHASE_FORWARD },
    { END_ECHO, MESSAGE_ENDED, PHASE_FORWARD },    { END_SENDER, MESSAGE_BEGUN, PHASE_REVERSE },
    { END_ECHO, MESSAGE_ENDED, PHASE_REVERSE },    { END_SENDER, MESSAGE_ENDED, PHASE_REVERSE },
    { END_SENDER, MESSAGE_CLOSED, PHASE_FORWARD }, { END_ECHO, MESSAGE_CLOSED, PHASE_FORWARD },
};
enum { LINES = sizeof both_ways / sizeof both_ways[0], IN_FORWARD = 3, IN_REVERSE = 6 };

static void say(struct world *world, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        world_say(world, lines[i].role, lines[i].type, lines[i].phase);
}

static void forget(struct world *world)
{
    world->used = 0;
    world->log[0] = '\0';
}

/* --- the way through ------------------------------------------------------------------------ */

static void two_families_both_ways(void **state)
{
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    assert_int_equal(WORK_MTU, world.opened[END_ECHO].kind);
    assert_int_equal(FAMILY_IPV4, world.opened[END_ECHO].of_mtu.params.family);
    say(&world, both_ways, LINES);
    world_expect(&world, "echo < open\n"
                         "sender < open 10.9.2.2:7900\n"
                         "echo < begin forward\n"
                         "sender < begin forward\n"
                         "echo < end forward\n"
                         "sender < begin reverse\n"
                         "echo < begin reverse\n"
                         "sender < end reverse\n"
                         "sender < close\n"
                         "echo < close\n");
    measure_joined(world.measure, 0, world.now);
    assert_int_equal(1, world.opened[END_ECHO].index);
    assert_int_equal(FAMILY_IPV6, world.opened[END_ECHO].of_mtu.params.family);
    forget(&world);
    say(&world, both_ways, 2);
    world_expect(&world, "sender < open [fd00::2]:7900\necho < begin forward\n");
    say(&world, both_ways + 2, LINES - 2);
    forget(&world);
    measure_joined(world.measure, 1, world.now);
    world_expect(&world, "over: complete\n");
    world_done(&world);
}

static void one_way_has_one_phase(void **state)
{
    static const struct line reverse[] = { { END_SENDER, MESSAGE_BEGUN, PHASE_REVERSE },
                                           { END_ECHO, MESSAGE_ENDED, PHASE_REVERSE },
                                           { END_SENDER, MESSAGE_ENDED, PHASE_REVERSE } };
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_REVERSE, 0);
    say(&world, both_ways, 2);
    say(&world, reverse, 3);
    world_expect(&world, "echo < open\nsender < open 10.9.2.2:7900\n"
                         "sender < begin reverse\necho < begin reverse\nsender < end reverse\n"
                         "sender < close\necho < close\n");
    world_done(&world);
    world_begin_mtu(&world, MTU_WAYS_FORWARD, 0);
    say(&world, both_ways, 5);
    assert_int_equal(MEASURE_CLOSE, measure_state(world.measure));
    world_done(&world);
}

static void the_other_end_does_not_move_a_phase_on(void **state)
{
    static const struct line wrong[] = {
        { END_ECHO, MESSAGE_ENDED, PHASE_FORWARD },    { END_SENDER, MESSAGE_BEGUN, PHASE_FORWARD },
        { END_ECHO, MESSAGE_BEGUN, PHASE_FORWARD },    { END_SENDER, MESSAGE_ENDED, PHASE_REVERSE },
        { END_ECHO, MESSAGE_PROGRESS, PHASE_FORWARD }, { END_ECHO, MESSAGE_MOVED, PHASE_FORWARD },
        { END_SENDER, MESSAGE_MOVED, PHASE_REVERSE },
    };
    static struct world world;
    size_t before;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    say(&world, both_ways, IN_FORWARD);
    assert_int_equal(MEASURE_SEND, measure_state(world.measure));
    forget(&world);
    before = world.progresses;
    say(&world, wrong, sizeof wrong / sizeof wrong[0]);
    world_expect(&world, "");
    assert_int_equal(before, world.progresses);
    world_say(&world, END_SENDER, MESSAGE_ENDED, PHASE_FORWARD);
    world_say(&world, END_SENDER, MESSAGE_ENDED, PHASE_FORWARD); /* the prober's again */
    assert_int_equal(MEASURE_END_ECHO, measure_state(world.measure));
    world_done(&world);
}

static void watchers_see_how_far_the_search_is(void **state)
{
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    say(&world, both_ways, IN_REVERSE);
    assert_int_equal(NONE_INT, world.progress.low);
    world_say(&world, END_ECHO, MESSAGE_PROGRESS, PHASE_REVERSE);
    assert_string_equal("send", world.progress.state);
    assert_int_equal(PHASE_REVERSE, world.progress.phase);
    assert_int_equal(1400, world.progress.low);
    assert_int_equal(1401, world.progress.high);
    assert_int_equal(1, world.progress.flows_done);
    world_done(&world);
}

static void what_moves_is_told_with_its_direction(void **state)
{
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 60);
    say(&world, both_ways, IN_FORWARD);
    forget(&world);
    world_say(&world, END_SENDER, MESSAGE_MOVED, PHASE_FORWARD);
    world_expect(&world, "moved ipv4 forward: 1400\n");
    say(&world, both_ways + IN_FORWARD, IN_REVERSE - IN_FORWARD);
    forget(&world);
    world_say(&world, END_ECHO, MESSAGE_MOVED, PHASE_REVERSE);
    world_expect(&world, "moved ipv4 reverse: 1400\n");
    for (int i = 1; i < 2 * MTU_EVENTS_MAX; i++) {
        forget(&world);
        world_say(&world, END_ECHO, MESSAGE_MOVED, PHASE_REVERSE);
        assert_int_equal(i<MTU_EVENTS_MAX, world.used> 0);
    }
    world_done(&world);
}

/* --- what ends a session -------------------------------------------------------------------- */

static void a_family_that_is_refused_does_not_stop_the_next(void **state)
{
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    world_say(&world, END_ECHO, MESSAGE_REFUSED, PHASE_FORWARD);
    world_expect(&world, "echo < open\ncase 0 failed: the echo's end refused: too much\n"
                         "echo < open\n");
    say(&world, both_ways, LINES);
    measure_joined(world.measure, 1, world.now);
    assert_non_null(strstr(world.log, "over: complete\n"));
    world_done(&world);
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    world_say(&world, END_ECHO, MESSAGE_REFUSED, PHASE_FORWARD);
    world_say(&world, END_ECHO, MESSAGE_REFUSED, PHASE_FORWARD);
    assert_non_null(strstr(world.log, "over: failed: the echo's end refused: too much\n"));
    world_done(&world);
}

static void without_an_agreement_the_next_family_is_asked(void **state)
{
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    say(&world, both_ways, 1);
    world_pass(&world, MEASURE_AGREE_NS);
    forget(&world);
    world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_FORWARD);
    world_say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_FORWARD);
    world_expect(&world, "case 0 failed: the sender's end did not come to an agreement with the "
                         "echo role within 20 s\necho < open\n");
    world_done(&world);
}

static void an_agent_that_goes_away_fails_the_run(void **state)
{
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    say(&world, both_ways, IN_REVERSE);
    measure_away(world.measure, END_SENDER, "timed out", world.now);
    forget(&world);
    world_say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_FORWARD);
    world_expect(&world, "case 0 failed: the sender's end is away: timed out\n"
                         "over: failed: the sender's end is away: timed out\n");
    world_done(&world);
}

/* What one end's report says is to be known when the session is told as failed. */
static void a_failure_is_told_behind_the_report_that_is_on_its_way(void **state)
{
    static struct world world;
    union message message;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
    say(&world, both_ways, IN_REVERSE);
    measure_away(world.measure, END_SENDER, "timed out", world.now);
    forget(&world);
    message_init(&message, MESSAGE_CLOSED);
    text_copy(message.closed.session, UUID_SIZE, world.opened[END_ECHO].session);
    text_copy(message.closed.result, UUID_SIZE, "a result");
    measure_message(world.measure, END_ECHO, &message, world.now);
    world_expect(&world, "");
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_reported(world.measure, END_ECHO, 0, world.now);
    world_expect(&world, "case 0 failed: the sender's end is away: timed out\n"
                         "over: failed: the sender's end is away: timed out\n");
    world_done(&world);
}

static void the_deadlines_say_which_end_was_late(void **state)
{
    static const struct {
        size_t lines;
        const char *words;
    } cases[] = {
        { 2, "no answer of the echo's end to begin within 10 s" },
        { 3, "the sender's end did not end its phase within " },
        { 4, "no answer of the echo's end to end within 10 s" },
        { 5, "no answer of the sender's end to begin within 10 s" },
        { 6, "the echo's end did not end its phase within " },
        { 7, "no answer of the sender's end to end within 10 s" },
    };
    static struct world world;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mtu_params params;

        world_begin_mtu(&world, MTU_WAYS_BOTH, 0);
        params = world.opened[END_ECHO].of_mtu.params;
        say(&world, both_ways, cases[i].lines);
        world_pass(&world, measure_state(world.measure) == MEASURE_SEND
                               ? (int64_t)(mtu_phase_seconds(&params) * (double)NS_PER_S) +
                                     MEASURE_ANSWER_NS
                               : MEASURE_ANSWER_NS);
        assert_non_null(strstr(world.log, cases[i].words));
        world_done(&world);
    }
}

static void watching_has_the_time_that_it_needs(void **state)
{
    static struct world world;

    (void)state;
    world_begin_mtu(&world, MTU_WAYS_FORWARD, 3600);
    say(&world, both_ways, IN_FORWARD);
    world_pass(&world, 3600 * NS_PER_S + MEASURE_ANSWER_NS);
    assert_int_equal(MEASURE_SEND, measure_state(world.measure));
    measure_stop(world.measure, "stopped by ann", world.now);
    world_say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_FORWARD);
    world_say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_FORWARD);
    assert_non_null(strstr(world.log, "over: stopped: stopped by ann\n"));
    assert_null(strstr(world.log, "failed"));
    world_done(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_families_both_ways),
        cmocka_unit_test(one_way_has_one_phase),
        cmocka_unit_test(the_other_end_does_not_move_a_phase_on),
        cmocka_unit_test(watchers_see_how_far_the_search_is),
        cmocka_unit_test(what_moves_is_told_with_its_direction),
        cmocka_unit_test(a_family_that_is_refused_does_not_stop_the_next),
        cmocka_unit_test(without_an_agreement_the_next_family_is_asked),
        cmocka_unit_test(an_agent_that_goes_away_fails_the_run),
        cmocka_unit_test(a_failure_is_told_behind_the_report_that_is_on_its_way),
        cmocka_unit_test(the_deadlines_say_which_end_was_late),
        cmocka_unit_test(watching_has_the_time_that_it_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
