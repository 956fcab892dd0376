/* Both ends of a session as tasks in this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/agent/task_stand.h"

/* --- whole cases ------------------------------------------------------------------------------ */

static void both_ends_of_a_case_add_up(void **state)
{
    struct stand *stand = *state;
    struct case_params params = params_of(0.2);
    struct report at_sender, at_echo;
    const struct half_phase *out, *back;
    struct end echo, sender;
    union message message;
    uint16_t port;

    params.common.warmup_s = 0.05;
    port = start_echo(stand, "A", params, &echo);
    start_sender(stand, "A", port, params, &sender);
    expect(&sender, MESSAGE_OPENED, &message);
    assert_int_equal(message.opened.port, 0);
    run_phase(&echo, &sender, PHASE_WARMUP);
    run_phase(&echo, &sender, PHASE_MEASURE);
    tell_close(&sender, "");
    tell_close(&echo, "");
    expect_closed(&sender, &at_sender);
    expect_closed(&echo, &at_echo);
    assert_string_equal(at_sender.error, "");
    assert_string_equal(at_echo.error, "");
    assert_int_equal(at_sender.role, END_SENDER);
    assert_int_equal(at_echo.role, END_ECHO);
    assert_int_equal(at_sender.index, 3);
    assert_string_not_equal(at_sender.id, at_echo.id);
    assert_true(at_sender.phases.warmup.present && at_echo.phases.warmup.present);
    assert_true(at_sender.phases.measure.present && at_echo.phases.measure.present);
    out = &at_sender.phases.measure;
    back = &at_echo.phases.measure;
    assert_true(out->forward.sent > 0);
    assert_int_equal(out->forward.sent, back->forward.received);
    assert_int_equal(back->reverse.sent, out->reverse.received);
    assert_true(at_sender.rtt_ns.present);
    assert_true(at_sender.agreement.hellos_answered >= 2);
    record_done(&report_record, &at_sender);
    record_done(&report_record, &at_echo);
    finish(&sender);
    finish(&echo);
}

static void progress_comes_about_twice_a_second(void **state)
{
    struct stand *stand = *state;
    struct case_params params = params_of(1.3);
    struct end echo, sender;
    struct report report;
    union message message;
    size_t progress;
    uint16_t port = start_echo(stand, "A", params, &echo);

    start_sender(stand, "A", port, params, &sender);
    expect(&sender, MESSAGE_OPENED, &message);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    tell(&sender, MESSAGE_BEGIN, PHASE_MEASURE);
    progress = expect(&sender, MESSAGE_ENDED, &message);
    assert_in_range(progress, 1, 4);
    tell_close(&sender, "");
    tell_close(&echo, "the other end is gone");
    expect_closed(&sender, &report);
    record_done(&report_record, &report);
    expect_closed(&echo, &report);
    assert_string_equal(report.error, "closed: the other end is gone");
    assert_true(report.phases.measure.present);
    assert_true(report.phases.measure.forward.received > 0);
    record_done(&report_record, &report);
    finish(&sender);
    finish(&echo);
}

/* Nothing is shared between tasks: four at once, each pair with its own key's session. */
static void sessions_do_not_meet(void **state)
{
    static const char *const names[] = { "A", "B" };
    struct stand *stand = *state;
    struct case_params params = params_of(0.2);
    struct end echo[2], sender[2];
    struct report report[2];
    union message message;

    for (int i = 0; i < 2; i++) {
        uint16_t port = start_echo(stand, names[i], params, &echo[i]);

        start_sender(stand, names[i], port, params, &sender[i]);
    }
    for (int i = 0; i < 2; i++) {
        expect(&sender[i], MESSAGE_OPENED, &message);
        tell(&echo[i], MESSAGE_BEGIN, PHASE_MEASURE);
        expect_phase(&echo[i], MESSAGE_BEGUN, PHASE_MEASURE);
    }
    for (int i = 0; i < 2; i++)
        tell(&sender[i], MESSAGE_BEGIN, PHASE_MEASURE);
    for (int i = 0; i < 2; i++) {
        expect_phase(&sender[i], MESSAGE_ENDED, PHASE_MEASURE);
        tell(&echo[i], MESSAGE_END, PHASE_MEASURE);
        expect_phase(&echo[i], MESSAGE_ENDED, PHASE_MEASURE);
        tell_close(&sender[i], "");
        tell_close(&echo[i], "");
        expect_closed(&sender[i], &report[0]);
        expect_closed(&echo[i], &report[1]);
        assert_int_equal(report[0].phases.measure.forward.sent,
                         report[1].phases.measure.forward.received);
        assert_int_equal(report[1].phases.measure.forward.foreign, 0);
        record_done(&report_record, &report[0]);
        record_done(&report_record, &report[1]);
        finish(&sender[i]);
        finish(&echo[i]);
    }
}

/* --- what ends it ----------------------------------------------------------------------------- */

static void closed_before_anything_was_measured(void **state)
{
    struct stand *stand = *state;
    struct report report;
    struct end echo;

    start_echo(stand, "A", params_of(0.1), &echo);
    tell_close(&echo, "");
    expect_closed(&echo, &report);
    assert_string_equal(report.error, "closed: before it was measured");
    assert_false(report.phases.measure.present);
    record_done(&report_record, &report);
    finish(&echo);
}

static void a_sender_without_an_echo_is_closed_at_once(void **state)
{
    struct stand *stand = *state;
    struct report report;
    struct end echo, sender;
    struct report unused;
    uint16_t port = start_echo(stand, "A", params_of(0.1), &echo);

    tell_close(&echo, "");
    expect_closed(&echo, &unused);
    record_done(&report_record, &unused);
    finish(&echo);
    start_sender(stand, "A", port, params_of(0.1), &sender);
    tell_close(&sender, "enough");
    expect_closed(&sender, &report);
    assert_string_equal(report.error, "closed: enough");
    assert_int_equal(report.agreement.hellos_answered, 0);
    record_done(&report_record, &report);
    finish(&sender);
}

static void a_host_that_is_not_admitted_gets_no_agreement(void **state)
{
    struct stand *stand = *state;
    struct end echo, sender;
    struct report report;
    union message message;
    uint16_t port;

    stand_use_peers(stand, "10.0.0.0/8");
    port = start_echo(stand, "A", params_of(0.1), &echo);
    start_sender(stand, "A", port, params_of(0.1), &sender);
    assert_false(hear(&sender, 400 * NS_PER_MS, &message));
    tell_close(&sender, "enough");
    tell_close(&echo, "enough");
    expect_closed(&sender, &report);
    assert_true(report.agreement.hellos_sent > 1);
    assert_int_equal(report.agreement.hellos_answered, 0);
    record_done(&report_record, &report);
    expect_closed(&echo, &report);
    record_done(&report_record, &report);
    finish(&sender);
    finish(&echo);
}

static void nobody_asks_for_anything(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    stand->surroundings.patience_ns = 300 * NS_PER_MS;
    start_echo(stand, "A", params_of(0.1), &echo);
    expect_failed(&echo, "the controller asked for nothing any more");
    finish(&echo);
}

static void a_phase_that_nobody_ends(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    stand->surroundings.patience_ns = 300 * NS_PER_MS;
    start_echo(stand, "A", params_of(0.1), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    expect_failed(&echo, "the controller did not end the phase in time");
    finish(&echo);
}

static void a_phase_that_the_case_does_not_have(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    start_echo(stand, "A", params_of(0.1), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_WARMUP);
    expect_failed(&echo, "begin came for phase \"warmup\", which this session has not");
    finish(&echo);
}

static void a_phase_within_a_phase(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    start_echo(stand, "A", params_of(0.1), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_failed(&echo, "begin came while a phase runs");
    finish(&echo);
}

static void a_phase_that_was_measured_already(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    start_echo(stand, "A", params_of(0.1), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    tell(&echo, MESSAGE_END, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_ENDED, PHASE_MEASURE);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_failed(&echo, "begin came for a phase that is over");
    finish(&echo);
}

/* The end of another phase, or one that comes when none runs, ends none. */
static void an_end_is_for_the_phase_that_runs(void **state)
{
    struct stand *stand = *state;
    struct end echo;
    struct report report;
    union message message;

    start_echo(stand, "A", params_of(0.1), &echo);
    tell(&echo, MESSAGE_END, PHASE_MEASURE);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    tell(&echo, MESSAGE_END, PHASE_WARMUP);
    assert_false(hear(&echo, 300 * NS_PER_MS, &message));
    tell(&echo, MESSAGE_END, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_ENDED, PHASE_MEASURE);
    tell_close(&echo, "");
    expect_closed(&echo, &report);
    assert_string_equal(report.error, "");
    record_done(&report_record, &report);
    finish(&echo);
}

static void a_long_idle_interval_is_refused(void **state)
{
    struct stand *stand = *state;
    struct end echo;
    union message message;

    start(stand,
          &(struct order){ .role = END_ECHO,
                           .session = "A",
                           .ssid = FIRST_SSID,
                           .idle_s = 60,
                           .params = params_of(0.1) },
          &echo);
    expect(&echo, MESSAGE_REFUSED, &message);
    assert_string_equal(message.refused.session, "A");
    assert_non_null(strstr(message.refused.reason, "idle_s allows 8 seconds"));
    finish(&echo);
}

static void without_a_free_port_it_is_refused(void **state)
{
    struct stand *stand = *state;
    struct echo_config taken = stand->echo;
    struct end first, second;
    struct report report;
    union message message;
    uint16_t port = start_echo(stand, "A", params_of(0.1), &first);

    taken.first_port = taken.last_port = port;
    stand->surroundings.echo = &taken;
    start(stand,
          &(struct order){
              .role = END_ECHO, .session = "B", .ssid = FIRST_SSID + 4, .params = params_of(0.1) },
          &second);
    expect(&second, MESSAGE_REFUSED, &message);
    assert_string_not_equal(message.refused.reason, "");
    finish(&second);
    tell_close(&first, "");
    expect_closed(&first, &report);
    record_done(&report_record, &report);
    finish(&first);
}

/* Also in the middle of a phase, and what was counted until then is told. */
static void joined_at_once(void **state)
{
    struct stand *stand = *state;
    struct end waiting, busy;
    union message message;
    struct report report;

    start_echo(stand, "A", params_of(60), &waiting);
    start_echo(stand, "B", params_of(60), &busy);
    tell(&busy, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&busy, MESSAGE_BEGUN, PHASE_MEASURE);
    task_join(busy.task);
    expect_report(&busy, &report);
    assert_true(report.phases.measure.present);
    assert_string_equal(report.error, "this agent is being stopped");
    record_done(&report_record, &report);
    expect(&busy, MESSAGE_FAILED, &message);
    task_join(waiting.task);
    expect_failed(&waiting, "this agent is being stopped");
    mailbox_free(busy.mailbox);
    mailbox_free(waiting.mailbox);
}

static void the_mailbox_is_gone(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    start_echo(stand, "A", params_of(60), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    mailbox_free(echo.mailbox);
    task_join(echo.task);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, stand_set_up, stand_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(both_ends_of_a_case_add_up),
        UNIT(progress_comes_about_twice_a_second),
        UNIT(sessions_do_not_meet),
        UNIT(closed_before_anything_was_measured),
        UNIT(a_sender_without_an_echo_is_closed_at_once),
        UNIT(a_host_that_is_not_admitted_gets_no_agreement),
        UNIT(nobody_asks_for_anything),
        UNIT(a_phase_that_nobody_ends),
        UNIT(a_phase_that_the_case_does_not_have),
        UNIT(a_phase_within_a_phase),
        UNIT(a_phase_that_was_measured_already),
        UNIT(an_end_is_for_the_phase_that_runs),
        UNIT(a_long_idle_interval_is_refused),
        UNIT(without_a_free_port_it_is_refused),
        UNIT(joined_at_once),
        UNIT(the_mailbox_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
