/* Owns what a simulated agent does in a path MTU session, and how an operator asks for a run of
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/text.h"
#include "tests/controller/fleet/cluster.h"
#include "tests/controller/fleet/make_report.h"

/* A search takes a second, or as long as it watches. */
static int64_t phase_ns(const struct mtu_params *params)
{
    return NS_PER_S + (int64_t)(params->common.watch_s * (double)NS_PER_S);
}

static void say_moved(struct cluster_agent *agent, const char *session, enum phase_kind phase)
{
    struct message_moved moved;

    message_init(&moved, MESSAGE_MOVED);
    text_copy(moved.session, sizeof moved.session, session);
    moved.phase = phase;
    moved.event = (struct mtu_event){
        .change = MTU_CHANGE_CHANGED, .from = agent->path_mtu, .to = 1300, .after_s = 1
    };
    agent_later(agent, session, &moved, NS_PER_S + NS_PER_MS);
}

void agent_mtu_begin(struct cluster_agent *agent, struct cluster_task *task, enum phase_kind phase)
{
    const struct mtu_params *params = &task->open.of_mtu.params;
    const char *session = task->open.session;

    if (task->open.role != mtu_prober(phase)) {
        task->answers = true;
        agent_say_phase(agent, session, MESSAGE_BEGUN, phase, NS_PER_MS);
        return;
    }
    task->probes = true;
    agent_say_phase(agent, session, MESSAGE_PROGRESS, phase, NS_PER_S / 2);
    if (params->common.watch_s > 1)
        say_moved(agent, session, phase);
    agent_say_phase(agent, session, MESSAGE_ENDED, phase, phase_ns(params));
}

/* As much as it knows: an answer of each flow once its search has ended, the half of one before. */
static void limit(const struct cluster_agent *agent, const struct cluster_task *task,
                  struct mtu_report *report)
{
    struct mtu_flow *flows = report->flows.items;

    for (size_t i = 0; i < report->flows.count; i++) {
        flows[i].path_mtu = task->probed ? agent->path_mtu : 1280;
        flows[i].next_size = flows[i].path_mtu + 1;
        if (flows[i].path_mtu < flows[i].local_mtu)
            flows[i].limit = MTU_LIMIT_PATH;
        if (task->probed)
            continue;
        flows[i].outcome = MTU_UNDECIDED;
        flows[i].confirmed = false;
    }
    if (!task->probes) {
        free(flows); /* none of them holds anything */
        report->flows = (struct list){ NULL, 0 };
    }
    report->answered.present = task->answers;
}

void agent_mtu_close(struct cluster_agent *agent, const struct cluster_task *task,
                     const char *reason)
{
    const struct message_open *open = &task->open;
    struct mtu_report report;

    make_mtu_report(open->role, &open->of_mtu.params, &report);
    text_copy(report.run, sizeof report.run, open->run);
    text_copy(report.session, sizeof report.session, open->session);
    text_copy(report.error, sizeof report.error, reason);
    report.index = open->index;
    temp_id((uint64_t)++agent->cluster->results_made, report.id);
    limit(agent, task, &report);
    agent_say_report(agent, open, &mtu_report_record, &report, report.id);
    record_done(&mtu_report_record, &report);
}

struct mtu_plan cluster_mtu_plan(void)
{
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    return plan;
}

void cluster_ask_mtu(struct cluster *cluster, uint64_t peer, const char *from, const char *to,
                     struct mtu_plan *plan)
{
    struct message_run run;

    message_init(&run, MESSAGE_RUN);
    run.request = 1;
    text_copy(run.from, sizeof run.from, from);
    text_copy(run.to, sizeof run.to, to);
    run.kind = WORK_MTU;
    run.of_mtu.plan = *plan;
    cluster_send(cluster, peer, &run);
    message_done(&run);
    record_init(&mtu_plan_record, plan);
}
