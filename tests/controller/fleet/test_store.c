/* Results: a batch is durable as a whole, each id is there once, and a report is found again by its
 * case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/record_msgpack.h"
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

static void a_result_is_there_once_it_is_committed(void **state)
{
    struct store *store = store_of(state);
    struct buf body;
    char id[UUID_SIZE];

    temp_id(1, id);
    buf_init(&body, 100);
    assert_int_equal(0, store_pending(store));
    temp_add(store, "a", id, "note", "hello");
    assert_int_equal(1, store_pending(store));
    assert_int_equal(STATUS_NOT_FOUND, store_result(store, id, &body));
    assert_int_equal(1, temp_commit(store));
    assert_int_equal(0, store_pending(store));
    temp_expect_body(store, id, "hello");
    temp_store_reopen(*state);
    temp_expect_body(store_of(state), id, "hello");
}

static void a_repeat_changes_nothing(void **state)
{
    struct store *store = store_of(state);
    char id[UUID_SIZE];

    temp_id(7, id);
    temp_add(store, "a", id, "note", "first");
    temp_add(store, "a", id, "note", "in the same batch");
    assert_int_equal(1, temp_commit(store));
    temp_add(store, "b", id, "note", "later, of somebody else");
    assert_int_equal(0, temp_commit(store));
    temp_expect_body(store, id, "first");
    assert_int_equal(1, temp_count(((struct temp_store *)*state)->path,
                                   "SELECT count(*) FROM results WHERE agent = 'a'"));
}

static void a_commit_names_what_was_added_in_its_order(void **state)
{
    struct store *store = store_of(state);
    struct list ids = { NULL, 0 };
    const struct store_id *items;
    struct fault fault;

    temp_add(store, "b", "three", "note", "3");
    temp_add(store, "a", "one", "report", "1");
    temp_add(store, "b", "three", "note", "3");
    assert_int_equal(STATUS_OK, store_commit(store, &ids, &fault));
    assert_int_equal(3, ids.count);
    items = ids.items;
    assert_string_equal("b", items[0].agent);
    assert_string_equal("three", items[0].id);
    assert_string_equal("note", items[0].kind);
    assert_true(items[0].fresh);
    assert_string_equal("", items[0].run);
    assert_string_equal("one", items[1].id);
    assert_string_equal("report", items[1].kind);
    assert_string_equal("", items[1].run); /* no report, whatever it says it is */
    assert_true(items[1].fresh);
    assert_string_equal("three", items[2].id);
    assert_false(items[2].fresh);
    store_ids_done(&ids);
    assert_int_equal(STATUS_OK, store_commit(store, &ids, &fault));
    assert_int_equal(0, ids.count);
}

/* Only one spelling of a UUID is kept as 16 bytes; each other text is an id of its own. */
static void every_id_comes_back_as_it_was_given(void **state)
{
    static const char *const ids[] = {
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "01890A5D-ac96-774b-bcce-b302099a8057",
        "01890a5dac96774bbcceb302099a8057",
        "01890a5d-ac96-774b-bcce-b302099a805",
        "01890a5d-ac96-774b-bcce-b302099a80577",
        "01890a5d+ac96-774b-bcce-b302099a8057",
        "01890a5d-ac96-774b-bcce-b302099a805g",
        "x",
        "--------------------",
        "x' OR '1'='1",
    };
    struct store *store = store_of(state);
    size_t count = sizeof ids / sizeof ids[0];

    for (size_t i = 0; i < count; i++)
        temp_add(store, "a", ids[i], "note", ids[i]);
    assert_int_equal(count, temp_commit(store));
    for (size_t i = 0; i < count; i++)
        temp_expect_body(store, ids[i], ids[i]);
}

static void any_bytes_are_a_body(void **state)
{
    struct store *store = store_of(state);
    struct message_result result;
    uint8_t bytes[256];
    struct buf body;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    message_init(&result, MESSAGE_RESULT);
    snprintf(result.id, sizeof result.id, "bytes");
    snprintf(result.kind, sizeof result.kind, "report");
    bytes_set(&result.body, bytes, sizeof bytes);
    assert_int_equal(STATUS_OK, store_add(store, "a", &result, (struct wall){ 0 }));
    bytes_done(&result.body);
    snprintf(result.id, sizeof result.id, "empty");
    assert_int_equal(STATUS_OK, store_add(store, "a", &result, (struct wall){ 0 }));
    assert_int_equal(2, temp_commit(store));
    buf_init(&body, sizeof bytes);
    assert_int_equal(STATUS_OK, store_result(store, "bytes", &body));
    assert_int_equal(sizeof bytes, body.length);
    assert_memory_equal(bytes, body.data, sizeof bytes);
    buf_done(&body);
    buf_init(&body, sizeof bytes - 1);
    assert_int_equal(STATUS_TOO_LARGE, store_result(store, "bytes", &body));
    buf_done(&body);
    assert_int_equal(STATUS_OK, store_result(store, "empty", &body));
    assert_int_equal(0, body.length);
}

static void a_batch_is_full_by_count(void **state)
{
    struct store *store = store_of(state);
    struct message_result result;

    for (uint64_t i = 0; i < 4096; i++) {
        char id[UUID_SIZE];

        temp_id(i, id);
        temp_add(store, "a", id, "note", "x");
    }
    message_init(&result, MESSAGE_RESULT);
    snprintf(result.id, sizeof result.id, "one more");
    assert_int_equal(STATUS_AGAIN, store_add(store, "a", &result, (struct wall){ 0 }));
    assert_int_equal(4096, store_pending(store));
    assert_int_equal(4096, temp_commit(store));
    assert_int_equal(STATUS_OK, store_add(store, "a", &result, (struct wall){ 0 }));
}

static void a_batch_is_full_by_bytes(void **state)
{
    struct store *store = store_of(state);
    uint8_t *bytes = test_calloc(1, LIMIT_RESULT_BYTES + 1);
    struct message_result result;
    size_t added = 0;

    message_init(&result, MESSAGE_RESULT);
    bytes_set(&result.body, bytes, LIMIT_RESULT_BYTES + 1);
    assert_int_equal(STATUS_TOO_LARGE, store_add(store, "a", &result, (struct wall){ 0 }));
    result.body.length--;
    do {
        snprintf(result.id, sizeof result.id, "%zu", added++);
    } while (store_add(store, "a", &result, (struct wall){ 0 }) == STATUS_OK);
    assert_int_equal(9, added);
    assert_int_equal(8, temp_commit(store));
    assert_int_equal(STATUS_OK, store_add(store, "a", &result, (struct wall){ 0 }));
    message_done(&result);
    test_free(bytes);
}

/* A map with what a report begins with: as much as the store looks at. */
struct place {
    char run[UUID_SIZE];
    int64_t index;
    enum end_role role;
};

static const struct field place_fields[] = {
    { FIELD_AT(struct place, run), .type = FIELD_TEXT, .size = UUID_SIZE },
    { FIELD_AT(struct place, index), .type = FIELD_INT, .max = COUNT_MAX },
    { FIELD_AT(struct place, role), .type = FIELD_ENUM, .names = end_role_names, .name_count = 2 },
};
static const struct record place_record = {
    .name = "place", .size = sizeof(struct place), .fields = place_fields, .count = 3
};

static void add_report(struct store *store, const char *agent, const char *id,
                       const struct place *place)
{
    struct message_result result;
    struct buf body;

    buf_init(&body, 1000);
    assert_int_equal(STATUS_OK, record_to_msgpack(&place_record, place, &body));
    message_init(&result, MESSAGE_RESULT);
    snprintf(result.id, sizeof result.id, "%s", id);
    snprintf(result.kind, sizeof result.kind, "report");
    bytes_set(&result.body, body.data, body.length);
    assert_int_equal(STATUS_OK, store_add(store, agent, &result, (struct wall){ 0 }));
    message_done(&result);
    buf_done(&body);
}

static void reports_are_found_by_their_case(void **state)
{
    struct store *store = store_of(state);
    char ids[END_COUNT][UUID_SIZE], run[UUID_SIZE], sender[UUID_SIZE];
    struct place place = { .index = 3, .role = END_SENDER };

    temp_id(1, run);
    temp_id(2, sender);
    snprintf(place.run, sizeof place.run, "%s", run);
    temp_run(store, run, 100);
    assert_int_equal(STATUS_OK, store_case_reports(store, run, 3, ids));
    assert_string_equal("", ids[END_SENDER]);
    assert_string_equal("", ids[END_ECHO]);
    add_report(store, "a", sender, &place);
    place.role = END_ECHO;
    add_report(store, "b", "echo's", &place);
    place.index = 4;
    add_report(store, "b", "of the next case", &place);
    temp_commit(store);
    assert_int_equal(STATUS_OK, store_case_reports(store, run, 3, ids));
    assert_string_equal(sender, ids[END_SENDER]);
    assert_string_equal("echo's", ids[END_ECHO]);
    assert_int_equal(STATUS_OK, store_case_reports(store, run, 4, ids));
    assert_string_equal("", ids[END_SENDER]);
    assert_string_equal("of the next case", ids[END_ECHO]);
}

static void a_commit_names_the_case_of_a_report(void **state)
{
    struct place place = { .run = "abcd", .index = 7, .role = END_ECHO };
    struct list ids = { NULL, 0 };
    const struct store_id *id;
    struct fault fault;

    add_report(store_of(state), "b", "report", &place);
    assert_int_equal(STATUS_OK, store_commit(store_of(state), &ids, &fault));
    id = ids.items;
    assert_string_equal("abcd", id->run);
    assert_int_equal(7, id->index);
    store_ids_done(&ids);
}

/* An agent that was not asked, or says it has the other end, or says it a second time. */
static void nobody_reports_for_somebody_else(void **state)
{
    struct store *store = store_of(state);
    char ids[END_COUNT][UUID_SIZE], run[UUID_SIZE], unknown[UUID_SIZE];
    struct place place = { .role = END_SENDER };

    temp_id(1, run);
    temp_id(2, unknown);
    temp_run(store, run, 100);
    snprintf(place.run, sizeof place.run, "%s", run);
    add_report(store, "mallory", "of a stranger", &place);
    add_report(store, "b", "of the wrong end", &place);
    add_report(store, "a", "the first", &place);
    add_report(store, "a", "the second", &place);
    snprintf(place.run, sizeof place.run, "%s", unknown);
    add_report(store, "a", "of a run that never was", &place);
    assert_int_equal(5, temp_commit(store));
    assert_int_equal(STATUS_OK, store_case_reports(store, run, 0, ids));
    assert_string_equal("the first", ids[END_SENDER]);
    assert_string_equal("", ids[END_ECHO]);
    assert_int_equal(STATUS_OK, store_case_reports(store, unknown, 0, ids));
    assert_string_equal("", ids[END_SENDER]);
}

static void what_is_no_report_is_stored_all_the_same(void **state)
{
    struct store *store = store_of(state);
    struct place place = { .run = "r", .index = LIMIT_CASES, .role = END_ECHO };

    temp_add(store, "a", "garbage", "report", "\xc1 no msgpack");
    add_report(store, "a", "index out of range", &place);
    assert_int_equal(2, temp_commit(store));
    temp_expect_body(store, "garbage", "\xc1 no msgpack");
    assert_int_equal(2, temp_count(((struct temp_store *)*state)->path,
                                   "SELECT count(*) FROM results WHERE run IS NULL"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_result_is_there_once_it_is_committed),
        TEST(a_repeat_changes_nothing),
        TEST(a_commit_names_what_was_added_in_its_order),
        TEST(every_id_comes_back_as_it_was_given),
        TEST(any_bytes_are_a_body),
        TEST(a_batch_is_full_by_count),
        TEST(a_batch_is_full_by_bytes),
        TEST(reports_are_found_by_their_case),
        TEST(a_commit_names_the_case_of_a_report),
        TEST(nobody_reports_for_somebody_else),
        TEST(what_is_no_report_is_stored_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
