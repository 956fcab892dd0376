/* What was sent lately, by id: a part of search. Pure. */
#ifndef SONDE_PROBE_SEARCH_FLIGHT_H
#define SONDE_PROBE_SEARCH_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/clock.h"

enum { SEARCH_FLIGHT_SLOTS = 512 }; /* a power of two, well above what one search has out */

enum search_fate {
    SEARCH_FATE_NONE,
    SEARCH_FATE_OUT,
    SEARCH_FATE_ACKED,
    SEARCH_FATE_LOST, /* given up; may still be acknowledged */
    SEARCH_FATE_VOID  /* was not sent */
};

struct search_slot {
    uint32_t id;
    int32_t rank;
    enum search_fate fate;
    struct mono sent;
};

struct search_flight {
    uint32_t next;   /* the next id */
    uint32_t oldest; /* nothing before it is out */
    struct search_slot slots[SEARCH_FLIGHT_SLOTS];
};

/* No room: the slot of the next id is out. */
bool search_flight_full(const struct search_flight *flight);

/* One goes out; returns its id. There is room (asserted). */
uint32_t search_flight_send(struct search_flight *flight, int32_t rank, struct mono now);

/* The datagram of an id; NULL: never sent, or too long ago. */
struct search_slot *search_flight_find(struct search_flight *flight, uint32_t id);

/* The oldest one that is out, NULL: none. */
const struct search_slot *search_flight_oldest(const struct search_flight *flight);

/* Gives up the oldest one that is out, if it was sent `wait_ns` ago or earlier; NULL: none was. */
const struct search_slot *search_flight_expire(struct search_flight *flight, struct mono now,
                                               int64_t wait_ns);

/* Whether one with this id or a later one is out. */
bool search_flight_out(const struct search_flight *flight, uint32_t from);

#endif
