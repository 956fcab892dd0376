/* What the controller answers to orders of path MTU runs and to questions about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/wire/record_json.h"
#include "proto/wire/record_msgpack.h"
#include "tests/controller/fleet/cluster.h"
#include "tests/controller/fleet/make_report.h"

#define RUN_NS (6 * NS_PER_S)

static void settle(struct cluster *cluster)
{
    cluster_run(cluster, 100 * NS_PER_MS);
}

/* Agents a and b with these addresses, "" for none. */
static struct cluster *two_agents(bool v4_of_a, const char *v6_of_a, const char *v6_of_b)
{
    struct cluster *cluster = cluster_new(2);

    for (size_t i = 0; i < 2; i++) {
        cluster_kill_agent(cluster, i);
        text_copy(cluster->agents[i].address_v6, ADDR_TEXT_SIZE, i == 0 ? v6_of_a : v6_of_b);
        cluster->agents[i].no_v4 = i == 0 && !v4_of_a;
        cluster_start_agent(cluster, i);
    }
    settle(cluster);
    return cluster;
}

static struct message_run order(const char *address)
{
    struct message_run run;

    message_init(&run, MESSAGE_RUN);
    run.request = 1;
    text_copy(run.from, sizeof run.from, "a");
    text_copy(run.to, sizeof run.to, "b");
    text_copy(run.address, sizeof run.address, address);
    run.kind = WORK_MTU;
    mtu_plan_init(&run.of_mtu.plan);
    return run;
}

static void name_family(struct message_run *run, enum family family)
{
    *(int *)list_append_sized(&run->of_mtu.plan.families, sizeof(int)) = (int)family;
}

static void refuse(struct cluster *cluster, struct message_run run, const char *words)
{
    uint64_t peer = cluster_operator(cluster, "ann");
    const union message *message;

    cluster_send(cluster, peer, &run);
    settle(cluster);
    message = cluster_received(cluster, peer, MESSAGE_ERROR, 0);
    assert_non_null(message);
    if (strstr(message->error.reason, words) == NULL)
        fail_msg("\"%s\" is not \"%s\"", message->error.reason, words);
    message_done(&run);
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM runs"));
}

/* The sessions that are opened, in order: their targets, with a space behind each. */
static void expect_targets(struct cluster *cluster, struct message_run run, const char *targets)
{
    uint64_t peer = cluster_operator(cluster, "ann");
    char last[ADDR_TEXT_SIZE] = "";
    struct buf seen;

    buf_init(&seen, 1024);
    cluster_send(cluster, peer, &run);
    for (int ms = 0; ms < 6000; ms++) {
        const struct cluster_task *task;

        cluster_run(cluster, NS_PER_MS);
        task = cluster->agents[0].tasks.items;
        if (cluster->agents[0].tasks.count == 0 || strcmp(last, task->open.target) == 0)
            continue;
        text_copy(last, sizeof last, task->open.target);
        buf_printf(&seen, "%s ", last);
    }
    assert_string_equal(targets, buf_peek(&seen));
    assert_non_null(cluster_received(cluster, peer, MESSAGE_RUN_DONE, 0));
    assert_int_equal(RUN_COMPLETE,
                     cluster_received(cluster, peer, MESSAGE_RUN_DONE, 0)->run_done.outcome);
    message_done(&run);
    buf_done(&seen);
}

/* --- families and addresses ----------------------------------------------------------------- */

static void families_are_those_that_both_hosts_have(void **state)
{
    struct cluster *cluster = two_agents(true, "fd00::1", "fd00::2");
    struct message_run run;

    (void)state;
    expect_targets(cluster, order(""), "10.9.0.2:7900 [fd00::2]:7900 ");
    run = order("");
    name_family(&run, FAMILY_IPV6);
    expect_targets(cluster, run, "[fd00::2]:7900 ");
    run = order("");
    name_family(&run, FAMILY_IPV6);
    name_family(&run, FAMILY_IPV4);
    expect_targets(cluster, run, "[fd00::2]:7900 10.9.0.2:7900 ");
    cluster_free(cluster);
    cluster = two_agents(true, "", "fd00::2");
    expect_targets(cluster, order(""), "10.9.0.2:7900 ");
    cluster_free(cluster);
}

static void an_address_decides_the_family(void **state)
{
    struct cluster *cluster = two_agents(true, "", "");
    struct message_run run;

    (void)state;
    expect_targets(cluster, order("fe80::7%eth0"), "[fe80::7%eth0]:7900 ");
    run = order("192.0.2.7");
    name_family(&run, FAMILY_IPV4);
    expect_targets(cluster, run, "192.0.2.7:7900 ");
    cluster_free(cluster);
    cluster = two_agents(true, "", "");
    run = order("192.0.2.7");
    name_family(&run, FAMILY_IPV6);
    refuse(cluster, run, "family: address 192.0.2.7 is of ipv4: allowed with it is ipv4 alone");
    run = order("fd00::2");
    name_family(&run, FAMILY_IPV4);
    name_family(&run, FAMILY_IPV6);
    refuse(cluster, run, "family: address fd00::2 is of ipv6: allowed with it is ipv6 alone");
    refuse(cluster, order("b.example"),
           "address: \"b.example\" is no address: allowed is a number");
    refuse(cluster, order("10.0.0.1:7"), "address: \"10.0.0.1:7\" is no address");
    refuse(cluster, order("10.0.0.1%eth0"), "address: \"10.0.0.1%eth0\" is no address");
    cluster_free(cluster);
}

static void what_hosts_do_not_have_is_told(void **state)
{
    struct cluster *cluster = two_agents(false, "fd00::1", "");
    struct message_run run = order("");

    (void)state;
    refuse(cluster, run,
           "family: a and b have none in common: agent a has told of ipv6 addresses, agent b of "
           "ipv4; give one of b with address");
    run = order("");
    name_family(&run, FAMILY_IPV6);
    refuse(cluster, run, "family: agent b has told of no ipv6 address; give one with address");
    run = order("");
    text_copy(run.to, sizeof run.to, "a");
    refuse(cluster, run, "from and to are both a");
    run = order("");
    text_copy(run.to, sizeof run.to, "nobody");
    refuse(cluster, run, "to: no agent is called nobody; 2 are known");
    cluster_kill_agent(cluster, 1);
    refuse(cluster, order(""), "to: agent b is not connected");
    cluster_free(cluster);
}

static void a_plan_that_makes_no_sense_is_refused(void **state)
{
    struct cluster *cluster = two_agents(true, "", "");
    struct message_run run = order("");

    (void)state;
    run.of_mtu.plan.common.floor = 1500;
    run.of_mtu.plan.common.ceiling = 1400;
    refuse(cluster, run, "floor: ");
    cluster_free(cluster);
}

/* --- what is stored ------------------------------------------------------------------------- */

static void results_are_listed_by_kind(void **state)
{
    struct cluster *cluster = two_agents(true, "", "");
    uint64_t peer = cluster_operator(cluster, "ann");
    struct mtu_plan plan = cluster_mtu_plan();
    struct message_list_results query;
    const struct message_results *results;

    (void)state;
    cluster_ask_mtu(cluster, peer, "a", "b", &plan);
    cluster_run(cluster, RUN_NS);
    cluster_ask(cluster, peer, "a", "b", 1);
    cluster_run(cluster, RUN_NS);
    message_init(&query, MESSAGE_LIST_RESULTS);
    query.limit = 100;
    query.kind = WORK_MTU;
    cluster_send(cluster, peer, &query);
    query.kind = WORK_CASES;
    cluster_send(cluster, peer, &query);
    settle(cluster);
    results = &cluster_received(cluster, peer, MESSAGE_RESULTS, 0)->results;
    assert_int_equal(2, results->mtu_rows.count);
    assert_int_equal(0, results->rows.count);
    assert_int_equal(MTU_REVERSE, ((const struct mtu_row *)results->mtu_rows.items)->direction);
    results = &cluster_received(cluster, peer, MESSAGE_RESULTS, 1)->results;
    assert_int_equal(0, results->mtu_rows.count);
    assert_int_equal(1, results->rows.count);
    cluster_free(cluster);
}

static void a_shown_run_is_an_archive_of_its_kind(void **state)
{
    struct cluster *cluster = two_agents(true, "", "");
    uint64_t peer = cluster_operator(cluster, "ann");
    struct mtu_plan plan = cluster_mtu_plan();
    struct fault fault = { "" };
    struct message_show show;
    const struct message_part *part;
    struct run run;

    (void)state;
    cluster_ask_mtu(cluster, peer, "a", "b", &plan);
    cluster_run(cluster, RUN_NS);
    message_init(&show, MESSAGE_SHOW);
    text_copy(show.run, sizeof show.run, "latest");
    cluster_send(cluster, peer, &show);
    settle(cluster);
    part = &cluster_received(cluster, peer, MESSAGE_PART, 0)->part;
    assert_true(part->last);
    if (record_from_json(run_record_of(RUN_MTU), (const char *)part->data.data, part->data.length,
                         &run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(1, run.mtu_plan.families.count);
    assert_int_equal(1, run.mtu_sessions.count);
    assert_int_equal(2, run.mtu_cases.count);
    assert_string_equal("alpha.example", ((const struct host *)run.hosts.items)->name);
    run_done(&run);
    cluster_free(cluster);
}

/* A report of a case is none of a session, whoever sends it. */
static void a_report_of_another_kind_is_kept_and_not_joined(void **state)
{
    struct cluster *cluster = two_agents(true, "", "");
    uint64_t peer = cluster_operator(cluster, "ann");
    struct mtu_plan plan = cluster_mtu_plan();
    struct made_phase made = made_clean(5);
    struct message_result result;
    struct report report;
    struct plan cases;
    struct case_params params;
    struct buf body;

    (void)state;
    cluster_ask_mtu(cluster, peer, "a", "b", &plan);
    cluster_run(cluster, NS_PER_S);
    make_fleet_plan(1, &cases);
    params = plan_case(&cases, 0);
    make_report(END_SENDER, &params, &made, &report);
    text_copy(report.run, sizeof report.run,
              cluster_received(cluster, peer, MESSAGE_ACCEPTED, 0)->accepted.run);
    buf_init(&body, LIMIT_RESULT_BYTES);
    assert_int_equal(STATUS_OK, record_to_msgpack(&report_record, &report, &body));
    message_init(&result, MESSAGE_RESULT);
    temp_id(999999, result.id);
    text_copy(result.kind, sizeof result.kind, "report");
    bytes_set(&result.body, body.data, body.length);
    cluster_put(cluster, 0, &result);
    cluster_resend(cluster, 0);
    cluster_run(cluster, RUN_NS);
    assert_int_equal(3, cluster_query(cluster, "SELECT count(*) FROM results"));
    assert_int_equal(2, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    assert_int_equal(1500,
                     cluster_received(cluster, peer, MESSAGE_MTU_DONE, 0)->mtu_done.row.path_mtu);
    assert_int_equal(RUN_COMPLETE,
                     cluster_received(cluster, peer, MESSAGE_RUN_DONE, 0)->run_done.outcome);
    message_done(&result);
    record_done(&report_record, &report);
    record_done(&plan_record, &cases);
    buf_done(&body);
    cluster_free(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_are_those_that_both_hosts_have),
        cmocka_unit_test(an_address_decides_the_family),
        cmocka_unit_test(what_hosts_do_not_have_is_told),
        cmocka_unit_test(a_plan_that_makes_no_sense_is_refused),
        cmocka_unit_test(results_are_listed_by_kind),
        cmocka_unit_test(a_shown_run_is_an_archive_of_its_kind),
        cmocka_unit_test(a_report_of_another_kind_is_kept_and_not_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
