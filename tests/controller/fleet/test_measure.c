/* One run between two hosts on virtual time: what it sends, in which state, and what each event
 * does in each state. The log of what it did to its world is the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/measure.h"
#include "proto/base/text.h"
#include "tests/controller/fleet/make_report.h"

struct world {
    struct measure *measure;
    struct mono now;
    char log[8192];
    size_t used;
    bool away[END_COUNT];
    struct message_open opened[END_COUNT]; /* the last orders; without their keys */
    uint8_t keys[END_COUNT][SESSION_KEY_SIZE];
    uint8_t next_random;
    uint16_t next_ssid;
    struct message_run_progress progress;
    size_t progresses, overs;
};

static const char *const names[] = { "sender", "echo" };

static printf_like(2, 3) void note(struct world *world, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(world->log + world->used, sizeof world->log - world->used, format, args);
    va_end(args);
    assert_true(length >= 0 && (size_t)length < sizeof world->log - world->used);
    world->used += (size_t)length;
}

static void expect(struct world *world, const char *lines)
{
    assert_string_equal(lines, world->log);
    world->used = 0;
    world->log[0] = '\0';
}

static bool port_send(void *context, enum end_role role, const void *bytes)
{
    const union message *message = bytes;
    struct world *world = context;
    struct fault fault;

    assert_int_equal(STATUS_OK, record_check(message_kinds[message->type].record, bytes, &fault));
    if (world->away[role])
        return false;
    note(world, "%s < %s", names[role], message_names[message->type]);
    if (message->type == MESSAGE_OPEN) {
        world->opened[role] = message->open;
        assert_int_equal(SESSION_KEY_SIZE, message->open.key.length);
        memcpy(world->keys[role], message->open.key.data, SESSION_KEY_SIZE);
        assert_int_equal(role, message->open.role);
        if (message->open.target[0] != '\0')
            note(world, " %s", message->open.target);
    } else {
        assert_string_equal(measure_session(world->measure), message->begin.session);
    }
    if (message->type == MESSAGE_BEGIN || message->type == MESSAGE_END)
        note(world, " %s", phase_kind_names[message->begin.phase]);
    if (message->type == MESSAGE_CLOSE && message->close.reason[0] != '\0')
        note(world, ": %s", message->close.reason);
    note(world, "\n");
    return true;
}

static void port_random(void *context, void *out_bytes, size_t length)
{
    struct world *world = context;

    memset(out_bytes, ++world->next_random, length);
}

static uint16_t port_ssid(void *context)
{
    struct world *world = context;

    return world->next_ssid = (uint16_t)(world->next_ssid + 4);
}

static void port_progress(void *context, const struct message_run_progress *progress)
{
    struct world *world = context;
    struct fault fault;

    assert_int_equal(STATUS_OK,
                     record_check(message_kinds[MESSAGE_RUN_PROGRESS].record, progress, &fault));
    world->progress = *progress;
    world->progresses++;
}

static void port_failed(void *context, int64_t index, const char *reason)
{
    note(context, "case %lld failed: %s\n", (long long)index, reason);
}

static void port_over(void *context, enum run_outcome outcome, const char *reason)
{
    struct world *world = context;

    world->overs++;
    note(world, "over: %s%s%s\n", run_outcome_names[outcome], reason[0] == '\0' ? "" : ": ",
         reason);
}

static void begin(struct world *world, size_t cases, double warmup_s, const char *address)
{
    const struct measure_port port = { .context = world,
                                       .send = port_send,
                                       .random = port_random,
                                       .ssid = port_ssid,
                                       .progress = port_progress,
                                       .failed = port_failed,
                                       .over = port_over };
    struct measure_order order = { .run = "run" };
    struct plan plan;

    memset(world, 0, sizeof *world);
    make_fleet_plan(cases, &plan);
    plan.common.warmup_s = warmup_s;
    order.plan = &plan;
    text_copy(order.address, sizeof order.address, address);
    world->now.ns = 5; /* as in a fresh time namespace */
    world->measure =
        measure_new(&order, &port, world->now, (struct wall){ INT64_C(1796064250) * NS_PER_S });
    record_done(&plan_record, &plan);
    measure_start(world->measure, world->now);
}

static void done(struct world *world)
{
    measure_free(world->measure);
}

/* A message about the running session. */
static void say(struct world *world, enum end_role role, enum message_type type,
                enum phase_kind phase)
{
    union message message;

    message_init(&message, type);
    text_copy(message.opened.session, sizeof message.opened.session,
              world->opened[END_ECHO].session);
    if (type == MESSAGE_OPENED)
        message.opened.port = role == END_ECHO ? 7900 : 0;
    else if (type == MESSAGE_BEGUN || type == MESSAGE_ENDED)
        message.begun.phase = phase;
    else if (type == MESSAGE_PROGRESS)
        message.progress =
            (struct message_progress){ .type = type, .phase = phase, .elapsed_s = 0.5, .sent = 7 };
    else if (type == MESSAGE_REFUSED)
        text_copy(message.refused.reason, sizeof message.refused.reason, "too much");
    else if (type == MESSAGE_FAILED)
        text_copy(message.failed.reason, sizeof message.failed.reason, "broke");
    if (type == MESSAGE_PROGRESS)
        text_copy(message.progress.session, sizeof message.progress.session,
                  world->opened[END_ECHO].session);
    measure_message(world->measure, role, &message, world->now);
}

/* Brings a fresh run with this state's first phase to a state. */
static void bring(struct world *world, enum measure_state state, enum phase_kind phase)
{
    if (state > MEASURE_OPEN_ECHO)
        say(world, END_ECHO, MESSAGE_OPENED, phase);
    if (state > MEASURE_OPEN_SENDER)
        say(world, END_SENDER, MESSAGE_OPENED, phase);
    if (state > MEASURE_BEGIN_ECHO)
        say(world, END_ECHO, MESSAGE_BEGUN, phase);
    if (state > MEASURE_SEND)
        say(world, END_SENDER, MESSAGE_ENDED, phase);
    if (state > MEASURE_END_ECHO)
        say(world, END_ECHO, MESSAGE_ENDED, phase);
    if (state > MEASURE_CLOSE) {
        say(world, END_SENDER, MESSAGE_CLOSED, phase);
        say(world, END_ECHO, MESSAGE_CLOSED, phase);
    }
    if (state > MEASURE_RESULTS)
        measure_joined(world->measure, 0, world->now);
    assert_int_equal(state, measure_state(world->measure));
}

static void begin_at(struct world *world, enum measure_state state, size_t cases)
{
    begin(world, cases, 0, "10.9.2.2");
    bring(world, state, PHASE_MEASURE);
    world->used = 0;
    world->log[0] = '\0';
}

static void pass(struct world *world, int64_t ns)
{
    world->now = mono_after(world->now, ns);
    measure_tick(world->measure, world->now);
}

/* --- the way through
 * ------------------------------------------------------------------------------ */

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
    begin(&world, 2, 0.25, "10.9.2.2");
    bring(&world, MEASURE_END_ECHO, PHASE_WARMUP);
    assert_string_equal(world.opened[END_ECHO].session, world.opened[END_SENDER].session);
    assert_memory_equal(world.keys[END_ECHO], world.keys[END_SENDER], SESSION_KEY_SIZE);
    assert_int_equal(world.opened[END_ECHO].ssid, world.opened[END_SENDER].ssid);
    assert_true(world.opened[END_SENDER].idle_s > 0.9);
    text_copy(first, sizeof first, world.opened[END_ECHO].session);
    memcpy(key, world.keys[END_ECHO], sizeof key);
    ssid = (uint16_t)world.opened[END_ECHO].ssid;
    say(&world, END_ECHO, MESSAGE_ENDED, PHASE_WARMUP);
    say(&world, END_ECHO, MESSAGE_BEGUN, PHASE_MEASURE);
    say(&world, END_SENDER, MESSAGE_ENDED, PHASE_MEASURE);
    say(&world, END_ECHO, MESSAGE_ENDED, PHASE_MEASURE);
    say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
    say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    expect(&world, case_lines);
    assert_string_equal("", measure_session(world.measure));
    measure_joined(world.measure, 1, world.now);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_joined(world.measure, 0, world.now);
    assert_int_equal(MEASURE_OPEN_ECHO, measure_state(world.measure));
    assert_int_equal(1, world.opened[END_ECHO].index);
    assert_int_equal(2, world.opened[END_ECHO].params.window);
    assert_true(world.opened[END_ECHO].idle_s < 0.1);
    assert_string_not_equal(first, world.opened[END_ECHO].session);
    assert_memory_not_equal(key, world.keys[END_ECHO], SESSION_KEY_SIZE);
    assert_true(world.opened[END_ECHO].ssid >= ssid + 4);
    world.used = 0;
    measure_joined(world.measure, 1, world.now);
    bring(&world, MEASURE_OPEN_SENDER, PHASE_WARMUP);
    done(&world);
}

static void a_run_without_warm_up_ends_complete(void **state)
{
    static struct world world;

    (void)state;
    begin(&world, 1, 0, "fd00::2");
    bring(&world, MEASURE_OVER, PHASE_MEASURE);
    expect(&world, "echo < open\nsender < open [fd00::2]:7900\necho < begin measure\n"
                   "sender < begin measure\necho < end measure\nsender < close\necho < close\n"
                   "over: complete\n");
    assert_int_equal(INT64_MAX, measure_deadline(world.measure).ns);
    assert_int_equal(1, world.overs);
    done(&world);
}

static void reports_may_come_before_the_ends_say_closed(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_CLOSE, 1);
    measure_joined(world.measure, 0, world.now);
    say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
    expect(&world, "over: complete\n");
    done(&world);
}

static void watchers_see_states_and_progress(void **state)
{
    static struct world world;
    size_t before;

    (void)state;
    begin_at(&world, MEASURE_SEND, 1);
    assert_string_equal("send", world.progress.state);
    before = world.progresses;
    say(&world, END_SENDER, MESSAGE_PROGRESS, PHASE_MEASURE);
    assert_int_equal(before + 1, world.progresses);
    assert_int_equal(7, world.progress.sent);
    say(&world, END_SENDER, MESSAGE_PROGRESS, PHASE_WARMUP);
    say(&world, END_ECHO, MESSAGE_PROGRESS, PHASE_MEASURE);
    assert_int_equal(before + 1, world.progresses);
    done(&world);
}

/* --- every event in every state
 * ------------------------------------------------------------------- */

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

                begin_at(&world, (enum measure_state)at, 1);
                say(&world, (enum end_role)role, (enum message_type)type, PHASE_MEASURE);
                next = measure_state(world.measure);
                if (next !=
                    expected((enum measure_state)at, (enum end_role)role, (enum message_type)type))
                    fail_msg("%s of the %s in %s leads to %s", message_names[type], names[role],
                             measure_state_names[at], measure_state_names[next]);
                assert_true(world.overs <= 1);
                done(&world);
            }
        }
    }
}

static void what_is_of_another_session_or_phase_changes_nothing(void **state)
{
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_STATE_COUNT; at++) {
        begin_at(&world, (enum measure_state)at, 1);
        text_copy(world.opened[END_ECHO].session, UUID_SIZE, "another");
        for (int type = 0; type < MESSAGE_COUNT; type++) {
            say(&world, END_ECHO, (enum message_type)type, PHASE_MEASURE);
            say(&world, END_SENDER, (enum message_type)type, PHASE_MEASURE);
        }
        assert_int_equal(at, measure_state(world.measure));
        expect(&world, "");
        done(&world);
    }
    begin_at(&world, MEASURE_SEND, 1);
    say(&world, END_SENDER, MESSAGE_ENDED, PHASE_WARMUP);
    assert_int_equal(MEASURE_SEND, measure_state(world.measure));
    done(&world);
}

static void each_state_has_a_deadline(void **state)
{
    static const int64_t patience_s[] = { 10 + 1, 20 + 1, 10, 1 + 30 + 10, 10, 10, 20 };
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_OVER; at++) {
        begin_at(&world, (enum measure_state)at, 2);
        pass(&world, patience_s[at] * NS_PER_S - 1);
        assert_int_equal(at, measure_state(world.measure));
        assert_int_equal(1, mono_between(world.now, measure_deadline(world.measure)));
        pass(&world, 1);
        assert_int_not_equal(at, measure_state(world.measure));
        assert_non_null(strstr(world.log, "case 0 failed: "));
        assert_null(strstr(world.log, "over"));
        /* Whatever was open is given up after one more deadline, and the next case begins. */
        if (measure_state(world.measure) == MEASURE_CLOSE)
            pass(&world, 10 * NS_PER_S);
        assert_int_equal(MEASURE_OPEN_ECHO, measure_state(world.measure));
        assert_int_equal(1, world.opened[END_ECHO].index);
        done(&world);
    }
}

static void each_state_can_be_stopped(void **state)
{
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_OVER; at++) {
        begin_at(&world, (enum measure_state)at, 3);
        measure_stop(world.measure, "stopped by ann", world.now);
        measure_stop(world.measure, "again", world.now);
        if (at != MEASURE_RESULTS) {
            say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
            say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
        }
        assert_int_equal(MEASURE_OVER, measure_state(world.measure));
        assert_int_equal(1, world.overs);
        assert_non_null(strstr(world.log, "over: stopped: stopped by ann\n"));
        assert_null(strstr(world.log, "failed"));
        measure_stop(world.measure, "after the end", world.now);
        assert_int_equal(1, world.overs);
        done(&world);
    }
}

static void an_agent_that_goes_away_fails_the_run(void **state)
{
    static struct world world;

    (void)state;
    for (int at = 0; at < MEASURE_CLOSE; at++) {
        for (int role = 0; role < END_COUNT; role++) {
            begin_at(&world, (enum measure_state)at, 3);
            world.away[role] = true;
            measure_away(world.measure, (enum end_role)role, "timed out", world.now);
            say(&world, role == END_SENDER ? END_ECHO : END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
            assert_int_equal(MEASURE_OVER, measure_state(world.measure));
            assert_non_null(strstr(world.log, "over: failed: "));
            assert_non_null(strstr(world.log, "is away: timed out"));
            done(&world);
        }
    }
}

static void one_that_is_away_while_it_closes_may_still_report(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_CLOSE, 1);
    measure_away(world.measure, END_ECHO, "cut", world.now);
    say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_away(world.measure, END_SENDER, "cut", world.now);
    measure_joined(world.measure, 0, world.now);
    expect(&world, "over: complete\n");
    done(&world);
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
        begin_at(&world, (enum measure_state)at, 3);
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
        done(&world);
    }
}

static void reports_that_do_not_come_hold_a_stopped_run_for_a_while(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_CLOSE, 3);
    close_with_report(&world, END_SENDER);
    close_with_report(&world, END_ECHO);
    measure_stop(world.measure, "stopped by ann", world.now);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_away(world.measure, END_ECHO, "cut", world.now);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    pass(&world, MEASURE_RESULT_NS);
    expect(&world, "case 0 failed: the reports of both ends have not come within 20 s\n"
                   "over: stopped: stopped by ann\n");
    done(&world);
}

static void after_one_end_is_away_the_other_ones_report_is_waited_for(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_SEND, 3);
    measure_away(world.measure, END_ECHO, "cut", world.now);
    close_with_report(&world, END_SENDER);
    assert_int_equal(MEASURE_RESULTS, measure_state(world.measure));
    measure_reported(world.measure, END_SENDER, 0, world.now);
    expect(&world, "case 0 failed: the echo's end is away: cut\n"
                   "sender < close: the echo's end is away: cut\n"
                   "over: failed: the echo's end is away: cut\n");
    measure_reported(world.measure, END_ECHO, 0, world.now);
    expect(&world, "");
    done(&world);
}

/* --- words
 * ---------------------------------------------------------------------------------------- */

static void a_refusal_says_who_and_ends_the_run(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_OPEN_SENDER, 3);
    say(&world, END_SENDER, MESSAGE_REFUSED, PHASE_MEASURE);
    expect(&world, "case 0 failed: the sender's end refused: too much\n"
                   "echo < close: the sender's end refused: too much\n");
    say(&world, END_ECHO, MESSAGE_FAILED, PHASE_MEASURE);
    expect(&world, "over: failed: the sender's end refused: too much\n");
    done(&world);
}

static void a_failure_goes_on_with_the_next_case(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_SEND, 2);
    say(&world, END_SENDER, MESSAGE_FAILED, PHASE_MEASURE);
    expect(&world, "case 0 failed: the sender's end failed: broke\n"
                   "echo < close: the sender's end failed: broke\n");
    say(&world, END_ECHO, MESSAGE_CLOSED, PHASE_MEASURE);
    expect(&world, "echo < open\n");
    done(&world);
}

static void a_failure_while_closing_is_the_cases(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_CLOSE, 1);
    say(&world, END_ECHO, MESSAGE_FAILED, PHASE_MEASURE);
    say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    expect(&world, "case 0 failed: the echo's end failed: broke\nover: complete\n");
    done(&world);
}

static void hosts_that_are_away_from_the_start(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_RESULTS, 2);
    world.away[END_SENDER] = world.away[END_ECHO] = true;
    measure_joined(world.measure, 0, world.now);
    expect(&world, "case 1 failed: the echo's end is away: not connected\n"
                   "over: failed: the echo's end is away: not connected\n");
    done(&world);
}

static void the_deadlines_words(void **state)
{
    static struct world world;

    (void)state;
    begin_at(&world, MEASURE_OPEN_SENDER, 1);
    pass(&world, 21 * NS_PER_S);
    pass(&world, 10 * NS_PER_S);
    expect(&world, "case 0 failed: the sender's end did not come to an agreement with the echo "
                   "role within 21 s\n"
                   "sender < close: the sender's end did not come to an agreement with the echo "
                   "role within 21 s\n"
                   "echo < close: the sender's end did not come to an agreement with the echo "
                   "role within 21 s\n"
                   "over: complete\n");
    done(&world);
    begin_at(&world, MEASURE_CLOSE, 1);
    say(&world, END_SENDER, MESSAGE_CLOSED, PHASE_MEASURE);
    pass(&world, 10 * NS_PER_S);
    expect(&world, "case 0 failed: the echo's end did not close within 10 s\nover: complete\n");
    done(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_cases_with_warm_up),
        cmocka_unit_test(a_run_without_warm_up_ends_complete),
        cmocka_unit_test(reports_may_come_before_the_ends_say_closed),
        cmocka_unit_test(watchers_see_states_and_progress),
        cmocka_unit_test(each_message_in_each_state_has_its_answer),
        cmocka_unit_test(what_is_of_another_session_or_phase_changes_nothing),
        cmocka_unit_test(each_state_has_a_deadline),
        cmocka_unit_test(each_state_can_be_stopped),
        cmocka_unit_test(an_agent_that_goes_away_fails_the_run),
        cmocka_unit_test(one_that_is_away_while_it_closes_may_still_report),
        cmocka_unit_test(a_run_that_is_stopped_waits_for_what_was_measured),
        cmocka_unit_test(reports_that_do_not_come_hold_a_stopped_run_for_a_while),
        cmocka_unit_test(after_one_end_is_away_the_other_ones_report_is_waited_for),
        cmocka_unit_test(a_refusal_says_who_and_ends_the_run),
        cmocka_unit_test(a_failure_goes_on_with_the_next_case),
        cmocka_unit_test(a_failure_while_closing_is_the_cases),
        cmocka_unit_test(hosts_that_are_away_from_the_start),
        cmocka_unit_test(the_deadlines_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
