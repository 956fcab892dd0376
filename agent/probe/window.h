/* What one client has outstanding. Pure: the caller gives the times.
 *
 * A datagram that does not come back keeps its slot for the rest of the phase. In an open loop
 * nothing waits for slots; there the table is only what the round-trip times are taken from, and
 * a datagram that finds it full is sent all the same, without a time.
 */
#ifndef SONDE_PROBE_WINDOW_H
#define SONDE_PROBE_WINDOW_H

#include "agent/probe/seqtable.h"
#include "proto/base/clock.h"

struct window {
    struct seqtable outstanding; /* sequence number -> when sent, mono ns */
    uint64_t next;               /* the next sequence number */
    uint64_t untimed;            /* outstanding without a time */
};

enum window_close {
    WINDOW_CLOSED,   /* was outstanding; its slot is free */
    WINDOW_UNTIMED,  /* was sent, but its time was not kept */
    WINDOW_NOT_OPEN, /* sent, and closed before */
    WINDOW_UNKNOWN   /* never sent */
};

void window_init(struct window *window, size_t slots);
void window_done(struct window *window);

/* The next datagram goes out at `now`; returns its sequence number. */
uint64_t window_open(struct window *window, struct mono now);

/* When `wire` was sent; false when it is not outstanding or its time was not kept. */
bool window_sent_at(const struct window *window, uint32_t wire, struct mono *out_sent_at);

/* The echo of `wire` came; *out_sent_at is when it had been sent (WINDOW_CLOSED only). */
enum window_close window_close(struct window *window, uint32_t wire, struct mono *out_sent_at);

/* Forgets an outstanding datagram without an echo: it was refused, so nothing will come back. */
void window_abandon(struct window *window, uint64_t sequence);

#endif
