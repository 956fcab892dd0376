/* Owns a loopback case: its sockets, its phases, and the account that comes of them. */
#include "agent/probe/loopback.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/calibrate.h"
#include "agent/probe/evidence.h"
#include "agent/probe/system_count.h"
#include "proto/base/digest.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

enum { DESCRIPTORS_BESIDE = 32 }; /* pollers, pipes, files of /proc */

struct loopback {
    struct pattern pattern;
    struct timebase timebase;
    uint16_t next_ssid;
};

/* One case while it is measured. */
struct trial {
    struct loopback *loopback;
    const struct case_params *params;
    const struct phase_watch *watch;
    struct calibration calibration;
    int echo_fd;
    int *client_fds;
    struct echo *echo;
    struct echo_worker **workers;
    struct sender **senders;
    size_t threads;
};

/* What is sampled right before and right after a phase. */
struct sample {
    struct socket_evidence echo, clients;
    struct counters counters;
};

struct loopback *loopback_new(struct wall wall_now)
{
    struct loopback *loopback = memory_new(1, sizeof *loopback);
    uint64_t seed;

    digest_random(&seed, sizeof seed);
    pattern_init(&loopback->pattern, seed);
    digest_random(&loopback->next_ssid, sizeof loopback->next_ssid);
    loopback->timebase = (struct timebase){ .wall = wall_now, .mono = mono_now() };
    return loopback;
}

void loopback_free(struct loopback *loopback)
{
    free(loopback);
}

int64_t loopback_descriptors(const struct case_common *common)
{
    return common->clients + 2 * common->io_threads + DESCRIPTORS_BESIDE;
}

static uint16_t next_ssid(struct loopback *loopback)
{
    if (++loopback->next_ssid == 0)
        loopback->next_ssid = 1;
    return loopback->next_ssid;
}

/* --- sockets -------------------------------------------------------------------------------- */

static enum status open_clients(struct trial *trial, const struct addr *echo_addr,
                                struct case_sockets *out_sockets, struct fault *fault)
{
    const struct case_common *common = &trial->params->common;
    const struct addr any_port = addr_loopback(common->family, 0);
    enum status status = STATUS_OK;

    for (int64_t i = 0; i < common->clients && status == STATUS_OK; i++) {
        struct sized_socket client;

        status = sized_socket_open(&any_port, common, &client, fault);
        if (status != STATUS_OK)
            return status;
        trial->client_fds[i] = client.fd;
        out_sockets->sndbuf = client.sndbuf;
        status = socket_connect(client.fd, echo_addr, fault);
        if (status == STATUS_OK)
            echo_admit(trial->echo, &client.bound);
    }
    return status;
}

static struct phase_roles roles_of(const struct trial *trial)
{
    return (struct phase_roles){ .echo_fd = trial->echo_fd,
                                 .echo_workers = trial->workers,
                                 .senders = trial->senders,
                                 .threads = trial->threads,
                                 .client_fds = trial->client_fds,
                                 .clients = (size_t)trial->params->common.clients };
}

static void make_roles(struct trial *trial, const struct engine *engine)
{
    const struct phase_roles roles = roles_of(trial);

    phase_make_senders(&roles, engine, (size_t)trial->params->payload);
    for (size_t i = 0; i < trial->threads; i++)
        trial->workers[i] = echo_worker_new(trial->echo, (size_t)trial->params->payload);
}

static void trial_init(struct trial *trial, struct loopback *loopback,
                       const struct case_params *params, const struct phase_watch *watch)
{
    size_t clients = (size_t)params->common.clients;

    *trial = (struct trial){ .loopback = loopback,
                             .params = params,
                             .watch = watch,
                             .echo_fd = -1,
                             .threads = phase_threads(&params->common) };
    trial->client_fds = memory_new(clients, sizeof *trial->client_fds);
    for (size_t i = 0; i < clients; i++)
        trial->client_fds[i] = -1;
    trial->workers = memory_new(trial->threads, sizeof *trial->workers);
    trial->senders = memory_new(trial->threads, sizeof *trial->senders);
}

static void trial_done(struct trial *trial)
{
    for (size_t i = 0; i < trial->threads; i++) {
        echo_worker_free(trial->workers[i]);
        sender_free(trial->senders[i]);
    }
    echo_free(trial->echo);
    for (int64_t i = 0; i < trial->params->common.clients; i++) {
        if (trial->client_fds[i] >= 0)
            close(trial->client_fds[i]);
    }
    if (trial->echo_fd >= 0)
        close(trial->echo_fd);
    free(trial->client_fds);
    free(trial->workers);
    free(trial->senders);
}

static enum status open_roles(struct trial *trial, struct case_sockets *sockets,
                              struct fault *fault)
{
    const struct case_common *common = &trial->params->common;
    const struct engine *engine = engine_find(trial->params->engine, fault);
    const struct addr any_port = addr_loopback(common->family, 0);
    struct sized_socket echo;
    enum status status;

    if (engine == NULL)
        return STATUS_UNSUPPORTED;
    status = sized_socket_open(&any_port, common, &echo, fault);
    if (status != STATUS_OK)
        return status;
    trial->echo_fd = echo.fd;
    sockets->rcvbuf = echo.rcvbuf;
    trial->echo =
        echo_new(trial->echo_fd, engine, (size_t)common->clients, (size_t)trial->params->window);
    status = open_clients(trial, &echo.bound, sockets, fault);
    if (status != STATUS_OK)
        return status;
    make_roles(trial, engine);
    status = calibrate_capacity(common->family, (size_t)trial->params->payload, common->rcvbuf,
                                &trial->calibration, fault);
    if (status != STATUS_OK)
        return status;
    sockets->bytes_per_datagram = trial->calibration.capacity.charge;
    sockets->burst_capacity = capacity_of(&trial->calibration.capacity, sockets->rcvbuf.granted);
    sockets->calibration_drops = trial->calibration.dropped;
    sockets->present = true;
    return STATUS_OK;
}

/* --- evidence ------------------------------------------------------------------------------- */

static enum status sample_take(const struct trial *trial, struct sample *out_sample,
                               struct fault *fault)
{
    out_sample->echo = evidence_drops(&trial->echo_fd, 1);
    out_sample->clients = evidence_drops(trial->client_fds, (size_t)trial->params->common.clients);
    return system_counters(&out_sample->counters, fault);
}

/* --- phases --------------------------------------------------------------------------------- */

/* Gathers what all workers and senders counted. */
static void gather(const struct trial *trial, struct phase *phase, struct histogram *rtt)
{
    for (size_t i = 0; i < trial->threads; i++) {
        echo_worker_account(trial->workers[i], &phase->forward, &phase->reverse);
        sender_account(trial->senders[i], &phase->forward, &phase->reverse, rtt);
    }
}

static enum status settle(const struct sample *before, const struct sample *after,
                          struct phase *phase, struct fault *fault)
{
    struct counters delta = evidence_counters(&before->counters, &after->counters);
    struct host_drops drops = host_drops_of(&delta);
    struct socket_evidence echo = evidence_between(&before->echo, &after->echo, &delta);
    struct socket_evidence clients = evidence_between(&before->clients, &after->clients, &delta);
    struct fault leg_fault;
    enum status status;

    status = account_settle(&phase->forward,
                            &(struct account_evidence){ echo, &drops, &drops, REST_UNATTRIBUTED },
                            &leg_fault);
    if (status != STATUS_OK)
        return fault_set(fault, status, "forward leg: %s", leg_fault.text);
    /* What the forward leg took of a system-wide count is not there for the reverse leg. */
    if (!clients.per_socket)
        clients.drops -= phase->forward.lost_to.receive_buffer;
    status = account_settle(
        &phase->reverse, &(struct account_evidence){ clients, &drops, &drops, REST_UNATTRIBUTED },
        &leg_fault);
    if (status != STATUS_OK)
        return fault_set(fault, status, "reverse leg: %s", leg_fault.text);
    phase->lost_echoes = phase_lost_echoes(phase);
    *(struct counters *)list_append_sized(&phase->counters, sizeof delta) = delta;
    return STATUS_OK;
}

static enum status run_threads(struct trial *trial, const struct session *session, double seconds,
                               struct phase_times *out_times, struct fault *fault)
{
    const struct case_common *common = &trial->params->common;
    const struct phase_roles roles = roles_of(trial);
    const struct phase_order order = {
        .common = common, .seconds = seconds, .drain_ns = PHASE_DRAIN_NS, .watch = trial->watch
    };
    enum status status;

    echo_begin(trial->echo, session, common->work_ns);
    for (size_t i = 0; i < trial->threads; i++) {
        echo_worker_begin(trial->workers[i]);
        sender_begin(trial->senders[i], session, (size_t)trial->params->window);
    }
    status = phase_run(&roles, &order, out_times, fault);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < trial->threads; i++)
        echo_sweep(trial->workers[i]);
    for (size_t i = 0; i < trial->threads; i++)
        sender_sweep(trial->senders[i]);
    return STATUS_OK;
}

static enum status measure_phase(struct trial *trial, double seconds, struct phase *out_phase,
                                 struct histogram *rtt, struct fault *fault)
{
    const struct session_ground ground = { .format = { .mode = STAMP_PLAIN },
                                           .pattern = &trial->loopback->pattern,
                                           .timebase = trial->loopback->timebase };
    struct sample before, after;
    struct phase_times times;
    struct session session;
    enum status status;

    session_init(&session, next_ssid(trial->loopback), (size_t)trial->params->payload, &ground);
    status = sample_take(trial, &before, fault);
    if (status == STATUS_OK)
        status = run_threads(trial, &session, seconds, &times, fault);
    if (status == STATUS_OK)
        status = sample_take(trial, &after, fault);
    if (status == STATUS_OK) {
        gather(trial, out_phase, rtt);
        status = settle(&before, &after, out_phase, fault);
    }
    if (status == STATUS_OK) {
        bool open_loop = trial->params->common.interval_ns > 0;

        out_phase->present = true;
        out_phase->seconds = (double)times.active_ns / (double)NS_PER_S;
        out_phase->slip_ns = open_loop ? times.pace.slip_ns : NONE_INT;
        out_phase->skipped_bursts = open_loop ? times.pace.skipped : NONE_INT;
        if (phase_passed(out_phase) && out_phase->reverse.received > 0)
            out_phase->echoes_per_second = (double)out_phase->reverse.received / out_phase->seconds;
    }
    return status;
}

/* A refused datagram is missing at the echo role too, but was never on the way to it. */
static int64_t burst_sent(const struct trial *trial)
{
    uint64_t sent = 0;

    for (size_t i = 0; i < trial->threads; i++)
        sent += sender_burst_sent(trial->senders[i]);
    return (int64_t)sent;
}

static void conclude(const struct trial *trial, const struct histogram *rtt,
                     struct case_result *result)
{
    const struct case_params *params = trial->params;
    const struct case_common *common = &params->common;
    int64_t burst = burst_sent(trial);

    result->status = phase_passed(&result->phases.measure) ? CASE_PASS : CASE_FAIL;
    result->first_burst = (struct first_burst){
        .present = true,
        .sent = burst,
        .predicted_lost = NONE_INT,
        .lost = burst - echo_arrived_of_first(trial->echo, params->window),
    };
    if (common->io_model == IO_MODEL_SHARED && common->interval_ns == 0)
        result->first_burst.predicted_lost = capacity_predict_lost(
            &trial->calibration.capacity, result->sockets.rcvbuf.granted, burst);
    result->rtt_ns.present = true;
    result->rtt_ns.clock = RTT_CLOCK_USER;
    histogram_to_rtt(rtt, &result->rtt_ns);
}

static enum status measure_case(struct trial *trial, struct case_result *result,
                                struct fault *fault)
{
    const struct case_common *common = &trial->params->common;
    struct histogram *rtt = memory_new(1, sizeof *rtt);
    enum status status = open_roles(trial, &result->sockets, fault);

    if (status == STATUS_OK && common->warmup_s > 0)
        status = measure_phase(trial, common->warmup_s, &result->phases.warmup, rtt, fault);
    if (status == STATUS_OK) {
        histogram_init(rtt);
        status = measure_phase(trial, common->seconds, &result->phases.measure, rtt, fault);
    }
    if (status == STATUS_OK)
        conclude(trial, rtt, result);
    free(rtt);
    return status;
}

enum status loopback_case(struct loopback *loopback, const struct case_params *params,
                          const struct phase_watch *watch, struct case_result *out_result)
{
    struct fault fault = { "" };
    struct trial trial;
    enum status status;

    out_result->params = *params;
    trial_init(&trial, loopback, params, watch);
    status = measure_case(&trial, out_result, &fault);
    trial_done(&trial);
    if (status == STATUS_INTERRUPTED)
        return status;
    if (status != STATUS_OK) {
        out_result->status = CASE_ERROR;
        text_copy(out_result->error, sizeof out_result->error, fault.text);
    }
    return STATUS_OK;
}
