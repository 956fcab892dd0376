/* The agent's connection to its controller: connects, says hello, takes welcome, tells its status,
 * and tries again with growing pauses when it is gone. */
#ifndef SONDE_AGENT_UPLINK_H
#define SONDE_AGENT_UPLINK_H

#include "agent/config.h"
#include "proto/link/channel.h"
#include "proto/wire/message.h"

#define UPLINK_FIRST_PAUSE_NS NS_PER_S
#define UPLINK_LAST_PAUSE_NS  (60 * NS_PER_S)
#define UPLINK_REFUSED_NS     (10 * NS_PER_S) /* the first pause after one side was refused */
#define UPLINK_WELCOME_NS     (10 * NS_PER_S) /* after up, how long welcome is waited for */
#define UPLINK_STATUS_NS      (30 * NS_PER_S)

struct uplink_events {
    void *context;
    void (*connected)(void *context, struct mono now); /* welcome came */
    void (*disconnected)(void *context, struct mono now);
    void (*message)(void *context, const union message *message, struct mono now);
    /* Fills what hello or status says beyond its constants; the other is NULL. */
    void (*describe)(void *context, struct message_hello *out_hello,
                     struct message_status *out_status);
};

struct uplink;

/* What it is made from. The events are copied, the rest is borrowed for its life (the context until
 * uplink_use). */
struct uplink_setup {
    const struct controller_config *config;
    const struct tls_context *context;
    const struct uplink_events *events;
};

enum status uplink_new(struct loop *loop, const struct uplink_setup *setup,
                       struct uplink **out_uplink, struct fault *fault) must_check;
/* Says bye; no event is called. NULL is allowed. */
void uplink_free(struct uplink *uplink);

void uplink_start(struct uplink *uplink, struct mono now);

/* Any struct message_*. STATUS_NOT_FOUND while there is no welcome; STATUS_TOO_LARGE when the
 * controller does not read.
 */
enum status uplink_send(struct uplink *uplink, const void *message) must_check;

/* New certificates: the next connection uses them, and is made at once when there is none. One that
 * stands goes on until its certificate ends. */
void uplink_use(struct uplink *uplink, const struct tls_context *context, struct mono now);

#endif
