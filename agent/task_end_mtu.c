/* Owns a task's end of a path MTU session: the caller's or the listener's, which probes in one
 * phase and answers in the other. Must not know mailboxes or threads, nor how its report is made to
 * fit.
 */
#include "agent/task_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/addresses.h"
#include "agent/probe/path_mtu_report.h"
#include "agent/task_report_mtu.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

/* A phase that is as long as it may be ends by itself first. */
#define GRACE_S 1.0

struct mtu_end {
    struct task_end base;
    const struct mtu_params *params; /* the order's */
    struct path_mtu *path;
    enum phase_kind phase; /* the running one, or the last */
    bool probes;           /* in the running phase */
    struct mono began;     /* that phase */
    struct task_changes changes;
    char note[128]; /* what its own limit has cut off; "" */
    struct mtu_report report;
};

static struct mtu_end *of(struct task_end *end)
{
    return (struct mtu_end *)end;
}

static const struct mtu_end *of_const(const struct task_end *end)
{
    return (const struct mtu_end *)end;
}

static bool is_listener(const struct mtu_end *end)
{
    return end->base.ground->open->role == END_ECHO;
}

static const struct admission *admission_of(const struct mtu_end *end)
{
    return end->base.ground->surroundings->admission;
}

/* --- its life --------------------------------------------------------------------------------- */

static void mtu_free(struct task_end *base)
{
    struct mtu_end *end = of(base);

    path_mtu_free(end->path);
    task_changes_done(&end->changes);
    record_done(&mtu_report_record, &end->report);
    free(end);
}

static uint16_t mtu_port(const struct task_end *base)
{
    const struct mtu_end *end = of_const(base);

    return is_listener(end) ? path_mtu_port(end->path) : 0;
}

static enum status mtu_agree(struct task_end *base, const struct phase_watch *watch,
                             struct fault *fault)
{
    struct mtu_end *end = of(base);

    return is_listener(end) ? STATUS_OK : path_mtu_agree(end->path, watch, fault);
}

static void mtu_wait(struct task_end *base, int wake_fd, int64_t timeout_ns)
{
    struct mtu_end *end = of(base);

    if (!is_listener(end) || path_mtu_wait(end->path, wake_fd, timeout_ns, NULL) != STATUS_OK)
        task_end_sleep(wake_fd, timeout_ns);
}

/* --- probing ---------------------------------------------------------------------------------- */

/* What watching has noticed is said at once, and kept. */
static void changed(void *context, size_t flow, const struct search_event *event)
{
    struct mtu_end *end = context;
    const struct task_ground *ground = end->base.ground;
    struct message_moved moved;

    message_init(&moved, MESSAGE_MOVED);
    memcpy(moved.session, ground->open->session, sizeof moved.session);
    moved.phase = end->phase;
    path_mtu_event_report(flow, event, end->began, &moved.event);
    task_changes_add(&end->changes, &moved.event);
    ground->say(ground->context, &moved);
}

/* The largest IP packet that this host lets be sent; 0: no limit. */
static int64_t most_of(const struct mtu_end *end)
{
    return admission_max_packet(admission_of(end), end->params->family);
}

/* Only what its own limit has cut off is worth a word. */
static void note_limit(struct mtu_end *end)
{
    const struct mtu_flow *flows = end->report.flows.items;
    int64_t most = most_of(end);

    if (most == 0 || end->params->common.ceiling > 0)
        return;
    for (size_t i = 0; i < end->report.flows.count; i++) {
        if (flows[i].outcome != MTU_FOUND || flows[i].limit != MTU_LIMIT_CEILING ||
            flows[i].local_mtu == NONE_INT || flows[i].local_mtu <= most)
            continue;
        snprintf(end->note, sizeof end->note,
                 "admission.max_payload lets this host send IP packets of %lld bytes: larger ones "
                 "were not tried",
                 (long long)most);
        return;
    }
}

static void keep_flows(struct mtu_end *end, struct path_mtu_flow *flows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        path_mtu_flow_report(&flows[i], i,
                             list_append_sized(&end->report.flows, sizeof(struct mtu_flow)));
    note_limit(end);
}

static enum status probe(struct mtu_end *end, const struct phase_watch *watch, struct fault *fault)
{
    struct path_mtu_plan plan = path_mtu_plan_from(end->params);
    size_t count = (size_t)end->params->common.flows;
    struct path_mtu_flow *flows = memory_new(count, sizeof *flows);
    struct phase_watch own = *watch;
    enum status status;

    plan.most = most_of(end);
    plan.changed = changed;
    plan.context = end;
    if (plan.watch_s <= 0)
        own.finish = NULL; /* a search ends by itself */
    status = path_mtu_probe(end->path, &plan, &own, flows, fault);
    if (status == STATUS_OK || status == STATUS_INTERRUPTED)
        keep_flows(end, flows, count);
    path_mtu_flows_done(flows, count);
    free(flows);
    return status;
}

/* --- answering -------------------------------------------------------------------------------- */

static enum status answer(struct mtu_end *end, const struct phase_watch *watch, struct fault *fault)
{
    struct path_mtu_answered before, after;
    enum status status;

    path_mtu_answered(end->path, &before);
    status = path_mtu_answer(end->path, watch, fault);
    path_mtu_answered(end->path, &after);
    if (status == STATUS_OK || status == STATUS_INTERRUPTED)
        path_mtu_answered_report(&before, &after, end->params->family, &end->report.answered);
    return status;
}

/* --- its phases ------------------------------------------------------------------------------- */

static bool mtu_has(const struct task_end *base, enum phase_kind phase)
{
    return mtu_has_phase(&of_const(base)->params->common, phase);
}

static enum status mtu_phase(struct task_end *base, enum phase_kind phase,
                             const struct phase_watch *watch, struct fault *fault)
{
    struct mtu_end *end = of(base);

    end->phase = phase;
    end->probes = mtu_prober(phase) == base->ground->open->role;
    end->began = mono_now();
    return end->probes ? probe(end, watch, fault) : answer(end, watch, fault);
}

/* Who probes ends by itself, who answers waits for the controller; and this host's own limit ends
 * both. */
static enum status mtu_lasts(const struct task_end *base, enum phase_kind phase, double seconds,
                             struct fault *fault)
{
    const struct mtu_end *end = of_const(base);
    double most = admission_max_seconds(admission_of(end));
    double patience = (double)base->ground->surroundings->patience_ns / (double)NS_PER_S;
    double slack = end->probes ? GRACE_S : patience;

    if (!end->probes && seconds > mtu_phase_seconds(end->params) + patience)
        return fault_set(fault, STATUS_RANGE, "the controller did not end the phase in time");
    if (seconds > most + slack)
        return fault_set(fault, STATUS_RANGE,
                         "admission.max_seconds allows %.12g seconds, phase \"%s\" was not over by "
                         "then",
                         most, phase_kind_names[phase]);
    return STATUS_OK;
}

static bool mtu_progress(const struct task_end *base, struct message_progress *progress)
{
    const struct mtu_end *end = of_const(base);
    struct path_mtu_summary summary;

    if (!end->probes)
        return false;
    path_mtu_summarize(end->path, &summary);
    progress->sent = summary.sent;
    progress->received = summary.received;
    progress->low = summary.low;
    progress->high = summary.high;
    progress->flows_done = summary.flows_done;
    return true;
}

/* --- its report ------------------------------------------------------------------------------- */

static enum status mtu_gather(struct task_end *base, struct fault *fault)
{
    struct mtu_end *end = of(base);
    struct mtu_report *report = &end->report;
    struct addr local, peer;
    enum status status = path_mtu_host(end->path, &report->host, fault);

    report->agreement = path_mtu_agreement(end->path);
    path_mtu_addresses(end->path, &local, &peer);
    if (peer.length > 0)
        addr_format(&peer, report->peer);
    if (local.length > 0)
        addr_format(&local, report->local);
    if (local.length > 0 && status == STATUS_OK)
        addresses_interface(&local, &report->host.interface);
    return status;
}

static enum status mtu_result(struct task_end *base, const struct task_frame *frame,
                              struct message_result *out_result, struct fault *fault)
{
    const struct message_open *open = base->ground->open;
    struct mtu_report *report = &of(base)->report;

    text_copy(report->schema, sizeof report->schema, MTU_REPORT_SCHEMA);
    memcpy(report->id, frame->id, sizeof report->id);
    memcpy(report->run, open->run, sizeof report->run);
    memcpy(report->session, open->session, sizeof report->session);
    report->index = open->index;
    report->role = open->role;
    report->params = *of(base)->params;
    memcpy(report->started, frame->started, sizeof report->started);
    memcpy(report->finished, frame->finished, sizeof report->finished);
    task_frame_host(frame, &report->host);
    memcpy(report->error, frame->error, sizeof report->error);
    if (of(base)->note[0] != '\0')
        task_report_note(report, "%s", of(base)->note);
    task_changes_put(&of(base)->changes, report);
    return task_report_mtu_result(report, out_result, fault);
}

static const struct task_end_kind mtu_kind = {
    .free = mtu_free,
    .port = mtu_port,
    .agree = mtu_agree,
    .wait = mtu_wait,
    .has_phase = mtu_has,
    .phase = mtu_phase,
    .lasts = mtu_lasts,
    .progress = mtu_progress,
    .gather = mtu_gather,
    .result = mtu_result,
};

/* --- its beginning ---------------------------------------------------------------------------- */

static enum status open_path(struct mtu_end *end, const struct path_mtu_order *order,
                             struct fault *fault)
{
    struct echo_end_place place;
    struct addr target;
    enum status status;

    if (!is_listener(end)) {
        status = addr_parse(end->base.ground->open->target, &target, fault);
        return status == STATUS_OK ? path_mtu_call(order, &target, &end->path, fault) : status;
    }
    status = task_end_place(&end->base, end->params->family, &place, fault);
    return status == STATUS_OK ? path_mtu_listen(order, &place, &end->path, fault) : status;
}

enum status task_end_mtu_new(const struct task_ground *ground, struct task_end **out_end,
                             struct fault *fault)
{
    struct mtu_end *end = memory_new(1, sizeof *end);
    struct path_mtu_order order;
    struct fault why;
    enum status status;

    end->base = (struct task_end){ .kind = &mtu_kind, .ground = ground };
    end->params = &ground->open->of_mtu.params;
    record_init(&mtu_report_record, &end->report);
    order = (struct path_mtu_order){
        .flows = end->params->common.flows,
        .buffer = admission_socket_buffer(admission_of(end), PATH_MTU_BUFFER),
    };
    order.ssid = task_end_key(&end->base, order.key);
    status = open_path(end, &order, &why);
    if (status != STATUS_OK) {
        fault_set(fault, status, "this host cannot probe over %s: %s",
                  family_name(end->params->family), why.text);
        mtu_free(&end->base);
        return status;
    }
    *out_end = &end->base;
    return STATUS_OK;
}
