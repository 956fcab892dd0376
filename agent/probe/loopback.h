/* Both roles on this machine: one case of a loopback run. */
#ifndef SONDE_PROBE_LOOPBACK_H
#define SONDE_PROBE_LOOPBACK_H

#include "agent/probe/phase.h"
#include "proto/wire/result.h"

struct loopback;

/* What lives across the cases of a run: session ids, padding, one moment on both clocks.
 * `wall_now` is that moment's wall time. loopback_free takes it (NULL is allowed). */
struct loopback *loopback_new(struct wall wall_now);
void loopback_free(struct loopback *loopback);

/* Measures one case. *out_result (fresh from record_init of case_result_record) always holds
 * the case: what could not be measured has status "error" and says why. Returns STATUS_INTERRUPTED,
 * and no usable result, when the watch's stop was set meanwhile; else STATUS_OK. */
enum status loopback_case(struct loopback *loopback, const struct case_params *params,
                          const struct phase_watch *watch,
                          struct case_result *out_result) must_check;

/* Descriptors that a case of this plan holds at its peak. */
int64_t loopback_descriptors(const struct case_common *common);

#endif
