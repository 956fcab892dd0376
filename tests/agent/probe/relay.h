/* A relay on a thread: what one client sends to it goes on to a target and back, by a rule that may
 * delay, double, drop, alter or cut each datagram. */
#ifndef SONDE_TEST_PROBE_RELAY_H
#define SONDE_TEST_PROBE_RELAY_H

#include <stdatomic.h>

#include "proto/base/addr.h"
#include "proto/base/clock.h"

/* A datagram that came to the relay. */
struct relay_item {
    bool forward;  /* from the client */
    size_t number; /* of its direction and size, from 0 */
    size_t length;
};

/* What becomes of it. */
struct relay_fate {
    int copies; /* 0: dropped */
    int64_t delay_ns;
    bool hold; /* until relay_release */
    bool alter;
    size_t alter_at; /* this byte is changed */
    size_t cut;      /* by so many bytes */
};

typedef struct relay_fate relay_rule(const struct relay_item *item);

struct relay;

/* Starts it; *out_addr is where the client sends to. Datagrams of 112 bytes (hellos) pass as they
 * are; all others by the rule. */
struct relay *relay_start(const struct addr *target, relay_rule *rule, struct addr *out_addr);

/* Lets what was held go, now. */
void relay_release(struct relay *relay);

void relay_stop(struct relay *relay);

#endif
