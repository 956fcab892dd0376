/* What admission asks of each kind of work: a private part of admission. */
#ifndef SONDE_AGENT_ADMISSION_PART_H
#define SONDE_AGENT_ADMISSION_PART_H

#include "agent/admission.h"

/* "admission.KEY allows ALLOWS, ASKED"; STATUS_DENIED. */
enum status admission_denied(struct fault *fault, const char *key, const char *allows,
                             const char *asked);

/* Against max_seconds; `of`: what they are for, behind the number. */
enum status admission_seconds(const struct admission_config *limits, double seconds, const char *of,
                              struct fault *fault) must_check;

/* Bytes of IP and UDP header. */
int64_t admission_headers(enum family family);

/* STATUS_INVALID for an order that makes no sense, whatever is allowed. */
enum status admission_case_sense(const struct case_params *params, struct fault *fault) must_check;
enum status admission_mtu_sense(const struct mtu_params *params, struct fault *fault) must_check;

/* STATUS_DENIED for what is above a limit. Role, target and sessions were looked at. */
enum status admission_case_limits(const struct admission_config *limits,
                                  const struct open_case *asked, struct fault *fault) must_check;
enum status admission_mtu_limits(const struct admission_config *limits,
                                 const struct message_open *open, struct fault *fault) must_check;

#endif
