/* Owns sample reports: a path whose drops the test chooses, counted at both ends. */
#include "tests/controller/fleet/make_report.h"

#include "proto/base/text.h"

struct made_phase made_clean(int64_t count)
{
    return (struct made_phase){
        .attempted = count, .arrived = count, .echoes = count, .returned = count
    };
}

static void make_counters(int64_t qdisc_drops, struct counters *out)
{
    counters_init(out);
    for (int i = 0; i < COUNTER_COUNT; i++)
        out->value[i] = i == QDISC_DROPPED ? qdisc_drops : 0;
}

static void make_half(enum end_role role, const struct case_params *params,
                      const struct made_phase *made, struct half_phase *half)
{
    bool sender = role == END_SENDER;
    int64_t burst = params->common.clients * params->window;
    int64_t sent = made->attempted - made->refused;

    half->present = true;
    half->seconds = 1;
    half->per_socket = true;
    half->slip_ns = half->skipped_bursts = NONE_INT;
    half->first_burst = burst < sent ? burst : sent;
    if (!sender && made->arrived < half->first_burst)
        half->first_burst = made->arrived;
    half->drops = sender ? made->client_drops : made->echo_drops;
    make_counters(sender ? made->qdisc_drops : 0, &half->counters);
    if (sender) {
        half->forward.attempted = made->attempted;
        half->forward.refused.enobufs = made->refused;
        half->forward.sent = sent;
        half->reverse.received = made->returned;
    } else {
        half->forward.received = made->arrived;
        half->reverse.attempted = made->echoes;
        half->reverse.refused.enobufs = made->echoes_refused;
        half->reverse.sent = made->echoes - made->echoes_refused;
    }
}

static void make_rtt(int64_t count, struct rtt *rtt)
{
    int64_t(*bucket)[2];

    rtt->present = true;
    rtt->clock = RTT_CLOCK_USER;
    rtt->count = count;
    rtt->min = rtt->p50 = rtt->max = count > 0 ? 1000 : NONE_INT;
    rtt->p90 = count >= 10 ? 1000 : NONE_INT;
    rtt->p99 = count >= 100 ? 1000 : NONE_INT;
    rtt->p999 = count >= 1000 ? 1000 : NONE_INT;
    if (count == 0)
        return;
    bucket = list_append_sized(&rtt->histogram, sizeof *bucket);
    (*bucket)[0] = 1000;
    (*bucket)[1] = count;
}

static void make_host(const char *name, struct host *host)
{
    text_copy(host->name, sizeof host->name, name);
    text_copy(host->os, sizeof host->os, "Linux");
    text_copy(host->os_release, sizeof host->os_release, "6.18.5");
    text_copy(host->arch, sizeof host->arch, "x86_64");
    host->cpus = 2;
    map_add_int(&host->limits, "net.core.rmem_max", 212992);
    host->limits_unchanged = true;
    text_copy(host->interface.name, sizeof host->interface.name, "eth0");
    host->interface.mtu = 1500;
    for (int i = 0; i < COUNTER_COUNT; i++) {
        host->counters.before.value[i] = 100 + i;
        host->counters.after.value[i] = 200 + i;
        host->counters.delta.value[i] = 100;
        host->counters.idle.delta.value[i] = 0;
    }
    host->counters.idle.seconds = 1;
}

void make_report(enum end_role role, const struct case_params *params,
                 const struct made_phase *phase, struct report *out_report)
{
    bool sender = role == END_SENDER;
    struct made_phase warmup = made_clean(10);

    record_init(&report_record, out_report);
    text_copy(out_report->schema, sizeof out_report->schema, REPORT_SCHEMA);
    text_copy(out_report->id, sizeof out_report->id, sender ? "report-s" : "report-e");
    text_copy(out_report->run, sizeof out_report->run, "run");
    text_copy(out_report->session, sizeof out_report->session, "session");
    out_report->role = role;
    out_report->params = *params;
    text_copy(out_report->local, sizeof out_report->local,
              sender ? "10.9.1.1:40000" : "10.9.2.2:7900");
    text_copy(out_report->peer, sizeof out_report->peer,
              sender ? "10.9.2.2:7900" : "10.9.1.1:40000");
    text_copy(out_report->started, sizeof out_report->started, "2026-11-30T18:44:10Z");
    text_copy(out_report->finished, sizeof out_report->finished, "2026-11-30T18:44:20Z");
    out_report->rcvbuf = (struct grant){ .asked = 4194304, .granted = 8388608 };
    out_report->sndbuf = (struct grant){ .asked = 65536, .granted = 131072 };
    if (params->common.warmup_s > 0)
        make_half(role, params, &warmup, &out_report->phases.warmup);
    make_half(role, params, phase, &out_report->phases.measure);
    out_report->agreement = (struct agreement){ .present = true,
                                                .hellos_sent = sender ? 5 : 3,
                                                .hellos_answered = 2,
                                                .rtt_ns = sender ? 1000 : NONE_INT,
                                                .strangers = sender ? NONE_INT : 7 };
    if (sender)
        make_rtt(phase->returned, &out_report->rtt_ns);
    make_host(sender ? "alpha.example" : "beta.example", &out_report->host);
}

static void make_flow(int64_t number, struct mtu_flow *out_flow)
{
    record_init(&mtu_flow_record, out_flow);
    out_flow->flow = number;
    out_flow->source_port = 40000 + number;
    out_flow->outcome = MTU_FOUND;
    out_flow->limit = MTU_LIMIT_LOCAL;
    out_flow->path_mtu = out_flow->local_mtu = out_flow->kernel_path_mtu = 1500;
    out_flow->kernel_before = 1500;
    out_flow->next_size = 1501;
    out_flow->confirmed = true;
    out_flow->probes = 12;
    out_flow->rtt_ns = 1000000;
    out_flow->seconds = 0.25;
}

void make_mtu_report(enum end_role role, const struct mtu_params *params,
                     struct mtu_report *out_report)
{
    bool sender = role == END_SENDER, v4 = params->family == FAMILY_IPV4;
    bool probes = mtu_has_phase(&params->common, sender ? PHASE_FORWARD : PHASE_REVERSE);
    bool answers = mtu_has_phase(&params->common, sender ? PHASE_REVERSE : PHASE_FORWARD);
    const char *caller = v4 ? "10.9.1.1:40000" : "[fd00::1]:40000";
    const char *listener = v4 ? "10.9.2.2:7900" : "[fd00::2]:7900";

    record_init(&mtu_report_record, out_report);
    text_copy(out_report->schema, sizeof out_report->schema, MTU_REPORT_SCHEMA);
    text_copy(out_report->id, sizeof out_report->id, sender ? "report-s" : "report-e");
    text_copy(out_report->run, sizeof out_report->run, "run");
    text_copy(out_report->session, sizeof out_report->session, "session");
    out_report->role = role;
    out_report->params = *params;
    text_copy(out_report->local, sizeof out_report->local, sender ? caller : listener);
    text_copy(out_report->peer, sizeof out_report->peer, sender ? listener : caller);
    text_copy(out_report->started, sizeof out_report->started, "2026-11-30T18:44:10Z");
    text_copy(out_report->finished, sizeof out_report->finished, "2026-11-30T18:44:20Z");
    out_report->agreement = (struct agreement){ .present = true,
                                                .hellos_sent = sender ? 5 : 3,
                                                .hellos_answered = 2,
                                                .rtt_ns = sender ? 1000 : NONE_INT,
                                                .strangers = sender ? NONE_INT : 7 };
    for (int64_t i = 0; probes && i < params->common.flows; i++)
        make_flow(i, list_append_sized(&out_report->flows, sizeof(struct mtu_flow)));
    if (answers)
        out_report->answered = (struct mtu_answered){
            .present = true, .fragments_told = true, .answered = 12, .largest = 1500
        };
    make_host(sender ? "alpha.example" : "beta.example", &out_report->host);
}

void make_mtu_plan(size_t families, struct mtu_plan *out_plan)
{
    mtu_plan_init(out_plan);
    for (size_t i = 0; i < families; i++)
        *(int *)list_append_sized(&out_plan->families, sizeof(int)) = (int)i;
}

void make_fleet_plan(size_t windows, struct plan *out_plan)
{
    record_init(&plan_record, out_plan);
    *(int64_t *)list_append_sized(&out_plan->payloads, sizeof(int64_t)) = 200;
    for (size_t i = 0; i < windows; i++)
        *(int64_t *)list_append_sized(&out_plan->windows, sizeof(int64_t)) = (int64_t)i + 1;
    *(int *)list_append_sized(&out_plan->engines, sizeof(int)) = ENGINE_SINGLE;
    out_plan->repeats = 1;
    out_plan->idle_s = 1;
    out_plan->common = (struct case_common){ .family = FAMILY_IPV4,
                                             .clients = 2,
                                             .io_model = IO_MODEL_SPLIT,
                                             .io_threads = 1,
                                             .warmup_s = 0.25,
                                             .seconds = 1,
                                             .rcvbuf = 4194304,
                                             .sndbuf = 65536 };
}
