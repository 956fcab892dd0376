/* Both ends of a session as tasks in this process: real threads, mailboxes and loopback sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/task.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"

#define WAIT_NS (10 * NS_PER_S)

enum { FIRST_SSID = 400 };

struct stand {
    struct loop *loop;
    struct echo_config echo;
    struct admission_config limits;
    struct admission *admission;
    struct task_surroundings surroundings;
};

/* One task, and the loop's end of its mailbox. */
struct end {
    char session[UUID_SIZE];
    struct task *task;
    struct mailbox *mailbox;
};

static void use_peers(struct stand *stand, const char *range)
{
    const struct field field = { .type = FIELD_LIST, .of = FIELD_WORD, .size = 1 };
    char **word = list_append(&stand->limits.peers, &field);

    *word = strdup(range);
    admission_free(stand->admission);
    stand->admission = admission_new(&stand->limits);
    stand->surroundings.admission = stand->admission;
    free(*word);
    free(stand->limits.peers.items);
    stand->limits.peers = (struct list){ 0 };
}

static int set_up(void **state)
{
    struct stand *stand = memory_new(1, sizeof *stand);
    struct agent_config config;

    agent_config_init(&config);
    assert_int_equal(loop_new(&stand->loop, NULL), STATUS_OK);
    stand->echo = config.echo;
    text_copy(stand->echo.bind_ipv4, sizeof stand->echo.bind_ipv4, "127.0.0.1");
    stand->echo.first_port = stand->echo.last_port = 0;
    stand->limits = config.admission;
    stand->admission = admission_new(&config.admission);
    stand->surroundings = (struct task_surroundings){
        .echo = &stand->echo,
        .admission = stand->admission,
        .patience_ns = TASK_PATIENCE_NS,
    };
    record_done(&agent_config_record, &config);
    *state = stand;
    return 0;
}

static int tear_down(void **state)
{
    struct stand *stand = *state;

    loop_free(stand->loop);
    admission_free(stand->admission);
    free(stand);
    return 0;
}

/* --- speaking to a task ----------------------------------------------------------------------- */

static void post(struct end *end, const void *message)
{
    struct buf bytes;

    buf_init(&bytes, LIMIT_FRAME);
    assert_int_equal(message_put(message, &bytes), STATUS_OK);
    assert_int_equal(mailbox_post(end->mailbox, bytes.data, bytes.length), STATUS_OK);
    buf_done(&bytes);
}

/* begin and end are alike. */
static void tell(struct end *end, enum message_type type, enum phase_kind phase)
{
    union message message;

    message_init(&message, type);
    text_copy(message.begin.session, sizeof message.begin.session, end->session);
    message.begin.phase = phase;
    post(end, &message);
}

static void tell_close(struct end *end, const char *reason)
{
    struct message_close close;

    message_init(&close, MESSAGE_CLOSE);
    text_copy(close.session, sizeof close.session, end->session);
    text_copy(close.reason, sizeof close.reason, reason);
    post(end, &close);
}

static bool hear(struct end *end, int64_t timeout_ns, union message *out_message)
{
    const struct message_way way = { .from = ROLE_AGENT, .to = ROLE_CONTROLLER };
    struct fault fault = { "" };
    struct buf bytes;
    enum status status;

    buf_init(&bytes, LIMIT_FRAME);
    status = mailbox_take(end->mailbox, timeout_ns, &bytes);
    if (status == STATUS_OK && message_get(bytes.data, bytes.length, way, out_message, &fault) != 0)
        fail_msg("%s", fault.text);
    buf_done(&bytes);
    return status == STATUS_OK;
}

/* The next message that is no progress must be of this type; returns how often progress came. */
static size_t expect(struct end *end, enum message_type type, union message *out_message)
{
    size_t progress = 0;

    for (;;) {
        if (!hear(end, WAIT_NS, out_message))
            fail_msg("\"%s\" did not come", message_names[type]);
        if (out_message->type != MESSAGE_PROGRESS)
            break;
        assert_string_equal(out_message->progress.session, end->session);
        progress++;
    }
    if (out_message->type != type)
        fail_msg("\"%s\" came instead of \"%s\": %s", message_names[out_message->type],
                 message_names[type],
                 out_message->type == MESSAGE_FAILED    ? out_message->failed.reason
                 : out_message->type == MESSAGE_REFUSED ? out_message->refused.reason
                                                        : "");
    return progress;
}

static void expect_phase(struct end *end, enum message_type type, enum phase_kind phase)
{
    union message message;

    expect(end, type, &message);
    assert_string_equal(message.begun.session, end->session);
    assert_int_equal(message.begun.phase, phase);
}

/* Takes the result; the report is the caller's. */
static void expect_report(struct end *end, struct report *out_report)
{
    union message message;
    struct fault fault = { "" };

    expect(end, MESSAGE_RESULT, &message);
    assert_string_equal(message.result.kind, "report");
    if (record_from_msgpack(&report_record, message.result.body.data, message.result.body.length,
                            out_report, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_string_equal(out_report->id, message.result.id);
    assert_string_equal(out_report->session, end->session);
    assert_string_equal(out_report->schema, REPORT_SCHEMA);
    message_done(&message);
}

static struct case_params params_of(double seconds)
{
    return (struct case_params){
        .payload = 256,
        .window = 4,
        .repeat = 1,
        .engine = ENGINE_SINGLE,
        .common = { .clients = 2,
                    .io_threads = 1,
                    .seconds = seconds,
                    .rcvbuf = 1 << 20,
                    .sndbuf = 256 << 10 },
    };
}

struct order {
    enum end_role role;
    const char *session;
    uint16_t port; /* sender: of the target */
    int64_t ssid;
    struct case_params params;
    double idle_s;
};

static void start(struct stand *stand, const struct order *order, struct end *out_end)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 7, 7, 7 };
    struct mailbox *theirs;
    union message open;
    struct fault fault = { "" };

    message_init(&open, MESSAGE_OPEN);
    text_copy(open.open.session, sizeof open.open.session, order->session);
    text_copy(open.open.run, sizeof open.open.run, "01900000-0000-7000-8000-000000000000");
    open.open.index = 3;
    open.open.role = order->role;
    open.open.ssid = order->ssid;
    open.open.idle_s = order->idle_s;
    open.open.params = order->params;
    bytes_set(&open.open.key, key, sizeof key);
    if (order->role == END_SENDER)
        snprintf(open.open.target, sizeof open.open.target, "127.0.0.1:%u", order->port);
    *out_end = (struct end){ .task = NULL };
    text_copy(out_end->session, sizeof out_end->session, order->session);
    assert_int_equal(mailbox_pair(stand->loop, &out_end->mailbox, &theirs, NULL), STATUS_OK);
    post(out_end, &open);
    message_done(&open);
    if (task_start(&stand->surroundings, theirs, &out_end->task, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void finish(struct end *end)
{
    union message message;

    task_join(end->task);
    assert_false(hear(end, 0, &message)); /* nothing behind the last message */
    mailbox_free(end->mailbox);
}

/* Its port. */
static uint16_t start_echo(struct stand *stand, const char *session, int64_t ssid,
                           struct case_params params, struct end *out_end)
{
    union message message;

    start(stand,
          &(struct order){ .role = END_ECHO, .session = session, .ssid = ssid, .params = params },
          out_end);
    expect(out_end, MESSAGE_OPENED, &message);
    assert_string_equal(message.opened.session, session);
    assert_in_range(message.opened.port, 1, 65535);
    return (uint16_t)message.opened.port;
}

static void start_sender(struct stand *stand, const char *session, int64_t ssid, uint16_t port,
                         struct case_params params, struct end *out_end)
{
    start(
        stand,
        &(struct order){
            .role = END_SENDER, .session = session, .port = port, .ssid = ssid, .params = params },
        out_end);
}

static void run_phase(struct end *echo, struct end *sender, enum phase_kind phase)
{
    tell(echo, MESSAGE_BEGIN, phase);
    expect_phase(echo, MESSAGE_BEGUN, phase);
    tell(sender, MESSAGE_BEGIN, phase);
    expect_phase(sender, MESSAGE_ENDED, phase);
    tell(echo, MESSAGE_END, phase);
    expect_phase(echo, MESSAGE_ENDED, phase);
}

static void expect_closed(struct end *end, struct report *out_report)
{
    union message message;

    expect_report(end, out_report);
    expect(end, MESSAGE_CLOSED, &message);
    assert_string_equal(message.closed.session, end->session);
    assert_string_equal(message.closed.result, out_report->id);
}

static void expect_failed(struct end *end, const char *reason)
{
    struct report report;
    union message message;

    expect_report(end, &report);
    assert_string_equal(report.error, reason);
    expect(end, MESSAGE_FAILED, &message);
    assert_string_equal(message.failed.reason, reason);
    assert_string_equal(message.failed.result, report.id);
    record_done(&report_record, &report);
}

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
    port = start_echo(stand, "S", FIRST_SSID, params, &echo);
    start_sender(stand, "S", FIRST_SSID, port, params, &sender);
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
    uint16_t port = start_echo(stand, "S", FIRST_SSID, params, &echo);

    start_sender(stand, "S", FIRST_SSID, port, params, &sender);
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
        uint16_t port = start_echo(stand, names[i], FIRST_SSID + 4 * i, params, &echo[i]);

        start_sender(stand, names[i], FIRST_SSID + 4 * i, port, params, &sender[i]);
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

    start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
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
    uint16_t port = start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);

    tell_close(&echo, "");
    expect_closed(&echo, &unused);
    record_done(&report_record, &unused);
    finish(&echo);
    start_sender(stand, "S", FIRST_SSID, port, params_of(0.1), &sender);
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

    use_peers(stand, "10.0.0.0/8");
    port = start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
    start_sender(stand, "S", FIRST_SSID, port, params_of(0.1), &sender);
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
    start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
    expect_failed(&echo, "the controller asked for nothing any more");
    finish(&echo);
}

static void a_phase_that_nobody_ends(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    stand->surroundings.patience_ns = 300 * NS_PER_MS;
    start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    expect_failed(&echo, "the controller did not end the phase in time");
    finish(&echo);
}

static void a_phase_that_the_case_does_not_have(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_WARMUP);
    expect_failed(&echo, "this case has no warm-up");
    finish(&echo);
}

static void a_phase_within_a_phase(void **state)
{
    struct stand *stand = *state;
    struct end echo;

    start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
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

    start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
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

    start_echo(stand, "S", FIRST_SSID, params_of(0.1), &echo);
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
                           .session = "S",
                           .ssid = FIRST_SSID,
                           .idle_s = 60,
                           .params = params_of(0.1) },
          &echo);
    expect(&echo, MESSAGE_REFUSED, &message);
    assert_string_equal(message.refused.session, "S");
    assert_non_null(strstr(message.refused.reason, "idle_s allows 8 seconds"));
    finish(&echo);
}

static void without_a_free_port_it_is_refused(void **state)
{
    struct stand *stand = *state;
    struct end first, second;
    struct report report;
    union message message;
    uint16_t port = start_echo(stand, "A", FIRST_SSID, params_of(0.1), &first);

    stand->echo.first_port = stand->echo.last_port = port;
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

    start_echo(stand, "A", FIRST_SSID, params_of(60), &waiting);
    start_echo(stand, "B", FIRST_SSID + 4, params_of(60), &busy);
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

    start_echo(stand, "S", FIRST_SSID, params_of(60), &echo);
    tell(&echo, MESSAGE_BEGIN, PHASE_MEASURE);
    expect_phase(&echo, MESSAGE_BEGUN, PHASE_MEASURE);
    mailbox_free(echo.mailbox);
    task_join(echo.task);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

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
