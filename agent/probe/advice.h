/* How big must a receive buffer be? Pure arithmetic over what was measured here. */
#ifndef SONDE_PROBE_ADVICE_H
#define SONDE_PROBE_ADVICE_H

#include "agent/probe/capacity.h"
#include "proto/wire/result.h"

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
    int64_t datagrams; /* that must fit at once */
    int64_t needed;    /* granted bytes that hold them */
    int64_t ask;       /* for SO_RCVBUF */
    bool default_is_enough, limit_is_enough;
    double first_drop_s; /* not curable: when the largest buffer here first drops; NAN else */
};

/* Answers; `question` was checked: payload and burst at least 1, nothing negative. */
void advice_give(const struct advice_question *question, const struct advice_host *host,
                 struct advice *out_advice);

#endif
