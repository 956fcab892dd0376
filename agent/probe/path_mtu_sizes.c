/* Owns loss by size over a flow: which datagrams are under way, how long they are waited for, and
 * what came of them. Must not know sockets, nor how sizes are chosen (size_loss).
 *
 * An answer that is lost is no lost datagram: the answers behind it tell that its probe has come.
 * What is left is the end, where none follows, and a way back that loses 64 in a row.
 */
#include "agent/probe/path_mtu_part.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "agent/probe/size_loss.h"
#include "proto/base/memory.h"

/* The search's numbers end before: its late answers are none of these. Numbers whose slot is taken
 * are stepped over; half of the slots are free, so two numbers a datagram are enough. */
enum { FIRST_NUMBER = MTU_NUMBERS / 2, SLOTS = MTU_RING_SLOTS, UNDER_WAY_MAX = SLOTS / 2 };

/* So many bytes a receive buffer of the default size (Linux: 208 KiB) holds for certain, while the
 * other end is not scheduled: it must not be what loses the larger ones. */
enum { AHEAD_MAX = 64, AHEAD_MIN = 4, AHEAD_BYTES = 96 << 10 };

#define WAIT_RTTS   4
#define WAIT_MIN_NS (250 * NS_PER_MS)
#define WAIT_MAX_NS SEARCH_TIMER_MAX_NS
#define DEAD_NS     (3 * NS_PER_S)  /* and one wait: nobody answers any more */
#define SPARE_NS    (60 * NS_PER_S) /* on top of twice the time that the pace takes */

static const struct mono never = { INT64_MAX };

enum slot_state { SLOT_FREE, SLOT_UNDER_WAY, SLOT_GIVEN_UP };

struct slot {
    enum slot_state state;
    uint32_t number, id; /* on the wire, and of size_loss */
    int64_t order;       /* among all that were asked for */
    struct mono sent_at;
};

struct lane_sizes {
    struct size_loss *loss;
    struct mono began, heard_at;
    bool asked_all, over;
    uint32_t next, oldest; /* numbers: not used yet, and the first that is under way */
    int64_t asked, refused, under_way;
    int64_t passed; /* the latest order that was answered, given up or refused */
    int64_t ahead;  /* how many may follow it */
    int64_t wait_ns;
    struct slot slots[SLOTS];
};

/* --- the beginning ---------------------------------------------------------------------------- */

static struct size_loss_config config_of(const struct lane *flow, const struct path_mtu_plan *plan)
{
    const struct search_config search = search_config_of(flow->family);
    struct size_loss_config config = {
        .floor = plan->floor,
        .ceiling = flow->result->search.path_mtu,
        .gap_first = search.gap_first,
        .gap_last = search.gap_last,
        .budget = plan->sizes > SIZE_LOSS_BLOCK ? plan->sizes : SIZE_LOSS_BLOCK,
    };

    if (config.floor >= config.gap_first && config.floor <= config.gap_last)
        config.floor = config.gap_last + 1;
    digest_random(&config.seed, sizeof config.seed);
    return config;
}

/* What fits into the path at the pace, and what may wait at its end. */
static int64_t ahead_of(const struct size_loss_config *config, int64_t rtt_ns, int64_t pace)
{
    int64_t waiting = AHEAD_BYTES / config->ceiling;
    double mean = (double)(config->floor + config->ceiling) / 2;
    double flying = (double)rtt_ns / (double)NS_PER_S * (double)pace / mean;

    if (waiting > AHEAD_MAX)
        waiting = AHEAD_MAX;
    else if (waiting < AHEAD_MIN)
        waiting = AHEAD_MIN;
    return waiting + (int64_t)fmin(flying, UNDER_WAY_MAX);
}

/* 4 of the largest RTT that was seen. */
static void set_wait(struct lane_sizes *sizes, int64_t rtt_ns)
{
    int64_t wait_ns = rtt_ns < WAIT_MAX_NS / WAIT_RTTS ? WAIT_RTTS * rtt_ns : WAIT_MAX_NS;

    if (wait_ns > sizes->wait_ns)
        sizes->wait_ns = wait_ns;
}

/* Never one that was used before, as the other end tells which have come; and right behind the
 * search's last one in the ring, so that late answers to it are still known. */
static uint32_t first_number(const struct lane *flow)
{
    uint32_t first = flow->sizes_next > 0 ? flow->sizes_next : FIRST_NUMBER;
    uint32_t slot = (uint32_t)(flow->result->search.datagrams % SLOTS);

    return first + (slot + SLOTS - first % SLOTS) % SLOTS;
}

void mtu_sizes_begin(struct lane *flow, const struct path_mtu_plan *plan)
{
    const struct search_result *search = &flow->result->search;
    struct size_loss_config config = config_of(flow, plan);
    struct lane_sizes *sizes;

    flow->result->size_effect = (struct mtu_size_effect){
        .present = true,
        .threshold = NONE_INT,
        .least = NONE_INT,
        .most = NONE_INT,
        .high_below = 1,
        .low_above = NAN,
        .high_above = NAN,
    };
    if (search->outcome != SEARCH_FOUND || config.floor >= config.ceiling)
        return; /* there is nothing to compare, and that nothing was sent says so */
    sizes = memory_new(1, sizeof *sizes);
    *sizes = (struct lane_sizes){
        .loss = size_loss_new(&config),
        .began = mono_now(),
        .next = first_number(flow),
        .ahead = ahead_of(&config, search->rtt_ns, plan->pace),
        .wait_ns = WAIT_MIN_NS,
    };
    sizes->oldest = sizes->next;
    sizes->heard_at = sizes->began;
    set_wait(sizes, search->rtt_ns);
    flow->sizes = sizes;
}

struct mono mtu_sizes_until(const struct lane *flow, const struct path_mtu_plan *plan)
{
    double bytes = (double)plan->sizes * (double)flow->result->search.path_mtu;
    double seconds = fmin(2 * bytes / (double)plan->pace, LIMIT_SECONDS);

    return mono_after(mono_now(), (int64_t)(seconds * (double)NS_PER_S) + SPARE_NS);
}

/* --- what is under way ------------------------------------------------------------------------ */

static bool is_under_way(const struct lane_sizes *sizes, uint32_t number)
{
    const struct slot *slot = &sizes->slots[number % SLOTS];

    return slot->state == SLOT_UNDER_WAY && slot->number == number;
}

static void settle(struct lane_sizes *sizes, struct slot *slot, enum size_loss_fate fate)
{
    bool was_open = size_loss_settle(sizes->loss, slot->id, fate);

    assert(was_open);
    sizes->under_way--;
    slot->state = fate == SIZE_LOSS_LOST ? SLOT_GIVEN_UP : SLOT_FREE;
    if (slot->order > sizes->passed)
        sizes->passed = slot->order;
}

static void give_up(struct lane_sizes *sizes, struct mono now)
{
    for (; sizes->oldest != sizes->next; sizes->oldest++) {
        struct slot *slot = &sizes->slots[sizes->oldest % SLOTS];

        if (!is_under_way(sizes, sizes->oldest))
            continue;
        if (mono_between(slot->sent_at, now) < sizes->wait_ns)
            return;
        settle(sizes, slot, SIZE_LOSS_LOST);
    }
}

static struct slot *take_slot(struct lane_sizes *sizes)
{
    while (sizes->slots[sizes->next % SLOTS].state == SLOT_UNDER_WAY)
        sizes->next++;
    return &sizes->slots[sizes->next % SLOTS];
}

static bool may_ask(const struct lane_sizes *sizes)
{
    return !sizes->asked_all && sizes->under_way < UNDER_WAY_MAX &&
           sizes->asked - sizes->passed < sizes->ahead;
}

/* --- the stage -------------------------------------------------------------------------------- */

static enum status next_sizes(struct lane *flow, struct mono now, struct mtu_ask *out_ask)
{
    struct lane_sizes *sizes = flow->sizes;
    struct size_loss_ask ask;
    struct slot *slot;
    enum status status;

    if (sizes == NULL || sizes->over)
        return STATUS_AGAIN;
    give_up(sizes, now);
    if (mono_between(sizes->heard_at, now) >= DEAD_NS + sizes->wait_ns) {
        sizes->over = true;
        return STATUS_AGAIN;
    }
    status = may_ask(sizes) ? size_loss_next(sizes->loss, &ask) : STATUS_AGAIN;
    if (status == STATUS_NOT_FOUND)
        sizes->asked_all = true;
    if (status != STATUS_OK) {
        sizes->over = sizes->asked_all && sizes->under_way == 0;
        return STATUS_AGAIN;
    }
    slot = take_slot(sizes);
    *slot = (struct slot){ .state = SLOT_UNDER_WAY,
                           .number = sizes->next++,
                           .id = ask.id,
                           .order = ++sizes->asked,
                           .sent_at = now };
    sizes->under_way++;
    *out_ask = (struct mtu_ask){ .number = slot->number, .size = ask.size };
    return STATUS_OK;
}

/* Nothing is under way only when all is over. */
static struct mono deadline_sizes(const struct lane *flow)
{
    const struct lane_sizes *sizes = flow->sizes;

    if (sizes == NULL || sizes->over || sizes->oldest == sizes->next)
        return never;
    return mono_after(sizes->slots[sizes->oldest % SLOTS].sent_at, sizes->wait_ns);
}

static bool over_sizes(const struct lane *flow)
{
    return flow->sizes == NULL || flow->sizes->over;
}

/* NULL: not one of these, or forgotten. */
static struct slot *slot_of(struct lane *flow, uint32_t number)
{
    struct slot *slot = flow->sizes == NULL ? NULL : &flow->sizes->slots[number % SLOTS];

    return slot != NULL && slot->state != SLOT_FREE && slot->number == number ? slot : NULL;
}

/* One that comes too late counts no more; those behind it are waited for longer. */
static void answered_sizes(struct lane *flow, uint32_t number, struct mono now)
{
    struct slot *slot = slot_of(flow, number);

    if (slot == NULL)
        return;
    flow->sizes->heard_at = now;
    set_wait(flow->sizes, mono_between(slot->sent_at, now));
    if (slot->state == SLOT_UNDER_WAY) {
        flow->received++;
        settle(flow->sizes, slot, SIZE_LOSS_RECEIVED);
    }
    slot->state = SLOT_FREE;
}

/* Its own answer may still come, and means nothing any more. */
static void told_sizes(struct lane *flow, uint32_t number)
{
    struct slot *slot = slot_of(flow, number);

    if (slot == NULL || slot->state != SLOT_UNDER_WAY)
        return;
    flow->received++;
    settle(flow->sizes, slot, SIZE_LOSS_RECEIVED);
}

static void refused_sizes(struct lane *flow, uint32_t number, int64_t limit)
{
    struct slot *slot = slot_of(flow, number);

    (void)limit;
    assert(slot != NULL && slot->state == SLOT_UNDER_WAY);
    flow->sizes->refused++;
    settle(flow->sizes, slot, SIZE_LOSS_UNSENT);
}

const struct mtu_stage mtu_stage_sizes = {
    .class = MTU_CLASS_PROBE,
    .next = next_sizes,
    .deadline = deadline_sizes,
    .over = over_sizes,
    .answered = answered_sizes,
    .told = told_sizes,
    .refused = refused_sizes,
};

/* --- the end ---------------------------------------------------------------------------------- */

int64_t mtu_sizes_sent(const struct lane *flow)
{
    return flow->sizes == NULL ? 0 : flow->sizes->asked - flow->sizes->refused;
}

static void put_effect(const struct size_loss *loss, struct mtu_size_effect *effect)
{
    struct size_loss_verdict verdict;

    size_loss_decide(loss, &verdict);
    effect->found = verdict.found;
    effect->sent_below = verdict.below.sent;
    effect->lost_below = verdict.below.lost;
    effect->low_below = verdict.below.low;
    effect->high_below = verdict.below.high;
    effect->sent_above = verdict.above.sent;
    effect->lost_above = verdict.above.lost;
    effect->sent = verdict.below.sent + verdict.above.sent;
    effect->lost = verdict.below.lost + verdict.above.lost;
    if (!verdict.found)
        return;
    effect->threshold = verdict.threshold;
    effect->least = verdict.least;
    effect->most = verdict.most;
    effect->low_above = verdict.above.low;
    effect->high_above = verdict.above.high;
}

void mtu_sizes_end(struct lane *flow)
{
    struct lane_sizes *sizes = flow->sizes;
    struct path_mtu_flow *result = flow->result;
    struct size_loss_count count;

    if (sizes == NULL)
        return;
    put_effect(sizes->loss, &result->size_effect);
    result->size_effect.seconds = (double)mono_between(sizes->began, mono_now()) / (double)NS_PER_S;
    for (size_t i = 0; size_loss_size(sizes->loss, i, &count); i++) {
        struct mtu_size *size = list_append_sized(&result->loss_by_size, sizeof *size);

        *size = (struct mtu_size){ .payload = count.size - mtu_headers(flow->family),
                                   .sent = count.sent,
                                   .lost = count.lost };
    }
    flow->sizes_next = sizes->next;
    size_loss_free(sizes->loss);
    free(sizes);
    flow->sizes = NULL;
}
