/* Owns the question whether datagrams above the path MTU arrive when they may be cut. Must not know
 * sockets: DF is off while it runs.
 */
#include "agent/probe/path_mtu_part.h"

#include <math.h>

enum { ROUND = 10, ROUNDS = 2 };

#define WAIT_MIN_NS (200 * NS_PER_MS)
#define CHANCE      1e-4 /* of saying "dropped" by the loss of small ones alone */

static const struct mono never = { INT64_MAX };

/* Twice the path MTU makes two fragments and a bit, whoever cuts. IPv6's sender does, and Linux
 * only what does not fit its interface. 0: there is no such size. */
static int64_t size_of(const struct lane *flow, int64_t largest)
{
    const struct path_mtu_flow *result = flow->result;
    int64_t size = 2 * result->search.path_mtu;
    int64_t above = result->search.path_mtu;

    if (flow->family == FAMILY_IPV6 && result->local_mtu > above)
        above = result->local_mtu;
    if (size <= above)
        size = above + 1;
    if (size > largest)
        size = largest;
    return size > above ? size : 0;
}

void mtu_fragments_begin(struct lane *flow, int64_t largest)
{
    struct path_mtu_fragments *result = &flow->result->fragments;

    result->size = flow->result->search.outcome == SEARCH_FOUND ? size_of(flow, largest) : 0;
    flow->fragments = (struct lane_fragments){ .result = result, .over = result->size == 0 };
}

/* That all `tries` are lost when each of a datagram's fragments is lost as small ones are. */
static double chance_of_none(const struct path_mtu_fragments *result, int64_t path_mtu)
{
    double loss =
        (double)(result->small_sent - result->small_arrived + 1) / (double)(result->small_sent + 2);
    int64_t pieces = result->size / path_mtu + 1;

    return pow(1 - pow(1 - loss, (double)pieces), (double)result->sent);
}

static void conclude(struct lane *flow)
{
    struct path_mtu_fragments *result = flow->fragments.result;

    flow->fragments.over = true;
    if (result->arrived > 0)
        result->arrive = PATH_MTU_PASS;
    else if (result->sent > 0 && chance_of_none(result, flow->result->search.path_mtu) < CHANCE)
        result->arrive = PATH_MTU_DROPPED;
}

static int64_t wait_of(const struct lane *flow)
{
    return flow->wait_ns > WAIT_MIN_NS ? flow->wait_ns : WAIT_MIN_NS;
}

/* Large and small by turns; even numbers are the large ones. */
static enum status ask(struct lane *flow, struct mtu_ask *out_ask)
{
    struct lane_fragments *fragments = &flow->fragments;
    bool large = fragments->next % 2 == 0;

    if (large) {
        fragments->sent++;
        fragments->result->sent++;
    } else {
        fragments->small_sent++;
        fragments->result->small_sent++;
    }
    *out_ask = (struct mtu_ask){ .number = fragments->next++,
                                 .size = large ? fragments->result->size
                                               : mtu_headers(flow->family) + MTU_ANSWER_SIZE };
    return STATUS_OK;
}

static enum status next_fragments(struct lane *flow, struct mono now, struct mtu_ask *out_ask)
{
    struct lane_fragments *fragments = &flow->fragments;
    const struct path_mtu_fragments *result = fragments->result;

    if (fragments->over)
        return STATUS_AGAIN;
    if (fragments->sent < ROUND || fragments->small_sent < ROUND) {
        fragments->until = mono_after(now, wait_of(flow));
        return ask(flow, out_ask);
    }
    if (result->arrived + result->small_arrived < result->sent + result->small_sent &&
        mono_between(fragments->until, now) < 0)
        return STATUS_AGAIN;
    if (++fragments->rounds == ROUNDS || result->arrived > 0) {
        conclude(flow);
        return STATUS_AGAIN;
    }
    fragments->sent = fragments->small_sent = 0;
    return next_fragments(flow, now, out_ask);
}

static struct mono deadline_fragments(const struct lane *flow)
{
    return flow->fragments.over ? never : flow->fragments.until;
}

static bool over_fragments(const struct lane *flow)
{
    return flow->fragments.over;
}

/* A duplicate in the network counts twice, up to what was sent: the answer is the same. */
static void answered_fragments(struct lane *flow, uint32_t number, struct mono now)
{
    struct path_mtu_fragments *result = flow->fragments.result;

    (void)now;
    if (number % 2 == 0)
        result->arrived += result->arrived < result->sent;
    else
        result->small_arrived += result->small_arrived < result->small_sent;
}

static void refused_fragments(struct lane *flow, uint32_t number, int64_t limit)
{
    struct path_mtu_fragments *result = flow->fragments.result;

    (void)limit;
    if (number % 2 == 0)
        result->sent--;
    else
        result->small_sent--;
}

const struct mtu_stage mtu_stage_fragments = {
    .class = MTU_CLASS_FRAGMENT,
    .next = next_fragments,
    .deadline = deadline_fragments,
    .over = over_fragments,
    .answered = answered_fragments,
    .refused = refused_fragments,
};
