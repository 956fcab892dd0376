/* Owns bytes on their way in or out of a peer. Must not know what they mean. Taking is an offset,
 * so many small pieces cost no more than one large; an empty queue holds no memory. */
#include "proto/link/peer_queue.h"

#include <assert.h>
#include <string.h>

void peer_queue_init(struct peer_queue *queue, size_t cap)
{
    queue->taken = 0;
    buf_init(&queue->bytes, 2 * cap);
}

void peer_queue_done(struct peer_queue *queue)
{
    queue->taken = 0;
    buf_done(&queue->bytes);
}

/* Each byte is moved at most once for each byte that was taken. */
struct buf *peer_queue_end(struct peer_queue *queue)
{
    size_t left = peer_queue_length(queue);

    if (queue->taken > 0 && queue->taken >= left) {
        memmove(queue->bytes.data, queue->bytes.data + queue->taken, left);
        queue->bytes.length = left;
        queue->taken = 0;
    }
    return &queue->bytes;
}

size_t peer_queue_peek(const struct peer_queue *queue, const uint8_t **out_bytes)
{
    *out_bytes = (const uint8_t *)buf_peek(&queue->bytes) + queue->taken;
    return peer_queue_length(queue);
}

size_t peer_queue_length(const struct peer_queue *queue)
{
    return queue->bytes.length - queue->taken;
}

void peer_queue_take(struct peer_queue *queue, size_t length)
{
    assert(length <= peer_queue_length(queue));
    queue->taken += length;
    if (peer_queue_length(queue) == 0)
        peer_queue_done(queue);
}
