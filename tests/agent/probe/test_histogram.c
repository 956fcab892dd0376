/* Percentiles must be within 1 % of those of a sorted list, and merging must lose nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/probe/histogram.h"
#include "tests/agent/probe/chance.h"

enum { SAMPLES = 5000, RANGE_BITS = 40 };

/* Spread evenly over the powers of two below 2^40. */
static int64_t some_time(struct chance *chance)
{
    uint64_t bits = chance_below(chance, RANGE_BITS + 1);

    return (int64_t)(chance_next(chance) & ((UINT64_C(1) << bits) - 1));
}

static void assert_close(int64_t found, int64_t exact)
{
    if (llabs(found - exact) > exact / 100)
        fail_msg("%" PRId64 " is more than 1 %% from %" PRId64, found, exact);
}

static void is_right_within_one_percent(void **state)
{
    struct chance chance = chance_start("histogram range");
    struct histogram histogram;

    (void)state;
    for (int i = 0; i < 4000; i++) {
        int64_t ns = i < 1024 ? i : some_time(&chance);

        /* Far ends around it, so that the exact minimum and maximum do not help. */
        histogram_init(&histogram);
        histogram_add(&histogram, 0);
        histogram_add(&histogram, ns);
        histogram_add(&histogram, INT64_C(1) << RANGE_BITS);
        assert_close(histogram_percentile(&histogram, 0.5), ns);
    }
}

static void is_right_around_every_power_of_two(void **state)
{
    (void)state;
    for (int bit = 0; bit < RANGE_BITS; bit++) {
        for (int64_t step = -1; step <= 1; step++) {
            int64_t ns = (INT64_C(1) << bit) + step;
            struct histogram histogram;

            histogram_init(&histogram);
            histogram_add(&histogram, 0);
            histogram_add(&histogram, ns);
            histogram_add(&histogram, INT64_MAX);
            assert_close(histogram_percentile(&histogram, 0.5), ns);
        }
    }
}

static void keeps_exact_ends(void **state)
{
    struct histogram histogram;

    (void)state;
    histogram_init(&histogram);
    assert_true(histogram_percentile(&histogram, 0.5) == NONE_INT);
    histogram_add(&histogram, 1234567);
    assert_int_equal(histogram_percentile(&histogram, 0.5), 1234567);
    histogram_add(&histogram, -5);
    assert_int_equal(histogram.min, 0);
    histogram_add(&histogram, INT64_MAX);
    assert_true(histogram.max == INT64_MAX);
    assert_int_equal(histogram.bucket[HISTOGRAM_BUCKETS - 1], 1);
    assert_true(histogram_percentile(&histogram, 1.0) >= INT64_C(1) << 39);
    assert_int_equal(histogram.count, 3);
}

static void merges_to_what_adding_all_gives(void **state)
{
    struct chance chance = chance_start("histogram merge");
    static struct histogram whole, merged, part[3];

    (void)state;
    histogram_init(&whole);
    histogram_init(&merged);
    for (size_t i = 0; i < 3; i++)
        histogram_init(&part[i]);
    for (size_t i = 0; i < SAMPLES; i++) {
        int64_t ns = some_time(&chance);

        histogram_add(&whole, ns);
        histogram_add(&part[i % 2], ns); /* the third stays empty */
    }
    for (size_t i = 0; i < 3; i++)
        histogram_merge(&merged, &part[2 - i]);
    assert_int_equal(merged.count, whole.count);
    assert_int_equal(merged.min, whole.min);
    assert_int_equal(merged.max, whole.max);
    assert_memory_equal(merged.bucket, whole.bucket, sizeof whole.bucket);
}

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void agrees_with_a_sorted_list(void **state)
{
    static const int64_t thousandths[] = { 1, 100, 500, 900, 990, 999, 1000 };
    static int64_t times[SAMPLES];
    struct chance chance = chance_start("histogram sorted");

    (void)state;
    for (int64_t n = 1; n <= SAMPLES; n = n * 2 + (int64_t)chance_below(&chance, 7)) {
        struct histogram histogram;

        histogram_init(&histogram);
        for (int64_t i = 0; i < n; i++) {
            times[i] = some_time(&chance);
            histogram_add(&histogram, times[i]);
        }
        qsort(times, (size_t)n, sizeof *times, ascending);
        for (size_t i = 0; i < sizeof thousandths / sizeof thousandths[0]; i++) {
            int64_t rank = (thousandths[i] * n + 999) / 1000;

            assert_close(histogram_percentile(&histogram, (double)thousandths[i] / 1000),
                         times[rank - 1]);
        }
    }
}

static struct rtt rtt_of(int64_t samples)
{
    struct histogram histogram;
    struct rtt rtt;

    memset(&rtt, 0, sizeof rtt);
    histogram_init(&histogram);
    for (int64_t i = 0; i < samples; i++)
        histogram_add(&histogram, 1000 + i * 37);
    histogram_to_rtt(&histogram, &rtt);
    return rtt;
}

static void says_no_finer_than_it_counted(void **state)
{
    static const struct {
        int64_t samples;
        bool p50, p90, p99, p999;
    } cases[] = {
        { 0, false, false, false, false },  { 1, true, false, false, false },
        { 9, true, false, false, false },   { 10, true, true, false, false },
        { 99, true, true, false, false },   { 100, true, true, true, false },
        { 999, true, true, true, false },   { 1000, true, true, true, true },
        { 100000, true, true, true, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rtt rtt = rtt_of(cases[i].samples);

        assert_int_equal(rtt.count, cases[i].samples);
        assert_int_equal(rtt.min != NONE_INT, cases[i].samples > 0);
        assert_int_equal(rtt.max != NONE_INT, cases[i].samples > 0);
        assert_int_equal(rtt.p50 != NONE_INT, cases[i].p50);
        assert_int_equal(rtt.p90 != NONE_INT, cases[i].p90);
        assert_int_equal(rtt.p99 != NONE_INT, cases[i].p99);
        assert_int_equal(rtt.p999 != NONE_INT, cases[i].p999);
        free(rtt.histogram.items);
    }
}

/* An archive's reader can do its own percentiles from the buckets. */
static void writes_every_sample_into_a_bucket(void **state)
{
    struct rtt rtt = rtt_of(20000);
    const int64_t(*pairs)[2] = rtt.histogram.items;
    int64_t total = 0;

    (void)state;
    for (size_t i = 0; i < rtt.histogram.count; i++) {
        assert_true(pairs[i][1] > 0);
        assert_true(i == 0 || pairs[i][0] > pairs[i - 1][0]);
        /* times are 37 apart: every one of a bucket's is at or above its lowest */
        for (int64_t k = 0; k < pairs[i][1]; k++)
            assert_true(1000 + (total + k) * 37 >= pairs[i][0]);
        total += pairs[i][1];
        assert_true(i + 1 == rtt.histogram.count || 1000 + (total - 1) * 37 < pairs[i + 1][0]);
    }
    assert_int_equal(total, rtt.count);
    assert_true(rtt.min <= rtt.p50 && rtt.p50 <= rtt.p90 && rtt.p90 <= rtt.p99);
    assert_true(rtt.p99 <= rtt.p999 && rtt.p999 <= rtt.max);
    free(rtt.histogram.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_right_within_one_percent),
        cmocka_unit_test(is_right_around_every_power_of_two),
        cmocka_unit_test(keeps_exact_ends),
        cmocka_unit_test(merges_to_what_adding_all_gives),
        cmocka_unit_test(agrees_with_a_sorted_list),
        cmocka_unit_test(says_no_finer_than_it_counted),
        cmocka_unit_test(writes_every_sample_into_a_bucket),
    };

    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
