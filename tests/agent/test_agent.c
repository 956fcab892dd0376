/* The whole agent in this process, with its files, its spool and its threads, against a
 * controller's channel on the same loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/spool.h"
#include "agent/uplink.h"
#include "proto/base/file.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"
#include "tests/agent/fake_controller.h"
#include "tests/proto/link/make_certs.h"

#define WAIT_NS (10 * NS_PER_S)

struct stage {
    struct loop *loop;
    struct certs *certs;
    struct authority *ca;
    const char *config, *spool; /* paths */
    struct tls_files files;     /* of the agent */
    struct tls_context *controller;
    struct fake_controller fake;
    uint16_t port;
    struct agent *agent;

    int opened, refused, closed, failed, results;
    uint16_t echo_port;
    char reason[REASON_SIZE], result[UUID_SIZE];
    struct report report; /* the last result */

    char log[16384];
    size_t logged;
};

static void remember(void *context, enum log_level level, const char *line)
{
    struct stage *stage = context;
    size_t left = sizeof stage->log - stage->logged;
    int length = snprintf(stage->log + stage->logged, left, "%s\n", line);

    (void)level;
    if (length > 0 && (size_t)length < left)
        stage->logged += (size_t)length;
}

static bool is_logged(const struct stage *stage, const char *words)
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

static void write_config(struct stage *stage, const char *more)
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

static int set_up(void **state)
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

static int tear_down(void **state)
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

/* Turns the loop until *count is at least `least`. */
static void until(struct stage *stage, const int *count, int least)
{
    struct mono start = mono_now();

    while (*count < least) {
        if (mono_between(start, mono_now()) > WAIT_NS)
            fail_msg("it does not happen; the log is:\n%s", stage->log);
        loop_turn(stage->loop, 20 * NS_PER_MS);
    }
}

static void turn_a_while(struct stage *stage)
{
    struct mono start = mono_now();

    while (mono_between(start, mono_now()) < 200 * NS_PER_MS)
        loop_turn(stage->loop, 20 * NS_PER_MS);
}

static void start_agent(struct stage *stage)
{
    struct fault fault = { "" };

    if (agent_new(stage->loop, stage->config, &stage->agent, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    agent_start(stage->agent, loop_now(stage->loop));
}

static void start_connected(struct stage *stage)
{
    write_config(stage, "");
    start_agent(stage);
    until(stage, &stage->fake.hellos, 1);
    turn_a_while(stage);
}

static void reload(struct stage *stage)
{
    agent_reload(stage->agent, loop_now(stage->loop));
}

/* --- sessions --------------------------------------------------------------------------------- */

static void open_session(struct stage *stage, const char *session, enum end_role role)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 3, 1, 4 };
    union message open;

    message_init(&open, MESSAGE_OPEN);
    text_copy(open.open.session, sizeof open.open.session, session);
    text_copy(open.open.run, sizeof open.open.run, "01900000-0000-7000-8000-000000000000");
    open.open.role = role;
    open.open.ssid = 40;
    open.open.params = (struct case_params){
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

static void close_session(struct stage *stage, const char *session)
{
    struct message_close close;

    message_init(&close, MESSAGE_CLOSE);
    text_copy(close.session, sizeof close.session, session);
    fake_controller_send(&stage->fake, &close);
}

/* What is in the spool of an agent that is no more. */
static int64_t spooled(struct stage *stage)
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

static void end_agent(struct stage *stage)
{
    agent_free(stage->agent);
    stage->agent = NULL;
}

/* --- the tests -------------------------------------------------------------------------------- */

static void it_connects_and_says_what_it_is(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    assert_string_not_equal(stage->fake.hello.os, "");
    assert_string_not_equal(stage->fake.hello.os_release, "");
    assert_string_not_equal(stage->fake.hello.arch, "");
    assert_int_equal(strlen(stage->fake.hello.instance), 36);
    assert_int_equal(stage->fake.hello.sessions_max, 4);
    assert_int_equal(stage->fake.hello.spool.waiting, 0);
    assert_true(stage->fake.addresses > 0);
    assert_true(is_logged(stage, "agent a of test"));
}

static void a_result_leaves_the_spool_once_it_is_committed(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    close_session(stage, "S");
    until(stage, &stage->results, 1);
    assert_int_equal(stage->closed, 1);
    assert_string_equal(stage->report.session, "S");
    assert_string_equal(stage->report.id, stage->result);
    end_agent(stage);
    assert_int_equal(spooled(stage), 1);

    /* Of the same id again, from a process that has never heard of the session. */
    stage->result[0] = '\0';
    start_agent(stage);
    until(stage, &stage->results, 2);
    assert_string_equal(stage->report.id, stage->result);
    fake_controller_committed(&stage->fake, stage->result);
    turn_a_while(stage);
    end_agent(stage);
    assert_int_equal(spooled(stage), 0);
}

/* One agent may be both ends, of two sessions: each is a thread of its own. */
static void two_sessions_of_one_agent_agree(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "E", END_ECHO);
    until(stage, &stage->opened, 1);
    open_session(stage, "S", END_SENDER);
    until(stage, &stage->opened, 2);
    close_session(stage, "S");
    close_session(stage, "E");
    until(stage, &stage->closed, 2);
    until(stage, &stage->results, 2);
}

static void stopping_reports_what_is_open(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    agent_stop(stage->agent, loop_now(stage->loop));
    loop_run(stage->loop);
    turn_a_while(stage);
    assert_int_equal(stage->closed, 1);
    assert_string_not_equal(stage->fake.bye, "");
    end_agent(stage);
    assert_int_equal(spooled(stage), 1);
}

static void asked_twice_it_stops_at_once(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    agent_stop(stage->agent, loop_now(stage->loop));
    agent_stop(stage->agent, loop_now(stage->loop));
    loop_run(stage->loop);
    end_agent(stage);
    assert_int_equal(spooled(stage), 1);
}

static void a_controller_that_goes_closes_the_sessions(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    channel_close(stage->fake.channel, stage->fake.peer, "for a test");
    turn_a_while(stage);
    loop_skip(stage->loop, UPLINK_FIRST_PAUSE_NS);
    until(stage, &stage->results, 1);
    assert_string_equal(stage->report.error, "closed: the connection to the controller is gone");
}

static void new_limits_are_for_new_sessions(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "A", END_ECHO);
    until(stage, &stage->opened, 1);
    write_config(stage, "admission:\n  max_payload: 128\n");
    reload(stage);
    open_session(stage, "B", END_ECHO);
    until(stage, &stage->refused, 1);
    assert_non_null(strstr(stage->reason, "max_payload allows 128"));
    close_session(stage, "A");
    until(stage, &stage->closed, 1);
    assert_int_equal(stage->fake.hellos, 1);
}

static void a_broken_configuration_changes_nothing(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    write_config(stage, "admission:\n  max_payloat: 128\n");
    reload(stage);
    assert_true(is_logged(stage, "the old configuration stays"));
    assert_true(is_logged(stage, "max_payloat"));
    open_session(stage, "A", END_ECHO);
    until(stage, &stage->opened, 1);
}

static void another_controller_is_connected_to(void **state)
{
    struct stage *stage = *state;
    struct fake_controller second;

    fake_controller_init(&second, stage->loop, stage->controller);
    start_connected(stage);
    stage->port = fake_controller_listen(&second, 0);
    write_config(stage, "");
    reload(stage);
    until(stage, &second.hellos, 1);
    turn_a_while(stage);
    assert_int_equal(channel_peers(stage->fake.channel), 0);
    fake_controller_done(&second);
}

/* --- certificates ----------------------------------------------------------------------------- */

static void copy(const char *from, const char *to)
{
    struct buf bytes;

    buf_init(&bytes, 1 << 20);
    assert_int_equal(file_read(from, &bytes, NULL), STATUS_OK);
    assert_int_equal(file_write_whole(to, bytes.data, bytes.length, NULL), STATUS_OK);
    buf_done(&bytes);
}

static void changed_certificates_are_read_within_a_minute(void **state)
{
    struct stage *stage = *state;
    struct tls_files fresh;

    start_connected(stage);
    certs_good(stage->certs, stage->ca, "spiffe://test/agent/a", &fresh);
    copy(fresh.key, stage->files.key);
    assert_int_equal(chmod(stage->files.key, 0600), 0);
    copy(fresh.certificate, stage->files.certificate);
    assert_false(is_logged(stage, "certificates read anew"));
    loop_skip(stage->loop, 20 * NS_PER_S);
    turn_a_while(stage);
    loop_skip(stage->loop, 20 * NS_PER_S);
    turn_a_while(stage);
    loop_skip(stage->loop, 20 * NS_PER_S);
    turn_a_while(stage);
    assert_true(is_logged(stage, "certificates read anew"));
    assert_int_equal(stage->fake.ups, 1);
}

static void broken_certificates_leave_the_old_ones(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    assert_int_equal(file_write_whole(stage->files.certificate, "no\n", 3, NULL), STATUS_OK);
    reload(stage);
    assert_true(is_logged(stage, "the old ones stay"));
    assert_true(is_logged(stage, stage->files.certificate));
    channel_close(stage->fake.channel, stage->fake.peer, "for a test");
    turn_a_while(stage);
    loop_skip(stage->loop, UPLINK_FIRST_PAUSE_NS);
    until(stage, &stage->fake.hellos, 2);
}

static void an_end_that_is_near_is_told(void **state)
{
    struct stage *stage = *state;
    const struct certs_wish wish = {
        .uris = { "spiffe://test/agent/a" },
        .until = { wall_now().ns + 5 * 24 * 3600 * NS_PER_S },
    };

    certs_issue(stage->certs, stage->ca, &wish, &stage->files);
    start_connected(stage);
    assert_true(is_logged(stage, "this agent's certificate ends in 4 days"));
}

/* --- the start -------------------------------------------------------------------------------- */

static void assert_no_start(struct stage *stage, const char *words)
{
    struct agent *agent;
    struct fault fault = { "" };

    assert_int_not_equal(agent_new(stage->loop, stage->config, &agent, &fault), STATUS_OK);
    if (strstr(fault.text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, fault.text);
}

static void what_is_missing_is_named(void **state)
{
    struct stage *stage = *state;

    assert_no_start(stage, "agent.yaml");
    write_config(stage, "nonsense: 1\n");
    assert_no_start(stage, "nonsense");
    write_config(stage, "");
    assert_int_equal(unlink(stage->files.key), 0);
    assert_no_start(stage, stage->files.key);
}

static void systemd_hears_of_it(void **state)
{
    struct stage *stage = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = certs_path(stage->certs, "notify");
    char text[512];
    ssize_t length;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    assert_true(fd >= 0);
    text_copy(address.sun_path, sizeof address.sun_path, path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", path, 1);
    fake_controller_done(&stage->fake); /* it need not be there */
    write_config(stage, "");
    start_agent(stage);
    assert_null(getenv("NOTIFY_SOCKET"));
    length = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    assert_true(length > 0);
    text[length] = '\0';
    assert_non_null(strstr(text, "READY=1"));
    close(fd);
    unlink(path);
}

/* --- idle ------------------------------------------------------------------------------------- */

static void stop_loop(void *context, struct mono now)
{
    (void)now;
    loop_stop(context);
}

/* Nothing is asked of it: it wakes at most twice a second. */
static void idle_it_sleeps(void **state)
{
    struct stage *stage = *state;
    struct loop_timer timer = { .handler = stop_loop, .context = stage->loop };
    uint64_t before;

    start_connected(stage);
    before = loop_turns(stage->loop);
    loop_timer_set(stage->loop, &timer, mono_after(loop_now(stage->loop), 3 * NS_PER_S));
    loop_run(stage->loop);
    /* The controller's side is on the same loop and counted too. */
    assert_in_range(loop_turns(stage->loop) - before, 1, 6);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(it_connects_and_says_what_it_is),
        UNIT(a_result_leaves_the_spool_once_it_is_committed),
        UNIT(two_sessions_of_one_agent_agree),
        UNIT(stopping_reports_what_is_open),
        UNIT(asked_twice_it_stops_at_once),
        UNIT(a_controller_that_goes_closes_the_sessions),
        UNIT(new_limits_are_for_new_sessions),
        UNIT(a_broken_configuration_changes_nothing),
        UNIT(another_controller_is_connected_to),
        UNIT(changed_certificates_are_read_within_a_minute),
        UNIT(broken_certificates_leave_the_old_ones),
        UNIT(an_end_that_is_near_is_told),
        UNIT(what_is_missing_is_named),
        UNIT(systemd_hears_of_it),
        UNIT(idle_it_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
