/* Does a run add up? Pure. Every rule of docs/archive.md and docs/measurement.md that one table
 * of ranges cannot say. */
#ifndef SONDE_REPORT_VALIDATE_H
#define SONDE_REPORT_VALIDATE_H

#include "proto/wire/run.h"

/* Checks the schema's name, the matrix (every cell of the plan once per repeat and engine, unless
 * interrupted), each leg's account, lost_to, evidence, lost_echoes, status against what was
 * measured, rtt percentiles against count, burst_capacity, counters' differences. The fault starts
 * with a JSON pointer ("/cases/3/phases/measure/forward/lost: ..."). */
enum status validate_run(const struct run *run, struct fault *fault) must_check;

/* One leg, for whoever makes one. `pointer` stands in front of the fault. */
enum status validate_leg(const struct leg *leg, const char *pointer,
                         struct fault *fault) must_check;

#endif
