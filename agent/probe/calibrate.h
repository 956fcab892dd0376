/* Measures, on this host and now, what a queued datagram is charged and by which rule a receive
 * buffer admits: nothing is looked up by kernel version. */
#ifndef SONDE_PROBE_CALIBRATE_H
#define SONDE_PROBE_CALIBRATE_H

#include "agent/probe/capacity.h"
#include "proto/base/addr.h"

struct calibration {
    struct capacity capacity;
    int64_t dropped; /* datagrams that it made a socket drop: they are in the system's counters */
};

/* For datagrams of `payload` bytes on loopback into a buffer that the kernel granted when
 * `rcvbuf_asked` was asked for. Where sockets count their own drops, one datagram is sent to a
 * socket that does not read (its charge) and then a small buffer is filled (the rule); elsewhere a
 * buffer of that size is filled, and what it held is counted by reading. */
enum status calibrate_capacity(enum family family, size_t payload, int64_t rcvbuf_asked,
                               struct calibration *out_calibration, struct fault *fault) must_check;

#endif
