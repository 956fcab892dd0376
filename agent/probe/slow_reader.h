/* A reader in a process of its own that takes its time, and what a buffer does about it. */
#ifndef SONDE_PROBE_SLOW_READER_H
#define SONDE_PROBE_SLOW_READER_H

#include <stdatomic.h>

#include "proto/wire/buffers.h"

struct slow_reader_order {
    enum family family;
    int64_t payload, sends, read_ns, interval_ns;
    int64_t rcvbuf;              /* 0: a plain socket's default */
    const atomic_bool *stop;     /* set: end at once; may be NULL */
    void (*tick)(void *context); /* now and then; may be NULL */
    void *context;
};

/* Forks the reader, sends at the pace (full speed: back to back), samples the queue meanwhile,
 * waits until the reader has read all that came, and ends it. The process must have one thread. A
 * reader that dies is STATUS_IO and the fault says how. */
enum status slow_reader_measure(const struct slow_reader_order *order,
                                struct slow_reader_result *out_result,
                                struct fault *fault) must_check;

/* What is lost of `sent` datagrams that take sending_s seconds to send, when a buffer holds `held`
 * and a reader takes read_s seconds for each: max(0, 1 - (held + read during sending) / sent). */
double slow_reader_model(int64_t sent, double sending_s, int64_t held, double read_s);

/* Of `held` datagrams, how many are there on average when the sending ends, on a kernel that gives
 * the room of what was read back in lumps of `share` of the buffer (socket_release_share). Between
 * two lumps a full buffer loses what is read until the next one, and at the end up to a whole lump
 * is booked for nothing or not filled again yet. With p = read rate / sending rate, below 1, that
 * is from p to 1 lumps, (1 + p) / 2 on average; and never more than was read at all. */
int64_t slow_reader_held(int64_t sent, double sending_s, int64_t held, double read_s, double share);

#endif
