/* Owns what acknowledgements, refusals and ICMP errors mean. Must not know rounds or states beyond
 * whether the answer is known already.
 */
#include "agent/probe/search_machine.h"
#include "proto/wire/budget.h"

/* A size is proven by an answer of this search; in SEARCH_WATCHING a larger one begins another. */
static void prove(struct search *search, int32_t rank, uint32_t id)
{
    if (id - search->first_id >= UINT32_MAX / 2)
        return;
    if (search->state == SEARCH_WATCHING && rank > search->table.lo) {
        search_begin(search);
        search->first_id = id;
    }
    search_table_acked(&search->table, rank, id);
}

bool search_acked(struct search *search, uint32_t id, struct mono now)
{
    struct search_slot *slot = search_flight_find(&search->flight, id);
    bool late;

    if (slot == NULL || slot->fate == SEARCH_FATE_ACKED || slot->fate == SEARCH_FATE_VOID ||
        search->state == SEARCH_ENDED)
        return false;
    late = slot->fate == SEARCH_FATE_LOST;
    slot->fate = SEARCH_FATE_ACKED;
    search_timer_sample(&search->timer, mono_between(slot->sent, now));
    search->heard = true;
    search->silent = 0;
    search->last_heard = now;
    if (slot->rank != SEARCH_CONTROL_RANK) {
        prove(search, slot->rank, id);
        return true;
    }
    search->controls_lost_in_row = 0;
    search->counts.controls_lost -= late && search->counts.controls_lost > 0;
    if (late)
        search_table_control_late(&search->table, id);
    else
        search_table_control(&search->table, id, true);
    if (search->config.control == search->config.floor && search->table.lo < 0)
        prove(search, 0, id);
    return true;
}

/* A hint is a bound that is only suspected: it narrows, and asks for both of its sides. */
static void take_hint(struct search *search, int32_t rank)
{
    struct search_table *table = &search->table;

    if (rank + 1 <= table->lo || rank + 1 >= search_table_suspect(table))
        return;
    table->hint = rank + 1;
    if (search->state == SEARCH_NARROWING)
        search->hurry = true;
}

/* Marks a datagram that did not leave; NULL: there is none to mark. */
static const struct search_slot *void_slot(struct search *search, uint32_t id)
{
    struct search_slot *slot = search_flight_find(&search->flight, id);

    if (slot == NULL || slot->fate != SEARCH_FATE_OUT)
        return NULL;
    slot->fate = SEARCH_FATE_VOID;
    search->counts.refused++;
    search->controls_lost_in_row += slot->rank == SEARCH_CONTROL_RANK;
    return slot;
}

void search_too_big(struct search *search, uint32_t id, int64_t limit)
{
    const struct search_slot *slot = void_slot(search, id);
    int32_t rank = search_scale_rank(&search->table.scale, limit);

    if (slot == NULL || slot->rank == SEARCH_CONTROL_RANK)
        return;
    search_table_refused(&search->table, slot->rank);
    if (limit > 0 && rank < slot->rank && search->state != SEARCH_WATCHING)
        take_hint(search, rank);
}

void search_unsent(struct search *search, uint32_t id)
{
    void_slot(search, id);
}

static int64_t size_of(const struct search *search, const struct search_slot *slot)
{
    return slot->rank == SEARCH_CONTROL_RANK ? search->config.control
                                             : search_scale_size(&search->table.scale, slot->rank);
}

static enum search_ptb judge_ptb(const struct search *search, const struct search_slot *slot,
                                 int64_t mtu)
{
    int64_t least = search->config.family == FAMILY_IPV4 ? MTU_MIN_IPV4 : MTU_MIN_IPV6;
    bool watching = search->state == SEARCH_WATCHING && slot != NULL &&
                    slot->rank == search->table.lo && slot->fate != SEARCH_FATE_ACKED;

    if (slot == NULL || slot->fate == SEARCH_FATE_VOID)
        return SEARCH_PTB_UNKNOWN;
    if (mtu < least)
        return SEARCH_PTB_TOO_SMALL;
    if (mtu >= size_of(search, slot))
        return SEARCH_PTB_NOT_SMALLER;
    if (mtu < search->config.control || slot->fate == SEARCH_FATE_ACKED ||
        (search_scale_rank(&search->table.scale, mtu) < search->table.lo && !watching))
        return SEARCH_PTB_CONTRADICTED;
    return SEARCH_PTB_HINT;
}

enum search_ptb search_ptb(struct search *search, uint32_t id, int64_t mtu)
{
    const struct search_slot *slot = search_flight_find(&search->flight, id);
    enum search_ptb ptb = judge_ptb(search, slot, mtu);
    int32_t rank = search_scale_rank(&search->table.scale, mtu);

    if (ptb != SEARCH_PTB_HINT || search->state == SEARCH_ENDED)
        return ptb;
    if (search->state == SEARCH_WATCHING && rank < search->table.lo) {
        search->alarmed = !search->alarm_spent;
        search->carried_hint = rank + 1;
        return ptb;
    }
    for (int32_t i = 0; i < search->hint_count; i++)
        if (search->hints[i] == rank)
            return ptb;
    if (search->hint_count == SEARCH_HURRIES)
        return ptb;
    search->hints[search->hint_count++] = rank;
    if (search->state != SEARCH_WATCHING)
        take_hint(search, rank);
    return ptb;
}
