/* Agents, controller and operators together on virtual time: runs come out right, and whatever is
 * cut, killed or slow, every result is stored exactly once and nobody stays busy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/fleet/cluster.h"

#define CASE_NS (6 * NS_PER_S) /* one case takes less: 0.25 s, 1 s, their drains, and messages */

static int64_t count_of(struct cluster *cluster, const char *table)
{
    char sql[128];

    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return cluster_query(cluster, sql);
}

static void expect_all_stored_once(struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->agent_count; i++)
        assert_int_equal(0, cluster_spooled(cluster, i));
    assert_int_equal(0, store_pending(cluster->store.store));
}

static const struct message_run_done *run_done_of(struct cluster *cluster, uint64_t peer)
{
    const union message *message = cluster_received(cluster, peer, MESSAGE_RUN_DONE, 0);

    assert_non_null(message);
    return &message->run_done;
}

/* --- runs ----------------------------------------------------------------------------------- */

static void one_case_message_by_message(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");
    const char *log;
    struct buf lines;

    (void)state;
    buf_init(&lines, 8192);
    cluster_log(cluster);
    cluster_ask(cluster, peer, "a", "b", 1);
    cluster_run(cluster, CASE_NS);
    /* What the operator watches is another test's. */
    log = cluster_log(cluster);
    while (*log != '\0') {
        size_t length = strcspn(log, "\n") + 1;

        if (strncmp(log, "ann <", 5) != 0)
            buf_append(&lines, log, length);
        log += length;
    }
    assert_string_equal("ann > run\n"
                        "b < open\nb > opened\na < open\na > opened\n"
                        "b < begin\nb > begun\na < begin\na > progress\na > ended\n"
                        "b < end\nb > ended\n"
                        "b < begin\nb > begun\na < begin\na > progress\na > ended\n"
                        "b < end\nb > ended\n"
                        "a < close\nb < close\n"
                        "a > closed\na > result\nb > closed\nb > result\n"
                        "a < committed\nb < committed\n",
                        buf_peek(&lines));
    buf_done(&lines);
    cluster_free(cluster);
}

static void an_operator_sees_a_run_to_its_end(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");
    const union message *message;

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 3);
    cluster_run(cluster, 3 * CASE_NS);
    message = cluster_received(cluster, peer, MESSAGE_ACCEPTED, 0);
    assert_non_null(message);
    assert_int_equal(3, message->accepted.cases);
    assert_string_equal("", message->accepted.waits_for);
    assert_int_equal(3, cluster_count(cluster, peer, MESSAGE_CASE_DONE));
    for (size_t i = 0; i < 3; i++) {
        const struct case_row *row =
            &cluster_received(cluster, peer, MESSAGE_CASE_DONE, i)->case_done.row;

        assert_int_equal(i, row->index);
        assert_string_equal("", row->error);
        assert_int_equal(CASE_PASS, row->status);
        assert_int_equal(100, row->sent);
    }
    assert_true(cluster_count(cluster, peer, MESSAGE_RUN_PROGRESS) > 3 * 6);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peer)->outcome);
    assert_int_equal(3, count_of(cluster, "cases"));
    assert_int_equal(6, count_of(cluster, "results"));
    expect_all_stored_once(cluster);
    cluster_free(cluster);
}

static void exclusive_runs_wait_for_their_hosts_in_order(void **state)
{
    struct cluster *cluster = cluster_new(4);
    uint64_t peers[4];
    static const char *const pairs[][2] = {
        { "a", "b" }, { "b", "c" }, { "c", "a" }, { "d", "c" }
    };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        peers[i] = cluster_operator(cluster, "ann");
        cluster_ask(cluster, peers[i], pairs[i][0], pairs[i][1], 1);
    }
    cluster_run(cluster, NS_PER_S);
    for (size_t i = 1; i < 4; i++)
        assert_string_equal(
            cluster_received(cluster, peers[i == 3 ? 1 : i - 1], MESSAGE_ACCEPTED, 0)->accepted.run,
            i == 2 ? cluster_received(cluster, peers[1], MESSAGE_ACCEPTED, 0)->accepted.run
                   : cluster_received(cluster, peers[i], MESSAGE_ACCEPTED, 0)->accepted.waits_for);
    for (size_t i = 0; i < 4; i++) {
        assert_null(cluster_received(cluster, peers[i], MESSAGE_RUN_DONE, 0));
        cluster_run(cluster, CASE_NS);
        assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peers[i])->outcome);
    }
    expect_all_stored_once(cluster);
    cluster_free(cluster);
}

static void a_stop_ends_it_at_both_hosts(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann"), other = cluster_operator(cluster, "bob");
    struct message_stop stop;

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 50);
    cluster_run(cluster, 2 * NS_PER_S);
    assert_int_equal(1, sessions_count(cluster->agents[0].sessions));
    message_init(&stop, MESSAGE_STOP);
    text_copy(stop.run, sizeof stop.run,
              cluster_received(cluster, peer, MESSAGE_ACCEPTED, 0)->accepted.run);
    cluster_send(cluster, other, &stop);
    cluster_run(cluster, NS_PER_S / 2);
    assert_int_equal(RUN_STOPPED, run_done_of(cluster, peer)->outcome);
    assert_string_equal("stopped by bob", run_done_of(cluster, other)->reason);
    assert_int_equal(0, sessions_count(cluster->agents[0].sessions));
    assert_int_equal(0, sessions_count(cluster->agents[1].sessions));
    cluster_send(cluster, other, &stop);
    cluster_run(cluster, NS_PER_S);
    assert_non_null(
        strstr(cluster_received(cluster, other, MESSAGE_ERROR, 0)->error.reason, "waits or runs"));
    expect_all_stored_once(cluster);
    cluster_free(cluster);
}

static void a_lost_operator_does_not_stop_its_run(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");

    (void)state;
    cluster_ask(cluster, peer, "a", "b", 2);
    cluster_run(cluster, NS_PER_S);
    cluster->clients[peer].up = false;
    hub_down(cluster->hub, peer, "gone", cluster->now);
    cluster_run(cluster, 3 * CASE_NS);
    assert_int_equal(2, cluster_query(cluster, "SELECT count(*) FROM cases WHERE status = 0"));
    cluster_free(cluster);
}

static void a_refusal_is_told_with_its_limit(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");
    const struct case_row *row;

    (void)state;
    text_copy(cluster->agents[0].refuse, sizeof cluster->agents[0].refuse, "limit x allows 1");
    cluster_ask(cluster, peer, "a", "b", 5);
    cluster_run(cluster, CASE_NS);
    assert_int_equal(RUN_FAILED, run_done_of(cluster, peer)->outcome);
    assert_string_equal("the sender's end refused: limit x allows 1",
                        run_done_of(cluster, peer)->reason);
    row = &cluster_received(cluster, peer, MESSAGE_CASE_DONE, 0)->case_done.row;
    assert_string_equal("the sender's end refused: limit x allows 1", row->error);
    assert_int_equal(1, count_of(cluster, "cases"));
    assert_int_equal(0, sessions_count(cluster->agents[1].sessions));
    expect_all_stored_once(cluster);
    cluster_free(cluster);
}

static void an_agent_that_does_not_answer_costs_its_deadlines(void **state)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");

    (void)state;
    cluster->agents[1].mute = true;
    cluster_ask(cluster, peer, "a", "b", 2);
    cluster_run(cluster, 45 * NS_PER_S);
    assert_int_equal(2, cluster_query(cluster, "SELECT count(*) FROM cases WHERE status = 2"));
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peer)->outcome);
    cluster_free(cluster);
}

/* --- faults --------------------------------------------------------------------------------- */

/* Cuts, kills or restarts at this moment of a run; a while later everybody is free again, another
 * run works, and no result is lost or there twice. */
enum fault_kind { CUT_SENDER, CUT_ECHO, KILL_SENDER, KILL_ECHO, KILL_HUB, FAULT_KINDS };

static void break_it(struct cluster *cluster, enum fault_kind kind)
{
    size_t agent = kind == CUT_ECHO || kind == KILL_ECHO ? 1 : 0;

    if (kind == CUT_SENDER || kind == CUT_ECHO) {
        cluster_cut(cluster, agent);
    } else if (kind == KILL_HUB) {
        cluster_kill_hub(cluster);
        cluster_run(cluster, NS_PER_S);
        cluster_start_hub(cluster);
    } else {
        cluster_kill_agent(cluster, agent);
        cluster_run(cluster, NS_PER_S / 10);
        cluster_start_agent(cluster, agent);
    }
}

static void expect_a_run_works(struct cluster *cluster)
{
    uint64_t peer = cluster_operator(cluster, "bob");

    cluster_ask(cluster, peer, "b", "a", 1);
    cluster_run(cluster, CASE_NS);
    if (cluster_received(cluster, peer, MESSAGE_ERROR, 0) != NULL)
        fail_msg("%s", cluster_received(cluster, peer, MESSAGE_ERROR, 0)->error.reason);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peer)->outcome);
    assert_int_equal(CASE_PASS,
                     cluster_received(cluster, peer, MESSAGE_CASE_DONE, 0)->case_done.row.status);
}

static int64_t ever_spooled(const struct cluster *cluster)
{
    int64_t count = 0;

    for (size_t i = 0; i < cluster->agent_count; i++)
        count += (int64_t)cluster->agents[i].spool.count;
    return count;
}

static void try_fault(enum fault_kind kind, int64_t moment_ns)
{
    struct cluster *cluster = cluster_new(2);
    uint64_t peer = cluster_operator(cluster, "ann");

    cluster_ask(cluster, peer, "a", "b", 2);
    cluster_run(cluster, moment_ns);
    break_it(cluster, kind);
    cluster_run(cluster, 100 * NS_PER_S);
    assert_int_equal(0, sessions_count(cluster->agents[0].sessions));
    assert_int_equal(0, sessions_count(cluster->agents[1].sessions));
    if (kind != KILL_HUB) /* with it, its operator's connection is gone */
        assert_int_equal(1, cluster_count(cluster, peer, MESSAGE_RUN_DONE) +
                                cluster_count(cluster, peer, MESSAGE_ERROR));
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM runs WHERE finished IS NULL"));
    expect_all_stored_once(cluster);
    assert_int_equal(ever_spooled(cluster), count_of(cluster, "results"));
    /* Whenever both reports of a case have come, it is joined. */
    assert_int_equal(
        0, cluster_query(cluster,
                         "SELECT count(*) FROM (SELECT run, case_index FROM results GROUP BY "
                         "run, case_index HAVING count(*) = 2) AS r WHERE NOT EXISTS (SELECT "
                         "1 FROM cases AS c WHERE c.run = r.run AND c.case_index = r.case_index)"));
    expect_a_run_works(cluster);
    cluster_free(cluster);
}

static void at_any_moment(enum fault_kind kind)
{
    /* Every step of the first case, message by message, then coarser. */
    for (int64_t ms = 0; ms < 12; ms++)
        try_fault(kind, ms * NS_PER_MS);
    for (int64_t ms = 900; ms < 8200; ms += 193)
        try_fault(kind, ms * NS_PER_MS);
}

static void a_cut_at_any_moment(void **state)
{
    (void)state;
    at_any_moment(CUT_SENDER);
    at_any_moment(CUT_ECHO);
}

static void a_killed_agent_at_any_moment(void **state)
{
    (void)state;
    at_any_moment(KILL_SENDER);
    at_any_moment(KILL_ECHO);
}

static void a_killed_controller_at_any_moment(void **state)
{
    (void)state;
    at_any_moment(KILL_HUB);
}

static void random_faults_lose_nothing(void **state)
{
    struct cluster *cluster = cluster_new(4);

    (void)state;
    for (int i = 0; i < 60; i++) {
        size_t agent = cluster_random(cluster) % 4;
        uint32_t chance = cluster_random(cluster) % 6;

        cluster_ask(cluster, cluster_operator(cluster, "ann"), (const char *[]){ "a", "b" }[i % 2],
                    (const char *[]){ "c", "d" }[i % 3 == 0], 2);
        cluster_result(cluster, agent, "note", 10 + cluster_random(cluster) % 5000);
        cluster_resend(cluster, agent);
        cluster_run(cluster, (int64_t)(cluster_random(cluster) % 4000) * NS_PER_MS);
        if (chance == 0) {
            cluster_cut(cluster, agent);
        } else if (chance == 1) {
            cluster_kill_agent(cluster, agent);
            cluster_run(cluster, NS_PER_S);
            cluster_start_agent(cluster, agent);
        } else if (chance == 2) {
            cluster_kill_hub(cluster);
            cluster_run(cluster, (int64_t)(cluster_random(cluster) % 100) * NS_PER_MS);
            cluster_start_hub(cluster);
        }
        cluster_run(cluster, (int64_t)(cluster_random(cluster) % 3000) * NS_PER_MS);
    }
    cluster_run(cluster, 600 * NS_PER_S);
    expect_all_stored_once(cluster);
    assert_int_equal(ever_spooled(cluster), count_of(cluster, "results"));
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM runs WHERE finished IS NULL"));
    expect_a_run_works(cluster);
    cluster_free(cluster);
}

/* --- results -------------------------------------------------------------------------------- */

static void results_of_any_size_are_stored_in_order(void **state)
{
    static const size_t sizes[] = { 10, 1, 200000, 3000, LIMIT_RESULT_BYTES, 77, 65536 };
    struct cluster *cluster = cluster_new(1);

    (void)state;
    for (size_t i = 0; i < 7; i++)
        cluster_result(cluster, 0, i % 2 == 0 ? "note" : "report", sizes[i]);
    cluster_resend(cluster, 0);
    cluster_run(cluster, NS_PER_S);
    expect_all_stored_once(cluster);
    assert_int_equal(7, count_of(cluster, "results"));
    cluster_free(cluster);
}

static void more_than_a_batch_and_a_window_flow(void **state)
{
    struct cluster *cluster = cluster_new(2);

    (void)state;
    cluster_cut(cluster, 0);
    cluster_run(cluster, 31 * NS_PER_S); /* its connection is gone; results gather */
    for (int i = 0; i < 3000; i++)
        cluster_result(cluster, 0, "report", 40);
    cluster_resend(cluster, 0);
    cluster_run(cluster, 30 * NS_PER_S);
    expect_all_stored_once(cluster);
    assert_int_equal(3000, count_of(cluster, "results"));
    cluster_free(cluster);
}

static void a_store_that_cannot_commit_loses_nothing(void **state)
{
    struct cluster *cluster = cluster_new(2);

    (void)state;
    /* Stands for a full disk: each insert fails, and the batch stays. */
    temp_sql(cluster->store.path, "CREATE TRIGGER full BEFORE INSERT ON results BEGIN SELECT "
                                  "RAISE(ABORT, 'no room'); END");
    for (int i = 0; i < 300; i++)
        cluster_result(cluster, 0, "note", 100000);
    cluster_resend(cluster, 0);
    cluster_run(cluster, 10 * NS_PER_S);
    assert_int_equal(300, cluster_spooled(cluster, 0));
    temp_sql(cluster->store.path, "DROP TRIGGER full");
    cluster_run(cluster, 10 * NS_PER_S);
    expect_all_stored_once(cluster);
    assert_int_equal(300, count_of(cluster, "results"));
    expect_a_run_works(cluster);
    cluster_free(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_case_message_by_message),
        cmocka_unit_test(an_operator_sees_a_run_to_its_end),
        cmocka_unit_test(exclusive_runs_wait_for_their_hosts_in_order),
        cmocka_unit_test(a_stop_ends_it_at_both_hosts),
        cmocka_unit_test(a_lost_operator_does_not_stop_its_run),
        cmocka_unit_test(a_refusal_is_told_with_its_limit),
        cmocka_unit_test(an_agent_that_does_not_answer_costs_its_deadlines),
        cmocka_unit_test(a_cut_at_any_moment),
        cmocka_unit_test(a_killed_agent_at_any_moment),
        cmocka_unit_test(a_killed_controller_at_any_moment),
        cmocka_unit_test(random_faults_lose_nothing),
        cmocka_unit_test(results_of_any_size_are_stored_in_order),
        cmocka_unit_test(more_than_a_batch_and_a_window_flow),
        cmocka_unit_test(a_store_that_cannot_commit_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
