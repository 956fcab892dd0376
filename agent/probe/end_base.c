/* Owns what both ends of a case do alike: session, samples, the report's common parts. */
#include "agent/probe/end_base.h"

#include "agent/host/addresses.h"
#include "agent/host/machine.h"
#include "agent/host/wall_state.h"
#include "agent/probe/loopback.h"
#include "agent/probe/run_frame.h"
#include "agent/probe/system_count.h"

/* As fast as the kernels' NTP code (MAXFREQ) lets a clock's error grow. */
#define DRIFT_PER_S (500 * NS_PER_US)

/* An order has been admitted; what would not be a session all the same is refused. */
static enum status check(const struct end_order *order, struct fault *fault)
{
    int64_t left = machine_descriptors_left();
    int64_t needed = loopback_descriptors(&order->params.common);

    if (order->ssid == 0 || order->ssid > UINT16_MAX - PART_COUNT + 1)
        return fault_set(fault, STATUS_INVALID, "ssid %d: 1 to %d is allowed", order->ssid,
                         UINT16_MAX - PART_COUNT + 1);
    if (!stamp_size_ok(STAMP_AUTHENTICATED, (size_t)order->params.payload))
        return fault_set(
            fault, STATUS_INVALID, "payload %lld: between hosts it is %d, or at least %d bytes",
            (long long)order->params.payload, STAMP_AUTHENTICATED_SIZE, STAMP_HEAD_MAX);
    if (left < needed)
        return fault_set(
            fault, STATUS_NO_RESOURCE, "%lld clients need %lld descriptors, %lld are left",
            (long long)order->params.common.clients, (long long)needed, (long long)left);
    return STATUS_OK;
}

/* The wall clock is read between two readings of the other: half of the gap is what it costs. */
static void read_clocks(struct end_base *base)
{
    struct mono before = mono_now();
    struct wall wall = wall_now();
    int64_t gap = mono_between(before, mono_now());

    base->ground.timebase = (struct timebase){ wall, mono_after(before, gap / 2) };
    wall_state(&base->clock);
    if (base->clock.max_error_ns != NONE_INT)
        base->clock.max_error_ns += (gap + 1) / 2;
}

enum status end_base_init(struct end_base *base, const struct end_order *order, enum host_role role,
                          struct fault *fault)
{
    const struct idle_watch watch = { .stop = order->stop };
    enum status status;

    base->order = *order;
    record_init(&host_record, &base->host);
    status = check(order, fault);
    if (status != STATUS_OK)
        return status;
    base->engine = engine_find(order->params.engine, fault);
    if (base->engine == NULL)
        return STATUS_UNSUPPORTED;
    digest_key_init(&base->key, order->key, sizeof order->key);
    pattern_init(&base->pattern, session_seed(order->key));
    base->ground = (struct session_ground){ .format = { STAMP_AUTHENTICATED, &base->key },
                                            .pattern = &base->pattern,
                                            .hello_ssid = order->ssid };
    read_clocks(base);
    machine_describe(&base->host);
    base->host.role = role;
    if (order->idle_s > 0)
        status = run_frame_idle(order->idle_s, &watch, &base->host, fault);
    return status == STATUS_OK ? run_frame_open(&base->host, fault) : status;
}

void end_base_done(struct end_base *base)
{
    record_done(&host_record, &base->host);
}

void end_base_begin(struct end_base *base, enum phase_kind kind)
{
    enum session_part part = kind == PHASE_WARMUP ? PART_WARMUP : PART_MEASURE;

    session_init(&base->session, (uint16_t)(base->order.ssid + part),
                 (size_t)base->order.params.payload, &base->ground);
}

enum status end_sample_take(const int *fds, size_t count, struct end_sample *out_sample,
                            struct fault *fault)
{
    out_sample->sockets = evidence_drops(fds, count);
    return system_counters(&out_sample->counters, fault);
}

void end_half_fill(struct half_phase *half, const struct end_sample *before,
                   const struct end_sample *after, const struct phase_times *times)
{
    struct socket_evidence sockets;

    half->present = true;
    half->seconds = (double)times->active_ns / (double)NS_PER_S;
    half->stall_ns = times->stall_ns;
    half->counters = evidence_counters(&before->counters, &after->counters);
    sockets = evidence_between(&before->sockets, &after->sockets, &half->counters);
    half->per_socket = sockets.per_socket;
    half->drops = sockets.drops;
}

/* What the kernel said, and what it adds itself in such a time while nobody tells it better. */
static struct clock_report clock_by_now(const struct end_base *base)
{
    struct clock_report clock = base->clock;
    int64_t since = mono_between(base->ground.timebase.mono, mono_now());

    if (clock.max_error_ns != NONE_INT)
        clock.max_error_ns += (since / NS_PER_S + 1) * DRIFT_PER_S;
    return clock;
}

enum status end_base_report(struct end_base *base, struct report *report, struct fault *fault)
{
    enum status status = run_frame_close(&base->host, fault);

    report->clock = clock_by_now(base);
    if (status != STATUS_OK)
        return status;
    report->params = base->order.params;
    if (base->local.length > 0) {
        addr_format(&base->local, report->local);
        addresses_interface(&base->local, &base->host.interface);
    }
    if (base->peer.length > 0)
        addr_format(&base->peer, report->peer);
    report->rcvbuf = base->rcvbuf;
    report->sndbuf = base->sndbuf;
    record_done(&host_record, &report->host);
    report->host = base->host;
    record_init(&host_record, &base->host);
    return STATUS_OK;
}
