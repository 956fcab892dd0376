/* A stored run is an archive that adds up, also when reports are missing, of the wrong form or of
 * other parameters. */
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

/* A run of three cases from a to b, begun in the store. */
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
    text_copy(entry->operator_name, sizeof entry->operator_name, "ann");
    text_copy(entry->started, sizeof entry->started, "2026-11-30T18:44:10Z");
    make_fleet_plan(3, &entry->work.plan);
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

static void add_body(struct stored *stored, const char *agent, const void *body, size_t length)
{
    struct message_result result;

    message_init(&result, MESSAGE_RESULT);
    temp_id(++stored->ids, result.id);
    text_copy(result.kind, sizeof result.kind, "report");
    bytes_set(&result.body, body, length);
    assert_int_equal(STATUS_OK, store_add(stored->temp.store, agent, &result, (struct wall){ 1 }));
    message_done(&result);
    assert_int_equal(1, temp_commit(stored->temp.store));
}

static void add_report(struct stored *stored, enum end_role role, int64_t index, int64_t window)
{
    struct case_params params = plan_case(&stored->entry.work.plan, (size_t)index);
    struct made_phase made = made_clean(100);
    struct report report;
    struct buf body;

    params.window = window;
    make_report(role, &params, &made, &report);
    text_copy(report.run, sizeof report.run, stored->entry.run);
    report.index = index;
    snprintf(report.finished, sizeof report.finished, "2026-11-30T18:45:%02dZ", (int)index);
    report.host.counters.after.value[UDP_SENT] += 1000 * index;
    report.host.counters.delta.value[UDP_SENT] += 1000 * index;
    buf_init(&body, LIMIT_RESULT_BYTES);
    assert_int_equal(STATUS_OK, record_to_msgpack(&report_record, &report, &body));
    add_body(stored, role == END_SENDER ? "a" : "b", body.data, body.length);
    buf_done(&body);
    record_done(&report_record, &report);
}

static void add_both(struct stored *stored, int64_t index)
{
    add_report(stored, END_SENDER, index, index + 1);
    add_report(stored, END_ECHO, index, index + 1);
}

static void add_row(struct stored *stored, int64_t index, const char *error)
{
    struct case_result result;
    struct case_row row;
    struct fault fault;

    joined_error(&stored->entry, index, error, &result);
    joined_case_row(&stored->entry, &result, &row);
    assert_int_equal(STATUS_OK, store_case(stored->temp.store, &row, &fault));
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
        validate_run(&run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return run;
}

static const struct case_result *case_at(const struct run *run, size_t index)
{
    assert_true(index < run->cases.count);
    return (const struct case_result *)run->cases.items + index;
}

static const struct host *host_at(const struct run *run, size_t index)
{
    return (const struct host *)run->hosts.items + index;
}

static void a_complete_run_has_both_hosts_over_all_of_it(void **state)
{
    struct stored *stored = *state;
    struct run run;

    for (int64_t i = 0; i < 3; i++)
        add_both(stored, i);
    end(stored, RUN_COMPLETE, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_int_equal(RUN_PAIR, run.kind);
    assert_string_equal(stored->entry.run, run.id);
    assert_false(run.interrupted);
    assert_string_equal("2026-11-30T18:50:00Z", run.finished);
    assert_int_equal(3, run.cases.count);
    assert_int_equal(CASE_PASS, case_at(&run, 2)->status);
    assert_int_equal(3, case_at(&run, 2)->params.window);
    assert_string_equal("alpha.example", host_at(&run, 0)->name);
    assert_string_equal("beta.example", host_at(&run, 1)->name);
    assert_int_equal(HOST_ECHO, host_at(&run, 1)->role);
    assert_int_equal(2100, host_at(&run, 0)->counters.delta.value[UDP_SENT]);
    run_done(&run);
}

static void a_case_without_reports_says_what_was_seen(void **state)
{
    struct stored *stored = *state;
    struct run run;

    add_both(stored, 0);
    add_report(stored, END_SENDER, 1, 2);
    add_row(stored, 1, "the echo's end is away");
    add_row(stored, 2, "the sender's end failed");
    end(stored, RUN_COMPLETE, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_int_equal(CASE_ERROR, case_at(&run, 1)->status);
    assert_string_equal("the echo's end is away", case_at(&run, 1)->error);
    assert_string_equal("the sender's end failed", case_at(&run, 2)->error);
    run_done(&run);
}

static void reports_that_came_after_an_error_count(void **state)
{
    struct stored *stored = *state;
    struct run run;

    for (int64_t i = 0; i < 3; i++)
        add_both(stored, i);
    add_row(stored, 1, "the reports have not come");
    end(stored, RUN_COMPLETE, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_int_equal(CASE_PASS, case_at(&run, 1)->status);
    run_done(&run);
}

static void a_run_that_stopped_is_interrupted(void **state)
{
    struct stored *stored = *state;
    struct run run;

    add_both(stored, 0);
    end(stored, RUN_STOPPED, "2026-11-30T18:44:00Z"); /* the clock was set back meanwhile */
    run = archive(stored);
    assert_true(run.interrupted);
    assert_int_equal(1, run.cases.count);
    assert_string_equal(run.started, run.finished);
    run_done(&run);
    end(stored, RUN_COMPLETE, ""); /* it still runs */
    add_both(stored, 1);
    run = archive(stored);
    assert_true(run.interrupted);
    assert_int_equal(2, run.cases.count);
    assert_string_equal("2026-11-30T18:45:01Z", run.finished);
    run_done(&run);
}

static void a_host_that_never_reported_is_named_by_its_agent(void **state)
{
    struct stored *stored = *state;
    struct run run;

    add_report(stored, END_SENDER, 0, 1);
    end(stored, RUN_FAILED, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_string_equal("b", host_at(&run, 1)->name);
    assert_string_equal("no report of this host came",
                        map_find(&host_at(&run, 1)->counters.unavailable, "udp.sent")->text);
    assert_string_equal("the report of the echo's end is missing", case_at(&run, 0)->error);
    run_done(&run);
}

static void what_is_no_report_or_of_other_parameters_is_an_error(void **state)
{
    struct stored *stored = *state;
    struct reports reports;
    struct run run;
    struct buf body;

    add_both(stored, 0);
    add_report(stored, END_SENDER, 1, 7);
    add_report(stored, END_ECHO, 1, 7);
    /* The head of a report, and nothing else. */
    buf_init(&body, 200);
    buf_printf(&body, "\x83\xa3run\xd9\x24%s\xa5index\x02\xa4role\xa4%s", stored->entry.run,
               "echo");
    add_body(stored, "b", body.data, body.length);
    buf_done(&body);
    assert_int_equal(STATUS_OK, reports_read(stored->temp.store, &stored->entry, 2, &reports));
    assert_int_equal(1U << END_ECHO, reports.unreadable);
    assert_true(reports_none(&reports));
    reports_done(&reports);
    end(stored, RUN_COMPLETE, "2026-11-30T18:50:00Z");
    run = archive(stored);
    assert_string_equal("the reports are of other parameters than the plan has",
                        case_at(&run, 1)->error);
    assert_string_equal("there is no report that can be read", case_at(&run, 2)->error);
    run_done(&run);
}

static void nothing_measured_is_no_archive(void **state)
{
    struct stored *stored = *state;
    struct fault fault;
    struct run run;

    add_row(stored, 0, "b refused");
    end(stored, RUN_FAILED, "2026-11-30T18:50:00Z");
    text_copy(stored->entry.reason, sizeof stored->entry.reason, "b refused");
    assert_int_equal(STATUS_NOT_FOUND,
                     archive_of_run(stored->temp.store, &stored->entry, &run, &fault));
    assert_non_null(strstr(fault.text, "was measured: b refused"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_complete_run_has_both_hosts_over_all_of_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_case_without_reports_says_what_was_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(reports_that_came_after_an_error_count, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_that_stopped_is_interrupted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_host_that_never_reported_is_named_by_its_agent, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_no_report_or_of_other_parameters_is_an_error, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_measured_is_no_archive, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
