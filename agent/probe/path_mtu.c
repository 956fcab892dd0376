/* Owns the life of an end: its sockets, its session, this host. Must not know how one probes. */
#include "agent/probe/path_mtu.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/machine.h"
#include "agent/host/socket.h"
#include "agent/probe/evidence.h"
#include "agent/probe/path_mtu_part.h"
#include "agent/probe/run_frame.h"
#include "proto/base/memory.h"

enum { SPARE_DESCRIPTORS = 8 };

static enum status check(const struct path_mtu_order *order, struct fault *fault)
{
    int64_t left = machine_descriptors_left();

    if (order->ssid == 0 || order->ssid > UINT16_MAX - PART_COUNT + 1)
        return fault_set(fault, STATUS_INVALID, "ssid %d: 1 to %d is allowed", order->ssid,
                         UINT16_MAX - PART_COUNT + 1);
    if (order->flows < 1 || order->flows > PATH_MTU_FLOWS)
        return fault_set(fault, STATUS_RANGE, "%lld flows: 1 to %d are allowed",
                         (long long)order->flows, PATH_MTU_FLOWS);
    if (left < order->flows + SPARE_DESCRIPTORS)
        return fault_set(fault, STATUS_NO_RESOURCE,
                         "%lld flows need %lld descriptors, %lld are left", (long long)order->flows,
                         (long long)order->flows + SPARE_DESCRIPTORS, (long long)left);
    return STATUS_OK;
}

static enum status begin(struct path_mtu *end, const struct path_mtu_order *order,
                         struct fault *fault)
{
    struct session_ground ground = { .format = { STAMP_AUTHENTICATED, &end->key },
                                     .pattern = &end->pattern,
                                     .timebase = { wall_now(), mono_now() },
                                     .hello_ssid = order->ssid };
    enum status status = check(order, fault);

    if (status != STATUS_OK)
        return status;
    end->order = *order;
    end->count = (size_t)order->flows;
    end->flows = memory_new(end->count, sizeof *end->flows);
    for (size_t i = 0; i < end->count; i++) {
        end->flows[i].index = i;
        end->flows[i].fd = -1;
        end->flows[i].family = end->family;
    }
    end->room = memory_new(1, PAYLOAD_MAX_IPV6);
    end->pace = SEARCH_PACE;
    digest_key_init(&end->key, order->key, sizeof order->key);
    pattern_init(&end->pattern, session_seed(order->key));
    mtu_speech_init(&end->speech, &ground, end->is_listener);
    greeting_init(&end->greeting, &end->key, order->ssid);
    machine_describe(&end->host);
    end->host.role = end->is_listener ? HOST_ECHO : HOST_SENDER;
    return run_frame_open(&end->host, fault);
}

static struct path_mtu *new_end(bool is_listener, enum family family)
{
    struct path_mtu *end = memory_new(1, sizeof *end);

    end->is_listener = is_listener;
    end->family = family;
    end->fd = -1;
    record_init(&host_record, &end->host);
    return end;
}

void path_mtu_free(struct path_mtu *end)
{
    if (end == NULL)
        return;
    for (size_t i = 0; i < end->count; i++) {
        search_free(end->flows[i].search);
        if (!end->is_listener && end->flows[i].fd >= 0)
            close(end->flows[i].fd);
    }
    if (end->fd >= 0)
        close(end->fd);
    record_done(&host_record, &end->host);
    free(end->flows);
    free(end->room);
    free(end);
}

static struct case_common buffers_of(const struct path_mtu *end)
{
    int64_t bytes = end->order.buffer > 0 ? end->order.buffer : PATH_MTU_BUFFER;

    return (struct case_common){ .rcvbuf = bytes, .sndbuf = bytes };
}

/* --- the caller ------------------------------------------------------------------------------- */

static enum status open_flow(struct path_mtu *end, struct lane *flow, struct fault *fault)
{
    const struct case_common sizes = buffers_of(end);
    struct sized_socket opened = { .fd = -1 };
    struct addr any_port;
    enum status status =
        addr_parse(end->family == FAMILY_IPV4 ? "0.0.0.0:0" : "[::]:0", &any_port, fault);

    if (status == STATUS_OK)
        status = sized_socket_open(&any_port, &sizes, &opened, fault);
    if (status != STATUS_OK)
        return status;
    flow->fd = opened.fd;
    flow->peer = end->target;
    status = socket_connect(flow->fd, &end->target, fault);
    return status == STATUS_OK ? mtu_socket_prepare(end, flow->fd, fault) : status;
}

enum status path_mtu_call(const struct path_mtu_order *order, const struct addr *target,
                          struct path_mtu **out_end, struct fault *fault)
{
    struct path_mtu *end = new_end(false, addr_family(target));
    enum status status = begin(end, order, fault);

    end->target = *target;
    for (size_t i = 0; i < end->count && status == STATUS_OK; i++)
        status = open_flow(end, &end->flows[i], fault);
    if (status != STATUS_OK)
        path_mtu_free(end);
    else
        *out_end = end;
    return status;
}

/* --- the listener ----------------------------------------------------------------------------- */

enum status path_mtu_listen(const struct path_mtu_order *order, const struct echo_end_place *place,
                            struct path_mtu **out_end, struct fault *fault)
{
    const struct port_range ports = { place->first_port, place->last_port };
    struct path_mtu *end = new_end(true, addr_family(&place->bind_to));
    struct sized_socket opened = { .fd = -1 };
    enum status status = begin(end, order, fault);
    const struct case_common sizes = buffers_of(end);

    end->place = *place;
    if (status == STATUS_OK)
        status = sized_socket_open_in(&place->bind_to, ports, &sizes, &opened, fault);
    if (status == STATUS_OK) {
        end->fd = opened.fd;
        end->port = addr_port(&opened.bound);
        for (size_t i = 0; i < end->count; i++)
            end->flows[i].fd = end->fd;
        status = mtu_socket_prepare(end, end->fd, fault);
    }
    if (status != STATUS_OK)
        path_mtu_free(end);
    else
        *out_end = end;
    return status;
}

uint16_t path_mtu_port(const struct path_mtu *end)
{
    return end->port;
}

/* --- what it knows ---------------------------------------------------------------------------- */

void path_mtu_answered(const struct path_mtu *end, struct path_mtu_answered *out_answered)
{
    *out_answered = end->answered;
}

void path_mtu_progress(const struct path_mtu *end, size_t flow, struct search_result *out_result)
{
    assert(flow < end->count);
    if (end->flows[flow].search != NULL)
        search_result(end->flows[flow].search, out_result);
    else if (end->flows[flow].result != NULL)
        *out_result = end->flows[flow].result->search;
}

static bool is_known(const struct lane *flow)
{
    return flow->search == NULL || search_state(flow->search) >= SEARCH_WATCHING;
}

void path_mtu_summarize(const struct path_mtu *end, struct path_mtu_summary *out_summary)
{
    struct path_mtu_summary summary = { .low = NONE_INT, .high = NONE_INT };

    for (size_t i = 0; i < end->count; i++) {
        const struct lane *flow = &end->flows[i];
        struct search_result search = { .datagrams = 0 };

        path_mtu_progress(end, i, &search);
        summary.sent += search.datagrams - search.refused + mtu_sizes_sent(flow);
        summary.received += flow->received;
        if (search.path_mtu > 0 && (summary.low == NONE_INT || search.path_mtu < summary.low))
            summary.low = search.path_mtu;
        if (search.next_size > 0 && (summary.high == NONE_INT || search.next_size < summary.high))
            summary.high = search.next_size;
        summary.flows_done += is_known(flow);
    }
    *out_summary = summary;
}

void path_mtu_flows_done(struct path_mtu_flow *flows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(flows[i].loss_by_size.items);
        flows[i].loss_by_size = (struct list){ 0 };
    }
}

/* --- answering -------------------------------------------------------------------------------- */

enum status path_mtu_answer(struct path_mtu *end, const struct phase_watch *watch,
                            struct fault *fault)
{
    const struct mtu_loop loop = { .until = { INT64_MAX } };

    if (watch->ready != NULL)
        watch->ready(watch->context);
    return mtu_loop_run(end, &loop, watch, fault);
}

enum status path_mtu_host(struct path_mtu *end, struct host *out_host, struct fault *fault)
{
    enum status status = run_frame_close(&end->host, fault);

    if (status != STATUS_OK)
        return status;
    record_done(&host_record, out_host);
    *out_host = end->host;
    record_init(&host_record, &end->host);
    return STATUS_OK;
}
