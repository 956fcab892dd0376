/* Owns the order of a run of buffer experiments, and the plan that it has without flags. What a
 * case measures is in the file of its name. */
#include "agent/probe/buffers.h"

#include "agent/probe/buffers_case.h"
#include "agent/probe/closed_port.h"
#include "agent/probe/hold.h"
#include "agent/probe/idle.h"
#include "agent/probe/ladder.h"
#include "agent/probe/run_frame.h"
#include "agent/probe/slow_reader.h"
#include "proto/base/text.h"

/* --- the plan --------------------------------------------------------------------------------- */

static void append_ints(struct list *list, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *(int64_t *)list_append_sized(list, sizeof values[i]) = values[i];
}

#define APPEND(LIST, VALUES) append_ints(LIST, VALUES, sizeof(VALUES) / sizeof(VALUES)[0])

void run_default_buffers_plan(struct buffers_plan *out_plan)
{
    static const int64_t asked[] = { 4096,    65536,   262144,   1048576,
                                     4194304, 8388608, 16777216, 67108864 };
    static const int64_t payloads[] = { 100, 1000, 8000 };
    static const int64_t sweep[] = { 65536, 262144, 0, 1048576, 4194304, 8388608 };
    static const int64_t read_ns[] = { 300000 };
    static const int64_t intervals[] = { 0, 100000, 500000 };
    static const int64_t slow[] = { 0, 8388608 };

    record_init(&buffers_plan_record, out_plan);
    for (int i = 0; i < EXPERIMENT_COUNT; i++)
        *(int *)list_append_sized(&out_plan->experiments, sizeof i) = i;
    APPEND(&out_plan->asked, asked);
    APPEND(&out_plan->payloads, payloads);
    APPEND(&out_plan->sweep_rcvbufs, sweep);
    APPEND(&out_plan->read_ns, read_ns);
    APPEND(&out_plan->intervals_ns, intervals);
    APPEND(&out_plan->slow_rcvbufs, slow);
    out_plan->family = FAMILY_IPV4;
    out_plan->sends = 5000;
    out_plan->sweep_payload = 1000;
    /* The first measurement does not name its payload. It processed 3,868 at full speed, of which
     * 500 were read while it sent: the rest is what 786,896 bytes hold of 200 B each on macOS. */
    out_plan->slow_payload = 200;
    out_plan->slow_sends = 20000;
    out_plan->closed_port_sends = 100;
    out_plan->idle_s = 3;
}

double buffers_seconds(const struct buffers_plan *plan)
{
    size_t count = buffers_plan_case_count(plan);
    double seconds = BUFFERS_LISTEN_S;

    for (size_t i = 0; i < count; i++) {
        struct experiment_result one;

        buffers_plan_case(plan, i, &one);
        seconds += buffers_case_seconds(plan, &one);
        record_done(&experiment_result_record, &one);
    }
    return seconds;
}

static void copy_plan(const struct buffers_plan *plan, struct buffers_plan *out_plan)
{
    *out_plan = *plan;
    out_plan->experiments = run_frame_copy(&plan->experiments, sizeof(int));
    out_plan->asked = run_frame_copy(&plan->asked, sizeof(int64_t));
    out_plan->payloads = run_frame_copy(&plan->payloads, sizeof(int64_t));
    out_plan->sweep_rcvbufs = run_frame_copy(&plan->sweep_rcvbufs, sizeof(int64_t));
    out_plan->read_ns = run_frame_copy(&plan->read_ns, sizeof(int64_t));
    out_plan->intervals_ns = run_frame_copy(&plan->intervals_ns, sizeof(int64_t));
    out_plan->slow_rcvbufs = run_frame_copy(&plan->slow_rcvbufs, sizeof(int64_t));
}

/* --- the cases -------------------------------------------------------------------------------- */

/* A run while it is measured. */
struct running {
    const struct buffers_plan *plan;
    const struct buffers_watch *watch;
    struct host *host;
};

static enum status measure_rung(const struct running *running, struct ladder_result *result,
                                struct fault *fault)
{
    ladder_step(running->plan->family, result->buffer, result->asked, result, fault);
    return result->granted == NONE_INT ? STATUS_NO_RESOURCE : STATUS_OK;
}

static enum status measure_hold(const struct running *running, struct hold_result *result,
                                struct fault *fault)
{
    const struct hold_order order = { .family = running->plan->family,
                                      .payload = result->payload,
                                      .rcvbuf = result->rcvbuf.asked,
                                      .sends = running->plan->sends };

    return hold_measure(&order, result, fault);
}

static enum status measure_slow_reader(const struct running *running,
                                       struct slow_reader_result *result, struct fault *fault)
{
    const struct slow_reader_order order = { .family = running->plan->family,
                                             .payload = result->payload,
                                             .sends = running->plan->slow_sends,
                                             .read_ns = result->read_ns,
                                             .interval_ns = result->interval_ns,
                                             .rcvbuf = result->rcvbuf.asked,
                                             .stop = running->watch->stop,
                                             .tick = running->watch->tick,
                                             .context = running->watch->context };

    return slow_reader_measure(&order, result, fault);
}

/* What an idle experiment heard is the run's idle noise, too: it is longer than the run's own. */
static enum status measure_idle(const struct running *running, struct idle_result *result,
                                struct fault *fault)
{
    const struct buffers_watch *watch = running->watch;
    const struct idle_watch idle_watch = {
        .context = watch->context, .tick = watch->tick, .finish = watch->finish, .stop = watch->stop
    };
    enum status status = idle_measure(running->plan->idle_s, &idle_watch, result, fault);

    if (status == STATUS_OK)
        running->host->counters.idle =
            (struct idle_counters){ .seconds = result->seconds, .delta = result->delta };
    return status;
}

static enum status measure_case(const struct running *running, struct experiment_result *result,
                                struct fault *fault)
{
    const struct buffers_plan *plan = running->plan;

    switch (result->experiment) {
    case EXPERIMENT_LADDER:
        return measure_rung(running, &result->ladder, fault);
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        return measure_hold(running, &result->hold, fault);
    case EXPERIMENT_SLOW_READER:
        return measure_slow_reader(running, &result->slow_reader, fault);
    case EXPERIMENT_CLOSED_PORT:
        return closed_port_measure(plan->family, plan->closed_port_sends, &result->closed_port,
                                   fault);
    case EXPERIMENT_IDLE:
        return measure_idle(running, &result->idle, fault);
    case EXPERIMENT_COUNT:
        break;
    }
    return fault_set(fault, STATUS_UNSUPPORTED, "no such experiment");
}

static void begin_case(const struct running *running, const struct experiment_result *one,
                       size_t count)
{
    const struct buffers_watch *watch = running->watch;
    char label[BUFFERS_LABEL_SIZE];
    const struct buffers_step step = { .index = (size_t)one->index,
                                       .count = count,
                                       .label = label,
                                       .at_most_s = buffers_case_seconds(running->plan, one) };

    buffers_case_label(running->plan, one, label);
    if (watch->begin != NULL)
        watch->begin(watch->context, &step);
}

static void measure_cases(const struct running *running, struct run *run)
{
    const struct buffers_watch *watch = running->watch;
    size_t count = buffers_plan_case_count(running->plan);

    for (size_t i = 0; i < count && !idle_is_over(watch->finish, watch->stop); i++) {
        struct experiment_result result;
        struct fault fault = { "" };
        enum status status;

        buffers_plan_case(running->plan, i, &result);
        begin_case(running, &result, count);
        status = measure_case(running, &result, &fault);
        if (idle_is_over(NULL, watch->stop)) {
            record_done(&experiment_result_record, &result);
            break;
        }
        if (status != STATUS_OK)
            text_copy(result.error, sizeof result.error, fault.text);
        if (watch->end != NULL)
            watch->end(watch->context, &result);
        *(struct experiment_result *)list_append_sized(&run->experiments, sizeof result) = result;
    }
    run->interrupted = run->experiments.count < count;
}

enum status run_buffers(const struct buffers_plan *plan, const struct buffers_watch *watch,
                        struct run *out_run, struct fault *fault)
{
    struct run_times times;
    struct host *host = run_frame_start(out_run, RUN_BUFFERS, &times);
    const struct idle_watch idle_watch = { .finish = watch->finish, .stop = watch->stop };
    const struct running running = { .plan = plan, .watch = watch, .host = host };
    enum status status = run_frame_idle(BUFFERS_LISTEN_S, &idle_watch, host, fault);

    copy_plan(plan, &out_run->buffers_plan);
    if (status == STATUS_OK)
        status = run_frame_open(host, fault);
    if (status == STATUS_OK) {
        measure_cases(&running, out_run);
        status = run_frame_close(host, fault);
    }
    run_frame_finish(out_run, &times);
    if (status != STATUS_OK)
        run_done(out_run);
    return status;
}
