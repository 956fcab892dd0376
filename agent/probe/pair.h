/* A sender and a receiver on this machine's loopback that nobody reads: what experiments on a
 * receive buffer are made of. */
#ifndef SONDE_PROBE_PAIR_H
#define SONDE_PROBE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/result.h"

struct pair {
    int receiver, sender;
    struct grant rcvbuf; /* asked is 0 where the default was left */
    size_t payload;
    uint8_t *bytes; /* payload + 1: what is sent, and room to read */
};

/* Opens both and connects the sender to the receiver. rcvbuf 0 leaves a plain socket's default.
 * pair_done closes them; on failure there is nothing to close. */
enum status pair_open(enum family family, size_t payload, int64_t rcvbuf, struct pair *out_pair,
                      struct fault *fault) must_check;
void pair_done(struct pair *pair);

/* Sends `count` datagrams back to back. Refused ones are counted by cause in *out_refused; returns
 * how many the kernel took. */
int64_t pair_send(const struct pair *pair, int64_t count, struct refused *out_refused);

/* Waits until something can be read, at most half a second: a busy kernel may deliver later. */
bool pair_wait(const struct pair *pair);

/* Reads and counts what is there now. */
int64_t pair_read_present(const struct pair *pair);

/* Reads and counts until nothing more comes, which takes half a second to see. */
int64_t pair_read_all(const struct pair *pair);

/* What nobody has read yet. */
struct pair_queue {
    int64_t held;         /* datagrams: sent and not dropped */
    int64_t queued_bytes; /* what the kernel charges for them */
};

/* Waits, at most half a second, until each of `sent` datagrams is in the receiver's queue or among
 * its drops, of which there were `drops_before` before the first was sent; `charge` is what one
 * takes of the buffer. STATUS_UNSUPPORTED where a socket does not count its drops. */
enum status pair_settle(const struct pair *pair, int64_t sent, uint32_t drops_before,
                        int64_t charge, struct pair_queue *out_queue) must_check;

#endif
