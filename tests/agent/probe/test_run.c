/* A run must measure its plan in order, keep what it has when it is cut short, and say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/probe/engine.h"
#include "agent/probe/run.h"
#include "tests/agent/probe/account.h"

struct owner {
    size_t begun, ended, idles, ticks;
    size_t finish_at, stop_at; /* ends of cases; 0: never */
    bool finish_when_idle;
    atomic_bool finish, stop;
};

static void on_begin(void *context, size_t index, const struct case_params *params)
{
    struct owner *owner = context;

    if (index == SIZE_MAX) {
        assert_null(params);
        owner->idles++;
        if (owner->finish_when_idle)
            atomic_store(&owner->finish, true);
        return;
    }
    assert_int_equal(index, owner->begun);
    assert_non_null(params);
    owner->begun++;
    if (owner->begun == owner->stop_at)
        atomic_store(&owner->stop, true);
}

static void on_tick(void *context)
{
    ((struct owner *)context)->ticks++;
}

static void on_end(void *context, const struct case_result *result)
{
    struct owner *owner = context;

    assert_int_equal(result->index, owner->ended);
    owner->ended++;
    if (owner->ended == owner->finish_at)
        atomic_store(&owner->finish, true);
}

/* 2 payloads, 1 window, 2 repeats of the default plan, but short. */
static struct plan short_plan(void)
{
    struct plan plan;

    run_default_plan(&plan);
    plan.payloads.count = 2;
    plan.windows.count = 1;
    plan.repeats = 2;
    plan.idle_s = 0.15;
    plan.common.clients = 2;
    plan.common.warmup_s = 0.01;
    plan.common.seconds = 0.02;
    return plan;
}

static void measure(struct owner *owner, struct run *out_run)
{
    const struct run_watch watch = { .context = owner,
                                     .begin = on_begin,
                                     .tick = on_tick,
                                     .end = on_end,
                                     .finish = &owner->finish,
                                     .stop = &owner->stop };
    struct plan plan = short_plan();
    struct fault fault = { "" };

    if (run_loopback(&plan, &watch, out_run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    record_done(&plan_record, &plan);
    for (size_t i = 0; i < out_run->cases.count; i++) {
        const struct case_result *result = (const struct case_result *)out_run->cases.items + i;

        assert_int_equal(result->index, i);
        assert_case_adds_up(result);
    }
}

static void measures_the_whole_plan(void **state)
{
    struct owner owner = { 0 };
    struct run run;
    const struct host *host;

    (void)state;
    measure(&owner, &run);
    assert_string_equal(run.schema, RUN_SCHEMA);
    assert_int_equal(run.kind, RUN_LOOPBACK);
    assert_int_equal(run.cases.count, 4);
    assert_false(run.interrupted);
    assert_true(owner.begun == 4 && owner.ended == 4 && owner.idles == 1 && owner.ticks > 0);
    assert_int_equal(run.plan.payloads.count, 2);
    assert_int_equal(run.hosts.count, 1);
    host = run.hosts.items;
    assert_int_equal(host->role, HOST_LOCAL);
    assert_true(host->limits_unchanged);
    assert_true(host->counters.idle.seconds >= 0.15);
    assert_true(strcmp(run.started, run.finished) <= 0);
    run_done(&run);
}

/* What was sent is in the kernel's own count, in the same interval. */
static void counts_with_the_kernel(void **state)
{
    struct owner owner = { .finish_at = 1 };
    struct run run;
    const struct case_result *result;
    const struct counters *delta;

    (void)state;
    measure(&owner, &run);
    result = run.cases.items;
    delta = result->phases.measure.counters.items;
    if (delta->value[UDP_SENT] != NONE_INT)
        assert_true(delta->value[UDP_SENT] >=
                    result->phases.measure.forward.sent + result->phases.measure.reverse.sent);
    run_done(&run);
}

static void keeps_what_it_has_when_it_is_to_finish(void **state)
{
    struct owner owner = { .finish_at = 2 };
    struct run run;

    (void)state;
    measure(&owner, &run);
    assert_int_equal(run.cases.count, 2);
    assert_true(run.interrupted);
    run_done(&run);
}

static void is_whole_when_told_to_finish_in_the_last_case(void **state)
{
    struct owner owner = { .finish_at = 4 };
    struct run run;

    (void)state;
    measure(&owner, &run);
    assert_int_equal(run.cases.count, 4);
    assert_false(run.interrupted);
    run_done(&run);
}

static void leaves_out_the_case_that_was_stopped(void **state)
{
    struct owner owner = { .stop_at = 3 };
    struct run run;

    (void)state;
    measure(&owner, &run);
    assert_int_equal(run.cases.count, 2);
    assert_true(run.interrupted);
    assert_true(owner.begun == 3 && owner.ended == 2);
    run_done(&run);
}

static void measures_nothing_when_told_to_finish_before(void **state)
{
    struct owner owner = { .finish_when_idle = true };
    struct run run;

    (void)state;
    measure(&owner, &run);
    assert_int_equal(run.cases.count, 0);
    assert_int_equal(owner.begun, 0);
    assert_true(run.interrupted);
    run_done(&run);
}

static void plans_the_seeds_matrix(void **state)
{
    struct plan plan;

    (void)state;
    run_default_plan(&plan);
    assert_int_equal(plan_check(&plan, NULL), STATUS_OK);
    assert_int_equal(plan_case_count(&plan), 54);
    assert_int_equal(*(const int *)plan.engines.items, engine_best());
    assert_int_equal(plan.common.clients, 16);
    /* phases of 1.25 s, two drains of a quarter, and a second of idleness */
    assert_true(fabs(run_seconds(&plan) - (54 * (1.25 + 2 * 0.25) + 1)) < 1e-6);
    record_done(&plan_record, &plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_the_whole_plan),
        cmocka_unit_test(counts_with_the_kernel),
        cmocka_unit_test(keeps_what_it_has_when_it_is_to_finish),
        cmocka_unit_test(is_whole_when_told_to_finish_in_the_last_case),
        cmocka_unit_test(leaves_out_the_case_that_was_stopped),
        cmocka_unit_test(measures_nothing_when_told_to_finish_before),
        cmocka_unit_test(plans_the_seeds_matrix),
    };

    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
