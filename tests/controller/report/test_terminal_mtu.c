/* What a path MTU run says in words is kept in golden files, and stays readable whatever the run
 * holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/report/golden.h"
#include "tests/controller/report/make_mtu_run.h"

static bool says(const struct run *run, const char *words)
{
    struct buf text;
    bool there;

    golden_tell(run, golden_plain, &text);
    golden_check_lines(text.data);
    there = strstr(text.data, words) != NULL;
    buf_done(&text);
    return there;
}

static void the_seed(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;

    (void)state;
    make_mtu_run(&shape, &run);
    golden_expect(&run, "mtu.txt");
    run_done(&run);
}

/* Sixteen flows, four of them over another next hop; black holes; other ways back. */
static void flows_that_differ(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;

    (void)state;
    shape.common.flows = 16;
    shape.local_mtu = 9000;
    shape.path_mtu[MTU_FORWARD] = 1500;
    shape.path_mtu[MTU_REVERSE] = 9000;
    shape.told = false;
    make_mtu_run(&shape, &run);
    for (int64_t i = 12; i < 16; i++)
        make_mtu_answer(make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, i), MAKE_MTU_SILENT, 1400);
    golden_expect(&run, "mtu_flows.txt");
    run_done(&run);
}

static void loss_by_size(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;

    (void)state;
    shape.common.sizes = 20000;
    shape.common.fragments = shape.common.trace = false;
    shape.path_mtu[MTU_FORWARD] = shape.path_mtu[MTU_REVERSE] = 1500;
    make_mtu_run(&shape, &run);
    for (size_t i = 0; i < run.mtu_cases.count; i++) {
        struct mtu_case *of = (struct mtu_case *)run.mtu_cases.items + i;

        of->flow.fragments = MTU_UNTESTED;
        of->flow.fragment_probes.present = false;
    }
    make_mtu_sizes(make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, 0), 1440, 0, 10);
    make_mtu_sizes(make_mtu_at(&run, FAMILY_IPV4, MTU_REVERSE, 0), NONE_INT, 10, 10);
    make_mtu_sizes(make_mtu_at(&run, FAMILY_IPV6, MTU_FORWARD, 0), NONE_INT, 0, 0);
    make_mtu_sizes(make_mtu_at(&run, FAMILY_IPV6, MTU_REVERSE, 0), 1280, 2, 320);
    golden_expect(&run, "mtu_sizes.txt");
    run_done(&run);
}

static void nothing_found(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;

    (void)state;
    make_mtu_run(&shape, &run);
    make_mtu_answer(make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, 0), MAKE_MTU_NOBODY, NONE_INT);
    make_mtu_answer(make_mtu_at(&run, FAMILY_IPV4, MTU_REVERSE, 0), MAKE_MTU_CUT_OFF, 1280);
    make_mtu_error(&run, FAMILY_IPV6,
                   "echo: no address of this host is an IPv6 address that the other one may use: "
                   "have 10.9.2.2 and 127.0.0.1");
    golden_expect(&run, "mtu_failed.txt");
    run_done(&run);
}

static void stop_watching(struct run *run, double seconds)
{
    run->mtu_plan.common.watch_s = seconds;
    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        struct mtu_case *of = (struct mtu_case *)run->mtu_cases.items + i;

        of->flow.fragments = MTU_UNTESTED;
        of->flow.fragment_probes.present = of->flow.hops.present = false;
    }
}

static void changes_while_watching(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct mtu_session *session;
    struct run run;

    (void)state;
    shape.common.flows = 2;
    make_mtu_run(&shape, &run);
    stop_watching(&run, 60);
    session = make_mtu_session(&run, FAMILY_IPV4);
    make_mtu_event(&session->events_forward,
                   (struct mtu_event){ 0, MTU_CHANGE_KNOWN, NONE_INT, 1500, 0.2 });
    make_mtu_event(&session->events_forward,
                   (struct mtu_event){ 0, MTU_CHANGE_CHANGED, 1500, 1400, 21.4 });
    make_mtu_event(&session->events_reverse,
                   (struct mtu_event){ 1, MTU_CHANGE_UNREACHABLE, 1400, NONE_INT, 33 });
    make_mtu_event(&session->events_reverse,
                   (struct mtu_event){ 1, MTU_CHANGE_CHANGED, 1400, NONE_INT, 1234.5 });
    golden_expect(&run, "mtu_watch.txt");
    run_done(&run);
    make_mtu_run(&shape, &run);
    stop_watching(&run, 60);
    assert_true(says(&run, "begin)\n  none\n"));
    run_done(&run);
}

static void interrupted_runs_say_what_they_did_not_come_to(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;

    (void)state;
    make_mtu_run(&shape, &run);
    make_mtu_interrupted(&run, 2);
    assert_true(says(&run, "Z (interrupted)\n"));
    assert_true(says(&run, "  1 of 2 sessions was not come to\n"));
    assert_true(says(&run, "An application may send: IPv4 1,372 B, IPv6 not known; UDP payload, in "
                           "both directions."));
    make_mtu_interrupted(&run, 1);
    assert_true(says(&run, "IPv4 not known"));
    make_mtu_interrupted(&run, 0);
    assert_true(says(&run, "  2 of 2 sessions were not come to\n"));
    assert_false(says(&run, "What the path carries"));
    run.mtu_plan.families.count = 0;
    assert_false(says(&run, "An application"));
    run_done(&run);
}

/* What stands in no line of the table stands below it. */
static void a_session_with_answers_may_have_an_error(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;

    (void)state;
    make_mtu_run(&shape, &run);
    (void)text_copy(make_mtu_session(&run, FAMILY_IPV4)->error, 512, "echo: gone before the end");
    assert_true(says(&run, "\nWhat could not be measured\n  IPv4: echo: gone before the end\n"));
    run_done(&run);
}

static void the_other_end_tells_what_it_did_not_answer(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct mtu_answered *answered;
    struct run run;

    (void)state;
    shape.family_count = 1;
    make_mtu_run(&shape, &run);
    answered = &make_mtu_session(&run, FAMILY_IPV4)->answered_reverse;
    answered->in_fragments = 12;
    answered->foreign = 3;
    assert_true(says(&run, "  IPv4 reverse: 12 came in fragments although they must not be cut"));
    assert_true(says(&run, "  IPv4 reverse: 3 came from strangers and were not answered\n"));
    run_done(&run);
}

/* 256 groups in each of four ways, and as many events as there is room for. */
static void long_lists_stay_within_the_page(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;

    (void)state;
    shape.common.flows = MTU_FLOWS_MAX;
    make_mtu_run(&shape, &run);
    for (size_t i = 0; i < run.mtu_cases.count; i++)
        make_mtu_answer((struct mtu_case *)run.mtu_cases.items + i, MAKE_MTU_TOLD,
                        1300 + (int64_t)(i % MTU_FLOWS_MAX));
    run.mtu_plan.common.ceiling = 0;
    assert_true(says(&run, "  ... and 196 more\n"));
    stop_watching(&run, 60);
    for (int i = 0; i < MTU_EVENTS_MAX; i++)
        make_mtu_event(&make_mtu_session(&run, FAMILY_IPV6)->events_forward,
                       (struct mtu_event){ i % 256, MTU_CHANGE_CHANGED, 1400, 1300, i });
    assert_true(says(&run, "  ... and 964 more\n"));
    run_done(&run);
}

static void huge_counts_do_not_break_it(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct run run;
    struct buf text;

    (void)state;
    shape.common.flows = 2;
    make_mtu_run(&shape, &run);
    for (size_t i = 0; i < run.mtu_cases.count; i++) {
        struct mtu_flow *flow = &((struct mtu_case *)run.mtu_cases.items)[i].flow;

        flow->probes = flow->controls = flow->retries = flow->refused = INT64_MAX;
        flow->rtt_ns = flow->kernel_before = flow->kernel_path_mtu = INT64_MAX;
        flow->seconds = 2 * 86400.0;
    }
    golden_tell(&run, golden_plain, &text);
    assert_non_null(strstr(text.data, "9,223,372,036,854,775,807"));
    buf_done(&text);
    run_done(&run);
}

static void names_from_outside_stay_harmless(void **state)
{
    struct make_mtu_shape shape = make_mtu_seed();
    struct mtu_icmp *icmp;
    struct run run;
    struct buf text;

    (void)state;
    shape.base.host_name = "h\x1b[2J";
    make_mtu_run(&shape, &run);
    icmp = make_mtu_at(&run, FAMILY_IPV4, MTU_FORWARD, 0)->flow.icmp.items;
    (void)text_copy(icmp->from, sizeof icmp->from, "r\x1b]0;x\x07");
    make_mtu_error(&run, FAMILY_IPV6, "e\x1b[1m \xe2\x80\xaex");
    golden_tell(&run, golden_plain, &text);
    assert_null(strchr(text.data, '\x1b'));
    assert_null(strchr(text.data, '\x07'));
    assert_non_null(strstr(text.data, "r?]0;x?"));
    assert_non_null(strstr(text.data, "e?[1m ?x"));
    buf_done(&text);
    golden_tell(&run, (struct terminal_style){ true, true }, &text);
    assert_null(strstr(text.data, "\x1b["
                                  "2J"));
    assert_non_null(strstr(text.data, "\x1b[32m"));
    buf_done(&text);
    run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed),
        cmocka_unit_test(flows_that_differ),
        cmocka_unit_test(loss_by_size),
        cmocka_unit_test(nothing_found),
        cmocka_unit_test(changes_while_watching),
        cmocka_unit_test(interrupted_runs_say_what_they_did_not_come_to),
        cmocka_unit_test(a_session_with_answers_may_have_an_error),
        cmocka_unit_test(the_other_end_tells_what_it_did_not_answer),
        cmocka_unit_test(long_lists_stay_within_the_page),
        cmocka_unit_test(huge_counts_do_not_break_it),
        cmocka_unit_test(names_from_outside_stay_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
