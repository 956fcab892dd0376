/* What one end of a path MTU session knows: the answers of the direction in which it probed, and
 * what came to it in the other. An agent makes one per session and role; the controller joins two
 * (controller/fleet/mtu_join.h). */
#ifndef SONDE_WIRE_MTU_REPORT_H
#define SONDE_WIRE_MTU_REPORT_H

#include "proto/wire/mtu.h"
#include "proto/wire/report.h"

#define MTU_REPORT_SCHEMA "sonde.mtu_report/1"

struct mtu_report {
    char schema[32];
    char id[40], run[40], session[40]; /* UUIDs, as in struct report */
    int64_t index;                     /* of the session in its run */
    enum end_role role;
    struct mtu_params params;
    char error[512]; /* "" when this end did all that it was asked for */
    char local[ADDR_TEXT_SIZE], peer[ADDR_TEXT_SIZE]; /* of flow 0 at the caller's; "" unknown */
    char started[32], finished[32];                   /* RFC 3339 UTC */
    struct agreement agreement;                       /* null without any */
    struct list flows;            /* of struct mtu_flow: of the direction in which this end probes;
                                     empty when it did not come to that */
    struct list events;           /* of struct mtu_event: likewise, while watching */
    struct mtu_answered answered; /* of the other direction; null when it did not come to that */
    struct host host;             /* this host: facts, limits, counters around the session */
};

extern const struct record mtu_report_record;

/* Does the session have this phase (PHASE_FORWARD, PHASE_REVERSE)? And who probes in it. */
bool mtu_has_phase(const struct mtu_common *common, enum phase_kind phase);
enum end_role mtu_prober(enum phase_kind phase);

#endif
