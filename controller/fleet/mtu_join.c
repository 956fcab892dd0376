/* Owns how two ends' reports of a path MTU session become the cases and the session of an archive,
 * and the row of a direction. Reports come from agents: what contradicts itself is no answer. What
 * an answer means is mtu_verdict's. */
#include "controller/fleet/mtu_join.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/verdict.h"
#include "proto/base/text.h"
#include "proto/wire/mtu_check.h"
#include "proto/wire/mtu_verdict.h"

enum { WORDS_MAX = 65536 }; /* of 256 flows, each a group of its own */

/* No count of datagrams of one flow is near this, and sums of a session's fit a row. */
#define COUNT_REASON (INT64_C(1) << 40)

static const char *const end_words[] = { "the sender's end", "the echo's end" };

static const struct direction {
    enum phase_kind phase;
    enum end_role prober;
} directions[MTU_DIRECTION_COUNT] = {
    [MTU_FORWARD] = { PHASE_FORWARD, END_SENDER },
    [MTU_REVERSE] = { PHASE_REVERSE, END_ECHO },
};

/* A session while its cases are made. */
struct joining {
    const struct mtu_report *ends[END_COUNT]; /* NULL: missing, or not to be taken */
    const struct mtu_params *params;
    struct mtu_session *session;
    struct list *cases;
};

/* --- reports --------------------------------------------------------------------------------- */

static enum status check_end(const struct mtu_report *report, enum end_role role,
                             const struct mtu_params *params, struct fault *fault)
{
    if (report->role != role)
        return fault_set(fault, STATUS_CORRUPT, "the report of %s says that it is the other one's",
                         end_words[role]);
    if (!mtu_params_equal(&report->params, params))
        return fault_set(fault, STATUS_CORRUPT,
                         "the report of %s is of other parameters than the plan has",
                         end_words[role]);
    return STATUS_OK;
}

static enum status check_reports(const struct joining *joining, struct fault *fault)
{
    const struct mtu_report *sender = joining->ends[END_SENDER], *echo = joining->ends[END_ECHO];
    enum status status = STATUS_OK;

    for (size_t i = 0; i < END_COUNT && status == STATUS_OK; i++) {
        if (joining->ends[i] != NULL)
            status = check_end(joining->ends[i], (enum end_role)i, joining->params, fault);
    }
    if (status != STATUS_OK || sender == NULL || echo == NULL)
        return status;
    if (strcmp(sender->run, echo->run) != 0 || sender->index != echo->index ||
        strcmp(sender->session, echo->session) != 0)
        return fault_set(fault, STATUS_CORRUPT,
                         "the two reports are of two sessions, %s (sender) and %s (echo)",
                         sender->session, echo->session);
    return STATUS_OK;
}

/* What an end could not do, or whose report is missing; "" when there is nothing to say. */
static void explain(const struct joining *joining, struct fault *fault)
{
    const struct mtu_report *sender = joining->ends[END_SENDER], *echo = joining->ends[END_ECHO];
    const struct mtu_report *there = sender != NULL ? sender : echo;

    if (there == NULL)
        (void)fault_set(fault, STATUS_NOT_FOUND, "the reports of both ends are missing");
    else if (sender == NULL || echo == NULL)
        (void)fault_set(fault, STATUS_NOT_FOUND, "the report of %s is missing%s%s",
                        end_words[sender == NULL ? END_SENDER : END_ECHO],
                        there->error[0] == '\0' ? "" : "; the other one says: ", there->error);
    else
        (void)verdict_errors(sender->error, echo->error, fault);
}

/* --- flows ----------------------------------------------------------------------------------- */

static void copy_list(const struct list *from, size_t element_size, struct list *out_list)
{
    *out_list = (struct list){ 0 };
    for (size_t i = 0; i < from->count; i++)
        memcpy(list_append_sized(out_list, element_size),
               (const char *)from->items + i * element_size, element_size);
}

/* Sums of a session's flows must fit a row, beyond what the numbers of one say together. */
static enum status check_flow(const struct mtu_params *params, const struct mtu_flow *flow,
                              struct fault *fault)
{
    if (flow->probes > COUNT_REASON)
        return fault_set(fault, STATUS_CORRUPT, "/probes: beyond all reason");
    return mtu_flow_check(params, flow, fault);
}

/* The report's answer of each flow, NULL without one; the fault says what of it is no answer. */
static void sort_flows(const struct mtu_report *report, const struct mtu_params *params,
                       const struct mtu_flow *out_flows[MTU_FLOWS_MAX], struct fault *fault)
{
    const struct mtu_flow *items = report->flows.items;
    struct fault why;

    for (size_t i = 0; i < report->flows.count; i++) {
        const struct mtu_flow *flow = &items[i];

        if (check_flow(params, flow, &why) != STATUS_OK)
            (void)fault_set(fault, STATUS_CORRUPT, "its report does not add up: flow %lld%s",
                            (long long)flow->flow, why.text);
        else if (out_flows[flow->flow] != NULL)
            (void)fault_set(fault, STATUS_CORRUPT, "its report has flow %lld twice",
                            (long long)flow->flow);
        else
            out_flows[flow->flow] = flow;
    }
}

static void add_case(const struct joining *joining, enum mtu_direction direction, int64_t number,
                     const struct mtu_flow *flow)
{
    struct mtu_case *added = list_append_sized(joining->cases, sizeof *added);

    record_init(&mtu_case_record, added);
    added->index = (int64_t)joining->cases->count - 1;
    added->family = joining->params->family;
    added->direction = direction;
    if (flow != NULL) {
        added->flow = *flow;
        copy_list(&flow->icmp, sizeof(struct mtu_icmp), &added->flow.icmp);
        copy_list(&flow->loss_by_size, sizeof(struct mtu_size), &added->flow.loss_by_size);
    }
    added->flow.flow = number;
    added->verdict = mtu_verdict_of(added->family, &added->flow);
    added->udp_payload = mtu_payload_of(added->family, added->flow.path_mtu);
}

/* All flows of a direction. The fault is why there are none, when nothing else explains it. */
static void add_direction(const struct joining *joining, enum mtu_direction direction,
                          struct fault *fault)
{
    const struct mtu_report *report = joining->ends[directions[direction].prober];
    const struct mtu_flow *flows[MTU_FLOWS_MAX] = { NULL };
    int64_t count = joining->params->common.flows;
    struct fault why = { "" };

    assert(count <= MTU_FLOWS_MAX);
    if (report != NULL)
        sort_flows(report, joining->params, flows, &why);
    for (int64_t i = 0; i < count; i++) {
        add_case(joining, direction, i, flows[i]);
        if (flows[i] == NULL && report != NULL && why.text[0] == '\0')
            (void)fault_set(&why, STATUS_NOT_FOUND, "its report has no answer of flow %lld",
                            (long long)i);
    }
    if (why.text[0] != '\0')
        (void)fault_set(fault, STATUS_CORRUPT, "%s: %s", end_words[directions[direction].prober],
                        why.text);
}

/* --- the session ----------------------------------------------------------------------------- */

/* What came to the end that answers, where that adds up. */
static void take_answered(const struct joining *joining, enum mtu_direction direction,
                          const struct mtu_report *report, struct mtu_answered *out_answered)
{
    const struct mtu_answered *answered = &report->answered;

    if (mtu_has_phase(&joining->params->common, directions[direction].phase) &&
        (answered->answered > 0) == (answered->largest != NONE_INT))
        *out_answered = *answered;
}

/* Changes, likewise. */
static void take_events(const struct joining *joining, enum mtu_direction direction,
                        const struct mtu_report *report, struct list *out_events)
{
    struct fault unsaid;

    if (mtu_has_phase(&joining->params->common, directions[direction].phase) &&
        mtu_events_check(joining->params, &report->events, &unsaid) == STATUS_OK)
        copy_list(&report->events, sizeof(struct mtu_event), out_events);
}

static void fill_session(const struct joining *joining)
{
    const struct mtu_report *sender = joining->ends[END_SENDER], *echo = joining->ends[END_ECHO];
    struct mtu_session *session = joining->session;

    if (sender != NULL) {
        text_copy(session->local, sizeof session->local, sender->local);
        text_copy(session->peer, sizeof session->peer, sender->peer);
        session->agreement = sender->agreement;
        take_answered(joining, MTU_REVERSE, sender, &session->answered_reverse);
        take_events(joining, MTU_FORWARD, sender, &session->events_forward);
    } else if (echo != NULL) {
        text_copy(session->local, sizeof session->local, echo->peer);
        text_copy(session->peer, sizeof session->peer, echo->local);
        /* It came to a phase: that they had agreed is known all the same. */
        if (echo->answered.present || echo->flows.count > 0)
            session->agreement = echo->agreement;
    }
    if (echo == NULL)
        return;
    take_answered(joining, MTU_FORWARD, echo, &session->answered_forward);
    take_events(joining, MTU_REVERSE, echo, &session->events_reverse);
    if (session->agreement.present && echo->agreement.present)
        session->agreement.strangers = echo->agreement.strangers;
}

static bool is_answer(const struct mtu_case *of)
{
    return of->verdict != MTU_NO_VERDICT;
}

void mtu_join_blame(struct mtu_session *session, struct mtu_case *cases, size_t count,
                    const char *reason)
{
    text_copy(session->error, sizeof session->error, reason);
    for (size_t i = 0; i < count; i++) {
        if (!is_answer(&cases[i]))
            text_copy(cases[i].error, sizeof cases[i].error, reason);
    }
}

void mtu_join(const struct mtu_report *sender, const struct mtu_report *echo,
              const struct mtu_params *params, struct list *cases, struct list *sessions)
{
    struct joining joining = { { sender, echo }, params, NULL, cases };
    size_t first = cases->count;
    struct fault said = { "" }, broken = { "" };

    joining.session = list_append_sized(sessions, sizeof *joining.session);
    record_init(&mtu_session_record, joining.session);
    joining.session->family = params->family;
    if (check_reports(&joining, &said) != STATUS_OK)
        joining.ends[END_SENDER] = joining.ends[END_ECHO] = NULL;
    else
        explain(&joining, &said);
    for (int i = 0; i < MTU_DIRECTION_COUNT; i++) {
        if (mtu_has_phase(&params->common, directions[i].phase))
            add_direction(&joining, (enum mtu_direction)i, &broken);
    }
    fill_session(&joining);
    /* What an end says of itself explains more than what does not fit because of it. */
    mtu_join_blame(joining.session, (struct mtu_case *)cases->items + first, cases->count - first,
                   said.text[0] != '\0' ? said.text : broken.text);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void fill_smallest(const struct mtu_case *smallest, struct mtu_row *row)
{
    struct buf words;

    buf_init(&words, WORDS_MAX);
    row->verdict = smallest->verdict;
    row->path_mtu = smallest->flow.path_mtu;
    row->udp_payload = smallest->udp_payload;
    row->local_mtu = smallest->flow.local_mtu;
    if (smallest->verdict == MTU_LOSSY && smallest->flow.size_effect.present)
        row->threshold = smallest->flow.size_effect.threshold;
    mtu_evidence_words(smallest, &words);
    text_copy(row->words, sizeof row->words, buf_peek(&words));
    buf_done(&words);
}

static void fill_groups(const struct mtu_case *const *cases, size_t count, struct mtu_row *row)
{
    struct mtu_group *groups = NULL;
    size_t group_count = mtu_groups(cases, count, &groups);
    struct buf words;

    buf_init(&words, WORDS_MAX);
    for (size_t i = 0; i < group_count; i++) {
        if (i > 0)
            buf_text(&words, ", ");
        mtu_group_words(cases, count, &groups[i], group_count == 1, &words);
    }
    text_copy(row->groups, sizeof row->groups, buf_peek(&words));
    buf_done(&words);
    free(groups);
}

static void count_events(const struct list *events, struct mtu_row *row)
{
    const struct mtu_event *items = events->items;

    for (size_t i = 0; i < events->count; i++)
        row->changes += items[i].change != MTU_CHANGE_KNOWN;
}

/* The verdict of the smallest is the row's, unless a flow's search has no end: then more may be
 * smaller than is known. */
static void judge(const struct mtu_case *const *cases, size_t count,
                  const struct mtu_session *session, struct mtu_row *row)
{
    row->status =
        row->verdict == MTU_CLEAN || row->verdict == MTU_SIGNALLED ? CASE_PASS : CASE_FAIL;
    for (size_t i = 0; i < count; i++) {
        if (is_answer(cases[i]))
            continue;
        row->status = CASE_ERROR;
        text_copy(row->error, sizeof row->error,
                  session->error[0] != '\0' ? session->error : row->words);
        return;
    }
}

void mtu_row_of(const struct mtu_case *cases, size_t count, const struct mtu_session *session,
                enum mtu_direction direction, struct mtu_row *out_row)
{
    const struct mtu_case *flows[MTU_FLOWS_MAX];
    const struct mtu_case *smallest = NULL;
    size_t found = 0;

    record_init(&mtu_row_record, out_row);
    out_row->family = session->family;
    out_row->direction = direction;
    for (size_t i = 0; i < count && found < MTU_FLOWS_MAX; i++) {
        const struct mtu_flow *flow = &cases[i].flow;

        if (cases[i].direction != direction)
            continue;
        flows[found++] = &cases[i];
        /* NONE_INT, of a flow without one, is below all. */
        if (smallest == NULL || flow->path_mtu < smallest->flow.path_mtu)
            smallest = &cases[i];
        if (flow->path_mtu > out_row->largest)
            out_row->largest = flow->path_mtu;
        out_row->probes += flow->probes;
        if (flow->seconds > out_row->seconds)
            out_row->seconds = flow->seconds;
    }
    assert(smallest != NULL);
    out_row->flows = (int64_t)found;
    fill_smallest(smallest, out_row);
    fill_groups(flows, found, out_row);
    count_events(direction == MTU_FORWARD ? &session->events_forward : &session->events_reverse,
                 out_row);
    judge(flows, found, session, out_row);
}
