/* The figure of buffer experiments shows every measured case, marks what happened, and keeps its
 * texts on the page and apart, whatever the run holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/figures.h"
#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "tests/controller/report/make_buffers_run.h"
#include "tests/controller/report/svg.h"

static void draw(const struct run *const *runs, size_t count, struct buf *out)
{
    struct fault fault = { "" };

    for (size_t i = 0; i < count; i++) {
        if (validate_run(runs[i], &fault) != STATUS_OK)
            fail_msg("%s", fault.text);
    }
    buf_init(out, 64 << 20);
    assert_int_equal(figure_runs(runs, count, out), STATUS_OK);
    assert_memory_equal(out->data, "<svg ", 5);
    assert_string_equal(out->data + out->length - 7, "</svg>\n");
    svg_check_inside(out->data);
    svg_check_apart(out->data);
    svg_check_harmless(out->data);
}

static void draw_one(const struct run *run, struct buf *out)
{
    const struct run *runs[] = { run };

    draw(runs, 1, out);
}

static void the_seed_shows_every_case(void **state)
{
    struct make_buffers_shape shape = make_buffers_seed();
    struct run run;
    struct buf svg;

    (void)state;
    make_buffers_run(&shape, &run);
    draw_one(&run, &svg);
    /* 6 of the sweep, 3 payloads, 6 slow readers as bars and as panels; the legends' own marks. */
    assert_int_equal(svg_count(svg.data, "<g>"), 6 + 3 + 6 + 6);
    assert_int_equal(svg_count(svg.data, "class=\"dot\""), 9 + 2);
    assert_int_equal(svg_count(svg.data, "class=\"ring\""), 9 + 2);
    assert_int_equal(svg_count(svg.data, "class=\"model\""), 6 + 1);
    assert_int_equal(svg_count(svg.data, "<polyline class=\"queue\""), 6);
    assert_int_equal(svg_count(svg.data, "<polyline class=\"drops\""), 4);
    assert_non_null(strstr(svg.data, ">3,640</text>"));
    assert_non_null(strstr(svg.data, ">first drop: 14.3 ms</text>"));
    assert_non_null(strstr(svg.data, ">end of sending: 2.04 s</text>"));
    assert_non_null(strstr(svg.data, ">queue empty: 2.07 s</text>"));
    assert_non_null(strstr(svg.data, ">65.5 % lost, model 65.5 %</text>"));
    assert_non_null(strstr(svg.data, "one per 102 \xc2\xb5s (asked 100 \xc2\xb5s), 8 MiB</text>"));
    buf_done(&svg);
    run_done(&run);
}

/* What stands in the figure can be had without seeing it. */
static void it_has_text_alternatives(void **state)
{
    static const char *const parts[] = {
        "role=\"img\"",
        "<title id=\"figure-title\">What a receive buffer holds, and what it loses</title>",
        "Held against buffer: 1,000 B payload, buffer of 131,072: 56 of 5,000 held, 56 predicted; ",
        "buffer of 212,992 (default): 92 of 5,000 held",
        "Held by payload: 100 B payload",
        "Loss against pace: reader 300 \xc2\xb5s, full speed (6.5 \xc2\xb5s), 208 KiB: 97.4 %",
        "The queue over time: ",
        "13,108 of 20,000 lost, first drop at 14.3 ms, end of sending at 2.04 s, queue empty at ",
    };
    struct make_buffers_shape shape = make_buffers_seed();
    struct run run;
    struct buf svg;

    (void)state;
    make_buffers_run(&shape, &run);
    draw_one(&run, &svg);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *end = strstr(svg.data, "</desc>"), *found = strstr(svg.data, parts[i]);

        if (found == NULL || found > end)
            fail_msg("not in the description: %s", parts[i]);
    }
    buf_done(&svg);
    run_done(&run);
}

static void what_sockets_do_not_count_is_not_drawn(void **state)
{
    struct make_buffers_shape shape = make_buffers_seed();
    struct run run;
    struct buf svg;

    (void)state;
    shape.base.os = "macOS";
    shape.base.rcvbuf_limit = 8 << 20;
    make_buffers_run(&shape, &run);
    draw_one(&run, &svg);
    assert_int_equal(svg_count(svg.data, "<polyline class=\"queue\""), 6);
    assert_int_equal(svg_count(svg.data, "<polyline class=\"drops\""), 0);
    assert_int_equal(svg_count(svg.data, ">first drop: not counted for sockets here</text>"), 6);
    buf_done(&svg);
    run_done(&run);
}

static void each_experiment_stands_alone(void **state)
{
    static const struct {
        enum experiment experiment;
        const char *words;
    } alone[] = {
        { EXPERIMENT_SWEEP, ">Held against buffer" },
        { EXPERIMENT_HOLD, ">Held by payload" },
        { EXPERIMENT_SLOW_READER, ">Loss against pace" },
        { EXPERIMENT_LADDER, ">nothing was measured here that a figure could show" },
        { EXPERIMENT_CLOSED_PORT, ">nothing was measured here that a figure could show" },
        { EXPERIMENT_IDLE, ">nothing was measured here that a figure could show" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        struct make_buffers_shape shape = make_buffers_small();
        struct run run;
        struct buf svg;

        shape.experiment_count = 1;
        shape.experiments[0] = (int)alone[i].experiment;
        make_buffers_run(&shape, &run);
        draw_one(&run, &svg);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(svg_count(svg.data, alone[k].words), k == i);
        assert_int_equal(svg_count(svg.data, alone[i].words), 1);
        buf_done(&svg);
        run_done(&run);
    }
}

static void cases_with_errors_and_interrupted_runs_say_so(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct buf svg;

    (void)state;
    make_buffers_run(&shape, &run);
    make_experiment_error(&run, SMALL_LADDER, "No buffer space available");
    make_experiment_error(&run, SMALL_SLOW, "killed");
    make_experiment_error(&run, SMALL_HOLD, "no more descriptors");
    draw_one(&run, &svg);
    assert_non_null(strstr(svg.data, "2 cases could not be measured"));
    assert_int_equal(svg_count(svg.data, "<polyline class=\"queue\""), 1);
    buf_done(&svg);
    make_buffers_interrupted(&run, 0);
    draw_one(&run, &svg);
    assert_non_null(strstr(svg.data, "\xc2\xb7 interrupted"));
    assert_non_null(strstr(svg.data, "nothing was measured"));
    buf_done(&svg);
    run_done(&run);
}

/* Long lists: points without numbers, bars up to a page, the six most telling panels. */
static void long_lists_stay_readable(void **state)
{
    static int64_t payloads[250], buffers[5] = { 0, 65536, 262144, 1048576, 8388608 };
    static const int64_t reads[] = { 20000, 100000, 300000, 1000000 };
    struct make_buffers_shape shape = make_buffers_seed();
    struct run run;
    struct buf svg;

    (void)state;
    for (size_t i = 0; i < 250; i++)
        payloads[i] = (int64_t)i * 262;
    shape.payloads = (struct make_numbers){ payloads, 250 };
    shape.slow_rcvbufs = (struct make_numbers){ buffers, 5 };
    shape.read_ns = (struct make_numbers){ reads, 4 };
    make_buffers_run(&shape, &run);
    draw_one(&run, &svg);
    assert_int_equal(svg_count(svg.data, "<g>"), 6 + 250 + 40 + 6);
    assert_non_null(strstr(svg.data, ">and 20 more cases, in run.json</text>"));
    assert_non_null(strstr(svg.data, ">The queue over time (the 6 most telling of 60 cases)<"));
    assert_int_equal(svg_count(svg.data, ">first drop: none</text>"), 0);
    buf_done(&svg);
    run_done(&run);
}

/* A curve of very many samples costs a few points for each pixel. */
static void a_curve_is_not_larger_than_its_panel(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct buf svg;
    struct slow_reader_result *slow;

    (void)state;
    make_buffers_run(&shape, &run);
    slow = &make_experiment_at(&run, SMALL_FAST)->slow_reader;
    slow->queue.count = 0;
    for (size_t i = 0; i < 100000; i++) {
        double(*point)[2] = list_append_sized(&slow->queue, sizeof *point);

        (*point)[0] = (double)i * 1e-5;
        (*point)[1] = i == 50000 ? 211968 : (double)(i % 7) * 2304;
    }
    draw_one(&run, &svg);
    assert_true(svg.length < 60000);
    buf_done(&svg);
    run_done(&run);
}

static void several_runs_stand_below_one_another(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run one, two;
    const struct run *runs[] = { &one, &two };
    struct buf svg;

    (void)state;
    make_buffers_run(&shape, &one);
    shape.base.os = "macOS";
    shape.base.host_name = "other";
    shape.sends = 10000000; /* the widest number at an axis */
    make_buffers_run(&shape, &two);
    draw(runs, 2, &svg);
    assert_int_equal(svg_count(svg.data, ">The queue over time<"), 2);
    assert_int_equal(svg_count(svg.data, ">other</text>"), 1);
    assert_int_equal(svg_count(svg.data, ">10,000,000</text>"), 2);
    buf_done(&svg);
    run_done(&one);
    run_done(&two);
}

static void hostile_names_and_huge_numbers_stay_text(void **state)
{
    static const char *const names[] = {
        "</text><script>alert(1)</script>",
        "\" onload=\"x",
        "]]>",
        "\xe2\x80\xaetxt.gvs",
        "x\x1b[2J",
        "a-host-name-that-is-so-long-that-no-line-of-a-figure-has-room-for-it-not-even-this-one-"
        "that-"
        "is-as-wide-as-the-page-and-nearly-as-long-as-a-host-name-may-be-on-any-system.example.org"
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct make_buffers_shape shape = make_buffers_small();
        struct run run;
        struct buf svg;
        struct slow_reader_result *slow;
        struct hold_result *hold;

        shape.base.host_name = names[i];
        make_buffers_run(&shape, &run);
        slow = &make_experiment_at(&run, SMALL_SLOW)->slow_reader;
        slow->rcvbuf.granted = INT64_MAX;
        slow->first_drop_s = 1e9;
        slow->achieved_read_ns = 1e12;
        ((double(*)[2])slow->queue.items)[slow->queue.count - 1][0] = 1e308;
        ((double(*)[2])slow->queue.items)[slow->queue.count - 1][1] = 1e308;
        hold = &make_experiment_at(&run, SMALL_SWEEP)->hold;
        hold->rcvbuf.granted = INT64_MAX;
        draw_one(&run, &svg);
        buf_done(&svg);
        run_done(&run);
    }
}

static void nothing_held_and_nothing_sent_are_drawn(void **state)
{
    struct make_buffers_shape shape = make_buffers_small();
    struct run run;
    struct buf svg;
    struct hold_result *hold;
    struct slow_reader_result *slow;

    (void)state;
    make_buffers_run(&shape, &run);
    hold = &make_experiment_at(&run, SMALL_HOLD)->hold;
    hold->refused.eperm = hold->sent;
    hold->sent = hold->held = hold->dropped.socket = hold->predicted_held = 0;
    hold->bytes_per_datagram = (double)NAN;
    slow = &make_experiment_at(&run, SMALL_SLOW)->slow_reader;
    slow->refused.eperm = slow->sent;
    slow->sent = slow->processed = slow->lost = slow->dropped.socket = 0;
    slow->loss_ratio = slow->achieved_interval_ns = slow->first_drop_s = (double)NAN;
    slow->sending_s = 0;
    slow->drops.count = 0;
    for (size_t i = 0; i < slow->queue.count; i++)
        ((double(*)[2])slow->queue.items)[i][0] = ((double(*)[2])slow->queue.items)[i][1] = 0;
    draw_one(&run, &svg);
    assert_non_null(strstr(svg.data, "nothing sent, model"));
    buf_done(&svg);
    run_done(&run);
}

static void files_and_combinations_are_by_kind(void **state)
{
    (void)state;
    assert_string_equal(figure_file_name(RUN_LOOPBACK), "loss.svg");
    assert_string_equal(figure_file_name(RUN_PAIR), "loss.svg");
    assert_string_equal(figure_file_name(RUN_BUFFERS), "buffers.svg");
    assert_true(figure_combines(RUN_LOOPBACK, RUN_PAIR));
    assert_true(figure_combines(RUN_BUFFERS, RUN_BUFFERS));
    assert_false(figure_combines(RUN_BUFFERS, RUN_LOOPBACK));
    assert_false(figure_combines(RUN_PAIR, RUN_BUFFERS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_shows_every_case),
        cmocka_unit_test(it_has_text_alternatives),
        cmocka_unit_test(what_sockets_do_not_count_is_not_drawn),
        cmocka_unit_test(each_experiment_stands_alone),
        cmocka_unit_test(cases_with_errors_and_interrupted_runs_say_so),
        cmocka_unit_test(long_lists_stay_readable),
        cmocka_unit_test(a_curve_is_not_larger_than_its_panel),
        cmocka_unit_test(several_runs_stand_below_one_another),
        cmocka_unit_test(hostile_names_and_huge_numbers_stay_text),
        cmocka_unit_test(nothing_held_and_nothing_sent_are_drawn),
        cmocka_unit_test(files_and_combinations_are_by_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
