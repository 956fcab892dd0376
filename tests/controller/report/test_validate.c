/* Each rule of a run is broken alone, and the fault names its place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/validate.h"
#include "proto/base/text.h"
#include "tests/controller/report/make_run.h"

/* The small run: cases 0 to 3 are 64 x 1, 64 x 64, 8192 x 1, 8192 x 64 of repeat 1, case 3 loses
 * 520 of 1,024; 4 to 7 the same of repeat 2. */
enum { PASSED = 1, FAILED = 3 };

struct rule {
    const char *name;
    void (*break_it)(struct run *run);
    const char *place; /* what the fault must start with, up to ':' */
};

static struct phase *measure(struct run *run, size_t index)
{
    return &make_case_at(run, index)->phases.measure;
}

static struct host_counters *counters(struct run *run)
{
    return &make_host_at(run, 0)->counters;
}

#define BREAK(NAME, ...)                                                                           \
    static void NAME(struct run *run)                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* the run */
BREAK(schema, text_copy(run->schema, sizeof run->schema, "sonde.run/2");)
BREAK(kind, run->kind = RUN_KIND_COUNT;)
BREAK(id_version, run->id[14] = '4';)
BREAK(id_variant, run->id[19] = 'c';)
BREAK(id_upper_case, run->id[0] = 'A';)
BREAK(id_short, run->id[35] = '\0';)
BREAK(source_short, run->tool.source_sha256[63] = '\0';)
BREAK(source_upper_case, run->tool.source_sha256[0] = 'A';)
BREAK(started_no_time, text_copy(run->started, sizeof run->started, "yesterday");)
BREAK(finished_no_time, text_copy(run->finished, sizeof run->finished, "2026-13-01T00:00:00Z");)
BREAK(finished_first, text_copy(run->finished, sizeof run->finished, "2026-11-30T18:44:09Z");)
BREAK(negative_count, measure(run, PASSED)->forward.duplicates = -1;)

/* hosts and their counters */
BREAK(host_role, make_host_at(run, 0)->role = HOST_ECHO;)
BREAK(delta_wrong, counters(run)->delta.value[UDP_DELIVERED]++;)
BREAK(delta_null, counters(run)->delta.value[UDP_DELIVERED] = NONE_INT;)
BREAK(delta_of_backwards, counters(run)->after.value[IP_FRAGMENTED] = 0;
      counters(run)->delta.value[IP_FRAGMENTED] = -1;)
BREAK(delta_of_reset,
      *(char **)list_append_sized(&counters(run)->reset, sizeof(char *)) = strdup("udp.delivered");)
BREAK(reset_unknown,
      *(char **)list_append_sized(&counters(run)->reset, sizeof(char *)) = strdup("udp.nonsense");)
BREAK(delta_of_unavailable, counters(run)->delta.value[QDISC_DROPPED] = 0;)
BREAK(no_reason, counters(run)->before.value[UDP_MEMORY_ERRORS] = NONE_INT;
      counters(run)->after.value[UDP_MEMORY_ERRORS] = NONE_INT;
      counters(run)->delta.value[UDP_MEMORY_ERRORS] = NONE_INT;)
BREAK(empty_reason, ((struct map_item *)counters(run)->unavailable.items)[0].text[0] = '\0';)
BREAK(negative_before, counters(run)->before.value[UDP_SENT] = -5;)
BREAK(negative_idle, counters(run)->idle.delta.value[UDP_SENT] = -5;)

/* the matrix */
BREAK(case_missing, make_interrupted(run, 7); run->interrupted = false;)
BREAK(case_twice, make_case_at(run, 5)->index = 4;)
BREAK(case_twice_interrupted, run->interrupted = true; make_case_at(run, 5)->index = 4;)
BREAK(index_too_large, make_case_at(run, 7)->index = 8;)
BREAK(index_order, make_interrupted(run, 2); make_case_at(run, 0)->index = 7;
      make_case_at(run, 0)->params = plan_case(&run->plan, 7); make_case_error(run, 0, "x");
      make_case_at(run, 0)->index = 7;)
BREAK(other_payload, make_case_at(run, 2)->params.payload = 8193;)
BREAK(other_window, make_case_at(run, 2)->params.window = 2;)
BREAK(other_repeat, make_case_at(run, 2)->params.repeat = 2;)
BREAK(other_engine, make_case_at(run, 2)->params.engine = ENGINE_SINGLE;)
BREAK(other_clients, make_case_at(run, 2)->params.common.clients = 15;)
BREAK(other_family, make_case_at(run, 2)->params.common.family = FAMILY_IPV6;)
BREAK(other_io_model, make_case_at(run, 2)->params.common.io_model = IO_MODEL_SPLIT;)
BREAK(other_io_threads, make_case_at(run, 2)->params.common.io_threads = 2;)
BREAK(other_work, make_case_at(run, 2)->params.common.work_ns = 1;)
BREAK(other_warmup, make_case_at(run, 2)->params.common.warmup_s = 0.5;)
BREAK(other_seconds, make_case_at(run, 2)->params.common.seconds = 2;)
BREAK(other_interval, make_case_at(run, 2)->params.common.interval_ns = 1;)
BREAK(other_rcvbuf, make_case_at(run, 2)->params.common.rcvbuf = 1;)
BREAK(other_sndbuf, make_case_at(run, 2)->params.common.sndbuf = 1;)
BREAK(error_case_of_other_window, make_case_error(run, 2, "no");
      make_case_at(run, 2)->params.window = 2;)
BREAK(engine_twice, *(int *)list_append_sized(&run->plan.engines, sizeof(int)) = ENGINE_BATCH;)
BREAK(payload_no_stamp, ((int64_t *)run->plan.payloads.items)[0] = 46;)

/* a leg */
BREAK(attempted, measure(run, PASSED)->forward.attempted++;)
BREAK(refused_unsaid, measure(run, PASSED)->forward.refused.enobufs++;)
BREAK(sent, measure(run, PASSED)->reverse.received--;)
BREAK(lost_to, measure(run, FAILED)->forward.lost_to.receive_buffer--;)
BREAK(lost_to_twice, measure(run, FAILED)->forward.lost_to.network = 1;)
BREAK(evidence_sender, measure(run, FAILED)->forward.lost_to.receive_buffer--;
      measure(run, FAILED)->forward.lost_to.sender_host = 1;)
BREAK(evidence_receiver, measure(run, FAILED)->forward.lost_to.receive_buffer--;
      measure(run, FAILED)->forward.lost_to.receiver_host = 1;)
BREAK(warmup_leg, make_case_at(run, FAILED)->phases.warmup.forward.lost--;)
BREAK(attempted_overflow, measure(run, PASSED)->forward.refused.other = INT64_MAX;)
BREAK(sent_overflow, measure(run, PASSED)->forward.late = INT64_MAX;)
BREAK(lost_overflow, measure(run, FAILED)->forward.lost_to.network = INT64_MAX;)

/* a phase */
BREAK(lost_echoes, measure(run, FAILED)->lost_echoes++;)
BREAK(lost_echoes_reverse, struct leg *leg = &measure(run, FAILED)->reverse; leg->received--;
      leg->lost++; leg->lost_to.unattributed++;)
BREAK(lost_echoes_refused, struct leg *leg = &measure(run, FAILED)->reverse; leg->sent--;
      leg->received--; leg->refused.enobufs++;)
BREAK(echoes_from_nothing, struct leg *leg = &measure(run, FAILED)->reverse; leg->attempted++;
      leg->sent++; leg->received++;)
BREAK(phase_counters, measure(run, FAILED)->counters.count = 0;)
BREAK(phase_counters_negative,
      ((struct counters *)measure(run, FAILED)->counters.items)[0].value[0] = -1;)
BREAK(no_measure, measure(run, PASSED)->present = false;)
BREAK(no_warmup, make_case_at(run, PASSED)->phases.warmup.present = false;)

/* status against what was measured */
BREAK(pass_with_loss, make_case_at(run, FAILED)->status = CASE_PASS;)
BREAK(fail_without_cause, make_case_at(run, PASSED)->status = CASE_FAIL;)
BREAK(pass_with_refused, measure(run, PASSED)->forward.attempted++;
      measure(run, PASSED)->forward.refused.eagain++;)
BREAK(pass_with_corrupt, measure(run, PASSED)->reverse.corrupt++;)
BREAK(pass_with_late, measure(run, PASSED)->reverse.late++;
      measure(run, PASSED)->reverse.received--;)
BREAK(fail_with_rate, measure(run, FAILED)->echoes_per_second = 1;)
BREAK(pass_without_rate, measure(run, PASSED)->echoes_per_second = (double)NAN;)
BREAK(pass_with_no_rate, measure(run, PASSED)->echoes_per_second = 0;)
BREAK(pass_without_rtt, make_case_at(run, PASSED)->rtt_ns.present = false;)
BREAK(error_without_reason, make_case_at(run, PASSED)->status = CASE_ERROR;)
BREAK(reason_without_error, text_copy(make_case_at(run, PASSED)->error, 8, "because");)

/* sockets and the first burst */
BREAK(no_sockets, make_case_at(run, PASSED)->sockets.present = false;)
BREAK(capacity_high, make_case_at(run, FAILED)->sockets.burst_capacity += 2;)
BREAK(capacity_low, make_case_at(run, FAILED)->sockets.burst_capacity -= 1;)
BREAK(capacity_null, make_case_at(run, FAILED)->sockets.burst_capacity = NONE_INT;)
BREAK(charge_null, make_case_at(run, FAILED)->sockets.bytes_per_datagram = (double)NAN;)
BREAK(no_first_burst, make_case_at(run, PASSED)->first_burst.present = false;)
BREAK(burst_too_large, make_case_at(run, FAILED)->first_burst.sent = 1025;)
BREAK(burst_lost_too_many, make_case_at(run, FAILED)->first_burst.lost = 1025;)
BREAK(not_predicted, make_case_at(run, FAILED)->first_burst.predicted_lost = NONE_INT;)
BREAK(predicted_wrong, make_case_at(run, FAILED)->first_burst.predicted_lost = 521;)
BREAK(predicted_without_capacity, struct case_result *r = make_case_at(run, PASSED);
      r->sockets.bytes_per_datagram = (double)NAN; r->sockets.burst_capacity = NONE_INT;)

/* rtt */
BREAK(rtt_p90_of_9, make_case_at(run, PASSED)->rtt_ns.count = 9;
      make_case_at(run, PASSED)->rtt_ns.p99 = make_case_at(run, PASSED)->rtt_ns.p999 = NONE_INT;)
BREAK(rtt_p99_of_99, make_case_at(run, PASSED)->rtt_ns.count = 99;
      make_case_at(run, PASSED)->rtt_ns.p999 = NONE_INT;)
BREAK(rtt_p999_of_999, make_case_at(run, PASSED)->rtt_ns.count = 999;)
BREAK(rtt_p999_null, make_case_at(run, PASSED)->rtt_ns.p999 = NONE_INT;)
BREAK(rtt_p50_of_none, make_case_at(run, FAILED)->rtt_ns.count = 0;
      make_case_at(run, FAILED)->rtt_ns.min = NONE_INT;)
BREAK(rtt_p50_below_min, make_case_at(run, PASSED)->rtt_ns.p50 = 1;)
BREAK(rtt_p90_below_p50, make_case_at(run, PASSED)->rtt_ns.p90 -= 1;)
BREAK(rtt_p99_below_p90, make_case_at(run, PASSED)->rtt_ns.p99 = 9000;)
BREAK(rtt_p999_below_p99, make_case_at(run, PASSED)->rtt_ns.p999 -= 8;)
BREAK(rtt_max_below_p999, make_case_at(run, PASSED)->rtt_ns.max = 9000;)
BREAK(histogram_sum, (*(int64_t(*)[2])make_case_at(run, PASSED)->rtt_ns.histogram.items)[1]++;)
BREAK(histogram_order,
      ((int64_t(*)[2])make_case_at(run, PASSED)->rtt_ns.histogram.items)[1][0] = 5;)
BREAK(histogram_negative,
      ((int64_t(*)[2])make_case_at(run, PASSED)->rtt_ns.histogram.items)[0][1] = -1;)
BREAK(histogram_overflow,
      ((int64_t(*)[2])make_case_at(run, PASSED)->rtt_ns.histogram.items)[0][1] = INT64_MAX;)

#define RULE(NAME, PLACE)                                                                          \
    {                                                                                              \
#        NAME, NAME, PLACE                                                                         \
    }
#define MEASURE_1 "/cases/1/phases/measure"
#define MEASURE_3 "/cases/3/phases/measure"

static const struct rule rules[] = {
    RULE(schema, "/schema"),
    RULE(kind, "/kind"),
    RULE(id_version, "/id"),
    RULE(id_variant, "/id"),
    RULE(id_upper_case, "/id"),
    RULE(id_short, "/id"),
    RULE(source_short, "/tool/source_sha256"),
    RULE(source_upper_case, "/tool/source_sha256"),
    RULE(started_no_time, "/started"),
    RULE(finished_no_time, "/finished"),
    RULE(finished_first, "/finished"),
    RULE(negative_count, MEASURE_1 "/forward/duplicates"),
    RULE(host_role, "/hosts/0/role"),
    RULE(delta_wrong, "/hosts/0/counters/delta/udp.delivered"),
    RULE(delta_null, "/hosts/0/counters/delta/udp.delivered"),
    RULE(delta_of_backwards, "/hosts/0/counters/delta/ip.fragmented"),
    RULE(delta_of_reset, "/hosts/0/counters/delta/udp.delivered"),
    RULE(reset_unknown, "/hosts/0/counters/reset/0"),
    RULE(delta_of_unavailable, "/hosts/0/counters/delta/qdisc.dropped"),
    RULE(no_reason, "/hosts/0/counters/unavailable"),
    RULE(empty_reason, "/hosts/0/counters/unavailable/qdisc.dropped"),
    RULE(negative_before, "/hosts/0/counters/before/udp.sent"),
    RULE(negative_idle, "/hosts/0/counters/idle/delta/udp.sent"),
    RULE(case_missing, "/cases"),
    RULE(case_twice, "/cases/5"),
    RULE(case_twice_interrupted, "/cases/5"),
    RULE(index_too_large, "/cases/7/index"),
    RULE(index_order, "/cases/1/index"),
    RULE(other_payload, "/cases/2/payload"),
    RULE(other_window, "/cases/2/window"),
    RULE(other_repeat, "/cases/2/repeat"),
    RULE(other_engine, "/cases/2/engine"),
    RULE(other_clients, "/cases/2/clients"),
    RULE(other_family, "/cases/2/family"),
    RULE(other_io_model, "/cases/2/io_model"),
    RULE(other_io_threads, "/cases/2/io_threads"),
    RULE(other_work, "/cases/2/work_ns"),
    RULE(other_warmup, "/cases/2/warmup_s"),
    RULE(other_seconds, "/cases/2/seconds"),
    RULE(other_interval, "/cases/2/interval_ns"),
    RULE(other_rcvbuf, "/cases/2/rcvbuf"),
    RULE(other_sndbuf, "/cases/2/sndbuf"),
    RULE(error_case_of_other_window, "/cases/2/window"),
    RULE(engine_twice, "/plan"),
    RULE(payload_no_stamp, "/plan"),
    RULE(attempted, MEASURE_1 "/forward/attempted"),
    RULE(refused_unsaid, MEASURE_1 "/forward/attempted"),
    RULE(sent, MEASURE_1 "/reverse/sent"),
    RULE(lost_to, MEASURE_3 "/forward/lost"),
    RULE(lost_to_twice, MEASURE_3 "/forward/lost"),
    RULE(evidence_sender, MEASURE_3 "/forward/evidence"),
    RULE(evidence_receiver, MEASURE_3 "/forward/evidence"),
    RULE(warmup_leg, "/cases/3/phases/warmup/forward/sent"),
    RULE(attempted_overflow, MEASURE_1 "/forward/attempted"),
    RULE(sent_overflow, MEASURE_1 "/forward/sent"),
    RULE(lost_overflow, MEASURE_3 "/forward/lost"),
    RULE(lost_echoes, MEASURE_3 "/lost_echoes"),
    RULE(lost_echoes_reverse, MEASURE_3 "/lost_echoes"),
    RULE(lost_echoes_refused, MEASURE_3 "/lost_echoes"),
    RULE(echoes_from_nothing, MEASURE_3 "/reverse/attempted"),
    RULE(phase_counters, MEASURE_3 "/counters"),
    RULE(phase_counters_negative, MEASURE_3 "/counters/0/udp.delivered"),
    RULE(no_measure, MEASURE_1),
    RULE(no_warmup, "/cases/1/phases/warmup"),
    RULE(pass_with_loss, "/cases/3/status"),
    RULE(fail_without_cause, "/cases/1/status"),
    RULE(pass_with_refused, "/cases/1/status"),
    RULE(pass_with_corrupt, "/cases/1/status"),
    RULE(pass_with_late, "/cases/1/status"),
    RULE(fail_with_rate, MEASURE_3 "/echoes_per_second"),
    RULE(pass_without_rate, MEASURE_1 "/echoes_per_second"),
    RULE(pass_with_no_rate, MEASURE_1 "/echoes_per_second"),
    RULE(pass_without_rtt, "/cases/1/rtt_ns"),
    RULE(error_without_reason, "/cases/1/error"),
    RULE(reason_without_error, "/cases/1/error"),
    RULE(no_sockets, "/cases/1/sockets"),
    RULE(capacity_high, "/cases/3/sockets/burst_capacity"),
    RULE(capacity_low, "/cases/3/sockets/burst_capacity"),
    RULE(capacity_null, "/cases/3/sockets/burst_capacity"),
    RULE(charge_null, "/cases/3/sockets/burst_capacity"),
    RULE(no_first_burst, "/cases/1/first_burst"),
    RULE(burst_too_large, "/cases/3/first_burst/sent"),
    RULE(burst_lost_too_many, "/cases/3/first_burst/lost"),
    RULE(not_predicted, "/cases/3/first_burst/predicted_lost"),
    RULE(predicted_wrong, "/cases/3/first_burst/predicted_lost"),
    RULE(predicted_without_capacity, "/cases/1/first_burst/predicted_lost"),
    RULE(rtt_p90_of_9, "/cases/1/rtt_ns/p90"),
    RULE(rtt_p99_of_99, "/cases/1/rtt_ns/p99"),
    RULE(rtt_p999_of_999, "/cases/1/rtt_ns/p999"),
    RULE(rtt_p999_null, "/cases/1/rtt_ns/p999"),
    RULE(rtt_p50_of_none, "/cases/3/rtt_ns/p50"),
    RULE(rtt_p50_below_min, "/cases/1/rtt_ns/p50"),
    RULE(rtt_p90_below_p50, "/cases/1/rtt_ns/p90"),
    RULE(rtt_p99_below_p90, "/cases/1/rtt_ns/p99"),
    RULE(rtt_p999_below_p99, "/cases/1/rtt_ns/p999"),
    RULE(rtt_max_below_p999, "/cases/1/rtt_ns/max"),
    RULE(histogram_sum, "/cases/1/rtt_ns/histogram"),
    RULE(histogram_order, "/cases/1/rtt_ns/histogram/1"),
    RULE(histogram_negative, "/cases/1/rtt_ns/histogram/0"),
    RULE(histogram_overflow, "/cases/1/rtt_ns/histogram"),
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

static void a_broken_rule_is_found_at_its_place(void **state)
{
    const struct rule *rule = *state;
    struct make_shape shape = make_shape_small();
    struct run run;
    struct fault fault = { "" };
    size_t length = strlen(rule->place);

    make_run(&shape, &run);
    assert_int_equal(validate_run(&run, NULL), STATUS_OK);
    rule->break_it(&run);
    assert_int_not_equal(validate_run(&run, &fault), STATUS_OK);
    if (strncmp(fault.text, rule->place, length) != 0 || fault.text[length] != ':')
        fail_msg("%s: expected %s, got \"%s\"", rule->name, rule->place, fault.text);
    assert_null(strchr(fault.text, '\n'));
    run_done(&run);
}

static void expect_valid(const struct make_shape *shape, void (*change)(struct run *run))
{
    struct run run;
    struct fault fault = { "" };

    make_run(shape, &run);
    if (change != NULL)
        change(&run);
    if (validate_run(&run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    run_done(&run);
}

static void the_seed_matrix_is_valid(void **state)
{
    struct make_shape shape = make_shape_seed();

    (void)state;
    expect_valid(&shape, NULL);
    shape.engines[1] = ENGINE_SINGLE;
    shape.engine_count = 2;
    shape.os = "macOS";
    shape.warmup_s = 0;
    expect_valid(&shape, NULL);
    shape.io_model = IO_MODEL_SPLIT;
    expect_valid(&shape, NULL);
}

static void interrupt(struct run *run)
{
    make_interrupted(run, 5);
}

static void interrupt_at_once(struct run *run)
{
    make_interrupted(run, 0);
}

static void fail_cases(struct run *run)
{
    make_case_error(run, 0, "the echo role did not start");
    make_case_error(run, 7, "a leg did not add up");
    make_case_at(run, 7)->first_burst.present = true;
    make_case_at(run, 7)->first_burst.lost = 5;
}

static void reset_counter(struct run *run)
{
    counters(run)->after.value[UDP_SENT] = 0;
    counters(run)->delta.value[UDP_SENT] = NONE_INT;
    *(char **)list_append_sized(&counters(run)->reset, sizeof(char *)) = strdup("udp.sent");
}

static void wrap_counter(struct run *run)
{
    counters(run)->before.value[UDP_SENT] = INT64_C(4294967290);
    counters(run)->after.value[UDP_SENT] = 5;
    counters(run)->delta.value[UDP_SENT] = 11;
}

static void huge_counts(struct run *run)
{
    struct leg *leg = &measure(run, PASSED)->forward;

    leg->attempted = leg->sent = leg->received = INT64_MAX;
    leg->duplicates = INT64_MAX;
}

static void refuse_in_failed_case(struct run *run)
{
    struct phase *phase = measure(run, PASSED);

    phase->forward.attempted++;
    phase->forward.refused.emsgsize++;
    phase->echoes_per_second = (double)NAN;
    make_case_at(run, PASSED)->status = CASE_FAIL;
}

static void one_more_fits(struct run *run)
{
    make_case_at(run, FAILED)->sockets.burst_capacity++;
    make_case_at(run, FAILED)->first_burst.predicted_lost--;
}

static void few_samples(struct run *run)
{
    struct rtt *rtt = &make_case_at(run, PASSED)->rtt_ns;

    rtt->count = 1;
    rtt->p90 = rtt->p99 = rtt->p999 = NONE_INT;
    rtt->histogram.count = 1;
    ((int64_t(*)[2])rtt->histogram.items)[0][1] = 1;
}

static void what_is_allowed_is_not_refused(void **state)
{
    void (*const changes[])(struct run *) = { interrupt,     interrupt_at_once,     fail_cases,
                                              reset_counter, wrap_counter,          huge_counts,
                                              one_more_fits, refuse_in_failed_case, few_samples };
    struct make_shape shape = make_shape_small();

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        expect_valid(&shape, changes[i]);
}

static void split_and_open_loops_predict_nothing(void **state)
{
    struct make_shape shape = make_shape_small();
    struct run run;
    struct fault fault;

    (void)state;
    shape.io_model = IO_MODEL_SPLIT;
    make_run(&shape, &run);
    make_case_at(&run, FAILED)->first_burst.predicted_lost = 520;
    assert_int_equal(validate_run(&run, &fault), STATUS_CORRUPT);
    assert_non_null(strstr(fault.text, "/cases/3/first_burst/predicted_lost: must be null"));
    run_done(&run);
}

static void a_leg_alone_names_the_pointer_it_was_given(void **state)
{
    struct leg leg = { .attempted = 3, .sent = 3, .received = 2, .lost = 1 };
    struct fault fault;

    (void)state;
    leg.lost_to.network = 1;
    assert_int_equal(validate_leg(&leg, "/here", &fault), STATUS_OK);
    leg.lost_to.network = 2;
    assert_int_equal(validate_leg(&leg, "/here", &fault), STATUS_CORRUPT);
    assert_string_equal(fault.text, "/here/lost: 1, but lost_to adds up to 2");
}

int main(void)
{
    struct CMUnitTest tests[RULE_COUNT + 4] = {
        cmocka_unit_test(the_seed_matrix_is_valid),
        cmocka_unit_test(what_is_allowed_is_not_refused),
        cmocka_unit_test(split_and_open_loops_predict_nothing),
        cmocka_unit_test(a_leg_alone_names_the_pointer_it_was_given),
    };

    for (size_t i = 0; i < RULE_COUNT; i++) {
        static struct rule copies[RULE_COUNT];

        copies[i] = rules[i];
        tests[4 + i] = (struct CMUnitTest){ .name = rules[i].name,
                                            .test_func = a_broken_rule_is_found_at_its_place,
                                            .initial_state = &copies[i] };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
