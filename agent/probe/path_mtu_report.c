/* Owns how answers of path_mtu look in a report. Must not know who reads it, nor what it means:
 * verdicts are proto/wire/mtu_verdict.
 */
#include "agent/probe/path_mtu_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/probe/path_mtu_part.h"

struct path_mtu_plan path_mtu_plan_from(const struct mtu_params *params)
{
    const struct mtu_common *common = &params->common;
    struct path_mtu_plan plan = path_mtu_plan_of(params->family);

    if (common->floor > 0)
        plan.floor = common->floor;
    plan.ceiling = common->ceiling;
    plan.tries = common->tries;
    plan.budget = common->budget;
    plan.pace = common->pace;
    plan.fragments = common->fragments;
    plan.trace = common->trace;
    plan.sizes = common->sizes;
    plan.watch_s = common->watch_s;
    plan.check_ns = llround(common->check_s * (double)NS_PER_S);
    plan.raise_ns = llround(common->raise_s * (double)NS_PER_S);
    return plan;
}

/* --- one flow --------------------------------------------------------------------------------- */

/* 0 is nothing, in a search. */
static int64_t size_or_none(int64_t size)
{
    return size > 0 ? size : NONE_INT;
}

/* The host alone: "10.9.2.254", "2001:db8::1"; "" of nobody. */
static void put_host(const struct addr *addr, char out_text[ADDR_TEXT_SIZE])
{
    char text[ADDR_TEXT_SIZE];
    char *first = text, *end;

    out_text[0] = '\0';
    if (addr->length == 0)
        return;
    addr_format(addr, text);
    end = strrchr(text, ':');
    if (text[0] == '[') {
        first++;
        end--;
    }
    *end = '\0';
    snprintf(out_text, ADDR_TEXT_SIZE, "%s", first);
}

static enum mtu_outcome outcome_of(enum search_outcome outcome)
{
    static const enum mtu_outcome outcomes[SEARCH_OUTCOME_COUNT] = {
        [SEARCH_UNDECIDED] = MTU_UNDECIDED,     [SEARCH_FOUND] = MTU_FOUND,
        [SEARCH_BELOW_FLOOR] = MTU_BELOW_FLOOR, [SEARCH_UNREACHABLE] = MTU_UNREACHABLE,
        [SEARCH_UNSTABLE] = MTU_UNSTABLE,       [SEARCH_EXHAUSTED] = MTU_EXHAUSTED,
    };

    return outcomes[outcome];
}

static enum mtu_limit limit_of(enum search_limit limit)
{
    static const enum mtu_limit limits[] = { [SEARCH_LIMIT_CEILING] = MTU_LIMIT_CEILING,
                                             [SEARCH_LIMIT_LOCAL] = MTU_LIMIT_LOCAL,
                                             [SEARCH_LIMIT_PATH] = MTU_LIMIT_PATH };

    return limits[limit];
}

static void put_search(const struct search_result *search, struct mtu_flow *out_flow)
{
    out_flow->outcome = outcome_of(search->outcome);
    out_flow->limit = limit_of(search->limit);
    out_flow->path_mtu = size_or_none(search->path_mtu);
    out_flow->next_size = size_or_none(search->next_size);
    out_flow->confirmed = search->outcome == SEARCH_FOUND && search->path_mtu > 0;
    out_flow->probes = search->datagrams;
    out_flow->retries = search->retries;
    out_flow->refused = search->refused;
    out_flow->controls = search->controls;
    out_flow->controls_lost = search->controls_lost;
    out_flow->rtt_ns = size_or_none(search->rtt_ns);
}

static void put_icmp(const struct path_mtu_flow *flow, struct mtu_flow *out_flow)
{
    for (int64_t i = 0; i < flow->icmp_count; i++) {
        const struct path_mtu_icmp *icmp = &flow->icmp[i];
        struct mtu_icmp *out = list_append_sized(&out_flow->icmp, sizeof *out);

        put_host(&icmp->from, out->from);
        out->mtu = icmp->mtu;
        out->accepted = path_mtu_icmp_accepted(icmp);
        snprintf(out->judged, sizeof out->judged, "%s",
                 icmp->quote == MTU_QUOTE_FOREIGN ? mtu_quote_name(icmp->quote)
                                                  : search_ptb_name(icmp->judged));
        out->count = icmp->count;
    }
    out_flow->icmp_missed = flow->icmp_missed;
    out_flow->unreachable = flow->unreachable;
    if (flow->unreachable == 0)
        return;
    snprintf(out_flow->unreachable_kind, sizeof out_flow->unreachable_kind, "%s",
             flow->unreachable_kind == ERROR_NO_PORT ? "port unreachable"
                                                     : "destination unreachable");
    put_host(&flow->unreachable_from, out_flow->unreachable_from);
}

static void put_fragments(const struct path_mtu_fragments *fragments, struct mtu_flow *out_flow)
{
    static const enum mtu_arrive arrives[] = { [PATH_MTU_UNTESTED] = MTU_UNTESTED,
                                               [PATH_MTU_PASS] = MTU_PASS,
                                               [PATH_MTU_DROPPED] = MTU_DROPPED };

    out_flow->fragments = arrives[fragments->arrive];
    out_flow->fragment_probes = (struct mtu_fragments){
        .present = fragments->sent > 0,
        .size = fragments->size,
        .sent = fragments->sent,
        .arrived = fragments->arrived,
        .small_sent = fragments->small_sent,
        .small_arrived = fragments->small_arrived,
    };
}

static void put_trace(const struct path_mtu_trace *trace, struct mtu_hops *out_hops)
{
    *out_hops = (struct mtu_hops){
        .present = trace->traced,
        .passing = trace->passing,
        .failing = trace->failing,
        .last_hop = trace->last_hops,
        .first_hop = trace->first_hops,
        .first_is_peer = trace->first_is_peer,
        .sent = trace->sent,
        .answered = trace->answered,
    };
    put_host(&trace->last, out_hops->last);
    put_host(&trace->first, out_hops->first);
}

void path_mtu_flow_report(struct path_mtu_flow *flow, size_t index, struct mtu_flow *out_flow)
{
    record_init(&mtu_flow_record, out_flow);
    out_flow->flow = (int64_t)index;
    out_flow->source_port = flow->source_port;
    out_flow->local_mtu = flow->local_mtu;
    out_flow->kernel_before = flow->kernel_before;
    out_flow->kernel_path_mtu = flow->kernel;
    out_flow->seconds = flow->seconds > 0 ? flow->seconds : 0;
    out_flow->odd_answers = flow->odd_answers;
    put_search(&flow->search, out_flow);
    put_icmp(flow, out_flow);
    put_fragments(&flow->fragments, out_flow);
    put_trace(&flow->trace, &out_flow->hops);
    out_flow->size_effect = flow->size_effect;
    out_flow->loss_by_size = flow->loss_by_size;
    flow->loss_by_size = (struct list){ 0 };
}

/* --- events, and what was answered ------------------------------------------------------------ */

void path_mtu_event_report(size_t flow, const struct search_event *event, struct mono began,
                           struct mtu_event *out_event)
{
    static const enum mtu_change changes[] = { [SEARCH_EVENT_KNOWN] = MTU_CHANGE_KNOWN,
                                               [SEARCH_EVENT_CHANGED] = MTU_CHANGE_CHANGED,
                                               [SEARCH_EVENT_UNREACHABLE] =
                                                   MTU_CHANGE_UNREACHABLE };

    *out_event = (struct mtu_event){
        .flow = (int64_t)flow,
        .change = changes[event->kind],
        .from = size_or_none(event->from),
        .to = size_or_none(event->to),
        .after_s = fmax(0, (double)mono_between(began, event->at) / (double)NS_PER_S),
    };
}

void path_mtu_answered_report(const struct path_mtu_answered *before,
                              const struct path_mtu_answered *after, enum family family,
                              struct mtu_answered *out_answered)
{
    int64_t answered = after->answered - before->answered;

    *out_answered = (struct mtu_answered){
        .present = true,
        .fragments_told = after->fragments_told,
        .answered = answered,
        .in_fragments = after->in_fragments - before->in_fragments,
        .reassembled = after->reassembled - before->reassembled,
        .damaged = after->cut - before->cut,
        .foreign = after->foreign - before->foreign,
        .largest = answered > 0 ? after->largest + mtu_headers(family) : NONE_INT,
        .refused = after->answers_refused - before->answers_refused,
    };
}
