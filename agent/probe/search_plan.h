/* What a round asks: a part of search. Pure. */
#ifndef SONDE_PROBE_SEARCH_PLAN_H
#define SONDE_PROBE_SEARCH_PLAN_H

#include "agent/probe/search_table.h"

enum { SEARCH_CONTROL_RANK = -1 }; /* among the ranks of a round: a small datagram */

struct search_round {
    int32_t ranks[SEARCH_ROUND_MAX];
    size_t count, next;
};

/* Draws the order of a round by lot. What the path does in time, periodic or in rows, then cannot
 * look like size: given how many of a round were lost, which ones were is an even chance. */
void search_round_shuffle(struct search_round *round, uint64_t *lots);

/* Each of these fills a round that has nothing in it. */

/* Whether anybody answers. */
void search_plan_hello(struct search_round *round);

/* Sizes between lo and the lowest suspect, and suspects that have not had their tries. */
void search_plan_narrow(struct search_table *table, struct search_round *round);

/* The size behind lo until it is proven not to pass, and lo itself: once, or as often as that when
 * its last try was lost. */
void search_plan_confirm(struct search_table *table, struct search_round *round);

/* Watching: is lo (or, when not even the floor passed, the floor) what it was? `alarmed`: it was
 * lost a moment ago. */
void search_plan_check(const struct search_table *table, bool alarmed, struct search_round *round);

/* Watching: does something larger than lo pass? */
void search_plan_raise(struct search_table *table, struct search_round *round);

#endif
