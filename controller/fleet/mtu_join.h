/* Two ends of a path MTU session, one account: the cases of an archive. Pure. */
#ifndef SONDE_FLEET_MTU_JOIN_H
#define SONDE_FLEET_MTU_JOIN_H

#include "proto/wire/message.h"

/* Appends the session's cases (struct mtu_case, an index each from cases->count on) and its session
 * (struct mtu_session): forward flows are the sender's report's, reverse ones the echo's. One of
 * the two, or both, may be NULL: then the session's error says whose is missing, and what the other
 * knows is there all the same, its word of the agreement too. Reports that contradict each other or
 * what was asked for (session, parameters) are an error, and nothing of them is taken. A direction
 * that was asked for has one case per flow: those that no report has, or that contradict
 * themselves, are without an answer. The lists are the caller's (record_done). */
void mtu_join(const struct mtu_report *sender, const struct mtu_report *echo,
              const struct mtu_params *params, struct list *cases, struct list *sessions);

/* What was seen from outside while a session failed explains more than that a report is missing:
 * becomes its error, and that of its cases without an answer. */
void mtu_join_blame(struct mtu_session *session, struct mtu_case *cases, size_t count,
                    const char *reason);

/* The row of one direction of the cases that mtu_join appended for a session, without what the
 * store knows (row, previous, run, started, from, to) and without its index. Its smallest path MTU
 * is none when a flow has none. */
void mtu_row_of(const struct mtu_case *cases, size_t count, const struct mtu_session *session,
                enum mtu_direction direction, struct mtu_row *out_row);

#endif
