/* The controller as a daemon, with a real loop, channel, hub and store; time passes by loop_skip.
 */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/server.h"
#include "proto/base/file.h"
#include "proto/base/log.h"
#include "proto/link/channel.h"
#include "proto/wire/message.h"
#include "tests/controller/fleet/temp_store.h"
#include "tests/proto/link/make_certs.h"

enum { LINES_SIZE = 65536, TURNS_MAX = 4000 };

struct bench {
    struct temp_store temp; /* for its folder and path */
    struct certs *certs;
    struct authority *authority;
    struct tls_files files;
    char config[160];
    char lines[LINES_SIZE]; /* what was logged */
    struct loop *loop;
    struct server *server;
};

static void keep_line(void *context, enum log_level level, const char *line)
{
    struct bench *bench = context;
    size_t length = strlen(bench->lines);

    snprintf(bench->lines + length, sizeof bench->lines - length, "%s: %s\n",
             log_level_words[level], line);
}

static size_t count_lines(const struct bench *bench, const char *words)
{
    size_t count = 0;

    for (const char *at = bench->lines; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

static void write_config(struct bench *bench, const char *listen, const char *more)
{
    struct fault fault;
    struct buf text;

    buf_init(&text, LIMIT_CONFIG_BYTES);
    buf_printf(&text,
               "listen: \"%s\"\ntls: {ca: %s, certificate: %s, key: %s}\nstore: {path: %s}\n%s\n",
               listen, bench->files.ca, bench->files.certificate, bench->files.key,
               bench->temp.path, more);
    assert_int_equal(STATUS_OK, file_write_whole(bench->config, text.data, text.length, &fault));
    buf_done(&text);
}

static void issue(struct bench *bench, struct wall until)
{
    const struct certs_wish wish = { .uris = { "spiffe://test/controller/c" }, .until = until };

    certs_issue(bench->certs, bench->authority, &wish, &bench->files);
}

static int setup(void **state)
{
    struct bench *bench = test_calloc(1, sizeof *bench);
    struct fault fault;

    temp_store_folder(&bench->temp);
    snprintf(bench->config, sizeof bench->config, "%s/controller.yaml", bench->temp.folder);
    bench->certs = certs_new();
    bench->authority = certs_authority(bench->certs, "ca", CERTS_P256);
    issue(bench, (struct wall){ 0 });
    write_config(bench, "127.0.0.1:0", "");
    log_to(keep_line, bench, LOG_LEVEL_INFO);
    assert_int_equal(STATUS_OK, loop_new(&bench->loop, &fault));
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    server_free(bench->server);
    loop_free(bench->loop);
    log_to(NULL, NULL, LOG_LEVEL_INFO);
    certs_free(bench->certs);
    temp_store_done(&bench->temp);
    test_free(bench);
    return 0;
}

static void make(struct bench *bench)
{
    struct fault fault = { "" };

    if (server_new(bench->loop, bench->config, &bench->server, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void start(struct bench *bench)
{
    struct fault fault = { "" };

    make(bench);
    if (server_start(bench->server, loop_now(bench->loop), &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

/* Time passes, and what is due then is done. */
static void pass(struct bench *bench, int64_t ns)
{
    loop_skip(bench->loop, ns);
    for (int i = 0; i < 5; i++)
        loop_turn(bench->loop, 0);
}

/* --- beginning and end -------------------------------------------------------------------------
 */

static void expect_not_made(struct bench *bench, enum status expected, const char *words)
{
    struct fault fault = { "" };

    assert_int_equal(expected, server_new(bench->loop, bench->config, &bench->server, &fault));
    if (strstr(fault.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.text, words);
}

static void wrong_files_are_named(void **state)
{
    struct bench *bench = *state;

    write_config(bench, "127.0.0.1:0", "lissten: 1");
    expect_not_made(bench, STATUS_INVALID, "lissten");
    certs_good(bench->certs, bench->authority, "spiffe://test/agent/a", &bench->files);
    write_config(bench, "127.0.0.1:0", "");
    expect_not_made(bench, STATUS_INVALID, bench->files.certificate);
}

static void it_serves_and_stops(void **state)
{
    struct bench *bench = *state;
    struct fault fault;

    start(bench);
    assert_int_not_equal(0, server_port(bench->server));
    assert_int_equal(1, count_lines(bench, "listens on"));
    server_stop(bench->server, loop_now(bench->loop));
    loop_run(bench->loop); /* returns */
    assert_int_equal(STATUS_OK, server_result(bench->server, &fault));
}

static void an_address_that_never_comes_is_an_error_in_the_end(void **state)
{
    struct bench *bench = *state;
    struct fault fault = { "" };

    write_config(bench, "192.0.2.77:7862", "");
    start(bench);
    assert_int_equal(1, count_lines(bench, "warning: not ready yet"));
    assert_int_equal(0, count_lines(bench, "listens on"));
    pass(bench, SERVER_START_NS - NS_PER_S);
    assert_int_equal(STATUS_OK, server_result(bench->server, &fault));
    loop_skip(bench->loop, 2 * NS_PER_S);
    loop_run(bench->loop); /* returns */
    assert_int_equal(STATUS_AGAIN, server_result(bench->server, &fault));
    assert_non_null(strstr(fault.text, "192.0.2.77"));
}

static void an_address_that_is_taken_is_an_error_at_once(void **state)
{
    struct bench *bench = *state, other = *bench;
    struct fault fault = { "" };
    char listen[40];

    start(bench);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", server_port(bench->server));
    snprintf(other.config, sizeof other.config, "%s/other.yaml", bench->temp.folder);
    snprintf(other.temp.path, sizeof other.temp.path, "%s/other.sqlite", bench->temp.folder);
    write_config(&other, listen, "");
    make(&other);
    assert_int_equal(STATUS_EXISTS, server_start(other.server, loop_now(bench->loop), &fault));
    server_free(other.server);
}

static void a_store_that_is_locked_is_tried_again(void **state)
{
    struct bench *bench = *state;
    sqlite3 *other;

    temp_store_reopen(&bench->temp);
    store_close(bench->temp.store);
    bench->temp.store = NULL;
    assert_int_equal(SQLITE_OK, sqlite3_open(bench->temp.path, &other));
    assert_int_equal(SQLITE_OK, sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    start(bench);
    assert_int_equal(1, count_lines(bench, "not ready yet"));
    pass(bench, NS_PER_S);
    assert_int_equal(0, count_lines(bench, "listens on"));
    assert_int_equal(SQLITE_OK, sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL));
    sqlite3_close(other);
    pass(bench, NS_PER_S);
    assert_int_equal(1, count_lines(bench, "listens on"));
}

/* --- an agent ----------------------------------------------------------------------------------
 */

struct agent {
    struct loop *loop;
    struct tls_context *tls;
    struct channel *channel;
    channel_peer peer;
    bool up, down;
    size_t welcomes, committed;
};

static void send_message(struct agent *agent, const void *message)
{
    struct buf frame;

    buf_init(&frame, LIMIT_FRAME);
    assert_int_equal(STATUS_OK, message_put(message, &frame));
    assert_int_equal(STATUS_OK,
                     channel_send(agent->channel, agent->peer, frame.data, frame.length));
    buf_done(&frame);
}

static void on_up(void *context, channel_peer peer, const struct identity *identity,
                  const char *address)
{
    struct agent *agent = context;
    struct message_hello hello;

    (void)peer;
    (void)address;
    assert_int_equal(ROLE_CONTROLLER, identity->role);
    agent->up = true;
    message_init(&hello, MESSAGE_HELLO);
    hello.protocol = PROTOCOL_VERSION;
    snprintf(hello.version, sizeof hello.version, "1");
    temp_id(1, hello.instance);
    snprintf(hello.os, sizeof hello.os, "Linux");
    snprintf(hello.os_release, sizeof hello.os_release, "6");
    snprintf(hello.arch, sizeof hello.arch, "x");
    send_message(agent, &hello);
}

static void on_message(void *context, channel_peer peer, const void *bytes, size_t length)
{
    struct agent *agent = context;
    union message message;
    struct fault fault = { "" };

    (void)peer;
    if (message_get(bytes, length, (struct message_way){ ROLE_CONTROLLER, ROLE_AGENT }, &message,
                    &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    agent->welcomes += message.type == MESSAGE_WELCOME;
    if (message.type == MESSAGE_COMMITTED)
        agent->committed += message.committed.ids.count;
    message_done(&message);
}

static void on_down(void *context, channel_peer peer, bool was_up, const char *reason)
{
    struct agent *agent = context;

    (void)peer;
    (void)was_up;
    (void)reason;
    agent->down = true;
}

/* Connects with a certificate of this authority. */
static void connect_agent(struct bench *bench, struct authority *authority, struct agent *agent)
{
    const struct channel_rules rules = { .roles = 1u << ROLE_CONTROLLER,
                                         .peers_max = 4,
                                         .strangers_max = 4,
                                         .outbound_cap = 4 << 20,
                                         .outbound_all_cap = 16 << 20 };
    const struct channel_events events = { agent, on_up, on_message, on_down };
    struct channel_setup setup = { .rules = &rules, .events = &events };
    struct channel_target target = { .address = NULL };
    struct tls_files files;
    struct fault fault = { "" };
    char address[40];

    *agent = (struct agent){ .loop = bench->loop };
    certs_good(bench->certs, authority, "spiffe://test/agent/a", &files);
    snprintf(files.ca, sizeof files.ca, "%s",
             certs_both(bench->certs, bench->authority, authority));
    if (tls_context_new(&files, ROLE_AGENT, loop_wall(bench->loop), &agent->tls, &fault) !=
        STATUS_OK)
        fail_msg("%s", fault.text);
    setup.context = agent->tls;
    assert_int_equal(STATUS_OK, channel_new(bench->loop, &setup, &agent->channel, &fault));
    snprintf(address, sizeof address, "127.0.0.1:%u", server_port(bench->server));
    target.address = address;
    assert_int_equal(STATUS_OK, channel_connect(agent->channel, &target, &agent->peer, &fault));
}

static void drop_agent(struct agent *agent)
{
    channel_free(agent->channel);
    tls_context_free(agent->tls);
}

static void turn_until(struct loop *loop, const bool *flag, const size_t *number, size_t wanted)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        if ((flag != NULL && *flag) || (number != NULL && *number >= wanted))
            return;
        loop_turn(loop, 5 * NS_PER_MS);
    }
    fail_msg("it did not happen");
}

static void an_agent_is_welcomed_and_its_results_are_stored(void **state)
{
    struct bench *bench = *state;
    struct message_result result;
    struct agent agent;

    start(bench);
    connect_agent(bench, bench->authority, &agent);
    turn_until(bench->loop, NULL, &agent.welcomes, 1);
    message_init(&result, MESSAGE_RESULT);
    snprintf(result.kind, sizeof result.kind, "note");
    bytes_set(&result.body, "body", 4);
    for (uint64_t i = 0; i < 10; i++) {
        temp_id(i, result.id);
        send_message(&agent, &result);
    }
    message_done(&result);
    turn_until(bench->loop, NULL, &agent.committed, 10);
    assert_int_equal(10, temp_count(bench->temp.path, "SELECT count(*) FROM results"));
    server_stop(bench->server, loop_now(bench->loop));
    loop_run(bench->loop);
    server_free(bench->server);
    bench->server = NULL;
    turn_until(bench->loop, &agent.down, NULL, 0);
    drop_agent(&agent);
}

static void a_stranger_is_logged_once_in_ten_seconds(void **state)
{
    struct bench *bench = *state;
    struct authority *foreign = certs_authority(bench->certs, "foreign", CERTS_P256);
    struct agent agent;

    start(bench);
    for (int i = 0; i < 5; i++) {
        connect_agent(bench, foreign, &agent);
        turn_until(bench->loop, &agent.down, NULL, 0);
        for (int k = 0; k < 50; k++)
            loop_turn(bench->loop, NS_PER_MS);
        assert_false(agent.welcomes > 0);
        drop_agent(&agent);
    }
    assert_int_equal(1, count_lines(bench, "warning: 127.0.0.1: dropped: "));
    pass(bench, 10 * NS_PER_S);
    assert_int_equal(2, count_lines(bench, "127.0.0.1: dropped: "));
    assert_int_equal(1, count_lines(bench, "the last of 4 more"));
    pass(bench, 60 * NS_PER_S);
    assert_int_equal(2, count_lines(bench, "dropped: "));
}

/* --- files -------------------------------------------------------------------------------------
 */

/* Puts another certificate and its key where those in use are. */
static void replace_certificate(struct bench *bench)
{
    struct tls_files used = bench->files;

    issue(bench, (struct wall){ 0 });
    assert_int_equal(0, rename(bench->files.key, used.key));
    assert_int_equal(0, rename(bench->files.certificate, used.certificate));
    bench->files = used;
}

static void break_certificate(struct bench *bench)
{
    struct fault fault;

    assert_int_equal(STATUS_OK, file_write_whole(bench->files.certificate, "broken\n", 7, &fault));
}

static void replaced_certificates_are_found_within_a_minute(void **state)
{
    struct bench *bench = *state;

    start(bench);
    break_certificate(bench);
    pass(bench, 59 * NS_PER_S);
    assert_int_equal(0, count_lines(bench, "the old ones stay"));
    for (int i = 0; i < 3; i++)
        pass(bench, 60 * NS_PER_S);
    assert_int_equal(1, count_lines(bench, "error: new certificates cannot be used, the old ones"));
    replace_certificate(bench);
    pass(bench, 60 * NS_PER_S);
    assert_int_equal(1, count_lines(bench, "info: certificates read anew"));
    for (int i = 0; i < 3; i++)
        pass(bench, 60 * NS_PER_S);
    assert_int_equal(1, count_lines(bench, "info: certificates read anew"));
}

static void the_end_of_a_certificate_is_told_once(void **state)
{
    struct bench *bench = *state;
    struct wall until = loop_wall(bench->loop);

    until.ns += 25 * 3600 * NS_PER_S;
    issue(bench, until);
    write_config(bench, "127.0.0.1:0", "");
    start(bench);
    assert_int_equal(0, count_lines(bench, "certificate ends at"));
    for (int i = 0; i < 70; i++)
        pass(bench, 60 * NS_PER_S);
    assert_int_equal(1, count_lines(bench, "warning: this controller's certificate ends at"));
}

static void reload_takes_what_can_change_and_keeps_the_rest(void **state)
{
    struct bench *bench = *state;
    struct fault fault;

    start(bench);
    write_config(bench, "127.0.0.1:1", "limits: {agents: 1}\nlog_level: warning");
    server_reload(bench->server, loop_now(bench->loop));
    assert_int_equal(1, count_lines(bench, "warning: "));
    assert_int_equal(1, count_lines(bench, "listen changes with the next start"));
    assert_int_equal(0, count_lines(bench, "read anew")); /* the level holds already */
    write_config(bench, "127.0.0.1:0", "limits: {agents: -1}");
    server_reload(bench->server, loop_now(bench->loop));
    assert_int_equal(1, count_lines(bench, "error: the old configuration stays: "));
    server_stop(bench->server, loop_now(bench->loop));
    loop_run(bench->loop);
    assert_int_equal(STATUS_OK, server_result(bench->server, &fault));
}

static void a_new_limit_of_connections_holds_at_once(void **state)
{
    struct bench *bench = *state;
    struct agent first, second;

    start(bench);
    connect_agent(bench, bench->authority, &first);
    turn_until(bench->loop, NULL, &first.welcomes, 1);
    write_config(bench, "127.0.0.1:0", "limits: {agents: 1}");
    server_reload(bench->server, loop_now(bench->loop));
    connect_agent(bench, bench->authority, &second);
    turn_until(bench->loop, &second.down, NULL, 0);
    assert_false(second.up);
    assert_false(first.down);
    assert_int_equal(1, count_lines(bench, "127.0.0.1: dropped: refused: 1 connections are"));
    drop_agent(&second);
    drop_agent(&first);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(wrong_files_are_named),
        TEST(it_serves_and_stops),
        TEST(an_address_that_never_comes_is_an_error_in_the_end),
        TEST(an_address_that_is_taken_is_an_error_at_once),
        TEST(a_store_that_is_locked_is_tried_again),
        TEST(an_agent_is_welcomed_and_its_results_are_stored),
        TEST(a_stranger_is_logged_once_in_ten_seconds),
        TEST(replaced_certificates_are_found_within_a_minute),
        TEST(the_end_of_a_certificate_is_told_once),
        TEST(reload_takes_what_can_change_and_keeps_the_rest),
        TEST(a_new_limit_of_connections_holds_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
