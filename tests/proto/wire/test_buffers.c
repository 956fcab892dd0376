/* A plan of buffer experiments unfolds in its order and says what it lacks; their records hold what
 * an experiment has, and nothing of the others. */
#include "proto/wire/buffers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "proto/wire/record_json.h"

static void add(struct list *list, int64_t value)
{
    *(int64_t *)list_append_sized(list, sizeof value) = value;
}

static void add_experiment(struct buffers_plan *plan, enum experiment experiment)
{
    *(int *)list_append_sized(&plan->experiments, sizeof(int)) = (int)experiment;
}

/* Every experiment, and every list with numbers of its own. */
static void fill(struct buffers_plan *plan)
{
    record_init(&buffers_plan_record, plan);
    for (int i = 0; i < EXPERIMENT_COUNT; i++)
        add_experiment(plan, (enum experiment)i);
    add(&plan->asked, 4096);
    add(&plan->asked, 65536);
    add(&plan->payloads, 100);
    add(&plan->payloads, 8000);
    add(&plan->sweep_rcvbufs, 0);
    add(&plan->sweep_rcvbufs, 262144);
    add(&plan->sweep_rcvbufs, 65536);
    add(&plan->read_ns, 300000);
    add(&plan->read_ns, 50000);
    add(&plan->intervals_ns, 0);
    add(&plan->intervals_ns, 100000);
    add(&plan->slow_rcvbufs, 0);
    add(&plan->slow_rcvbufs, 8388608);
    add(&plan->slow_rcvbufs, 1048576);
    plan->hold_rcvbuf = 1 << 20;
    plan->sends = plan->slow_sends = plan->closed_port_sends = 100;
    plan->sweep_payload = 1000;
    plan->slow_payload = 200;
    plan->idle_s = 3;
}

static void passes(const struct buffers_plan *plan)
{
    struct fault fault = { "" };

    assert_int_equal(record_check(&buffers_plan_record, plan, &fault), STATUS_OK);
    assert_int_equal(buffers_plan_check(plan, &fault), STATUS_OK);
    assert_string_equal(fault.text, "");
}

/* Frees the plan, too. */
static void fails(struct buffers_plan *plan, const char *expected)
{
    struct fault fault = { "" };

    assert_int_equal(buffers_plan_check(plan, &fault), STATUS_RANGE);
    assert_string_equal(fault.text, expected);
    assert_int_equal(buffers_plan_check(plan, NULL), STATUS_RANGE);
    record_done(&buffers_plan_record, plan);
}

static void a_plan_that_has_all_passes(void **state)
{
    struct buffers_plan plan;

    (void)state;
    fill(&plan);
    passes(&plan);
    plan.experiments.count = 1; /* the ladder alone: no other list is needed */
    plan.payloads.count = plan.sweep_rcvbufs.count = plan.read_ns.count = 0;
    passes(&plan);
    record_done(&buffers_plan_record, &plan);
}

static void an_experiment_needs_its_lists(void **state)
{
    static const struct {
        size_t offset;
        const char *expected;
    } lists[] = {
        { offsetof(struct buffers_plan, experiments), "experiment: at least one is needed" },
        { offsetof(struct buffers_plan, asked), "asked: at least one is needed" },
        { offsetof(struct buffers_plan, payloads), "payload: at least one is needed" },
        { offsetof(struct buffers_plan, sweep_rcvbufs), "sweep-rcvbuf: at least one is needed" },
        { offsetof(struct buffers_plan, read_ns), "read-ns: at least one is needed" },
        { offsetof(struct buffers_plan, intervals_ns), "interval: at least one is needed" },
        { offsetof(struct buffers_plan, slow_rcvbufs), "slow-rcvbuf: at least one is needed" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct buffers_plan plan;

        fill(&plan);
        ((struct list *)((char *)&plan + lists[i].offset))->count = 0;
        fails(&plan, lists[i].expected);
    }
}

static void nothing_is_there_twice(void **state)
{
    struct buffers_plan plan;

    (void)state;
    fill(&plan);
    add(&plan.payloads, 100);
    fails(&plan, "payload: 100 is there twice");
    fill(&plan);
    add(&plan.slow_rcvbufs, 0);
    fails(&plan, "slow-rcvbuf: 0 is there twice");
    fill(&plan);
    ((int *)plan.experiments.items)[4] = EXPERIMENT_HOLD;
    fails(&plan, "experiment: hold is there twice");
}

static void payloads_fit_the_family(void **state)
{
    struct buffers_plan plan;

    (void)state;
    fill(&plan);
    add(&plan.payloads, 65507);
    plan.sweep_payload = plan.slow_payload = 65507;
    passes(&plan);
    plan.sweep_payload = 65508;
    fails(&plan, "sweep-payload: 65508 is not allowed: an integer from 0 to 65507 (ipv4)");
    fill(&plan);
    plan.slow_payload = 65508;
    fails(&plan, "slow-payload: 65508 is not allowed: an integer from 0 to 65507 (ipv4)");
    fill(&plan);
    add(&plan.payloads, 65527);
    plan.family = FAMILY_IPV6;
    passes(&plan);
    plan.family = FAMILY_IPV4;
    fails(&plan, "payload: 65527 is not allowed: an integer from 0 to 65507 (ipv4)");
}

static void more_cases_than_a_run_may_have_are_too_many(void **state)
{
    struct buffers_plan plan;

    (void)state;
    fill(&plan);
    for (int64_t i = 0; i < 100; i++)
        add(&plan.read_ns, 1000000 + i);
    for (int64_t i = 0; i < 100; i++)
        add(&plan.intervals_ns, 1000000 + i);
    assert_int_equal(buffers_plan_case_count(&plan), 6 + 2 + 3 + 102 * 102 * 3 + 2);
    fails(&plan, "31225 cases are too many: at most 10000 are allowed");
}

/* --- unfolding ------------------------------------------------------------------------------- */

static void is_ladder(const struct experiment_result *result, enum buffer_side buffer,
                      int64_t asked)
{
    assert_int_equal(result->experiment, EXPERIMENT_LADDER);
    assert_int_equal(result->ladder.buffer, buffer);
    assert_true(result->ladder.asked == asked);
    assert_true(result->ladder.granted == NONE_INT);
}

static void is_hold(const struct experiment_result *result, enum experiment experiment,
                    int64_t payload, int64_t rcvbuf)
{
    assert_int_equal(result->experiment, experiment);
    assert_int_equal(result->hold.payload, payload);
    assert_int_equal(result->hold.rcvbuf.asked, rcvbuf);
    assert_int_equal(result->hold.held, 0);
    assert_true(result->hold.dropped.socket == NONE_INT && isnan(result->hold.bytes_per_datagram));
}

static void is_slow_reader(const struct experiment_result *result, int64_t read_ns,
                           int64_t interval_ns, int64_t rcvbuf)
{
    assert_int_equal(result->experiment, EXPERIMENT_SLOW_READER);
    assert_int_equal(result->slow_reader.payload, 200);
    assert_int_equal(result->slow_reader.read_ns, read_ns);
    assert_int_equal(result->slow_reader.interval_ns, interval_ns);
    assert_int_equal(result->slow_reader.rcvbuf.asked, rcvbuf);
}

static void it_unfolds_in_its_order(void **state)
{
    struct buffers_plan plan;
    struct experiment_result c[25];

    (void)state;
    fill(&plan);
    assert_int_equal(buffers_plan_case_count(&plan), 25);
    for (size_t i = 0; i < 25; i++) {
        buffers_plan_case(&plan, i, &c[i]);
        assert_int_equal(c[i].index, i);
        assert_string_equal(c[i].error, "");
    }
    is_ladder(&c[0], BUFFER_RCVBUF, NONE_INT);
    is_ladder(&c[1], BUFFER_RCVBUF, 4096);
    is_ladder(&c[2], BUFFER_RCVBUF, 65536);
    is_ladder(&c[3], BUFFER_SNDBUF, NONE_INT);
    is_ladder(&c[5], BUFFER_SNDBUF, 65536);
    is_hold(&c[6], EXPERIMENT_HOLD, 100, 1 << 20);
    is_hold(&c[7], EXPERIMENT_HOLD, 8000, 1 << 20);
    is_hold(&c[8], EXPERIMENT_SWEEP, 1000, 0);
    is_hold(&c[10], EXPERIMENT_SWEEP, 1000, 65536);
    is_slow_reader(&c[11], 300000, 0, 0);
    is_slow_reader(&c[12], 300000, 0, 8388608);
    is_slow_reader(&c[14], 300000, 100000, 0);
    is_slow_reader(&c[17], 50000, 0, 0);
    is_slow_reader(&c[22], 50000, 100000, 1048576);
    assert_int_equal(c[23].experiment, EXPERIMENT_CLOSED_PORT);
    assert_int_equal(c[24].experiment, EXPERIMENT_IDLE);
    for (size_t i = 0; i < 25; i++)
        record_done(&experiment_result_record, &c[i]);
    record_done(&buffers_plan_record, &plan);
}

static void the_order_is_that_of_the_plan_s_experiments(void **state)
{
    struct buffers_plan plan;
    struct experiment_result result;

    (void)state;
    fill(&plan);
    plan.experiments.count = 0;
    add_experiment(&plan, EXPERIMENT_IDLE);
    add_experiment(&plan, EXPERIMENT_HOLD);
    assert_int_equal(buffers_plan_case_count(&plan), 3);
    buffers_plan_case(&plan, 0, &result);
    assert_int_equal(result.experiment, EXPERIMENT_IDLE);
    buffers_plan_case(&plan, 2, &result);
    is_hold(&result, EXPERIMENT_HOLD, 8000, 1 << 20);
    record_done(&buffers_plan_record, &plan);
}

/* --- records --------------------------------------------------------------------------------- */

static const char *const keys[EXPERIMENT_COUNT] = {
    "\"buffer\":\"rcvbuf\",\"asked\":null,\"granted\":null,\"limit\":null}",
    "\"payload\":0,\"rcvbuf\":{\"asked\":0,\"granted\":0,\"limit\":null},\"sent\":0,\"refused\":{"
    "\"EAGAIN\":0,\"ENOBUFS\":0,\"EMSGSIZE\":0,\"EPERM\":0,\"ECONNREFUSED\":0,\"other\":0},"
    "\"held\":0,\"queued_bytes\":null,\"bytes_per_datagram\":null,\"dropped\":{\"socket\":null,"
    "\"system\":null},\"predicted_held\":null}",
    "\"payload\":0,\"rcvbuf\":{\"asked\":0,\"granted\":0,\"limit\":null},\"sent\":0,\"refused\":{"
    "\"EAGAIN\":0,\"ENOBUFS\":0,\"EMSGSIZE\":0,\"EPERM\":0,\"ECONNREFUSED\":0,\"other\":0},"
    "\"held\":0,\"queued_bytes\":null,\"bytes_per_datagram\":null,\"dropped\":{\"socket\":null,"
    "\"system\":null},\"predicted_held\":null}",
    "\"payload\":0,\"rcvbuf\":{\"asked\":0,\"granted\":0,\"limit\":null},\"read_ns\":0,"
    "\"interval_ns\":0,\"achieved_interval_ns\":null,\"achieved_read_ns\":null,\"sending_s\":null,"
    "\"sent\":0,\"refused\":{\"EAGAIN\":0,\"ENOBUFS\":0,\"EMSGSIZE\":0,\"EPERM\":0,"
    "\"ECONNREFUSED\":0,\"other\":0},\"processed\":0,\"lost\":0,\"loss_ratio\":null,"
    "\"model_loss_ratio\":null,\"dropped\":{\"socket\":null,\"system\":null},\"first_drop_s\":null,"
    "\"queue\":[[0,0],[0.5,2304]],\"drops\":[]}",
    "\"sent\":0,\"refused\":{\"EAGAIN\":0,\"ENOBUFS\":0,\"EMSGSIZE\":0,\"EPERM\":0,"
    "\"ECONNREFUSED\":0,\"other\":0},\"no_socket\":{\"system\":null},\"receive_buffer\":{"
    "\"system\":null}}",
    NULL /* has all counters */
};

/* What docs/archive.md promises, as it stands in the text. */
static void a_case_has_the_keys_of_its_experiment(void **state)
{
    (void)state;
    for (int i = 0; i < EXPERIMENT_COUNT; i++) {
        struct experiment_result result;
        struct buf text;
        double(*point)[2];

        record_init(&experiment_result_record, &result);
        result.experiment = (enum experiment)i;
        (void)list_append_sized(&result.slow_reader.queue, sizeof *point);
        point = list_append_sized(&result.slow_reader.queue, sizeof *point);
        (*point)[0] = 0.5;
        (*point)[1] = 2304;
        buf_init(&text, 1 << 16);
        assert_int_equal(record_to_json(&experiment_result_record, &result, &text), STATUS_OK);
        assert_memory_equal(text.data, "{\"index\":0,\"experiment\":\"", 25);
        assert_memory_equal(text.data + 25, experiment_names[i], strlen(experiment_names[i]));
        if (keys[i] != NULL)
            assert_string_equal(strstr(text.data, "\"error\":null,") + 13, keys[i]);
        else
            assert_non_null(strstr(text.data, "\"seconds\":0,\"delta\":{\"udp.delivered\":null,"));
        buf_done(&text);
        record_done(&experiment_result_record, &result);
    }
}

static void owners_go_out_and_come_back(void **state)
{
    struct experiment_result result, back;
    struct drop_owner *owner;
    struct buf text;

    (void)state;
    record_init(&experiment_result_record, &result);
    result.experiment = EXPERIMENT_IDLE;
    owner = list_append_sized(&result.idle.owners, sizeof *owner);
    *owner = (struct drop_owner){ .port = 5353, .drops = 7, .inode = 81234 };
    owner = list_append_sized(&result.idle.owners, sizeof *owner);
    *owner = (struct drop_owner){ .port = 443, .drops = 1, .inode = 9 };
    (void)text_copy(owner->process, sizeof owner->process, "quic (12)");
    buf_init(&text, 1 << 16);
    assert_int_equal(record_to_json(&experiment_result_record, &result, &text), STATUS_OK);
    assert_non_null(strstr(
        text.data, "\"owners\":[{\"port\":5353,\"drops\":7,\"inode\":81234,\"process\":null},"
                   "{\"port\":443,\"drops\":1,\"inode\":9,\"process\":\"quic (12)\"}]}"));
    assert_int_equal(
        record_from_json(&experiment_result_record, text.data, text.length, &back, NULL),
        STATUS_OK);
    assert_int_equal(back.idle.owners.count, 2);
    assert_string_equal(((struct drop_owner *)back.idle.owners.items)[1].process, "quic (12)");
    buf_done(&text);
    record_done(&experiment_result_record, &result);
    record_done(&experiment_result_record, &back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_has_all_passes),
        cmocka_unit_test(an_experiment_needs_its_lists),
        cmocka_unit_test(nothing_is_there_twice),
        cmocka_unit_test(payloads_fit_the_family),
        cmocka_unit_test(more_cases_than_a_run_may_have_are_too_many),
        cmocka_unit_test(it_unfolds_in_its_order),
        cmocka_unit_test(the_order_is_that_of_the_plan_s_experiments),
        cmocka_unit_test(a_case_has_the_keys_of_its_experiment),
        cmocka_unit_test(owners_go_out_and_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
