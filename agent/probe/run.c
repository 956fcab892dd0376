/* Owns the order of a loopback run: idle noise, cases. Measures nothing itself. */
#include "agent/probe/run.h"

#include "agent/probe/engine.h"
#include "agent/probe/loopback.h"
#include "agent/probe/run_frame.h"

double run_seconds(const struct plan *plan)
{
    double total = plan->idle_s;

    for (size_t i = 0; i < plan_case_count(plan); i++) {
        struct case_params params = plan_case(plan, i);

        total += case_seconds(&params, (double)PHASE_DRAIN_NS / (double)NS_PER_S);
    }
    return total;
}

static void append_int(struct list *list, int64_t value)
{
    *(int64_t *)list_append_sized(list, sizeof value) = value;
}

void run_default_plan(struct plan *out_plan)
{
    static const int64_t payloads[] = { 1472, 8192, 16356, 16357, 16384, 65507 };
    static const int64_t windows[] = { 1, 16, 64 };

    record_init(&plan_record, out_plan);
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++)
        append_int(&out_plan->payloads, payloads[i]);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
        append_int(&out_plan->windows, windows[i]);
    *(int *)list_append_sized(&out_plan->engines, sizeof(int)) = (int)engine_best();
    out_plan->repeats = 3;
    out_plan->idle_s = 1;
    out_plan->common = (struct case_common){
        .family = FAMILY_IPV4,
        .clients = 16,
        .io_model = IO_MODEL_SHARED,
        .io_threads = 1,
        .warmup_s = 0.25,
        .seconds = 1,
        .rcvbuf = 4 << 20,
        .sndbuf = 64 << 10,
    };
}

/* --- parts of the record -------------------------------------------------------------------- */

static void copy_plan(const struct plan *plan, struct plan *out_plan)
{
    *out_plan = *plan;
    out_plan->payloads = run_frame_copy(&plan->payloads, sizeof(int64_t));
    out_plan->windows = run_frame_copy(&plan->windows, sizeof(int64_t));
    out_plan->engines = run_frame_copy(&plan->engines, sizeof(int));
}

/* --- the cases ------------------------------------------------------------------------------ */

static void measure_cases(const struct plan *plan, struct loopback *loopback,
                          const struct run_watch *watch, struct run *run)
{
    const struct phase_watch phase_watch = { .context = watch->context,
                                             .tick = watch->tick,
                                             .stop = watch->stop };
    size_t count = plan_case_count(plan);

    for (size_t i = 0; i < count && !idle_is_over(watch->finish, watch->stop); i++) {
        struct case_params params = plan_case(plan, i);
        struct case_result result;

        record_init(&case_result_record, &result);
        result.index = (int64_t)i;
        if (watch->begin != NULL)
            watch->begin(watch->context, i, &params);
        if (loopback_case(loopback, &params, &phase_watch, &result) != STATUS_OK) {
            record_done(&case_result_record, &result);
            break;
        }
        if (watch->end != NULL)
            watch->end(watch->context, &result);
        *(struct case_result *)list_append_sized(&run->cases, sizeof result) = result;
    }
    run->interrupted = run->cases.count < count;
}

static enum status measure_idle(double seconds, const struct run_watch *watch, struct host *host,
                                struct fault *fault)
{
    const struct idle_watch idle_watch = {
        .context = watch->context, .tick = watch->tick, .finish = watch->finish, .stop = watch->stop
    };

    if (watch->begin != NULL)
        watch->begin(watch->context, SIZE_MAX, NULL);
    return run_frame_idle(seconds, &idle_watch, host, fault);
}

enum status run_loopback(const struct plan *plan, const struct run_watch *watch,
                         struct run *out_run, struct fault *fault)
{
    struct run_times times;
    struct host *host = run_frame_start(out_run, RUN_LOOPBACK, &times);
    struct loopback *loopback = loopback_new(times.wall);
    enum status status;

    copy_plan(plan, &out_run->plan);
    status = measure_idle(plan->idle_s, watch, host, fault);
    if (status == STATUS_OK)
        status = run_frame_open(host, fault);
    if (status == STATUS_OK) {
        measure_cases(plan, loopback, watch, out_run);
        status = run_frame_close(host, fault);
    }
    run_frame_finish(out_run, &times);
    loopback_free(loopback);
    if (status != STATUS_OK)
        run_done(out_run);
    return status;
}
