/* Owns the estimate of the RTT. Must not know what is waited for. */
#include "agent/probe/search_timer.h"

#include "agent/probe/search.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void search_timer_sample(struct search_timer *timer, int64_t rtt_ns)
{
    int64_t rtt = larger(rtt_ns, 0);
    int64_t error = rtt - timer->srtt_ns;

    if (timer->samples == 0) {
        timer->srtt_ns = rtt;
        timer->rttvar_ns = rtt / 2;
    } else {
        timer->rttvar_ns += ((error < 0 ? -error : error) - timer->rttvar_ns) / 4;
        timer->srtt_ns += error / 8;
    }
    if (timer->samples % SEARCH_TIMER_SPAN == 0) {
        timer->max_before_ns = timer->max_ns;
        timer->max_ns = 0;
    }
    timer->max_ns = larger(timer->max_ns, rtt);
    timer->samples++;
}

int64_t search_timer_wait(const struct search_timer *timer)
{
    int64_t wait = 2 * larger(timer->max_ns, timer->max_before_ns);

    if (timer->samples == 0)
        return NS_PER_S;
    wait = larger(wait, timer->srtt_ns + 4 * timer->rttvar_ns);
    wait = larger(wait, SEARCH_TIMER_MIN_NS);
    return wait < SEARCH_TIMER_MAX_NS ? wait : SEARCH_TIMER_MAX_NS;
}
