/* The advised buffer holds what was asked about, one charge less does not; and what no buffer holds
 * is said to be so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>

#include "agent/probe/advice.h"
#include "tests/agent/probe/chance.h"

static const struct advice_host linux_host = { .capacity = { 2304, 0 },
                                               .factor = 2,
                                               .default_granted = 212992,
                                               .most_granted = 425984,
                                               .lazy_release = true };

static struct advice ask(const struct advice_host *host, struct advice_question question)
{
    struct advice advice;

    if (question.payload == 0)
        question.payload = 1472;
    advice_give(&question, host, &advice);
    return advice;
}

static bool same(double a, double b)
{
    return fabs(a - b) < 1e-9 * (1 + fabs(b));
}

static void a_burst_needs_what_it_takes(void **state)
{
    struct advice advice = ask(&linux_host, (struct advice_question){ .burst = 100 });

    (void)state;
    assert_true(advice.curable && advice.possible);
    assert_int_equal(advice.datagrams, 100);
    assert_int_equal(advice.taken, 230400);
    assert_int_equal(advice.needed, 230400); /* nobody reads, so nothing is freed late */
    assert_int_equal(advice.ask, 115200);
    assert_true(!advice.default_is_enough && advice.limit_is_enough);
    assert_true(isnan(advice.first_drop_s));
}

static void the_grants_decide_to_the_datagram(void **state)
{
    (void)state;
    assert_true(ask(&linux_host, (struct advice_question){ .burst = 92 }).default_is_enough);
    assert_false(ask(&linux_host, (struct advice_question){ .burst = 93 }).default_is_enough);
    assert_true(ask(&linux_host, (struct advice_question){ .burst = 184 }).limit_is_enough);
    assert_false(ask(&linux_host, (struct advice_question){ .burst = 185 }).limit_is_enough);
}

static void a_stream_fills_the_pause(void **state)
{
    /* 20,000 a second for 50 ms are 1,000; a quarter may stay booked */
    const struct advice_question question = { .burst = 64, .rate = 20000, .pause_ns = 50000000 };
    struct advice advice = ask(&linux_host, question);
    struct advice_host prompt = linux_host;

    (void)state;
    assert_int_equal(advice.datagrams, 1064);
    assert_int_equal(advice.taken, 1064 * 2304);
    assert_true(advice.needed - advice.needed / 4 >= advice.taken);
    assert_true(advice.needed - 1 - (advice.needed - 1) / 4 < advice.taken);
    prompt.lazy_release = false;
    assert_int_equal(ask(&prompt, question).needed, 1064 * 2304);
    /* a part of a datagram is one more */
    assert_int_equal(ask(&prompt, (struct advice_question){ 1472, 1, 10, 50000000, 0 }).datagrams,
                     2);
    assert_int_equal(ask(&prompt, (struct advice_question){ 1472, 1, 10, 100000000, 0 }).datagrams,
                     2);
}

static void a_reader_that_keeps_up_is_curable(void **state)
{
    struct advice_question question = { .burst = 10, .rate = 1000, .read_ns = 1000000 };

    (void)state;
    assert_true(ask(&linux_host, question).curable);
    question.read_ns++;
    assert_false(ask(&linux_host, question).curable);
    question.rate = 0;
    assert_true(ask(&linux_host, question).curable);
}

static void too_slow_a_reader_is_told_when_it_drops(void **state)
{
    struct advice_host host = linux_host; /* its largest holds 184 */
    struct advice_question question = { .burst = 4, .rate = 10000, .read_ns = 1000000 };
    struct advice advice = ask(&host, question);

    (void)state;
    assert_false(advice.curable || advice.default_is_enough || advice.limit_is_enough);
    assert_true(same(advice.first_drop_s, 180.0 / 9000));
    question.pause_ns = 10000000; /* 100 more before it reads */
    assert_true(same(ask(&host, question).first_drop_s, 0.01 + 80.0 / 9000));
    question.pause_ns = 1000000000; /* full within the pause */
    assert_true(same(ask(&host, question).first_drop_s, 180.0 / 10000));
    question.burst = 184;
    assert_true(same(ask(&host, question).first_drop_s, 0));
}

static void what_no_socket_can_ask_for_is_said(void **state)
{
    struct advice_question question = { .burst = 932066 }; /* x 2,304 is 2^31 less 3,584 */

    (void)state;
    assert_true(ask(&linux_host, question).possible);
    question.burst += 3;
    assert_false(ask(&linux_host, question).possible);
    question = (struct advice_question){ .burst = ADVICE_BURST_MAX,
                                         .rate = ADVICE_RATE_MAX,
                                         .pause_ns = ADVICE_PAUSE_MAX };
    assert_false(ask(&linux_host, question).possible);
    assert_int_equal(ask(&linux_host, question).datagrams, 86401 * INT64_C(1000000000));
    assert_true(ask(&linux_host, question).needed > ask(&linux_host, question).taken);
}

static void a_single_datagram_needs_its_own_size(void **state)
{
    struct advice advice = ask(&linux_host, (struct advice_question){ .burst = 1 });

    (void)state;
    assert_int_equal(advice.taken, 2304);
    assert_int_equal(advice.ask, 1152);
    assert_true(advice.default_is_enough);
}

/* Hosts of every kind: either rule, doubled or not, charges that are whole or quotients. */
static void holds_and_one_charge_less_does_not(void **state)
{
    struct chance chance = chance_start("advice");

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const struct advice_host host = {
            .capacity = { i % 3 == 0 ? 786896.0 / (double)(1 + chance_below(&chance, 5000))
                                     : (double)(500 + chance_below(&chance, 70000)),
                          i & 1 },
            .factor = 1 + (i >> 1 & 1),
            .default_granted = 212992,
            .most_granted = 8388608,
            .lazy_release = (i >> 2 & 1) != 0,
        };
        const struct advice_question question = {
            .payload = 1000,
            .burst = 2 + (int64_t)chance_below(&chance, 5000),
            .rate = (i >> 3 & 1) != 0 ? (double)chance_below(&chance, 100000) : 0,
            .pause_ns = (int64_t)chance_below(&chance, 100000000),
        };
        const struct capacity *capacity = &host.capacity;
        struct advice advice = ask(&host, question);
        int64_t granted = advice.ask * host.factor;
        int64_t left = host.lazy_release && question.rate > 0 ? granted - granted / 4 : granted;
        int64_t less = advice.taken - (int64_t)ceil(capacity->charge);

        assert_true(capacity_of(capacity, left) >= advice.datagrams);
        if (less > 0 && capacity_of(capacity, less) >= advice.datagrams)
            fail_msg("%" PRId64 " bytes hold %" PRId64 " of %.17g, %" PRId64 " too", advice.taken,
                     advice.datagrams, capacity->charge, less);
        assert_true((advice.ask - 1) * host.factor < advice.needed);
        assert_true(advice.default_is_enough == (advice.needed <= host.default_granted));
        assert_true(advice.limit_is_enough == (advice.needed <= host.most_granted));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_needs_what_it_takes),
        cmocka_unit_test(the_grants_decide_to_the_datagram),
        cmocka_unit_test(a_stream_fills_the_pause),
        cmocka_unit_test(a_reader_that_keeps_up_is_curable),
        cmocka_unit_test(too_slow_a_reader_is_told_when_it_drops),
        cmocka_unit_test(what_no_socket_can_ask_for_is_said),
        cmocka_unit_test(a_single_datagram_needs_its_own_size),
        cmocka_unit_test(holds_and_one_charge_less_does_not),
    };

    return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
