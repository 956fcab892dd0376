/* What the controller answers to each message, and to what is none; the world is the cluster's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "proto/wire/record_json.h"
#include "proto/wire/record_msgpack.h"
#include "tests/controller/fleet/cluster.h"
#include "tests/controller/fleet/make_report.h"

#define CASE_NS (6 * NS_PER_S)

static void settle(struct cluster *cluster)
{
    cluster_run(cluster, 100 * NS_PER_MS);
}

static void expect_error(struct cluster *cluster, uint64_t peer, const char *words)
{
    const union message *message;

    settle(cluster);
    message = cluster_received(cluster, peer, MESSAGE_ERROR, 0);
    assert_non_null(message);
    if (strstr(message->error.reason, words) == NULL)
        fail_msg("\"%s\" is not \"%s\"", message->error.reason, words);
    assert_int_equal(1, message->error.request);
}

/* --- agents --------------------------------------------------------------------------------- */

static void what_is_no_message_of_an_agent_closes_it(void **state)
{
    struct cluster *cluster = cluster_new(3);
    struct message_welcome welcome;
    struct message_list_agents list;

    (void)state;
    hub_frame(cluster->hub, cluster->agents[0].peer, "\xc1", 1, cluster->now);
    message_init(&welcome, MESSAGE_WELCOME);
    welcome.protocol = 1;
    cluster_say(cluster, 1, &welcome); /* the controller's to say */
    message_init(&list, MESSAGE_LIST_AGENTS);
    cluster_say(cluster, 2, &list); /* an operator's */
    cluster_run(cluster, 10 * NS_PER_MS);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(0, cluster->agents[i].peer);
    cluster_run(cluster, 2 * NS_PER_S);
    for (size_t i = 0; i < 3; i++)
        assert_int_not_equal(0, cluster->agents[i].peer);
    cluster_free(cluster);
}

static void nothing_is_taken_before_hello(void **state)
{
    struct cluster *cluster = cluster_new(1);
    uint64_t peer = cluster_operator(cluster, "x");
    struct identity identity = { .role = ROLE_AGENT, .name = "x" };
    struct message_status status;
    struct message_hello hello;

    (void)state;
    hub_down(cluster->hub, peer, "not an operator after all", cluster->now);
    cluster->clients[peer].identity = identity;
    hub_up(cluster->hub, peer, &identity, "192.0.2.9:1", cluster->now);
    message_init(&status, MESSAGE_STATUS);
    cluster_send(cluster, peer, &status);
    settle(cluster);
    assert_false(cluster->clients[peer].up);
    peer = cluster_operator(cluster, "x");
    hub_down(cluster->hub, peer, "neither", cluster->now);
    cluster->clients[peer].identity = identity;
    hub_up(cluster->hub, peer, &identity, "192.0.2.9:1", cluster->now);
    message_init(&hello, MESSAGE_HELLO);
    hello.protocol = PROTOCOL_VERSION + 1;
    cluster_send(cluster, peer, &hello);
    settle(cluster);
    assert_false(cluster->clients[peer].up);
    assert_int_equal(0, cluster_count(cluster, peer, MESSAGE_WELCOME));
    cluster_free(cluster);
}

/* --- asking for a run ----------------------------------------------------------------------- */

static struct message_run order(const char *from, const char *to)
{
    struct message_run run;

    message_init(&run, MESSAGE_RUN);
    run.request = 1;
    text_copy(run.from, sizeof run.from, from);
    text_copy(run.to, sizeof run.to, to);
    make_fleet_plan(1, &run.of_cases.plan);
    return run;
}

static void refuse_run(struct cluster *cluster, struct message_run run, const char *words)
{
    uint64_t peer = cluster_operator(cluster, "ann");

    cluster_send(cluster, peer, &run);
    expect_error(cluster, peer, words);
    message_done(&run);
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM runs"));
}

static void a_run_is_refused_with_the_reason(void **state)
{
    struct cluster *cluster = cluster_new(3);
    struct message_run run;

    (void)state;
    refuse_run(cluster, order("a", "nobody-like-it"),
               "to: no agent is called nobody-like-it; 3 are");
    refuse_run(cluster, order("a", "a"), "from and to are both a");
    cluster_kill_agent(cluster, 2);
    refuse_run(cluster, order("c", "b"), "from: agent c is not connected");
    run = order("a", "b");
    *(int64_t *)run.of_cases.plan.payloads.items = 64;
    refuse_run(cluster, run, "payload: 64 is not allowed between hosts: 112");
    run = order("a", "b");
    *(int64_t *)run.of_cases.plan.payloads.items = 115;
    refuse_run(cluster, run, "payload: 115");
    run = order("a", "b");
    run.of_cases.plan.idle_s = 60;
    refuse_run(cluster, run, "idle: 60 s is not allowed between hosts: at most 8");
    run = order("a", "b");
    run.of_cases.plan.common.family = FAMILY_IPV6;
    refuse_run(cluster, run, "family: agent b has told of no ipv6 address");
    run = order("a", "b");
    text_copy(run.address, sizeof run.address, "fd00::2");
    refuse_run(cluster, run, "address: \"fd00::2\" is no ipv4 address");
    run = order("a", "b");
    text_copy(run.address, sizeof run.address, "10.0.0.1:7");
    refuse_run(cluster, run, "is no ipv4 address");
    run = order("a", "b");
    run.of_cases.plan.payloads.count = 0;
    refuse_run(cluster, run, "payload: at least one is needed");
    cluster_free(cluster);
}

static void the_nearest_agent_is_named(void **state)
{
    struct cluster *cluster = cluster_new(1);
    struct agent_row row;
    struct fault fault;

    (void)state;
    record_init(&agent_row_record, &row);
    text_copy(row.name, sizeof row.name, "paris-1");
    assert_int_equal(STATUS_OK, store_agent(cluster->store.store, &row, cluster->wall, &fault));
    cluster_kill_hub(cluster);
    cluster_start_hub(cluster);
    cluster_run(cluster, 2 * NS_PER_S);
    refuse_run(cluster, order("a", "pariz-1"), "did you mean paris-1?");
    refuse_run(cluster, order("a", "paris-1"), "to: agent paris-1 is not connected");
    cluster_free(cluster);
}

static void runs_at_once_have_a_limit(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");

    (void)state;
    for (int i = 0; i < 21; i++)
        cluster_ask(cluster, peer, "a", "b", 1);
    expect_error(cluster, peer, "limits.runs allows 20");
    assert_int_equal(20, cluster_count(cluster, peer, MESSAGE_ACCEPTED));
    while (!hub_stop(cluster->hub, cluster->now))
        cluster_run(cluster, 10 * NS_PER_MS);
    settle(cluster);
    assert_int_equal(20, cluster_count(cluster, peer, MESSAGE_RUN_DONE));
    cluster_ask(cluster, peer, "a", "b", 1);
    settle(cluster);
    assert_string_equal("the controller is being stopped",
                        cluster_received(cluster, peer, MESSAGE_ERROR, 1)->error.reason);
    cluster_free(cluster);
}

static void paced_runs_share_their_hosts(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct message_run run = order("a", "b");

        run.of_cases.plan.common.interval_ns = NS_PER_MS;
        cluster_send(cluster, peer, &run);
        message_done(&run);
    }
    cluster_run(cluster, 3 * NS_PER_S);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(
            "", cluster_received(cluster, peer, MESSAGE_ACCEPTED, i)->accepted.waits_for);
    assert_int_equal(3, sessions_count(cluster->agents[0].sessions));
    cluster_run(cluster, CASE_NS);
    assert_int_equal(3, cluster_count(cluster, peer, MESSAGE_RUN_DONE));
    cluster_free(cluster);
}

/* --- what is stored ------------------------------------------------------------------------- */

static void a_strangers_report_is_kept_and_not_joined(void **state)
{
    struct cluster *cluster = cluster_new(3);
    uint64_t peer = cluster_operator(cluster, "ann");
    struct made_phase made = made_clean(5);
    struct case_params params;
    struct message_result result;
    struct report report;
    struct plan plan;
    struct buf body;

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 1);
    cluster_run(cluster, NS_PER_S);
    make_fleet_plan(1, &plan);
    params = plan_case(&plan, 0);
    make_report(END_ECHO, &params, &made, &report);
    text_copy(report.run, sizeof report.run,
              cluster_received(cluster, peer, MESSAGE_ACCEPTED, 0)->accepted.run);
    buf_init(&body, LIMIT_RESULT_BYTES);
    assert_int_equal(STATUS_OK, record_to_msgpack(&report_record, &report, &body));
    message_init(&result, MESSAGE_RESULT);
    temp_id(999999, result.id);
    text_copy(result.kind, sizeof result.kind, "report");
    bytes_set(&result.body, body.data, body.length);
    cluster_put(cluster, 2, &result); /* c has no part in it */
    cluster_resend(cluster, 2);
    cluster_run(cluster, CASE_NS);
    assert_int_equal(3, cluster_query(cluster, "SELECT count(*) FROM results"));
    assert_int_equal(1, cluster_count(cluster, peer, MESSAGE_CASE_DONE));
    assert_int_equal(100,
                     cluster_received(cluster, peer, MESSAGE_CASE_DONE, 0)->case_done.row.received);
    message_done(&result);
    record_done(&report_record, &report);
    record_done(&plan_record, &plan);
    buf_done(&body);
    cluster_free(cluster);
}

static void results_are_listed(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");
    struct message_list_results query;
    const union message *message;

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 3);
    cluster_run(cluster, 3 * CASE_NS);
    message_init(&query, MESSAGE_LIST_RESULTS);
    query.request = 1;
    query.limit = 2;
    text_copy(query.to, sizeof query.to, "b");
    cluster_send(cluster, peer, &query);
    text_copy(query.since, sizeof query.since, "yesterday");
    cluster_send(cluster, peer, &query);
    settle(cluster);
    message = cluster_received(cluster, peer, MESSAGE_RESULTS, 0);
    assert_non_null(message);
    assert_int_equal(2, message->results.rows.count);
    assert_true(message->results.more);
    assert_int_equal(2, ((const struct case_row *)message->results.rows.items)[0].index);
    expect_error(cluster, peer, "\"yesterday\" is no time");
    cluster_free(cluster);
}

/* All agents, in parts. */
static void agents_are_listed_by_name_in_parts(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer;
    struct message_list_agents list;
    struct agent_row row;
    struct fault fault;
    size_t rows = 0;
    char last[NAME_SIZE] = "";

    (void)state;
    record_init(&agent_row_record, &row);
    for (int i = 0; i < 250; i++) {
        snprintf(row.name, sizeof row.name, "old-%03d", i);
        assert_int_equal(STATUS_OK, store_agent(cluster->store.store, &row, cluster->wall, &fault));
    }
    cluster_kill_hub(cluster);
    cluster_start_hub(cluster);
    cluster_run(cluster, 2 * NS_PER_S);
    peer = cluster_operator(cluster, "ann");
    message_init(&list, MESSAGE_LIST_AGENTS);
    cluster_send(cluster, peer, &list);
    settle(cluster);
    assert_int_equal(3, cluster_count(cluster, peer, MESSAGE_AGENTS));
    for (size_t i = 0; i < 3; i++) {
        const struct message_agents *part =
            &cluster_received(cluster, peer, MESSAGE_AGENTS, i)->agents;
        const struct agent_row *agents = part->agents.items;

        assert_int_equal(i < 2, part->more);
        for (size_t k = 0; k < part->agents.count; k++) {
            assert_true(strcmp(last, agents[k].name) < 0);
            text_copy(last, sizeof last, agents[k].name);
            assert_int_equal(strncmp(last, "old-", 4) != 0, agents[k].connected);
        }
        rows += part->agents.count;
    }
    assert_int_equal(252, rows);
    cluster_free(cluster);
}

/* --- show ----------------------------------------------------------------------------------- */

static void show(struct cluster *cluster, uint64_t peer, const char *run)
{
    struct message_show message;

    message_init(&message, MESSAGE_SHOW);
    message.request = 1;
    text_copy(message.run, sizeof message.run, run);
    cluster_send(cluster, peer, &message);
}

static void gather(struct cluster *cluster, uint64_t peer, struct buf *text)
{
    size_t parts = cluster_count(cluster, peer, MESSAGE_PART);

    for (size_t i = 0; i < parts; i++) {
        const struct message_part *part = &cluster_received(cluster, peer, MESSAGE_PART, i)->part;

        assert_int_equal(text->length, part->offset);
        assert_int_equal(i + 1 == parts, part->last);
        buf_append(text, part->data.data, part->data.length);
        assert_true(!part->last || (size_t)part->total == text->length);
    }
}

static void a_shown_run_is_an_archive_that_adds_up(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");
    struct fault fault = { "" };
    struct run run;
    struct buf text;

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 3);
    cluster_run(cluster, 3 * CASE_NS);
    show(cluster, peer, "latest");
    settle(cluster);
    buf_init(&text, LIMIT_JSON_BYTES);
    gather(cluster, peer, &text);
    run_init(&run, RUN_PAIR);
    if (record_from_json(run_record_of(RUN_PAIR), buf_peek(&text), text.length, &run, &fault) !=
            STATUS_OK ||
        validate_run(&run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(3, run.cases.count);
    assert_false(run.interrupted);
    assert_string_equal("alpha.example", ((struct host *)run.hosts.items)[0].name);
    run_done(&run);
    buf_done(&text);
    show(cluster, peer, "0000");
    expect_error(cluster, peer, "0000");
    cluster_free(cluster);
}

static void a_slow_operator_holds_a_mebibyte(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");
    struct buf text;

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 240);
    cluster_run(cluster, 240 * CASE_NS);
    cluster->clients[peer].reads = false;
    for (int i = 0; i < 8; i++)
        show(cluster, peer, "latest");
    cluster_run(cluster, 5 * NS_PER_S);
    assert_in_range(cluster->clients[peer].pending, 1 << 19, 1 << 20);
    show(cluster, peer, "latest"); /* one more than may be under way */
    cluster_run(cluster, 5 * NS_PER_S);
    cluster->clients[peer].reads = true;
    cluster_run(cluster, 5 * NS_PER_S);
    expect_error(cluster, peer, "too many answers");
    buf_init(&text, LIMIT_JSON_BYTES);
    assert_true(cluster_count(cluster, peer, MESSAGE_PART) > 8 * 4);
    assert_int_equal(0, cluster->clients[peer].pending);
    cluster->clients[peer].reads = false;
    for (int i = 0; i < 8; i++)
        show(cluster, peer, "latest");
    cluster_run(cluster, 70 * NS_PER_S);
    assert_false(cluster->clients[peer].up);
    buf_done(&text);
    cluster_free(cluster);
}

/* --- time ----------------------------------------------------------------------------------- */

static void what_is_old_goes(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer;

    (void)state;
    cluster_kill_hub(cluster);
    cluster->rules.keep_s = 1000;
    cluster_start_hub(cluster);
    cluster_run(cluster, 2 * NS_PER_S);
    peer = cluster_operator(cluster, "ann");
    cluster_ask(cluster, peer, "a", "b", 2);
    cluster_run(cluster, 900 * NS_PER_S);
    assert_int_equal(2, cluster_query(cluster, "SELECT count(*) FROM cases"));
    cluster_run(cluster, 300 * NS_PER_S);
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM cases"));
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM results"));
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM runs"));
    cluster_free(cluster);
}

static void it_says_how_it_is(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");
    char text[80];

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 1);
    settle(cluster);
    hub_describe(cluster->hub, text, sizeof text);
    assert_string_equal("2 agents, 1 run, 0 results/s", text);
    cluster_run(cluster, CASE_NS);
    for (int i = 0; i < 50; i++)
        cluster_result(cluster, 0, "note", 10);
    cluster_resend(cluster, 0);
    cluster_run(cluster, 5 * NS_PER_S);
    hub_describe(cluster->hub, text, sizeof text);
    assert_string_equal("2 agents, 0 runs, 10 results/s", text);
    cluster_run(cluster, 60 * NS_PER_S);
    hub_describe(cluster->hub, text, sizeof text);
    assert_string_equal("2 agents, 0 runs, 0 results/s", text);
    assert_int_equal(INT64_MAX, hub_deadline(cluster->hub).ns); /* idle is asleep */
    cluster_free(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_message_of_an_agent_closes_it),
        cmocka_unit_test(nothing_is_taken_before_hello),
        cmocka_unit_test(a_run_is_refused_with_the_reason),
        cmocka_unit_test(the_nearest_agent_is_named),
        cmocka_unit_test(runs_at_once_have_a_limit),
        cmocka_unit_test(paced_runs_share_their_hosts),
        cmocka_unit_test(a_strangers_report_is_kept_and_not_joined),
        cmocka_unit_test(results_are_listed),
        cmocka_unit_test(agents_are_listed_by_name_in_parts),
        cmocka_unit_test(a_shown_run_is_an_archive_that_adds_up),
        cmocka_unit_test(a_slow_operator_holds_a_mebibyte),
        cmocka_unit_test(what_is_old_goes),
        cmocka_unit_test(it_says_how_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
