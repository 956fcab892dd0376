/* Makes path MTU runs that add up, for the tests of everything that reads them. */
#ifndef SONDE_TEST_MAKE_MTU_RUN_H
#define SONDE_TEST_MAKE_MTU_RUN_H

#include "tests/controller/report/make_run.h"

/* What a run is made of. Start from make_mtu_seed and change what the test is about. */
struct make_mtu_shape {
    struct make_shape base; /* os, host_name, id */
    int families[FAMILY_COUNT];
    size_t family_count;
    struct mtu_common common;
    int64_t local_mtu;
    int64_t path_mtu[MTU_DIRECTION_COUNT]; /* of all flows */
    bool told;                             /* routers say so */
};

/* IPv4 and IPv6, both directions, one flow: 1,400 of 1,500, and 10.9.2.254 says so. */
struct make_mtu_shape make_mtu_seed(void);

/* A run of this shape between "paris.example" (or base.host_name) and "oslo.example"; the caller's
 * (run_done). */
void make_mtu_run(const struct make_mtu_shape *shape, struct run *out_run);

struct mtu_case *make_mtu_at(struct run *run, enum family family, enum mtu_direction direction,
                             int64_t flow);
struct mtu_session *make_mtu_session(struct run *run, enum family family);

/* How a flow's search ended. */
enum make_mtu_end {
    MAKE_MTU_TOLD,    /* a router said so */
    MAKE_MTU_SILENT,  /* larger ones vanish between hops 1 and 2 */
    MAKE_MTU_WHOLE,   /* the interface's MTU passes */
    MAKE_MTU_FLOOR,   /* the floor does not pass */
    MAKE_MTU_NOBODY,  /* nobody answers */
    MAKE_MTU_CUT_OFF, /* some way between */
    MAKE_MTU_NOTHING  /* it did not come to that */
};

/* Gives a flow this answer; its number, port and interface stay. */
void make_mtu_answer(struct mtu_case *of, enum make_mtu_end end, int64_t path_mtu);

/* Gives a flow what 20,000 datagrams up to its path MTU say of loss by size: `below` and `above`
 * parts of a thousand around a threshold; NONE_INT: there is none. */
void make_mtu_sizes(struct mtu_case *of, int64_t threshold, int64_t below, int64_t above);

/* After a change of the answer: its verdict and payload. */
void make_mtu_judge(struct mtu_case *of);

void make_mtu_event(struct list *events, struct mtu_event event);

/* A session that one end could not do: its cases have no answer. */
void make_mtu_error(struct run *run, enum family family, const char *error);

/* Takes the cases from `count` on away, with the sessions that have none left, and marks the run as
 * interrupted. */
void make_mtu_interrupted(struct run *run, size_t count);

#endif
