/* Owns pieces in the order of their coming, of all connections together: those of one stay in
 * order too. Must not know connections. Whoever puts keeps it small: see `held`. */
#include "proto/link/channel_wait.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"

void channel_wait_put(struct channel_wait *wait, channel_peer number, const void *bytes,
                      size_t length)
{
    struct channel_waiting *piece = memory_new(1, sizeof *piece + length);

    piece->number = number;
    piece->length = length;
    if (length > 0)
        memcpy(piece->bytes, bytes, length);
    if (wait->last != NULL)
        wait->last->next = piece;
    else
        wait->first = piece;
    wait->last = piece;
    wait->held += sizeof *piece + length;
}

struct channel_waiting *channel_wait_take(struct channel_wait *wait)
{
    struct channel_waiting *piece = wait->first;

    if (piece == NULL)
        return NULL;
    wait->first = piece->next;
    if (wait->first == NULL)
        wait->last = NULL;
    wait->held -= sizeof *piece + piece->length;
    return piece;
}

void channel_wait_done(struct channel_wait *wait)
{
    struct channel_waiting *piece;

    while ((piece = channel_wait_take(wait)) != NULL)
        free(piece);
}
