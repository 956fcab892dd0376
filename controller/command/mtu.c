/* Owns `sonde mtu` and `sonde sizes`: what such a run's messages and answers mean to a shell. The
 * flags are mtu_flags', asking, following and keeping follow's, the words mtu_words'; the agents
 * measure, the controller joins and judges. */
#include <stdio.h>

#include "controller/command/follow.h"
#include "controller/command/keep.h"
#include "controller/command/mtu_flags.h"
#include "controller/command/mtu_words.h"
#include "proto/base/utf8.h"
#include "proto/wire/mtu_verdict.h"

/* One run of the command. */
struct view {
    const struct mtu_request *request;
    int64_t sessions; /* that the controller has made of the plan */
    bool begun;
    int64_t index; /* of the session that runs */
    enum phase_kind phase;
};

/* --- while it runs ---------------------------------------------------------------------------- */

static void describe(const struct follow *follow, const struct message_accepted *accepted,
                     char *out_text, size_t size)
{
    struct view *view = follow->context;
    const struct mtu_request *request = view->request;
    const struct mtu_common *common = &request->plan.common;
    char flows[48] = "";

    view->sessions = accepted->cases;
    if (common->flows > 1)
        snprintf(flows, sizeof flows, ", %lld flows each", (long long)common->flows);
    snprintf(out_text, size, "path MTU%s between %s and %s, %s%s",
             common->sizes > 0 ? " and loss by size" : "", request->pair.from, request->pair.to,
             common->direction == MTU_WAYS_BOTH ? "forward and reverse"
                                                : mtu_ways_names[common->direction],
             flows);
}

/* Of a session's index: as they were asked for, or all of them in order; FAMILY_COUNT when only the
 * controller knows which one it is. */
static int family_of(const struct view *view, int64_t index)
{
    const struct mtu_plan *plan = &view->request->plan;

    if (index >= 0 && (size_t)index < plan->families.count)
        return ((const int *)plan->families.items)[index];
    return view->sessions == FAMILY_COUNT && index >= 0 && index < FAMILY_COUNT ? (int)index
                                                                                : FAMILY_COUNT;
}

static void begin_phase(struct follow *follow, const struct message_run_progress *message)
{
    struct view *view = follow->context;
    struct mtu_params params = { .common = view->request->plan.common };
    char label[MTU_PART_SIZE];

    if (view->begun && view->index == message->index && view->phase == message->phase)
        return;
    if (view->begun)
        progress_end(&follow->progress, false, "");
    view->begun = true;
    view->index = message->index;
    view->phase = message->phase;
    mtu_words_part(family_of(view, message->index),
                   message->phase == PHASE_REVERSE ? MTU_REVERSE : MTU_FORWARD, label);
    progress_begin(&follow->progress, label, mtu_phase_seconds(&params));
}

static void on_message(struct follow *follow, const union message *message)
{
    const struct view *view = follow->context;
    const struct mtu_common *common = &view->request->plan.common;
    char line[MTU_LINE_SIZE];

    if (message->type == MESSAGE_RUN_PROGRESS) {
        begin_phase(follow, &message->run_progress);
        mtu_words_progress(&message->run_progress, common, follow->note);
    } else if (message->type == MESSAGE_RUN_MOVED) {
        mtu_words_moved(&message->run_moved, common->flows, line);
        progress_say(&follow->progress, false, line);
    } else if (message->type == MESSAGE_MTU_DONE) {
        mtu_words_done(&message->mtu_done.row, line);
        progress_say(&follow->progress, message->mtu_done.row.status != CASE_PASS, line);
    }
}

/* --- afterwards ------------------------------------------------------------------------------- */

/* Nothing was probed where no two ends have agreed. The agreement is the sender's to tell: without
 * its report, what the echo's end has probed counts. */
static bool has_begun(const struct run *run)
{
    const struct mtu_session *sessions = run->mtu_sessions.items;
    const struct mtu_case *cases = run->mtu_cases.items;

    for (size_t i = 0; i < run->mtu_sessions.count; i++) {
        if (sessions[i].agreement.present && sessions[i].agreement.hellos_answered > 0)
            return true;
    }
    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        if (cases[i].flow.probes > 0)
            return true;
    }
    return false;
}

/* Says which part is not as it was asked for, and why: EXIT_FAILED. */
static enum exit_code complain(const struct follow *follow, const char *part, const char *why)
{
    char line[MTU_LINE_SIZE];

    snprintf(line, sizeof line, "%s: %.*s", part, REASON_SIZE, why);
    utf8_mask(line);
    return follow_complain(follow->command, line);
}

static enum exit_code complain_case(const struct follow *follow, const struct mtu_case *what)
{
    char part[MTU_PART_SIZE], flow[MTU_PART_SIZE + 32];
    enum exit_code code;
    struct buf why;

    buf_init(&why, MTU_LINE_SIZE);
    mtu_words_part((int)what->family, what->direction, part);
    snprintf(flow, sizeof flow, "%s, flow %lld, is undecided", part, (long long)what->flow.flow);
    if (what->error[0] != '\0')
        buf_text(&why, what->error);
    else
        mtu_evidence_words(what, &why);
    code = complain(follow, flow, buf_peek(&why));
    buf_done(&why);
    return code;
}

/* Whatever was asked for has its answer; else the first that has none is told. */
static enum exit_code all_answered(const struct follow *follow, const struct run *run)
{
    const struct mtu_session *sessions = run->mtu_sessions.items;
    const struct mtu_case *cases = run->mtu_cases.items;

    for (size_t i = 0; i < run->mtu_sessions.count; i++) {
        if (sessions[i].error[0] != '\0')
            return complain(follow, mtu_words_family(sessions[i].family), sessions[i].error);
    }
    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        if (cases[i].verdict == MTU_NO_VERDICT)
            return complain_case(follow, &cases[i]);
    }
    return EXIT_MEASURED;
}

/* To end a watch by hand is its regular end, once there is something to tell. */
static bool is_cut(const struct follow *follow, const struct run *run)
{
    const struct view *view = follow->context;
    const struct mtu_case *cases = run->mtu_cases.items;

    if (!run->interrupted)
        return false;
    if (view->request->plan.common.watch_s <= 0 || !follow->asked_to_stop)
        return true;
    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        if (cases[i].verdict != MTU_NO_VERDICT)
            return false;
    }
    return true;
}

static enum exit_code outcome(const struct follow *follow, const struct run *run)
{
    const struct mtu_case *cases = run->mtu_cases.items;
    enum exit_code code;

    if (is_cut(follow, run))
        return follow_complain(follow->command, "interrupted; not every path has its answer");
    code = run->interrupted ? EXIT_MEASURED : all_answered(follow, run);
    for (size_t i = 0; i < run->mtu_cases.count && code == EXIT_MEASURED; i++) {
        if (follow->flags->check && cases[i].verdict != MTU_CLEAN &&
            cases[i].verdict != MTU_SIGNALLED)
            code = EXIT_CHECK;
    }
    return code;
}

/* An upper bound; without a family named there may be all of them. */
static double all_seconds(const struct mtu_plan *plan)
{
    const struct mtu_params params = { .common = plan->common };
    size_t families = plan->families.count > 0 ? plan->families.count : FAMILY_COUNT;
    size_t ways = plan->common.direction == MTU_WAYS_BOTH ? 2 : 1;

    return (double)(families * ways) * mtu_phase_seconds(&params);
}

static enum exit_code measure(const struct mtu_request *request, int argc, char **argv)
{
    static const struct follow_kind kind = { describe, on_message, has_begun, outcome };
    struct view view = { .request = request };
    struct follow follow = { .command = argv[0],
                             .flags = &request->flags,
                             .kind = &kind,
                             .context = &view,
                             .at_most_s = all_seconds(&request->plan) };
    struct message_run order;
    enum exit_code code;

    follow_order(&request->pair, argc, argv, &order);
    order.kind = WORK_MTU;
    mtu_plan_copy(&request->plan, &order.of_mtu.plan);
    code = follow_run(&follow, &order);
    message_done(&order);
    return code;
}

typedef enum options_result parse_flags(struct mtu_request *request, int argc, char **argv);

static enum exit_code command(parse_flags *parse, int argc, char **argv)
{
    enum exit_code code = EXIT_USAGE;
    struct mtu_request request;

    mtu_request_init(&request);
    switch (parse(&request, argc, argv)) {
    case OPTIONS_DONE:
        code = EXIT_MEASURED;
        break;
    case OPTIONS_BAD:
        break;
    case OPTIONS_GO:
        code = mtu_request_check(argv[0], &request);
        if (code == EXIT_MEASURED)
            code = keep_prepare(argv[0], request.flags.output);
        if (code == EXIT_MEASURED)
            code = measure(&request, argc, argv);
        break;
    }
    mtu_request_done(&request);
    return code;
}

enum exit_code command_mtu(int argc, char **argv)
{
    return command(mtu_request_parse, argc, argv);
}

enum exit_code command_sizes(int argc, char **argv)
{
    return command(sizes_request_parse, argc, argv);
}
