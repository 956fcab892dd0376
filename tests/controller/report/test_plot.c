/* Scales place values where they belong, ticks are round and few, labels keep apart. */
#include "controller/report/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct plot_axis axis_of(enum plot_scale scale, double low, double high)
{
    struct plot_axis axis = plot_axis(scale, low, high);

    axis.from = 100;
    axis.to = 300;
    return axis;
}

static void a_value_is_at_its_share(void **state)
{
    struct plot_axis linear = axis_of(PLOT_LINEAR, 0, 10);
    struct plot_axis decades = axis_of(PLOT_LOG10, 1, 10000);
    struct plot_axis doubles = axis_of(PLOT_LOG2, 1024, 4096);
    struct plot_axis down = linear;

    (void)state;
    assert_int_equal(plot_place(&linear, 0), 100);
    assert_int_equal(plot_place(&linear, 2.5), 150);
    assert_int_equal(plot_place(&linear, 10), 300);
    assert_int_equal(plot_place(&decades, 100), 200);
    assert_int_equal(plot_place(&doubles, 2048), 200);
    down.from = 300;
    down.to = 100;
    assert_int_equal(plot_place(&down, 2.5), 250);
}

static void what_is_outside_is_at_the_end(void **state)
{
    struct plot_axis decades = axis_of(PLOT_LOG10, 0, 1000);

    (void)state;
    assert_int_equal(plot_place(&decades, 0), 100);
    assert_int_equal(plot_place(&decades, -5), 100);
    assert_int_equal(plot_place(&decades, 1e300), 300);
    assert_int_equal(plot_place(&decades, (double)NAN), 100);
    assert_int_equal(plot_place(&decades, (double)INFINITY), 300);
}

static void one_value_alone_has_an_axis(void **state)
{
    static const enum plot_scale scales[] = { PLOT_LINEAR, PLOT_BYTES, PLOT_LOG10, PLOT_LOG2 };

    (void)state;
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        struct plot_axis axis = axis_of(scales[i], 56, 56);
        double ticks[PLOT_TICKS_MAX];

        assert_true(axis.low <= 56 && axis.high >= 56 && axis.low < axis.high);
        assert_true(plot_ticks(&axis, ticks) >= 1);
    }
}

static void ticks_are(enum plot_scale scale, double low, double high, const double *expected,
                      size_t count)
{
    struct plot_axis axis = axis_of(scale, low, high);
    double ticks[PLOT_TICKS_MAX];

    assert_int_equal(plot_ticks(&axis, ticks), count);
    for (size_t i = 0; i < count; i++) {
        if (fabs(ticks[i] - expected[i]) > 1e-9 * fabs(expected[i]))
            fail_msg("tick %zu: %g, not %g", i, ticks[i], expected[i]);
    }
}

static void ticks_are_round(void **state)
{
    (void)state;
    ticks_are(PLOT_LINEAR, 0, 2.07, (const double[]){ 0, 1, 2 }, 3);
    ticks_are(PLOT_LINEAR, 0, 1, (const double[]){ 0, 0.5, 1 }, 3);
    ticks_are(PLOT_LINEAR, 0, 100, (const double[]){ 0, 50, 100 }, 3);
    ticks_are(PLOT_BYTES, 0, 238551, (const double[]){ 0, 65536, 131072, 196608 }, 4);
    ticks_are(PLOT_LOG10, 8, 12000, (const double[]){ 10, 100, 1000, 10000 }, 4);
    ticks_are(PLOT_LOG10, 30, 300, (const double[]){ 50, 100, 200 }, 3);
    ticks_are(PLOT_LOG2, 5000, 12582912,
              (const double[]){ 8192, 32768, 131072, 524288, 2097152, 8388608 }, 6);
}

static void ticks_are_few_over_any_span(void **state)
{
    static const enum plot_scale scales[] = { PLOT_LINEAR, PLOT_BYTES, PLOT_LOG10, PLOT_LOG2 };

    (void)state;
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        for (double high = 1e-9; high < 1e19; high *= 3.7) {
            double low = scales[i] == PLOT_LINEAR || scales[i] == PLOT_BYTES ? 0 : high / 1e5;
            struct plot_axis axis = axis_of(scales[i], low, high);
            double ticks[PLOT_TICKS_MAX];
            size_t count = plot_ticks(&axis, ticks);

            assert_true(count >= 1 && count <= 9);
            for (size_t k = 0; k < count; k++) {
                assert_true(ticks[k] >= axis.low * (1 - 1e-9) && ticks[k] <= axis.high * 1.000001);
                assert_true(k == 0 || ticks[k] > ticks[k - 1]);
            }
        }
    }
}

static void names_are(plot_name *name, double value, const char *expected)
{
    char text[CHART_LINE_SIZE];

    name(value, text);
    assert_string_equal(text, expected);
}

static void names_are_for_people(void **state)
{
    (void)state;
    names_are(plot_name_count, 0, "0");
    names_are(plot_name_count, 5000, "5,000");
    names_are(plot_name_count, 0.5, "0.5");
    names_are(plot_name_count, 1e18, "1e+18");
    names_are(plot_name_bytes, 8388608, "8 MiB");
    names_are(plot_name_bytes, 1e300, "1e+300 B");
    names_are(plot_name_seconds, 0, "0");
    names_are(plot_name_seconds, 1.5e-5, "15 \xc2\xb5s");
    names_are(plot_name_seconds, 2.5, "2.5 s");
    names_are(plot_name_seconds, 1e300, "1e+300 s");
}

static void labels_keep_apart_and_inside(void **state)
{
    struct plot_labels labels = { .within = { 0, 0, 200, 100 } };
    struct chart_point middle = { 100, 50 };
    struct buf out;
    size_t put = 0;

    (void)state;
    buf_init(&out, 1 << 16);
    while (put < 20 && plot_label(&labels, middle, "small", "1,234", &out))
        put++;
    assert_int_equal(put, 4); /* the corners around one point */
    assert_false(plot_label(&labels, (struct chart_point){ 1000, 50 }, "small", "x", &out));
    for (size_t i = 0; i < labels.count; i++) {
        const struct chart_box *a = &labels.taken[i];

        assert_true(a->x >= 0 && a->y >= 0 && a->x + a->width <= 200 && a->y + a->height <= 100);
        for (size_t k = 0; k < i; k++) {
            const struct chart_box *b = &labels.taken[k];

            assert_true(a->x + a->width <= b->x || b->x + b->width <= a->x ||
                        a->y + a->height <= b->y || b->y + b->height <= a->y);
        }
    }
    assert_false(plot_take(&labels, labels.taken[0]));
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_at_its_share),
        cmocka_unit_test(what_is_outside_is_at_the_end),
        cmocka_unit_test(one_value_alone_has_an_axis),
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(ticks_are_few_over_any_span),
        cmocka_unit_test(names_are_for_people),
        cmocka_unit_test(labels_keep_apart_and_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
