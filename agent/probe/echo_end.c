/* Owns the echo's end of a case between two hosts. Knows no message and no controller. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/host/datagram.h"
#include "agent/probe/end_base.h"
#include "proto/base/memory.h"

enum { GREETING_READS = 64 };

struct echo_end {
    struct end_base base;
    struct echo_end_place place;
    int fd;
    uint16_t port;
    struct greeting greeting;
    int64_t strangers; /* that came outside of phases */
    struct echo *echo;
    struct echo_worker **workers;
    size_t threads;
};

/* --- the socket ----------------------------------------------------------------------------- */

static bool may_join(void *context, const struct addr *peer)
{
    const struct echo_end *end = context;

    return greeting_confirmed(&end->greeting, peer);
}

static enum status set_up(struct echo_end *end, struct fault *fault)
{
    const struct case_params *params = &end->base.order.params;
    const struct port_range ports = { end->place.first_port, end->place.last_port };
    struct sized_socket opened = { .fd = -1 };
    enum status status;

    if (addr_family(&end->place.bind_to) != params->common.family)
        return fault_set(fault, STATUS_INVALID, "the echo role's address is no %s address",
                         family_name(params->common.family));
    status = sized_socket_open_in(&end->place.bind_to, ports, &params->common, &opened, fault);
    if (status != STATUS_OK)
        return status;
    end->fd = opened.fd;
    end->port = addr_port(&opened.bound);
    end->base.rcvbuf = opened.rcvbuf;
    end->base.sndbuf = opened.sndbuf;
    status = datagram_ask_local(end->fd, params->common.family, fault);
    if (status != STATUS_OK)
        return status;
    greeting_init(&end->greeting, &end->base.key, end->base.order.ssid);
    end->echo =
        echo_new(end->fd, end->base.engine, (size_t)params->common.clients, (size_t)params->window);
    echo_open_to(end->echo, may_join, end);
    for (size_t i = 0; i < end->threads; i++)
        end->workers[i] = echo_worker_new(end->echo, (size_t)params->payload);
    return STATUS_OK;
}

enum status echo_end_new(const struct end_order *order, const struct echo_end_place *place,
                         struct echo_end **out_end, struct fault *fault)
{
    struct echo_end *end = memory_new(1, sizeof *end);
    enum status status;

    end->place = *place;
    end->fd = -1;
    end->threads = phase_threads(&order->params.common);
    end->workers = memory_new(end->threads, sizeof(struct echo_worker *));
    status = end_base_init(&end->base, order, HOST_ECHO, fault);
    if (status == STATUS_OK)
        status = set_up(end, fault);
    if (status != STATUS_OK)
        echo_end_free(end);
    else
        *out_end = end;
    return status;
}

void echo_end_free(struct echo_end *end)
{
    if (end == NULL)
        return;
    for (size_t i = 0; i < end->threads; i++)
        echo_worker_free(end->workers[i]);
    echo_free(end->echo);
    if (end->fd >= 0)
        close(end->fd);
    end_base_done(&end->base);
    free(end->workers);
    free(end);
}

uint16_t echo_end_port(const struct echo_end *end)
{
    return end->port;
}

/* --- hellos --------------------------------------------------------------------------------- */

/* One that did not get through is asked for again. */
static void greet(struct echo_end *end, struct datagram *datagram)
{
    struct iovec *bytes = &datagram->part[0];
    const struct iovec room = *bytes;
    uint8_t random[12];
    int error;

    digest_random(random, sizeof random);
    if (datagram->length != HELLO_SIZE ||
        (end->place.may_guest != NULL &&
         !end->place.may_guest(end->place.context, datagram->peer)) ||
        greeting_receive(&end->greeting, datagram->peer, random, bytes->iov_base,
                         datagram->length) != GREETING_ANSWER) {
        end->strangers++;
        return;
    }
    if (end->base.peer.length == 0 && greeting_confirmed(&end->greeting, datagram->peer)) {
        end->base.peer = *datagram->peer;
        end->base.local = *datagram->local;
        if (end->base.local.length > 0)
            addr_set_port(&end->base.local, end->port);
    }
    bytes->iov_len = HELLO_SIZE;
    datagram_send_single(end->fd, datagram, 1, &error);
    *bytes = room;
}

/* A few at a time, so that a flood does not keep the owner out. */
static void greet_present(struct echo_end *end)
{
    uint8_t bytes[HELLO_SIZE + 1];
    struct addr peer, local;
    struct datagram datagram = {
        .part = { { bytes, sizeof bytes } },
        .parts = 1,
        .peer = &peer,
        .local = &local,
    };
    int error;

    for (int i = 0; i < GREETING_READS; i++) {
        if (datagram_receive_single(end->fd, &datagram, 1, &error) == 0)
            return;
        greet(end, &datagram);
    }
}

void echo_end_wait(struct echo_end *end, int wake_fd, int64_t timeout_ns)
{
    struct pollfd look[] = { { .fd = wake_fd, .events = POLLIN },
                             { .fd = end->fd, .events = POLLIN } };
    struct mono until = mono_after(mono_now(), timeout_ns);
    int64_t left = timeout_ns;

    do {
        int64_t ms = left <= 0 ? 0 : (left + NS_PER_MS - 1) / NS_PER_MS;

        if (poll(look, 2, ms < INT32_MAX ? (int)ms : INT32_MAX) > 0) {
            if (look[1].revents != 0)
                greet_present(end);
            if (look[0].revents != 0)
                return;
        }
    } while ((left = mono_between(mono_now(), until)) > 0);
}

/* --- phases --------------------------------------------------------------------------------- */

static enum status run_echo(struct echo_end *end, const struct phase_watch *watch,
                            struct phase_times *out_times, struct fault *fault)
{
    const struct case_common *common = &end->base.order.params.common;
    const struct phase_roles roles = { .echo_fd = end->fd,
                                       .echo_workers = end->workers,
                                       .threads = end->threads };
    const struct phase_order order = { .common = common, .watch = watch };
    enum status status;

    echo_begin(end->echo, &end->base.session, common->work_ns);
    for (size_t i = 0; i < end->threads; i++)
        echo_worker_begin(end->workers[i]);
    status = phase_run(&roles, &order, out_times, fault);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED)
        return status;
    for (size_t i = 0; i < end->threads; i++)
        echo_sweep(end->workers[i]);
    return status;
}

enum status echo_end_phase(struct echo_end *end, enum phase_kind kind,
                           const struct phase_watch *watch, struct half_phase *out_half,
                           struct fault *fault)
{
    struct end_sample before, after;
    struct phase_times times;
    enum status status, sampled;

    end_base_begin(&end->base, kind);
    status = end_sample_take(&end->fd, 1, &before, fault);
    if (status != STATUS_OK)
        return status;
    status = run_echo(end, watch, &times, fault);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED)
        return status;
    sampled = end_sample_take(&end->fd, 1, &after, fault);
    if (sampled != STATUS_OK)
        return sampled;
    end_half_fill(out_half, &before, &after, &times);
    out_half->slip_ns = out_half->skipped_bursts = NONE_INT;
    for (size_t i = 0; i < end->threads; i++)
        echo_worker_account(end->workers[i], &out_half->forward, &out_half->reverse);
    out_half->first_burst = echo_arrived_of_first(end->echo, end->base.order.params.window);
    return status;
}

enum status echo_end_report(struct echo_end *end, struct report *report, struct fault *fault)
{
    enum status status = end_base_report(&end->base, report, fault);

    if (status != STATUS_OK)
        return status;
    report->role = END_ECHO;
    report->agreement = (struct agreement){ .present = true,
                                            .hellos_sent = end->greeting.hellos,
                                            .hellos_answered = end->greeting.answered,
                                            .rtt_ns = NONE_INT,
                                            .strangers = end->strangers };
    return STATUS_OK;
}
