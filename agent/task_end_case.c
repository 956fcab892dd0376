/* Owns a task's end of a case: the sender's or the echo's, and its report. Must not know mailboxes
 * or threads. */
#include "agent/task_end.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/base/text.h"

struct case_end {
    struct task_end base;
    const struct case_params *params; /* the order's */
    struct sender_end *sender;        /* one of the two */
    struct echo_end *echo;
    struct report report;
};

static struct case_end *of(struct task_end *end)
{
    return (struct case_end *)end;
}

static const struct case_end *of_const(const struct task_end *end)
{
    return (const struct case_end *)end;
}

/* --- its life --------------------------------------------------------------------------------- */

static void case_free(struct task_end *base)
{
    struct case_end *end = of(base);

    if (end->sender != NULL)
        sender_end_free(end->sender);
    if (end->echo != NULL)
        echo_end_free(end->echo);
    record_done(&report_record, &end->report);
    free(end);
}

static uint16_t case_port(const struct task_end *end)
{
    return of_const(end)->echo != NULL ? echo_end_port(of_const(end)->echo) : 0;
}

static enum status case_agree(struct task_end *end, const struct phase_watch *watch,
                              struct fault *fault)
{
    return of(end)->sender != NULL ? sender_end_agree(of(end)->sender, watch, fault) : STATUS_OK;
}

static void case_wait(struct task_end *end, int wake_fd, int64_t timeout_ns)
{
    if (of(end)->echo != NULL)
        echo_end_wait(of(end)->echo, wake_fd, timeout_ns);
    else
        task_end_sleep(wake_fd, timeout_ns);
}

/* --- its phases ------------------------------------------------------------------------------- */

static bool case_has_phase(const struct task_end *end, enum phase_kind phase)
{
    return phase == PHASE_MEASURE ||
           (phase == PHASE_WARMUP && of_const(end)->params->common.warmup_s > 0);
}

static enum status case_phase(struct task_end *base, enum phase_kind phase,
                              const struct phase_watch *watch, struct fault *fault)
{
    struct case_end *end = of(base);
    struct report_phases *phases = &end->report.phases;
    struct half_phase *half = phase == PHASE_WARMUP ? &phases->warmup : &phases->measure;
    enum status status = end->sender != NULL
                             ? sender_end_phase(end->sender, phase, watch, half, fault)
                             : echo_end_phase(end->echo, phase, watch, half, fault);

    half->present = status == STATUS_OK || status == STATUS_INTERRUPTED;
    return status;
}

/* A sender's phase ends by itself; the echo's waits for the controller. */
static enum status case_lasts(const struct task_end *base, enum phase_kind phase, double seconds,
                              struct fault *fault)
{
    const struct case_end *end = of_const(base);
    double limit = case_seconds(end->params, (double)END_DRAIN_NS / (double)NS_PER_S) +
                   (double)base->ground->surroundings->patience_ns / (double)NS_PER_S;

    (void)phase;
    if (end->sender != NULL || seconds <= limit)
        return STATUS_OK;
    return fault_set(fault, STATUS_RANGE, "the controller did not end the phase in time");
}

static bool case_progress(const struct task_end *base, struct message_progress *progress)
{
    const struct case_end *end = of_const(base);

    if (end->sender == NULL)
        return false;
    sender_end_progress(end->sender, &progress->sent, &progress->received);
    return true;
}

/* --- its report ------------------------------------------------------------------------------- */

static enum status case_gather(struct task_end *base, struct fault *fault)
{
    struct case_end *end = of(base);

    return end->sender != NULL ? sender_end_report(end->sender, &end->report, fault)
                               : echo_end_report(end->echo, &end->report, fault);
}

static enum status case_result(struct task_end *base, const struct task_frame *frame,
                               struct message_result *out_result, struct fault *fault)
{
    const struct message_open *open = base->ground->open;
    struct report *report = &of(base)->report;

    text_copy(report->schema, sizeof report->schema, REPORT_SCHEMA);
    memcpy(report->id, frame->id, sizeof report->id);
    memcpy(report->run, open->run, sizeof report->run);
    memcpy(report->session, open->session, sizeof report->session);
    report->index = open->index;
    report->role = open->role;
    report->params = *of(base)->params;
    memcpy(report->error, frame->error, sizeof report->error);
    memcpy(report->started, frame->started, sizeof report->started);
    memcpy(report->finished, frame->finished, sizeof report->finished);
    task_frame_host(frame, &report->host);
    return task_report_result(&(struct task_report){ "report", &report_record, report, frame->id },
                              out_result, fault);
}

static const struct task_end_kind case_kind = {
    .free = case_free,
    .port = case_port,
    .agree = case_agree,
    .wait = case_wait,
    .has_phase = case_has_phase,
    .phase = case_phase,
    .lasts = case_lasts,
    .progress = case_progress,
    .gather = case_gather,
    .result = case_result,
};

/* --- its beginning ---------------------------------------------------------------------------- */

static enum status open_end(struct case_end *end, const struct end_order *order,
                            struct fault *fault)
{
    const struct message_open *open = end->base.ground->open;
    struct echo_end_place place;
    struct addr target;
    enum status status;

    if (open->role == END_SENDER) {
        status = addr_parse(open->target, &target, fault);
        return status == STATUS_OK ? sender_end_new(order, &target, &end->sender, fault) : status;
    }
    status = task_end_place(&end->base, end->params->common.family, &place, fault);
    return status == STATUS_OK ? echo_end_new(order, &place, &end->echo, fault) : status;
}

enum status task_end_case_new(const struct task_ground *ground, struct task_end **out_end,
                              struct fault *fault)
{
    const struct open_case *asked = &ground->open->of_case;
    struct end_order order = {
        .idle_s = asked->idle_s,
        .stop = ground->stop,
        .params = asked->params,
    };
    struct case_end *end;
    enum status status;

    if (!(asked->idle_s <= TASK_IDLE_S))
        return fault_set(fault, STATUS_RANGE,
                         "between hosts idle_s allows %g seconds, %g were asked for", TASK_IDLE_S,
                         asked->idle_s);
    end = memory_new(1, sizeof *end);
    end->base = (struct task_end){ .kind = &case_kind, .ground = ground };
    end->params = &asked->params;
    record_init(&report_record, &end->report);
    order.ssid = task_end_key(&end->base, order.key);
    status = open_end(end, &order, fault);
    if (status != STATUS_OK) {
        case_free(&end->base);
        return status;
    }
    *out_end = &end->base;
    return STATUS_OK;
}
