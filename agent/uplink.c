/* Owns the connection to the controller: when it is made, greeted, given up and made again. Must
 * not know what messages mean beyond hello, welcome and status. */
#include "agent/uplink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/digest.h"
#include "proto/base/log.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/link/backoff.h"

enum uplink_state {
    UPLINK_IDLE,       /* not started */
    UPLINK_PAUSING,    /* until it is tried again */
    UPLINK_CONNECTING, /* until the channel is up */
    UPLINK_GREETING,   /* hello is said, welcome is waited for */
    UPLINK_CONNECTED
};

/* What a controller that reads slowly may have waiting for it. */
enum { OUTBOUND_CAP = 8 << 20 };

struct uplink {
    struct loop *loop;
    const struct controller_config *config;
    struct uplink_events events;
    struct channel *channel;
    channel_peer peer; /* 0: none */
    enum uplink_state state;
    struct loop_timer timer; /* of the state: try, give up, say status */
    struct backoff backoff;
    bool pause_long;
    uint64_t refused;           /* the channel's count before this connection */
    char reason[REASON_SIZE];   /* why the last one failed, logged once */
    uint64_t repeats;           /* of that reason, not logged */
    char controller[NAME_SIZE]; /* the other side's name */
};

/* --- saying ----------------------------------------------------------------------------------- */

static enum status send_message(struct uplink *uplink, const void *message)
{
    struct buf bytes;
    enum status status;

    buf_init(&bytes, LIMIT_FRAME);
    status = message_put(message, &bytes);
    if (status == STATUS_OK)
        status = channel_send(uplink->channel, uplink->peer, bytes.data, bytes.length);
    buf_done(&bytes);
    return status;
}

/* What cannot be sent ends the connection: down follows. */
static void say_hello(struct uplink *uplink)
{
    struct message_hello hello;

    message_init(&hello, MESSAGE_HELLO);
    hello.protocol = PROTOCOL_VERSION;
    text_copy(hello.version, sizeof hello.version, SONDE_VERSION);
    uplink->events.describe(uplink->events.context, &hello, NULL);
    (void)send_message(uplink, &hello);
    message_done(&hello);
}

static void say_status(struct uplink *uplink)
{
    struct message_status status;

    message_init(&status, MESSAGE_STATUS);
    uplink->events.describe(uplink->events.context, NULL, &status);
    (void)send_message(uplink, &status);
    message_done(&status);
}

/* --- trying again ----------------------------------------------------------------------------- */

static void log_reason(struct uplink *uplink, const char *reason)
{
    char again[64] = "";

    if (strcmp(uplink->reason, reason) == 0) {
        uplink->repeats++;
        return;
    }
    if (uplink->repeats > 0)
        snprintf(again, sizeof again, " (the reason before came %llu times more)",
                 (unsigned long long)uplink->repeats);
    log_line(LOG_LEVEL_WARNING, "controller %s: %s; trying again%s", uplink->config->address,
             reason, again);
    text_copy(uplink->reason, sizeof uplink->reason, reason);
    uplink->repeats = 0;
}

static int64_t pause_of(struct uplink *uplink)
{
    uint64_t random;

    digest_random(&random, sizeof random);
    if (channel_counts(uplink->channel).refused_tls > uplink->refused &&
        uplink->backoff.next_ns < UPLINK_REFUSED_NS)
        uplink->backoff.next_ns = UPLINK_REFUSED_NS;
    if (uplink->pause_long)
        uplink->backoff.next_ns = UPLINK_LAST_PAUSE_NS;
    uplink->pause_long = false;
    return backoff_next(&uplink->backoff, random);
}

static void pause_after(struct uplink *uplink, const char *reason, struct mono now)
{
    log_reason(uplink, reason);
    uplink->state = UPLINK_PAUSING;
    uplink->peer = 0;
    loop_timer_set(uplink->loop, &uplink->timer, mono_after(now, pause_of(uplink)));
}

static void connect_now(struct uplink *uplink, struct mono now)
{
    const char *name = uplink->config->server_name;
    const struct channel_target target = {
        .address = uplink->config->address,
        .server_name = name[0] != '\0' ? name : NULL,
        .check_name = name[0] != '\0',
    };
    struct fault fault;

    uplink->refused = channel_counts(uplink->channel).refused_tls;
    uplink->state = UPLINK_CONNECTING;
    if (channel_connect(uplink->channel, &target, &uplink->peer, &fault) != STATUS_OK)
        pause_after(uplink, fault.text, now);
}

static void on_timer(void *context, struct mono now)
{
    struct uplink *uplink = context;

    switch (uplink->state) {
    case UPLINK_PAUSING:
        connect_now(uplink, now);
        break;
    case UPLINK_GREETING:
        channel_close(uplink->channel, uplink->peer, "no welcome came");
        break;
    case UPLINK_CONNECTED:
        loop_timer_set(uplink->loop, &uplink->timer, mono_after(now, UPLINK_STATUS_NS));
        say_status(uplink);
        break;
    case UPLINK_IDLE:
    case UPLINK_CONNECTING: /* the channel has a deadline of its own */
        break;
    }
}

/* --- what the channel tells ------------------------------------------------------------------- */

static void on_up(void *context, channel_peer peer, const struct identity *identity,
                  const char *address)
{
    struct uplink *uplink = context;

    (void)address;
    if (peer != uplink->peer)
        return;
    text_copy(uplink->controller, sizeof uplink->controller, identity->name);
    uplink->state = UPLINK_GREETING;
    loop_timer_set(uplink->loop, &uplink->timer,
                   mono_after(loop_now(uplink->loop), UPLINK_WELCOME_NS));
    say_hello(uplink);
}

static void on_down(void *context, channel_peer peer, bool was_up, const char *reason)
{
    struct uplink *uplink = context;
    bool was_connected = uplink->state == UPLINK_CONNECTED;
    struct mono now = loop_now(uplink->loop);

    (void)was_up;
    if (peer != uplink->peer)
        return;
    pause_after(uplink, reason, now);
    if (was_connected)
        uplink->events.disconnected(uplink->events.context, now);
}

static void on_welcome(struct uplink *uplink, const struct message_welcome *welcome,
                       struct mono now)
{
    char text[96];

    if (welcome->protocol != PROTOCOL_VERSION) {
        snprintf(text, sizeof text, "it speaks version %lld of the protocol, this agent %d",
                 (long long)welcome->protocol, PROTOCOL_VERSION);
        uplink->pause_long = true;
        channel_close(uplink->channel, uplink->peer, text);
        return;
    }
    if (uplink->repeats > 0)
        snprintf(text, sizeof text, ", after %llu more attempts",
                 (unsigned long long)uplink->repeats);
    log_line(LOG_LEVEL_INFO, "connected to controller %s at %s, sonde %s%s", uplink->controller,
             uplink->config->address, welcome->version, uplink->repeats > 0 ? text : "");
    uplink->reason[0] = '\0';
    uplink->repeats = 0;
    backoff_reset(&uplink->backoff);
    uplink->state = UPLINK_CONNECTED;
    loop_timer_set(uplink->loop, &uplink->timer, mono_after(now, UPLINK_STATUS_NS));
    uplink->events.connected(uplink->events.context, now);
}

static void on_message(void *context, channel_peer peer, const void *bytes, size_t length)
{
    const struct message_way way = { .from = ROLE_CONTROLLER, .to = ROLE_AGENT };
    struct uplink *uplink = context;
    union message message;
    struct fault fault;

    if (peer != uplink->peer)
        return;
    if (message_get(bytes, length, way, &message, &fault) != STATUS_OK) {
        channel_close(uplink->channel, peer, fault.text);
        return;
    }
    if ((message.type == MESSAGE_WELCOME) != (uplink->state == UPLINK_GREETING))
        channel_close(uplink->channel, peer,
                      message.type == MESSAGE_WELCOME ? "welcome came twice"
                                                      : "a message came before welcome");
    else if (message.type == MESSAGE_WELCOME)
        on_welcome(uplink, &message.welcome, loop_now(uplink->loop));
    else
        uplink->events.message(uplink->events.context, &message, loop_now(uplink->loop));
    message_done(&message);
}

/* --- all of it -------------------------------------------------------------------------------- */

enum status uplink_new(struct loop *loop, const struct uplink_setup *setup,
                       struct uplink **out_uplink, struct fault *fault)
{
    static const struct channel_rules rules = {
        .roles = 1u << ROLE_CONTROLLER,
        .peers_max = 4, /* one, and those that are still closing */
        .strangers_max = 4,
        .outbound_cap = OUTBOUND_CAP,
        .outbound_all_cap = OUTBOUND_CAP,
    };
    struct uplink *uplink = memory_new(1, sizeof *uplink);
    const struct channel_events events = {
        .context = uplink, .up = on_up, .message = on_message, .down = on_down
    };
    const struct channel_setup channel = { .context = setup->context,
                                           .rules = &rules,
                                           .events = &events };
    enum status status = channel_new(loop, &channel, &uplink->channel, fault);

    if (status != STATUS_OK) {
        free(uplink);
        return status;
    }
    uplink->loop = loop;
    uplink->config = setup->config;
    uplink->events = *setup->events;
    uplink->timer.handler = on_timer;
    uplink->timer.context = uplink;
    backoff_init(&uplink->backoff, UPLINK_FIRST_PAUSE_NS, UPLINK_LAST_PAUSE_NS);
    *out_uplink = uplink;
    return STATUS_OK;
}

void uplink_free(struct uplink *uplink)
{
    if (uplink == NULL)
        return;
    loop_timer_cancel(uplink->loop, &uplink->timer);
    channel_free(uplink->channel);
    free(uplink);
}

void uplink_start(struct uplink *uplink, struct mono now)
{
    connect_now(uplink, now);
}

enum status uplink_send(struct uplink *uplink, const void *message)
{
    if (uplink->state != UPLINK_CONNECTED)
        return STATUS_NOT_FOUND;
    return send_message(uplink, message);
}

void uplink_use(struct uplink *uplink, const struct tls_context *context, struct mono now)
{
    channel_use(uplink->channel, context);
    if (uplink->state == UPLINK_CONNECTING)
        channel_close(uplink->channel, uplink->peer, "there are new certificates");
    if (uplink->state == UPLINK_PAUSING) {
        backoff_reset(&uplink->backoff);
        loop_timer_set(uplink->loop, &uplink->timer, now);
    }
}
