/* Owns the question after which hop larger datagrams vanish: the two sizes with one hop more each
 * time, one datagram under way at a time, so that an ICMP message that quotes next to nothing is
 * understood too. Must not know sockets.
 */
#include "agent/probe/path_mtu_part.h"

enum { TRIES = 3, SILENT_MAX = 2, UNHEARD_MAX = 5 };

#define WAIT_MIN_NS (100 * NS_PER_MS)

static const struct mono never = { INT64_MAX };

/* Only what vanishes without a word; who said so has said where. */
void mtu_trace_begin(struct lane *flow)
{
    const struct search_result *search = &flow->result->search;
    struct path_mtu_trace *result = &flow->result->trace;
    bool wanted = flow->tracer.wanted && search->outcome == SEARCH_FOUND &&
                  search->limit == SEARCH_LIMIT_PATH && search->next_size > 0 && !search->hinted;

    flow->tracer =
        (struct mtu_tracer){ .result = result, .wanted = wanted, .over = !wanted, .hops = 1 };
    if (!wanted)
        return;
    result->passing = search->path_mtu;
    result->failing = search->next_size;
}

static void end_trace(struct mtu_tracer *tracer)
{
    tracer->over = true;
    tracer->result->traced = true;
}

/* Both sizes have been asked at this hop, or the smaller one in vain. */
static void next_hop(struct mtu_tracer *tracer, bool large_answered)
{
    tracer->unheard = tracer->small_answered ? 0 : tracer->unheard + 1;
    if (large_answered)
        tracer->silent = 0;
    else if (tracer->small_answered)
        tracer->silent++;
    tracer->hops++;
    tracer->large = tracer->small_answered = false;
    tracer->tries = 0;
    if (tracer->hops > PATH_MTU_HOPS || tracer->silent == SILENT_MAX ||
        tracer->unheard == UNHEARD_MAX || tracer->result->first_is_peer)
        end_trace(tracer);
}

static void give_up(struct mtu_tracer *tracer)
{
    tracer->out = false;
    if (tracer->tries == TRIES)
        next_hop(tracer, false);
}

static enum status next_trace(struct lane *flow, struct mono now, struct mtu_ask *out_ask)
{
    struct mtu_tracer *tracer = &flow->tracer;
    int64_t wait = flow->wait_ns > WAIT_MIN_NS ? flow->wait_ns : WAIT_MIN_NS;

    if (tracer->over)
        return STATUS_AGAIN;
    if (tracer->out) {
        if (mono_between(tracer->until, now) < 0)
            return STATUS_AGAIN;
        give_up(tracer);
        if (tracer->over)
            return STATUS_AGAIN;
    }
    tracer->out = true;
    tracer->tries++;
    tracer->until = mono_after(now, wait);
    tracer->result->sent++;
    *out_ask =
        (struct mtu_ask){ .number = tracer->number++,
                          .size = tracer->large ? tracer->result->failing : tracer->result->passing,
                          .hops = tracer->hops };
    return STATUS_OK;
}

static struct mono deadline_trace(const struct lane *flow)
{
    if (flow->tracer.over)
        return never;
    return flow->tracer.out ? flow->tracer.until : (struct mono){ 0 };
}

static bool over_trace(const struct lane *flow)
{
    return flow->tracer.over;
}

/* `from`: which hop; the other end when it got there. */
static void heard(struct lane *flow, const struct addr *from, bool is_peer)
{
    struct mtu_tracer *tracer = &flow->tracer;
    struct path_mtu_trace *result = tracer->result;

    tracer->out = false;
    result->answered++;
    if (tracer->large) {
        result->last = *from;
        result->last_hops = tracer->hops;
        result->first_hops = 0; /* what had answered the smaller one alone was too early */
        result->first_is_peer = false;
        next_hop(tracer, true);
        if (is_peer)
            end_trace(tracer);
        return;
    }
    tracer->small_answered = tracer->large = true;
    tracer->tries = 0;
    if (result->first_hops > 0)
        return;
    result->first = *from;
    result->first_hops = tracer->hops;
    result->first_is_peer = is_peer;
}

static bool is_awaited(const struct mtu_tracer *tracer, uint32_t number)
{
    return !tracer->over && tracer->out && number + 1 == tracer->number;
}

static void answered_trace(struct lane *flow, uint32_t number, struct mono now)
{
    (void)now;
    if (is_awaited(&flow->tracer, number))
        heard(flow, &flow->peer, true);
}

static void refused_trace(struct lane *flow, uint32_t number, int64_t limit)
{
    (void)limit;
    if (!is_awaited(&flow->tracer, number))
        return;
    flow->tracer.result->sent--;
    give_up(&flow->tracer);
}

/* Somebody says now that the larger one is too big: then it is he who drops it. */
static void icmp_trace(struct lane *flow, const struct icmp_seen *icmp)
{
    bool whole = icmp->sent != NULL && mtu_class_of(icmp->sent->sequence) == MTU_CLASS_TRACE;

    if (icmp->quote == MTU_QUOTE_FOREIGN ||
        (icmp->sent != NULL &&
         (!whole || !is_awaited(&flow->tracer, mtu_number_of(icmp->sent->sequence)))) ||
        (icmp->sent == NULL && !flow->tracer.out))
        return;
    if (icmp->kind == ERROR_TIME_EXCEEDED)
        heard(flow, icmp->from, false);
}

const struct mtu_stage mtu_stage_trace = {
    .class = MTU_CLASS_TRACE,
    .next = next_trace,
    .deadline = deadline_trace,
    .over = over_trace,
    .answered = answered_trace,
    .refused = refused_trace,
    .icmp = icmp_trace,
};
