/* How many datagrams a receive buffer holds: the charge for one, the kernel's rule, and what
 * follows from them. Pure arithmetic; calibrate.h measures charge and rule on this host.
 *
 * Linux charges each queued datagram its truesize T and admits by a rule that differs by version
 * (net/ipv4/udp.c:__udp_enqueue_schedule_skb): some admit while charged + T <= B (floor(B/T) fit,
 * one always), some while charged <= B (one more fits). macOS admits by bytes and mbufs; there the
 * charge is granted buffer / datagrams held (kern/uipc_socket2.c:sbspace).
 */
#ifndef SONDE_PROBE_CAPACITY_H
#define SONDE_PROBE_CAPACITY_H

#include <stdint.h>

#include "proto/base/status.h"

struct capacity {
    double charge; /* bytes of buffer per queued datagram */
    int64_t extra; /* datagrams that fit beyond floor(B/T): 0 or 1 */
};

/* From a buffer of `granted` bytes that held `held` datagrams of `charge` each: the rule.
 * STATUS_CORRUPT when no known rule gives that count. */
enum status capacity_learn(int64_t granted, double charge, int64_t held,
                           struct capacity *out_capacity) must_check;

/* Datagrams that a burst can leave in an empty buffer of `granted` bytes. */
int64_t capacity_of(const struct capacity *capacity, int64_t granted);

/* Of a burst of `datagrams`: how many are lost when nothing is read meanwhile. */
int64_t capacity_predict_lost(const struct capacity *capacity, int64_t granted, int64_t datagrams);

/* The smallest granted buffer that holds `datagrams`. */
int64_t capacity_needed(const struct capacity *capacity, int64_t datagrams);

#endif
