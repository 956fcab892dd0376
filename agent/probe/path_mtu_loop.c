/* Owns the one thread of an end: who is heard and asked when, and the pace of all flows together.
 * Must not know what is asked, or why.
 */
#include "agent/probe/path_mtu_part.h"

#include "agent/host/poller.h"

#define TICK_NS  (100 * NS_PER_MS)
#define BURST_NS (2 * NS_PER_MS) /* sent at once after a rest, at the pace */

enum { TOKENS = 64, LOOKS = 64 };

static const uint64_t wake_token = UINT64_MAX;
static const struct mono never = { INT64_MAX };

static struct mono earlier(struct mono a, struct mono b)
{
    return mono_between(a, b) < 0 ? b : a;
}

/* --- asking ----------------------------------------------------------------------------------- */

void mtu_flow_wake(struct lane *flow)
{
    flow->due = (struct mono){ 0 };
}

static void spend(struct path_mtu *end, int64_t size, struct mono now)
{
    struct mono least = mono_after(now, -BURST_NS);

    if (mono_between(end->next_send, least) > 0)
        end->next_send = least;
    end->next_send = mono_after(end->next_send, size * NS_PER_S / end->pace);
}

static bool may_send(const struct path_mtu *end, struct mono now)
{
    return mono_between(end->next_send, now) >= 0;
}

/* Each flow sends all it has, one after the other; the pace may end it in the middle. */
static struct mono ask_flows(struct path_mtu *end, struct mono now)
{
    struct mono next = never;

    for (size_t i = 0; i < end->count; i++) {
        struct lane *flow = &end->flows[(end->turn + i) % end->count];
        struct mtu_ask ask;

        while (mono_between(flow->due, now) >= 0) {
            if (!may_send(end, now)) {
                end->turn = flow->index;
                return earlier(end->next_send, next);
            }
            if (end->stage->next(flow, now, &ask) == STATUS_OK) {
                spend(end, ask.size, now);
                mtu_send(end, flow, &ask, now);
                continue;
            }
            flow->due = end->stage->deadline(flow);
            break;
        }
        next = earlier(flow->due, next);
    }
    return next;
}

static bool stage_over(const struct path_mtu *end)
{
    for (size_t i = 0; i < end->count; i++)
        if (!end->stage->over(&end->flows[i]))
            return false;
    return true;
}

/* --- the loop --------------------------------------------------------------------------------- */

struct looker {
    struct poller *poller;
    const struct phase_watch *watch;
    struct mono ticked_at;
    bool woken;
};

static enum status look_at(struct path_mtu *end, struct looker *looker, struct fault *fault)
{
    enum status status = poller_new(&looker->poller, fault);

    if (status == STATUS_OK && looker->watch->wake_fd > 0)
        status = poller_add(looker->poller, looker->watch->wake_fd, wake_token, fault);
    if (status == STATUS_OK && end->is_listener)
        return poller_add(looker->poller, end->fd, 0, fault);
    for (size_t i = 0; i < end->count && status == STATUS_OK; i++)
        status = poller_add(looker->poller, end->flows[i].fd, i, fault);
    return status;
}

/* Everything that is there now; a flood ends it. */
static void hear_all(struct path_mtu *end, struct looker *looker)
{
    uint64_t tokens[TOKENS];

    looker->woken = false;
    for (int i = 0; i < LOOKS; i++) {
        size_t count = poller_wait(looker->poller, 0, tokens, TOKENS);
        size_t heard = 0;

        for (size_t j = 0; j < count; j++) {
            if (tokens[j] == wake_token) {
                looker->woken = true;
                continue;
            }
            heard++;
            if (end->is_listener)
                mtu_hear(end, end->fd, NULL);
            else
                mtu_hear(end, end->flows[tokens[j]].fd, &end->flows[tokens[j]]);
        }
        if (heard == 0)
            return;
    }
}

static void tick(struct looker *looker)
{
    struct mono now = mono_now();

    if (looker->watch->tick == NULL ||
        (!looker->woken && mono_between(looker->ticked_at, now) < TICK_NS))
        return;
    looker->ticked_at = now;
    looker->watch->tick(looker->watch->context);
}

static bool is_set(const atomic_bool *flag)
{
    return flag != NULL && atomic_load(flag);
}

static void wait_until(struct looker *looker, struct mono next)
{
    uint64_t tokens[TOKENS];
    int64_t left = mono_between(mono_now(), next);

    (void)poller_wait(looker->poller, left < TICK_NS ? left : TICK_NS, tokens, TOKENS);
}

static enum status run(struct path_mtu *end, const struct mtu_loop *loop, struct looker *looker)
{
    const struct phase_watch *watch = looker->watch;

    for (;;) {
        struct mono now = mono_now(); /* what came before is heard before anything is given up */
        struct mono next;

        hear_all(end, looker);
        tick(looker);
        if (is_set(watch->stop))
            return STATUS_INTERRUPTED;
        next = loop->turn == NULL ? never : loop->turn(end, now);
        if (is_set(watch->finish) || (loop->until_woken && looker->woken) ||
            mono_between(loop->until, now) >= 0 || (loop->over != NULL && loop->over(end)))
            return STATUS_OK;
        wait_until(looker, earlier(next, loop->until));
    }
}

enum status mtu_loop_run(struct path_mtu *end, const struct mtu_loop *loop,
                         const struct phase_watch *watch, struct fault *fault)
{
    struct looker looker = { .watch = watch, .ticked_at = mono_now() };
    enum status status = look_at(end, &looker, fault);

    if (status == STATUS_OK) {
        status = run(end, loop, &looker);
        if (status == STATUS_INTERRUPTED)
            fault_set(fault, status, "interrupted while probing the path");
    }
    poller_free(looker.poller);
    return status;
}

enum status mtu_stage_run(struct path_mtu *end, const struct mtu_stage *stage, struct mono until,
                          const struct phase_watch *watch, struct fault *fault)
{
    const struct mtu_loop loop = { .turn = ask_flows, .over = stage_over, .until = until };
    enum status status;

    end->stage = stage;
    for (size_t i = 0; i < end->count; i++)
        mtu_flow_wake(&end->flows[i]);
    status = mtu_loop_run(end, &loop, watch, fault);
    end->stage = NULL;
    return status;
}
