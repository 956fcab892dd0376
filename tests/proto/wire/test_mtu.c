/* mtu: what is found out comes back whole, as msgpack and as JSON, and a large report of it fits
 * into a result. */
#include "proto/wire/mtu_report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/limits.h"
#include "proto/wire/message.h"
#include "proto/wire/record_json.h"
#include "proto/wire/record_msgpack.h"
#include "tests/proto/wire/fill.h"

enum { ROOM = 64 << 20, FEW = 3 };

/* From JSON through msgpack to JSON: JSON first, because it rounds. */
static void comes_back(struct filler *filler, const struct record *record)
{
    void *object = calloc(3, record->size);
    char *first = object, *second = first + record->size, *third = second + record->size;
    struct fault fault = { "" };
    struct buf once, bytes, twice;

    assert_non_null(object);
    buf_init(&once, ROOM);
    buf_init(&bytes, ROOM);
    buf_init(&twice, ROOM);
    record_init(record, first);
    fill_record(filler, record, first);
    assert_int_equal(record_to_json(record, first, &once), STATUS_OK);
    if (record_from_json(record, once.data, once.length, second, &fault) != STATUS_OK)
        fail_msg("%s: %s", record->name, fault.text);
    assert_int_equal(record_to_msgpack(record, second, &bytes), STATUS_OK);
    if (record_from_msgpack(record, bytes.data, bytes.length, third, &fault) != STATUS_OK)
        fail_msg("%s: %s", record->name, fault.text);
    assert_int_equal(record_to_json(record, third, &twice), STATUS_OK);
    assert_string_equal(once.data, twice.data);
    record_done(record, first);
    record_done(record, second);
    record_done(record, third);
    buf_done(&once);
    buf_done(&bytes);
    buf_done(&twice);
    free(object);
}

static void all_come_back_in_both_forms(void **state)
{
    static const struct record *const records[] = {
        &mtu_plan_record,   &mtu_params_record, &mtu_flow_record,
        &mtu_event_record,  &mtu_case_record,   &mtu_session_record,
        &mtu_report_record, &mtu_row_record,    &mtu_answered_record,
    };
    struct filler filler = { .list_cap = FEW, .chance = chance_start("mtu") };

    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        filler.how = FILL_LEAST;
        comes_back(&filler, records[i]);
        filler.how = FILL_MOST;
        comes_back(&filler, records[i]);
        filler.how = FILL_RANDOM;
        for (int k = 0; k < 30; k++)
            comes_back(&filler, records[i]);
    }
}

/* A flow as it is before anything is known has null, not zero. */
static void nothing_known_is_null(void **state)
{
    static const char *const keys[] = {
        "\"source_port\":null", "\"path_mtu\":null",         "\"next_size\":null",
        "\"local_mtu\":null",   "\"kernel_path_mtu\":null",  "\"kernel_before\":null",
        "\"rtt_ns\":null",      "\"fragment_probes\":null",  "\"hops\":null",
        "\"size_effect\":null", "\"loss_by_size\":[]",       "\"fragments\":\"untested\"",
        "\"udp_payload\":null", "\"outcome\":\"undecided\"",
    };
    struct mtu_case one, back;
    struct buf text;

    (void)state;
    record_init(&mtu_case_record, &one);
    buf_init(&text, ROOM);
    assert_int_equal(record_to_json(&mtu_case_record, &one, &text), STATUS_OK);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strstr(text.data, keys[i]) == NULL)
            fail_msg("%s is not in %s", keys[i], text.data);
    }
    assert_null(strstr(text.data, "\"flow\":{"));
    assert_int_equal(record_from_json(&mtu_case_record, text.data, text.length, &back, NULL),
                     STATUS_OK);
    assert_true(back.flow.path_mtu == NONE_INT && back.flow.source_port == NONE_INT);
    assert_true(!back.flow.size_effect.present && !back.flow.hops.present);
    record_done(&mtu_case_record, &one);
    record_done(&mtu_case_record, &back);
    buf_done(&text);
}

/* What a table calls a number is what the struct calls it. */
static void names_stand_in_the_order_of_their_enums(void **state)
{
    (void)state;
    assert_string_equal(mtu_outcome_names[MTU_EXHAUSTED], "exhausted");
    assert_string_equal(mtu_outcome_names[MTU_BELOW_FLOOR], "below_floor");
    assert_string_equal(mtu_limit_names[MTU_LIMIT_PATH], "path");
    assert_string_equal(mtu_arrive_names[MTU_DROPPED], "dropped");
    assert_string_equal(mtu_change_names[MTU_CHANGE_UNREACHABLE], "unreachable");
    assert_string_equal(mtu_direction_names[MTU_REVERSE], "reverse");
    assert_string_equal(mtu_ways_names[MTU_WAYS_BOTH], "both");
    assert_string_equal(mtu_verdict_names[MTU_BLACK_HOLE], "black_hole");
    assert_string_equal(mtu_verdict_names[MTU_NO_ANSWER], "unreachable");
    assert_string_equal(mtu_verdict_names[MTU_NO_VERDICT], "undecided");
}

/* Which end probes, and which phases there are. */
static void each_way_has_its_prober(void **state)
{
    struct mtu_common common = { .direction = MTU_WAYS_BOTH };

    (void)state;
    assert_int_equal(mtu_prober(PHASE_FORWARD), END_SENDER);
    assert_int_equal(mtu_prober(PHASE_REVERSE), END_ECHO);
    assert_true(mtu_has_phase(&common, PHASE_FORWARD) && mtu_has_phase(&common, PHASE_REVERSE));
    assert_true(!mtu_has_phase(&common, PHASE_WARMUP) && !mtu_has_phase(&common, PHASE_MEASURE));
    common.direction = MTU_WAYS_FORWARD;
    assert_true(mtu_has_phase(&common, PHASE_FORWARD) && !mtu_has_phase(&common, PHASE_REVERSE));
    common.direction = MTU_WAYS_REVERSE;
    assert_true(!mtu_has_phase(&common, PHASE_FORWARD) && mtu_has_phase(&common, PHASE_REVERSE));
}

/* One more than the cap of a list is refused by its place. */
static void lists_have_their_caps(void **state)
{
    static const struct {
        const char *name;
        size_t cap;
    } lists[] = { { "icmp", MTU_ICMP_MAX }, { "loss_by_size", MTU_SIZES_MAX } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct field *field = record_field(&mtu_flow_record, lists[i].name, NULL);
        struct mtu_flow flow;
        struct list *list;
        struct fault fault = { "" };

        record_init(&mtu_flow_record, &flow);
        list = (struct list *)((char *)&flow + field->offset);
        for (size_t k = 0; k < lists[i].cap; k++)
            assert_non_null(list_append(list, field));
        assert_null(list_append(list, field));
        assert_int_equal(record_check(&mtu_flow_record, &flow, NULL), STATUS_OK);
        list_append_sized(list, field->record->size);
        assert_int_not_equal(record_check(&mtu_flow_record, &flow, &fault), STATUS_OK);
        if (strstr(fault.text, lists[i].name) == NULL)
            fail_msg("%s: %s", lists[i].name, fault.text);
        record_done(&mtu_flow_record, &flow);
    }
}

/* The longest that a system writes, and not the longest that would be read. */
static void shorten_texts(struct mtu_flow *flow)
{
    static const char address[] = "fe80:1111:2222:3333:4444:5555:6666:7777%interface-nam-15";
    struct mtu_icmp *icmp = flow->icmp.items;

    for (size_t i = 0; i < flow->icmp.count; i++) {
        snprintf(icmp[i].from, sizeof icmp[i].from, "%s", address);
        snprintf(icmp[i].judged, sizeof icmp[i].judged, "below the protocol's minimum");
    }
}

/* Every flow with everything that one can have, every number at its end. */
static void fill_flows(struct mtu_report *report)
{
    const struct field *flows = record_field(&mtu_report_record, "flows", NULL);
    struct filler filler = { .how = FILL_MOST };

    while (report->flows.count < MTU_FLOWS_MAX) {
        struct mtu_flow *flow = list_append(&report->flows, flows);

        record_init(&mtu_flow_record, flow);
        fill_record(&filler, &mtu_flow_record, flow);
        shorten_texts(flow);
        if (report->flows.count > 1) { /* loss by size is the first flow's alone */
            field_done(record_field(&mtu_flow_record, "loss_by_size", NULL), flow);
            flow->size_effect.present = false;
        }
    }
}

static void a_large_report_fits_into_a_result(void **state)
{
    const struct field *events = record_field(&mtu_report_record, "events", NULL);
    struct filler filler = { .how = FILL_LEAST };
    struct mtu_report report;
    struct buf bytes;

    (void)state;
    record_init(&mtu_report_record, &report);
    fill_record(&filler, &mtu_report_record, &report);
    fill_flows(&report);
    filler.how = FILL_MOST;
    while (report.events.count < MTU_EVENTS_MAX)
        fill_record(&filler, &mtu_event_record, list_append(&report.events, events));
    buf_init(&bytes, ROOM);
    assert_int_equal(record_to_msgpack(&mtu_report_record, &report, &bytes), STATUS_OK);
    assert_in_range(bytes.length, 500000, LIMIT_RESULT_BYTES);
    record_done(&mtu_report_record, &report);
    buf_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_come_back_in_both_forms),
        cmocka_unit_test(nothing_known_is_null),
        cmocka_unit_test(names_stand_in_the_order_of_their_enums),
        cmocka_unit_test(each_way_has_its_prober),
        cmocka_unit_test(lists_have_their_caps),
        cmocka_unit_test(a_large_report_fits_into_a_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
