/* Two ends of a path MTU session, one account: the cases of an archive. Pure. */
#ifndef SONDE_FLEET_MTU_JOIN_H
#define SONDE_FLEET_MTU_JOIN_H

#include "proto/wire/message.h"

/* Appends the session's cases (struct mtu_case, an index each from cases->count on) and its session
 * (struct mtu_session): forward flows are the sender's report's, reverse ones the echo's. One of
 * the two may be NULL: then the session's error says whose is missing, and what the other knows is
 * there all the same. Reports that contradict each other (session, parameters) are an error too. A
 * direction that was asked for and has no flows gets one case per flow without an answer. The lists
 * are the caller's (record_done). */
void mtu_join(const struct mtu_report *sender, const struct mtu_report *echo,
              const struct mtu_params *params, struct list *cases, struct list *sessions);

/* The row of one direction of the cases that mtu_join appended for a session, without what the
 * store knows (row, previous, run, started, from, to). */
void mtu_row_of(const struct mtu_case *cases, size_t count, const struct mtu_session *session,
                enum mtu_direction direction, struct mtu_row *out_row);

#endif
