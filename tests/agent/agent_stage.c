/* Owns the stage of the whole agent. */
#include "tests/agent/agent_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/spool.h"
#include "proto/base/file.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"

#define WAIT_NS (10 * NS_PER_S)

static void remember(void *context, enum log_level level, const char *line)
{
    struct stage *stage = context;
    size_t left = sizeof stage->log - stage->logged;
    int length = snprintf(stage->log + stage->logged, left, "%s\n", line);

    (void)level;
    if (length > 0 && (size_t)length < left)
        stage->logged += (size_t)length;
}

bool is_logged(const struct stage *stage, const char *words)
{
    return strstr(stage->log, words) != NULL;
}

static void on_result(struct stage *stage, const struct message_result *result)
{
    struct fault fault = { "" };

    stage->results++;
    text_copy(stage->result, sizeof stage->result, result->id);
    record_done(&report_record, &stage->report);
    if (record_from_msgpack(&report_record, result->body.data, result->body.length, &stage->report,
                            &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void on_message(void *context, const union message *message)
{
    struct stage *stage = context;

    if (message->type == MESSAGE_OPENED) {
        stage->opened++;
        stage->echo_port = (uint16_t)message->opened.port;
    } else if (message->type == MESSAGE_REFUSED) {
        stage->refused++;
        text_copy(stage->reason, sizeof stage->reason, message->refused.reason);
    } else if (message->type == MESSAGE_CLOSED) {
        stage->closed++;
    } else if (message->type == MESSAGE_FAILED) {
        stage->failed++;
        text_copy(stage->reason, sizeof stage->reason, message->failed.reason);
    } else if (message->type == MESSAGE_RESULT) {
        on_result(stage, &message->result);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

void write_config(struct stage *stage, const char *more)
{
    char text[8192];
    int length = snprintf(text, sizeof text,
                          "controller:\n  address: 127.0.0.1:%u\n"
                          "tls:\n  ca: %s\n  certificate: %s\n  key: %s\n"
                          "spool:\n  path: %s\n"
                          "echo:\n  bind_ipv4: 127.0.0.1\n%s",
                          stage->port, stage->files.ca, stage->files.certificate, stage->files.key,
                          stage->spool, more);

    assert_true(length > 0 && (size_t)length < sizeof text);
    assert_int_equal(file_write_whole(stage->config, text, (size_t)length, NULL), STATUS_OK);
}

int stage_set_up(void **state)
{
    struct stage *stage = memory_new(1, sizeof *stage);
    struct tls_files files;

    log_to(remember, stage, LOG_LEVEL_INFO);
    record_init(&report_record, &stage->report);
    assert_int_equal(loop_new(&stage->loop, NULL), STATUS_OK);
    stage->certs = certs_new();
    stage->config = certs_path(stage->certs, "agent.yaml");
    stage->spool = certs_path(stage->certs, "spool.sqlite");
    stage->ca = certs_authority(stage->certs, "ca", CERTS_P256);
    certs_good(stage->certs, stage->ca, "spiffe://test/agent/a", &stage->files);
    certs_good(stage->certs, stage->ca, "spiffe://test/controller/c", &files);
    assert_int_equal(tls_context_new(&files, ROLE_CONTROLLER, wall_now(), &stage->controller, NULL),
                     STATUS_OK);
    fake_controller_init(&stage->fake, stage->loop, stage->controller);
    stage->fake.message = on_message;
    stage->fake.context = stage;
    stage->port = fake_controller_listen(&stage->fake, 0);
    *state = stage;
    return 0;
}

int stage_tear_down(void **state)
{
    struct stage *stage = *state;

    agent_free(stage->agent);
    fake_controller_done(&stage->fake);
    tls_context_free(stage->controller);
    loop_free(stage->loop);
    certs_free(stage->certs);
    record_done(&report_record, &stage->report);
    log_to(NULL, NULL, LOG_LEVEL_INFO);
    free(stage);
    return 0;
}

/* --- time ------------------------------------------------------------------------------------- */

void until(struct stage *stage, const int *count, int least)
{
    struct mono start = mono_now();

    while (*count < least) {
        if (mono_between(start, mono_now()) > WAIT_NS)
            fail_msg("it does not happen; the log is:\n%s", stage->log);
        loop_turn(stage->loop, 20 * NS_PER_MS);
    }
}

void turn_a_while(struct stage *stage)
{
    struct mono start = mono_now();

    while (mono_between(start, mono_now()) < 200 * NS_PER_MS)
        loop_turn(stage->loop, 20 * NS_PER_MS);
}

void start_agent(struct stage *stage)
{
    struct fault fault = { "" };

    if (agent_new(stage->loop, stage->config, &stage->agent, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    agent_start(stage->agent, loop_now(stage->loop));
}

void start_connected(struct stage *stage)
{
    write_config(stage, "");
    start_agent(stage);
    until(stage, &stage->fake.hellos, 1);
    turn_a_while(stage);
}

void reload(struct stage *stage)
{
    agent_reload(stage->agent, loop_now(stage->loop));
}

/* --- sessions --------------------------------------------------------------------------------- */

void open_session(struct stage *stage, const char *session, enum end_role role)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 3, 1, 4 };
    union message open;

    message_init(&open, MESSAGE_OPEN);
    text_copy(open.open.session, sizeof open.open.session, session);
    text_copy(open.open.run, sizeof open.open.run, "01900000-0000-7000-8000-000000000000");
    open.open.role = role;
    open.open.ssid = 40;
    open.open.of_case.params = (struct case_params){
        .payload = 256,
        .window = 4,
        .repeat = 1,
        .common = { .clients = 1,
                    .io_threads = 1,
                    .seconds = 0.1,
                    .rcvbuf = 1 << 20,
                    .sndbuf = 256 << 10 },
    };
    bytes_set(&open.open.key, key, sizeof key);
    if (role == END_SENDER)
        snprintf(open.open.target, sizeof open.open.target, "127.0.0.1:%u", stage->echo_port);
    fake_controller_send(&stage->fake, &open);
    message_done(&open);
}

void close_session(struct stage *stage, const char *session)
{
    struct message_close close;

    message_init(&close, MESSAGE_CLOSE);
    text_copy(close.session, sizeof close.session, session);
    fake_controller_send(&stage->fake, &close);
}

int64_t spooled(struct stage *stage)
{
    struct spool_report report;
    struct spool *spool;
    struct fault fault = { "" };

    if (spool_open(stage->spool, 64 << 20, &spool, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    spool_report(spool, &report);
    spool_close(spool);
    return report.waiting;
}

void end_agent(struct stage *stage)
{
    agent_free(stage->agent);
    stage->agent = NULL;
}
