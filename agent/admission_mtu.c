/* Owns what a path MTU session is asked for, against the limits of the configuration: what an end
 * sends when it probes, and what both ends keep. */
#include <math.h>
#include <stdio.h>

#include "agent/admission_part.h"
#include "agent/probe/path_mtu.h"

enum { OUTSTANDING = MTU_RING_SLOTS / 2 }; /* of each flow, at most */

enum status admission_mtu_sense(const struct mtu_params *params, struct fault *fault)
{
    int family = (int)params->family;
    const struct mtu_plan plan = { .families = { .items = &family, .count = 1 },
                                   .common = params->common };
    struct fault wrong;

    if (record_check(&mtu_params_record, params, &wrong) != STATUS_OK ||
        mtu_plan_check(&plan, &wrong) != STATUS_OK)
        return fault_set(fault, STATUS_INVALID, "%s", wrong.text);
    return STATUS_OK;
}

/* The caller probes in the one phase, the listener in the other. */
static bool probes(const struct message_open *open)
{
    const struct mtu_common *common = &open->of_mtu.params.common;

    return (mtu_has_phase(common, PHASE_FORWARD) && mtu_prober(PHASE_FORWARD) == open->role) ||
           (mtu_has_phase(common, PHASE_REVERSE) && mtu_prober(PHASE_REVERSE) == open->role);
}

static bool answers(const struct message_open *open)
{
    const struct mtu_common *common = &open->of_mtu.params.common;

    return (mtu_has_phase(common, PHASE_FORWARD) && mtu_prober(PHASE_FORWARD) != open->role) ||
           (mtu_has_phase(common, PHASE_REVERSE) && mtu_prober(PHASE_REVERSE) != open->role);
}

/* Who calls sends, and who listens answers, in any case: that was looked at already. */
static enum status check_parts(const struct admission_config *limits,
                               const struct message_open *open, struct fault *fault)
{
    const char *direction = mtu_ways_names[open->of_mtu.params.common.direction];

    if (probes(open) && !limits->allow_sender)
        return fault_set(fault, STATUS_DENIED,
                         "admission.allow_sender is false: this host does not probe, as direction "
                         "%s asks of it",
                         direction);
    if (answers(open) && !limits->allow_echo)
        return fault_set(fault, STATUS_DENIED,
                         "admission.allow_echo is false: this host does not answer probes, as "
                         "direction %s asks of it",
                         direction);
    return STATUS_OK;
}

static enum status check_count(const char *key, int64_t limit, int64_t asked_for, const char *unit,
                               struct fault *fault)
{
    char allows[64], asked[64];

    if (asked_for <= limit)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%lld %s", (long long)limit, unit);
    snprintf(asked, sizeof asked, "%lld were asked for", (long long)asked_for);
    return admission_denied(fault, key, allows, asked);
}

static int64_t floor_of(const struct mtu_params *params)
{
    return params->common.floor > 0 ? params->common.floor : path_mtu_plan_of(params->family).floor;
}

/* A ceiling that was not asked for is no higher than what is allowed; the floor must fit. */
static enum status check_sizes(const struct admission_config *limits,
                               const struct mtu_params *params, struct fault *fault)
{
    bool by_ceiling = params->common.ceiling > 0;
    int64_t size = by_ceiling ? params->common.ceiling : floor_of(params);
    int64_t payload = size - admission_headers(params->family);
    char allows[64], asked[128];

    if (payload <= limits->max_payload)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%lld bytes", (long long)limits->max_payload);
    snprintf(asked, sizeof asked, "a %s of %lld, %lld bytes of payload, was asked for",
             by_ceiling ? "ceiling" : "floor", (long long)size, (long long)payload);
    return admission_denied(fault, "max_payload", allows, asked);
}

/* The pace is of bytes: the smallest datagrams are the most. An answer comes for each. */
static enum status check_rate(const struct admission_config *limits,
                              const struct mtu_params *params, struct fault *fault)
{
    int64_t smallest = admission_headers(params->family) + MTU_ANSWER_SIZE;
    long long pace = limits->max_rate * smallest;
    char allows[64], asked[192];
    double rate = ceil((double)params->common.pace / (double)smallest);

    if (limits->max_rate == 0 || rate <= (double)limits->max_rate)
        return STATUS_OK;
    snprintf(allows, sizeof allows, "%lld datagrams a second", (long long)limits->max_rate);
    snprintf(asked, sizeof asked,
             "a pace of %lld bytes a second, up to %.0f datagrams, was asked for: a pace of %lld "
             "would do",
             (long long)params->common.pace, rate, pace);
    return admission_denied(fault, "max_rate", allows, asked);
}

/* How long a search takes is the path's to decide: what runs is ended after max_seconds. What is
 * sure to be longer is refused. */
static enum status check_seconds(const struct admission_config *limits,
                                 const struct mtu_params *params, struct fault *fault)
{
    const struct mtu_common *common = &params->common;
    double least = (double)common->sizes * (double)floor_of(params) / (double)common->pace;
    enum status status = admission_seconds(limits, common->watch_s, " to watch", fault);

    return status == STATUS_OK
               ? admission_seconds(limits, least, " at least for loss by size at that pace", fault)
               : status;
}

enum status admission_mtu_limits(const struct admission_config *limits,
                                 const struct message_open *open, struct fault *fault)
{
    const struct mtu_params *params = &open->of_mtu.params;
    int64_t flows = params->common.flows;
    enum status status = check_parts(limits, open, fault);

    if (status == STATUS_OK)
        status = check_count("max_clients", limits->max_clients, flows, "flows", fault);
    if (status == STATUS_OK && probes(open))
        status = check_count("max_outstanding", limits->max_outstanding, flows * OUTSTANDING,
                             "datagrams outstanding", fault);
    if (status == STATUS_OK && probes(open))
        status = check_sizes(limits, params, fault);
    if (status == STATUS_OK)
        status = check_rate(limits, params, fault);
    return status == STATUS_OK ? check_seconds(limits, params, fault) : status;
}
