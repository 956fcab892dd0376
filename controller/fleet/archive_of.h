/* A run of the store as an archive's record, kind "pair" (docs/archive.md). */
#ifndef SONDE_FLEET_ARCHIVE_OF_H
#define SONDE_FLEET_ARCHIVE_OF_H

#include "controller/fleet/store.h"
#include "proto/wire/run.h"

/* Reads the run's reports and joins them. Its tool is this program; a case without reports has the
 * error that the store has for it; a host of which there is no report has its agent's name and
 * nothing else. The caller frees *out_run (run_done). STATUS_NOT_FOUND when no case of it was
 * measured. */
enum status archive_of_run(struct store *store, const struct run_entry *entry, struct run *out_run,
                           struct fault *fault) must_check;

/* The stored reports of a case; NULL where there is none, or none that can be read. */
struct case_reports {
    struct report *ends[END_COUNT];
};

/* Reads them. A body that is no report is told apart in *out_unreadable, as a set of
 * 1 << enum end_role; it counts as none. The caller frees what was read (case_reports_done). */
enum status case_reports_read(struct store *store, const char *run, int64_t index,
                              struct case_reports *out_reports,
                              unsigned *out_unreadable) must_check;
void case_reports_done(struct case_reports *reports);

/* Joins what there is (one at least) as a case of this run: an error too when its parameters are
 * not what the plan has at its index. *out_result is the caller's (record_done of
 * case_result_record). */
void case_reports_join(const struct case_reports *reports, const struct run_entry *entry,
                       struct case_result *out_result);

/* The row of a joined case. */
void archive_of_case(const struct run_entry *entry, const struct case_result *result,
                     struct case_row *out_row);

#endif
