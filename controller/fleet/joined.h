/* What the stored reports of a case or session say together, as its run's plan has it, and the rows
 * of that. */
#ifndef SONDE_FLEET_JOINED_H
#define SONDE_FLEET_JOINED_H

#include "controller/fleet/reports.h"

/* Joins what there is (one report at least) as a case of this run: an error too when its parameters
 * are not what the plan has at its index. *out_result is the caller's (record_done of
 * case_result_record). */
void joined_case(const struct reports *reports, const struct run_entry *run,
                 struct case_result *out_result);

/* A case that could not be measured, for this reason; holds nothing. */
void joined_error(const struct run_entry *run, int64_t index, const char *reason,
                  struct case_result *out_result);

void joined_case_row(const struct run_entry *run, const struct case_result *result,
                     struct case_row *out_row);

/* Appends session `index` of this run and its cases to what it already has (mtu_join.h), of two,
 * one or no reports. Where one is missing, `reason` explains it, unless it is "". */
void joined_session(const struct reports *reports, const struct run_entry *run, int64_t index,
                    const char *reason, struct run *archive);

/* The row of a direction of the run's only session, number `index` of its plan. */
void joined_mtu_row(const struct run_entry *run, int64_t index, const struct run *archive,
                    enum mtu_direction direction, struct mtu_row *out_row);

#endif
