/* Owns the parts of a record that every kind of run has. */
#include "agent/probe/run_frame.h"

#include <stdlib.h>
#include <string.h>

#include "agent/host/counters.h"
#include "agent/host/machine.h"
#include "agent/probe/system_count.h"
#include "proto/base/digest.h"
#include "proto/base/text.h"

struct host *run_frame_start(struct run *out_run, enum run_kind kind, struct run_times *out_times)
{
    uint8_t random[10];
    struct host *host;

    out_times->wall = wall_now();
    out_times->mono = mono_now();
    run_init(out_run, kind);
    digest_random(random, sizeof random);
    text_copy(out_run->schema, sizeof out_run->schema, RUN_SCHEMA);
    uuid7_format(out_times->wall.ns / NS_PER_MS, random, out_run->id);
    wall_format(out_times->wall, out_run->started);
    host = list_append_sized(&out_run->hosts, sizeof *host);
    record_init(&host_record, host);
    machine_describe(host);
    host->role = HOST_LOCAL;
    return host;
}

enum status run_frame_idle(double seconds, const struct idle_watch *watch, struct host *host,
                           struct fault *fault)
{
    struct idle_result idle = { .seconds = 0 };
    enum status status = idle_listen(seconds, watch, &idle, fault);

    if (status == STATUS_OK)
        host->counters.idle =
            (struct idle_counters){ .seconds = idle.seconds, .delta = idle.delta };
    return status;
}

static void add_reset(struct host_counters *counters, const bool reset[COUNTER_COUNT])
{
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        if (reset[i])
            words_add(&counters->reset, counter_names[i]);
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

enum status run_frame_open(struct host *host, struct fault *fault)
{
    struct counter_snapshot snapshot;
    enum status status = counters_read(NULL, &snapshot, fault);

    if (status != STATUS_OK)
        return status;
    host->counters.before = snapshot.total;
    note_unavailable(&snapshot, &host->counters);
    counter_snapshot_done(&snapshot);
    return STATUS_OK;
}

enum status run_frame_close(struct host *host, struct fault *fault)
{
    bool reset[COUNTER_COUNT];
    struct list limits = { 0 };
    enum status status = system_counters(&host->counters.after, fault);

    if (status != STATUS_OK)
        return status;
    counters_subtract(&host->counters.before, &host->counters.after, counters_width32(),
                      &host->counters.delta, reset);
    add_reset(&host->counters, reset);
    machine_limits(&limits);
    host->limits_unchanged = map_equal_int(&host->limits, &limits);
    free(limits.items);
    return STATUS_OK;
}

struct list run_frame_copy(const struct list *list, size_t element_size)
{
    struct list copy = { 0 };

    for (size_t i = 0; i < list->count; i++)
        memcpy(list_append_sized(&copy, element_size), (const char *)list->items + i * element_size,
               element_size);
    return copy;
}

void run_frame_finish(struct run *run, const struct run_times *times)
{
    int64_t passed = mono_between(times->mono, mono_now());

    wall_format((struct wall){ times->wall.ns + passed }, run->finished);
}
