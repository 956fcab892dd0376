/* What path_mtu found out, in the form in which it is reported (proto/wire/mtu.h). */
#ifndef SONDE_PROBE_PATH_MTU_REPORT_H
#define SONDE_PROBE_PATH_MTU_REPORT_H

#include "agent/probe/path_mtu.h"

/* The instrument's plan of what was asked for. */
struct path_mtu_plan path_mtu_plan_from(const struct mtu_params *params);

/* One flow's answer. Takes over its list; *out_flow is the caller's (record_done of
 * mtu_flow_record). */
void path_mtu_flow_report(struct path_mtu_flow *flow, size_t index, struct mtu_flow *out_flow);

void path_mtu_event_report(size_t flow, const struct search_event *event, struct mono began,
                           struct mtu_event *out_event);

/* What came to be answered between two readings of path_mtu_answered, the first of which may be all
 * zeros; always present. `largest` is that of the end's whole life, if anything was answered. */
void path_mtu_answered_report(const struct path_mtu_answered *before,
                              const struct path_mtu_answered *after, enum family family,
                              struct mtu_answered *out_answered);

#endif
