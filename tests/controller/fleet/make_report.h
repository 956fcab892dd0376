/* Makes reports that add up, for the tests of everything that joins them. */
#ifndef SONDE_TESTS_MAKE_REPORT_H
#define SONDE_TESTS_MAKE_REPORT_H

#include "proto/wire/mtu_report.h"

/* One phase between two hosts, as both ends have counted it. */
struct made_phase {
    int64_t attempted, refused;       /* forward, by the sender (ENOBUFS) */
    int64_t arrived;                  /* forward, at the echo role in time */
    int64_t echoes, echoes_refused;   /* attempted by the echo role, and of these refused */
    int64_t returned;                 /* at the sender in time */
    int64_t echo_drops, client_drops; /* of the sockets */
    int64_t qdisc_drops;              /* in the sender's host */
};

/* Nothing lost: `count` datagrams there and back. */
struct made_phase made_clean(int64_t count);

/* The report of an end in a case of these parameters, with this measure phase; a warm-up phase of
 * 10 clean datagrams when the parameters have one. The caller's (record_done of report_record). */
void make_report(enum end_role role, const struct case_params *params,
                 const struct made_phase *phase, struct report *out_report);

/* The report of an end of a path MTU session: where this end probes, each flow has found 1500 with
 * the interface's MTU; where the other one does, what came is counted. The caller's (record_done of
 * mtu_report_record). */
void make_mtu_report(enum end_role role, const struct mtu_params *params,
                     struct mtu_report *out_report);

/* The first `families` families; the caller's. */
void make_mtu_plan(size_t families, struct mtu_plan *out_plan);

/* A plan of 2 clients with payload 200 and `windows` windows (1, 2, ...); the caller's. */
void make_fleet_plan(size_t windows, struct plan *out_plan);

#endif
