/* Owns the arithmetic of advice. Measures nothing and knows no system: adviser.h asks the host. */
#include "agent/probe/advice.h"

#include <assert.h>
#include <math.h>

#include "proto/base/clock.h"
#include "proto/wire/limits.h"

/* What a buffer has for datagrams while what was read comes back in lumps. */
static int64_t usable(int64_t granted)
{
    return granted - granted / 4;
}

static int64_t with_slack(int64_t taken)
{
    int64_t needed = taken + taken / 3;

    while (usable(needed) < taken)
        needed++;
    while (needed > 1 && usable(needed - 1) >= taken)
        needed--;
    return needed;
}

/* A single one fits whatever the buffer, but it is its own size that is to be asked for. */
static int64_t bytes_taken(const struct capacity *capacity, int64_t datagrams)
{
    return datagrams == 1 ? (int64_t)ceil(capacity->charge) : capacity_needed(capacity, datagrams);
}

static double first_drop_s(const struct advice_question *question, int64_t capacity)
{
    double left = (double)(capacity - question->burst);
    double pause_s = (double)question->pause_ns / (double)NS_PER_S;
    double read_rate = (double)NS_PER_S / (double)question->read_ns;

    if (left <= 0)
        return 0;
    if (left < question->rate * pause_s)
        return left / question->rate;
    return pause_s + (left - question->rate * pause_s) / (question->rate - read_rate);
}

void advice_give(const struct advice_question *question, const struct advice_host *host,
                 struct advice *out_advice)
{
    double pause_s = (double)question->pause_ns / (double)NS_PER_S;
    struct advice advice = { .first_drop_s = NAN };

    assert(question->burst >= 1 && question->burst <= ADVICE_BURST_MAX);
    assert(question->rate >= 0 && question->rate <= ADVICE_RATE_MAX);
    assert(question->pause_ns >= 0 && question->pause_ns <= ADVICE_PAUSE_MAX);
    advice.curable = question->rate * (double)question->read_ns <= (double)NS_PER_S;
    advice.datagrams = question->burst + (int64_t)ceil(question->rate * pause_s);
    advice.taken = bytes_taken(&host->capacity, advice.datagrams);
    advice.needed =
        host->lazy_release && question->rate > 0 ? with_slack(advice.taken) : advice.taken;
    advice.ask = advice.needed / host->factor + (advice.needed % host->factor != 0);
    advice.possible = advice.ask <= LIMIT_SOCKET_BUFFER / host->factor;
    if (advice.curable) {
        advice.default_is_enough = advice.needed <= host->default_granted;
        advice.limit_is_enough = advice.needed <= host->most_granted;
    } else {
        advice.first_drop_s =
            first_drop_s(question, capacity_of(&host->capacity, host->most_granted));
    }
    *out_advice = advice;
}
