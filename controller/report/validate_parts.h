/* The parts of validate_run, one file each. Private to validate*.c.
 *
 * `at` is the JSON pointer of what is checked; each fault starts with it. All of them trust that
 * record_check has passed: ranges and enums are right, what remains is what numbers say together.
 */
#ifndef SONDE_REPORT_VALIDATE_PARTS_H
#define SONDE_REPORT_VALIDATE_PARTS_H

#include <stdbool.h>

#include "proto/wire/run.h"

enum { POINTER_SIZE = 160 };

/* Adds `value` (not negative) to *total; false when 64 bits do not hold the sum. */
bool sum_add(int64_t *total, int64_t value);

/* The host at /hosts/N: counters' differences, what was reset, what is unavailable. */
enum status validate_host(const struct host *host, const char *at, struct fault *fault) must_check;

/* Counts of a phase: none is negative. */
enum status validate_counters(const struct counters *counters, const char *at,
                              struct fault *fault) must_check;

/* One case beside its parameters: status, sockets, first burst, phases, rtt. */
enum status validate_case(const struct run *run, const struct case_result *result, const char *at,
                          struct fault *fault) must_check;

/* Percentiles and histogram against count. */
enum status validate_rtt(const struct rtt *rtt, const char *at, struct fault *fault) must_check;

/* One-way delays of a case: between two hosts only, in order, and no leg that is smaller than the
 * clocks' error; a leg is null if and only if the case says why. */
enum status validate_one_way(enum run_kind kind, const struct one_way *one_way, const char *at,
                             struct fault *fault) must_check;

/* Every cell of the plan once per repeat and engine, in the plan's order, with its parameters;
 * cells may be missing from an interrupted run only. */
enum status validate_matrix(const struct run *run, struct fault *fault) must_check;

/* The cases of a run of kind "buffers": each stands at its place in the plan, with the plan's
 * parameters, and its numbers add up; cases may be missing from an interrupted run only. */
enum status validate_buffers(const struct run *run, struct fault *fault) must_check;

/* One of them alone, beside its plan. */
enum status validate_experiment(const struct buffers_plan *plan,
                                const struct experiment_result *result, const char *at,
                                struct fault *fault) must_check;

/* The sessions and cases of a run of kind "mtu": each in the plan's order, with the verdict that
 * its numbers have; some may be missing from an interrupted run only. */
enum status validate_mtu(const struct run *run, struct fault *fault) must_check;

#endif
