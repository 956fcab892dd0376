/* Owns the rules of one flow's answer and of its events. What an answer means is mtu_verdict's;
 * where it stands in an archive is the report's. */
#include "proto/wire/mtu_check.h"

#include <inttypes.h>
#include <math.h>

#include "proto/wire/budget.h"
#include "proto/wire/limits.h"

enum { FLOOR_IPV4 = 576, FLOOR_IPV6 = 1280, HEADERS_IPV4 = 28, HEADERS_IPV6 = 48 };

/* `part` is at most `whole`; nothing is said where one of them is null. */
struct bound {
    const char *part_name;
    int64_t part;
    const char *whole_name;
    int64_t whole;
};

static enum status check_bounds(const struct bound *bounds, size_t count, struct fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        const struct bound *bound = &bounds[i];

        if (bound->part == NONE_INT || bound->whole == NONE_INT || bound->part <= bound->whole)
            continue;
        return fault_set(fault, STATUS_CORRUPT, "/%s: %" PRId64 " is more than %s (%" PRId64 ")",
                         bound->part_name, bound->part, bound->whole_name, bound->whole);
    }
    return STATUS_OK;
}

#define CHECK_BOUNDS(BOUNDS, FAULT) check_bounds(BOUNDS, sizeof(BOUNDS) / sizeof(BOUNDS)[0], FAULT)

/* --- the answer ------------------------------------------------------------------------------ */

static int64_t floor_of(const struct mtu_params *params)
{
    if (params->common.floor > 0)
        return params->common.floor;
    return params->family == FAMILY_IPV4 ? FLOOR_IPV4 : FLOOR_IPV6;
}

static enum status check_sizes(const struct mtu_params *params, const struct mtu_flow *flow,
                               struct fault *fault)
{
    int64_t ceiling = params->common.ceiling > 0 ? params->common.ceiling : LIMIT_MTU;
    const struct bound bounds[] = {
        { "path_mtu", flow->path_mtu, "the ceiling", ceiling },
        { "next_size", flow->next_size, "the ceiling", ceiling },
    };

    if (flow->path_mtu != NONE_INT && flow->path_mtu < floor_of(params))
        return fault_set(fault, STATUS_CORRUPT,
                         "/path_mtu: %" PRId64 " is below the floor (%" PRId64 ")", flow->path_mtu,
                         floor_of(params));
    if (flow->path_mtu != NONE_INT && flow->next_size != NONE_INT &&
        flow->next_size <= flow->path_mtu)
        return fault_set(fault, STATUS_CORRUPT,
                         "/next_size: %" PRId64 " does not pass, but path_mtu is %" PRId64,
                         flow->next_size, flow->path_mtu);
    return CHECK_BOUNDS(bounds, fault);
}

static enum status check_outcome(const struct mtu_flow *flow, struct fault *fault)
{
    bool found = flow->outcome == MTU_FOUND;

    if (flow->confirmed && !found)
        return fault_set(fault, STATUS_CORRUPT, "/confirmed: must be false where outcome is \"%s\"",
                         mtu_outcome_names[flow->outcome]);
    if (found && flow->path_mtu == NONE_INT)
        return fault_set(fault, STATUS_CORRUPT, "/path_mtu: must not be null where it was found");
    if (flow->outcome == MTU_BELOW_FLOOR && flow->path_mtu != NONE_INT)
        return fault_set(fault, STATUS_CORRUPT,
                         "/path_mtu: must be null where the floor does not pass");
    if (found && (flow->limit == MTU_LIMIT_CEILING) != (flow->next_size == NONE_INT))
        return fault_set(fault, STATUS_CORRUPT,
                         "/limit: \"%s\", but next_size is %s: only the ceiling has none above",
                         mtu_limit_names[flow->limit],
                         flow->next_size == NONE_INT ? "null" : "not");
    return STATUS_OK;
}

static enum status check_counts(const struct mtu_flow *flow, struct fault *fault)
{
    const struct bound bounds[] = {
        { "controls_lost", flow->controls_lost, "controls", flow->controls },
        { "controls", flow->controls, "probes", flow->probes },
        { "retries", flow->retries, "probes", flow->probes },
        { "refused", flow->refused, "probes", flow->probes },
    };

    if (flow->source_port == 0)
        return fault_set(fault, STATUS_CORRUPT, "/source_port: must be 1 to 65535, or null");
    return CHECK_BOUNDS(bounds, fault);
}

/* A hint that was taken is one that a router may give. */
static enum status check_icmp(const struct mtu_params *params, const struct mtu_flow *flow,
                              struct fault *fault)
{
    const struct mtu_icmp *icmp = flow->icmp.items;
    int64_t least = params->family == FAMILY_IPV4 ? MTU_MIN_IPV4 : MTU_MIN_IPV6;

    for (size_t i = 0; i < flow->icmp.count; i++) {
        if (icmp[i].accepted && (icmp[i].mtu < least || icmp[i].mtu > LIMIT_MTU))
            return fault_set(fault, STATUS_CORRUPT,
                             "/icmp/%zu/accepted: must be false of an MTU of %" PRId64, i,
                             icmp[i].mtu);
        if (icmp[i].count == 0)
            return fault_set(fault, STATUS_CORRUPT, "/icmp/%zu/count: must not be 0", i);
    }
    return STATUS_OK;
}

/* --- what was asked besides ------------------------------------------------------------------ */

static enum status check_fragments(const struct mtu_flow *flow, struct fault *fault)
{
    const struct mtu_fragments *probes = &flow->fragment_probes;
    const struct bound bounds[] = {
        { "fragment_probes/arrived", probes->arrived, "sent", probes->sent },
        { "fragment_probes/small_arrived", probes->small_arrived, "small_sent",
          probes->small_sent },
    };
    enum status status = probes->present ? CHECK_BOUNDS(bounds, fault) : STATUS_OK;

    if (status != STATUS_OK)
        return status;
    if (flow->fragments != MTU_UNTESTED && (!probes->present || probes->sent == 0))
        return fault_set(fault, STATUS_CORRUPT, "/fragments: \"%s\", but none was sent",
                         mtu_arrive_names[flow->fragments]);
    if ((flow->fragments == MTU_PASS) != (probes->present && probes->arrived > 0))
        return fault_set(fault, STATUS_CORRUPT,
                         "/fragments: \"%s\", but %" PRId64 " of the fragment probes arrived",
                         mtu_arrive_names[flow->fragments], probes->present ? probes->arrived : 0);
    return STATUS_OK;
}

static enum status check_hops(const struct mtu_flow *flow, struct fault *fault)
{
    const struct mtu_hops *hops = &flow->hops;
    const struct bound bounds[] = { { "hops/answered", hops->answered, "sent", hops->sent } };

    if (!hops->present)
        return STATUS_OK;
    if (hops->failing <= hops->passing)
        return fault_set(fault, STATUS_CORRUPT,
                         "/hops/failing: %" PRId64 " is not larger than passing (%" PRId64 ")",
                         hops->failing, hops->passing);
    if ((hops->last_hop > 0 && hops->last[0] == '\0') ||
        (hops->first_hop > 0 && hops->first[0] == '\0'))
        return fault_set(fault, STATUS_CORRUPT, "/hops: a hop that answered has an address");
    return CHECK_BOUNDS(bounds, fault);
}

/* --- loss by size ---------------------------------------------------------------------------- */

/* Sent and lost, of all sizes up to a largest packet. */
struct sums {
    int64_t sent, lost;
};

static bool add(int64_t *total, int64_t value)
{
    if (value > INT64_MAX - *total)
        return false;
    *total += value;
    return true;
}

static enum status check_list(const struct mtu_flow *flow, struct fault *fault)
{
    const struct mtu_size *sizes = flow->loss_by_size.items;
    struct sums all = { 0, 0 };

    for (size_t i = 0; i < flow->loss_by_size.count; i++) {
        if (sizes[i].lost > sizes[i].sent)
            return fault_set(fault, STATUS_CORRUPT,
                             "/loss_by_size/%zu/lost: %" PRId64 " is more than sent (%" PRId64 ")",
                             i, sizes[i].lost, sizes[i].sent);
        if (i > 0 && sizes[i].payload <= sizes[i - 1].payload)
            return fault_set(fault, STATUS_CORRUPT, "/loss_by_size/%zu/payload: not in order", i);
        if (!add(&all.sent, sizes[i].sent) || !add(&all.lost, sizes[i].lost))
            return fault_set(fault, STATUS_CORRUPT, "/loss_by_size: the counts are beyond reason");
    }
    return STATUS_OK;
}

static struct sums sums_to(const struct mtu_flow *flow, int64_t payload)
{
    const struct mtu_size *sizes = flow->loss_by_size.items;
    struct sums sums = { 0, 0 };

    for (size_t i = 0; i < flow->loss_by_size.count && sizes[i].payload <= payload; i++) {
        sums.sent += sizes[i].sent;
        sums.lost += sizes[i].lost;
    }
    return sums;
}

static enum status check_sums(const struct mtu_params *params, const struct mtu_flow *flow,
                              struct fault *fault)
{
    const struct mtu_size_effect *effect = &flow->size_effect;
    int64_t headers = params->family == FAMILY_IPV4 ? HEADERS_IPV4 : HEADERS_IPV6;
    struct sums all = sums_to(flow, LIMIT_MTU);
    struct sums below = effect->found ? sums_to(flow, effect->threshold - headers) : all;
    const struct {
        const char *name;
        int64_t has, wants;
    } sums[] = {
        { "sent", effect->sent, all.sent },
        { "lost", effect->lost, all.lost },
        { "sent_below", effect->sent_below, below.sent },
        { "lost_below", effect->lost_below, below.lost },
        { "sent_above", effect->sent_above, all.sent - below.sent },
        { "lost_above", effect->lost_above, all.lost - below.lost },
    };

    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        if (sums[i].has != sums[i].wants)
            return fault_set(fault, STATUS_CORRUPT,
                             "/size_effect/%s: %" PRId64 ", but loss_by_size makes it %" PRId64,
                             sums[i].name, sums[i].has, sums[i].wants);
    }
    return STATUS_OK;
}

/* An interval that has the ratio in it; nothing at all where there is none. */
static enum status check_interval(const char *name, bool there, struct sums sums,
                                  const double interval[2], struct fault *fault)
{
    double ratio = sums.sent > 0 ? (double)sums.lost / (double)sums.sent : interval[0];

    if (!there && isnan(interval[0]) && isnan(interval[1]))
        return STATUS_OK;
    if (there && interval[0] <= ratio + 1e-9 && ratio <= interval[1] + 1e-9)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT, "/size_effect/low_%s: must %s", name,
                     there ? "be an interval around the loss, with high" : "be null, with high");
}

static enum status check_threshold(const struct mtu_size_effect *effect, struct fault *fault)
{
    if (effect->found != (effect->threshold != NONE_INT) ||
        effect->found != (effect->least != NONE_INT) || effect->found != (effect->most != NONE_INT))
        return fault_set(fault, STATUS_CORRUPT,
                         "/size_effect/threshold: must %sbe null, with least and most",
                         effect->found ? "not " : "");
    if (effect->found && (effect->threshold < effect->least || effect->threshold > effect->most))
        return fault_set(fault, STATUS_CORRUPT,
                         "/size_effect/threshold: %" PRId64 " is not within %" PRId64
                         " to %" PRId64,
                         effect->threshold, effect->least, effect->most);
    return STATUS_OK;
}

static enum status check_effect(const struct mtu_params *params, const struct mtu_flow *flow,
                                struct fault *fault)
{
    const struct mtu_size_effect *effect = &flow->size_effect;
    enum status status = check_list(flow, fault);

    if (!effect->present && status == STATUS_OK && flow->loss_by_size.count > 0)
        return fault_set(fault, STATUS_CORRUPT,
                         "/loss_by_size: must be empty where size_effect is null");
    if (!effect->present || status != STATUS_OK)
        return status;
    status = check_threshold(effect, fault);
    if (status == STATUS_OK)
        status = check_sums(params, flow, fault);
    if (status == STATUS_OK)
        status =
            check_interval("below", true, (struct sums){ effect->sent_below, effect->lost_below },
                           (const double[]){ effect->low_below, effect->high_below }, fault);
    if (status == STATUS_OK)
        status = check_interval("above", effect->found,
                                (struct sums){ effect->sent_above, effect->lost_above },
                                (const double[]){ effect->low_above, effect->high_above }, fault);
    return status;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* What was not asked for is not there. */
static enum status check_asked(const struct mtu_common *common, const struct mtu_flow *flow,
                               struct fault *fault)
{
    bool besides = common->watch_s <= 0;

    if (flow->flow >= common->flows)
        return fault_set(fault, STATUS_CORRUPT,
                         "/flow: %" PRId64 ", but %" PRId64 " were asked for", flow->flow,
                         common->flows);
    if (flow->fragment_probes.present && !(besides && common->fragments))
        return fault_set(fault, STATUS_CORRUPT, "/fragment_probes: were not asked for");
    if (flow->hops.present && !(besides && common->trace))
        return fault_set(fault, STATUS_CORRUPT, "/hops: were not asked for");
    if (flow->size_effect.present && !(besides && common->sizes > 0 && flow->flow == 0))
        return fault_set(fault, STATUS_CORRUPT, "/size_effect: was not asked for");
    return STATUS_OK;
}

enum status mtu_flow_check(const struct mtu_params *params, const struct mtu_flow *flow,
                           struct fault *fault)
{
    enum status status = check_asked(&params->common, flow, fault);

    if (status == STATUS_OK)
        status = check_sizes(params, flow, fault);
    if (status == STATUS_OK)
        status = check_outcome(flow, fault);
    if (status == STATUS_OK)
        status = check_counts(flow, fault);
    if (status == STATUS_OK)
        status = check_icmp(params, flow, fault);
    if (status == STATUS_OK)
        status = check_fragments(flow, fault);
    if (status == STATUS_OK)
        status = check_hops(flow, fault);
    return status == STATUS_OK ? check_effect(params, flow, fault) : status;
}

enum status mtu_events_check(const struct mtu_params *params, const struct list *events,
                             struct fault *fault)
{
    const struct mtu_event *items = events->items;
    double last_s[MTU_FLOWS_MAX] = { 0 }; /* of each flow */

    if (events->count > 0 && params->common.watch_s <= 0)
        return fault_set(fault, STATUS_CORRUPT, "/0: nobody watched");
    for (size_t i = 0; i < events->count; i++) {
        if (items[i].flow >= params->common.flows)
            return fault_set(fault, STATUS_CORRUPT,
                             "/%zu/flow: %" PRId64 ", but %" PRId64 " were asked for", i,
                             items[i].flow, params->common.flows);
        if (items[i].after_s < last_s[items[i].flow])
            return fault_set(fault, STATUS_CORRUPT, "/%zu/after_s: not in order of time", i);
        last_s[items[i].flow] = items[i].after_s;
        if (items[i].change == MTU_CHANGE_UNREACHABLE && items[i].to != NONE_INT)
            return fault_set(fault, STATUS_CORRUPT, "/%zu/to: must be null where it is unreachable",
                             i);
    }
    return STATUS_OK;
}
