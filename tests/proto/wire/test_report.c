/* report: what an end says comes back whole, as msgpack and as JSON, and a large one fits into a
 * result. */
#include "proto/wire/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/record_json.h"
#include "proto/wire/record_msgpack.h"
#include "tests/proto/wire/fill.h"

enum { ROOM = 16 << 20, FEW = 3 };

static void fill(struct filler *filler, struct report *out_report)
{
    record_init(&report_record, out_report);
    fill_record(filler, &report_record, out_report);
}

static void to_msgpack(const struct report *report, struct buf *out_bytes)
{
    buf_init(out_bytes, ROOM);
    assert_int_equal(record_to_msgpack(&report_record, report, out_bytes), STATUS_OK);
}

/* Frees the report. */
static void to_json(struct report *report, struct buf *out_text)
{
    buf_init(out_text, ROOM);
    assert_int_equal(record_to_json(&report_record, report, out_text), STATUS_OK);
    record_done(&report_record, report);
}

/* From JSON through msgpack to JSON: JSON first, because it rounds. */
static void comes_back(struct filler *filler)
{
    struct report report, middle, back;
    struct fault fault = { "" };
    struct buf once, bytes, twice;

    fill(filler, &report);
    to_json(&report, &once);
    if (record_from_json(&report_record, once.data, once.length, &middle, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    to_msgpack(&middle, &bytes);
    record_done(&report_record, &middle);
    if (record_from_msgpack(&report_record, bytes.data, bytes.length, &back, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    to_json(&back, &twice);
    assert_string_equal(once.data, twice.data);
    buf_done(&once);
    buf_done(&bytes);
    buf_done(&twice);
}

static void comes_back_in_both_forms(void **state)
{
    struct filler filler = { .how = FILL_LEAST, .list_cap = FEW };

    (void)state;
    comes_back(&filler);
    filler.how = FILL_RANDOM;
    filler.chance = chance_start("report");
    for (int i = 0; i < 100; i++)
        comes_back(&filler);
}

/* An end that could not measure: no phases, no times, most of it null. */
static void an_end_that_failed_can_say_so(void **state)
{
    struct filler filler = { .how = FILL_LEAST };
    struct report report, back;
    struct buf bytes;

    (void)state;
    fill(&filler, &report);
    memcpy(report.error, "the echo role did not agree", 28);
    report.role = END_ECHO;
    to_msgpack(&report, &bytes);
    assert_int_equal(record_from_msgpack(&report_record, bytes.data, bytes.length, &back, NULL),
                     STATUS_OK);
    assert_string_equal(back.error, "the echo role did not agree");
    assert_true(back.role == END_ECHO && back.local[0] == '\0');
    assert_true(!back.phases.warmup.present && !back.phases.measure.present);
    assert_true(!back.rtt_ns.present && !back.agreement.present);
    assert_true(back.clock.max_error_ns == NONE_INT && back.host.clock_step_ns == NONE_INT);
    record_done(&report_record, &report);
    record_done(&report_record, &back);
    buf_done(&bytes);
}

/* A report of before there were one-way delays. */
static void an_older_body_reads_without_one_way_delays(void **state)
{
    struct filler filler = { .how = FILL_LEAST };
    struct report report, back;
    struct buf text;
    char *key;

    (void)state;
    fill(&filler, &report);
    report.one_way_ns = (struct one_way_seen){ .present = false };
    to_json(&report, &text);
    key = strstr(text.data, "\"one_way_ns\":null,");
    assert_non_null(key);
    memset(key, ' ', strlen("\"one_way_ns\":null,"));
    back.one_way_ns.present = true;
    assert_int_equal(record_from_json(&report_record, text.data, text.length, &back, NULL),
                     STATUS_OK);
    assert_false(back.one_way_ns.present);
    record_done(&report_record, &back);
    buf_done(&text);
}

/* More than any host has: every number at its end, a full histogram, 300 limits with long names. */
static void a_large_report_fits_into_a_result(void **state)
{
    struct filler filler = { .how = FILL_MOST, .list_cap = 300 };
    struct report report;
    struct buf bytes;

    (void)state;
    fill(&filler, &report);
    while (report.rtt_ns.histogram.count < LIMIT_HISTOGRAM_BUCKETS) {
        int64_t *bucket = list_append_sized(&report.rtt_ns.histogram, 2 * sizeof *bucket);

        bucket[0] = bucket[1] = INT64_MAX;
    }
    to_msgpack(&report, &bytes);
    assert_in_range(bytes.length, 300000, LIMIT_RESULT_BYTES);
    record_done(&report_record, &report);
    buf_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_in_both_forms),
        cmocka_unit_test(an_end_that_failed_can_say_so),
        cmocka_unit_test(an_older_body_reads_without_one_way_delays),
        cmocka_unit_test(a_large_report_fits_into_a_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
