/* What one end of a case between two hosts knows: its half of the account and what its kernel says
 * meanwhile. An agent makes one per case and role; the controller joins two (account.h,
 * controller/fleet/verdict.h). */
#ifndef SONDE_WIRE_REPORT_H
#define SONDE_WIRE_REPORT_H

#include "proto/wire/result.h"
#include "proto/wire/run.h"

#define REPORT_SCHEMA "sonde.report/1"

enum end_role { END_SENDER, END_ECHO, END_COUNT };
/* Of a case, the first two; of a path MTU session (mtu_report.h), the others. */
enum phase_kind { PHASE_WARMUP, PHASE_MEASURE, PHASE_FORWARD, PHASE_REVERSE, PHASE_KIND_COUNT };
enum clock_sync { CLOCK_UNKNOWN, CLOCK_UNSYNCHRONIZED, CLOCK_SYNCHRONIZED, CLOCK_SYNC_COUNT };

extern const char *const end_role_names[];   /* "sender", "echo" */
extern const char *const phase_kind_names[]; /* "warmup", "measure", "forward", "reverse" */
extern const char *const clock_sync_names[]; /* "unknown", "unsynchronized", "synchronized" */

/* What the kernel says of its wall clock (ntp_adjtime). In a report: of the timestamps in this
 * end's datagrams, which run on from one reading of that clock; max_error_ns has grown with the
 * time since.
 */
struct clock_report {
    enum clock_sync sync;
    int64_t max_error_ns; /* NONE_INT when unknown */
};

/* One end's half of a phase. Of the legs only its side is filled: the sender's end has attempted,
 * refused and sent of forward and what arrived of reverse; the echo's end the other way round.
 * lost and lost_to are 0: one end cannot know them. */
struct half_phase {
    bool present;
    double seconds; /* sender: as struct phase; echo: from begin to end */
    struct leg forward, reverse;
    bool per_socket; /* `drops` is of this end's own sockets; else system-wide */
    int64_t drops;   /* datagrams that were dropped because a receive buffer was full */
    int64_t slip_ns; /* sender, open loop; else NONE_INT */
    int64_t skipped_bursts;
    int64_t stall_ns; /* the longest time that this end's threads were not run; 0 when < 100 ms */
    /* Datagrams of the first window of every client: the sender's end says how many were sent, the
     * echo's how many of them have arrived. */
    int64_t first_burst;
    struct counters counters; /* differences over the phase */
};

struct report_phases {
    struct half_phase warmup; /* null when the case has no warm-up */
    struct half_phase measure;
};

/* Delays of the measure phase as the two hosts' clocks tell them: what the clocks are apart is in
 * them, added to one leg and taken off the other. The sender's end has all four timestamps. */
struct one_way_seen {
    bool present;
    int64_t count; /* of each leg */
    struct delay forward, reverse;
};

struct report {
    char schema[32];
    char id[40];      /* UUID version 7: of this report, and of the result that carries it */
    char run[40];     /* UUID of the run */
    char session[40]; /* UUID of the session */
    int64_t index;    /* of the case in its run, from 0 */
    enum end_role role;
    struct case_params params;
    char error[512]; /* "" when this end measured what it was asked for */
    char local[ADDR_TEXT_SIZE], peer[ADDR_TEXT_SIZE]; /* addresses in use; "" when none yet */
    char started[32], finished[32];                   /* RFC 3339 UTC */
    struct clock_report clock;
    struct grant rcvbuf, sndbuf; /* of this end's sockets */
    struct agreement agreement;
    struct report_phases phases;
    struct rtt rtt_ns;              /* sender's end; else null */
    struct one_way_seen one_way_ns; /* sender's end with samples; else null */
    struct host host;               /* this host: facts, limits, counters around the case */
};

extern const struct record clock_report_record;
extern const struct record half_phase_record;
extern const struct record report_record;

#endif
