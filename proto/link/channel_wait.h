/* Pieces that have come from connections that are not in a hurry, until it is their turn. Part of
 * channel; it knows neither what they mean nor whose they are.
 */
#ifndef SONDE_LINK_CHANNEL_WAIT_H
#define SONDE_LINK_CHANNEL_WAIT_H

#include <stdint.h>

#include "proto/link/channel.h"

/* One piece; freed by free(). */
struct channel_waiting {
    struct channel_waiting *next;
    channel_peer number;
    size_t length; /* 0: a notice */
    uint8_t bytes[];
};

/* Zeroed: empty. */
struct channel_wait {
    struct channel_waiting *first, *last;
    size_t held; /* bytes, with what it costs to hold them */
};

/* Behind the others. The bytes are copied. */
void channel_wait_put(struct channel_wait *wait, channel_peer number, const void *bytes,
                      size_t length);

/* The oldest one: the caller's now. NULL when there is none. */
struct channel_waiting *channel_wait_take(struct channel_wait *wait);

void channel_wait_done(struct channel_wait *wait);

#endif
