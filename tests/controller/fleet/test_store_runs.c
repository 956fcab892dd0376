/* Runs and cases: found again by what an operator knows of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/controller/fleet/temp_store.h"

static int setup(void **state)
{
    static struct temp_store temp;

    temp_store_make(&temp);
    *state = &temp;
    return 0;
}

static int teardown(void **state)
{
    temp_store_done(*state);
    return 0;
}

static struct store *store_of(void **state)
{
    return ((struct temp_store *)*state)->store;
}

/* --- runs ------------------------------------------------------------------------------------ */

static void expect_run(struct store *store, const char *prefix, const char *run)
{
    struct fault fault = { "" };
    struct run_entry entry;

    if (store_run(store, prefix, &entry, &fault) != STATUS_OK)
        fail_msg("%s: %s", prefix, fault.text);
    assert_string_equal(run, entry.run);
    record_done(&run_entry_record, &entry);
}

static void a_run_comes_back_whole(void **state)
{
    struct store *store = store_of(state);
    struct fault fault = { "" };
    struct run_entry entry;

    temp_run(store, "abcd-1", 1796064250);
    temp_store_reopen(*state);
    assert_int_equal(STATUS_OK, store_run(store_of(state), "abcd-1", &entry, &fault));
    assert_string_equal("a", entry.from);
    assert_string_equal("b", entry.to);
    assert_string_equal("olga", entry.operator_name);
    assert_string_equal("2026-11-30T18:44:10Z", entry.started);
    assert_string_equal("", entry.finished);
    assert_string_equal("", entry.reason);
    assert_int_equal(1, entry.work.plan.payloads.count);
    assert_int_equal(1472, *(int64_t *)entry.work.plan.payloads.items);
    assert_int_equal(1 << 20, entry.work.plan.common.rcvbuf);
    assert_string_equal("sonde", *(char **)entry.command.items);
    assert_int_equal(STATUS_OK, record_check(&run_entry_record, &entry, &fault));
    record_done(&run_entry_record, &entry);
}

static void a_run_begins_once(void **state)
{
    struct store *store = store_of(state);
    struct fault fault = { "" };
    struct run_entry entry;

    temp_run(store, "abcd", 100);
    assert_int_equal(STATUS_OK, store_run(store, "abcd", &entry, &fault));
    assert_int_equal(STATUS_EXISTS, store_run_begin(store, &entry, &fault));
    snprintf(entry.run, sizeof entry.run, "other");
    snprintf(entry.started, sizeof entry.started, "yesterday");
    assert_int_equal(STATUS_INVALID, store_run_begin(store, &entry, &fault));
    assert_non_null(strstr(fault.text, "yesterday"));
    record_done(&run_entry_record, &entry);
}

static void a_run_is_named_by_a_prefix_or_latest(void **state)
{
    struct store *store = store_of(state);
    struct fault fault = { "" };
    struct run_entry entry;

    assert_int_equal(STATUS_NOT_FOUND, store_run(store, "latest", &entry, &fault));
    temp_run(store, "abcd-2", 300);
    temp_run(store, "abcd-1", 200);
    temp_run(store, "abcd", 100); /* the clock was set back: it is the latest all the same */
    expect_run(store, "latest", "abcd");
    expect_run(store, "abcd-1", "abcd-1");
    expect_run(store, "abcd", "abcd"); /* whole, though it begins others */
    assert_int_equal(STATUS_RANGE, store_run(store, "abcd-", &entry, &fault));
    assert_int_equal(STATUS_NOT_FOUND, store_run(store, "abce", &entry, &fault));
    assert_non_null(strstr(fault.text, "abce"));
    assert_int_equal(STATUS_INVALID, store_run(store, "abc", &entry, &fault));
    assert_int_equal(STATUS_INVALID, store_run(store, "", &entry, &fault));
    assert_int_equal(STATUS_NOT_FOUND, store_run(store, "ab%%", &entry, &fault));
    assert_int_equal(STATUS_NOT_FOUND, store_run(store, "____", &entry, &fault));
    assert_int_equal(STATUS_NOT_FOUND, store_run(store, "' OR 1=1 --", &entry, &fault));
}

static void expect_end(struct store *store, const char *run, enum run_outcome outcome,
                       const char *finished, const char *reason)
{
    struct fault fault = { "" };
    struct run_entry entry;

    assert_int_equal(STATUS_OK, store_run(store, run, &entry, &fault));
    assert_int_equal(outcome, entry.outcome);
    assert_string_equal(finished, entry.finished);
    assert_string_equal(reason, entry.reason);
    record_done(&run_entry_record, &entry);
}

static void a_run_ends_once_and_orphans_fail(void **state)
{
    struct store *store = store_of(state);
    struct fault fault = { "" };
    struct run_end end = { "abcd-1", "asked to", RUN_STOPPED, { 150 * NS_PER_S } };

    temp_run(store, "abcd-1", 100);
    temp_run(store, "abcd-2", 100);
    assert_int_equal(STATUS_OK, store_run_end(store, &end, &fault));
    end.outcome = RUN_COMPLETE;
    assert_int_equal(STATUS_OK, store_run_end(store, &end, &fault));
    expect_end(store, "abcd-1", RUN_STOPPED, "1970-01-01T00:02:30Z", "asked to");
    assert_int_equal(STATUS_OK, store_end_orphans(store, "the controller was ended",
                                                  (struct wall){ 200 * NS_PER_S }, &fault));
    expect_end(store, "abcd-1", RUN_STOPPED, "1970-01-01T00:02:30Z", "asked to");
    expect_end(store, "abcd-2", RUN_FAILED, "1970-01-01T00:03:20Z", "the controller was ended");
}

/* --- cases ----------------------------------------------------------------------------------- */

static void keep_case(struct store *store, const struct case_row *row)
{
    struct fault fault = { "" };

    if (store_case(store, row, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static struct message_list_results everything(void)
{
    struct message_list_results query;

    message_init(&query, MESSAGE_LIST_RESULTS);
    query.limit = LIMIT_ROWS;
    return query;
}

static struct message_results ask(struct store *store, const struct message_list_results *query)
{
    struct message_results results;
    struct fault fault = { "" };

    message_init(&results, MESSAGE_RESULTS);
    if (store_cases(store, query, &results, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return results;
}

static void a_case_is_replaced_and_keeps_its_number(void **state)
{
    struct store *store = store_of(state);
    struct message_list_results query = everything();
    struct message_results results;
    struct case_row row;
    const struct case_row *found;

    temp_case(&row, "abcd", 0, 100);
    row.status = CASE_ERROR;
    snprintf(row.error, sizeof row.error, "no report of b");
    keep_case(store, &row);
    temp_case(&row, "abcd", 1, 100);
    keep_case(store, &row);
    temp_case(&row, "abcd", 0, 100);
    row.sent = (INT64_C(1) << 53) + 1; /* what a double does not hold */
    row.received = INT64_MAX;
    row.echoes_per_second = 0.1;
    row.rtt_p50_ns = 12345;
    keep_case(store, &row);
    results = ask(store, &query);
    assert_int_equal(2, results.rows.count);
    found = results.rows.items;
    assert_int_equal(1, found[0].index);
    assert_true(isnan(found[0].echoes_per_second));
    assert_int_equal(NONE_INT, found[0].rtt_p50_ns);
    assert_int_equal(0, found[1].index);
    assert_true(found[1].row < found[0].row);
    assert_int_equal(CASE_PASS, found[1].status);
    assert_string_equal("", found[1].error);
    assert_true(found[1].sent == INT64_C(9007199254740993));
    assert_true(found[1].received == INT64_MAX);
    assert_true(found[1].echoes_per_second == 0.1);
    assert_int_equal(12345, found[1].rtt_p50_ns);
    assert_int_equal(1472, found[1].params.payload);
    message_done(&results);
}

/* Cases 0 to 5 of two runs: status by index % 3. */
static void fill(struct store *store)
{
    struct case_row row;

    for (int64_t i = 0; i < 12; i++) {
        temp_case(&row, i < 6 ? "abcd-1" : "abcd-2", i % 6, i < 6 ? 1000 : 2000);
        row.status = (enum case_status)(i % 3);
        if (i >= 6)
            snprintf(row.from, sizeof row.from, "c");
        if (i % 2 == 1)
            snprintf(row.to, sizeof row.to, "d");
        keep_case(store, &row);
    }
}

static void expect_count(struct store *store, const struct message_list_results *query,
                         size_t count)
{
    struct message_results results = ask(store, query);

    assert_int_equal(count, results.rows.count);
    assert_false(results.more);
    message_done(&results);
}

/* A question with this text in one of its filters. */
static void expect_filter(struct store *store, const char *name, const char *text, size_t count)
{
    const struct field *field =
        record_field(message_kinds[MESSAGE_LIST_RESULTS].record, name, NULL);
    struct message_list_results query = everything();

    snprintf((char *)&query + field->offset, field->size, "%s", text);
    expect_count(store, &query, count);
}

static void each_filter_filters(void **state)
{
    struct store *store = store_of(state);
    struct message_list_results query = everything();

    fill(store);
    expect_count(store, &query, 12);
    expect_filter(store, "run", "abcd-1", 6);
    expect_filter(store, "run", "abcd", 12);
    expect_filter(store, "run", "a", 12);
    expect_filter(store, "run", "b", 0);
    expect_filter(store, "run", "ab%", 0);
    expect_filter(store, "from", "a", 6);
    expect_filter(store, "from", "A", 0);
    expect_filter(store, "to", "d", 6);
    expect_filter(store, "since", "1970-01-01T00:16:40Z", 12);
    expect_filter(store, "since", "1970-01-01T00:16:41Z", 6);
    expect_filter(store, "until", "1970-01-01T00:16:40Z", 0);
    expect_filter(store, "until", "1970-01-01T00:33:20Z", 6);
    expect_filter(store, "from", "x' OR '1'='1", 0);
    expect_filter(store, "run", "'; DROP TABLE cases; --", 0);
    query.status = CASE_ERROR;
    expect_count(store, &query, 4);
    snprintf(query.from, sizeof query.from, "c");
    snprintf(query.to, sizeof query.to, "d");
    snprintf(query.run, sizeof query.run, "abcd");
    snprintf(query.since, sizeof query.since, "1970-01-01T00:00:00Z");
    snprintf(query.until, sizeof query.until, "2100-01-01T00:00:00Z");
    query.before = 1000;
    expect_count(store, &query, 1);
}

static void a_time_that_is_none_is_refused(void **state)
{
    struct message_list_results query = everything();
    struct message_results results;
    struct fault fault = { "" };

    message_init(&results, MESSAGE_RESULTS);
    snprintf(query.until, sizeof query.until, "tomorrow");
    assert_int_equal(STATUS_INVALID, store_cases(store_of(state), &query, &results, &fault));
    assert_non_null(strstr(fault.text, "tomorrow"));
    assert_non_null(strstr(fault.text, "RFC 3339"));
}

static void pages_go_from_the_newest_to_the_oldest(void **state)
{
    struct store *store = store_of(state);
    struct message_list_results query = everything();
    int64_t expected = 11;

    fill(store);
    query.limit = 5;
    for (size_t page = 0; page < 3; page++) {
        struct message_results results = ask(store, &query);
        const struct case_row *rows = results.rows.items;

        assert_int_equal(page < 2 ? 5 : 2, results.rows.count);
        assert_int_equal(page < 2, results.more);
        for (size_t i = 0; i < results.rows.count; i++, expected--) {
            assert_int_equal(expected % 6, rows[i].index);
            query.before = rows[i].row;
        }
        message_done(&results);
    }
    expect_count(store, &query, 0);
}

/* 1,000 rows with long errors are more than a frame: the answer is cut, and says so. */
static void an_answer_fits_its_frame(void **state)
{
    struct store *store = store_of(state);
    struct message_list_results query = everything();
    struct message_results results;
    struct case_row row;
    struct buf frame;
    size_t seen = 0;

    for (int64_t i = 0; i < LIMIT_ROWS; i++) {
        temp_case(&row, "abcd", i, 100);
        row.status = CASE_ERROR;
        memset(row.error, 'e', sizeof row.error - 1);
        memset(row.from, 'f', sizeof row.from - 1);
        memset(row.to, 't', sizeof row.to - 1);
        row.sent = row.received = row.forward_lost = INT64_MAX;
        keep_case(store, &row);
    }
    do {
        results = ask(store, &query);
        buf_init(&frame, LIMIT_FRAME);
        assert_int_equal(STATUS_OK, message_put(&results, &frame));
        assert_true(seen > 0 || frame.length > LIMIT_FRAME / 2);
        assert_true(results.rows.count > 0);
        assert_true(seen > 0 || results.more);
        seen += results.rows.count;
        query.before = ((struct case_row *)results.rows.items)[results.rows.count - 1].row;
        buf_done(&frame);
        message_done(&results);
    } while (seen < LIMIT_ROWS);
    assert_int_equal(LIMIT_ROWS, seen);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_run_comes_back_whole),
        TEST(a_run_begins_once),
        TEST(a_run_is_named_by_a_prefix_or_latest),
        TEST(a_run_ends_once_and_orphans_fail),
        TEST(a_case_is_replaced_and_keeps_its_number),
        TEST(each_filter_filters),
        TEST(a_time_that_is_none_is_refused),
        TEST(pages_go_from_the_newest_to_the_oldest),
        TEST(an_answer_fits_its_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
