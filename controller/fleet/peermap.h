/* A table from connections (channel_peer) to what their owner keeps of them. Pure. */
#ifndef SONDE_FLEET_PEERMAP_H
#define SONDE_FLEET_PEERMAP_H

#include <stddef.h>
#include <stdint.h>

/* Starts as {0}. A key is never 0. */
struct peermap {
    struct peermap_slot *slots; /* open addressing; a power of two of them, half of them free */
    size_t size, count;
};

/* Frees the table, not what it points to. */
void peermap_done(struct peermap *map);

/* Adds or replaces. `value` is borrowed until peermap_remove. */
void peermap_put(struct peermap *map, uint64_t peer, void *value);

/* NULL when it is not there. */
void *peermap_get(const struct peermap *map, uint64_t peer);
void *peermap_remove(struct peermap *map, uint64_t peer);

/* Walks all of them in no order: begin with *cursor = 0; NULL at the end. Nothing may be added or
 * removed meanwhile. */
void *peermap_next(const struct peermap *map, size_t *cursor);

#endif
