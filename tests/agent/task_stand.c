/* Owns the stand of tasks. */
#include "tests/agent/task_stand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"

#define WAIT_NS (10 * NS_PER_S)

void stand_use_limits(struct stand *stand)
{
    admission_free(stand->admission);
    stand->admission = admission_new(&stand->limits);
    stand->surroundings.admission = stand->admission;
}

void stand_use_peers(struct stand *stand, const char *range)
{
    const struct field field = { .type = FIELD_LIST, .of = FIELD_WORD, .size = 1 };
    char **word = list_append(&stand->limits.peers, &field);

    *word = strdup(range);
    stand_use_limits(stand);
    free(*word);
    free(stand->limits.peers.items);
    stand->limits.peers = (struct list){ 0 };
}

int stand_set_up(void **state)
{
    struct stand *stand = memory_new(1, sizeof *stand);
    struct agent_config config;

    agent_config_init(&config);
    assert_int_equal(loop_new(&stand->loop, NULL), STATUS_OK);
    stand->echo = config.echo;
    text_copy(stand->echo.bind_ipv4, sizeof stand->echo.bind_ipv4, "127.0.0.1");
    text_copy(stand->echo.bind_ipv6, sizeof stand->echo.bind_ipv6, "::1");
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

int stand_tear_down(void **state)
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
void tell(struct end *end, enum message_type type, enum phase_kind phase)
{
    union message message;

    message_init(&message, type);
    text_copy(message.begin.session, sizeof message.begin.session, end->session);
    message.begin.phase = phase;
    post(end, &message);
}

void tell_close(struct end *end, const char *reason)
{
    struct message_close close;

    message_init(&close, MESSAGE_CLOSE);
    text_copy(close.session, sizeof close.session, end->session);
    text_copy(close.reason, sizeof close.reason, reason);
    post(end, &close);
}

bool hear(struct end *end, int64_t timeout_ns, union message *out_message)
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

size_t expect(struct end *end, enum message_type type, union message *out_message)
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

void expect_phase(struct end *end, enum message_type type, enum phase_kind phase)
{
    union message message;

    expect(end, type, &message);
    assert_string_equal(message.begun.session, end->session);
    assert_int_equal(message.begun.phase, phase);
}

/* Its id is in out_id. */
static void expect_result(struct end *end, const char *kind, const struct record *record,
                          void *out_report, char out_id[UUID_SIZE])
{
    union message message;
    struct fault fault = { "" };

    expect(end, MESSAGE_RESULT, &message);
    assert_string_equal(message.result.kind, kind);
    if (record_from_msgpack(record, message.result.body.data, message.result.body.length,
                            out_report, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    memcpy(out_id, message.result.id, UUID_SIZE);
    message_done(&message);
}

/* Takes the result; the report is the caller's. */
void expect_report(struct end *end, struct report *out_report)
{
    char id[UUID_SIZE];

    expect_result(end, "report", &report_record, out_report, id);
    assert_string_equal(out_report->id, id);
    assert_string_equal(out_report->session, end->session);
    assert_string_equal(out_report->schema, REPORT_SCHEMA);
}

void expect_mtu_report(struct end *end, struct mtu_report *out_report)
{
    char id[UUID_SIZE];

    expect_result(end, "mtu_report", &mtu_report_record, out_report, id);
    assert_string_equal(out_report->id, id);
    assert_string_equal(out_report->session, end->session);
    assert_string_equal(out_report->schema, MTU_REPORT_SCHEMA);
}

struct case_params params_of(double seconds)
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

struct mtu_params mtu_params_of(enum family family)
{
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    plan.common.fragments = plan.common.trace = false;
    return (struct mtu_params){ .family = family, .common = plan.common };
}

void start(struct stand *stand, const struct order *order, struct end *out_end)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 7, 7, 7 };
    struct addr target = addr_loopback(FAMILY_IPV4, order->port);
    struct mailbox *theirs;
    union message open;
    struct fault fault = { "" };

    message_init(&open, MESSAGE_OPEN);
    text_copy(open.open.session, sizeof open.open.session, order->session);
    text_copy(open.open.run, sizeof open.open.run, "01900000-0000-7000-8000-000000000000");
    open.open.index = 3;
    open.open.role = order->role;
    open.open.ssid = order->ssid;
    open.open.kind = order->mtu != NULL ? WORK_MTU : WORK_CASES;
    if (order->mtu != NULL) {
        open.open.of_mtu.params = *order->mtu;
        target = addr_loopback(order->mtu->family, order->port);
    } else {
        open.open.of_case.idle_s = order->idle_s;
        open.open.of_case.params = order->params;
    }
    bytes_set(&open.open.key, key, sizeof key);
    if (order->role == END_SENDER)
        addr_format(&target, open.open.target);
    *out_end = (struct end){ .task = NULL };
    text_copy(out_end->session, sizeof out_end->session, order->session);
    assert_int_equal(mailbox_pair(stand->loop, &out_end->mailbox, &theirs, NULL), STATUS_OK);
    post(out_end, &open);
    message_done(&open);
    if (task_start(&stand->surroundings, theirs, &out_end->task, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

void finish(struct end *end)
{
    union message message;

    task_join(end->task);
    assert_false(hear(end, 0, &message)); /* nothing behind the last message */
    mailbox_free(end->mailbox);
}

/* Sessions A, B, ... have four SSIDs each. */
static int64_t ssid_of(const char *name)
{
    return FIRST_SSID + 4 * (name[0] - 'A');
}

static uint16_t expect_port(struct end *end)
{
    union message message;

    expect(end, MESSAGE_OPENED, &message);
    assert_string_equal(message.opened.session, end->session);
    assert_in_range(message.opened.port, 1, 65535);
    return (uint16_t)message.opened.port;
}

uint16_t start_echo(struct stand *stand, const char *name, struct case_params params,
                    struct end *out_end)
{
    const struct order order = {
        .role = END_ECHO, .session = name, .ssid = ssid_of(name), .params = params
    };

    start(stand, &order, out_end);
    return expect_port(out_end);
}

uint16_t start_listener(struct stand *stand, const char *name, const struct mtu_params *params,
                        struct end *out_end)
{
    const struct order order = {
        .role = END_ECHO, .session = name, .ssid = ssid_of(name), .mtu = params
    };

    start(stand, &order, out_end);
    return expect_port(out_end);
}

void start_caller(struct stand *stand, const char *name, uint16_t port,
                  const struct mtu_params *params, struct end *out_end)
{
    const struct order order = {
        .role = END_SENDER, .session = name, .port = port, .ssid = ssid_of(name), .mtu = params
    };

    start(stand, &order, out_end);
}

void start_sender(struct stand *stand, const char *name, uint16_t port, struct case_params params,
                  struct end *out_end)
{
    const struct order order = {
        .role = END_SENDER, .session = name, .port = port, .ssid = ssid_of(name), .params = params
    };

    start(stand, &order, out_end);
}

void run_phase(struct end *echo, struct end *sender, enum phase_kind phase)
{
    tell(echo, MESSAGE_BEGIN, phase);
    expect_phase(echo, MESSAGE_BEGUN, phase);
    tell(sender, MESSAGE_BEGIN, phase);
    expect_phase(sender, MESSAGE_ENDED, phase);
    tell(echo, MESSAGE_END, phase);
    expect_phase(echo, MESSAGE_ENDED, phase);
}

void expect_closed(struct end *end, struct report *out_report)
{
    union message message;

    expect_report(end, out_report);
    expect(end, MESSAGE_CLOSED, &message);
    assert_string_equal(message.closed.session, end->session);
    assert_string_equal(message.closed.result, out_report->id);
}

void expect_failed(struct end *end, const char *reason)
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

void expect_mtu_closed(struct end *end, struct mtu_report *out_report)
{
    union message message;

    expect_mtu_report(end, out_report);
    expect(end, MESSAGE_CLOSED, &message);
    assert_string_equal(message.closed.result, out_report->id);
}

void expect_mtu_failed(struct end *end, const char *reason, struct mtu_report *out_report)
{
    union message message;

    expect_mtu_report(end, out_report);
    assert_string_equal(out_report->error, reason);
    expect(end, MESSAGE_FAILED, &message);
    assert_string_equal(message.failed.reason, reason);
    assert_string_equal(message.failed.result, out_report->id);
}
