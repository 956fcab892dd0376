/* Owns where connections are found and when their memory goes. Must not know ZeroMQ or TLS. */
#include "proto/link/channel_table.h"

#include <assert.h>
#include <stdlib.h>

#include "proto/base/memory.h"

void channel_table_init(struct channel_table *table, size_t capacity)
{
    size_t buckets = 4;

    while (buckets < capacity)
        buckets *= 2;
    *table = (struct channel_table){ .mask = buckets - 1 };
    table->by_number = memory_new(buckets, sizeof(struct channel_slot *));
    table->by_key = memory_new(buckets, sizeof(struct channel_slot *));
}

void channel_table_done(struct channel_table *table)
{
    channel_table_sweep(table);
    assert(table->count == 0 && table->released == NULL);
    free(table->by_number);
    free(table->by_key);
}

struct channel_slot *channel_table_add(struct channel_table *table, channel_peer number,
                                       uint64_t key)
{
    struct channel_slot *slot = memory_new(1, sizeof *slot);

    slot->number = number;
    slot->key = key;
    slot->next_by_number = table->by_number[number & table->mask];
    slot->next_by_key = table->by_key[key & table->mask];
    table->by_number[number & table->mask] = slot;
    table->by_key[key & table->mask] = slot;
    table->count++;
    return slot;
}

struct channel_slot *channel_table_by_number(const struct channel_table *table, channel_peer number)
{
    struct channel_slot *slot = table->by_number[number & table->mask];

    while (slot != NULL && slot->number != number)
        slot = slot->next_by_number;
    return slot;
}

struct channel_slot *channel_table_by_key(const struct channel_table *table, uint64_t key)
{
    struct channel_slot *slot = table->by_key[key & table->mask];

    while (slot != NULL && slot->key != key)
        slot = slot->next_by_key;
    return slot;
}

void channel_table_each(const struct channel_table *table, channel_visit *visit, void *context)
{
    for (size_t i = 0; i <= table->mask; i++) {
        struct channel_slot *next;

        for (struct channel_slot *slot = table->by_number[i]; slot != NULL; slot = next) {
            next = slot->next_by_number;
            visit(slot, context);
        }
    }
}

void channel_table_release(struct channel_table *table, struct channel_slot *slot)
{
    struct channel_slot **at = &table->by_number[slot->number & table->mask];

    assert(!slot->released && slot->timer.place == 0);
    while (*at != slot)
        at = &(*at)->next_by_number;
    *at = slot->next_by_number;
    at = &table->by_key[slot->key & table->mask];
    while (*at != slot)
        at = &(*at)->next_by_key;
    *at = slot->next_by_key;
    table->count--;
    slot->released = true;
    slot->next_by_key = table->released;
    table->released = slot;
}

void channel_table_sweep(struct channel_table *table)
{
    struct channel_slot **at = &table->released;

    while (*at != NULL) {
        struct channel_slot *slot = *at;

        if (slot->queued) {
            at = &slot->next_by_key;
            continue;
        }
        *at = slot->next_by_key;
        peer_free(slot->peer);
        free(slot);
    }
}

void channel_queue_put(struct channel_queue *queue, struct channel_slot *slot)
{
    if (slot->queued)
        return;
    slot->queued = true;
    slot->next_in_queue = NULL;
    if (queue->last != NULL)
        queue->last->next_in_queue = slot;
    else
        queue->first = slot;
    queue->last = slot;
    queue->count++;
}

struct channel_slot *channel_queue_take(struct channel_queue *queue)
{
    struct channel_slot *slot = queue->first;

    if (slot == NULL)
        return NULL;
    queue->first = slot->next_in_queue;
    if (queue->first == NULL)
        queue->last = NULL;
    queue->count--;
    slot->queued = false;
    return slot;
}
