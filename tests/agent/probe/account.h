/* The account of a case as docs/measurement.md states it, written out. */
#ifndef SONDE_TEST_PROBE_ACCOUNT_H
#define SONDE_TEST_PROBE_ACCOUNT_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "proto/wire/result.h"

static inline void assert_sum(const char *what, int64_t whole, int64_t parts)
{
    if (whole != parts)
        fail_msg("%s: %" PRId64 ", but its parts add up to %" PRId64, what, whole, parts);
}

static inline void assert_leg_adds_up(const struct leg *leg)
{
    const struct refused *refused = &leg->refused;
    const struct lost_to *to = &leg->lost_to;

    assert_sum("attempted", leg->attempted,
               leg->sent + refused->eagain + refused->enobufs + refused->emsgsize + refused->eperm +
                   refused->econnrefused + refused->other);
    assert_sum("sent", leg->sent, leg->received + leg->late + leg->lost);
    assert_sum("lost", leg->lost,
               to->receive_buffer + to->sender_host + to->receiver_host + to->network +
                   to->unattributed);
    assert_true(leg->lost >= 0 && to->receive_buffer >= 0 && to->sender_host >= 0);
    assert_true(to->receiver_host >= 0 && to->network >= 0 && to->unattributed >= 0);
    if (to->sender_host > 0 || to->receiver_host > 0)
        assert_int_equal(leg->evidence, EVIDENCE_SYSTEM_WIDE);
}

static inline void assert_phase_adds_up(const struct phase *phase)
{
    const struct leg *forward = &phase->forward;
    const struct leg *reverse = &phase->reverse;

    assert_true(phase->present);
    assert_leg_adds_up(forward);
    assert_leg_adds_up(reverse);
    /* every datagram that arrived in time has its echo, duplicates have none */
    assert_int_equal(reverse->attempted, forward->received);
    assert_sum("lost_echoes", phase->lost_echoes,
               forward->lost + reverse->lost + refused_total(&reverse->refused));
    assert_true(phase->seconds > 0);
    assert_int_equal(phase->counters.count, 1);
}

static inline bool phase_is_clean(const struct phase *phase)
{
    return phase->lost_echoes == 0 && refused_total(&phase->forward.refused) == 0 &&
           refused_total(&phase->reverse.refused) == 0 && phase->forward.corrupt == 0 &&
           phase->reverse.corrupt == 0 && phase->forward.late == 0 && phase->reverse.late == 0;
}

static inline void assert_rtt_adds_up(const struct case_result *result)
{
    const struct phase *measure = &result->phases.measure;
    const int64_t(*buckets)[2] = result->rtt_ns.histogram.items;
    int64_t total = 0;

    assert_true(result->rtt_ns.present);
    for (size_t i = 0; i < result->rtt_ns.histogram.count; i++)
        total += buckets[i][1];
    assert_sum("rtt_ns", result->rtt_ns.count, total);
    /* nothing is doubled or without its time on loopback */
    assert_sum("rtt_ns", result->rtt_ns.count, measure->reverse.received);
    if (total > 0)
        assert_true(result->rtt_ns.min >= 0 && result->rtt_ns.min <= result->rtt_ns.p50 &&
                    result->rtt_ns.p50 <= result->rtt_ns.max);
}

static inline void assert_burst_adds_up(const struct case_result *result)
{
    const struct first_burst *first = &result->first_burst;
    const struct case_common *common = &result->params.common;
    int64_t burst = common->clients * result->params.window;

    assert_true(first->present);
    assert_int_equal(first->sent, burst);
    assert_true(first->lost >= 0 && first->lost <= first->sent);
    assert_true(first->lost <= result->phases.measure.forward.lost);
    if (common->io_model == IO_MODEL_SHARED && common->interval_ns == 0)
        assert_int_equal(first->predicted_lost, burst > result->sockets.burst_capacity
                                                    ? burst - result->sockets.burst_capacity
                                                    : 0);
    else
        assert_true(first->predicted_lost == NONE_INT);
}

static inline void assert_case_adds_up(const struct case_result *result)
{
    const struct phase *measure = &result->phases.measure;
    bool open_loop = result->params.common.interval_ns > 0;

    if (result->status == CASE_ERROR)
        fail_msg("%s", result->error);
    assert_string_equal(result->error, "");
    assert_true(result->sockets.present);
    assert_int_equal(result->phases.warmup.present, result->params.common.warmup_s > 0);
    if (result->phases.warmup.present)
        assert_phase_adds_up(&result->phases.warmup);
    assert_phase_adds_up(measure);
    assert_int_equal(result->status, phase_is_clean(measure) ? CASE_PASS : CASE_FAIL);
    assert_int_equal(isnan(measure->echoes_per_second), result->status != CASE_PASS);
    if (result->status == CASE_PASS)
        assert_true(fabs(measure->echoes_per_second * measure->seconds -
                         (double)measure->reverse.received) < 0.5);
    assert_int_equal(measure->slip_ns != NONE_INT, open_loop);
    assert_int_equal(measure->skipped_bursts != NONE_INT, open_loop);
    assert_rtt_adds_up(result);
    assert_burst_adds_up(result);
}

#endif
