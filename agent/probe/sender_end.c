/* Owns the sender's end of a case between two hosts. Knows no message and no controller. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/end_base.h"
#include "proto/base/memory.h"

enum { HELLO_READS = 64, TICK_MS = 100 };

struct sender_end {
    struct end_base base;
    int *fds;
    size_t clients, threads;
    struct sender **senders;
    struct hello hello;
    int64_t unreachable; /* "port unreachable" that came while it said hello */
    int refused;         /* errno of a hello that the kernel did not take */
    bool measured;
    /* Of the measure phase. */
    struct histogram rtt;
    struct delays there, back;
};

/* --- sockets -------------------------------------------------------------------------------- */

/* The source address that the system has chosen towards the target. */
static void note_local(struct sender_end *end)
{
    struct addr local;

    memset(&local, 0, sizeof local);
    local.length = sizeof local.socket;
    if (getsockname(end->fds[0], &local.socket.any, &local.length) == 0)
        end->base.local = local;
}

static enum status open_clients(struct sender_end *end, struct fault *fault)
{
    const struct case_common *common = &end->base.order.params.common;
    struct addr any_port;
    enum status status =
        addr_parse(common->family == FAMILY_IPV4 ? "0.0.0.0:0" : "[::]:0", &any_port, fault);

    for (size_t i = 0; i < end->clients && status == STATUS_OK; i++) {
        struct sized_socket client;

        status = sized_socket_open(&any_port, common, &client, fault);
        if (status != STATUS_OK)
            return status;
        end->fds[i] = client.fd;
        end->base.rcvbuf = client.rcvbuf;
        end->base.sndbuf = client.sndbuf;
        status = socket_connect(client.fd, &end->base.peer, fault);
    }
    if (status == STATUS_OK)
        note_local(end);
    return status;
}

static struct phase_roles roles_of(const struct sender_end *end)
{
    return (struct phase_roles){ .echo_fd = -1,
                                 .senders = end->senders,
                                 .threads = end->threads,
                                 .client_fds = end->fds,
                                 .clients = end->clients };
}

static enum status set_up(struct sender_end *end, const struct addr *target, struct fault *fault)
{
    const struct case_params *params = &end->base.order.params;
    struct phase_roles roles;
    enum status status;

    if (addr_family(target) != params->common.family)
        return fault_set(fault, STATUS_INVALID, "the target is no %s address",
                         family_name(params->common.family));
    end->base.peer = *target;
    status = open_clients(end, fault);
    if (status != STATUS_OK)
        return status;
    roles = roles_of(end);
    phase_make_senders(&roles, end->base.engine, (size_t)params->payload);
    return STATUS_OK;
}

enum status sender_end_new(const struct end_order *order, const struct addr *target,
                           struct sender_end **out_end, struct fault *fault)
{
    struct sender_end *end = memory_new(1, sizeof *end);
    enum status status;

    end->clients = (size_t)order->params.common.clients;
    end->threads = phase_threads(&order->params.common);
    end->fds = memory_new(end->clients, sizeof *end->fds);
    for (size_t i = 0; i < end->clients; i++)
        end->fds[i] = -1;
    end->senders = memory_new(end->threads, sizeof(struct sender *));
    status = end_base_init(&end->base, order, HOST_SENDER, fault);
    if (status == STATUS_OK)
        status = set_up(end, target, fault);
    if (status != STATUS_OK)
        sender_end_free(end);
    else
        *out_end = end;
    return status;
}

void sender_end_free(struct sender_end *end)
{
    if (end == NULL)
        return;
    for (size_t i = 0; i < end->threads; i++)
        sender_free(end->senders[i]);
    for (size_t i = 0; i < end->clients; i++) {
        if (end->fds[i] >= 0)
            close(end->fds[i]);
    }
    end_base_done(&end->base);
    free(end->fds);
    free(end->senders);
    free(end);
}

/* --- the agreement -------------------------------------------------------------------------- */

/* An ICMP error is a hint that goes into the words; the port may open a moment later. */
static void note_error(struct sender_end *end, int error)
{
    if (error == ECONNREFUSED)
        end->unreachable++;
    else if (error != EAGAIN && error != EINTR)
        end->refused = error;
}

static void say_hello(struct sender_end *end, struct mono now)
{
    uint8_t bytes[HELLO_SIZE], random[12];
    int tries = 2; /* an ECONNREFUSED belongs to an earlier one */

    digest_random(random, sizeof random);
    if (!hello_send(&end->hello, random, now, bytes))
        return;
    while (tries-- > 0 && send(end->fds[0], bytes, sizeof bytes, MSG_DONTWAIT) < 0) {
        note_error(end, errno);
        if (errno != ECONNREFUSED)
            return;
    }
}

static void hear_answers(struct sender_end *end)
{
    uint8_t bytes[HELLO_SIZE + 1];

    for (int i = 0; i < HELLO_READS; i++) {
        ssize_t length = recv(end->fds[0], bytes, sizeof bytes, MSG_DONTWAIT);

        if (length >= 0)
            hello_receive(&end->hello, bytes, (size_t)length, mono_now());
        else if (errno == EAGAIN)
            return;
        else
            note_error(end, errno);
    }
}

/* Until something came, the next hello is due, or it is time for the owner to look in. */
static void wait_for_answer(struct sender_end *end, const struct phase_watch *watch,
                            struct mono *ticked_at)
{
    struct pollfd look[] = { { .fd = end->fds[0], .events = POLLIN },
                             { .fd = watch->wake_fd, .events = POLLIN } };
    int64_t left = mono_between(mono_now(), hello_due(&end->hello));
    int64_t ms = left <= 0 ? 0 : (left + NS_PER_MS - 1) / NS_PER_MS;
    int ready = poll(look, watch->wake_fd > 0 ? 2 : 1, ms < TICK_MS ? (int)ms : TICK_MS);

    if (ready > 0 && look[0].revents != 0)
        hear_answers(end);
    if (watch->tick != NULL && ((ready > 0 && look[1].revents != 0) ||
                                mono_between(*ticked_at, mono_now()) >= TICK_MS * NS_PER_MS)) {
        watch->tick(watch->context);
        *ticked_at = mono_now();
    }
}

static enum status no_agreement(const struct sender_end *end, struct fault *fault)
{
    char target[ADDR_TEXT_SIZE], hint[128] = "";

    addr_format(&end->base.peer, target);
    if (end->unreachable > 0)
        snprintf(hint, sizeof hint, ", \"port unreachable\" came %lld times",
                 (long long)end->unreachable);
    else if (end->refused != 0)
        snprintf(hint, sizeof hint, ", this host's kernel says: %s", strerror(end->refused));
    return fault_set(fault, STATUS_NOT_FOUND,
                     "%lld hellos to %s, %lld answered, no agreement%s: is the echo role running "
                     "there, is the port right, does a firewall drop UDP?",
                     (long long)end->hello.sent, target, (long long)end->hello.answered, hint);
}

enum status sender_end_agree(struct sender_end *end, const struct phase_watch *watch,
                             struct fault *fault)
{
    struct mono now = mono_now();
    struct mono ticked_at = now;

    hello_init(&end->hello, &end->base.key, end->base.order.ssid, now);
    while (!end->hello.agreed) {
        if (watch->stop != NULL && atomic_load(watch->stop))
            return fault_set(fault, STATUS_INTERRUPTED, "interrupted while saying hello");
        if (hello_failed(&end->hello, now))
            return no_agreement(end, fault);
        say_hello(end, now);
        wait_for_answer(end, watch, &ticked_at);
        now = mono_now();
    }
    return STATUS_OK;
}

/* On a path that is slow the first echo of a short phase comes when its time is long over. */
static int64_t least_drain_ns(const struct sender_end *end)
{
    int64_t slow = PHASE_DRAIN_RTTS * end->hello.rtt_ns;

    return slow > END_DRAIN_NS ? slow : END_DRAIN_NS;
}

/* --- phases --------------------------------------------------------------------------------- */

static enum status run_senders(struct sender_end *end, enum phase_kind kind,
                               const struct phase_watch *watch, struct phase_times *out_times,
                               struct fault *fault)
{
    const struct case_params *params = &end->base.order.params;
    const struct phase_roles roles = roles_of(end);
    const struct phase_order order = {
        .common = &params->common,
        .seconds = kind == PHASE_WARMUP ? params->common.warmup_s : params->common.seconds,
        .drain_ns = least_drain_ns(end),
        .watch = watch,
    };
    enum status status;

    end_base_begin(&end->base, kind);
    for (size_t i = 0; i < end->threads; i++)
        sender_begin(end->senders[i], &end->base.session, (size_t)params->window);
    status = phase_run(&roles, &order, out_times, fault);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED)
        return status;
    for (size_t i = 0; i < end->threads; i++)
        sender_sweep(end->senders[i]);
    return status;
}

static void gather(struct sender_end *end, enum phase_kind kind, const struct phase_times *times,
                   struct half_phase *half)
{
    bool open_loop = end->base.order.params.common.interval_ns > 0;
    struct histogram *rtt = memory_new(1, sizeof *rtt);

    histogram_init(rtt);
    for (size_t i = 0; i < end->threads; i++) {
        sender_account(end->senders[i], &half->forward, &half->reverse, rtt);
        half->first_burst += (int64_t)sender_burst_sent(end->senders[i]);
    }
    half->slip_ns = open_loop ? times->pace.slip_ns : NONE_INT;
    half->skipped_bursts = open_loop ? times->pace.skipped : NONE_INT;
    if (kind == PHASE_MEASURE) {
        end->rtt = *rtt;
        end->there = end->back = (struct delays){ 0 };
        for (size_t i = 0; i < end->threads; i++)
            sender_delays(end->senders[i], &end->there, &end->back);
        end->measured = true;
    }
    free(rtt);
}

enum status sender_end_phase(struct sender_end *end, enum phase_kind kind,
                             const struct phase_watch *watch, struct half_phase *out_half,
                             struct fault *fault)
{
    struct end_sample before, after;
    struct phase_times times;
    enum status status, sampled;

    assert(end->hello.agreed);
    status = end_sample_take(end->fds, end->clients, &before, fault);
    if (status != STATUS_OK)
        return status;
    status = run_senders(end, kind, watch, &times, fault);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED)
        return status;
    sampled = end_sample_take(end->fds, end->clients, &after, fault);
    if (sampled != STATUS_OK)
        return sampled;
    end_half_fill(out_half, &before, &after, &times);
    gather(end, kind, &times, out_half);
    return status;
}

void sender_end_progress(const struct sender_end *end, int64_t *out_sent, int64_t *out_received)
{
    *out_sent = *out_received = 0;
    for (size_t i = 0; i < end->threads; i++) {
        int64_t sent, received;

        sender_progress(end->senders[i], &sent, &received);
        *out_sent += sent;
        *out_received += received;
    }
}

enum status sender_end_report(struct sender_end *end, struct report *report, struct fault *fault)
{
    enum status status = end_base_report(&end->base, report, fault);

    if (status != STATUS_OK)
        return status;
    report->role = END_SENDER;
    report->agreement =
        (struct agreement){ .present = true,
                            .hellos_sent = end->hello.sent,
                            .hellos_answered = end->hello.answered,
                            .rtt_ns = end->hello.confirming ? end->hello.rtt_ns : NONE_INT,
                            .strangers = NONE_INT };
    if (end->measured) {
        report->rtt_ns.present = true;
        report->rtt_ns.clock = RTT_CLOCK_USER;
        histogram_to_rtt(&end->rtt, &report->rtt_ns);
    }
    if (end->there.count > 0)
        report->one_way_ns = (struct one_way_seen){ .present = true,
                                                    .count = end->there.count,
                                                    .forward = delays_summary(&end->there),
                                                    .reverse = delays_summary(&end->back) };
    return STATUS_OK;
}
