/* A run of buffer experiments must measure its plan in order, keep what it has when it is cut
 * short, and go on behind a case that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "agent/probe/buffers.h"
#include "agent/probe/buffers_case.h"

struct owner {
    size_t begun, ended;
    size_t finish_at, stop_at; /* ends and begins of cases; 0: never */
    double at_most_s;
    char labels[1024];
    atomic_bool finish, stop;
};

static void on_begin(void *context, const struct buffers_step *step)
{
    struct owner *owner = context;

    assert_int_equal(step->index, owner->begun);
    assert_true(step->index < step->count && step->label[0] != '\0' && step->at_most_s > 0);
    snprintf(owner->labels + strlen(owner->labels), sizeof owner->labels - strlen(owner->labels),
             "%s\n", step->label);
    owner->at_most_s += step->at_most_s;
    if (++owner->begun == owner->stop_at)
        atomic_store(&owner->stop, true);
}

static void on_end(void *context, const struct experiment_result *result)
{
    struct owner *owner = context;

    assert_int_equal(result->index, owner->ended);
    if (++owner->ended == owner->finish_at)
        atomic_store(&owner->finish, true);
}

/* The seed's plan with short lists, and without the slow reader, which forks. */
static struct buffers_plan short_plan(void)
{
    static const enum experiment kept[] = { EXPERIMENT_LADDER, EXPERIMENT_HOLD, EXPERIMENT_SWEEP,
                                            EXPERIMENT_CLOSED_PORT, EXPERIMENT_IDLE };
    struct buffers_plan plan;

    run_default_buffers_plan(&plan);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        ((int *)plan.experiments.items)[i] = (int)kept[i];
    plan.experiments.count = sizeof kept / sizeof kept[0];
    plan.asked.count = 1;
    plan.payloads.count = 2;
    plan.sweep_rcvbufs.count = 1;
    plan.sends = 300;
    plan.closed_port_sends = 5;
    plan.idle_s = 0.1;
    return plan;
}

static void measure_plan(struct buffers_plan *plan, struct owner *owner, struct run *out_run)
{
    const struct buffers_watch watch = { .context = owner,
                                         .begin = on_begin,
                                         .end = on_end,
                                         .finish = &owner->finish,
                                         .stop = &owner->stop };
    struct fault fault = { "" };

    if (run_buffers(plan, &watch, out_run, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    record_done(&buffers_plan_record, plan);
}

static void measure(struct owner *owner, struct run *out_run)
{
    struct buffers_plan plan = short_plan();

    measure_plan(&plan, owner, out_run);
}

static const struct experiment_result *result_at(const struct run *run, size_t index)
{
    assert_true(index < run->experiments.count);
    return (const struct experiment_result *)run->experiments.items + index;
}

static void measures_the_whole_plan(void **state)
{
    static const enum experiment order[] = {
        EXPERIMENT_LADDER, EXPERIMENT_LADDER,      EXPERIMENT_LADDER,
        EXPERIMENT_LADDER, EXPERIMENT_HOLD,        EXPERIMENT_HOLD,
        EXPERIMENT_SWEEP,  EXPERIMENT_CLOSED_PORT, EXPERIMENT_IDLE,
    };
    struct owner owner = { 0 };
    struct run run;
    const struct host *host;

    (void)state;
    measure(&owner, &run);
    assert_string_equal(run.schema, RUN_SCHEMA);
    assert_int_equal(run.kind, RUN_BUFFERS);
    assert_false(run.interrupted);
    assert_int_equal(run.experiments.count, sizeof order / sizeof order[0]);
    for (size_t i = 0; i < run.experiments.count; i++) {
        assert_int_equal(result_at(&run, i)->experiment, order[i]);
        assert_string_equal(result_at(&run, i)->error, "");
    }
    assert_true(owner.begun == run.experiments.count && owner.ended == owner.begun);
    assert_int_equal(run.buffers_plan.payloads.count, 2);
    assert_int_equal(result_at(&run, 4)->hold.payload, 100);
    assert_int_equal(result_at(&run, 6)->hold.rcvbuf.asked, 65536);
    host = run.hosts.items;
    assert_true(host->limits_unchanged);
    assert_true(host->counters.idle.seconds == result_at(&run, 8)->idle.seconds);
    assert_true(strcmp(run.started, run.finished) <= 0);
    run_done(&run);
}

static void says_what_it_does_and_for_how_long_at_most(void **state)
{
    struct owner owner = { 0 };
    struct buffers_plan plan = short_plan();
    double whole = buffers_seconds(&plan);
    struct run run;

    (void)state;
    measure_plan(&plan, &owner, &run);
    assert_string_equal(owner.labels, "ladder: SO_RCVBUF default\n"
                                      "ladder: SO_RCVBUF 4,096\n"
                                      "ladder: SO_SNDBUF default\n"
                                      "ladder: SO_SNDBUF 4,096\n"
                                      "hold: 100 B, default buffer\n"
                                      "hold: 1,000 B, default buffer\n"
                                      "sweep: 1,000 B, SO_RCVBUF 65,536\n"
                                      "closed port: 5 datagrams\n"
                                      "idle: listening to the machine\n");
    assert_true(whole > owner.at_most_s && whole < owner.at_most_s + 1);
    run_done(&run);
}

static void has_its_own_noise_without_the_idle_experiment(void **state)
{
    struct owner owner = { 0 };
    struct buffers_plan plan = short_plan();
    struct run run;
    const struct host *host;

    (void)state;
    plan.experiments.count = 1;
    measure_plan(&plan, &owner, &run);
    host = run.hosts.items;
    assert_true(host->counters.idle.seconds >= BUFFERS_LISTEN_S);
    run_done(&run);
}

static void goes_on_behind_a_case_that_fails(void **state)
{
    struct owner owner = { 0 };
    struct buffers_plan plan = short_plan();
    struct run run;

    (void)state;
    ((int64_t *)plan.payloads.items)[0] = 65508; /* more than IPv4 takes; no check was made */
    measure_plan(&plan, &owner, &run);
    assert_int_equal(run.experiments.count, 9);
    assert_false(run.interrupted);
    assert_string_not_equal(result_at(&run, 4)->error, "");
    assert_int_equal(result_at(&run, 4)->hold.payload, 65508);
    assert_string_equal(result_at(&run, 5)->error, "");
    assert_true(result_at(&run, 5)->hold.held > 0);
    run_done(&run);
}

static void keeps_what_it_has_when_it_is_to_finish(void **state)
{
    struct owner owner = { .finish_at = 5 };
    struct run run;

    (void)state;
    measure(&owner, &run);
    assert_int_equal(run.experiments.count, 5);
    assert_true(run.interrupted);
    run_done(&run);
}

static void leaves_out_the_case_that_was_stopped(void **state)
{
    struct owner owner = { .stop_at = 9 }; /* in the idle experiment */
    struct run run;

    (void)state;
    measure(&owner, &run);
    assert_int_equal(run.experiments.count, 8);
    assert_true(run.interrupted);
    assert_true(owner.begun == 9 && owner.ended == 8);
    run_done(&run);
}

static void plans_the_seeds_experiments(void **state)
{
    struct buffers_plan plan;
    struct fault fault = { "" };

    (void)state;
    run_default_buffers_plan(&plan);
    assert_int_equal(record_check(&buffers_plan_record, &plan, &fault), STATUS_OK);
    assert_int_equal(buffers_plan_check(&plan, &fault), STATUS_OK);
    /* 2 x (default + 8), 3 payloads, 6 buffers, 3 paces x 2 buffers, 1, 1 */
    assert_int_equal(buffers_plan_case_count(&plan), 18 + 3 + 6 + 6 + 1 + 1);
    assert_true(buffers_seconds(&plan) > 25 && buffers_seconds(&plan) < 70);
    record_done(&buffers_plan_record, &plan);
}

static void names_a_slow_reader_s_pace(void **state)
{
    struct buffers_plan plan;
    struct experiment_result one;
    char label[BUFFERS_LABEL_SIZE];

    (void)state;
    run_default_buffers_plan(&plan);
    buffers_plan_case(&plan, 18 + 3 + 6, &one);
    buffers_case_label(&plan, &one, label);
    assert_string_equal(label, "slow reader, 300 us each: full speed, default buffer");
    buffers_plan_case(&plan, 18 + 3 + 6 + 3, &one);
    buffers_case_label(&plan, &one, label);
    assert_string_equal(label, "slow reader, 300 us each: one per 100 us, SO_RCVBUF 8,388,608");
    /* 2 s of sending; two thirds of 20,000 wait at most, 300 us each */
    assert_true(buffers_case_seconds(&plan, &one) > 6);
    assert_true(buffers_case_seconds(&plan, &one) < 7);
    record_done(&buffers_plan_record, &plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_the_whole_plan),
        cmocka_unit_test(says_what_it_does_and_for_how_long_at_most),
        cmocka_unit_test(has_its_own_noise_without_the_idle_experiment),
        cmocka_unit_test(goes_on_behind_a_case_that_fails),
        cmocka_unit_test(keeps_what_it_has_when_it_is_to_finish),
        cmocka_unit_test(leaves_out_the_case_that_was_stopped),
        cmocka_unit_test(plans_the_seeds_experiments),
        cmocka_unit_test(names_a_slow_reader_s_pace),
    };

    return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}
