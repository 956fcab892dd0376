/* Owns sample runs: a model of a receive buffer that overflows, and the account of it. Knows no
 * reader of runs. */
#include "tests/controller/report/make_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"

static const int64_t seed_payloads[] = { 1472, 8192, 16356, 16357, 16384, 65507 };
static const int64_t seed_windows[] = { 1, 16, 64 };
static const int64_t small_payloads[] = { 64, 8192 };
static const int64_t small_windows[] = { 1, 64 };

struct make_shape make_shape_seed(void)
{
    return (struct make_shape){
        .payloads = seed_payloads,
        .payload_count = 6,
        .windows = seed_windows,
        .window_count = 3,
        .repeats = 3,
        .engines = { ENGINE_BATCH },
        .engine_count = 1,
        .clients = 16,
        .io_model = IO_MODEL_SHARED,
        .warmup_s = 0.25,
        .os = "Linux",
        .host_name = "probe-1",
        .rcvbuf_asked = 4 << 20,
        .rcvbuf_limit = 4 << 20,
        .id = 0x5d,
    };
}

struct make_shape make_shape_small(void)
{
    struct make_shape shape = make_shape_seed();

    shape.payloads = small_payloads;
    shape.payload_count = 2;
    shape.windows = small_windows;
    shape.window_count = 2;
    shape.repeats = 2;
    return shape;
}

int64_t make_charge(const struct make_shape *shape, int64_t payload)
{
    int64_t slab = 512;

    if (strcmp(shape->os, "macOS") == 0)
        return payload + 16;
    if (payload >= 16005)
        return payload + 832;
    while (slab < payload + 59 + 320)
        slab *= 2;
    return slab + 256;
}

static char *word(const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        abort();
    return copy;
}

static void add_word(struct list *list, const char *text)
{
    *(char **)list_append_sized(list, sizeof(char *)) = word(text);
}

static void set_text(char *out_text, size_t size, const char *text)
{
    if (!text_copy(out_text, size, text))
        abort();
}

static void make_plan(const struct make_shape *shape, struct plan *plan)
{
    for (size_t i = 0; i < shape->payload_count; i++)
        *(int64_t *)list_append_sized(&plan->payloads, sizeof(int64_t)) = shape->payloads[i];
    for (size_t i = 0; i < shape->window_count; i++)
        *(int64_t *)list_append_sized(&plan->windows, sizeof(int64_t)) = shape->windows[i];
    for (size_t i = 0; i < shape->engine_count; i++)
        *(int *)list_append_sized(&plan->engines, sizeof(int)) = shape->engines[i];
    plan->repeats = shape->repeats;
    plan->idle_s = 1;
    plan->common = (struct case_common){
        .family = FAMILY_IPV4,
        .clients = shape->clients,
        .io_model = shape->io_model,
        .io_threads = 1,
        .warmup_s = shape->warmup_s,
        .seconds = 1,
        .rcvbuf = shape->rcvbuf_asked,
        .sndbuf = 65536,
    };
}

int64_t make_factor(const struct make_shape *shape)
{
    return strcmp(shape->os, "macOS") == 0 ? 1 : 2;
}

const char *make_limit_name(const struct make_shape *shape)
{
    return strcmp(shape->os, "macOS") == 0 ? "kern.ipc.maxsockbuf" : "net.core.rmem_max";
}

static void make_sockets(const struct make_shape *shape, struct case_result *result)
{
    struct case_sockets *sockets = &result->sockets;
    bool capped = shape->rcvbuf_asked > shape->rcvbuf_limit;

    sockets->present = true;
    sockets->rcvbuf.asked = shape->rcvbuf_asked;
    sockets->rcvbuf.granted =
        make_factor(shape) * (capped ? shape->rcvbuf_limit : shape->rcvbuf_asked);
    if (capped)
        set_text(sockets->rcvbuf.limit, sizeof sockets->rcvbuf.limit, make_limit_name(shape));
    sockets->sndbuf.asked = 65536;
    sockets->sndbuf.granted = 65536 * make_factor(shape);
    sockets->bytes_per_datagram = (double)make_charge(shape, result->params.payload);
    sockets->calibration_drops = 3;
    sockets->burst_capacity = sockets->rcvbuf.granted / make_charge(shape, result->params.payload);
}

/* What a fast reader does after the burst: some thousand round trips. */
static int64_t round_trips(const struct case_result *result)
{
    return 400000 / (1 + result->params.payload / 512);
}

static void make_phase(struct case_result *result, size_t hosts, double seconds,
                       struct phase *phase)
{
    int64_t lost = result->first_burst.lost;
    int64_t echoes = result->first_burst.sent - lost + round_trips(result);

    phase->present = true;
    phase->seconds = seconds;
    phase->forward.sent = phase->forward.attempted = echoes + lost;
    phase->forward.received = echoes;
    phase->forward.lost = phase->forward.lost_to.receive_buffer = lost;
    phase->reverse.sent = phase->reverse.attempted = phase->reverse.received = echoes;
    phase->lost_echoes = lost;
    phase->echoes_per_second = lost > 0 ? (double)NAN : (double)echoes / seconds;
    for (size_t i = 0; i < hosts; i++) {
        struct counters *counters = list_append_sized(&phase->counters, sizeof *counters);

        counters_init(counters);
        counters->value[UDP_DELIVERED] = 2 * echoes;
        counters->value[UDP_RECEIVE_BUFFER_FULL] = lost;
    }
}

/* Samples in two buckets, one of them slow. */
static void make_rtt(struct case_result *result)
{
    struct rtt *rtt = &result->rtt_ns;
    int64_t fast = 9000 + 3 * result->params.payload / 8;
    int64_t(*bucket)[2];

    rtt->present = true;
    rtt->clock = RTT_CLOCK_USER;
    rtt->count = result->phases.measure.reverse.received;
    rtt->min = fast;
    rtt->p50 = rtt->p90 = fast + 40;
    rtt->p99 = rtt->count < 100 ? NONE_INT : 8 * fast;
    rtt->p999 = rtt->count < 1000 ? NONE_INT : 8 * fast + 7;
    rtt->max = 9 * fast;
    bucket = list_append_sized(&rtt->histogram, sizeof *bucket);
    (*bucket)[0] = fast;
    (*bucket)[1] = rtt->count - rtt->count / 50;
    bucket = list_append_sized(&rtt->histogram, sizeof *bucket);
    (*bucket)[0] = 8 * fast;
    (*bucket)[1] = rtt->count / 50;
}

static void make_case(const struct make_shape *shape, struct run *run, size_t index)
{
    struct case_result *result = list_append_sized(&run->cases, sizeof *result);
    struct first_burst *first = &result->first_burst;
    int64_t burst;

    record_init(&case_result_record, result);
    result->index = (int64_t)index;
    result->params = plan_case(&run->plan, index);
    make_sockets(shape, result);
    burst = shape->clients * result->params.window;
    first->present = true;
    first->sent = burst;
    first->lost =
        burst > result->sockets.burst_capacity ? burst - result->sockets.burst_capacity : 0;
    first->predicted_lost = shape->io_model == IO_MODEL_SPLIT ? NONE_INT : first->lost;
    if (shape->warmup_s > 0)
        make_phase(result, 1, shape->warmup_s, &result->phases.warmup);
    make_phase(result, 1, 1.0, &result->phases.measure);
    result->status = first->lost > 0 ? CASE_FAIL : CASE_PASS;
    make_rtt(result);
}

/* Dropped in every case, with what calibration costs; what the system-wide counter must have seen
 * at least. */
static int64_t lost_in_all(const struct run *run)
{
    const struct case_result *cases = run->cases.items;
    int64_t lost = 0;

    for (size_t i = 0; i < run->cases.count; i++)
        lost += cases[i].sockets.calibration_drops + cases[i].phases.measure.lost_echoes +
                (cases[i].phases.warmup.present ? cases[i].phases.warmup.lost_echoes : 0);
    return lost;
}

static void make_counters(struct host_counters *counters, int64_t lost)
{
    counters_init(&counters->before);
    counters_init(&counters->after);
    counters_init(&counters->delta);
    counters_init(&counters->idle.delta);
    counters->idle.seconds = 1;
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (i == QDISC_DROPPED) {
            map_add_text(&counters->unavailable, counter_names[i], "no netlink in this test");
            continue;
        }
        counters->before.value[i] = 1000 + i;
        counters->delta.value[i] = 0;
        counters->idle.delta.value[i] = 0;
    }
    counters->delta.value[UDP_DELIVERED] = 5000000;
    counters->delta.value[UDP_SENT] = 5000000 + lost;
    counters->delta.value[UDP_RECEIVE_BUFFER_FULL] = lost + 7;
    counters->idle.delta.value[UDP_DELIVERED] = 3;
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (i != QDISC_DROPPED)
            counters->after.value[i] = counters->before.value[i] + counters->delta.value[i];
    }
}

void make_host(const struct make_shape *shape, int64_t dropped, struct run *run)
{
    struct host *host = list_append_sized(&run->hosts, sizeof *host);

    record_init(&host_record, host);
    set_text(host->name, sizeof host->name, shape->host_name);
    host->role = HOST_LOCAL;
    set_text(host->os, sizeof host->os, shape->os);
    set_text(host->os_release, sizeof host->os_release, "6.18.5");
    set_text(host->arch, sizeof host->arch, "x86_64");
    set_text(host->cpu, sizeof host->cpu, "a processor of this test");
    host->cpus = 4;
    host->memory_bytes = INT64_C(8) << 30;
    map_add_text(&host->libraries, "jansson", "2.14");
    map_add_int(&host->limits, make_limit_name(shape), shape->rcvbuf_limit);
    host->limits_unchanged = true;
    set_text(host->interface.name, sizeof host->interface.name, "lo");
    host->interface.mtu = 65536;
    make_counters(&host->counters, dropped);
}

void make_head(const struct make_shape *shape, enum run_kind kind, struct run *out_run)
{
    const uint8_t random[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, shape->id };

    run_init(out_run, kind);
    set_text(out_run->schema, sizeof out_run->schema, RUN_SCHEMA);
    uuid7_format(INT64_C(1796064250000), random, out_run->id);
    set_text(out_run->tool.name, sizeof out_run->tool.name, "sonde");
    set_text(out_run->tool.version, sizeof out_run->tool.version, "0.1.0");
    memset(out_run->tool.source_sha256, 'a', 64);
    add_word(&out_run->command, "sonde");
    add_word(&out_run->command, run_kind_names[kind]);
    set_text(out_run->started, sizeof out_run->started, "2026-11-30T18:44:10Z");
    set_text(out_run->finished, sizeof out_run->finished, "2026-11-30T18:45:40Z");
}

void make_run(const struct make_shape *shape, struct run *out_run)
{
    size_t cells;

    make_head(shape, RUN_LOOPBACK, out_run);
    make_plan(shape, &out_run->plan);
    cells = plan_case_count(&out_run->plan);
    for (size_t i = 0; i < cells; i++)
        make_case(shape, out_run, i);
    make_host(shape, lost_in_all(out_run), out_run);
}

static void add_counters(struct phase *phase)
{
    struct counters copy;

    if (!phase->present)
        return;
    copy = *(const struct counters *)phase->counters.items;
    *(struct counters *)list_append_sized(&phase->counters, sizeof copy) = copy;
}

void make_pair(const struct make_shape *shape, struct run *run)
{
    struct make_shape other = *shape;

    run->kind = RUN_PAIR;
    other.host_name = "oslo.example";
    make_host(&other, lost_in_all(run), run);
    make_host_at(run, 0)->role = HOST_SENDER;
    make_host_at(run, 1)->role = HOST_ECHO;
    for (size_t i = 0; i < run->cases.count; i++) {
        struct case_result *result = make_case_at(run, i);

        add_counters(&result->phases.warmup);
        add_counters(&result->phases.measure);
        result->sockets.bytes_per_datagram = (double)NAN;
        result->sockets.burst_capacity = NONE_INT;
        result->sockets.calibration_drops = NONE_INT;
    }
}

void make_one_way(struct run *run, size_t index, int64_t error_ns)
{
    make_case_at(run, index)->one_way_ns =
        (struct one_way){ .present = true,
                          .error_ns = error_ns,
                          .forward = { true, 1200000, 1300000, 9000000 },
                          .reverse = { true, 2500000, 2600000, 7000000 } };
}

struct case_result *make_case_at(struct run *run, size_t index)
{
    if (index >= run->cases.count)
        abort();
    return (struct case_result *)run->cases.items + index;
}

struct host *make_host_at(struct run *run, size_t index)
{
    if (index >= run->hosts.count)
        abort();
    return (struct host *)run->hosts.items + index;
}

void make_case_error(struct run *run, size_t index, const char *error)
{
    struct case_result *result = make_case_at(run, index);
    struct case_params params = result->params;

    record_done(&case_result_record, result);
    result->index = (int64_t)index;
    result->params = params;
    result->status = CASE_ERROR;
    set_text(result->error, sizeof result->error, error);
}

void make_interrupted(struct run *run, size_t count)
{
    while (run->cases.count > count) {
        record_done(&case_result_record, make_case_at(run, run->cases.count - 1));
        run->cases.count--;
    }
    run->interrupted = true;
}
