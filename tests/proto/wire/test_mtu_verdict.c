/* mtu_verdict: every answer has one verdict, and flows with the same answer are one group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/proto/wire/mtu_answer.h"

/* Frees the answer. */
static void expect(struct mtu_case *what, enum mtu_verdict verdict)
{
    judge(what);
    assert_string_equal(mtu_verdict_names[what->verdict], mtu_verdict_names[verdict]);
    answer_done(what);
}

/* --- verdicts -------------------------------------------------------------------------------- */

static void the_interface_s_size_is_clean(void **state)
{
    static const enum mtu_limit limits[] = { MTU_LIMIT_CEILING, MTU_LIMIT_LOCAL, MTU_LIMIT_PATH };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct mtu_case what = found(FAMILY_IPV4, 1500);

        what.flow.limit = limits[i];
        expect(&what, MTU_CLEAN);
    }
}

static void a_ceiling_that_was_asked_for_and_passed_is_clean(void **state)
{
    struct mtu_case what = found(FAMILY_IPV6, 1400);

    (void)state;
    what.flow.limit = MTU_LIMIT_CEILING;
    what.flow.next_size = NONE_INT;
    expect(&what, MTU_CLEAN);
    /* Also one below the base: nothing was asked above it. */
    what = found(FAMILY_IPV4, 600);
    what.flow.limit = MTU_LIMIT_CEILING;
    expect(&what, MTU_CLEAN);
    what = found(FAMILY_IPV4, 600);
    what.flow.limit = MTU_LIMIT_CEILING;
    what.flow.local_mtu = NONE_INT;
    expect(&what, MTU_CLEAN);
}

static void what_nobody_named_is_a_black_hole(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    expect(&what, MTU_BLACK_HOLE);
    what = found(FAMILY_IPV4, 1400);
    what.flow.local_mtu = NONE_INT;
    expect(&what, MTU_BLACK_HOLE);
    /* The hop before said something else: where it ends nobody said so. */
    what = found(FAMILY_IPV4, 1400);
    add_icmp(&what, "10.9.1.254", 1450, 1, NULL);
    expect(&what, MTU_BLACK_HOLE);
    what = found(FAMILY_IPV4, 1400);
    add_icmp(&what, "10.9.1.254", 1399, 1, NULL);
    expect(&what, MTU_BLACK_HOLE);
}

static void what_was_not_believed_signals_nothing(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    add_icmp(&what, "10.9.1.254", 1400, 9, "unknown datagram");
    add_icmp(&what, "10.9.1.254", 68, 9, "more was acknowledged");
    expect(&what, MTU_BLACK_HOLE);
}

static void who_named_it_has_signalled_it(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1400);

    (void)state;
    add_icmp(&what, "10.9.1.254", 1450, 1, NULL);
    add_icmp(&what, "10.9.2.254", 1400, 3, NULL);
    expect(&what, MTU_SIGNALLED);
    /* No datagram has a size from 141 to 143: who says 142 means 140. */
    what = found(FAMILY_IPV4, 140);
    what.flow.next_size = 144;
    add_icmp(&what, "10.9.2.254", 142, 1, NULL);
    assert_int_equal(mtu_verdict_of(FAMILY_IPV4, &what.flow), MTU_BELOW_BASE);
    what.flow.path_mtu = 1400;
    what.flow.next_size = 1404;
    ((struct mtu_icmp *)what.flow.icmp.items)->mtu = 1403;
    assert_int_equal(mtu_verdict_of(FAMILY_IPV4, &what.flow), MTU_SIGNALLED);
    ((struct mtu_icmp *)what.flow.icmp.items)->mtu = 1404;
    assert_int_equal(mtu_verdict_of(FAMILY_IPV4, &what.flow), MTU_BLACK_HOLE);
    what.flow.next_size = NONE_INT;
    expect(&what, MTU_BLACK_HOLE);
}

/* Whatever ends the sizes: what is carried and lost more is what its owner must know. */
static void loss_above_a_size_comes_first(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1500);

    (void)state;
    add_size_effect(&what, 1440);
    what.flow.limit = MTU_LIMIT_CEILING;
    expect(&what, MTU_LOSSY);
    what = found(FAMILY_IPV4, 1480);
    add_size_effect(&what, 1440);
    add_icmp(&what, "10.9.2.254", 1480, 1, NULL);
    expect(&what, MTU_LOSSY);
    what = found(FAMILY_IPV4, 1480);
    add_size_effect(&what, 1440);
    what.flow.size_effect.found = false;
    expect(&what, MTU_BLACK_HOLE);
    what = found(FAMILY_IPV4, 1480);
    add_size_effect(&what, 1440);
    what.flow.size_effect.present = false;
    expect(&what, MTU_BLACK_HOLE);
    what = found(FAMILY_IPV4, 1100);
    add_size_effect(&what, 1000);
    expect(&what, MTU_BELOW_BASE);
}

static void each_family_has_its_base(void **state)
{
    struct mtu_case what = found(FAMILY_IPV4, 1199);

    (void)state;
    add_icmp(&what, "10.9.2.254", 1199, 1, NULL);
    expect(&what, MTU_BELOW_BASE);
    what = found(FAMILY_IPV4, 1200);
    expect(&what, MTU_BLACK_HOLE);
    what = found(FAMILY_IPV6, 1279);
    expect(&what, MTU_BELOW_BASE);
    what = found(FAMILY_IPV6, 1280);
    expect(&what, MTU_BLACK_HOLE);
    /* An interface that has no more is no ceiling that was asked for. */
    what = found(FAMILY_IPV4, 576);
    what.flow.local_mtu = 576;
    what.flow.limit = MTU_LIMIT_CEILING;
    expect(&what, MTU_BELOW_BASE);
    what = found(FAMILY_IPV4, 600);
    what.flow.limit = MTU_LIMIT_LOCAL;
    expect(&what, MTU_BELOW_BASE);
}

/* A floor above the base says nothing about the base. */
static void below_the_floor_may_be_above_the_base(void **state)
{
    struct mtu_case what = answer_of(FAMILY_IPV6, MTU_BELOW_FLOOR);

    (void)state;
    expect(&what, MTU_BELOW_BASE);
    what = answer_of(FAMILY_IPV6, MTU_BELOW_FLOOR);
    what.flow.next_size = 1280;
    expect(&what, MTU_BELOW_BASE);
    what = answer_of(FAMILY_IPV6, MTU_BELOW_FLOOR);
    what.flow.next_size = 1281;
    expect(&what, MTU_NO_VERDICT);
    what = answer_of(FAMILY_IPV4, MTU_BELOW_FLOOR);
    what.flow.next_size = 1280;
    expect(&what, MTU_NO_VERDICT);
}

static void without_an_end_there_is_no_verdict(void **state)
{
    static const enum mtu_outcome outcomes[] = { MTU_UNDECIDED, MTU_UNSTABLE, MTU_EXHAUSTED };
    struct mtu_case what = answer_of(FAMILY_IPV4, MTU_UNREACHABLE);

    (void)state;
    expect(&what, MTU_NO_ANSWER);
    for (size_t i = 0; i < 3; i++) {
        what = found(FAMILY_IPV4, 1000);
        what.flow.outcome = outcomes[i];
        add_size_effect(&what, 900);
        add_icmp(&what, "10.9.2.254", 1000, 1, NULL);
        expect(&what, MTU_NO_VERDICT);
    }
    what = answer_of(FAMILY_IPV4, MTU_FOUND); /* of an archive that contradicts itself */
    expect(&what, MTU_NO_VERDICT);
}

static void the_payload_is_what_the_headers_leave(void **state)
{
    (void)state;
    assert_int_equal(mtu_payload_of(FAMILY_IPV4, 1500), 1472);
    assert_int_equal(mtu_payload_of(FAMILY_IPV6, 1500), 1452);
    assert_int_equal(mtu_payload_of(FAMILY_IPV4, 65535), 65507);
    assert_int_equal(mtu_payload_of(FAMILY_IPV6, 65575), 65527);
    assert_int_equal(mtu_payload_of(FAMILY_IPV4, NONE_INT), NONE_INT);
    assert_int_equal(mtu_payload_of(FAMILY_IPV6, 40), 0);
}

/* --- groups ---------------------------------------------------------------------------------- */

enum { FLOWS = MTU_FLOWS_MAX + 1 };

struct flows {
    struct mtu_case cases[FLOWS];
    const struct mtu_case *list[FLOWS];
    size_t count;
};

static void add(struct flows *flows, int64_t port, int64_t path_mtu, enum mtu_verdict verdict)
{
    struct mtu_case *what = &flows->cases[flows->count];

    record_init(&mtu_case_record, what);
    what->flow.flow = (int64_t)flows->count;
    what->flow.source_port = port;
    what->flow.path_mtu = path_mtu;
    what->verdict = verdict;
    flows->list[flows->count++] = what;
}

/* The words of all groups, one a line. */
static void expect_groups(const struct flows *flows, const char *expected)
{
    struct mtu_group *groups;
    size_t count = mtu_groups(flows->list, flows->count, &groups), members = 0;
    struct buf words;

    buf_init(&words, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        mtu_group_words(flows->list, flows->count, &groups[i], count == 1, &words);
        buf_text(&words, "\n");
        members += groups[i].count;
    }
    assert_int_equal(members, flows->count);
    assert_string_equal(buf_peek(&words), expected);
    buf_done(&words);
    free(groups);
}

static void one_answer_needs_no_ports(void **state)
{
    struct flows flows = { .count = 0 };

    (void)state;
    add(&flows, 40001, 1500, MTU_CLEAN);
    expect_groups(&flows, "1500\n");
    add(&flows, 40002, 1500, MTU_CLEAN);
    expect_groups(&flows, "1500\n");
    flows.count = 0;
    add(&flows, NONE_INT, NONE_INT, MTU_NO_ANSWER);
    expect_groups(&flows, "none\n");
}

static void ports_that_differ_are_named(void **state)
{
    struct flows flows = { .count = 0 };

    (void)state;
    for (int64_t port = 40012; port > 40000; port--) /* as they come */
        add(&flows, port, 1500, MTU_CLEAN);
    add(&flows, 40013, 1400, MTU_BLACK_HOLE);
    add(&flows, 40020, 1500, MTU_CLEAN);
    expect_groups(&flows, "ports 40001-40012, 40020: 1500\nport 40013: 1400\n");
}

/* The largest first, none last, and the same size with another verdict apart. */
static void groups_are_in_order(void **state)
{
    struct flows flows = { .count = 0 };

    (void)state;
    add(&flows, 7, NONE_INT, MTU_NO_ANSWER);
    add(&flows, 5, 1400, MTU_LOSSY);
    add(&flows, 3, 1500, MTU_CLEAN);
    add(&flows, 1, 1400, MTU_SIGNALLED);
    add(&flows, 6, 9000, MTU_CLEAN);
    add(&flows, 9, NONE_INT, MTU_BELOW_BASE);
    expect_groups(&flows, "port 6: 9000\nport 3: 1500\nport 1: 1400\nport 5: 1400\nport 9: none\n"
                          "port 7: none\n");
}

/* Flows of which no port is known go by their numbers. */
static void flows_without_ports_have_numbers(void **state)
{
    struct flows flows = { .count = 0 };

    (void)state;
    add(&flows, 40000, 1500, MTU_CLEAN);
    add(&flows, NONE_INT, NONE_INT, MTU_NO_ANSWER);
    add(&flows, NONE_INT, NONE_INT, MTU_NO_ANSWER);
    add(&flows, 40003, NONE_INT, MTU_NO_ANSWER);
    add(&flows, NONE_INT, NONE_INT, MTU_NO_ANSWER);
    expect_groups(&flows, "port 40000: 1500\nport 40003, flows 1-2, 4: none\n");
}

static void a_port_that_is_there_twice_is_told_once(void **state)
{
    struct flows flows = { .count = 0 };

    (void)state;
    add(&flows, 40000, 1500, MTU_CLEAN);
    add(&flows, 40000, 1500, MTU_CLEAN);
    add(&flows, 40001, 1500, MTU_CLEAN);
    add(&flows, 65535, 1400, MTU_CLEAN);
    expect_groups(&flows, "ports 40000-40001: 1500\nport 65535: 1400\n");
}

static void many_ranges_are_cut(void **state)
{
    struct flows flows = { .count = 0 };

    (void)state;
    for (int64_t i = 0; i < 256; i++)
        add(&flows, 100 + i, i % 2 == 0 ? 1500 : 1400, MTU_CLEAN);
    expect_groups(&flows,
                  "ports 100, 102, 104, 106, 108, 110, 112, 114, 116, 118, 120, 122, 124, 126, "
                  "128, 130 and 112 more: 1500\n"
                  "ports 101, 103, 105, 107, 109, 111, 113, 115, 117, 119, 121, 123, 125, 127, "
                  "129, 131 and 112 more: 1400\n");
}

static void each_flow_may_have_its_own_answer(void **state)
{
    struct flows *flows = calloc(1, sizeof *flows);
    struct mtu_group *groups;
    size_t count;

    (void)state;
    assert_non_null(flows);
    for (int64_t i = 0; i < MTU_FLOWS_MAX; i++)
        add(flows, 65535 - i, 1000 + (i * 101) % MTU_FLOWS_MAX, MTU_BLACK_HOLE);
    count = mtu_groups(flows->list, flows->count, &groups);
    assert_int_equal(count, MTU_FLOWS_MAX);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(groups[i].first->flow.path_mtu, 1255 - (int64_t)i);
        assert_int_equal(groups[i].count, 1);
    }
    free(groups);
    /* One answer more than there is room for. */
    add(flows, 1, 9000, MTU_CLEAN);
    count = mtu_groups(flows->list, flows->count, &groups);
    assert_int_equal(count, MTU_FLOWS_MAX);
    assert_int_equal(groups[0].first->flow.path_mtu, 1255);
    free(groups);
    free(flows);
}

static void no_flows_are_no_groups(void **state)
{
    struct mtu_group *groups = (struct mtu_group *)1;

    (void)state;
    assert_int_equal(mtu_groups(NULL, 0, &groups), 0);
    assert_null(groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interface_s_size_is_clean),
        cmocka_unit_test(a_ceiling_that_was_asked_for_and_passed_is_clean),
        cmocka_unit_test(what_nobody_named_is_a_black_hole),
        cmocka_unit_test(what_was_not_believed_signals_nothing),
        cmocka_unit_test(who_named_it_has_signalled_it),
        cmocka_unit_test(loss_above_a_size_comes_first),
        cmocka_unit_test(each_family_has_its_base),
        cmocka_unit_test(below_the_floor_may_be_above_the_base),
        cmocka_unit_test(without_an_end_there_is_no_verdict),
        cmocka_unit_test(the_payload_is_what_the_headers_leave),
        cmocka_unit_test(one_answer_needs_no_ports),
        cmocka_unit_test(ports_that_differ_are_named),
        cmocka_unit_test(groups_are_in_order),
        cmocka_unit_test(flows_without_ports_have_numbers),
        cmocka_unit_test(a_port_that_is_there_twice_is_told_once),
        cmocka_unit_test(many_ranges_are_cut),
        cmocka_unit_test(each_flow_may_have_its_own_answer),
        cmocka_unit_test(no_flows_are_no_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
