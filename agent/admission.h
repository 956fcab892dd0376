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
 * rules for authenticated datagrams, mtu_plan_check's).
 *
 * Of a path MTU session, in which both ends may probe and answer: who calls or probes needs
 * allow_sender, who listens or answers probes allow_echo. max_payload is about who probes: a
 * ceiling above it is refused, without one nothing larger is sent. max_clients counts flows,
 * max_rate the smallest datagrams that make up the pace, max_seconds each direction. */
enum status admission_check(const struct admission *admission, const struct message_open *open,
                            size_t sessions, struct fault *fault) must_check;

/* May datagrams be sent to, or answered for, this host? */
bool admission_allows_host(const struct admission *admission, const struct addr *host);

/* What a path MTU session is held to while it runs: the largest IP packet that it may send (0: the
 * protocol's own limit is lower), how long a phase may be, what buffers its sockets may ask for. */
int64_t admission_max_packet(const struct admission *admission, enum family family);
double admission_max_seconds(const struct admission *admission);
int64_t admission_socket_buffer(const struct admission *admission, int64_t wanted);

#endif
