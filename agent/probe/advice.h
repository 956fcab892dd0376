/* How big must a receive buffer be? Pure arithmetic over what was measured here.
 *
 * What must fit at once is what comes while nobody reads: the burst, and of a steady stream what
 * comes meanwhile,
 *
 *     datagrams = burst + ceil(rate x pause)
 *
 * A buffer of `taken` bytes holds them: the smallest with capacity_of(taken) >= datagrams (of one
 * datagram, which fits in any: its charge). That is also what is needed, unless the stream goes on
 * while the reader works its queue off (rate > 0) and the system frees what was read in lumps of up
 * to a quarter of the buffer (Linux, net/ipv4/udp.c:udp_rmem_release). Then the quarter may be
 * booked for nothing:
 *
 *     needed = the smallest with needed - needed / 4 >= taken
 *
 * No buffer is large enough when datagrams come faster than they are read, rate x read_ns > 1 s. A
 * buffer that holds `capacity` then drops first, counted from the burst,
 *
 *     at once                                               when capacity <= burst
 *     after (capacity - burst) / rate                       when that is within the pause
 *     after pause + (capacity - datagrams) / (rate - 1 / read_ns)             else
 *
 * and up to a quarter of the capacity sooner where freed room comes back in lumps.
 */
#ifndef SONDE_PROBE_ADVICE_H
#define SONDE_PROBE_ADVICE_H

#include "agent/probe/capacity.h"
#include "proto/wire/result.h"

/* The most that can be asked about; no product of them leaves 64 bits. */
#define ADVICE_BURST_MAX INT64_C(1000000000)
#define ADVICE_RATE_MAX  1e9
#define ADVICE_PAUSE_MAX (86400 * INT64_C(1000000000))

/* What the user says of the traffic. */
struct advice_question {
    int64_t payload;  /* bytes */
    int64_t burst;    /* datagrams that come back to back */
    double rate;      /* datagrams per second that come steadily; 0: a single burst */
    int64_t pause_ns; /* the longest the reader does not read; 0: until the burst is over */
    int64_t read_ns;  /* the reader's time for each datagram; 0: not given */
};

/* What is known of this host. */
struct advice_host {
    struct capacity capacity; /* charge and rule of this payload */
    int64_t factor;           /* granted / asked: 2 on Linux, 1 on macOS */
    int64_t default_granted;  /* of a plain socket */
    int64_t most_granted;     /* what the largest ask gets */
    bool lazy_release;        /* a quarter may stay booked while it is being read (Linux) */
};

struct advice {
    bool curable;      /* false: the rate is above the read rate, no buffer holds it */
    bool possible;     /* false: `ask` is more than any socket can ask for */
    int64_t datagrams; /* that must fit at once */
    int64_t taken;     /* granted bytes that hold them while nobody reads */
    int64_t needed;    /* granted bytes that hold them, and what a busy reader leaves booked */
    int64_t ask;       /* for SO_RCVBUF: the smallest that is granted as `needed` or more */
    bool default_is_enough, limit_is_enough; /* false when not curable */
    double first_drop_s; /* not curable: when the largest buffer here first drops; NAN else */
};

/* Answers; `question` was checked: payload and burst at least 1, nothing negative, nothing above
 * the limits. */
void advice_give(const struct advice_question *question, const struct advice_host *host,
                 struct advice *out_advice);

#endif
