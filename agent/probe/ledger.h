/* The account of a leg: what was counted, and where the difference went. Pure.
 *
 *     attempted = sent + refused
 *     sent      = received + late + lost
 *     lost      = the sum of lost_to
 *
 * Whoever sends fills `attempted`, `refused` and `sent`; whoever receives fills `received`, `late`,
 * `duplicates`, `reordered`, `corrupt` and `foreign`; account_settle (proto/wire/account.h) does
 * the rest, once, when both are known.
 */
#ifndef SONDE_PROBE_LEDGER_H
#define SONDE_PROBE_LEDGER_H

#include "agent/probe/arrivals.h"
#include "proto/wire/account.h"
#include "proto/wire/result.h"

/* A datagram that the kernel did not take, by the errno of its send. */
void ledger_refuse(struct leg *leg, int error);

/* An ECONNREFUSED that surfaced later: one that was counted as sent was refused after all. */
void ledger_refuse_earlier(struct leg *leg);

/* A datagram arrived, in time or after the drain. Foreign when `arrival` is ARRIVAL_BEYOND. */
void ledger_arrive(struct leg *leg, enum arrival arrival, bool late);

/* Adds the counts of another worker or client of the same leg. */
void ledger_merge(struct leg *leg, const struct leg *other);

#endif
