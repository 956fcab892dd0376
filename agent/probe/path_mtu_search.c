/* Owns the searches of all flows, and the course of probing: search, fragments, trace, sizes. Must
 * not know how a datagram is sent.
 */
#include "agent/probe/path_mtu_part.h"

#include <string.h>

#include "agent/host/addresses.h"
#include "agent/host/path_socket.h"
#include "agent/host/socket.h"
#include "agent/probe/size_loss.h"

static const struct mono never = { INT64_MAX };

/* --- the plan --------------------------------------------------------------------------------- */

struct path_mtu_plan path_mtu_plan_of(enum family family)
{
    const struct search_config config = search_config_of(family);

    return (struct path_mtu_plan){ .floor = config.floor,
                                   .tries = config.tries,
                                   .budget = config.budget,
                                   .pace = config.pace,
                                   .fragments = true,
                                   .trace = true,
                                   .check_ns = config.check_ns,
                                   .raise_ns = config.raise_ns };
}

int64_t mtu_largest(enum family family, const struct path_mtu_plan *plan)
{
    int64_t payload = family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;
    int64_t largest = payload + mtu_headers(family);

    return plan->most > 0 && plan->most < largest ? plan->most : largest;
}

static struct search_config config_of(const struct path_mtu_plan *plan, enum family family,
                                      int64_t local_mtu)
{
    struct search_config config = search_config_of(family);
    int64_t largest = mtu_largest(family, plan);

    config.floor = plan->floor;
    config.ceiling = plan->ceiling;
    if (config.ceiling == 0 && local_mtu != NONE_INT)
        config.ceiling = local_mtu < largest ? local_mtu : largest;
    else if (config.ceiling == 0 || (plan->most > 0 && config.ceiling > largest))
        config.ceiling = largest;
    config.guess = plan->guess;
    config.tries = plan->tries;
    config.budget = plan->budget;
    config.pace = plan->pace;
    config.watch = plan->watch_s > 0;
    config.check_ns = plan->check_ns;
    config.raise_ns = plan->raise_ns;
    return config;
}

enum status path_mtu_check(const struct path_mtu_plan *plan, enum family family, int64_t local_mtu,
                           struct fault *fault)
{
    const struct search_config config = config_of(plan, family, local_mtu);

    if (!(plan->watch_s >= 0 && plan->watch_s <= LIMIT_SECONDS))
        return fault_set(fault, STATUS_RANGE, "watching for %g s: 0 to %g s are allowed",
                         plan->watch_s, LIMIT_SECONDS);
    if (plan->sizes < 0 || plan->sizes > SIZE_LOSS_BUDGET_MAX)
        return fault_set(fault, STATUS_RANGE,
                         "loss by size with %lld datagrams: 0 (not at all) to %d are allowed",
                         (long long)plan->sizes, SIZE_LOSS_BUDGET_MAX);
    return search_check(&config, fault);
}

/* --- one search ------------------------------------------------------------------------------- */

static void note_end(struct lane *flow, struct mono now)
{
    if (search_state(flow->search) == SEARCH_ENDED && flow->result->seconds < 0)
        flow->result->seconds = (double)mono_between(flow->began, now) / (double)NS_PER_S;
}

static enum status next_search(struct lane *flow, struct mono now, struct mtu_ask *out_ask)
{
    struct search_ask ask;
    enum status status;

    if (flow->search == NULL)
        return STATUS_AGAIN;
    status = search_next(flow->search, now, &ask);
    note_end(flow, now);
    if (status == STATUS_OK)
        *out_ask = (struct mtu_ask){ .number = ask.id, .size = ask.size };
    return status;
}

static struct mono deadline_search(const struct lane *flow)
{
    return flow->search == NULL ? never : search_deadline(flow->search);
}

static bool over_search(const struct lane *flow)
{
    return flow->search == NULL || search_state(flow->search) == SEARCH_ENDED;
}

static void answered_search(struct lane *flow, uint32_t number, struct mono now)
{
    flow->received += search_acked(flow->search, number, now);
}

static void refused_search(struct lane *flow, uint32_t number, int64_t limit)
{
    if (limit < 0)
        search_unsent(flow->search, number);
    else
        search_too_big(flow->search, number, limit);
}

/* The same message again is counted; the first of a kind is kept. */
static void note_icmp(struct path_mtu_flow *result, const struct path_mtu_icmp *icmp)
{
    for (int64_t i = 0; i < result->icmp_count; i++) {
        struct path_mtu_icmp *known = &result->icmp[i];

        if (addr_equal(&known->from, &icmp->from) && known->mtu == icmp->mtu &&
            known->quote == icmp->quote && known->judged == icmp->judged) {
            known->count++;
            return;
        }
    }
    if (result->icmp_count == PATH_MTU_ICMP)
        result->icmp_missed++;
    else
        result->icmp[result->icmp_count++] = *icmp;
}

/* A quote that is too short is taken for the latest that it fits: more than a hint it is not. */
static void icmp_search(struct lane *flow, const struct icmp_seen *icmp)
{
    struct path_mtu_icmp noted = { .from = *icmp->from,
                                   .mtu = icmp->mtu,
                                   .quote = icmp->quote,
                                   .judged = SEARCH_PTB_UNKNOWN,
                                   .count = 1 };
    const struct mtu_sent *sent = icmp->sent;

    if (icmp->kind != ERROR_TOO_BIG || flow->search == NULL)
        return;
    if (sent == NULL && icmp->quote == MTU_QUOTE_SHORT)
        sent = mtu_ring_above(&flow->ring, icmp->mtu - mtu_headers(flow->family));
    if (sent != NULL && mtu_class_of(sent->sequence) == MTU_CLASS_PROBE)
        noted.judged = search_ptb(flow->search, mtu_number_of(sent->sequence), icmp->mtu);
    note_icmp(flow->result, &noted);
}

bool path_mtu_icmp_accepted(const struct path_mtu_icmp *icmp)
{
    return icmp->quote != MTU_QUOTE_FOREIGN && icmp->judged == SEARCH_PTB_HINT;
}

const struct mtu_stage mtu_stage_search = {
    .class = MTU_CLASS_PROBE,
    .next = next_search,
    .deadline = deadline_search,
    .over = over_search,
    .answered = answered_search,
    .refused = refused_search,
    .icmp = icmp_search,
};

/* --- the course ------------------------------------------------------------------------------- */

static int64_t kernel_mtu(const struct lane *flow)
{
    int64_t mtu = NONE_INT;

    return path_socket_kernel_mtu(&flow->result->local, &flow->peer, &mtu) == STATUS_OK ? mtu
                                                                                        : NONE_INT;
}

/* The address that the system has chosen towards the target. */
static struct addr local_of(const struct path_mtu *end, const struct lane *flow)
{
    struct addr local = flow->local;

    if (end->is_listener) {
        if (local.length > 0)
            addr_set_port(&local, end->port);
        return local;
    }
    memset(&local, 0, sizeof local);
    local.length = sizeof local.socket;
    if (getsockname(flow->fd, &local.socket.any, &local.length) != 0)
        local.length = 0;
    return local;
}

void path_mtu_addresses(const struct path_mtu *end, struct addr *out_local, struct addr *out_peer)
{
    size_t i = 0;

    while (end->is_listener && i < end->count && !end->flows[i].opened)
        i++;
    *out_local = *out_peer = (struct addr){ .length = 0 };
    if (i == end->count)
        return;
    *out_local = local_of(end, &end->flows[i]);
    *out_peer = end->flows[i].peer;
}

static void begin_result(const struct path_mtu *end, struct lane *flow,
                         struct path_mtu_flow *result)
{
    struct host_interface interface = { .mtu = NONE_INT };

    *result = (struct path_mtu_flow){ .opened = flow->opened,
                                      .source_port = NONE_INT,
                                      .local = local_of(end, flow),
                                      .peer = flow->peer,
                                      .search = { .outcome = SEARCH_UNREACHABLE },
                                      .seconds = -1,
                                      .local_mtu = NONE_INT,
                                      .kernel_before = NONE_INT,
                                      .kernel = NONE_INT };
    flow->result = result;
    if (!flow->opened)
        return;
    result->source_port = addr_port(end->is_listener ? &flow->peer : &result->local);
    result->kernel_before = kernel_mtu(flow);
    addresses_interface(&result->local, &interface);
    result->local_mtu = interface.mtu;
    /* More than that: the way there leads over another interface, as to this host itself. */
    if (interface.mtu != NONE_INT && result->kernel_before > interface.mtu)
        result->local_mtu = result->kernel_before;
}

static enum status begin_search(struct path_mtu *end, struct lane *flow, struct fault *fault)
{
    const struct path_mtu_flow *result = flow->result;
    struct search_config config = config_of(end->plan, end->family, result->local_mtu);
    enum status status;

    if (!flow->opened)
        return STATUS_OK;
    status = path_mtu_check(end->plan, end->family, result->local_mtu, fault);
    if (status != STATUS_OK)
        return status;
    digest_random(&config.seed, sizeof config.seed);
    flow->began = mono_now();
    flow->received = 0;
    memset(&flow->ring, 0, sizeof flow->ring);
    search_free(flow->search);
    flow->search = search_new(&config, flow->began);
    return STATUS_OK;
}

static enum status begin(struct path_mtu *end, struct path_mtu_flow *results, struct fault *fault)
{
    enum status status = STATUS_OK;
    size_t sockets = end->is_listener ? 1 : end->count;

    for (size_t i = 0; i < sockets; i++) /* what is left of before */
        mtu_hear(end, end->flows[i].fd, end->is_listener ? NULL : &end->flows[i]);
    end->pace = end->plan->pace;
    for (size_t i = 0; i < end->count; i++)
        begin_result(end, &end->flows[i], &results[i]);
    for (size_t i = 0; i < end->count && status == STATUS_OK; i++)
        status = begin_search(end, &end->flows[i], fault);
    return status;
}

/* What the searches have found; nothing that follows needs them. */
static void end_searches(struct path_mtu *end)
{
    struct mono now = mono_now();

    for (size_t i = 0; i < end->count; i++) {
        struct lane *flow = &end->flows[i];
        struct path_mtu_flow *result = flow->result;

        if (flow->search == NULL) {
            result->seconds = 0;
            continue;
        }
        search_result(flow->search, &result->search);
        if (result->seconds < 0)
            result->seconds = (double)mono_between(flow->began, now) / (double)NS_PER_S;
        flow->wait_ns = 4 * result->search.rtt_ns;
        search_free(flow->search);
        flow->search = NULL;
    }
}

static void finish(struct path_mtu *end)
{
    for (size_t i = 0; i < end->count; i++) {
        struct lane *flow = &end->flows[i];

        if (flow->opened)
            flow->result->kernel = kernel_mtu(flow);
        flow->result = NULL;
    }
    end->plan = NULL;
}

/* --- watching --------------------------------------------------------------------------------- */

struct watcher {
    struct path_mtu *end;
    const struct phase_watch *watch;
};

static void tell_changes(struct path_mtu *end)
{
    struct search_event event;

    for (size_t i = 0; i < end->count; i++) {
        struct lane *flow = &end->flows[i];

        while (flow->search != NULL && search_event(flow->search, &event))
            if (end->plan->changed != NULL)
                end->plan->changed(end->plan->context, i, &event);
    }
}

static void tick_watching(void *context)
{
    struct watcher *watcher = context;

    tell_changes(watcher->end);
    if (watcher->watch->tick != NULL)
        watcher->watch->tick(watcher->watch->context);
}

static enum status search_all(struct path_mtu *end, const struct phase_watch *watch,
                              struct fault *fault)
{
    struct watcher watcher = { end, watch };
    struct phase_watch own = *watch;
    enum status status;

    if (end->plan->watch_s <= 0)
        return mtu_stage_run(end, &mtu_stage_search, never, watch, fault);
    own.context = &watcher;
    own.tick = tick_watching;
    status = mtu_stage_run(end, &mtu_stage_search,
                           mono_after(mono_now(), (int64_t)(end->plan->watch_s * (double)NS_PER_S)),
                           &own, fault);
    tell_changes(end);
    return status;
}

/* --- fragments, trace, sizes ------------------------------------------------------------------ */

/* The size of fragments that passes on every flow. */
static int64_t least_path_mtu(const struct path_mtu *end)
{
    int64_t least = INT32_MAX;

    for (size_t i = 0; i < end->count; i++) {
        int64_t mtu = end->flows[i].result->search.path_mtu;

        if (mtu > 0 && mtu < least)
            least = mtu;
    }
    return least;
}

static enum status set_fragments(struct path_mtu *end, bool allowed, struct fault *fault)
{
    enum status status = STATUS_OK;
    size_t sockets = end->is_listener ? 1 : end->count;

    for (size_t i = 0; i < sockets; i++) {
        enum status one = allowed ? path_socket_allow_fragments(end->flows[i].fd, end->family,
                                                                least_path_mtu(end), fault)
                                  : socket_set_dont_fragment(end->flows[i].fd, end->family, fault);

        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static enum status try_fragments(struct path_mtu *end, const struct phase_watch *watch,
                                 struct fault *fault)
{
    enum status status = set_fragments(end, true, fault);
    enum status again;

    for (size_t i = 0; i < end->count; i++)
        mtu_fragments_begin(&end->flows[i], mtu_largest(end->family, end->plan));
    if (status == STATUS_OK)
        status = mtu_stage_run(end, &mtu_stage_fragments, never, watch, fault);
    again = set_fragments(end, false, status == STATUS_OK ? fault : NULL);
    return status == STATUS_OK ? again : status;
}

/* One flow of each answer is traced: routers limit how often they speak. */
static enum status trace(struct path_mtu *end, const struct phase_watch *watch, struct fault *fault)
{
    for (size_t i = 0; i < end->count; i++) {
        bool first = true;

        for (size_t j = 0; j < i; j++)
            first &= end->flows[j].result->search.path_mtu != end->flows[i].result->search.path_mtu;
        end->flows[i].tracer.wanted = first;
        mtu_trace_begin(&end->flows[i]);
    }
    return mtu_stage_run(end, &mtu_stage_trace, never, watch, fault);
}

/* On one flow: it is the path's loss that is asked for, and all flows share the pace. */
static enum status measure_sizes(struct path_mtu *end, const struct phase_watch *watch,
                                 struct fault *fault)
{
    struct lane *flow = &end->flows[0];
    enum status status;

    mtu_sizes_begin(flow, end->plan);
    status = mtu_stage_run(end, &mtu_stage_sizes, mtu_sizes_until(flow, end->plan), watch, fault);
    mtu_sizes_end(flow);
    return status;
}

enum status path_mtu_probe(struct path_mtu *end, const struct path_mtu_plan *plan,
                           const struct phase_watch *watch, struct path_mtu_flow *out_flows,
                           struct fault *fault)
{
    enum status status;

    end->plan = plan;
    status = begin(end, out_flows, fault);
    if (status == STATUS_OK)
        status = search_all(end, watch, fault);
    end_searches(end);
    if (status == STATUS_OK && plan->fragments && plan->watch_s <= 0)
        status = try_fragments(end, watch, fault);
    if (status == STATUS_OK && plan->trace && plan->watch_s <= 0)
        status = trace(end, watch, fault);
    if (status == STATUS_OK && plan->sizes > 0 && plan->watch_s <= 0)
        status = measure_sizes(end, watch, fault);
    finish(end);
    return status;
}
