/* A path MTU report fits into a result, whatever has come; what is left out is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/task_report_mtu.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"

static void fill_text(char *text, size_t size)
{
    memset(text, 'x', size - 1);
    text[size - 1] = '\0';
}

static void fill_icmp(struct mtu_flow *flow)
{
    for (int i = 0; i < MTU_ICMP_MAX; i++) {
        struct mtu_icmp *icmp = list_append_sized(&flow->icmp, sizeof *icmp);

        fill_text(icmp->from, sizeof icmp->from);
        fill_text(icmp->judged, sizeof icmp->judged);
        icmp->mtu = UINT32_MAX;
        icmp->count = INT64_C(1) << 40;
    }
}

/* Everything that a flow can have, every text as long as can be. */
static void fill_flow(struct mtu_flow *flow, int64_t index)
{
    const int64_t much = INT64_C(1) << 40;

    record_init(&mtu_flow_record, flow);
    flow->flow = index;
    flow->source_port = 65535;
    flow->path_mtu = flow->next_size = LIMIT_MTU;
    flow->local_mtu = flow->kernel_path_mtu = flow->kernel_before = much;
    flow->icmp_missed = 1;
    flow->probes = flow->retries = flow->refused = flow->controls = flow->controls_lost = much;
    flow->rtt_ns = flow->unreachable = flow->odd_answers = much;
    fill_text(flow->unreachable_kind, sizeof flow->unreachable_kind);
    fill_text(flow->unreachable_from, sizeof flow->unreachable_from);
    flow->fragment_probes = (struct mtu_fragments){ true, LIMIT_MTU, much, much, much, much };
    flow->hops = (struct mtu_hops){
        .present = true, .passing = LIMIT_MTU, .failing = LIMIT_MTU, .sent = much, .answered = much
    };
    fill_text(flow->hops.last, sizeof flow->hops.last);
    fill_text(flow->hops.first, sizeof flow->hops.first);
    fill_icmp(flow);
}

static void fill_sizes(struct mtu_flow *flow)
{
    flow->size_effect.present = true;
    for (int i = 0; i < MTU_SIZES_MAX; i++)
        *(struct mtu_size *)list_append_sized(&flow->loss_by_size, sizeof(struct mtu_size)) =
            (struct mtu_size){ LIMIT_MTU, INT64_C(1) << 40, INT64_C(1) << 40 };
}

static void add_changes(struct task_changes *changes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const struct mtu_event event = { .flow = i % MTU_FLOWS_MAX,
                                         .change = MTU_CHANGE_CHANGED,
                                         .from = 1400,
                                         .to = 1500,
                                         .after_s = (double)i };

        task_changes_add(changes, &event);
    }
}

static void make_report(size_t flows, struct mtu_report *out_report)
{
    struct mtu_plan plan;

    record_init(&mtu_report_record, out_report);
    mtu_plan_init(&plan);
    out_report->params.common = plan.common;
    text_copy(out_report->id, sizeof out_report->id, "01900000-0000-7000-8000-000000000000");
    for (size_t i = 0; i < flows; i++)
        fill_flow(list_append_sized(&out_report->flows, sizeof(struct mtu_flow)), (int64_t)i);
}

/* Sends it and reads it back into its place. */
static void pass(struct mtu_report *report)
{
    struct message_result result;
    struct fault fault = { "" };

    if (task_report_mtu_result(report, &result, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_string_equal(result.kind, "mtu_report");
    assert_true(result.body.length <= LIMIT_RESULT_BYTES);
    record_done(&mtu_report_record, report);
    if (record_from_msgpack(&mtu_report_record, result.body.data, result.body.length, report,
                            &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    message_done(&result);
}

static void what_fits_is_whole(void **state)
{
    struct task_changes changes = { .ring = NULL };
    struct mtu_report report;
    const struct mtu_flow *flow;

    (void)state;
    make_report(64, &report);
    fill_sizes(report.flows.items);
    add_changes(&changes, 3);
    task_changes_put(&changes, &report);
    pass(&report);
    assert_string_equal(report.error, "");
    assert_int_equal(report.flows.count, 64);
    assert_int_equal(report.events.count, 3);
    flow = report.flows.items;
    assert_int_equal(flow->icmp.count, MTU_ICMP_MAX);
    assert_int_equal(flow->icmp_missed, 1);
    assert_int_equal(flow->loss_by_size.count, MTU_SIZES_MAX);
    record_done(&mtu_report_record, &report);
    task_changes_done(&changes);
}

/* A host of so many limits and libraries there is not. */
static void fill_host(struct host *host)
{
    char key[MAP_KEY_SIZE], text[MAP_TEXT_SIZE];

    fill_text(text, sizeof text);
    for (int i = 0; i < LIMIT_MAP_ENTRIES; i++) {
        snprintf(key, sizeof key, "%0*d", MAP_KEY_SIZE - 1, i);
        map_add_text(&host->libraries, key, text);
        map_add_int(&host->limits, key, INT64_MAX);
    }
}

static void the_largest_report_leaves_messages_out(void **state)
{
    struct task_changes changes = { .ring = NULL };
    struct mtu_report report;
    const struct mtu_flow *flow;
    char words[128];

    (void)state;
    make_report(MTU_FLOWS_MAX, &report);
    fill_sizes(report.flows.items);
    fill_host(&report.host);
    add_changes(&changes, MTU_EVENTS_MAX);
    task_changes_put(&changes, &report);
    text_copy(report.error, sizeof report.error, "closed: enough");
    pass(&report);
    assert_int_equal(report.flows.count, MTU_FLOWS_MAX);
    assert_int_equal(report.events.count, MTU_EVENTS_MAX);
    flow = report.flows.items;
    assert_in_range(flow->icmp.count, 1, MTU_ICMP_MAX - 1);
    assert_int_equal(flow->icmp_missed - 1, ((int64_t)MTU_ICMP_MAX - (int64_t)flow->icmp.count)
                                                << 40);
    snprintf(words, sizeof words,
             "closed: enough; %zu ICMP messages are left out of a report that was too large",
             MTU_FLOWS_MAX * (MTU_ICMP_MAX - flow->icmp.count));
    assert_string_equal(report.error, words);
    record_done(&mtu_report_record, &report);
    task_changes_done(&changes);
}

static void the_latest_changes_are_kept(void **state)
{
    struct task_changes changes = { .ring = NULL };
    struct mtu_report report;
    const struct mtu_event *events;

    (void)state;
    make_report(1, &report);
    add_changes(&changes, MTU_EVENTS_MAX + 5);
    task_changes_put(&changes, &report);
    assert_int_equal(report.events.count, MTU_EVENTS_MAX);
    events = report.events.items;
    assert_true(events[0].after_s > 4.5 && events[0].after_s < 5.5);
    assert_true(events[MTU_EVENTS_MAX - 1].after_s > MTU_EVENTS_MAX + 3.5);
    assert_string_equal(report.error, "of 1029 changes the first 5 are not in the report");
    record_done(&mtu_report_record, &report);
    task_changes_done(&changes);
}

static void a_note_is_cut_at_the_end_of_the_error(void **state)
{
    struct mtu_report report;

    (void)state;
    make_report(0, &report);
    fill_text(report.error, sizeof report.error - 4);
    task_report_note(&report, "\u00e9\u00e9");
    assert_int_equal(record_check(&mtu_report_record, &report, NULL), STATUS_OK);
    record_done(&mtu_report_record, &report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_whole),
        cmocka_unit_test(the_largest_report_leaves_messages_out),
        cmocka_unit_test(the_latest_changes_are_kept),
        cmocka_unit_test(a_note_is_cut_at_the_end_of_the_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
