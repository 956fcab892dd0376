/* The figure of path MTU runs shows every group of flows beside its interface and every loss by
 * size with its threshold, and keeps its texts on the page and apart, whatever the run holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/figures.h"
#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "tests/controller/report/make_mtu_run.h"
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
    svg_check_inside(out->data);
    svg_check_apart(out->data);
    svg_check_harmless(out->data);
}

static void draw_one(const struct run *run, struct buf *out)
{
    const struct run *runs[] = { run };

    draw(runs, 1, out);
}

static void every_way_is_a_bar_beside_its_interface(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;
    struct buf svg;

    (void)state;
    make_mtu_run(&shape, &run);
    draw_one(&run, &svg);
    assert_int_equal(svg_count(svg.data, "<g>"), 4);
    assert_int_equal(svg_count(svg.data, "<rect class=\"dot\""), 4 + 1); /* and the legend's */
    assert_int_equal(svg_count(svg.data, "class=\"model\""), 4 + 1);
    assert_int_equal(svg_count(svg.data, ">1,400 B (UDP 1,372): signalled</text>"), 2);
    assert_int_equal(svg_count(svg.data, ">1,400 B (UDP 1,352): signalled</text>"), 2);
    assert_non_null(strstr(svg.data, "an application may send: IPv4 1,372 B, IPv6 1,352 B</text>"));
    assert_null(strstr(svg.data, "Loss by size"));
    buf_done(&svg);
    run_done(&run);
}

/* What stands in the figure can be had without seeing it. */
static void it_has_text_alternatives(void **state)
{
    static const char *const parts[] = {
        "<title id=\"figure-title\">The path MTU between two hosts</title>",
        "paris.example to oslo.example: IPv4 forward: 1,500 B (UDP 1,472): ",
        "Loss by size, IPv4 forward: 0.00 % up to 1,440 B, ",
        "Loss by size, IPv6 forward: 0.96 %, at no size more than at smaller ones. ",
    };
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;
    struct buf svg;

    (void)state;
    shape.common.sizes = 20000;
    shape.path_mtu[MTU_FORWARD] = 1500;
    make_mtu_run(&shape, &run);
    make_mtu_sizes(make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, 0), 1440, 0, 10);
    make_mtu_sizes(make_mtu_at(&run, FAMILY_IPV6, MTU_FORWARD, 0), NONE_INT, 10, 10);
    draw_one(&run, &svg);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *end = strstr(svg.data, "</desc>"), *found = strstr(svg.data, parts[i]);

        if (found == NULL || found > end)
            fail_msg("not in the description: %s", parts[i]);
    }
    /* Two panels; one has a threshold with its bounds, as the legend. */
    assert_int_equal(svg_count(svg.data, ">IP packet, bytes</text>"), 2);
    assert_int_equal(svg_count(svg.data, "<line class=\"ring\""), 1 + 1);
    assert_int_equal(svg_count(svg.data, "<rect class=\"loss1\""), 1 + 1);
    assert_non_null(strstr(svg.data, "<title>576 B: 0 of 625 lost, 0.00 % (95 %: 0.00 to 0.61)"));
    buf_done(&svg);
    run_done(&run);
}

/* Points are not nearer than their whiskers are wide, and none has both sides of the threshold. */
static void many_sizes_are_put_together(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct mtu_case *of;
    struct run run;
    struct buf svg;

    (void)state;
    shape.common.sizes = 20000;
    shape.path_mtu[MTU_FORWARD] = 1500;
    make_mtu_run(&shape, &run);
    of = make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, 0);
    of->flow.size_effect = (struct mtu_size_effect){ .present = true,
                                                     .found = true,
                                                     .threshold = 1399,
                                                     .least = 1390,
                                                     .most = 1410,
                                                     .high_below = 1,
                                                     .high_above = 1 };
    for (int64_t i = 0; i < MTU_SIZES_MAX; i++) {
        struct mtu_size *size = list_append_sized(&of->flow.loss_by_size, sizeof *size);
        struct mtu_size_effect *effect = &of->flow.size_effect;

        *size = (struct mtu_size){ 1240 + i, 10, i % 10 };
        effect->sent += 10;
        effect->lost += i % 10;
        *(size->payload + 28 > 1399 ? &effect->sent_above : &effect->sent_below) += 10;
        *(size->payload + 28 > 1399 ? &effect->lost_above : &effect->lost_below) += i % 10;
    }
    make_mtu_judge(of);
    draw_one(&run, &svg);
    assert_in_range(svg_count(svg.data, "<g>"), 4 + 20, 4 + 60);
    assert_non_null(strstr(svg.data, " to 1,399 B: "));
    assert_non_null(strstr(svg.data, "<title>1,400 to "));
    buf_done(&svg);
    run_done(&run);
}

static void groups_have_a_bar_each_up_to_a_page(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;
    struct buf svg;

    (void)state;
    shape.common.flows = 16;
    make_mtu_run(&shape, &run);
    for (int64_t i = 12; i < 16; i++)
        make_mtu_answer(make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, i), MAKE_MTU_SILENT, 1300);
    draw_one(&run, &svg);
    assert_int_equal(svg_count(svg.data, ">IPv4 forward, 12 of 16 flows</text>"), 1);
    assert_int_equal(svg_count(svg.data, ">IPv4 forward, 4 of 16 flows</text>"), 1);
    assert_int_equal(svg_count(svg.data, "<rect class=\"bar\""), 1 + 1);
    buf_done(&svg);
    for (size_t i = 0; i < run.mtu_cases.count; i++)
        make_mtu_answer((struct mtu_case *)run.mtu_cases.items + i, MAKE_MTU_TOLD,
                        1300 + (int64_t)(i % 16));
    draw_one(&run, &svg);
    assert_int_equal(svg_count(svg.data, "<g>"), 40);
    assert_non_null(strstr(svg.data, ">and 24 more, in run.json</text>"));
    buf_done(&svg);
    run_done(&run);
}

static void runs_without_answers_say_so(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;
    struct buf svg;

    (void)state;
    make_mtu_run(&shape, &run);
    make_mtu_answer(make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, 0), MAKE_MTU_NOBODY, NONE_INT);
    make_mtu_answer(make_mtu_at(&run, FAMILY_IPV4, MTU_REVERSE, 0), MAKE_MTU_CUT_OFF, 1280);
    make_mtu_error(&run, FAMILY_IPV6, "no IPv6 here");
    draw_one(&run, &svg);
    assert_int_equal(svg_count(svg.data, ">unreachable</text>"), 1);
    assert_int_equal(svg_count(svg.data, ">undecided</text>"), 2);
    assert_int_equal(svg_count(svg.data, ">\xe2\x89\xa5 1,280 B (UDP 1,252): undecided</text>"), 1);
    buf_done(&svg);
    make_mtu_interrupted(&run, 0);
    draw_one(&run, &svg);
    assert_non_null(strstr(svg.data, "\xc2\xb7 interrupted"));
    assert_non_null(strstr(svg.data, "nothing was measured"));
    buf_done(&svg);
    run_done(&run);
}

static void hostile_names_and_huge_numbers_stay_text(void **state)
{
    static const char *const names[] = {
        "</text><script>alert(1)</script>",
        "\" onload=\"x",
        "]]>",
        "\xe2\x80\xaetxt.gvs",
        "x\x1b[2J",
        "a-host-name-that-is-as-long-as-a-line-of-a-figure-has-no-room-for-it-not-even-for-this-x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct make_mtu_shape shape = make_mtu_seed();
        struct run one, two;
        const struct run *runs[] = { &one, &two };
        struct mtu_icmp *icmp;
        struct buf svg;

        shape.base.host_name = names[i];
        shape.local_mtu = INT32_MAX;
        make_mtu_run(&shape, &one);
        icmp = make_mtu_at(&one, FAMILY_IPV4, MTU_FORWARD, 0)->flow.icmp.items;
        (void)text_copy(icmp->from, sizeof icmp->from, names[i]);
        shape.path_mtu[MTU_FORWARD] = 32767;
        make_mtu_run(&shape, &two);
        draw(runs, 2, &svg);
        buf_done(&svg);
        run_done(&one);
        run_done(&two);
    }
}

static void files_and_combinations_are_by_kind(void **state)
{
    (void)state;
    assert_string_equal(figure_file_name(RUN_MTU), "mtu.svg");
    assert_true(figure_combines(RUN_MTU, RUN_MTU));
    assert_false(figure_combines(RUN_MTU, RUN_PAIR));
    assert_false(figure_combines(RUN_BUFFERS, RUN_MTU));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_is_a_bar_beside_its_interface),
        cmocka_unit_test(it_has_text_alternatives),
        cmocka_unit_test(many_sizes_are_put_together),
        cmocka_unit_test(groups_have_a_bar_each_up_to_a_page),
        cmocka_unit_test(runs_without_answers_say_so),
        cmocka_unit_test(hostile_names_and_huge_numbers_stay_text),
        cmocka_unit_test(files_and_combinations_are_by_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
