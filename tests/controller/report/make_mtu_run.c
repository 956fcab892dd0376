/* Owns sample path MTU runs: answers as searches give them. Knows no reader of runs. */
#include "tests/controller/report/make_mtu_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/limits.h"
#include "proto/wire/mtu_verdict.h"

struct make_mtu_shape make_mtu_seed(void)
{
    struct make_mtu_shape shape = {
        .base = make_shape_seed(),
        .families = { FAMILY_IPV4, FAMILY_IPV6 },
        .family_count = 2,
        .local_mtu = 1500,
        .path_mtu = { 1400, 1400 },
        .told = true,
    };
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    shape.common = plan.common;
    shape.base.host_name = "paris.example";
    return shape;
}

static void set_text(char *out_text, size_t size, const char *text)
{
    if (!text_copy(out_text, size, text))
        abort();
}

static int64_t headers(const struct mtu_case *of)
{
    return of->family == FAMILY_IPV4 ? 28 : 48;
}

static const char *router(const struct mtu_case *of)
{
    return of->family == FAMILY_IPV4 ? "10.9.2.254" : "fd00:9:2::254";
}

void make_mtu_judge(struct mtu_case *of)
{
    of->udp_payload = mtu_payload_of(of->family, of->flow.path_mtu);
    of->verdict = mtu_verdict_of(of->family, &of->flow);
}

/* --- answers --------------------------------------------------------------------------------- */

static void add_icmp(struct mtu_case *of, int64_t mtu)
{
    struct mtu_icmp *icmp = list_append_sized(&of->flow.icmp, sizeof *icmp);

    *icmp = (struct mtu_icmp){ .mtu = mtu, .accepted = true, .count = 3 };
    set_text(icmp->from, sizeof icmp->from, router(of));
    set_text(icmp->judged, sizeof icmp->judged, "accepted");
}

static void add_hops(struct mtu_case *of)
{
    struct mtu_hops *hops = &of->flow.hops;

    *hops = (struct mtu_hops){ .present = true,
                               .passing = of->flow.path_mtu,
                               .failing = of->flow.next_size,
                               .last_hop = 1,
                               .first_hop = 2,
                               .sent = 6,
                               .answered = 4 };
    set_text(hops->last, sizeof hops->last, of->family == FAMILY_IPV4 ? "10.9.1.254" : "fd00::1");
    set_text(hops->first, sizeof hops->first, router(of));
}

static void add_fragments(struct mtu_case *of)
{
    of->flow.fragments = MTU_PASS;
    of->flow.fragment_probes = (struct mtu_fragments){ .present = true,
                                                       .size = 2 * of->flow.path_mtu,
                                                       .sent = 4,
                                                       .arrived = 4,
                                                       .small_sent = 4,
                                                       .small_arrived = 4 };
}

static void find(struct mtu_case *of, enum make_mtu_end end, int64_t path_mtu)
{
    struct mtu_flow *flow = &of->flow;

    flow->outcome = MTU_FOUND;
    flow->confirmed = true;
    flow->path_mtu = path_mtu;
    flow->limit = end == MAKE_MTU_WHOLE ? MTU_LIMIT_LOCAL : MTU_LIMIT_PATH;
    flow->next_size = path_mtu + 1;
    add_fragments(of);
    if (end == MAKE_MTU_TOLD)
        add_icmp(of, path_mtu);
    if (end == MAKE_MTU_SILENT)
        add_hops(of);
}

void make_mtu_answer(struct mtu_case *of, enum make_mtu_end end, int64_t path_mtu)
{
    struct mtu_flow *flow = &of->flow;
    int64_t number = flow->flow, port = flow->source_port, local = flow->local_mtu;

    record_done(&mtu_flow_record, flow);
    record_init(&mtu_flow_record, flow);
    flow->flow = number;
    flow->source_port = port;
    flow->local_mtu = local;
    if (end != MAKE_MTU_NOTHING) {
        flow->kernel_before = local;
        flow->kernel_path_mtu = end == MAKE_MTU_TOLD ? path_mtu : local;
        flow->probes = 65;
        flow->retries = 21;
        flow->controls = 26;
        flow->rtt_ns = 1050000;
        flow->seconds = 0.114;
    }
    if (end <= MAKE_MTU_WHOLE)
        find(of, end, path_mtu);
    if (end == MAKE_MTU_FLOOR)
        flow->outcome = MTU_BELOW_FLOOR;
    if (end == MAKE_MTU_CUT_OFF)
        flow->path_mtu = path_mtu;
    if (end == MAKE_MTU_NOBODY) {
        flow->outcome = MTU_UNREACHABLE;
        flow->controls_lost = flow->controls;
        flow->rtt_ns = NONE_INT;
    }
    make_mtu_judge(of);
}

/* --- loss by size ---------------------------------------------------------------------------- */

static void interval(int64_t lost, int64_t sent, double *out_low, double *out_high)
{
    const double z = 1.959963984540054;
    double n = (double)sent, p = sent > 0 ? (double)lost / n : 0;
    double middle = p + z * z / (2 * n), spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

    *out_low = fmax(0, (middle - spread) / (1 + z * z / n));
    *out_high = fmin(1, (middle + spread) / (1 + z * z / n));
}

static void add_size(struct mtu_case *of, int64_t packet, int64_t sent, int64_t thousandths)
{
    struct mtu_size_effect *effect = &of->flow.size_effect;
    struct mtu_size *size = list_append_sized(&of->flow.loss_by_size, sizeof *size);
    bool above = effect->found && packet > effect->threshold;

    *size = (struct mtu_size){ packet - headers(of), sent, (sent * thousandths + 500) / 1000 };
    effect->sent += size->sent;
    effect->lost += size->lost;
    *(above ? &effect->sent_above : &effect->sent_below) += size->sent;
    *(above ? &effect->lost_above : &effect->lost_below) += size->lost;
}

void make_mtu_sizes(struct mtu_case *of, int64_t threshold, int64_t below, int64_t above)
{
    struct mtu_size_effect *effect = &of->flow.size_effect;
    bool found = threshold != NONE_INT;
    int64_t least = of->family == FAMILY_IPV4 ? 576 : 1280, last = least - 1;
    int64_t near = found ? threshold : LIMIT_MTU;

    of->flow.loss_by_size.count = 0;
    *effect = (struct mtu_size_effect){ .present = true,
                                        .found = found,
                                        .threshold = threshold,
                                        .least = found ? threshold - 2 : NONE_INT,
                                        .most = found ? threshold + 2 : NONE_INT,
                                        .low_above = (double)NAN,
                                        .high_above = (double)NAN,
                                        .seconds = 2.5 };
    for (int64_t i = 0; i < 16; i++) {
        int64_t packet = least + (of->flow.path_mtu - least) * i / 15;

        /* And eight around the threshold, which are asked more often. */
        for (int64_t k = near - 8; k <= near + 8 && k < packet; k += 2) {
            if (k > last)
                add_size(of, k, 900, k > threshold ? above : below);
            last = k > last ? k : last;
        }
        if (packet > last)
            add_size(of, packet, 625, found && packet > threshold ? above : below);
        last = packet > last ? packet : last;
    }
    interval(effect->lost_below, effect->sent_below, &effect->low_below, &effect->high_below);
    if (found)
        interval(effect->lost_above, effect->sent_above, &effect->low_above, &effect->high_above);
    make_mtu_judge(of);
}

/* --- runs ------------------------------------------------------------------------------------ */

static void make_session(const struct make_mtu_shape *shape, enum family family, struct run *run)
{
    struct mtu_session *session = list_append_sized(&run->mtu_sessions, sizeof *session);
    bool ipv4 = family == FAMILY_IPV4;

    record_init(&mtu_session_record, session);
    session->family = family;
    set_text(session->local, sizeof session->local,
             ipv4 ? "10.9.1.1:40001" : "[fd00:9:1::1]:40001");
    set_text(session->peer, sizeof session->peer, ipv4 ? "10.9.2.2:7863" : "[fd00:9:2::2]:7863");
    if (shape->common.direction != MTU_WAYS_REVERSE)
        session->answered_forward = (struct mtu_answered){
            .present = true, .fragments_told = true, .answered = 60, .largest = 1400
        };
    if (shape->common.direction != MTU_WAYS_FORWARD)
        session->answered_reverse =
            session->answered_forward.present
                ? session->answered_forward
                : (struct mtu_answered){ .present = true, .answered = 60, .largest = 1400 };
}

static void make_way(const struct make_mtu_shape *shape, enum family family,
                     enum mtu_direction direction, struct run *run)
{
    int64_t path_mtu = shape->path_mtu[direction];

    for (int64_t i = 0; i < shape->common.flows; i++) {
        struct mtu_case *of = list_append_sized(&run->mtu_cases, sizeof *of);

        record_init(&mtu_case_record, of);
        of->index = (int64_t)run->mtu_cases.count - 1;
        of->family = family;
        of->direction = direction;
        of->flow.flow = i;
        of->flow.source_port = 40001 + i;
        of->flow.local_mtu = shape->local_mtu;
        make_mtu_answer(of,
                        path_mtu == shape->local_mtu ? MAKE_MTU_WHOLE
                        : shape->told                ? MAKE_MTU_TOLD
                                                     : MAKE_MTU_SILENT,
                        path_mtu);
    }
}

static void make_hosts(const struct make_mtu_shape *shape, struct run *run)
{
    struct make_shape other = shape->base;

    other.host_name = "oslo.example";
    make_host(&shape->base, 0, run);
    make_host(&other, 0, run);
    for (size_t i = 0; i < 2; i++) {
        struct host *host = make_host_at(run, i);

        host->role = i == 0 ? HOST_SENDER : HOST_ECHO;
        set_text(host->interface.name, sizeof host->interface.name, "eth0");
        host->interface.mtu = shape->local_mtu;
    }
}

void make_mtu_run(const struct make_mtu_shape *shape, struct run *out_run)
{
    make_head(&shape->base, RUN_MTU, out_run);
    out_run->mtu_plan.common = shape->common;
    for (size_t i = 0; i < shape->family_count; i++) {
        enum family family = (enum family)shape->families[i];

        *(int *)list_append_sized(&out_run->mtu_plan.families, sizeof(int)) = (int)family;
        make_session(shape, family, out_run);
        for (int d = 0; d < MTU_DIRECTION_COUNT; d++) {
            if (shape->common.direction == MTU_WAYS_BOTH ||
                (shape->common.direction == MTU_WAYS_FORWARD) == (d == MTU_FORWARD))
                make_way(shape, family, (enum mtu_direction)d, out_run);
        }
    }
    make_hosts(shape, out_run);
}

struct mtu_case *make_mtu_at(struct run *run, enum family family, enum mtu_direction direction,
                             int64_t flow)
{
    struct mtu_case *cases = run->mtu_cases.items;

    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        if (cases[i].family == family && cases[i].direction == direction &&
            cases[i].flow.flow == flow)
            return &cases[i];
    }
    abort();
}

struct mtu_session *make_mtu_session(struct run *run, enum family family)
{
    struct mtu_session *sessions = run->mtu_sessions.items;

    for (size_t i = 0; i < run->mtu_sessions.count; i++) {
        if (sessions[i].family == family)
            return &sessions[i];
    }
    abort();
}

void make_mtu_event(struct list *events, struct mtu_event event)
{
    *(struct mtu_event *)list_append_sized(events, sizeof event) = event;
}

void make_mtu_error(struct run *run, enum family family, const char *error)
{
    struct mtu_session *session = make_mtu_session(run, family);
    struct mtu_case *cases = run->mtu_cases.items;

    set_text(session->error, sizeof session->error, error);
    session->answered_forward.present = session->answered_reverse.present = false;
    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        if (cases[i].family != family)
            continue;
        cases[i].flow.source_port = cases[i].flow.local_mtu = NONE_INT;
        make_mtu_answer(&cases[i], MAKE_MTU_NOTHING, NONE_INT);
        set_text(cases[i].error, sizeof cases[i].error, error);
    }
}

void make_mtu_interrupted(struct run *run, size_t count)
{
    struct mtu_case *cases = run->mtu_cases.items;
    struct mtu_session *sessions = run->mtu_sessions.items;

    while (run->mtu_cases.count > count)
        record_done(&mtu_case_record, &cases[--run->mtu_cases.count]);
    while (run->mtu_sessions.count > 0 &&
           (count == 0 || sessions[run->mtu_sessions.count - 1].family != cases[count - 1].family))
        record_done(&mtu_session_record, &sessions[--run->mtu_sessions.count]);
    run->interrupted = true;
}
