/* Runs of path MTU on a cluster on virtual time: what an operator is told of them, and what is
 * known when they are cut, killed or stopped in the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/archive_of.h"
#include "controller/report/validate.h"
#include "proto/base/log.h"
#include "proto/base/text.h"
#include "tests/controller/fleet/cluster.h"

#define SESSION_NS (3 * NS_PER_S) /* both ways, and messages, take less */

static const struct message_run_done *run_done_of(struct cluster *cluster, uint64_t peer)
{
    const union message *message = cluster_received(cluster, peer, MESSAGE_RUN_DONE, 0);

    assert_non_null(message);
    return &message->run_done;
}

static const struct mtu_row *row_of(struct cluster *cluster, uint64_t peer, size_t nth)
{
    const union message *message = cluster_received(cluster, peer, MESSAGE_MTU_DONE, nth);

    assert_non_null(message);
    return &message->mtu_done.row;
}

/* An operator's run from a to b by this plan. */
static uint64_t ask(struct cluster *cluster, struct mtu_plan plan)
{
    uint64_t peer = cluster_operator(cluster, "ann");

    cluster_ask_mtu(cluster, peer, "a", "b", &plan);
    return peer;
}

static struct cluster *two_agents(bool v6)
{
    struct cluster *cluster = cluster_new(2);

    for (size_t i = 0; v6 && i < 2; i++) {
        cluster_kill_agent(cluster, i);
        snprintf(cluster->agents[i].address_v6, ADDR_TEXT_SIZE, "fd00::%zu", i + 1);
        cluster_start_agent(cluster, i);
    }
    cluster_run(cluster, 10 * NS_PER_MS);
    return cluster;
}

/* The latest run, which adds up; false when nothing of it was measured. */
static bool make_archive(struct cluster *cluster, struct run *out_run)
{
    struct run_entry entry;
    struct fault fault = { "" };
    enum status status;

    if (store_run(cluster->store.store, "latest", &entry, &fault) != STATUS_OK)
        return false;
    status = archive_of_run(cluster->store.store, &entry, out_run, &fault);
    record_done(&run_entry_record, &entry);
    if (status == STATUS_NOT_FOUND)
        return false;
    if (status != STATUS_OK || record_check(run_record_of(RUN_MTU), out_run, &fault) != STATUS_OK ||
        validate_run(out_run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return true;
}

static struct run archive(struct cluster *cluster)
{
    struct run run;

    assert_true(make_archive(cluster, &run));
    return run;
}

static const struct mtu_case *case_at(const struct run *run, size_t index)
{
    assert_true(index < run->mtu_cases.count);
    return (const struct mtu_case *)run->mtu_cases.items + index;
}

/* --- runs ----------------------------------------------------------------------------------- */

static void an_operator_sees_both_directions_of_each_family(void **state)
{
    struct cluster *cluster = two_agents(true);
    uint64_t peer;
    struct run run;

    (void)state;
    cluster->agents[0].path_mtu = 1400;
    peer = ask(cluster, cluster_mtu_plan());
    cluster_run(cluster, 2 * SESSION_NS);
    assert_int_equal(2, cluster_received(cluster, peer, MESSAGE_ACCEPTED, 0)->accepted.cases);
    assert_int_equal(4, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    for (size_t i = 0; i < 4; i++) {
        const struct mtu_row *row = row_of(cluster, peer, i);

        assert_int_equal(i, row->index);
        assert_int_equal(i / 2, row->family);
        assert_int_equal(i % 2, row->direction);
        assert_int_equal(i % 2 == MTU_FORWARD ? 1400 : 1500, row->path_mtu);
        assert_int_equal(i % 2 == MTU_FORWARD ? CASE_FAIL : CASE_PASS, row->status);
        assert_int_equal(NONE_INT, row->previous);
        assert_string_equal("", row->error);
    }
    assert_int_equal(0, cluster_count(cluster, peer, MESSAGE_CASE_DONE));
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peer)->outcome);
    run = archive(cluster);
    assert_int_equal(RUN_MTU, run.kind);
    assert_false(run.interrupted);
    assert_int_equal(2, run.mtu_sessions.count);
    assert_int_equal(4, run.mtu_cases.count);
    assert_int_equal(1372, case_at(&run, 0)->udp_payload);
    assert_int_equal(2, run.hosts.count);
    run_done(&run);
    cluster_free(cluster);
}

static void one_family_in_common_is_one_session(void **state)
{
    struct cluster *cluster = two_agents(false);
    uint64_t peer = ask(cluster, cluster_mtu_plan());

    (void)state;
    cluster_run(cluster, SESSION_NS);
    assert_int_equal(1, cluster_received(cluster, peer, MESSAGE_ACCEPTED, 0)->accepted.cases);
    assert_int_equal(2, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    assert_int_equal(FAMILY_IPV4, row_of(cluster, peer, 1)->family);
    cluster_free(cluster);
}

/* The lines that are logged about path MTU. */
static void note_line(void *context, enum log_level level, const char *line)
{
    struct buf *lines = context;

    (void)level;
    if (strncmp(line, "path MTU", 8) == 0)
        buf_printf(lines, "%s\n", line);
}

static void a_repeated_run_says_what_has_changed(void **state)
{
    struct cluster *cluster = two_agents(false);
    struct buf lines;
    uint64_t peer;

    (void)state;
    (void)ask(cluster, cluster_mtu_plan());
    buf_init(&lines, 4096);
    log_to(note_line, &lines, LOG_LEVEL_WARNING);
    cluster_run(cluster, SESSION_NS);
    assert_string_equal("", buf_peek(&lines));
    cluster->agents[0].path_mtu = 1400;
    peer = ask(cluster, cluster_mtu_plan());
    cluster_run(cluster, SESSION_NS);
    assert_int_equal(1500, row_of(cluster, peer, 0)->previous);
    assert_int_equal(1400, row_of(cluster, peer, 0)->path_mtu);
    assert_int_equal(1500, row_of(cluster, peer, 1)->previous);
    assert_string_equal("path MTU from a to b, IPv4 forward: 1400, was 1500\n", buf_peek(&lines));
    peer = ask(cluster, cluster_mtu_plan());
    cluster_run(cluster, SESSION_NS);
    assert_int_equal(1400, row_of(cluster, peer, 0)->previous);
    assert_string_equal("path MTU from a to b, IPv4 forward: 1400, was 1500\n", buf_peek(&lines));
    cluster_free(cluster);
    buf_done(&lines);
}

static void a_change_while_watching_is_told_at_once(void **state)
{
    struct cluster *cluster = two_agents(false);
    struct mtu_plan plan = cluster_mtu_plan();
    const union message *message;
    uint64_t peer;

    (void)state;
    plan.common.direction = MTU_WAYS_REVERSE;
    plan.common.watch_s = 60;
    peer = ask(cluster, plan);
    cluster_run(cluster, 2 * NS_PER_S);
    message = cluster_received(cluster, peer, MESSAGE_RUN_MOVED, 0);
    assert_non_null(message);
    assert_int_equal(MTU_REVERSE, message->run_moved.direction);
    assert_int_equal(1300, message->run_moved.event.to);
    assert_null(cluster_received(cluster, peer, MESSAGE_MTU_DONE, 0));
    cluster_run(cluster, 62 * NS_PER_S);
    assert_int_equal(1, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    assert_int_equal(1, row_of(cluster, peer, 0)->index);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peer)->outcome);
    cluster_free(cluster);
}

static void searches_share_their_hosts_and_loss_by_size_does_not(void **state)
{
    struct cluster *cluster = two_agents(false);
    struct mtu_plan sizes = cluster_mtu_plan();
    uint64_t first = ask(cluster, cluster_mtu_plan()), second = ask(cluster, cluster_mtu_plan());
    uint64_t third;

    (void)state;
    sizes.common.sizes = 1000;
    third = ask(cluster, sizes);
    cluster_run(cluster, NS_PER_S);
    assert_int_equal(2, sessions_count(cluster->agents[0].sessions));
    assert_string_equal("",
                        cluster_received(cluster, second, MESSAGE_ACCEPTED, 0)->accepted.waits_for);
    assert_string_not_equal(
        "", cluster_received(cluster, third, MESSAGE_ACCEPTED, 0)->accepted.waits_for);
    cluster_run(cluster, SESSION_NS);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, first)->outcome);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, second)->outcome);
    cluster_run(cluster, SESSION_NS);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, third)->outcome);
    cluster_free(cluster);
}

/* --- in the middle -------------------------------------------------------------------------- */

static void a_stop_ends_with_what_is_known(void **state)
{
    struct cluster *cluster = two_agents(false);
    uint64_t peer = ask(cluster, cluster_mtu_plan());
    struct message_stop stop;
    struct run run;

    (void)state;
    cluster_run(cluster, 1500 * NS_PER_MS); /* forward is found, reverse searches */
    message_init(&stop, MESSAGE_STOP);
    text_copy(stop.run, sizeof stop.run,
              cluster_received(cluster, peer, MESSAGE_ACCEPTED, 0)->accepted.run);
    cluster_send(cluster, peer, &stop);
    cluster_run(cluster, NS_PER_S / 2);
    assert_int_equal(RUN_STOPPED, run_done_of(cluster, peer)->outcome);
    assert_int_equal(2, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    assert_int_equal(CASE_PASS, row_of(cluster, peer, 0)->status);
    assert_int_equal(1500, row_of(cluster, peer, 0)->path_mtu);
    assert_int_equal(CASE_ERROR, row_of(cluster, peer, 1)->status);
    assert_int_equal(1280, row_of(cluster, peer, 1)->path_mtu);
    assert_non_null(strstr(row_of(cluster, peer, 1)->error, "stopped by ann"));
    run = archive(cluster);
    assert_true(run.interrupted);
    assert_int_equal(MTU_CLEAN, case_at(&run, 0)->verdict);
    assert_int_equal(MTU_NO_VERDICT, case_at(&run, 1)->verdict);
    assert_int_equal(1280, case_at(&run, 1)->flow.path_mtu);
    assert_non_null(strstr(case_at(&run, 1)->error, "stopped by ann"));
    run_done(&run);
    cluster_free(cluster);
}

static void an_agent_that_dies_leaves_what_the_other_knows(void **state)
{
    struct cluster *cluster = two_agents(true);
    uint64_t peer = ask(cluster, cluster_mtu_plan());
    struct run run;

    (void)state;
    cluster_run(cluster, 1500 * NS_PER_MS);
    cluster_kill_agent(cluster, 1); /* b probes, and has nothing of it */
    cluster_run(cluster, NS_PER_S);
    assert_int_equal(RUN_FAILED, run_done_of(cluster, peer)->outcome);
    assert_non_null(strstr(run_done_of(cluster, peer)->reason, "the echo's end is away"));
    assert_int_equal(2, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    assert_int_equal(CASE_PASS, row_of(cluster, peer, 0)->status);
    assert_int_equal(1500, row_of(cluster, peer, 0)->path_mtu);
    assert_int_equal(CASE_ERROR, row_of(cluster, peer, 1)->status);
    assert_string_equal(run_done_of(cluster, peer)->reason, row_of(cluster, peer, 1)->error);
    run = archive(cluster);
    assert_true(run.interrupted);
    assert_int_equal(1, run.mtu_sessions.count); /* to IPv6 it did not come */
    assert_int_equal(MTU_CLEAN, case_at(&run, 0)->verdict);
    assert_string_equal(run_done_of(cluster, peer)->reason, case_at(&run, 1)->error);
    assert_string_equal("b", ((const struct host *)run.hosts.items)[1].name);
    run_done(&run);
    cluster_free(cluster);
}

static void a_family_that_is_refused_leaves_the_other(void **state)
{
    struct cluster *cluster = two_agents(true);
    uint64_t peer;
    struct run run;

    (void)state;
    text_copy(cluster->agents[1].refuse, sizeof cluster->agents[1].refuse, "not over ipv4");
    cluster->agents[1].refuse_v4 = true;
    peer = ask(cluster, cluster_mtu_plan());
    cluster_run(cluster, SESSION_NS);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peer)->outcome);
    assert_int_equal(4, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    assert_string_equal("the echo's end refused: not over ipv4", row_of(cluster, peer, 0)->error);
    assert_int_equal(CASE_PASS, row_of(cluster, peer, 2)->status);
    run = archive(cluster);
    assert_int_equal(2, run.mtu_sessions.count);
    assert_string_equal("the echo's end refused: not over ipv4", case_at(&run, 0)->error);
    run_done(&run);
    cluster->agents[1].refuse_v4 = false;
    peer = ask(cluster, cluster_mtu_plan());
    cluster_run(cluster, SESSION_NS);
    assert_int_equal(RUN_FAILED, run_done_of(cluster, peer)->outcome);
    assert_string_equal("the echo's end refused: not over ipv4",
                        run_done_of(cluster, peer)->reason);
    cluster_free(cluster);
}

/* --- faults --------------------------------------------------------------------------------- */

enum fault_kind { CUT, KILL_AGENT, KILL_HUB };

static void break_it(struct cluster *cluster, enum fault_kind kind, size_t agent)
{
    if (kind == CUT) {
        cluster_cut(cluster, agent);
    } else if (kind == KILL_AGENT) {
        cluster_kill_agent(cluster, agent);
        cluster_run(cluster, NS_PER_S / 10);
        cluster_start_agent(cluster, agent);
    } else {
        cluster_kill_hub(cluster);
        cluster_run(cluster, NS_PER_S);
        cluster_start_hub(cluster);
    }
}

/* Whatever is broken, each result is stored once, each session with two reports has its rows, and
 * the next run works. */
static void try_fault(enum fault_kind kind, size_t agent, int64_t moment_ns)
{
    struct cluster *cluster = two_agents(true);
    uint64_t peer = ask(cluster, cluster_mtu_plan());
    struct run run;

    cluster_run(cluster, moment_ns);
    break_it(cluster, kind, agent);
    cluster_run(cluster, 200 * NS_PER_S);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(0, sessions_count(cluster->agents[i].sessions));
        assert_int_equal(0, cluster_spooled(cluster, i));
    }
    assert_int_equal(0, cluster_query(cluster, "SELECT count(*) FROM runs WHERE finished IS NULL"));
    assert_int_equal((int64_t)(cluster->agents[0].spool.count + cluster->agents[1].spool.count),
                     cluster_query(cluster, "SELECT count(*) FROM results"));
    assert_int_equal(
        0,
        cluster_query(cluster, "SELECT count(*) FROM (SELECT run, case_index FROM results GROUP BY "
                               "run, case_index HAVING count(*) = 2) AS r WHERE (SELECT count(*) "
                               "FROM cases AS c WHERE c.run = r.run AND c.case_index / 2 = "
                               "r.case_index) <> 2"));
    if (make_archive(cluster, &run))
        run_done(&run);
    if (kind != KILL_HUB)
        assert_int_equal(1, cluster_count(cluster, peer, MESSAGE_RUN_DONE) +
                                cluster_count(cluster, peer, MESSAGE_ERROR));
    peer = ask(cluster, cluster_mtu_plan());
    cluster_run(cluster, 2 * SESSION_NS);
    assert_int_equal(RUN_COMPLETE, run_done_of(cluster, peer)->outcome);
    assert_int_equal(4, cluster_count(cluster, peer, MESSAGE_MTU_DONE));
    cluster_free(cluster);
}

static void at_any_moment(enum fault_kind kind, size_t agent)
{
    for (int64_t ms = 0; ms < 12; ms++)
        try_fault(kind, agent, ms * NS_PER_MS);
    for (int64_t ms = 900; ms < 4600; ms += 193)
        try_fault(kind, agent, ms * NS_PER_MS);
}

static void a_cut_at_any_moment(void **state)
{
    (void)state;
    at_any_moment(CUT, 0);
    at_any_moment(CUT, 1);
}

static void a_killed_agent_at_any_moment(void **state)
{
    (void)state;
    at_any_moment(KILL_AGENT, 0);
    at_any_moment(KILL_AGENT, 1);
}

static void a_killed_controller_at_any_moment(void **state)
{
    (void)state;
    at_any_moment(KILL_HUB, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_sees_both_directions_of_each_family),
        cmocka_unit_test(one_family_in_common_is_one_session),
        cmocka_unit_test(a_repeated_run_says_what_has_changed),
        cmocka_unit_test(a_change_while_watching_is_told_at_once),
        cmocka_unit_test(searches_share_their_hosts_and_loss_by_size_does_not),
        cmocka_unit_test(a_stop_ends_with_what_is_known),
        cmocka_unit_test(an_agent_that_dies_leaves_what_the_other_knows),
        cmocka_unit_test(a_family_that_is_refused_leaves_the_other),
        cmocka_unit_test(a_cut_at_any_moment),
        cmocka_unit_test(a_killed_agent_at_any_moment),
        cmocka_unit_test(a_killed_controller_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
