/* Owns the ring of datagrams that were sent lately. Must not know why, or how long one waits. */
#include "agent/probe/search_flight.h"

#include <assert.h>

static struct search_slot *slot_of(struct search_flight *flight, uint32_t id)
{
    return &flight->slots[id & (SEARCH_FLIGHT_SLOTS - 1)];
}

bool search_flight_full(const struct search_flight *flight)
{
    return flight->slots[flight->next & (SEARCH_FLIGHT_SLOTS - 1)].fate == SEARCH_FATE_OUT;
}

uint32_t search_flight_send(struct search_flight *flight, int32_t rank, struct mono now)
{
    uint32_t id = flight->next++;
    struct search_slot *slot = slot_of(flight, id);

    assert(slot->fate != SEARCH_FATE_OUT);
    *slot = (struct search_slot){ .id = id, .rank = rank, .fate = SEARCH_FATE_OUT, .sent = now };
    return id;
}

struct search_slot *search_flight_find(struct search_flight *flight, uint32_t id)
{
    struct search_slot *slot = slot_of(flight, id);

    return slot->fate != SEARCH_FATE_NONE && slot->id == id ? slot : NULL;
}

const struct search_slot *search_flight_oldest(const struct search_flight *flight)
{
    for (uint32_t id = flight->oldest; id != flight->next; id++) {
        const struct search_slot *slot = &flight->slots[id & (SEARCH_FLIGHT_SLOTS - 1)];

        if (slot->fate == SEARCH_FATE_OUT)
            return slot;
    }
    return NULL;
}

const struct search_slot *search_flight_expire(struct search_flight *flight, struct mono now,
                                               int64_t wait_ns)
{
    const struct search_slot *oldest = search_flight_oldest(flight);
    struct search_slot *slot;

    flight->oldest = oldest == NULL ? flight->next : oldest->id;
    if (oldest == NULL || mono_between(oldest->sent, now) < wait_ns)
        return NULL;
    slot = slot_of(flight, oldest->id);
    slot->fate = SEARCH_FATE_LOST;
    return slot;
}

bool search_flight_out(const struct search_flight *flight, uint32_t from)
{
    uint32_t id = from - flight->oldest < UINT32_MAX / 2 ? from : flight->oldest;

    for (; id != flight->next; id++)
        if (flight->slots[id & (SEARCH_FLIGHT_SLOTS - 1)].fate == SEARCH_FATE_OUT)
            return true;
    return false;
}
