/* Owns the answer to "may this session be opened here?": an order's own sense, then each limit of
 * the configuration. Opens nothing and keeps no count of sessions. */
#include "agent/admission.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/base/memory.h"
#include "proto/wire/stamp.h"

/* The last of a session's four SSIDs must exist too. */
enum { SSID_MAX = UINT16_MAX - 3 };

struct admission {
    struct admission_config limits; /* without its list */
    struct addr_net *peers;
    size_t peer_count; /* 0: any host */
};

struct admission *admission_new(const struct admission_config *config)
{
    struct admission *admission = memory_new(1, sizeof *admission);
    char *const *ranges = config->peers.items;

    admission->limits = *config;
    admission->limits.peers = (struct list){ .items = NULL };
    admission->peer_count = config->peers.count;
    if (admission->peer_count > 0)
        admission->peers = memory_new(admission->peer_count, sizeof *admission->peers);
    for (size_t i = 0; i < admission->peer_count; i++) {
        enum status status = addr_net_parse(ranges[i], &admission->peers[i], NULL);

        assert(status == STATUS_OK);
    }
    return admission;
}

void admission_free(struct admission *admission)
{
    if (admission == NULL)
        return;
    free(admission->peers);
    free(admission);
}

bool admission_allows_host(const struct admission *admission, const struct addr *host)
{
    for (size_t i = 0; i < admission->peer_count; i++) {
        if (addr_net_contains(&admission->peers[i], host))
            return true;
    }
    return admission->peer_count == 0;
}

/* --- does the order make sense? --- */

static enum status check_payload(const struct case_params *params, struct fault *fault)
{
    int64_t largest = params->common.family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;

    if (params->payload >= 0 && params->payload <= largest &&
        stamp_size_ok(STAMP_AUTHENTICATED, (size_t)params->payload))
        return STATUS_OK;
    return fault_set(fault, STATUS_INVALID,
                     "payload: %lld is not allowed between hosts: %d (a bare authenticated STAMP "
                     "datagram), or %d to %lld (%s)",
                     (long long)params->payload, STAMP_AUTHENTICATED_SIZE, STAMP_HEAD_MAX,
                     (long long)largest, family_name(params->common.family));
}

/* One host's address: what is sent to a group or to everybody would be answered by many. */
static const char *no_host(const struct addr *addr)
{
    const struct in6_addr *v6 = &addr->socket.v6.sin6_addr;
    uint32_t v4;

    if (addr_family(addr) == FAMILY_IPV4) {
        v4 = ntohl(addr->socket.v4.sin_addr.s_addr);
        return v4 >> 24 == 0          ? "no host has this address"
               : v4 == UINT32_MAX     ? "it is every host's address"
               : v4 >> 28 == 0xe      ? "it is a group's address"
               : addr_port(addr) == 0 ? "its port is 0"
                                      : NULL;
    }
    return IN6_IS_ADDR_UNSPECIFIED(v6) ? "no host has this address"
           : IN6_IS_ADDR_MULTICAST(v6) ? "it is a group's address"
           : IN6_IS_ADDR_LINKLOCAL(v6) && addr->socket.v6.sin6_scope_id == 0
               ? "a link-local address needs a zone, as in [fe80::1%eth0]:7870"
           : addr_port(addr) == 0 ? "its port is 0"
                                  : NULL;
}

static enum status check_target(const struct message_open *open, struct addr *out_target,
                                struct fault *fault)
{
    const char *why = NULL;
    struct addr target;
    struct fault wrong;

    if (open->role != END_SENDER) {
        if (open->target[0] == '\0')
            return STATUS_OK;
        return fault_set(fault, STATUS_INVALID,
                         "target: \"%s\" is not allowed: the echo role has "
                         "none",
                         open->target);
    }
    if (addr_parse(open->target, &target, &wrong) != STATUS_OK)
        return fault_set(fault, STATUS_INVALID, "target: %s", wrong.text);
    why = no_host(&target);
    if (why == NULL && addr_family(&target) != open->of_case.params.common.family)
        why = open->of_case.params.common.family == FAMILY_IPV4 ? "the case asks for ipv4"
                                                        : "the case asks for ipv6";
    if (why != NULL)
        return fault_set(fault, STATUS_INVALID, "target: %s is not allowed: %s", open->target, why);
    *out_target = target;
    return STATUS_OK;
}

static enum status check_sense(const struct message_open *open, struct addr *out_target,
                               struct fault *fault)
{
    const struct case_params *params = &open->of_case.params;
    enum status status;

    if (open->key.length != SESSION_KEY_SIZE)
        return fault_set(fault, STATUS_INVALID, "key: %d bytes are needed, %zu were given",
                         SESSION_KEY_SIZE, open->key.length);
    if (open->ssid < 1 || open->ssid > SSID_MAX)
        return fault_set(fault, STATUS_INVALID, "ssid: %lld is not allowed: 1 to %d",
                         (long long)open->ssid, SSID_MAX);
    status = check_payload(params, fault);
    if (status == STATUS_OK && params->common.clients * params->window > LIMIT_OUTSTANDING)
        status = fault_set(fault, STATUS_INVALID,
                           "window: %lld x %lld clients are not allowed: at most %d datagrams may "
                           "be outstanding",
                           (long long)params->window, (long long)params->common.clients,
                           LIMIT_OUTSTANDING);
    if (status == STATUS_OK)
        status = check_target(open, out_target, fault);
    return status;
}

/* --- does this host allow it? --- */

static enum status denied(struct fault *fault, const char *key, const char *allows,
                          const char *asked)
{
    return fault_set(fault, STATUS_DENIED, "admission.%s allows %s, %s", key, allows, asked);
}

static enum status check_role(const struct admission *admission, const struct message_open *open,
                              const struct addr *target, struct fault *fault)
{
    bool sender = open->role == END_SENDER;
    char asked[ADDR_TEXT_SIZE + 40], allows[40];

    if (sender ? !admission->limits.allow_sender : !admission->limits.allow_echo)
        return fault_set(fault, STATUS_DENIED,
                         "admission.allow_%s is false: this host does not take the %s role",
                         end_role_names[open->role], end_role_names[open->role]);
    if (!sender || admission_allows_host(admission, target))
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%zu range%s of hosts", admission->peer_count,
             admission->peer_count == 1 ? "" : "s");
    snprintf(asked, sizeof asked, "%s is in none", open->target);
    return denied(fault, "peers", allows, asked);
}

static enum status check_counts(const struct admission_config *limits,
                                const struct case_params *params, struct fault *fault)
{
    const struct case_common *common = &params->common;
    const struct {
        const char *key, *unit;
        int64_t limit, asked;
    } checks[] = {
        { "max_payload", "bytes", limits->max_payload, params->payload },
        { "max_clients", "clients", limits->max_clients, common->clients },
        { "max_outstanding", "datagrams outstanding", limits->max_outstanding,
          common->clients * params->window },
        { "max_socket_buffer", "bytes to receive into", limits->max_socket_buffer, common->rcvbuf },
        { "max_socket_buffer", "bytes to send from", limits->max_socket_buffer, common->sndbuf },
        { "max_io_threads", "threads", limits->max_io_threads, common->io_threads },
    };
    char allows[64], asked[64];

    for (size_t i = 0; i < RECORD_COUNT(checks); i++) {
        if (checks[i].asked <= checks[i].limit)
            continue;
        snprintf(allows, sizeof allows, "%lld %s", (long long)checks[i].limit, checks[i].unit);
        snprintf(asked, sizeof asked, "%lld were asked for", (long long)checks[i].asked);
        return denied(fault, checks[i].key, allows, asked);
    }
    return STATUS_OK;
}

/* Written so that what is not a number is refused. */
static enum status check_seconds(double limit, double seconds, const char *of, struct fault *fault)
{
    char allows[64], asked[96];

    if (seconds >= 0 && seconds <= limit)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%.12g seconds", limit);
    snprintf(asked, sizeof asked, "%.12g were asked for%s", seconds, of);
    return denied(fault, "max_seconds", allows, asked);
}

static enum status check_rate(const struct admission_config *limits,
                              const struct case_params *params, struct fault *fault)
{
    const struct case_common *common = &params->common;
    char allows[64], asked[96];
    double rate;

    if (limits->max_rate == 0)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%lld datagrams a second", (long long)limits->max_rate);
    if (common->interval_ns <= 0)
        return denied(fault, "max_rate", allows,
                      "a closed loop, which has no rate, was asked for (interval_ns is 0)");
    rate =
        (double)(common->clients * params->window) * (double)NS_PER_S / (double)common->interval_ns;
    if (rate <= (double)limits->max_rate)
        return STATUS_OK;
    snprintf(asked, sizeof asked, "%.0f were asked for", ceil(rate));
    return denied(fault, "max_rate", allows, asked);
}

enum status admission_check(const struct admission *admission, const struct message_open *open,
                            size_t sessions, struct fault *fault)
{
    const struct admission_config *limits = &admission->limits;
    const struct case_common *common = &open->of_case.params.common;
    char allows[64], asked[64];
    struct addr target;
    enum status status = check_sense(open, &target, fault);

    if (status == STATUS_OK)
        status = check_role(admission, open, &target, fault);
    if (status == STATUS_OK)
        status = check_counts(limits, &open->of_case.params, fault);
    if (status == STATUS_OK)
        status = check_seconds(limits->max_seconds, common->warmup_s + common->seconds, "", fault);
    if (status == STATUS_OK)
        status = check_seconds(limits->max_seconds, open->of_case.idle_s, " as idle interval", fault);
    if (status == STATUS_OK)
        status = check_rate(limits, &open->of_case.params, fault);
    if (status == STATUS_OK && sessions >= (size_t)limits->max_sessions) {
        snprintf(allows, sizeof allows, "%lld sessions at once", (long long)limits->max_sessions);
        snprintf(asked, sizeof asked, "%zu are open", sessions);
        status = denied(fault, "max_sessions", allows, asked);
    }
    return status;
}
