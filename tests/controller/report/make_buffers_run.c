/* Owns sample runs of buffer experiments: a model of a receive buffer that is filled, and of a
 * reader that takes its time. Knows no reader of runs. */
#include "tests/controller/report/make_buffers_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"

static const int64_t seed_asked[] = { 4096,    65536,   262144,   1048576,
                                      4194304, 8388608, 16777216, 67108864 };
static const int64_t seed_payloads[] = { 100, 1000, 8000 };
static const int64_t seed_rcvbufs[] = { 65536, 262144, 0, 1048576, 4194304, 8388608 };
static const int64_t seed_intervals[] = { 0, 100000, 500000 };
static const int64_t seed_slow_rcvbufs[] = { 0, 8388608 };
static const int64_t read_ns[] = { 300000 };
static const int64_t small_asked[] = { 8192 };
static const int64_t small_payloads[] = { 100, 8000 };
static const int64_t small_rcvbufs[] = { 65536 };
static const int64_t small_intervals[] = { 100000, 500000 };
static const int64_t small_slow_rcvbufs[] = { 0 };

#define NUMBERS(ARRAY)                                                                             \
    (struct make_numbers)                                                                          \
    {                                                                                              \
        ARRAY, sizeof(ARRAY) / sizeof(ARRAY)[0]                                                    \
    }

struct make_buffers_shape make_buffers_seed(void)
{
    return (struct make_buffers_shape){
        .base = make_shape_seed(),
        .experiments = { EXPERIMENT_LADDER, EXPERIMENT_HOLD, EXPERIMENT_SWEEP,
                         EXPERIMENT_SLOW_READER, EXPERIMENT_CLOSED_PORT, EXPERIMENT_IDLE },
        .experiment_count = EXPERIMENT_COUNT,
        .asked = NUMBERS(seed_asked),
        .payloads = NUMBERS(seed_payloads),
        .sweep_rcvbufs = NUMBERS(seed_rcvbufs),
        .read_ns = NUMBERS(read_ns),
        .intervals_ns = NUMBERS(seed_intervals),
        .slow_rcvbufs = NUMBERS(seed_slow_rcvbufs),
        .sends = 5000,
        .slow_sends = 20000,
    };
}

struct make_buffers_shape make_buffers_small(void)
{
    struct make_buffers_shape shape = make_buffers_seed();

    shape.asked = NUMBERS(small_asked);
    shape.payloads = NUMBERS(small_payloads);
    shape.sweep_rcvbufs = NUMBERS(small_rcvbufs);
    shape.intervals_ns = NUMBERS(small_intervals);
    shape.slow_rcvbufs = NUMBERS(small_slow_rcvbufs);
    shape.slow_sends = 2000;
    return shape;
}

static bool is_macos(const struct make_buffers_shape *shape)
{
    return strcmp(shape->base.os, "macOS") == 0;
}

static void add_numbers(struct list *list, struct make_numbers numbers)
{
    for (size_t i = 0; i < numbers.count; i++)
        *(int64_t *)list_append_sized(list, sizeof(int64_t)) = numbers.items[i];
}

static void make_plan(const struct make_buffers_shape *shape, struct buffers_plan *plan)
{
    for (size_t i = 0; i < shape->experiment_count; i++)
        *(int *)list_append_sized(&plan->experiments, sizeof(int)) = shape->experiments[i];
    add_numbers(&plan->asked, shape->asked);
    add_numbers(&plan->payloads, shape->payloads);
    add_numbers(&plan->sweep_rcvbufs, shape->sweep_rcvbufs);
    add_numbers(&plan->read_ns, shape->read_ns);
    add_numbers(&plan->intervals_ns, shape->intervals_ns);
    add_numbers(&plan->slow_rcvbufs, shape->slow_rcvbufs);
    plan->sends = shape->sends;
    plan->sweep_payload = plan->slow_payload = 1000;
    plan->slow_sends = shape->slow_sends;
    plan->closed_port_sends = 100;
    plan->idle_s = 3;
}

/* What the system gives for what is asked; 0 is the default. */
static void make_grant(const struct make_buffers_shape *shape, struct grant *grant)
{
    int64_t limit = shape->base.rcvbuf_limit;

    if (grant->asked == 0)
        grant->granted = is_macos(shape) ? 786896 : 212992;
    else
        grant->granted = make_factor(&shape->base) * (grant->asked > limit ? limit : grant->asked);
    if (grant->asked > limit)
        (void)text_copy(grant->limit, sizeof grant->limit, make_limit_name(&shape->base));
}

static void make_ladder(const struct make_buffers_shape *shape, struct ladder_result *ladder)
{
    struct grant grant = { .asked = ladder->asked == NONE_INT ? 0 : ladder->asked };

    make_grant(shape, &grant);
    ladder->granted = grant.granted;
    (void)text_copy(ladder->limit, sizeof ladder->limit,
                    ladder->buffer == BUFFER_SNDBUF && grant.limit[0] != '\0' && !is_macos(shape)
                        ? "net.core.wmem_max"
                        : grant.limit);
}

static void make_hold(const struct make_buffers_shape *shape, struct hold_result *hold)
{
    int64_t charge = make_charge(&shape->base, hold->payload), capacity;

    make_grant(shape, &hold->rcvbuf);
    capacity = hold->rcvbuf.granted / charge;
    hold->sent = shape->sends;
    hold->held = hold->predicted_held = capacity < hold->sent ? capacity : hold->sent;
    hold->queued_bytes = hold->held * charge;
    hold->bytes_per_datagram = hold->held > 0 ? (double)charge : (double)NAN;
    hold->dropped.socket = is_macos(shape) ? NONE_INT : hold->sent - hold->held;
    hold->dropped.system = hold->sent - hold->held + 7;
}

static void add_point(struct list *list, double t_s, double value)
{
    double(*point)[2] = list_append_sized(list, sizeof *point);

    (*point)[0] = round(t_s * 1e9) / 1e9;
    (*point)[1] = value;
}

/* Datagram by datagram: one comes each `interval`, the reader takes one each `read`. */
struct queue {
    int64_t charge, capacity; /* bytes, datagrams */
    int64_t held, processed, dropped;
    double interval_s, read_s, busy_until_s;
};

static void read_until(struct queue *queue, double t_s)
{
    while (queue->held > 0 && queue->busy_until_s <= t_s) {
        queue->held--;
        queue->processed++;
        queue->busy_until_s += queue->read_s;
    }
}

static void arrive(struct queue *queue, double t_s, struct slow_reader_result *slow)
{
    read_until(queue, t_s);
    if (queue->held < queue->capacity) {
        if (queue->held++ == 0 && queue->busy_until_s < t_s)
            queue->busy_until_s = t_s + queue->read_s;
        return;
    }
    if (queue->dropped++ == 0)
        slow->first_drop_s = t_s;
}

static void sample(const struct queue *queue, double t_s, struct slow_reader_result *slow)
{
    add_point(&slow->queue, t_s, (double)(queue->held * queue->charge));
    if (slow->dropped.socket != NONE_INT)
        add_point(&slow->drops, t_s, (double)queue->dropped);
}

static void run_queue(struct queue *queue, struct slow_reader_result *slow)
{
    double end_s = (double)(slow->sent - 1) * queue->interval_s, step_s;

    for (int64_t i = 0; i < slow->sent; i++) {
        arrive(queue, (double)i * queue->interval_s, slow);
        if (i % (slow->sent / 50 + 1) == 0)
            sample(queue, (double)i * queue->interval_s, slow);
    }
    step_s = (double)(queue->held + 1) * queue->read_s / 50;
    for (double t_s = end_s + step_s; queue->held > 0; t_s += step_s) {
        read_until(queue, t_s);
        sample(queue, t_s, slow);
    }
}

static void make_slow_reader(const struct make_buffers_shape *shape,
                             struct slow_reader_result *slow)
{
    struct queue queue = { .charge = make_charge(&shape->base, slow->payload) };
    double held;

    make_grant(shape, &slow->rcvbuf);
    queue.capacity = slow->rcvbuf.granted / queue.charge;
    slow->achieved_interval_ns =
        slow->interval_ns == 0 ? 6500 : (double)(slow->interval_ns + slow->interval_ns / 50);
    slow->achieved_read_ns = (double)slow->read_ns;
    queue.interval_s = slow->achieved_interval_ns * 1e-9;
    queue.read_s = slow->achieved_read_ns * 1e-9;
    slow->sent = shape->slow_sends;
    slow->sending_s = queue.interval_s * (double)(slow->sent - 1);
    slow->dropped.socket = is_macos(shape) ? NONE_INT : 0;
    run_queue(&queue, slow);
    slow->processed = queue.processed;
    slow->lost = slow->sent - slow->processed;
    slow->loss_ratio = (double)slow->lost / (double)slow->sent;
    held = (double)queue.capacity + slow->sending_s / queue.read_s;
    slow->model_loss_ratio = fmax(0, 1 - held / (double)slow->sent);
    slow->dropped.system = queue.dropped + 3;
    if (!is_macos(shape))
        slow->dropped.socket = queue.dropped;
    else
        slow->first_drop_s = (double)NAN;
}

static void make_idle(const struct make_buffers_shape *shape, struct idle_result *idle)
{
    static const struct drop_owner owners[] = { { 5353, 200, 81234, "mdns-responder (812)" },
                                                { 443, 31, 90001, "" } };

    idle->seconds = 3.0001;
    for (int i = 0; i < COUNTER_COUNT; i++)
        idle->delta.value[i] = i == QDISC_DROPPED ? NONE_INT : 0;
    idle->delta.value[UDP_DELIVERED] = 412;
    idle->delta.value[UDP_RECEIVE_BUFFER_FULL] = 231;
    for (size_t i = 0; i < 2 && !is_macos(shape); i++)
        *(struct drop_owner *)list_append_sized(&idle->owners, sizeof *owners) = owners[i];
}

static void make_experiment(const struct make_buffers_shape *shape, struct run *run, size_t index)
{
    struct experiment_result *result = list_append_sized(&run->experiments, sizeof *result);

    buffers_plan_case(&run->buffers_plan, index, result);
    switch (result->experiment) {
    case EXPERIMENT_LADDER:
        make_ladder(shape, &result->ladder);
        break;
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        make_hold(shape, &result->hold);
        break;
    case EXPERIMENT_SLOW_READER:
        make_slow_reader(shape, &result->slow_reader);
        break;
    case EXPERIMENT_CLOSED_PORT:
        result->closed_port = (struct closed_port_result){ .sent = 50,
                                                           .refused.econnrefused = 50,
                                                           .no_socket.system = 50,
                                                           .receive_buffer.system = 51 };
        break;
    case EXPERIMENT_IDLE:
        make_idle(shape, &result->idle);
        break;
    case EXPERIMENT_COUNT:
        break;
    }
}

void make_buffers_run(const struct make_buffers_shape *shape, struct run *out_run)
{
    size_t count;

    make_head(&shape->base, RUN_BUFFERS, out_run);
    make_plan(shape, &out_run->buffers_plan);
    count = buffers_plan_case_count(&out_run->buffers_plan);
    for (size_t i = 0; i < count; i++)
        make_experiment(shape, out_run, i);
    make_host(&shape->base, 1000, out_run);
}

struct experiment_result *make_experiment_at(struct run *run, size_t index)
{
    if (index >= run->experiments.count)
        abort();
    return (struct experiment_result *)run->experiments.items + index;
}

void make_experiment_error(struct run *run, size_t index, const char *error)
{
    struct experiment_result *result = make_experiment_at(run, index);

    record_done(&experiment_result_record, result);
    buffers_plan_case(&run->buffers_plan, index, result);
    if (!text_copy(result->error, sizeof result->error, error))
        abort();
}

void make_buffers_interrupted(struct run *run, size_t count)
{
    while (run->experiments.count > count) {
        record_done(&experiment_result_record, make_experiment_at(run, run->experiments.count - 1));
        run->experiments.count--;
    }
    run->interrupted = true;
}
