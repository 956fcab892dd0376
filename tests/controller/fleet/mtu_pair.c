/* Owns the pairs of path MTU reports that tests join. */
#include "tests/controller/fleet/mtu_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/controller/fleet/make_report.h"

void mtu_pair_make(struct mtu_pair *pair, enum mtu_ways direction, int64_t flows)
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

void mtu_pair_forget(struct mtu_pair *pair)
{
    for (size_t i = 0; i < pair->cases.count; i++)
        record_done(&mtu_case_record, (struct mtu_case *)pair->cases.items + i);
    for (size_t i = 0; i < pair->sessions.count; i++)
        record_done(&mtu_session_record, (struct mtu_session *)pair->sessions.items + i);
    free(pair->cases.items);
    free(pair->sessions.items);
    pair->cases = pair->sessions = (struct list){ NULL, 0 };
}

void mtu_pair_done(struct mtu_pair *pair)
{
    mtu_pair_forget(pair);
    record_done(&mtu_report_record, &pair->sender);
    record_done(&mtu_report_record, &pair->echo);
}

struct mtu_flow *mtu_pair_flow(struct mtu_report *report, size_t index)
{
    assert_true(index < report->flows.count);
    return (struct mtu_flow *)report->flows.items + index;
}

struct mtu_case *mtu_pair_case(const struct mtu_pair *pair, size_t index)
{
    assert_true(index < pair->cases.count);
    return (struct mtu_case *)pair->cases.items + index;
}

struct mtu_session *mtu_pair_session(const struct mtu_pair *pair)
{
    return pair->sessions.items;
}

/* Every case and session is one that an archive may have. */
void mtu_pair_join(struct mtu_pair *pair, const struct mtu_report *sender,
                   const struct mtu_report *echo)
{
    struct fault fault = { "" };

    mtu_join(sender, echo, &pair->params, &pair->cases, &pair->sessions);
    assert_int_equal(1, pair->sessions.count);
    for (size_t i = 0; i < pair->cases.count; i++) {
        assert_int_equal(i, mtu_pair_case(pair, i)->index);
        if (record_check(&mtu_case_record, mtu_pair_case(pair, i), &fault) != STATUS_OK)
            fail_msg("%s", fault.text);
    }
    if (record_check(&mtu_session_record, mtu_pair_session(pair), &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

struct mtu_row mtu_pair_row(const struct mtu_pair *pair, enum mtu_direction direction)
{
    struct fault fault = { "" };
    struct mtu_row row;

    mtu_row_of(pair->cases.items, pair->cases.count, mtu_pair_session(pair), direction, &row);
    if (record_check(&mtu_row_record, &row, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return row;
}

/* The session watches, which both reports know. */
void mtu_pair_watch(struct mtu_pair *pair)
{
    pair->params.common.watch_s = 60;
    pair->sender.params = pair->echo.params = pair->params;
}

void mtu_pair_event(struct mtu_report *report, enum mtu_change change, int64_t from, int64_t to)
{
    struct mtu_event *event = list_append_sized(&report->events, sizeof *event);

    *event = (struct mtu_event){ .change = change, .from = from, .to = to, .after_s = 1 };
}
