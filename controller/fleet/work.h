/* What a run measures, whatever its kind: cases of a plan, or sessions of path MTU, one per family.
 * Where the kinds differ on a run's way from the order to its rows, the difference is told here.
 * "Case" stands for a session too. Pure.
 */
#ifndef SONDE_FLEET_WORK_H
#define SONDE_FLEET_WORK_H

#include "proto/wire/message.h"

struct work {
    enum work_kind kind;
    struct plan plan;         /* of WORK_CASES */
    struct mtu_plan mtu_plan; /* of WORK_MTU */
};

extern const struct record work_record;

/* Takes over the plan of a message that has been checked: nothing is left there. */
void work_take(struct message_run *order, struct work *out_work);
void work_copy(const struct work *work, struct work *out_work);

/* The name of a result that is a report of this kind of work. */
extern const char *const work_report_names[]; /* "report", "mtu_report" */
bool work_is_report(const char *result_kind);

/* Cases in all; the rows that come of them (two per session, one for each direction); and the case
 * that a row is of. */
size_t work_count(const struct work *work);
size_t work_rows(const struct work *work);
int64_t work_case_of(enum work_kind kind, int64_t row);

enum family work_family(const struct work *work, int64_t index);

/* Does it disturb, or is it disturbed by, whatever else its hosts measure? Bursts of a closed loop
 * do, and loss by size would measure somebody else's. A search of path MTU sends little, at its own
 * pace, and asks again what was lost. */
bool work_is_exclusive(const struct work *work);

/* Would what refuses one case refuse the next? Cases of a plan differ in sizes only. Sessions
 * differ in family: a host may have one and not the other. */
bool work_is_alike(const struct work *work);

/* Is what one end knows worth a row, when the other one's report never comes? Of a case both halves
 * are needed; a path MTU is known at the end that probed. */
bool work_has_halves(const struct work *work);

/* --- on its way through two hosts ------------------------------------------------------------ */

enum {
    WORK_PHASES_MAX = 2,
    WORK_DRAIN_S = 30 /* the longest drain that a case's sender may need */
};

struct work_phase {
    enum phase_kind kind;
    enum end_role prober; /* the end that sends; the other one answers */
    double seconds;       /* how long it may take until it says ended */
};

/* The phases of a case, in order: 1 or 2. */
size_t work_phases(const struct work *work, int64_t index,
                   struct work_phase out_phases[WORK_PHASES_MAX]);

/* How long a host listens first. */
double work_idle_s(const struct work *work, int64_t index);

/* What an order to open says of the case. */
void work_open(const struct work *work, int64_t index, struct message_open *open);

#endif
