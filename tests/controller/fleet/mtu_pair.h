/* Both reports of a path MTU session, and what is joined of them. */
#ifndef SONDE_TESTS_MTU_PAIR_H
#define SONDE_TESTS_MTU_PAIR_H

#include "controller/fleet/mtu_join.h"

struct mtu_pair {
    struct mtu_params params;
    struct mtu_report sender, echo;
    struct list cases, sessions;
};

/* Reports that add up, over IPv4 (make_report.h); mtu_pair_done. */
void mtu_pair_make(struct mtu_pair *pair, enum mtu_ways direction, int64_t flows);
void mtu_pair_done(struct mtu_pair *pair);

/* Joins these two, which must give what an archive may have; and forgets what was joined. */
void mtu_pair_join(struct mtu_pair *pair, const struct mtu_report *sender,
                   const struct mtu_report *echo);
void mtu_pair_forget(struct mtu_pair *pair);

/* A flow of a report; a joined case; the session; the row of a direction, which must be one that a
 * message may have. */
struct mtu_flow *mtu_pair_flow(struct mtu_report *report, size_t index);
struct mtu_case *mtu_pair_case(const struct mtu_pair *pair, size_t index);
struct mtu_session *mtu_pair_session(const struct mtu_pair *pair);
struct mtu_row mtu_pair_row(const struct mtu_pair *pair, enum mtu_direction direction);

/* The session watches, which both reports know; and what was noticed meanwhile. */
void mtu_pair_watch(struct mtu_pair *pair);
void mtu_pair_event(struct mtu_report *report, enum mtu_change change, int64_t from, int64_t to);

#endif
