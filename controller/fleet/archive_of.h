/* A run of the store as an archive's record, kind "pair" or "mtu" (docs/archive.md). */
#ifndef SONDE_FLEET_ARCHIVE_OF_H
#define SONDE_FLEET_ARCHIVE_OF_H

#include "controller/fleet/store.h"
#include "proto/wire/run.h"

/* Reads the run's reports and joins them. Its tool is this program; a case or session without
 * reports has the error that the store has for it; a host of which there is no report has its
 * agent's name and nothing else. The caller frees *out_run (run_done). STATUS_NOT_FOUND when
 * nothing of it was measured. */
enum status archive_of_run(struct store *store, const struct run_entry *entry, struct run *out_run,
                           struct fault *fault) must_check;

#endif
