/* The stored reports of one case or session: what both ends say of it, of either kind. */
#ifndef SONDE_FLEET_REPORTS_H
#define SONDE_FLEET_REPORTS_H

#include "controller/fleet/store.h"

/* Of a run of this kind: struct report (WORK_CASES) or struct mtu_report (WORK_MTU); NULL where
 * there is none, or none that can be read. */
struct reports {
    enum work_kind kind;
    void *ends[END_COUNT];
    unsigned unreadable; /* set of 1 << enum end_role: a body came that is no report */
};

/* Reads them. The caller frees what was read (reports_done). */
enum status reports_read(struct store *store, const struct run_entry *run, int64_t index,
                         struct reports *out_reports) must_check;
void reports_done(struct reports *reports);

bool reports_none(const struct reports *reports);
bool reports_both(const struct reports *reports);

/* What reports of either kind have. Borrowed from the report. */
const struct host *report_host(enum work_kind kind, const void *report);
const char *report_finished(enum work_kind kind, const void *report);
void report_free(enum work_kind kind, void *report);

#endif
