/* A run of the store as an archive's record, kind "pair" (docs/archive.md). */
#ifndef SONDE_FLEET_ARCHIVE_OF_H
#define SONDE_FLEET_ARCHIVE_OF_H

#include "controller/fleet/store.h"
#include "proto/wire/run.h"

/* Reads the run's reports and joins them. Tool is filled with `version`; the caller frees *out_run
 * (run_done). STATUS_NOT_FOUND when no case of it was measured. */
enum status archive_of_run(struct store *store, const struct run_entry *entry, struct run *out_run,
                           struct fault *fault) must_check;

/* The row of a joined case. */
void archive_of_case(const struct run_entry *entry, const struct case_result *result,
                     struct case_row *out_row);

#endif
