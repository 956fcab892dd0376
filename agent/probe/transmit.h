/* Sending a batch to its end: what is transient is tried again for a while, what the kernel does
 * not take is counted by cause. */
#ifndef SONDE_PROBE_TRANSMIT_H
#define SONDE_PROBE_TRANSMIT_H

#include "agent/probe/engine.h"
#include "proto/wire/result.h"

/* By what, where to, and where it is counted; all borrowed. */
struct transmit_way {
    const struct engine *engine;
    int fd;
    struct leg *leg;
    int64_t *waited_ns; /* what it asked to sleep is added; may be NULL */
};

/* Sends `count` datagrams (at most DATAGRAM_BATCH_MAX) in order; counts each as sent or refused. A
 * full send buffer or queue (EAGAIN, ENOBUFS) is waited for, up to 20 ms a call. An ECONNREFUSED
 * belongs to an earlier datagram and is counted there. Bit i of the result is set when datagram i
 * was refused. */
uint64_t transmit(const struct transmit_way *way, struct datagram *datagrams, size_t count);

#endif
