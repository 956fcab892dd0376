/* Bytes that come in at one end and are taken at the other. A part of peer. */
#ifndef SONDE_LINK_PEER_QUEUE_H
#define SONDE_LINK_PEER_QUEUE_H

#include <stdint.h>

#include "proto/base/buf.h"

struct peer_queue {
    struct buf bytes;
    size_t taken; /* of them, from the start */
};

/* For about `cap` bytes: the owner keeps count, the queue itself stops at twice as many. */
void peer_queue_init(struct peer_queue *queue, size_t cap);

/* Frees what it holds; it can be used again. */
void peer_queue_done(struct peer_queue *queue);

/* Where to append. Moves what is left to the start when that is cheap. */
struct buf *peer_queue_end(struct peer_queue *queue);

/* What is there: borrowed until the next call. */
size_t peer_queue_peek(const struct peer_queue *queue, const uint8_t **out_bytes);
size_t peer_queue_length(const struct peer_queue *queue);

/* Takes `length` bytes of what is there; the last ones free its memory. */
void peer_queue_take(struct peer_queue *queue, size_t length);

#endif
