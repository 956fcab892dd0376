/* Does the answer of a flow add up? What the numbers say together, beyond the ranges of their
 * tables: for whoever takes an answer from outside, an agent's report or an archive. Pure.
 *
 * Answers have passed record_check. A fault begins with the place within the object ("/path_mtu:
 * ..."). */
#ifndef SONDE_WIRE_MTU_CHECK_H
#define SONDE_WIRE_MTU_CHECK_H

#include "proto/wire/mtu.h"

/* STATUS_CORRUPT unless: floor <= path_mtu < next_size, within what was asked for; what is found,
 * confirmed and limited agrees with these; no part is larger than its whole; an ICMP message that
 * was accepted is one that may be (68 bytes or more, 1,280 of IPv6); the counts of loss_by_size add
 * up to those of size_effect, and the threshold is between its bounds. */
enum status mtu_flow_check(const struct mtu_params *params, const struct mtu_flow *flow,
                           struct fault *fault) must_check;

/* What watching noticed in one direction: of flows that there are, each in order of time, and
 * nothing where nobody watched. The fault begins with "/N/...". */
enum status mtu_events_check(const struct mtu_params *params, const struct list *events,
                             struct fault *fault) must_check;

#endif
