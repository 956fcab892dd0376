/* The loss grid shows every cell, says pass and fail in words, and keeps text inside its boxes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/chart.h"
#include "controller/report/figures.h"
#include "tests/controller/report/make_run.h"
#include "tests/controller/report/svg.h"

static const int64_t many_payloads[] = { 44,   64,    512,   1472,  2048,  4096,
                                         8192, 16356, 16384, 32768, 49152, 65507 };
static const int64_t many_windows[] = { 1, 2, 4, 8, 16, 32, 64, 128 };

static void draw(const struct run *const *runs, size_t count, struct buf *out)
{
    buf_init(out, 64 << 20);
    assert_int_equal(figure_loss_grid(runs, count, out), STATUS_OK);
    assert_memory_equal(out->data, "<svg ", 5);
}

static void draw_one(const struct run *run, struct buf *out)
{
    const struct run *runs[] = { run };

    draw(runs, 1, out);
}

static void the_seed_has_a_cell_for_each_payload_and_window(void **state)
{
    struct make_shape shape = make_shape_seed();
    struct run run;
    struct buf svg;

    (void)state;
    make_run(&shape, &run);
    draw_one(&run, &svg);
    assert_int_equal(svg_count(svg.data, "<g>"), 18);
    assert_int_equal(svg_count(svg.data, "pass \xc3\x97"
                                         "3</text>"),
                     12);
    assert_int_equal(svg_count(svg.data, "fail \xc3\x97"
                                         "3</text>"),
                     6);
    assert_int_equal(svg_count(svg.data, ">520</text>"), 1);
    assert_int_equal(svg_count(svg.data, ">65,507 B</text>"), 1);
    assert_int_equal(svg_count(svg.data, ">window 64</text>"), 1);
    assert_int_equal(svg_count(svg.data, "36 pass, 18 fail; 9,471 echoes lost"), 2);
    buf_done(&svg);
    run_done(&run);
}

static void there_is_a_panel_for_each_run_and_engine(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run one, two;
    const struct run *runs[] = { &one, &two };
    struct buf svg;

    (void)state;
    make_run(&shape, &one);
    shape.host_name = "other";
    shape.engines[shape.engine_count++] = ENGINE_SINGLE;
    make_run(&shape, &two);
    draw(runs, 2, &svg);
    assert_int_equal(svg_count(svg.data, "class=\"panel\""), 3);
    assert_int_equal(svg_count(svg.data, ">other \xc2\xb7 engine single</text>"), 1);
    buf_done(&svg);
    run_done(&one);
    run_done(&two);
}

static void lose_more(struct run *run, size_t index, int64_t more)
{
    struct case_result *result = make_case_at(run, index);
    struct phase *phase = &result->phases.measure;

    phase->forward.attempted += more;
    phase->forward.sent += more;
    phase->forward.lost += more;
    phase->forward.lost_to.receive_buffer += more;
    phase->lost_echoes += more;
    phase->echoes_per_second = (double)NAN;
    result->status = CASE_FAIL;
}

static void cells_say_what_their_repeats_differ_in(void **state)
{
    struct make_shape shape = make_shape_seed();
    struct run run;
    struct buf svg;

    (void)state;
    make_run(&shape, &run);
    lose_more(&run, 5, 2); /* 8,192 B x 64 of the first repeat */
    lose_more(&run, 0, 7); /* 1,472 B x 1 of the first repeat */
    lose_more(&run, 1, INT64_C(9000000000000000000));
    make_case_error(&run, 6, "x");
    for (size_t r = 0; r < 3; r++)
        make_case_error(&run, 7 + 18 * r, "x");
    make_case_at(&run, 2)->phases.measure.reverse.late = 1;
    make_case_at(&run, 2)->status = CASE_FAIL;
    make_interrupted(&run, 50);
    draw_one(&run, &svg);
    assert_non_null(strstr(svg.data, ">522 \xc2\xb7 520 \xc2\xb7 520</text>"));
    assert_non_null(strstr(svg.data, ">7 \xc2\xb7 0 \xc2\xb7 0</text>"));
    assert_non_null(strstr(svg.data, "fail 1 of 3</text>"));
    assert_non_null(strstr(svg.data, ">9.0e+18</text>"));
    assert_non_null(strstr(svg.data, "! error in 1 of 3</text>"));
    assert_non_null(strstr(svg.data, ">error</text>"));
    assert_non_null(strstr(svg.data, "late 1 of 3</text>"));
    assert_non_null(strstr(svg.data, "2 of 3 run</text>"));
    assert_non_null(strstr(svg.data, "interrupted"));
    assert_non_null(strstr(svg.data, "not reached"));
    buf_done(&svg);
    run_done(&run);
}

static void small_and_large_figures_keep_text_on_the_page(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run one, large;
    const struct run *both[] = { &one, &large };
    struct buf svg;

    (void)state;
    shape.payload_count = shape.window_count = 1;
    shape.host_name =
        "a-host-name-that-is-so-long-that-no-panel-of-a-figure-has-room-for-it.example.org";
    make_run(&shape, &one);
    draw_one(&one, &svg);
    svg_check_inside(svg.data);
    buf_done(&svg);
    shape.payloads = many_payloads;
    shape.payload_count = 12;
    shape.windows = many_windows;
    shape.window_count = 8;
    make_run(&shape, &large);
    draw_one(&large, &svg);
    assert_int_equal(svg_count(svg.data, "<g>"), 96);
    svg_check_inside(svg.data);
    buf_done(&svg);
    draw(both, 2, &svg);
    svg_check_inside(svg.data);
    buf_done(&svg);
    run_done(&one);
    run_done(&large);
}

static void hostile_names_stay_text(void **state)
{
    const char *names[] = { "</text><script>alert(1)</script>", "\" onload=\"x", "]]>",
                            "\xe2\x80\xaetxt.gvs", "\x01\xff" };
    struct make_shape shape = make_shape_small();

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct run run;
        struct buf svg;

        shape.host_name = names[i];
        make_run(&shape, &run);
        draw_one(&run, &svg);
        assert_null(strstr(svg.data, "<script"));
        assert_null(strstr(svg.data, "\" onload"));
        assert_null(strstr(svg.data, "]]>"));
        assert_null(strstr(svg.data, "\xe2\x80\xae"));
        assert_null(strchr(svg.data, '\x01'));
        buf_done(&svg);
        run_done(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_has_a_cell_for_each_payload_and_window),
        cmocka_unit_test(there_is_a_panel_for_each_run_and_engine),
        cmocka_unit_test(cells_say_what_their_repeats_differ_in),
        cmocka_unit_test(small_and_large_figures_keep_text_on_the_page),
        cmocka_unit_test(hostile_names_stay_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
