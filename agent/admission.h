/* What this host lets be asked of it. Pure. */
#ifndef SONDE_AGENT_ADMISSION_H
#define SONDE_AGENT_ADMISSION_H

#include "agent/config.h"
#include "proto/base/addr.h"
#include "proto/wire/message.h"

struct admission;

/* Takes a copy of the configuration, whose CIDRs have been checked. */
struct admission *admission_new(const struct admission_config *config);
void admission_free(struct admission *admission);

/* May this session be opened while `sessions` are? STATUS_DENIED with a fault for the controller:
 * which limit, what it allows, what was asked for ("admission.max_payload allows 1472 bytes, 8192
 * were asked for"). STATUS_INVALID for an order that makes no sense (key length, plan_check's
 * rules for authenticated datagrams). */
enum status admission_check(const struct admission *admission, const struct message_open *open,
                            size_t sessions, struct fault *fault) must_check;

/* May datagrams be sent to, or answered for, this host? */
bool admission_allows_host(const struct admission *admission, const struct addr *host);

#endif
