/* case: a plan unfolds to every cell once, in the order that its header promises. */
#include "proto/wire/case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void add(struct list *list, int64_t value)
{
    *(int64_t *)list_append_sized(list, sizeof value) = value;
}

static void add_engine(struct plan *plan, enum engine_kind engine)
{
    *(int *)list_append_sized(&plan->engines, sizeof(int)) = (int)engine;
}

/* A plan without payloads, windows and engines that passes record_check. */
static void start(struct plan *out_plan, enum family family)
{
    record_init(&plan_record, out_plan);
    out_plan->repeats = 1;
    out_plan->common = (struct case_common){ .family = family,
                                             .clients = 1,
                                             .io_threads = 1,
                                             .seconds = 1,
                                             .rcvbuf = 1 << 20,
                                             .sndbuf = 1 << 20 };
}

static void start_full(struct plan *out_plan)
{
    start(out_plan, FAMILY_IPV4);
    add(&out_plan->payloads, 44);
    add(&out_plan->windows, 1);
    add_engine(out_plan, ENGINE_SINGLE);
}

/* Frees the plan. */
static void refuses(struct plan *plan, const char *expected)
{
    struct fault fault = { "" };

    assert_int_equal(plan_check(plan, &fault), STATUS_RANGE);
    assert_string_equal(fault.text, expected);
    record_done(&plan_record, plan);
}

static void passes(struct plan *plan)
{
    struct fault fault = { "" };

    assert_int_equal(plan_check(plan, &fault), STATUS_OK);
    assert_int_equal(record_check(&plan_record, plan, &fault), STATUS_OK);
    assert_string_equal(fault.text, "");
    record_done(&plan_record, plan);
}

static void unfolds_in_the_promised_order(void **state)
{
    struct plan plan;
    size_t index = 0;

    (void)state;
    start(&plan, FAMILY_IPV6);
    plan.repeats = 3;
    add(&plan.payloads, 8192);
    add(&plan.payloads, 44);
    add(&plan.windows, 64);
    add(&plan.windows, 1);
    add(&plan.windows, 16);
    add_engine(&plan, ENGINE_BATCH);
    add_engine(&plan, ENGINE_SINGLE);
    assert_int_equal(plan_case_count(&plan), 36);
    for (int engine = 0; engine < 2; engine++) {
        for (int64_t repeat = 1; repeat <= 3; repeat++) {
            for (size_t payload = 0; payload < 2; payload++) {
                for (size_t window = 0; window < 3; window++) {
                    struct case_params params = plan_case(&plan, index++);

                    assert_int_equal(params.engine, engine == 0 ? ENGINE_BATCH : ENGINE_SINGLE);
                    assert_int_equal(params.repeat, repeat);
                    assert_int_equal(params.payload, payload == 0 ? 8192 : 44);
                    assert_int_equal(params.window, window == 0 ? 64 : window == 1 ? 1 : 16);
                    assert_int_equal(params.common.family, FAMILY_IPV6);
                    assert_int_equal(params.common.rcvbuf, 1 << 20);
                }
            }
        }
    }
    record_done(&plan_record, &plan);
}

static unsigned next_random(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Payloads and windows are their own position here, so that a case says which cell it is. */
static void mark_every_cell(const struct plan *plan)
{
    size_t count = plan_case_count(plan);
    size_t windows = plan->windows.count, payloads = plan->payloads.count;
    unsigned char *seen = calloc(count, 1);

    assert_non_null(seen);
    for (size_t i = 0; i < count; i++) {
        struct case_params params = plan_case(plan, i);
        size_t cell = (size_t)(params.payload - 1000) +
                      payloads * ((size_t)(params.window - 1) +
                                  windows * ((size_t)(params.repeat - 1) +
                                             (size_t)plan->repeats * (size_t)params.engine));

        assert_true(cell < count);
        assert_int_equal(seen[cell], 0);
        seen[cell] = 1;
    }
    free(seen);
}

static void every_cell_is_there_exactly_once(void **state)
{
    const char *given = getenv("SONDE_TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);

    (void)state;
    print_message("SONDE_TEST_SEED=%u\n", seed);
    for (int round = 0; round < 200; round++) {
        struct plan plan;
        unsigned payloads = next_random(&seed, 12) + 1, windows = next_random(&seed, 12) + 1;

        start(&plan, FAMILY_IPV4);
        plan.repeats = next_random(&seed, 7) + 1;
        for (unsigned i = 0; i < payloads; i++)
            add(&plan.payloads, 1000 + i);
        for (unsigned i = 0; i < windows; i++)
            add(&plan.windows, 1 + i);
        for (unsigned i = next_random(&seed, ENGINE_COUNT); i < ENGINE_COUNT; i++)
            add_engine(&plan, (enum engine_kind)(ENGINE_COUNT - 1 - i));
        assert_int_equal(plan_case_count(&plan),
                         payloads * windows * (size_t)plan.repeats * plan.engines.count);
        mark_every_cell(&plan);
        passes(&plan);
    }
}

static void refuses_payloads_that_are_no_stamp(void **state)
{
    static const int64_t sizes[] = { INT64_MIN, -1, 0, 43, 45, 46, 47, 65508, 65527, INT64_MAX };
    char expected[160];
    struct plan plan;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        start_full(&plan);
        add(&plan.payloads, sizes[i]);
        snprintf(expected, sizeof expected,
                 "payload: %lld is not allowed: 44 (a bare STAMP datagram), or 48 to 65507 (ipv4)",
                 (long long)sizes[i]);
        refuses(&plan, expected);
    }
    start_full(&plan);
    plan.common.family = FAMILY_IPV6;
    add(&plan.payloads, 65528);
    refuses(&plan, "payload: 65528 is not allowed: 44 (a bare STAMP datagram), or 48 to 65527 "
                   "(ipv6)");
}

static void passes_the_ends_of_each_family(void **state)
{
    struct plan plan;

    (void)state;
    start_full(&plan);
    add(&plan.payloads, 48);
    add(&plan.payloads, 65507);
    passes(&plan);
    start_full(&plan);
    plan.common.family = FAMILY_IPV6;
    add(&plan.payloads, 65508);
    add(&plan.payloads, 65527);
    passes(&plan);
}

static void refuses_what_is_there_twice(void **state)
{
    struct plan plan;

    (void)state;
    start_full(&plan);
    add(&plan.payloads, 1472);
    add(&plan.payloads, 44);
    refuses(&plan, "payload: 44 is there twice");
    start_full(&plan);
    add(&plan.windows, 16);
    add(&plan.windows, 16);
    refuses(&plan, "window: 16 is there twice");
    start_full(&plan);
    add_engine(&plan, ENGINE_BATCH);
    add_engine(&plan, ENGINE_BATCH);
    refuses(&plan, "engine: batch is there twice");
}

static void refuses_empty_lists(void **state)
{
    struct plan plan;

    (void)state;
    start(&plan, FAMILY_IPV4);
    refuses(&plan, "payload: at least one is needed");
    start(&plan, FAMILY_IPV4);
    add(&plan.payloads, 44);
    refuses(&plan, "window: at least one is needed");
    start(&plan, FAMILY_IPV4);
    add(&plan.payloads, 44);
    add(&plan.windows, 1);
    refuses(&plan, "engine: at least one is needed");
}

static void refuses_more_outstanding_than_is_sane(void **state)
{
    struct plan plan;

    (void)state;
    start_full(&plan);
    plan.common.clients = 64;
    add(&plan.windows, 65536);
    passes(&plan);
    start_full(&plan);
    plan.common.clients = 65;
    add(&plan.windows, 65536);
    refuses(&plan, "window: 65536 x 65 clients are not allowed: at most 4194304 datagrams may be "
                   "outstanding");
}

static void refuses_too_many_cases(void **state)
{
    struct plan plan;

    (void)state;
    start_full(&plan);
    for (int i = 2; i <= 100; i++) {
        add(&plan.payloads, 1000 + i);
        add(&plan.windows, i);
    }
    plan.repeats = 1;
    assert_int_equal(plan_case_count(&plan), LIMIT_CASES);
    assert_int_equal(plan_check(&plan, NULL), STATUS_OK);
    plan.repeats = 2;
    refuses(&plan, "20000 cases are too many: at most 10000 are allowed");
}

static void a_case_takes_its_phases_and_drains(void **state)
{
    struct case_params params = { .common = { .warmup_s = 0.25, .seconds = 1 } };

    (void)state;
    assert_true(case_seconds(&params, 0.25) == 1.75);
    params.common.warmup_s = 0;
    assert_true(case_seconds(&params, 0.25) == 1.25);
}

static void names_fit_their_enums(void **state)
{
    (void)state;
    assert_string_equal(io_model_names[IO_MODEL_SHARED], "shared");
    assert_string_equal(io_model_names[IO_MODEL_SPLIT], "split");
    assert_string_equal(engine_names[ENGINE_SINGLE], "single");
    assert_string_equal(engine_names[ENGINE_BATCH], "batch");
    assert_string_equal(engine_names[ENGINE_URING], "uring");
    assert_string_equal(family_names[FAMILY_IPV4], family_name(FAMILY_IPV4));
    assert_string_equal(family_names[FAMILY_IPV6], family_name(FAMILY_IPV6));
}

static void two_cases_are_equal_in_every_parameter_or_not(void **state)
{
    struct plan plan;
    struct case_params a, b;

    (void)state;
    start_full(&plan);
    a = b = plan_case(&plan, 0);
    assert_true(case_params_equal(&a, &b));
    /* Each field in turn, by the table, so that none is forgotten. */
    for (size_t i = 0; i < case_common_record.count; i++) {
        const struct field *field = &case_common_record.fields[i];
        char *at = (char *)&b.common + field->offset;

        b = a;
        if (field->type == FIELD_ENUM)
            *(int *)(void *)at += 1;
        else if (field->type == FIELD_REAL)
            *(double *)(void *)at += 0.5;
        else
            *(int64_t *)(void *)at += 1;
        if (case_params_equal(&a, &b))
            fail_msg("%s makes no difference", field->name);
    }
    b = a;
    b.payload++;
    assert_false(case_params_equal(&a, &b));
    b = a;
    b.window++;
    assert_false(case_params_equal(&a, &b));
    b = a;
    b.repeat++;
    assert_false(case_params_equal(&a, &b));
    b = a;
    b.engine = ENGINE_BATCH;
    assert_false(case_params_equal(&a, &b));
    record_done(&plan_record, &plan);
}

static void a_copied_plan_is_its_own(void **state)
{
    struct plan plan, copy;

    (void)state;
    start_full(&plan);
    add(&plan.windows, 5);
    plan_copy(&plan, &copy);
    record_done(&plan_record, &plan);
    assert_int_equal(2, plan_case_count(&copy));
    assert_int_equal(5, plan_case(&copy, 1).window);
    passes(&copy);
    record_done(&plan_record, &copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unfolds_in_the_promised_order),
        cmocka_unit_test(every_cell_is_there_exactly_once),
        cmocka_unit_test(refuses_payloads_that_are_no_stamp),
        cmocka_unit_test(passes_the_ends_of_each_family),
        cmocka_unit_test(refuses_what_is_there_twice),
        cmocka_unit_test(refuses_empty_lists),
        cmocka_unit_test(refuses_more_outstanding_than_is_sane),
        cmocka_unit_test(refuses_too_many_cases),
        cmocka_unit_test(a_case_takes_its_phases_and_drains),
        cmocka_unit_test(names_fit_their_enums),
        cmocka_unit_test(two_cases_are_equal_in_every_parameter_or_not),
        cmocka_unit_test(a_copied_plan_is_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
