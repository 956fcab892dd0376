/* Owns a hash table with linear probing. A removal moves the entries behind it up, so that no
 * slot is ever a tombstone and a busy controller's table does not decay. */
#include "controller/fleet/peermap.h"

#include <assert.h>
#include <stdlib.h>

#include "proto/base/memory.h"

enum { FIRST_SIZE = 16 };

struct peermap_slot {
    uint64_t peer; /* 0: free */
    void *value;
};

void peermap_done(struct peermap *map)
{
    free(map->slots);
    *map = (struct peermap){ 0 };
}

/* Connections are numbered one after another: spread them (Fibonacci hashing). */
static size_t home_of(const struct peermap *map, uint64_t peer)
{
    return (size_t)((peer * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->size - 1);
}

/* The slot of this peer, or the free one where it belongs. */
static size_t find(const struct peermap *map, uint64_t peer)
{
    size_t at = home_of(map, peer);

    while (map->slots[at].peer != 0 && map->slots[at].peer != peer)
        at = (at + 1) & (map->size - 1);
    return at;
}

static void grow(struct peermap *map)
{
    struct peermap old = *map;

    map->size = old.size == 0 ? FIRST_SIZE : old.size * 2;
    map->slots = memory_new(map->size, sizeof *map->slots);
    for (size_t i = 0; i < old.size; i++) {
        if (old.slots[i].peer != 0)
            map->slots[find(map, old.slots[i].peer)] = old.slots[i];
    }
    free(old.slots);
}

void peermap_put(struct peermap *map, uint64_t peer, void *value)
{
    struct peermap_slot *slot;

    assert(peer != 0 && value != NULL);
    if (map->count * 2 >= map->size)
        grow(map);
    slot = &map->slots[find(map, peer)];
    if (slot->peer == 0)
        map->count++;
    *slot = (struct peermap_slot){ peer, value };
}

void *peermap_get(const struct peermap *map, uint64_t peer)
{
    return map->size == 0 || peer == 0 ? NULL : map->slots[find(map, peer)].value;
}

void *peermap_remove(struct peermap *map, uint64_t peer)
{
    size_t mask = map->size - 1, free_at, at;
    void *value = peermap_get(map, peer);

    if (value == NULL)
        return NULL;
    free_at = find(map, peer);
    for (at = (free_at + 1) & mask; map->slots[at].peer != 0; at = (at + 1) & mask) {
        size_t home = home_of(map, map->slots[at].peer);

        /* It may move up unless its home lies between the free slot and itself. */
        if (((at - home) & mask) >= ((at - free_at) & mask)) {
            map->slots[free_at] = map->slots[at];
            free_at = at;
        }
    }
    map->slots[free_at] = (struct peermap_slot){ 0 };
    map->count--;
    return value;
}

void *peermap_next(const struct peermap *map, size_t *cursor)
{
    while (*cursor < map->size) {
        const struct peermap_slot *slot = &map->slots[(*cursor)++];

        if (slot->peer != 0)
            return slot->value;
    }
    return NULL;
}
