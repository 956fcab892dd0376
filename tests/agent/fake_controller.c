/* Owns the fake controller. */
#include "tests/agent/fake_controller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"

void fake_controller_init(struct fake_controller *fake, struct loop *loop,
                          const struct tls_context *tls)
{
    *fake = (struct fake_controller){ .loop = loop, .tls = tls, .welcome = PROTOCOL_VERSION };
}

void fake_controller_done(struct fake_controller *fake)
{
    channel_free(fake->channel);
    fake->channel = NULL;
}

void fake_controller_send(struct fake_controller *fake, const void *message)
{
    struct buf bytes;

    buf_init(&bytes, LIMIT_FRAME);
    assert_int_equal(message_put(message, &bytes), STATUS_OK);
    assert_int_equal(channel_send(fake->channel, fake->peer, bytes.data, bytes.length), STATUS_OK);
    buf_done(&bytes);
}

void fake_controller_welcome(struct fake_controller *fake)
{
    struct message_welcome welcome;

    message_init(&welcome, MESSAGE_WELCOME);
    welcome.protocol = fake->welcome;
    text_copy(welcome.version, sizeof welcome.version, "9.9");
    fake_controller_send(fake, &welcome);
}

void fake_controller_committed(struct fake_controller *fake, const char *id)
{
    const struct field field = { .type = FIELD_LIST, .of = FIELD_WORD, .size = 1 };
    struct message_committed committed;
    char **word;

    message_init(&committed, MESSAGE_COMMITTED);
    word = list_append(&committed.ids, &field);
    *word = strdup(id);
    fake_controller_send(fake, &committed);
    message_done(&committed);
}

static void on_up(void *context, channel_peer peer, const struct identity *identity,
                  const char *address)
{
    struct fake_controller *fake = context;

    assert_int_equal(identity->role, ROLE_AGENT);
    assert_string_not_equal(address, "");
    fake->ups++;
    fake->peer = peer;
}

static void on_hello(struct fake_controller *fake, const struct message_hello *hello)
{
    fake->hellos++;
    assert_int_equal(hello->protocol, PROTOCOL_VERSION);
    assert_string_equal(hello->version, SONDE_VERSION);
    fake->hello = *hello;
    fake->addresses = hello->addresses.count;
    fake->hello.addresses = (struct list){ .items = NULL };
    if (fake->early)
        fake_controller_committed(fake, "none");
    else if (fake->welcome != 0)
        fake_controller_welcome(fake);
}

static void on_message(void *context, channel_peer peer, const void *bytes, size_t length)
{
    const struct message_way way = { .from = ROLE_AGENT, .to = ROLE_CONTROLLER };
    struct fake_controller *fake = context;
    union message message;
    struct fault fault;

    assert_true(peer == fake->peer);
    if (message_get(bytes, length, way, &message, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    if (message.type == MESSAGE_HELLO)
        on_hello(fake, &message.hello);
    else if (message.type == MESSAGE_STATUS)
        fake->statuses++;
    else if (fake->message != NULL)
        fake->message(fake->context, &message);
    message_done(&message);
}

static void on_down(void *context, channel_peer peer, bool was_up, const char *reason)
{
    struct fake_controller *fake = context;

    if (was_up && peer == fake->peer)
        text_copy(fake->bye, sizeof fake->bye, reason);
}

uint16_t fake_controller_listen(struct fake_controller *fake, uint16_t port)
{
    static const struct channel_rules rules = {
        .roles = 1u << ROLE_AGENT,
        .peers_max = 8,
        .strangers_max = 8,
        .outbound_cap = 2 * LIMIT_FRAME,
        .outbound_all_cap = 4 * LIMIT_FRAME,
    };
    const struct channel_events events = {
        .context = fake, .up = on_up, .message = on_message, .down = on_down
    };
    const struct channel_setup setup = { .context = fake->tls, .rules = &rules, .events = &events };
    char address[64];
    struct fault fault = { "" };

    assert_int_equal(channel_new(fake->loop, &setup, &fake->channel, &fault), STATUS_OK);
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    if (channel_listen(fake->channel, address, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return channel_port(fake->channel);
}
