/* The account of a leg: what was counted, and where the difference went. Pure.
 *
 *     attempted = sent + refused
 *     sent      = received + late + lost
 *     lost      = the sum of lost_to
 *
 * Whoever sends fills `attempted`, `refused` and `sent`; whoever receives fills `received`, `late`,
 * `duplicates`, `reordered`, `corrupt` and `foreign`; ledger_settle does the rest, once, when both
 * are known.
 */
#ifndef SONDE_PROBE_LEDGER_H
#define SONDE_PROBE_LEDGER_H

#include "agent/probe/arrivals.h"
#include "proto/wire/counters.h"
#include "proto/wire/result.h"

/* A datagram that the kernel did not take, by the errno of its send. */
void ledger_refuse(struct leg *leg, int error);

/* An ECONNREFUSED that surfaced later: one that was counted as sent was refused after all. */
void ledger_refuse_earlier(struct leg *leg);

/* A datagram arrived, in time or after the drain. Foreign when `arrival` is ARRIVAL_BEYOND. */
void ledger_arrive(struct leg *leg, enum arrival arrival, bool late);

/* Adds the counts of another worker or client of the same leg. */
void ledger_merge(struct leg *leg, const struct leg *other);

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

/* Fills lost, lost_to and evidence. `sender` and `receiver` may be the same host's drops.
 * STATUS_CORRUPT, with the leg's numbers in the fault, when more arrived than was sent. */
enum status ledger_settle(struct leg *leg, const struct socket_evidence *socket,
                          struct host_drops *sender, struct host_drops *receiver,
                          struct fault *fault) must_check;

#endif
