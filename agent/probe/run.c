/* Owns the order of a run: machine facts, idle noise, cases, counters. Measures nothing itself. */
#include "agent/probe/run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/counters.h"
#include "agent/host/machine.h"
#include "agent/probe/engine.h"
#include "agent/probe/loopback.h"
#include "proto/base/digest.h"
#include "proto/base/text.h"

enum { TICK_MS = 100 };

static bool is_set(const atomic_bool *flag)
{
    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed);
}

static bool is_over(const struct run_watch *watch)
{
    return is_set(watch->finish) || is_set(watch->stop);
}

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
    struct list payloads = { 0 };
    struct list windows = { 0 };
    struct list engines = { 0 };

    for (size_t i = 0; i < plan->payloads.count; i++)
        append_int(&payloads, ((const int64_t *)plan->payloads.items)[i]);
    for (size_t i = 0; i < plan->windows.count; i++)
        append_int(&windows, ((const int64_t *)plan->windows.items)[i]);
    for (size_t i = 0; i < plan->engines.count; i++)
        *(int *)list_append_sized(&engines, sizeof(int)) = ((const int *)plan->engines.items)[i];
    *out_plan = *plan;
    out_plan->payloads = payloads;
    out_plan->windows = windows;
    out_plan->engines = engines;
}

static void start_record(const struct plan *plan, struct wall now, struct run *run)
{
    uint8_t random[10];

    run_init(run, RUN_LOOPBACK);
    digest_random(random, sizeof random);
    text_copy(run->schema, sizeof run->schema, RUN_SCHEMA);
    uuid7_format(now.ns / NS_PER_MS, random, run->id);
    run->kind = RUN_LOOPBACK;
    wall_format(now, run->started);
    copy_plan(plan, &run->plan);
}

static struct host *add_host(struct run *run)
{
    struct host *host = list_append_sized(&run->hosts, sizeof *host);

    record_init(&host_record, host);
    machine_describe(host);
    host->role = HOST_LOCAL;
    return host;
}

static void add_reset(struct host_counters *counters, const bool reset[COUNTER_COUNT])
{
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        char *name;

        if (!reset[i])
            continue;
        name = strdup(counter_names[i]);
        if (name == NULL)
            abort();
        *(char **)list_append_sized(&counters->reset, sizeof name) = name;
    }
}

static void note_unavailable(const struct counter_snapshot *snapshot,
                             struct host_counters *counters)
{
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        if (snapshot->total.value[i] == NONE_INT)
            map_add_text(&counters->unavailable, counter_names[i], snapshot->reason[i]);
    }
}

static bool same_limits(const struct list *a, const struct list *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct map_item *item = (const struct map_item *)a->items + i;
        const struct map_item *other = map_find(b, item->key);

        if (other == NULL || other->number != item->number)
            return false;
    }
    return a->count == b->count;
}

static enum status snapshot_into(struct counters *out_counters, struct host_counters *unavailable,
                                 struct fault *fault)
{
    struct counter_snapshot snapshot;
    enum status status = counters_read(NULL, &snapshot, fault);

    if (status != STATUS_OK)
        return status;
    *out_counters = snapshot.total;
    if (unavailable != NULL)
        note_unavailable(&snapshot, unavailable);
    counter_snapshot_done(&snapshot);
    return STATUS_OK;
}

/* --- the idle interval ---------------------------------------------------------------------- */

static void wait_idle(double seconds, const struct run_watch *watch, struct mono start)
{
    int64_t length = (int64_t)(seconds * (double)NS_PER_S);
    int64_t left;

    while ((left = length - mono_between(start, mono_now())) > 0 && !is_over(watch)) {
        int64_t ms = (left + NS_PER_MS - 1) / NS_PER_MS;

        poll(NULL, 0, ms < TICK_MS ? (int)ms : TICK_MS);
        if (watch->tick != NULL)
            watch->tick(watch->context);
    }
}

static enum status measure_idle(double seconds, const struct run_watch *watch, struct host *host,
                                struct fault *fault)
{
    struct mono start = mono_now();
    struct counters before, after;
    bool reset[COUNTER_COUNT];
    enum status status = snapshot_into(&before, NULL, fault);

    if (watch->begin != NULL)
        watch->begin(watch->context, SIZE_MAX, NULL);
    if (status != STATUS_OK)
        return status;
    wait_idle(seconds, watch, start);
    status = snapshot_into(&after, NULL, fault);
    if (status != STATUS_OK)
        return status;
    counters_subtract(&before, &after, counters_width32(), &host->counters.idle.delta, reset);
    host->counters.idle.seconds = (double)mono_between(start, mono_now()) / (double)NS_PER_S;
    return STATUS_OK;
}

/* --- the cases ------------------------------------------------------------------------------ */

static void measure_cases(const struct plan *plan, struct loopback *loopback,
                          const struct run_watch *watch, struct run *run)
{
    const struct phase_watch phase_watch = { .context = watch->context,
                                             .tick = watch->tick,
                                             .stop = watch->stop };
    size_t count = plan_case_count(plan);

    for (size_t i = 0; i < count && !is_over(watch); i++) {
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

static enum status close_host(struct host *host, struct fault *fault)
{
    bool reset[COUNTER_COUNT];
    struct list limits = { 0 };
    enum status status = snapshot_into(&host->counters.after, NULL, fault);

    if (status != STATUS_OK)
        return status;
    counters_subtract(&host->counters.before, &host->counters.after, counters_width32(),
                      &host->counters.delta, reset);
    add_reset(&host->counters, reset);
    machine_limits(&limits);
    host->limits_unchanged = same_limits(&host->limits, &limits);
    free(limits.items);
    return STATUS_OK;
}

enum status run_loopback(const struct plan *plan, const struct run_watch *watch,
                         struct run *out_run, struct fault *fault)
{
    struct wall wall = wall_now();
    struct mono start = mono_now();
    struct loopback *loopback = loopback_new(wall);
    struct host *host;
    enum status status;

    start_record(plan, wall, out_run);
    host = add_host(out_run);
    status = measure_idle(plan->idle_s, watch, host, fault);
    if (status == STATUS_OK)
        status = snapshot_into(&host->counters.before, &host->counters, fault);
    if (status == STATUS_OK) {
        measure_cases(plan, loopback, watch, out_run);
        status = close_host(host, fault);
    }
    /* The wall clock was read once; the end is that plus what really passed. */
    wall_format((struct wall){ wall.ns + mono_between(start, mono_now()) }, out_run->finished);
    loopback_free(loopback);
    if (status != STATUS_OK)
        run_done(out_run);
    return status;
}
