/* The agent's side of the control channel against a controller's channel in the same loop: real
 * sockets and certificates, deadlines by moving the loop's clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/uplink.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "tests/agent/fake_controller.h"
#include "tests/proto/link/make_certs.h"

#define WAIT_NS (10 * NS_PER_S)

struct stage {
    struct loop *loop;
    struct certs *certs;
    struct authority *ca;
    struct tls_context *agent, *controller;
    struct fake_controller fake;
    struct controller_config config;
    struct uplink *uplink;
    int connected, disconnected, messages; /* what the agent was told */

    char log[8192];
    size_t logged;
};

static void remember(void *context, enum log_level level, const char *line)
{
    struct stage *stage = context;
    int length;

    (void)level;
    length = snprintf(stage->log + stage->logged, sizeof stage->log - stage->logged, "%s\n", line);
    if (length > 0 && (size_t)length < sizeof stage->log - stage->logged)
        stage->logged += (size_t)length;
}

static size_t lines_with(const struct stage *stage, const char *words)
{
    size_t count = 0;

    for (const char *at = stage->log; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

/* --- the agent -------------------------------------------------------------------------------- */

static void on_connected(void *context, struct mono now)
{
    struct stage *stage = context;

    (void)now;
    stage->connected++;
}

static void on_disconnected(void *context, struct mono now)
{
    struct stage *stage = context;

    (void)now;
    stage->disconnected++;
}

static void on_message(void *context, const union message *message, struct mono now)
{
    struct stage *stage = context;

    (void)now;
    assert_int_equal(message->type, MESSAGE_COMMITTED);
    stage->messages++;
}

static void describe(void *context, struct message_hello *out_hello,
                     struct message_status *out_status)
{
    (void)context;
    if (out_hello != NULL)
        text_copy(out_hello->instance, sizeof out_hello->instance, "I");
    if (out_status != NULL)
        out_status->sessions = 2;
}

static struct tls_context *context_of(struct stage *stage, struct authority *ca, const char *uri,
                                      enum identity_role role)
{
    struct tls_context *context;
    struct tls_files files;
    struct fault fault = { "" };

    certs_good(stage->certs, ca, uri, &files);
    if (tls_context_new(&files, role, wall_now(), &context, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return context;
}

static struct tls_context *agent_context(struct stage *stage, struct authority *ca)
{
    return context_of(stage, ca, "spiffe://test/agent/a", ROLE_AGENT);
}

static int set_up(void **state)
{
    struct stage *stage = memory_new(1, sizeof *stage);

    log_to(remember, stage, LOG_LEVEL_INFO);
    assert_int_equal(loop_new(&stage->loop, NULL), STATUS_OK);
    stage->certs = certs_new();
    stage->ca = certs_authority(stage->certs, "ca", CERTS_P256);
    stage->agent = agent_context(stage, stage->ca);
    stage->controller = context_of(stage, stage->ca, "spiffe://test/controller/c", ROLE_CONTROLLER);
    fake_controller_init(&stage->fake, stage->loop, stage->controller);
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    uplink_free(stage->uplink);
    fake_controller_done(&stage->fake);
    tls_context_free(stage->agent);
    tls_context_free(stage->controller);
    loop_free(stage->loop);
    certs_free(stage->certs);
    log_to(NULL, NULL, LOG_LEVEL_INFO);
    free(stage);
    return 0;
}

static void begin(struct stage *stage, const char *host, uint16_t port)
{
    const struct uplink_events events = {
        .context = stage,
        .connected = on_connected,
        .disconnected = on_disconnected,
        .message = on_message,
        .describe = describe,
    };
    const struct uplink_setup setup = { .config = &stage->config,
                                        .context = stage->agent,
                                        .events = &events };

    snprintf(stage->config.address, sizeof stage->config.address, "%s:%u", host, port);
    assert_int_equal(uplink_new(stage->loop, &setup, &stage->uplink, NULL), STATUS_OK);
    uplink_start(stage->uplink, loop_now(stage->loop));
}

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

static void until_logged(struct stage *stage, const char *words)
{
    struct mono start = mono_now();

    while (lines_with(stage, words) == 0) {
        if (mono_between(start, mono_now()) > WAIT_NS)
            fail_msg("'%s' is not logged, but:\n%s", words, stage->log);
        loop_turn(stage->loop, 20 * NS_PER_MS);
    }
}

/* Time for what would happen at once. */
static void turn_a_while(struct stage *stage)
{
    struct mono start = mono_now();

    while (mono_between(start, mono_now()) < 200 * NS_PER_MS)
        loop_turn(stage->loop, 20 * NS_PER_MS);
}

static void begin_connected(struct stage *stage)
{
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until(stage, &stage->connected, 1);
}

/* --- the tests -------------------------------------------------------------------------------- */

static void hello_is_answered_with_welcome(void **state)
{
    struct stage *stage = *state;
    struct message_status status;

    message_init(&status, MESSAGE_STATUS);
    status.sessions = 2;
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    assert_int_equal(uplink_send(stage->uplink, &status), STATUS_NOT_FOUND);
    until(stage, &stage->connected, 1);
    assert_int_equal(stage->fake.hellos, 1);
    assert_string_equal(stage->fake.hello.instance, "I");
    assert_int_equal(uplink_send(stage->uplink, &status), STATUS_OK);
    until(stage, &stage->fake.statuses, 1);
    fake_controller_committed(&stage->fake, "none");
    until(stage, &stage->messages, 1);
    assert_int_equal(lines_with(stage, "connected to controller c at 127.0.0.1"), 1);
    assert_int_equal(stage->disconnected, 0);
}

static void the_controller_may_have_a_name(void **state)
{
    struct stage *stage = *state;

    begin(stage, "localhost", fake_controller_listen(&stage->fake, 0));
    until(stage, &stage->connected, 1);
}

static void its_status_is_told_every_30_seconds(void **state)
{
    struct stage *stage = *state;

    begin_connected(stage);
    for (int i = 0; i < 3; i++) {
        loop_skip(stage->loop, 9 * NS_PER_S);
        turn_a_while(stage);
    }
    assert_int_equal(stage->fake.statuses, 0);
    loop_skip(stage->loop, 4 * NS_PER_S);
    until(stage, &stage->fake.statuses, 1);
    assert_int_equal(stage->disconnected, 0);
}

static void without_welcome_it_tries_again(void **state)
{
    struct stage *stage = *state;

    stage->fake.welcome = 0;
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until(stage, &stage->fake.hellos, 1);
    loop_skip(stage->loop, UPLINK_WELCOME_NS + NS_PER_S);
    until_logged(stage, "no welcome came");
    assert_int_equal(stage->connected + stage->disconnected, 0);
    stage->fake.welcome = PROTOCOL_VERSION;
    loop_skip(stage->loop, UPLINK_FIRST_PAUSE_NS);
    until(stage, &stage->connected, 1);
    assert_int_equal(stage->fake.hellos, 2);
}

static void a_message_before_welcome_ends_it(void **state)
{
    struct stage *stage = *state;

    stage->fake.early = true;
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until_logged(stage, "a message came before welcome");
    assert_int_equal(stage->connected + stage->messages, 0);
}

static void a_second_welcome_ends_it(void **state)
{
    struct stage *stage = *state;

    begin_connected(stage);
    fake_controller_welcome(&stage->fake);
    until(stage, &stage->disconnected, 1);
    assert_int_equal(lines_with(stage, "welcome came twice"), 1);
}

static void what_is_no_message_ends_it(void **state)
{
    struct stage *stage = *state;

    begin_connected(stage);
    assert_int_equal(channel_send(stage->fake.channel, stage->fake.peer, "\x81\xa4type\xa3own", 10),
                     STATUS_OK);
    until(stage, &stage->disconnected, 1);
    assert_int_equal(lines_with(stage, "/type"), 1);
}

static void another_protocol_is_left_alone_for_long(void **state)
{
    struct stage *stage = *state;

    stage->fake.welcome = PROTOCOL_VERSION + 1;
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until_logged(stage, "it speaks version 2 of the protocol, this agent 1");
    turn_a_while(stage);
    assert_non_null(strstr(stage->fake.bye, "it speaks version 2"));
    loop_skip(stage->loop, UPLINK_LAST_PAUSE_NS / 2 - NS_PER_S);
    turn_a_while(stage);
    assert_int_equal(stage->fake.hellos, 1);
    stage->fake.welcome = PROTOCOL_VERSION;
    loop_skip(stage->loop, UPLINK_LAST_PAUSE_NS);
    until(stage, &stage->connected, 1);
}

static void a_lost_connection_is_made_anew(void **state)
{
    struct stage *stage = *state;

    begin_connected(stage);
    channel_close(stage->fake.channel, stage->fake.peer, "for a test");
    until(stage, &stage->disconnected, 1);
    assert_int_equal(lines_with(stage, "for a test; trying again"), 1);
    loop_skip(stage->loop, UPLINK_FIRST_PAUSE_NS);
    until(stage, &stage->connected, 2);
    assert_int_equal(stage->fake.hellos, 2);
    assert_int_equal(stage->disconnected, 1);
}

/* A reason is logged once, however often it comes. */
static void a_controller_that_is_away(void **state)
{
    struct stage *stage = *state;
    uint16_t port = fake_controller_listen(&stage->fake, 0);

    fake_controller_done(&stage->fake);
    turn_a_while(stage); /* ZeroMQ closes the listening socket in a thread of its own */
    begin(stage, "127.0.0.1", port);
    until_logged(stage, "trying again");
    for (int i = 0; i < 10; i++) { /* in small steps, so that no deadline of a connection passes */
        loop_skip(stage->loop, NS_PER_S);
        turn_a_while(stage);
    }
    assert_int_equal(lines_with(stage, "trying again"), 1);
    assert_int_equal(fake_controller_listen(&stage->fake, port), port);
    loop_skip(stage->loop, UPLINK_LAST_PAUSE_NS);
    until(stage, &stage->connected, 1);
    assert_int_equal(lines_with(stage, "more attempts"), 1);
}

static void use_agent(struct stage *stage, struct authority *ca)
{
    struct tls_context *fresh = agent_context(stage, ca);

    if (stage->uplink != NULL)
        uplink_use(stage->uplink, fresh, loop_now(stage->loop));
    tls_context_free(stage->agent);
    stage->agent = fresh;
}

static void a_refused_certificate_waits_longer_until_there_is_a_new_one(void **state)
{
    struct stage *stage = *state;

    use_agent(stage, certs_authority(stage->certs, "other", CERTS_P256));
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until_logged(stage, "trying again");
    use_agent(stage, stage->ca);
    until(stage, &stage->connected, 1);
    assert_int_equal(stage->fake.ups, 1);
}

static void the_pause_after_a_refusal(void **state)
{
    struct stage *stage = *state;
    uint64_t accepted;

    use_agent(stage, certs_authority(stage->certs, "other", CERTS_P256));
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until_logged(stage, "trying again");
    accepted = channel_counts(stage->fake.channel).accepted;
    loop_skip(stage->loop, UPLINK_REFUSED_NS / 2 - NS_PER_S);
    turn_a_while(stage);
    assert_int_equal(channel_counts(stage->fake.channel).accepted, accepted);
    loop_skip(stage->loop, UPLINK_REFUSED_NS);
    turn_a_while(stage);
    assert_int_equal(channel_counts(stage->fake.channel).accepted, accepted + 1);
}

static void new_certificates_leave_a_connection_alone(void **state)
{
    struct stage *stage = *state;

    begin_connected(stage);
    use_agent(stage, stage->ca);
    turn_a_while(stage);
    assert_int_equal(stage->disconnected, 0);
    assert_int_equal(stage->fake.ups, 1);
}

static void the_wrong_role_is_no_controller(void **state)
{
    struct stage *stage = *state;

    tls_context_free(stage->controller);
    stage->controller = context_of(stage, stage->ca, "spiffe://test/agent/b", ROLE_AGENT);
    stage->fake.tls = stage->controller;
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until_logged(stage, "trying again");
    assert_int_equal(stage->connected + stage->fake.hellos, 0);
    assert_true(lines_with(stage, "spiffe://test/agent/b") > 0);
}

static void its_certificate_must_have_the_name_that_is_asked_for(void **state)
{
    struct stage *stage = *state;

    text_copy(stage->config.server_name, sizeof stage->config.server_name, "controller.example");
    begin(stage, "127.0.0.1", fake_controller_listen(&stage->fake, 0));
    until_logged(stage, "trying again");
    assert_int_equal(stage->connected, 0);
}

static void freeing_it_says_bye(void **state)
{
    struct stage *stage = *state;
    struct mono start = mono_now();

    begin_connected(stage);
    uplink_free(stage->uplink);
    stage->uplink = NULL;
    while (channel_peers(stage->fake.channel) > 0 && mono_between(start, mono_now()) < WAIT_NS)
        loop_turn(stage->loop, 20 * NS_PER_MS);
    assert_int_equal(channel_peers(stage->fake.channel), 0);
    assert_int_equal(stage->disconnected, 0);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(hello_is_answered_with_welcome),
        UNIT(the_controller_may_have_a_name),
        UNIT(its_status_is_told_every_30_seconds),
        UNIT(without_welcome_it_tries_again),
        UNIT(a_message_before_welcome_ends_it),
        UNIT(a_second_welcome_ends_it),
        UNIT(what_is_no_message_ends_it),
        UNIT(another_protocol_is_left_alone_for_long),
        UNIT(a_lost_connection_is_made_anew),
        UNIT(a_controller_that_is_away),
        UNIT(a_refused_certificate_waits_longer_until_there_is_a_new_one),
        UNIT(the_pause_after_a_refusal),
        UNIT(new_certificates_leave_a_connection_alone),
        UNIT(the_wrong_role_is_no_controller),
        UNIT(its_certificate_must_have_the_name_that_is_asked_for),
        UNIT(freeing_it_says_bye),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
