/* Two reports of a path MTU session become one account; what is missing or contradicts itself is
 * told, and what is known is there all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/mtu_join.h"
#include "proto/base/text.h"
#include "tests/controller/fleet/make_report.h"

/* Both reports of a session, and what was joined of them. */
struct pair {
    struct mtu_params params;
    struct mtu_report sender, echo;
    struct list cases, sessions;
};

static void make(struct pair *pair, enum mtu_ways direction, int64_t flows)
{
    struct mtu_plan plan;

    make_mtu_plan(1, &plan);
    plan.common.direction = direction;
    plan.common.flows = flows;
    memset(pair, 0, sizeof *pair);
    pair->params = mtu_plan_session(&plan, 0);
    make_mtu_report(END_SENDER, &pair->params, &pair->sender);
    make_mtu_report(END_ECHO, &pair->params, &pair->echo);
    record_done(&mtu_plan_record, &plan);
}

static void forget(struct pair *pair)
{
    for (size_t i = 0; i < pair->cases.count; i++)
        record_done(&mtu_case_record, (struct mtu_case *)pair->cases.items + i);
    for (size_t i = 0; i < pair->sessions.count; i++)
        record_done(&mtu_session_record, (struct mtu_session *)pair->sessions.items + i);
    free(pair->cases.items);
    free(pair->sessions.items);
    pair->cases = pair->sessions = (struct list){ NULL, 0 };
}

static void done(struct pair *pair)
{
    forget(pair);
    record_done(&mtu_report_record, &pair->sender);
    record_done(&mtu_report_record, &pair->echo);
}

static struct mtu_flow *flow_of(struct mtu_report *report, size_t index)
{
    assert_true(index < report->flows.count);
    return (struct mtu_flow *)report->flows.items + index;
}

static struct mtu_case *case_at(const struct pair *pair, size_t index)
{
    assert_true(index < pair->cases.count);
    return (struct mtu_case *)pair->cases.items + index;
}

static struct mtu_session *session_of(const struct pair *pair)
{
    return pair->sessions.items;
}

/* Every case and session is one that an archive may have. */
static void join(struct pair *pair, const struct mtu_report *sender, const struct mtu_report *echo)
{
    struct fault fault = { "" };

    mtu_join(sender, echo, &pair->params, &pair->cases, &pair->sessions);
    assert_int_equal(1, pair->sessions.count);
    for (size_t i = 0; i < pair->cases.count; i++) {
        assert_int_equal(i, case_at(pair, i)->index);
        if (record_check(&mtu_case_record, case_at(pair, i), &fault) != STATUS_OK)
            fail_msg("%s", fault.text);
    }
    if (record_check(&mtu_session_record, session_of(pair), &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static struct mtu_row row_of(const struct pair *pair, enum mtu_direction direction)
{
    struct fault fault = { "" };
    struct mtu_row row;

    mtu_row_of(pair->cases.items, pair->cases.count, session_of(pair), direction, &row);
    if (record_check(&mtu_row_record, &row, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return row;
}

static void add_event(struct mtu_report *report, enum mtu_change change, int64_t from, int64_t to)
{
    struct mtu_event *event = list_append_sized(&report->events, sizeof *event);

    *event = (struct mtu_event){ .change = change, .from = from, .to = to, .after_s = 1 };
}

/* --- two reports ---------------------------------------------------------------------------- */

static void forward_is_the_senders_and_reverse_the_echos(void **state)
{
    struct pair pair;
    struct mtu_icmp *icmp;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 2);
    flow_of(&pair.echo, 1)->path_mtu = 1400;
    flow_of(&pair.echo, 1)->next_size = 1401;
    flow_of(&pair.echo, 1)->limit = MTU_LIMIT_PATH;
    icmp = list_append_sized(&flow_of(&pair.echo, 1)->icmp, sizeof *icmp);
    text_copy(icmp->from, sizeof icmp->from, "10.9.2.254");
    icmp->mtu = 1400;
    icmp->accepted = true;
    icmp->count = 1;
    *(struct mtu_size *)list_append_sized(&flow_of(&pair.sender, 0)->loss_by_size,
                                          sizeof(struct mtu_size)) =
        (struct mtu_size){ 1000, 9, 1 };
    join(&pair, &pair.sender, &pair.echo);
    assert_int_equal(4, pair.cases.count);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(i < 2 ? MTU_FORWARD : MTU_REVERSE, case_at(&pair, i)->direction);
        assert_int_equal(i % 2, case_at(&pair, i)->flow.flow);
        assert_int_equal(i == 3 ? MTU_SIGNALLED : MTU_CLEAN, case_at(&pair, i)->verdict);
        assert_int_equal(i == 3 ? 1372 : 1472, case_at(&pair, i)->udp_payload);
        assert_string_equal("", case_at(&pair, i)->error);
    }
    assert_ptr_not_equal(icmp, case_at(&pair, 3)->flow.icmp.items);
    assert_int_equal(1, case_at(&pair, 0)->flow.loss_by_size.count);
    assert_string_equal("", session_of(&pair)->error);
    assert_string_equal("10.9.1.1:40000", session_of(&pair)->local);
    assert_string_equal("10.9.2.2:7900", session_of(&pair)->peer);
    assert_int_equal(5, session_of(&pair)->agreement.hellos_sent);
    assert_int_equal(7, session_of(&pair)->agreement.strangers);
    assert_true(session_of(&pair)->answered_forward.present);
    assert_true(session_of(&pair)->answered_reverse.present);
    done(&pair);
}

static void a_direction_that_was_not_asked_for_is_not_there(void **state)
{
    struct pair pair;

    (void)state;
    make(&pair, MTU_WAYS_REVERSE, 1);
    join(&pair, &pair.sender, &pair.echo);
    assert_int_equal(1, pair.cases.count);
    assert_int_equal(MTU_REVERSE, case_at(&pair, 0)->direction);
    assert_false(session_of(&pair)->answered_forward.present);
    assert_string_equal("", session_of(&pair)->error);
    done(&pair);
}

static void sessions_follow_each_other_in_an_archive(void **state)
{
    struct pair pair;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 1);
    join(&pair, &pair.sender, &pair.echo);
    mtu_join(&pair.sender, &pair.echo, &pair.params, &pair.cases, &pair.sessions);
    assert_int_equal(2, pair.sessions.count);
    assert_int_equal(4, pair.cases.count);
    assert_int_equal(3, case_at(&pair, 3)->index);
    done(&pair);
}

/* --- what is missing ------------------------------------------------------------------------ */

static void one_report_alone_says_what_it_knows(void **state)
{
    struct pair pair;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 1);
    text_copy(pair.sender.error, sizeof pair.sender.error, "cut off");
    join(&pair, &pair.sender, NULL);
    assert_string_equal("the report of the echo's end is missing; the other one says: cut off",
                        session_of(&pair)->error);
    assert_int_equal(MTU_CLEAN, case_at(&pair, 0)->verdict);
    assert_string_equal("", case_at(&pair, 0)->error);
    assert_int_equal(MTU_NO_VERDICT, case_at(&pair, 1)->verdict);
    assert_int_equal(NONE_INT, case_at(&pair, 1)->flow.path_mtu);
    assert_string_equal(session_of(&pair)->error, case_at(&pair, 1)->error);
    assert_int_equal(CASE_PASS, row_of(&pair, MTU_FORWARD).status);
    assert_string_equal("", row_of(&pair, MTU_FORWARD).error);
    assert_int_equal(CASE_ERROR, row_of(&pair, MTU_REVERSE).status);
    assert_string_equal(session_of(&pair)->error, row_of(&pair, MTU_REVERSE).error);
    mtu_join_blame(session_of(&pair), pair.cases.items, pair.cases.count, "b is away");
    assert_string_equal("", case_at(&pair, 0)->error);
    assert_string_equal("b is away", row_of(&pair, MTU_REVERSE).error);
    forget(&pair);
    join(&pair, NULL, &pair.echo);
    assert_string_equal("the report of the sender's end is missing", session_of(&pair)->error);
    assert_string_equal("10.9.1.1:40000", session_of(&pair)->local);
    assert_int_equal(MTU_CLEAN, case_at(&pair, 1)->verdict);
    assert_false(session_of(&pair)->agreement.present);
    done(&pair);
}

static void no_report_at_all_is_one_case_per_flow(void **state)
{
    struct pair pair;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 3);
    join(&pair, NULL, NULL);
    assert_int_equal(6, pair.cases.count);
    assert_int_equal(2, case_at(&pair, 5)->flow.flow);
    assert_string_equal("the reports of both ends are missing", case_at(&pair, 5)->error);
    assert_int_equal(3, row_of(&pair, MTU_REVERSE).flows);
    done(&pair);
}

static void what_ends_say_of_themselves_is_the_error(void **state)
{
    struct pair pair;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 1);
    text_copy(pair.echo.error, sizeof pair.echo.error, "no buffer space");
    pair.echo.flows.count = 0;
    join(&pair, &pair.sender, &pair.echo);
    assert_string_equal("echo: no buffer space", session_of(&pair)->error);
    assert_string_equal("echo: no buffer space", case_at(&pair, 1)->error);
    forget(&pair);
    text_copy(pair.sender.error, sizeof pair.sender.error, "no route");
    join(&pair, &pair.sender, &pair.echo);
    assert_string_equal("sender: no route; echo: no buffer space", session_of(&pair)->error);
    pair.echo.flows.count = 1;
    done(&pair);
}

/* --- what contradicts ----------------------------------------------------------------------- */

static void expect_contradiction(struct pair *pair, const char *words)
{
    join(pair, &pair->sender, &pair->echo);
    assert_non_null(strstr(session_of(pair)->error, words));
    for (size_t i = 0; i < pair->cases.count; i++) {
        assert_int_equal(MTU_NO_VERDICT, case_at(pair, i)->verdict);
        assert_string_equal(session_of(pair)->error, case_at(pair, i)->error);
    }
    done(pair);
}

static void reports_that_contradict_each_other_are_no_answer(void **state)
{
    struct pair pair;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 2);
    text_copy(pair.echo.session, sizeof pair.echo.session, "another");
    expect_contradiction(&pair, "the two reports are of two sessions, session (sender) and "
                                "another (echo)");
    make(&pair, MTU_WAYS_BOTH, 2);
    pair.echo.index = 1;
    expect_contradiction(&pair, "two sessions");
    make(&pair, MTU_WAYS_BOTH, 2);
    pair.sender.params.common.flows = 1;
    expect_contradiction(&pair, "the report of the sender's end is of other parameters than the "
                                "plan has");
    make(&pair, MTU_WAYS_BOTH, 2);
    pair.echo.params.family = FAMILY_IPV6;
    expect_contradiction(&pair, "the report of the echo's end is of other parameters");
    make(&pair, MTU_WAYS_BOTH, 2);
    pair.echo.role = END_SENDER;
    expect_contradiction(&pair, "says that it is the other one's");
}

/* Joins, of two flows, one whose forward answer is wrong in this way. */
static void expect_bad_flow(struct pair *pair, const char *words)
{
    join(pair, &pair->sender, &pair->echo);
    assert_int_equal(4, pair->cases.count);
    if (strstr(session_of(pair)->error, words) == NULL)
        fail_msg("\"%s\" is not \"%s\"", session_of(pair)->error, words);
    assert_int_equal(MTU_CLEAN, case_at(pair, 0)->verdict);
    assert_int_equal(MTU_NO_VERDICT, case_at(pair, 1)->verdict);
    assert_int_equal(1, case_at(pair, 1)->flow.flow);
    assert_int_equal(NONE_INT, case_at(pair, 1)->flow.path_mtu);
    assert_int_equal(MTU_CLEAN, case_at(pair, 3)->verdict);
    done(pair);
}

static void a_flow_that_contradicts_itself_is_no_answer(void **state)
{
    struct pair pair;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 2);
    flow_of(&pair.sender, 1)->path_mtu = NONE_INT;
    expect_bad_flow(&pair, "flow 1 was found and has no path MTU");
    make(&pair, MTU_WAYS_BOTH, 2);
    flow_of(&pair.sender, 1)->next_size = 1500;
    expect_bad_flow(&pair, "flow 1 has a path MTU of 1500, and 1500 does not pass");
    make(&pair, MTU_WAYS_BOTH, 2);
    flow_of(&pair.sender, 1)->outcome = MTU_UNREACHABLE;
    expect_bad_flow(&pair, "flow 1 is unreachable and has a path MTU");
    make(&pair, MTU_WAYS_BOTH, 2);
    flow_of(&pair.sender, 1)->probes = INT64_MAX;
    expect_bad_flow(&pair, "beyond all reason");
    make(&pair, MTU_WAYS_BOTH, 2);
    flow_of(&pair.sender, 1)->flow = 0;
    expect_bad_flow(&pair, "its report has flow 0 twice");
    make(&pair, MTU_WAYS_BOTH, 2);
    flow_of(&pair.sender, 1)->flow = 2;
    expect_bad_flow(&pair, "its report has flow 2 of 2");
    make(&pair, MTU_WAYS_BOTH, 2);
    pair.sender.flows.count = 1;
    expect_bad_flow(&pair, "the sender's end: its report has no answer of flow 1");
}

/* --- rows ----------------------------------------------------------------------------------- */

static void a_row_is_of_the_smallest_flow(void **state)
{
    struct pair pair;
    struct mtu_row row;

    (void)state;
    make(&pair, MTU_WAYS_BOTH, 4);
    flow_of(&pair.sender, 2)->path_mtu = 1400;
    flow_of(&pair.sender, 2)->next_size = 1401;
    flow_of(&pair.sender, 2)->limit = MTU_LIMIT_PATH;
    flow_of(&pair.sender, 3)->seconds = 1.5;
    add_event(&pair.sender, MTU_CHANGE_KNOWN, NONE_INT, 1400);
    add_event(&pair.sender, MTU_CHANGE_CHANGED, 1400, 1300);
    add_event(&pair.sender, MTU_CHANGE_UNREACHABLE, 1300, NONE_INT);
    join(&pair, &pair.sender, &pair.echo);
    row = row_of(&pair, MTU_FORWARD);
    assert_int_equal(CASE_FAIL, row.status);
    assert_int_equal(MTU_BLACK_HOLE, row.verdict);
    assert_int_equal(4, row.flows);
    assert_int_equal(1400, row.path_mtu);
    assert_int_equal(1500, row.largest);
    assert_int_equal(1372, row.udp_payload);
    assert_int_equal(1500, row.local_mtu);
    assert_int_equal(4 * 12, row.probes);
    assert_true(row.seconds > 1.4 && row.seconds < 1.6);
    assert_int_equal(2, row.changes);
    assert_int_equal(NONE_INT, row.threshold);
    assert_string_not_equal("", row.groups);
    assert_string_not_equal("", row.words);
    row = row_of(&pair, MTU_REVERSE);
    assert_int_equal(CASE_PASS, row.status);
    assert_int_equal(MTU_CLEAN, row.verdict);
    assert_int_equal(1500, row.path_mtu);
    assert_int_equal(0, row.changes);
    assert_string_equal("1500", row.groups);
    done(&pair);
}

static void a_flow_without_a_path_mtu_is_the_smallest(void **state)
{
    struct pair pair;
    struct mtu_row row;

    (void)state;
    make(&pair, MTU_WAYS_FORWARD, 2);
    flow_of(&pair.sender, 1)->outcome = MTU_UNREACHABLE;
    flow_of(&pair.sender, 1)->path_mtu = flow_of(&pair.sender, 1)->next_size = NONE_INT;
    join(&pair, &pair.sender, &pair.echo);
    row = row_of(&pair, MTU_FORWARD);
    assert_int_equal(CASE_FAIL, row.status);
    assert_int_equal(MTU_NO_ANSWER, row.verdict);
    assert_int_equal(NONE_INT, row.path_mtu);
    assert_int_equal(NONE_INT, row.udp_payload);
    assert_int_equal(1500, row.largest);
    done(&pair);
}

static void a_search_without_an_end_is_an_error(void **state)
{
    struct pair pair;
    struct mtu_row row;

    (void)state;
    make(&pair, MTU_WAYS_FORWARD, 2);
    flow_of(&pair.sender, 0)->path_mtu = 1400;
    flow_of(&pair.sender, 1)->outcome = MTU_UNDECIDED; /* so far 1500 */
    text_copy(pair.sender.error, sizeof pair.sender.error, "stopped by ann");
    join(&pair, &pair.sender, &pair.echo);
    row = row_of(&pair, MTU_FORWARD);
    assert_int_equal(CASE_ERROR, row.status);
    assert_int_equal(1400, row.path_mtu);
    assert_int_equal(1500, row.largest);
    assert_string_equal("sender: stopped by ann", row.error);
    assert_int_equal(1500, case_at(&pair, 1)->flow.path_mtu);
    done(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_senders_and_reverse_the_echos),
        cmocka_unit_test(a_direction_that_was_not_asked_for_is_not_there),
        cmocka_unit_test(sessions_follow_each_other_in_an_archive),
        cmocka_unit_test(one_report_alone_says_what_it_knows),
        cmocka_unit_test(no_report_at_all_is_one_case_per_flow),
        cmocka_unit_test(what_ends_say_of_themselves_is_the_error),
        cmocka_unit_test(reports_that_contradict_each_other_are_no_answer),
        cmocka_unit_test(a_flow_that_contradicts_itself_is_no_answer),
        cmocka_unit_test(a_row_is_of_the_smallest_flow),
        cmocka_unit_test(a_flow_without_a_path_mtu_is_the_smallest),
        cmocka_unit_test(a_search_without_an_end_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
