/* Agents are remembered across restarts; what is old is forgotten, a little at a time. */
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

static void keep_case(struct store *store, const struct case_row *row)
{
    struct fault fault = { "" };

    if (store_case(store, row, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

/* --- agents ---------------------------------------------------------------------------------- */

struct remembered {
    size_t count;
    char names[4][NAME_SIZE];
    int64_t ago_ns[4];
};

static void remember(void *context, const struct agent_row *row, int64_t ago_ns)
{
    struct remembered *remembered = context;

    assert_true(remembered->count < 4);
    memcpy(remembered->names[remembered->count], row->name, NAME_SIZE);
    remembered->ago_ns[remembered->count++] = ago_ns;
    assert_string_equal("Linux", row->os);
    assert_int_equal(2, row->addresses.count);
    assert_string_equal("10.0.0.2", ((char **)row->addresses.items)[1]);
}

static void keep_agent(struct store *store, const char *name, int64_t now_s)
{
    const struct field *addresses = record_field(&agent_row_record, "addresses", NULL);
    struct fault fault = { "" };
    struct agent_row row;

    record_init(&agent_row_record, &row);
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.os, sizeof row.os, "Linux");
    *(char **)list_append(&row.addresses, addresses) = strdup("10.0.0.1");
    *(char **)list_append(&row.addresses, addresses) = strdup("10.0.0.2");
    assert_int_equal(STATUS_OK,
                     store_agent(store, &row, (struct wall){ now_s * NS_PER_S }, &fault));
    record_done(&agent_row_record, &row);
}

static void agents_are_remembered(void **state)
{
    struct remembered remembered = { .count = 0 };
    struct fault fault = { "" };

    keep_agent(store_of(state), "berta", 100);
    keep_agent(store_of(state), "anna", 100);
    keep_agent(store_of(state), "berta", 130);
    keep_agent(store_of(state), "clock was ahead", 1000);
    temp_store_reopen(*state);
    assert_int_equal(STATUS_OK, store_agents(store_of(state), (struct wall){ 150 * NS_PER_S },
                                             remember, &remembered, &fault));
    assert_int_equal(3, remembered.count);
    assert_string_equal("anna", remembered.names[0]);
    assert_int_equal(50 * NS_PER_S, remembered.ago_ns[0]);
    assert_string_equal("berta", remembered.names[1]);
    assert_int_equal(20 * NS_PER_S, remembered.ago_ns[1]);
    assert_int_equal(0, remembered.ago_ns[2]);
}

/* --- retention ------------------------------------------------------------------------------- */

static void end_run(struct store *store, const char *run, int64_t finished_s)
{
    struct run_end end = { run, NULL, RUN_COMPLETE, { finished_s * NS_PER_S } };
    struct fault fault;

    assert_int_equal(STATUS_OK, store_run_end(store, &end, &fault));
}

static int64_t retain(struct store *store, int64_t until_s)
{
    struct fault fault = { "" };
    int64_t count;

    if (store_retain(store, (struct wall){ until_s * NS_PER_S }, &count, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return count;
}

static int64_t retain_all(struct store *store, int64_t until_s, int64_t *out_calls)
{
    int64_t sum = 0, count;

    for (*out_calls = 1; (count = retain(store, until_s)) > 0; ++*out_calls)
        sum += count;
    return sum;
}

static void what_is_old_is_forgotten(void **state)
{
    struct temp_store *temp = *state;
    struct case_row row;
    int64_t calls;

    temp_run(temp->store, "old", 100);
    temp_run(temp->store, "young", 100);
    temp_run(temp->store, "alive", 100);
    end_run(temp->store, "old", 199);
    end_run(temp->store, "young", 200);
    for (int i = 0; i < 3; i++) {
        temp_case(&row, i == 0 ? "old" : i == 1 ? "young" : "alive", 0, 100);
        keep_case(temp->store, &row);
    }
    temp_add(temp->store, "a", "1", "report", "old");
    temp_add(temp->store, "a", "2", "report", "young");
    temp_add(temp->store, "a", "3", "report", "alive");
    temp_add(temp->store, "a", "4", "note", "old");
    temp_add(temp->store, "a", "5", "note", "young");
    temp_add(temp->store, "a", "6", "report", "of a run that is gone, old");
    assert_int_equal(6, temp_commit(temp->store));
    temp_sql(temp->path, "UPDATE results SET run = 'old' WHERE id = '1';"
                         "UPDATE results SET run = 'young' WHERE id = '2';"
                         "UPDATE results SET run = 'alive' WHERE id = '3';"
                         "UPDATE results SET run = 'gone' WHERE id = '6';"
                         "UPDATE results SET stored_at = 150000000000;"
                         "UPDATE results SET stored_at = 250000000000 WHERE id = '5';");
    assert_int_equal(5, retain_all(temp->store, 200, &calls));
    assert_int_equal(2, temp_count(temp->path, "SELECT count(*) FROM runs"));
    assert_int_equal(0, temp_count(temp->path, "SELECT count(*) FROM runs WHERE run = 'old'"));
    assert_int_equal(2, temp_count(temp->path, "SELECT count(*) FROM cases"));
    assert_int_equal(3, temp_count(temp->path, "SELECT count(*) FROM results"
                                               " WHERE id IN ('2', '3', '5')"));
    assert_int_equal(3, temp_count(temp->path, "SELECT count(*) FROM results"));
}

static void forgetting_takes_small_steps(void **state)
{
    struct temp_store *temp = *state;
    int64_t calls;

    for (int i = 0; i < 250; i++) {
        char run[UUID_SIZE];

        temp_id((uint64_t)i, run);
        temp_run(temp->store, run, 100);
    }
    temp_sql(temp->path, "UPDATE runs SET finished = seq;"
                         "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                         " WHERE i < 5000) INSERT INTO results (id, agent, kind, stored_at, run,"
                         " case_index, role, body) SELECT i, 'a', 'report', 1, run, i, 0, 'x'"
                         " FROM n, (SELECT run FROM runs ORDER BY seq LIMIT 1)");
    assert_int_equal(2000, retain(temp->store, 200));
    assert_int_equal(250, temp_count(temp->path, "SELECT count(*) FROM runs"));
    assert_int_equal(3250, retain_all(temp->store, 200, &calls));
    assert_int_equal(5, calls);
    assert_int_equal(0, temp_count(temp->path, "SELECT count(*) FROM runs"));
    assert_int_equal(0, temp_count(temp->path, "SELECT count(*) FROM results"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(agents_are_remembered),
        TEST(what_is_old_is_forgotten),
        TEST(forgetting_takes_small_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
