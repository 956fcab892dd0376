/* The account of a leg once both sides of it are known: what was lost, and where. Pure.
 *
 *     sent = received + late + lost      lost = the sum of lost_to      (docs/measurement.md)
 */
#ifndef SONDE_WIRE_ACCOUNT_H
#define SONDE_WIRE_ACCOUNT_H

#include "proto/wire/counters.h"
#include "proto/wire/result.h"

/* What hosts' counters say was dropped in an interval, outside of any socket. Each datagram is
 * taken once: settling a leg takes what it uses. */
struct host_drops {
    int64_t sending;   /* qdisc, interface and fragmentation on the way out */
    int64_t receiving; /* softnet, interface, IP and reassembly on the way in */
};

/* From a difference of counters; what is unavailable counts as 0. */
struct host_drops host_drops_of(const struct counters *delta);

/* What the receiving side knows of drops in its socket. */
struct socket_evidence {
    bool per_socket; /* `drops` is this socket's own count, else system-wide and an upper bound */
    int64_t drops;
};

/* What is left when every known place has been given its part: within one host nobody knows; on
 * the way between two hosts that both count, it was the network. */
enum account_rest { REST_UNATTRIBUTED, REST_NETWORK };

/* What is known of a leg beyond its counts. */
struct account_evidence {
    struct socket_evidence socket;        /* of the receiving side */
    struct host_drops *sender, *receiver; /* may be the same host's */
    enum account_rest rest;
};

/* Fills lost, lost_to and evidence; takes what it uses from the hosts' drops.
 * STATUS_CORRUPT, with the leg's numbers in the fault, when more arrived than was sent. */
enum status account_settle(struct leg *leg, const struct account_evidence *evidence,
                           struct fault *fault) must_check;

#endif
