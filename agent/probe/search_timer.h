/* How long an acknowledgement is waited for: a part of search. Pure.
 *
 * RFC 6298's smoothed RTT and variance, and the largest of the last 32 to 64 samples. Every
 * datagram has its own id, so every acknowledgement is a sample. */
#ifndef SONDE_PROBE_SEARCH_TIMER_H
#define SONDE_PROBE_SEARCH_TIMER_H

#include <stdint.h>

enum { SEARCH_TIMER_SPAN = 32 };

struct search_timer {
    int64_t srtt_ns, rttvar_ns;
    int64_t max_ns, max_before_ns; /* of the current span, and of the one before */
    int64_t samples;
};

void search_timer_sample(struct search_timer *timer, int64_t rtt_ns);

/* The wait; without a sample, RFC 8085's first guess of 1 s. */
int64_t search_timer_wait(const struct search_timer *timer);

#endif
