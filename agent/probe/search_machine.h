/* The machine itself, shared by the files that move it: a part of search. */
#ifndef SONDE_PROBE_SEARCH_MACHINE_H
#define SONDE_PROBE_SEARCH_MACHINE_H

#include "agent/probe/search_flight.h"
#include "agent/probe/search_plan.h"
#include "agent/probe/search_timer.h"

struct search {
    struct search_config config; /* floor and ceiling moved out of the gap */
    enum search_state state;
    bool moved;                  /* to another state, or anew to this one */
    struct search_result counts; /* datagrams ... rounds are up to date, the rest is not */
    struct search_table table;
    uint64_t lots;
    struct search_timer timer;
    struct search_flight flight;
    uint32_t first_id; /* of this search: older acknowledgements prove nothing for it */

    struct search_round round;
    uint32_t round_from;   /* its first id */
    bool heard;            /* something was acknowledged in it */
    bool hurry;            /* its answers are not needed any more */
    bool paused;           /* it is over, and the next waits for next_round */
    int silent;            /* rounds in a row without an answer */
    struct mono next_send; /* the pace */
    struct mono next_round;

    int32_t confirm_rank; /* lo when confirming began */
    uint32_t confirm_from;
    int32_t restarts;
    int32_t hints[SEARCH_HURRIES]; /* ranks that ICMP errors named */
    int32_t hint_count;

    int32_t hellos;
    struct mono next_hello;
    int64_t controls_lost_in_row; /* and refused ones */
    struct mono last_heard;

    struct mono next_check, next_raise;
    int32_t raises_left;  /* rounds */
    bool alarmed;         /* an ICMP error says that the answer has changed */
    bool alarm_spent;     /* one was heard since the last check in peace: no further ones */
    int32_t carried_hint; /* for the search that follows an alarm; 0: none */
    bool told, reachable; /* an answer was told; and nothing worse since */
    int64_t told_size;
    struct search_event events[SEARCH_EVENTS];
    size_t event_count;
};

/* Fills a new round after the call; what the old one had not sent is dropped. */
struct search_round *search_round_begin(struct search *search, struct mono now);

/* Whether a new round may begin: the old one is answered or given up (or in a hurry), and the pause
 * after a silent one is over. */
bool search_round_over(struct search *search, struct mono now);

/* True when small datagrams have not been answered for long enough. */
bool search_is_dead(const struct search *search, struct mono now);

void search_change_state(struct search *search, enum search_state state);

/* A search from nothing. */
void search_begin(struct search *search);
void search_begin_hello(struct search *search, struct mono when);

/* The answer is known; or nobody answers. Tells what is new. */
void search_watch_begin(struct search *search, struct mono now);
void search_watch_dead(struct search *search, struct mono now);

/* A turn of SEARCH_WATCHING. */
void search_watch_step(struct search *search, struct mono now);

/* The next deadline of SEARCH_WATCHING beside what is out. */
struct mono search_watch_deadline(const struct search *search);

#endif
