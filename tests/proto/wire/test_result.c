/* result: run.json has the keys of the archive, its tables are sound, and ids and sums are right.
 */
#include "proto/wire/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_json.h"

static void *append(const struct record *record, const char *name, struct list *list)
{
    void *element = list_append(list, record_field(record, name, NULL));

    assert_non_null(element);
    return element;
}

static void make_phase(struct phase *phase)
{
    struct counters *delta = append(&phase_record, "counters", &phase->counters);

    for (size_t i = 0; i < COUNTER_COUNT; i++)
        delta->value[i] = i % 3 == 0 ? NONE_INT : (int64_t)i;
    phase->present = true;
    phase->seconds = 1.0009765625;
    phase->forward.attempted = phase->forward.sent = 100;
    phase->forward.received = 90;
    phase->forward.lost = phase->forward.lost_to.receive_buffer = 10;
    phase->forward.refused.eagain = 3;
    phase->reverse.evidence = EVIDENCE_SYSTEM_WIDE;
    phase->lost_echoes = 10;
}

static void make_case(struct run *run)
{
    struct case_result *result = append(run_record_of(RUN_LOOPBACK), "cases", &run->cases);
    int64_t *bucket;

    record_init(&case_result_record, result);
    result->params.payload = 1472;
    result->params.window = result->params.repeat = 1;
    result->params.common = run->plan.common;
    result->status = CASE_FAIL;
    result->sockets.present = result->first_burst.present = true;
    result->sockets.rcvbuf = (struct grant){ 8 << 20, 425984, "net.core.rmem_max" };
    result->sockets.bytes_per_datagram = 2304;
    make_phase(&result->phases.measure);
    result->rtt_ns.present = true;
    result->rtt_ns.count = 1;
    result->rtt_ns.p50 = 12345;
    bucket = append(record_field(&case_result_record, "rtt_ns", NULL)->record, "histogram",
                    &result->rtt_ns.histogram);
    bucket[0] = 12288;
    bucket[1] = 1;
}

static void make_run(struct run *out_run)
{
    struct host *host;

    run_init(out_run, RUN_LOOPBACK);
    (void)text_copy(out_run->schema, sizeof out_run->schema, RUN_SCHEMA);
    out_run->plan.repeats = 1;
    out_run->plan.common = (struct case_common){
        .clients = 16, .io_threads = 1, .seconds = 1, .rcvbuf = 8 << 20, .sndbuf = 8 << 20
    };
    *(int64_t *)append(&plan_record, "payloads", &out_run->plan.payloads) = 1472;
    *(int64_t *)append(&plan_record, "windows", &out_run->plan.windows) = 1;
    *(int *)append(&plan_record, "engines", &out_run->plan.engines) = ENGINE_BATCH;
    *(char **)append(run_record_of(RUN_LOOPBACK), "command", &out_run->command) = strdup("sonde");
    host = append(run_record_of(RUN_LOOPBACK), "hosts", &out_run->hosts);
    record_init(&host_record, host);
    (void)text_copy(host->name, sizeof host->name, "</text><script>");
    map_add_text(&host->libraries, "jansson", "2.14");
    map_add_int(&host->limits, "net.core.rmem_max", 212992);
    map_add_text(&host->counters.unavailable, "qdisc.dropped", "not on this system");
    make_case(out_run);
}

static void write(const struct run *run, struct buf *out_text)
{
    buf_init(out_text, 1 << 20);
    assert_int_equal(record_to_json(run_record_of(RUN_LOOPBACK), run, out_text), STATUS_OK);
}

static void a_run_goes_out_and_comes_back(void **state)
{
    struct run run, back;
    struct buf text, again;
    struct fault fault = { "" };

    (void)state;
    make_run(&run);
    assert_int_equal(record_check(run_record_of(RUN_LOOPBACK), &run, &fault), STATUS_OK);
    write(&run, &text);
    assert_int_equal(
        record_from_json(run_record_of(RUN_LOOPBACK), text.data, text.length, &back, &fault),
        STATUS_OK);
    write(&back, &again);
    assert_string_equal(buf_peek(&text), buf_peek(&again));
    assert_int_equal(((struct case_result *)back.cases.items)->phases.measure.forward.lost, 10);
    assert_false(((struct case_result *)back.cases.items)->phases.warmup.present);
    buf_done(&text);
    buf_done(&again);
    run_done(&run);
    run_done(&back);
}

/* What docs/archive.md promises, as it stands in the text. */
static void keys_are_those_of_the_archive(void **state)
{
    static const char *const parts[] = {
        "{\"schema\":\"sonde.run/1\",\"id\":\"\",\"kind\":\"loopback\",\"tool\":{\"name\":\"\","
        "\"version\":\"\",\"source_sha256\":\"\"},\"command\":[\"sonde\"],\"started\":\"\","
        "\"finished\":\"\",\"interrupted\":false,\"hosts\":[{\"name\":\"</text><script>\","
        "\"role\":\"local\",\"os\":\"\",\"os_release\":\"\",\"arch\":\"\",\"cpu\":\"\","
        "\"cpus\":null,\"memory_bytes\":null,\"libraries\":{\"jansson\":\"2.14\"},"
        "\"limits\":{\"net.core.rmem_max\":212992},\"limits_unchanged\":false,"
        "\"clock_step_ns\":null,\"interface\":{\"name\":\"\",\"mtu\":null},\"counters\":{"
        "\"before\":{\"udp.delivered\"",
        "\"reset\":[],\"idle\":{\"seconds\":0,\"delta\":{",
        "\"unavailable\":{\"qdisc.dropped\":\"not on this system\"}}}],\"plan\":{\"payloads\":"
        "[1472],\"windows\":[1],\"repeats\":1,\"engines\":[\"batch\"],\"idle_s\":0,\"family\":"
        "\"ipv4\",\"clients\":16,\"io_model\":\"shared\",\"io_threads\":1,\"work_ns\":0,"
        "\"warmup_s\":0,\"seconds\":1,\"interval_ns\":0,\"rcvbuf\":8388608,\"sndbuf\":8388608},"
        "\"cases\":[{\"index\":0,\"payload\":1472,\"window\":1,\"repeat\":1,\"engine\":\"single\",",
        "\"status\":\"fail\",\"error\":null,\"sockets\":{\"rcvbuf\":{\"asked\":8388608,\"granted\":"
        "425984,\"limit\":\"net.core.rmem_max\"},\"sndbuf\":{\"asked\":0,\"granted\":0,\"limit\":"
        "null},\"bytes_per_datagram\":2304,\"burst_capacity\":null,\"calibration_drops\":null},"
        "\"first_burst\":{\"sent\":0,"
        "\"predicted_lost\":null,\"lost\":0},\"agreement\":null,\"phases\":{\"warmup\":null,"
        "\"measure\":{\"seconds\":1.0009765625,\"forward\":{\"attempted\":100,\"refused\":{"
        "\"EAGAIN\":3,\"ENOBUFS\":0,"
        "\"EMSGSIZE\":0,\"EPERM\":0,\"ECONNREFUSED\":0,\"other\":0},\"sent\":100,\"received\":90,"
        "\"late\":0,\"lost\":10,\"lost_to\":{\"receive_buffer\":10,\"sender_host\":0,"
        "\"receiver_host\":0,\"network\":0,\"unattributed\":0},\"evidence\":\"per-socket\","
        "\"duplicates\":0,\"reordered\":0,\"corrupt\":0,\"foreign\":0},\"reverse\":{",
        "\"evidence\":\"system-wide\"",
        "\"lost_echoes\":10,\"echoes_per_second\":null,\"slip_ns\":null,\"skipped_bursts\":null,"
        "\"stalls_ns\":[],\"counters\":[{\"udp.delivered\":null,\"udp.sent\":1,",
        "\"rtt_ns\":{\"clock\":\"user\",\"count\":1,\"min\":null,\"p50\":12345,\"p90\":null,"
        "\"p99\":null,\"p999\":null,\"max\":null,\"histogram\":[[12288,1]]},\"one_way_ns\":null}]}",
    };
    struct run run;
    struct buf text;

    (void)state;
    make_run(&run);
    write(&run, &text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(buf_peek(&text), parts[i]) == NULL)
            fail_msg("not there: %s\nin: %s", parts[i], buf_peek(&text));
    }
    buf_done(&text);
    run_done(&run);
}

static size_t member_size(const struct field *field)
{
    switch (field->type) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_INT:
        return sizeof(int64_t);
    case FIELD_REAL:
        return sizeof(double);
    case FIELD_TEXT:
        return field->size;
    case FIELD_ENUM:
        return sizeof(int);
    case FIELD_RECORD:
    case FIELD_INLINE:
        return field->record->size;
    case FIELD_NAMED:
        return field->name_count * sizeof(int64_t);
    case FIELD_LIST:
    case FIELD_MAP_INT:
    case FIELD_MAP_TEXT:
        return sizeof(struct list);
    case FIELD_POINT:
    case FIELD_PAIR:
    case FIELD_WORD:
    case FIELD_BYTES:
        break;
    }
    fail_msg("%s cannot stand alone", field->name);
    return 0;
}

static bool has(const struct field *field, enum field_type type)
{
    return field->type == type || (field->type == FIELD_LIST && field->of == type);
}

static void check_field(const struct record *record, const struct field *field)
{
    bool names = has(field, FIELD_ENUM) || has(field, FIELD_NAMED);

    assert_true(field->offset + member_size(field) <= record->size);
    if (field->type != FIELD_INLINE)
        assert_true(field->help != NULL && field->help[0] != '\0');
    if (has(field, FIELD_INT))
        assert_true(field->min <= field->max && field->min > NONE_INT);
    if (has(field, FIELD_REAL))
        assert_true(field->real_min <= field->real_max && isfinite(field->real_max));
    if (field->type == FIELD_TEXT || field->type == FIELD_LIST)
        assert_true(field->size > 1);
    if (field->type == FIELD_RECORD && (field->flags & FIELD_NULLABLE) != 0)
        assert_true(field->record->present != 0);
    assert_int_equal(names, field->name_count != 0);
    for (size_t i = 0; i < field->name_count; i++)
        assert_true(utf8_is_valid(field->names[i], strlen(field->names[i])));
}

/* Fields do not overlap, follow one another and have names of their own, all the way down. */
static void check_table(const struct record *record)
{
    size_t end = record->present == 0 ? 0 : record->present - 1 + sizeof(bool);

    assert_true(record->name != NULL && record->count > 0);
    for (size_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];

        check_field(record, field);
        /* What only one of several choices has may be the same part for two of them. */
        if (field->when != 0 && i > 0 && record->fields[i - 1].when != 0 &&
            field->offset == record->fields[i - 1].offset)
            continue;
        assert_true(field->offset >= end);
        end = field->offset + member_size(field);
        if (field->type != FIELD_INLINE)
            assert_ptr_equal(record_field(record, field->name, NULL), field);
        if (has(field, FIELD_RECORD) || field->type == FIELD_INLINE)
            check_table(field->record);
    }
}

static void tables_are_sound(void **state)
{
    (void)state;
    check_table(run_record_of(RUN_LOOPBACK));
    check_table(run_record_of(RUN_BUFFERS));
}

static void counter_names_are_all_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        assert_true(counter_names[i] != NULL && strchr(counter_names[i], '.') != NULL);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(counter_names[i], counter_names[k]);
    }
}

static void uuid_is_of_version_7(void **state)
{
    /* RFC 9562, appendix A.6; the bits of version and variant are not the caller's. */
    static const uint8_t vector[10] = {
        0xfc, 0xc3, 0xd8, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f
    };
    static const uint8_t zeros[10],
        ones[10] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    char text[40], later[40];

    (void)state;
    uuid7_format(0x017f22e279b0, vector, text);
    assert_string_equal(text, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    uuid7_format(0, zeros, text);
    assert_string_equal(text, "00000000-0000-7000-8000-000000000000");
    uuid7_format((INT64_C(1) << 48) - 1, ones, text);
    assert_string_equal(text, "ffffffff-ffff-7fff-bfff-ffffffffffff");
    uuid7_format(1796066315000, ones, text);
    uuid7_format(1796066315001, zeros, later);
    assert_true(strcmp(text, later) < 0);
}

static void sums_add_every_cause_and_stop_at_the_end(void **state)
{
    struct refused refused = { 1, 10, 100, 1000, 10000, 100000 };
    struct lost_to places = { 1, 10, 100, 1000, 10000 };

    (void)state;
    assert_int_equal(refused_total(&refused), 111111);
    assert_int_equal(lost_to_total(&places), 11111);
    refused.other = refused.eagain = INT64_MAX;
    places.network = INT64_MAX - 10111;
    assert_true(refused_total(&refused) == INT64_MAX);
    assert_true(lost_to_total(&places) == INT64_MAX);
    places.network--;
    assert_true(lost_to_total(&places) == INT64_MAX - 1);
}

static void a_phase_passes_when_nothing_is_amiss(void **state)
{
    struct phase phase = { .forward.sent = 5, .forward.received = 5, .forward.duplicates = 2 };
    int64_t *const amiss[] = { &phase.forward.lost,          &phase.reverse.lost,
                               &phase.forward.corrupt,       &phase.reverse.corrupt,
                               &phase.forward.late,          &phase.reverse.late,
                               &phase.forward.refused.eperm, &phase.reverse.refused.enobufs };

    (void)state;
    assert_true(phase_passed(&phase));
    for (size_t i = 0; i < sizeof amiss / sizeof amiss[0]; i++) {
        *amiss[i] = 1;
        phase.lost_echoes = phase_lost_echoes(&phase);
        assert_false(phase_passed(&phase));
        *amiss[i] = 0;
    }
    phase.forward.lost = 3;
    phase.reverse.lost = 4;
    phase.reverse.refused.other = 5;
    phase.forward.refused.other = 100;
    assert_int_equal(12, phase_lost_echoes(&phase));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_out_and_comes_back),
        cmocka_unit_test(keys_are_those_of_the_archive),
        cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(counter_names_are_all_there),
        cmocka_unit_test(uuid_is_of_version_7),
        cmocka_unit_test(sums_add_every_cause_and_stop_at_the_end),
        cmocka_unit_test(a_phase_passes_when_nothing_is_amiss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
