/* Owns the answer to "may this session be opened here?": what all orders have in common, an order's
 * own sense first, then each limit of the configuration. Opens nothing and keeps no count of
 * sessions. */
#include "agent/admission.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/admission_part.h"
#include "proto/base/memory.h"

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

static enum family family_of(const struct message_open *open)
{
    return open->kind == WORK_MTU ? open->of_mtu.params.family : open->of_case.params.common.family;
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
                         "target: \"%s\" is not allowed: the echo role has none", open->target);
    }
    if (addr_parse(open->target, &target, &wrong) != STATUS_OK)
        return fault_set(fault, STATUS_INVALID, "target: %s", wrong.text);
    why = no_host(&target);
    if (why == NULL && addr_family(&target) != family_of(open))
        why =
            family_of(open) == FAMILY_IPV4 ? "the order asks for ipv4" : "the order asks for ipv6";
    if (why != NULL)
        return fault_set(fault, STATUS_INVALID, "target: %s is not allowed: %s", open->target, why);
    *out_target = target;
    return STATUS_OK;
}

static enum status check_sense(const struct message_open *open, struct addr *out_target,
                               struct fault *fault)
{
    enum status status;

    if (open->key.length != SESSION_KEY_SIZE)
        return fault_set(fault, STATUS_INVALID, "key: %d bytes are needed, %zu were given",
                         SESSION_KEY_SIZE, open->key.length);
    if (open->ssid < 1 || open->ssid > SSID_MAX)
        return fault_set(fault, STATUS_INVALID, "ssid: %lld is not allowed: 1 to %d",
                         (long long)open->ssid, SSID_MAX);
    status = open->kind == WORK_MTU ? admission_mtu_sense(&open->of_mtu.params, fault)
                                    : admission_case_sense(&open->of_case.params, fault);
    return status == STATUS_OK ? check_target(open, out_target, fault) : status;
}

/* --- does this host allow it? --- */

enum status admission_denied(struct fault *fault, const char *key, const char *allows,
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
    return admission_denied(fault, "peers", allows, asked);
}

/* Written so that what is not a number is refused. */
enum status admission_seconds(const struct admission_config *limits, double seconds, const char *of,
                              struct fault *fault)
{
    char allows[64], asked[128];

    if (seconds >= 0 && seconds <= limits->max_seconds)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%.12g seconds", limits->max_seconds);
    snprintf(asked, sizeof asked, "%.12g were asked for%s", seconds, of);
    return admission_denied(fault, "max_seconds", allows, asked);
}

static enum status check_sessions(const struct admission_config *limits, size_t sessions,
                                  struct fault *fault)
{
    char allows[64], asked[64];

    if (sessions < (size_t)limits->max_sessions)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%lld sessions at once", (long long)limits->max_sessions);
    snprintf(asked, sizeof asked, "%zu are open", sessions);
    return admission_denied(fault, "max_sessions", allows, asked);
}

enum status admission_check(const struct admission *admission, const struct message_open *open,
                            size_t sessions, struct fault *fault)
{
    const struct admission_config *limits = &admission->limits;
    struct addr target;
    enum status status = check_sense(open, &target, fault);

    if (status == STATUS_OK)
        status = check_role(admission, open, &target, fault);
    if (status == STATUS_OK)
        status = open->kind == WORK_MTU ? admission_mtu_limits(limits, open, fault)
                                        : admission_case_limits(limits, &open->of_case, fault);
    return status == STATUS_OK ? check_sessions(limits, sessions, fault) : status;
}

/* --- what a session is held to while it runs --- */

int64_t admission_headers(enum family family)
{
    return UDP_HEADER_BYTES + (family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
}

int64_t admission_max_packet(const struct admission *admission, enum family family)
{
    int64_t payload = family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;
    int64_t most = admission->limits.max_payload;

    return most < payload ? most + admission_headers(family) : 0;
}

double admission_max_seconds(const struct admission *admission)
{
    return admission->limits.max_seconds;
}

int64_t admission_socket_buffer(const struct admission *admission, int64_t wanted)
{
    int64_t most = admission->limits.max_socket_buffer;

    return wanted < most ? wanted : most;
}
