/* A stored run of path MTU is an archive, also when reports are missing or it was cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/archive_of.h"
#include "controller/fleet/joined.h"
#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"
#include "tests/controller/fleet/make_report.h"
#include "tests/controller/fleet/temp_store.h"

/* A run of two sessions from a to b, begun in the store. */
struct stored {
    struct temp_store temp;
    struct run_entry entry;
    uint64_t ids;
};

static int setup(void **state)
{
    static const uint8_t random[10] = { 7 };
    static struct stored stored;
    struct run_entry *entry = &stored.entry;
    struct fault fault;

    memset(&stored, 0, sizeof stored);
    temp_store_make(&stored.temp);
    record_init(&run_entry_record, entry);
    uuid7_format(INT64_C(1796064250000), random, entry->run);
    text_copy(entry->from, sizeof entry->from, "a");
    text_copy(entry->to, sizeof entry->to, "b");
    text_copy(entry->started, sizeof entry->started, "2026-11-30T18:44:10Z");
    entry->work.kind = WORK_MTU;
    make_mtu_plan(2, &entry->work.mtu_plan);
    assert_int_equal(STATUS_OK, store_run_begin(stored.temp.store, entry, &fault));
    *state = &stored;
    return 0;
}

static int teardown(void **state)
{
    struct stored *stored = *state;

    record_done(&run_entry_record, &stored->entry);
    temp_store_done(&stored->temp);
    return 0;
}

static void add_report(struct stored *stored, enum end_role role, int64_t index)
{
    struct mtu_params params = mtu_plan_session(&stored->entry.work.mtu_plan, (size_t)index);
    struct message_result result;
    struct mtu_report report;
    struct buf body;

    make_mtu_report(role, &params, &report);
    text_copy(report.run, sizeof report.run, stored->entry.run);
    report.index = index;
    snprintf(report.finished, sizeof report.finished, "2026-11-30T18:45:%02dZ", (int)index);
    report.host.counters.after.value[UDP_SENT] += 1000 * index;
    report.host.counters.delta.value[UDP_SENT] += 1000 * index;
    buf_init(&body, LIMIT_RESULT_BYTES);
    assert_int_equal(STATUS_OK, record_to_msgpack(&mtu_report_record, &report, &body));
    message_init(&result, MESSAGE_RESULT);
    temp_id(++stored->ids, result.id);
    text_copy(result.kind, sizeof result.kind, "mtu_report");
    bytes_set(&result.body, body.data, body.length);
    assert_int_equal(STATUS_OK, store_add(stored->temp.store, role == END_SENDER ? "a" : "b",
                                          &result, (struct wall){ 1 }));
    assert_int_equal(1, temp_commit(stored->temp.store));
    message_done(&result);
    record_done(&mtu_report_record, &report);
    buf_done(&body);
}

static void add_both(struct stored *stored, int64_t index)
{
    add_report(stored, END_SENDER, index);
    add_report(stored, END_ECHO, index);
}

/* The rows of a session that failed for this reason, as the controller keeps them. */
static void add_rows(struct stored *stored, int64_t index, const char *error)
{
    struct reports reports;
    struct run joined;
    struct mtu_row row;
    struct fault fault;

    assert_int_equal(STATUS_OK, reports_read(stored->temp.store, &stored->entry, index, &reports));
    run_init(&joined, RUN_MTU);
    joined_session(&reports, &stored->entry, index, error, &joined);
    for (int i = 0; i < MTU_DIRECTION_COUNT; i++) {
        joined_mtu_row(&stored->entry, index, &joined, (enum mtu_direction)i, &row);
        assert_int_equal(2 * index + i, row.index);
        assert_string_equal("a", row.from);
        assert_int_equal(STATUS_OK, store_mtu(stored->temp.store, &row, &fault));
    }
    run_done(&joined);
    reports_done(&reports);
}

static void end(struct stored *stored, enum run_outcome outcome, const char *finished)
{
    stored->entry.outcome = outcome;
    text_copy(stored->entry.finished, sizeof stored->entry.finished, finished);
}

static struct run archive(struct stored *stored)
{
    struct fault fault = { "" };
    struct run run;

    if (archive_of_run(stored->temp.store, &stored->entry, &run, &fault) != STATUS_OK ||
        record_check(run_record_of(run.kind), &run, &fault) != STATUS_OK ||
        validate_run(&run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(RUN_MTU, run.kind);
    return run;
}

static const struct mtu_case *case_at(const struct run *run, size_t index)
{
    assert_true(index < run->mtu_cases.count);
    return (const struct mtu_case *)run->mtu_cases.items + index;
}

static const struct host *host_at(const struct run *run, size_t index)
{
    return (const struct host *)run->hosts.items + index;
}

static void a_complete_run_has_both_families_and_hosts(void **state)
{
    struct stored *stored = *state;
    struct run run;

    add_both(stored, 0);
    add_both(stored, 1);
    end(stored, RUN_COMPLETE, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_string_equal(stored->entry.run, run.id);
    assert_false(run.interrupted);
    assert_int_equal(2, run.mtu_plan.families.count);
    assert_int_equal(2, run.mtu_sessions.count);
    assert_int_equal(4, run.mtu_cases.count);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(i, case_at(&run, i)->index);
        assert_int_equal(i / 2, case_at(&run, i)->family);
        assert_int_equal(i % 2, case_at(&run, i)->direction);
        assert_int_equal(MTU_CLEAN, case_at(&run, i)->verdict);
    }
    assert_int_equal(1452, case_at(&run, 2)->udp_payload);
    assert_string_equal("alpha.example", host_at(&run, 0)->name);
    assert_int_equal(HOST_SENDER, host_at(&run, 0)->role);
    assert_string_equal("beta.example", host_at(&run, 1)->name);
    assert_int_equal(HOST_ECHO, host_at(&run, 1)->role);
    assert_int_equal(1100, host_at(&run, 0)->counters.delta.value[UDP_SENT]);
    run_done(&run);
}

static void what_the_controller_saw_explains_what_is_missing(void **state)
{
    struct stored *stored = *state;
    struct run run;

    add_report(stored, END_SENDER, 0);
    add_rows(stored, 0, "the echo's end is away");
    add_rows(stored, 1, "the echo's end refused: not over ipv6");
    end(stored, RUN_COMPLETE, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_int_equal(2, run.mtu_sessions.count);
    assert_string_equal("the echo's end is away",
                        ((const struct mtu_session *)run.mtu_sessions.items)->error);
    assert_int_equal(MTU_CLEAN, case_at(&run, 0)->verdict);
    assert_string_equal("", case_at(&run, 0)->error);
    assert_string_equal("the echo's end is away", case_at(&run, 1)->error);
    assert_string_equal("the echo's end refused: not over ipv6", case_at(&run, 2)->error);
    assert_string_equal("b", host_at(&run, 1)->name);
    run_done(&run);
}

static void reports_that_came_after_an_error_count(void **state)
{
    struct stored *stored = *state;
    struct run run;

    add_rows(stored, 0, "the reports of both ends have not come within 20 s");
    add_both(stored, 0);
    add_both(stored, 1);
    end(stored, RUN_COMPLETE, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_string_equal("", ((const struct mtu_session *)run.mtu_sessions.items)->error);
    assert_int_equal(MTU_CLEAN, case_at(&run, 1)->verdict);
    run_done(&run);
}

static void what_it_did_not_come_to_is_not_there(void **state)
{
    struct stored *stored = *state;
    struct run run;

    add_both(stored, 0);
    end(stored, RUN_STOPPED, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_true(run.interrupted);
    assert_int_equal(1, run.mtu_sessions.count);
    assert_int_equal(2, run.mtu_cases.count);
    run_done(&run);
    end(stored, RUN_COMPLETE, ""); /* it still runs, and one report has come */
    add_report(stored, END_ECHO, 1);
    run = archive(stored);
    assert_true(run.interrupted);
    assert_int_equal(2, run.mtu_sessions.count);
    assert_string_equal("2026-11-30T18:45:01Z", run.finished);
    assert_string_equal("the report of the sender's end is missing", case_at(&run, 2)->error);
    assert_int_equal(MTU_CLEAN, case_at(&run, 3)->verdict);
    run_done(&run);
}

static void nothing_measured_is_no_archive(void **state)
{
    struct stored *stored = *state;
    struct fault fault;
    struct run run;

    add_rows(stored, 0, "b refused");
    end(stored, RUN_FAILED, "2026-11-30T18:50:00Z");
    text_copy(stored->entry.reason, sizeof stored->entry.reason, "b refused");
    assert_int_equal(STATUS_NOT_FOUND,
                     archive_of_run(stored->temp.store, &stored->entry, &run, &fault));
    assert_non_null(strstr(fault.text, "was measured: b refused"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_complete_run_has_both_families_and_hosts),
        TEST(what_the_controller_saw_explains_what_is_missing),
        TEST(reports_that_came_after_an_error_count),
        TEST(what_it_did_not_come_to_is_not_there),
        TEST(nothing_measured_is_no_archive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
