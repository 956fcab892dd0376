/* Which datagrams of one flow have arrived: first time, again, or behind a later one. Pure.
 *
 * Remembers only what is missing below the highest number seen, which in a closed loop is at most
 * the window, however long a phase is. What went missing beyond the cap is forgotten and counted;
 * if it comes after all, it is taken for new once for each that was forgotten.
 */
#ifndef SONDE_PROBE_ARRIVALS_H
#define SONDE_PROBE_ARRIVALS_H

#include "agent/probe/seqtable.h"

enum arrival {
    ARRIVAL_NEW,       /* in order */
    ARRIVAL_REORDERED, /* new, behind a later one (RFC 4737 section 3.3) */
    ARRIVAL_DUPLICATE,
    ARRIVAL_BEYOND /* more than 2^24 ahead, so not of this flow: nothing was changed */
};

struct arrivals {
    uint64_t next; /* highest number seen, plus 1: RFC 4737's NextExp */
    struct seqtable missing;
    uint64_t forgotten;
};

/* `window`: datagrams that may be under way at once. */
void arrivals_init(struct arrivals *arrivals, size_t window);
void arrivals_done(struct arrivals *arrivals);

/* Takes a number from the wire and says what its arrival is. */
enum arrival arrivals_add(struct arrivals *arrivals, uint32_t wire);

/* Of the first `count` numbers (at most a window), how many have not arrived. */
uint64_t arrivals_missing_of_first(const struct arrivals *arrivals, uint64_t count);

#endif
