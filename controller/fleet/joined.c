/* Owns how a joined case or session gets its place in its run, and its rows. What two reports say
 * together is verdict's and mtu_join's. */
#include "controller/fleet/joined.h"

#include <assert.h>

#include "controller/fleet/mtu_join.h"
#include "controller/fleet/verdict.h"
#include "proto/base/text.h"

void joined_case(const struct reports *reports, const struct run_entry *run,
                 struct case_result *out_result)
{
    struct case_params wanted;

    verdict_join(reports->ends[END_SENDER], reports->ends[END_ECHO], out_result);
    assert((size_t)out_result->index < work_count(&run->work));
    wanted = plan_case(&run->work.plan, (size_t)out_result->index);
    if (case_params_equal(&out_result->params, &wanted))
        return;
    out_result->params = wanted;
    out_result->status = CASE_ERROR;
    text_copy(out_result->error, sizeof out_result->error,
              "the reports are of other parameters than the plan has");
}

void joined_error(const struct run_entry *run, int64_t index, const char *reason,
                  struct case_result *out_result)
{
    record_init(&case_result_record, out_result);
    out_result->index = index;
    out_result->params = plan_case(&run->work.plan, (size_t)index);
    out_result->status = CASE_ERROR;
    text_copy(out_result->error, sizeof out_result->error, reason);
}

void joined_case_row(const struct run_entry *run, const struct case_result *result,
                     struct case_row *out_row)
{
    const struct phase *measure = &result->phases.measure;

    record_init(&case_row_record, out_row);
    text_copy(out_row->run, sizeof out_row->run, run->run);
    text_copy(out_row->started, sizeof out_row->started, run->started);
    text_copy(out_row->from, sizeof out_row->from, run->from);
    text_copy(out_row->to, sizeof out_row->to, run->to);
    out_row->params = result->params;
    out_row->index = result->index;
    out_row->status = result->status;
    text_copy(out_row->error, sizeof out_row->error, result->error);
    if (!measure->present)
        return;
    out_row->sent = measure->forward.sent;
    out_row->received = measure->reverse.received;
    out_row->forward_lost = measure->forward.lost;
    out_row->reverse_lost = measure->reverse.lost;
    out_row->forward_lost_to = measure->forward.lost_to;
    out_row->reverse_lost_to = measure->reverse.lost_to;
    out_row->echoes_per_second = measure->echoes_per_second;
    if (!result->rtt_ns.present)
        return;
    out_row->rtt_p50_ns = result->rtt_ns.p50;
    out_row->rtt_p99_ns = result->rtt_ns.p99;
}

void joined_session(const struct reports *reports, const struct run_entry *run, int64_t index,
                    const char *reason, struct run *archive)
{
    struct mtu_params params = mtu_plan_session(&run->work.mtu_plan, (size_t)index);
    size_t first = archive->mtu_cases.count;
    struct mtu_session *session;

    mtu_join(reports->ends[END_SENDER], reports->ends[END_ECHO], &params, &archive->mtu_cases,
             &archive->mtu_sessions);
    if (reports_both(reports) || reason[0] == '\0')
        return;
    session = (struct mtu_session *)archive->mtu_sessions.items + archive->mtu_sessions.count - 1;
    mtu_join_blame(session, (struct mtu_case *)archive->mtu_cases.items + first,
                   archive->mtu_cases.count - first, reason);
}

void joined_mtu_row(const struct run_entry *run, int64_t index, const struct run *archive,
                    enum mtu_direction direction, struct mtu_row *out_row)
{
    assert(archive->mtu_sessions.count == 1);
    mtu_row_of(archive->mtu_cases.items, archive->mtu_cases.count, archive->mtu_sessions.items,
               direction, out_row);
    text_copy(out_row->run, sizeof out_row->run, run->run);
    text_copy(out_row->started, sizeof out_row->started, run->started);
    text_copy(out_row->from, sizeof out_row->from, run->from);
    text_copy(out_row->to, sizeof out_row->to, run->to);
    out_row->index = MTU_DIRECTION_COUNT * index + (int64_t)direction;
}
