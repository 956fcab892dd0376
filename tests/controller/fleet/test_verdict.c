/* Two ends, one account: each loss has its place, and two reports that contradict each other are an
 * error in words. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/verdict.h"
#include "proto/base/text.h"
#include "tests/controller/fleet/make_report.h"

/* Two reports of one case, and what they join to. */
struct pair {
    struct report sender, echo;
    struct case_result result;
};

static struct pair *new_pair(const struct made_phase *phase)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct plan plan;
    struct case_params params;

    assert_non_null(pair);
    make_fleet_plan(1, &plan);
    params = plan_case(&plan, 0);
    record_done(&plan_record, &plan);
    make_report(END_SENDER, &params, phase, &pair->sender);
    make_report(END_ECHO, &params, phase, &pair->echo);
    return pair;
}

static struct phase *join(struct pair *pair)
{
    struct fault fault;

    verdict_join(&pair->sender, &pair->echo, &pair->result);
    assert_int_equal(STATUS_OK, record_check(&case_result_record, &pair->result, &fault));
    return &pair->result.phases.measure;
}

static void free_pair(struct pair *pair)
{
    record_done(&report_record, &pair->sender);
    record_done(&report_record, &pair->echo);
    record_done(&case_result_record, &pair->result);
    free(pair);
}

static void expect_lost(const struct leg *leg, struct lost_to lost_to)
{
    assert_int_equal(lost_to.receive_buffer, leg->lost_to.receive_buffer);
    assert_int_equal(lost_to.sender_host, leg->lost_to.sender_host);
    assert_int_equal(lost_to.receiver_host, leg->lost_to.receiver_host);
    assert_int_equal(lost_to.network, leg->lost_to.network);
    assert_int_equal(lost_to.unattributed, leg->lost_to.unattributed);
    assert_int_equal(lost_to_total(&lost_to), leg->lost);
}

static void expect_error(struct pair *pair, const char *words)
{
    join(pair);
    assert_int_equal(CASE_ERROR, pair->result.status);
    if (strstr(pair->result.error, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", pair->result.error, words);
    free_pair(pair);
}

/* --- places --------------------------------------------------------------------------------- */

static void a_clean_path_passes_with_nothing_unattributed(void **state)
{
    struct made_phase made = made_clean(1000);
    struct pair *pair = new_pair(&made);
    struct phase *measure = join(pair);

    (void)state;
    assert_int_equal(CASE_PASS, pair->result.status);
    assert_string_equal("", pair->result.error);
    expect_lost(&measure->forward, (struct lost_to){ 0 });
    expect_lost(&measure->reverse, (struct lost_to){ 0 });
    assert_int_equal(EVIDENCE_PER_SOCKET, measure->forward.evidence);
    assert_true(measure->echoes_per_second > 999 && measure->echoes_per_second < 1001);
    assert_int_equal(2, measure->counters.count);
    assert_int_equal(2, measure->stalls_ns.count);
    assert_true(pair->result.phases.warmup.present);
    assert_int_equal(5, pair->result.agreement.hellos_sent);
    assert_int_equal(1000, pair->result.agreement.rtt_ns);
    assert_int_equal(7, pair->result.agreement.strangers);
    assert_int_equal(1000, pair->result.rtt_ns.count);
    assert_int_equal(1, pair->result.rtt_ns.histogram.count);
    assert_true(isnan(pair->result.sockets.bytes_per_datagram));
    assert_int_equal(NONE_INT, pair->result.sockets.burst_capacity);
    assert_int_equal(NONE_INT, pair->result.first_burst.predicted_lost);
    free_pair(pair);
}

static void drops_in_the_router_are_the_networks_each_way(void **state)
{
    struct made_phase there = { .attempted = 100, .arrived = 93, .echoes = 93, .returned = 93 };
    struct made_phase back = { .attempted = 100, .arrived = 100, .echoes = 100, .returned = 89 };
    struct pair *pair = new_pair(&there);
    struct phase *measure = join(pair);

    (void)state;
    assert_int_equal(CASE_FAIL, pair->result.status);
    expect_lost(&measure->forward, (struct lost_to){ .network = 7 });
    expect_lost(&measure->reverse, (struct lost_to){ 0 });
    assert_int_equal(7, measure->lost_echoes);
    assert_true(isnan(measure->echoes_per_second));
    free_pair(pair);
    pair = new_pair(&back);
    measure = join(pair);
    expect_lost(&measure->forward, (struct lost_to){ 0 });
    expect_lost(&measure->reverse, (struct lost_to){ .network = 11 });
    free_pair(pair);
}

static void a_full_buffer_is_the_receiving_ends(void **state)
{
    struct made_phase made = { .attempted = 100,
                               .arrived = 60,
                               .echoes = 60,
                               .returned = 55,
                               .echo_drops = 40,
                               .client_drops = 5 };
    struct pair *pair = new_pair(&made);
    struct phase *measure = join(pair);

    (void)state;
    expect_lost(&measure->forward, (struct lost_to){ .receive_buffer = 40 });
    expect_lost(&measure->reverse, (struct lost_to){ .receive_buffer = 5 });
    assert_int_equal(EVIDENCE_PER_SOCKET, measure->reverse.evidence);
    free_pair(pair);
}

static void the_senders_qdisc_is_the_sender_host(void **state)
{
    struct made_phase made = {
        .attempted = 100, .arrived = 80, .echoes = 80, .returned = 80, .qdisc_drops = 20
    };
    struct pair *pair = new_pair(&made);
    struct phase *measure = join(pair);

    (void)state;
    expect_lost(&measure->forward, (struct lost_to){ .sender_host = 20 });
    assert_int_equal(EVIDENCE_SYSTEM_WIDE, measure->forward.evidence);
    free_pair(pair);
}

/* 1000 attempted, 10 refused; of 990: 20 in A's qdisc, 30 in the router, 40 in B's buffer; 900
 * echoes, 4 of them refused; of 896: 6 in the router, 5 in A's buffer. */
static void all_places_at_once_are_each_right(void **state)
{
    struct made_phase made = { .attempted = 1000,
                               .refused = 10,
                               .arrived = 900,
                               .echoes = 900,
                               .echoes_refused = 4,
                               .returned = 885,
                               .echo_drops = 40,
                               .client_drops = 5,
                               .qdisc_drops = 20 };
    struct pair *pair = new_pair(&made);
    struct phase *measure = join(pair);

    (void)state;
    expect_lost(&measure->forward,
                (struct lost_to){ .receive_buffer = 40, .sender_host = 20, .network = 30 });
    expect_lost(&measure->reverse, (struct lost_to){ .receive_buffer = 5, .network = 6 });
    assert_int_equal(90 + 11 + 4, measure->lost_echoes);
    assert_int_equal(10, refused_total(&measure->forward.refused));
    free_pair(pair);
}

static void refused_datagrams_were_never_sent(void **state)
{
    struct made_phase made = {
        .attempted = 100, .refused = 30, .arrived = 70, .echoes = 70, .returned = 70
    };
    struct pair *pair = new_pair(&made);
    struct phase *measure = join(pair);

    (void)state;
    assert_int_equal(0, measure->forward.lost);
    assert_int_equal(0, measure->lost_echoes);
    assert_int_equal(CASE_FAIL, pair->result.status);
    free_pair(pair);
}

static void late_duplicate_reordered_and_foreign_are_no_loss(void **state)
{
    struct made_phase made = made_clean(100);
    struct pair *pair = new_pair(&made);
    struct phase *measure;

    (void)state;
    pair->echo.phases.measure.forward.duplicates = 3;
    pair->echo.phases.measure.forward.reordered = 9;
    pair->echo.phases.measure.forward.foreign = 50;
    measure = join(pair);
    assert_int_equal(CASE_PASS, pair->result.status);
    assert_int_equal(3, measure->forward.duplicates);
    assert_int_equal(9, measure->forward.reordered);
    assert_int_equal(50, measure->forward.foreign);
    record_done(&case_result_record, &pair->result);
    pair->sender.phases.measure.reverse.received = 98;
    pair->sender.phases.measure.reverse.late = 2;
    measure = join(pair);
    assert_int_equal(CASE_FAIL, pair->result.status);
    assert_int_equal(0, measure->lost_echoes);
    assert_int_equal(2, measure->reverse.late);
    free_pair(pair);
}

static void without_an_ends_counters_the_network_is_not_blamed(void **state)
{
    struct made_phase made = { .attempted = 10, .arrived = 8, .echoes = 8, .returned = 8 };
    struct pair *pair = new_pair(&made);
    struct phase *measure;

    (void)state;
    counters_init(&pair->echo.phases.measure.counters);
    measure = join(pair);
    expect_lost(&measure->forward, (struct lost_to){ .unattributed = 2 });
    free_pair(pair);
}

/* Both ends have read the same qdisc; it cannot have dropped twice as many. */
static void within_one_host_a_drop_is_taken_once(void **state)
{
    struct made_phase made = {
        .attempted = 100, .arrived = 94, .echoes = 94, .returned = 89, .qdisc_drops = 8
    };
    struct pair *pair = new_pair(&made);
    struct phase *measure;

    (void)state;
    pair->echo.phases.measure.counters = pair->sender.phases.measure.counters;
    text_copy(pair->sender.local, sizeof pair->sender.local, "127.0.0.1:40000");
    text_copy(pair->sender.peer, sizeof pair->sender.peer, "127.0.0.2:7900");
    measure = join(pair);
    expect_lost(&measure->forward, (struct lost_to){ .sender_host = 6 });
    expect_lost(&measure->reverse, (struct lost_to){ .sender_host = 2, .unattributed = 3 });
    record_done(&case_result_record, &pair->result);
    text_copy(pair->sender.local, sizeof pair->sender.local, "[fd00::7]:40000");
    text_copy(pair->sender.peer, sizeof pair->sender.peer, "[fd00::7]:7900");
    measure = join(pair);
    expect_lost(&measure->reverse, (struct lost_to){ .sender_host = 2, .unattributed = 3 });
    record_done(&case_result_record, &pair->result);
    text_copy(pair->sender.peer, sizeof pair->sender.peer, "[fd00::77]:7900");
    measure = join(pair);
    expect_lost(&measure->reverse, (struct lost_to){ .sender_host = 5 });
    free_pair(pair);
}

static void within_one_host_a_system_wide_count_is_taken_once(void **state)
{
    struct made_phase made = { .attempted = 100,
                               .arrived = 94,
                               .echoes = 94,
                               .returned = 89,
                               .echo_drops = 8,
                               .client_drops = 8 };
    struct pair *pair = new_pair(&made);
    struct phase *measure;

    (void)state;
    pair->sender.phases.measure.per_socket = pair->echo.phases.measure.per_socket = false;
    text_copy(pair->sender.local, sizeof pair->sender.local, "[::1]:40000");
    measure = join(pair);
    expect_lost(&measure->forward, (struct lost_to){ .receive_buffer = 6 });
    expect_lost(&measure->reverse, (struct lost_to){ .receive_buffer = 2, .unattributed = 3 });
    assert_int_equal(EVIDENCE_SYSTEM_WIDE, measure->forward.evidence);
    free_pair(pair);
}

static void the_first_burst_is_what_was_sent_less_what_arrived(void **state)
{
    struct made_phase made = made_clean(100);
    struct pair *pair = new_pair(&made);

    (void)state;
    pair->echo.phases.measure.first_burst = 1;
    join(pair);
    assert_int_equal(2, pair->result.first_burst.sent);
    assert_int_equal(1, pair->result.first_burst.lost);
    free_pair(pair);
}

/* --- contradictions ------------------------------------------------------------------------- */

static struct pair *clean(void)
{
    struct made_phase made = made_clean(100);

    return new_pair(&made);
}

static void ends_that_contradict_each_other_are_an_error(void **state)
{
    struct pair *pair = clean();

    (void)state;
    pair->echo.phases.measure.forward.received = 101;
    expect_error(pair, "forward leg: more arrived than was sent");
    pair = clean();
    pair->sender.phases.measure.reverse.late = 1;
    expect_error(pair, "reverse leg: more arrived than was sent");
    pair = clean();
    pair->sender.phases.measure.forward.attempted = 99;
    expect_error(pair, "the sender's report: 99 attempted");
    pair = clean();
    pair->echo.phases.measure.reverse.attempted = pair->echo.phases.measure.reverse.sent = 102;
    expect_error(pair, "102 echoes were made of 100 datagrams");
    pair = clean();
    pair->echo.phases.measure.first_burst = 3;
    expect_error(pair, "first burst");
    pair = clean();
    pair->sender.phases.measure.first_burst = 3;
    expect_error(pair, "first burst");
}

static void numbers_beyond_reason_do_not_overflow(void **state)
{
    struct pair *pair = clean();

    (void)state;
    pair->echo.phases.measure.forward.received = INT64_MAX;
    pair->echo.phases.measure.forward.late = INT64_MAX;
    expect_error(pair, "the echo's report: counts beyond all reason");
    pair = clean();
    pair->sender.phases.measure.counters.value[QDISC_DROPPED] = INT64_MAX;
    pair->sender.phases.measure.counters.value[INTERFACE_TX_DROPPED] = INT64_MAX;
    expect_error(pair, "counts beyond all reason");
    pair = clean();
    pair->sender.phases.measure.seconds = 1e-300;
    expect_error(pair, "beyond all reason");
    pair = clean();
    pair->sender.phases.measure.seconds = 0;
    expect_error(pair, "beyond all reason");
}

static void reports_of_two_cases_are_not_joined(void **state)
{
    struct pair *pair = clean();

    (void)state;
    text_copy(pair->echo.session, sizeof pair->echo.session, "other");
    expect_error(pair, "two sessions, session (sender) and other (echo)");
    pair = clean();
    pair->echo.params.window = 7;
    expect_error(pair, "different parameters");
    pair = clean();
    pair->echo.role = END_SENDER;
    expect_error(pair, "both reports are of the sender's end");
}

static void what_an_end_could_not_do_is_said(void **state)
{
    struct pair *pair = clean();

    (void)state;
    text_copy(pair->echo.error, sizeof pair->echo.error, "no buffer of that size");
    pair->echo.phases.measure.present = false;
    expect_error(pair, "echo: no buffer of that size");
    pair = clean();
    text_copy(pair->sender.error, sizeof pair->sender.error, "cut");
    text_copy(pair->echo.error, sizeof pair->echo.error, "off");
    expect_error(pair, "sender: cut; echo: off");
    pair = clean();
    pair->sender.phases.warmup.present = false;
    expect_error(pair, "the warmup phase is missing in the report of the sender's end");
    pair = clean();
    memset(pair->sender.error, 'x', sizeof pair->sender.error - 1);
    for (size_t i = 0; i + 2 < sizeof pair->echo.error; i += 2)
        memcpy(pair->echo.error + i, "\xc3\xa9", 3);
    expect_error(pair, "xxx; echo: \xc3\xa9");
}

static void a_missing_report_is_said_too(void **state)
{
    struct pair *pair = clean();

    (void)state;
    text_copy(pair->sender.error, sizeof pair->sender.error, "no answer to hellos");
    verdict_join(&pair->sender, NULL, &pair->result);
    assert_int_equal(CASE_ERROR, pair->result.status);
    assert_string_equal("the report of the echo's end is missing; the other one says: no answer to "
                        "hellos",
                        pair->result.error);
    verdict_join(NULL, &pair->echo, &pair->result);
    assert_string_equal("the report of the sender's end is missing", pair->result.error);
    assert_int_equal(200, pair->result.params.payload);
    free_pair(pair);
}

static void a_phase_without_datagrams_or_times_does_not_pass(void **state)
{
    struct made_phase none = made_clean(0);
    struct pair *pair = new_pair(&none);

    (void)state;
    expect_error(pair, "no datagram was sent");
    pair = clean();
    pair->sender.rtt_ns.present = false;
    expect_error(pair, "no round-trip times");
}

/* --- hosts ---------------------------------------------------------------------------------- */

static void a_host_spans_the_whole_run(void **state)
{
    struct pair *first = clean(), *last = clean();
    struct host host;

    (void)state;
    for (int i = 0; i < COUNTER_COUNT; i++) {
        last->echo.host.counters.before.value[i] += 1000;
        last->echo.host.counters.after.value[i] += 1000;
    }
    last->echo.host.counters.after.value[UDP_SENT] = 5;
    last->echo.host.counters.after.value[QDISC_DROPPED] = NONE_INT;
    first->echo.host.counters.before.value[SOFTNET_DROPPED] = NONE_INT;
    last->echo.host.counters.after.value[SOFTNET_DROPPED] = NONE_INT;
    map_add_text(&first->echo.host.counters.unavailable, "softnet.dropped", "no such file");
    verdict_host(END_ECHO, &first->echo.host, &last->echo.host, &host);
    assert_int_equal(HOST_ECHO, host.role);
    assert_string_equal("beta.example", host.name);
    assert_int_equal(1100, host.counters.delta.value[UDP_DELIVERED]);
    assert_int_equal(NONE_INT, host.counters.delta.value[UDP_SENT]);
    assert_int_equal(1, host.counters.reset.count);
    assert_string_equal("udp.sent", ((char **)host.counters.reset.items)[0]);
    assert_int_equal(NONE_INT, host.counters.delta.value[QDISC_DROPPED]);
    assert_string_equal("no such file",
                        map_find(&host.counters.unavailable, "softnet.dropped")->text);
    assert_true(host.limits_unchanged);
    record_done(&host_record, &host);
    ((struct map_item *)last->echo.host.limits.items)[0].number = 1;
    verdict_host(END_ECHO, &first->echo.host, &last->echo.host, &host);
    assert_false(host.limits_unchanged);
    record_done(&host_record, &host);
    free_pair(first);
    free_pair(last);
}

static void one_report_alone_keeps_its_wrapped_counter(void **state)
{
    struct pair *pair = clean();
    struct host_counters *counters = &pair->sender.host.counters;
    struct host host;

    (void)state;
    counters->before.value[UDP_SENT] = 4294967290;
    counters->after.value[UDP_SENT] = 5;
    counters->delta.value[UDP_SENT] = 11;
    counters->delta.value[UDP_DELIVERED] = 77; /* a lie: the snapshots say 100 */
    verdict_host(END_SENDER, &pair->sender.host, &pair->sender.host, &host);
    assert_int_equal(11, host.counters.delta.value[UDP_SENT]);
    assert_int_equal(100, host.counters.delta.value[UDP_DELIVERED]);
    assert_int_equal(0, host.counters.reset.count);
    record_done(&host_record, &host);
    free_pair(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_path_passes_with_nothing_unattributed),
        cmocka_unit_test(drops_in_the_router_are_the_networks_each_way),
        cmocka_unit_test(a_full_buffer_is_the_receiving_ends),
        cmocka_unit_test(the_senders_qdisc_is_the_sender_host),
        cmocka_unit_test(all_places_at_once_are_each_right),
        cmocka_unit_test(refused_datagrams_were_never_sent),
        cmocka_unit_test(late_duplicate_reordered_and_foreign_are_no_loss),
        cmocka_unit_test(without_an_ends_counters_the_network_is_not_blamed),
        cmocka_unit_test(within_one_host_a_drop_is_taken_once),
        cmocka_unit_test(within_one_host_a_system_wide_count_is_taken_once),
        cmocka_unit_test(the_first_burst_is_what_was_sent_less_what_arrived),
        cmocka_unit_test(ends_that_contradict_each_other_are_an_error),
        cmocka_unit_test(numbers_beyond_reason_do_not_overflow),
        cmocka_unit_test(reports_of_two_cases_are_not_joined),
        cmocka_unit_test(what_an_end_could_not_do_is_said),
        cmocka_unit_test(a_missing_report_is_said_too),
        cmocka_unit_test(a_phase_without_datagrams_or_times_does_not_pass),
        cmocka_unit_test(a_host_spans_the_whole_run),
        cmocka_unit_test(one_report_alone_keeps_its_wrapped_counter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
