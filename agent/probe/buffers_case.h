/* A case of a plan of buffer experiments for whoever waits for it: its name, and how long it takes.
 * Pure. */
#ifndef SONDE_PROBE_BUFFERS_CASE_H
#define SONDE_PROBE_BUFFERS_CASE_H

#include "proto/wire/buffers.h"

enum { BUFFERS_LABEL_SIZE = 160 };

/* `one` is as buffers_plan_case makes it. "hold: 1,000 B, default buffer". */
void buffers_case_label(const struct buffers_plan *plan, const struct experiment_result *one,
                        char out_label[BUFFERS_LABEL_SIZE]);

/* How long it takes at most, in seconds, on a machine that has time for it. */
double buffers_case_seconds(const struct buffers_plan *plan, const struct experiment_result *one);

#endif
