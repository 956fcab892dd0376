/* A controller's side of the control channel for tests of the agent: takes connections, answers
 * hello, counts, and says what it is told to. */
#ifndef SONDE_TESTS_FAKE_CONTROLLER_H
#define SONDE_TESTS_FAKE_CONTROLLER_H

#include "proto/link/channel.h"
#include "proto/wire/message.h"

struct fake_controller {
    struct loop *loop;
    const struct tls_context *tls;
    struct channel *channel; /* NULL: it is away */
    channel_peer peer;       /* the agent that was up last */
    int ups, hellos, statuses;
    int64_t welcome;            /* the protocol that it answers hello with; 0: it does not */
    bool early;                 /* it answers hello with something else */
    struct message_hello hello; /* the last one, without its list */
    size_t addresses;           /* of that list */
    char bye[REASON_SIZE];      /* why the last agent went */
    /* Everything that is neither hello nor status; borrowed during the call. */
    void (*message)(void *context, const union message *message);
    void *context;
};

/* Zeroed but for loop and tls, it welcomes with PROTOCOL_VERSION from now on. */
void fake_controller_init(struct fake_controller *fake, struct loop *loop,
                          const struct tls_context *tls);
void fake_controller_done(struct fake_controller *fake);

/* Listens on 127.0.0.1; port 0: any. The port. */
uint16_t fake_controller_listen(struct fake_controller *fake, uint16_t port);

/* To the agent that was up last. */
void fake_controller_send(struct fake_controller *fake, const void *message);
void fake_controller_welcome(struct fake_controller *fake);
void fake_controller_committed(struct fake_controller *fake, const char *id);

#endif
