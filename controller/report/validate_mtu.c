/* Owns where the cases of a path MTU run stand: each flow of each direction of each session at its
 * place, with the verdict and the payload that follow from its answer. What an answer says itself
 * is checked in proto/wire/mtu_check.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/report/validate_parts.h"
#include "proto/wire/mtu_check.h"
#include "proto/wire/mtu_verdict.h"

/* The place of the family in the plan; their count when it is not there. */
static size_t session_of(const struct run *run, enum family family)
{
    size_t count = mtu_plan_sessions(&run->mtu_plan);

    for (size_t i = 0; i < count; i++) {
        if (mtu_plan_session(&run->mtu_plan, i).family == family)
            return i;
    }
    return count;
}

static bool has_direction(const struct mtu_plan *plan, enum mtu_direction direction)
{
    return plan->common.direction == MTU_WAYS_BOTH ||
           (plan->common.direction == MTU_WAYS_FORWARD) == (direction == MTU_FORWARD);
}

static enum status check_plan(const struct run *run, struct fault *fault)
{
    struct fault why = { "" };
    enum status status = mtu_plan_check(&run->mtu_plan, &why);

    if (status != STATUS_OK)
        return fault_set(fault, STATUS_CORRUPT, "/plan: %s", why.text);
    if (!run->interrupted && mtu_plan_sessions(&run->mtu_plan) == 0)
        return fault_set(fault, STATUS_CORRUPT, "/plan/families: none, in a run that is complete");
    return STATUS_OK;
}

/* --- sessions -------------------------------------------------------------------------------- */

static enum status check_answered(const struct run *run, const struct mtu_session *session,
                                  enum mtu_direction direction, const char *at, struct fault *fault)
{
    const struct mtu_answered *answered =
        direction == MTU_FORWARD ? &session->answered_forward : &session->answered_reverse;

    if (!answered->present)
        return STATUS_OK;
    if (!has_direction(&run->mtu_plan, direction))
        return fault_set(fault, STATUS_CORRUPT, "%s/answered_%s: must be null where nobody probed",
                         at, mtu_direction_names[direction]);
    if ((answered->answered > 0) != (answered->largest != NONE_INT))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/answered_%s/largest: must %sbe null where %" PRId64 " were answered",
                         at, mtu_direction_names[direction], answered->answered > 0 ? "not " : "",
                         answered->answered);
    return STATUS_OK;
}

static enum status check_events(const struct run *run, const struct mtu_session *session,
                                enum mtu_direction direction, const char *at, struct fault *fault)
{
    struct mtu_params params = mtu_plan_session(&run->mtu_plan, session_of(run, session->family));
    const struct list *events =
        direction == MTU_FORWARD ? &session->events_forward : &session->events_reverse;
    struct fault why = { "" };

    if (events->count > 0 && !has_direction(&run->mtu_plan, direction))
        return fault_set(fault, STATUS_CORRUPT, "%s/events_%s: must be empty where nobody probed",
                         at, mtu_direction_names[direction]);
    if (mtu_events_check(&params, events, &why) == STATUS_OK)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT, "%s/events_%s%s", at, mtu_direction_names[direction],
                     why.text);
}

static enum status check_session(const struct run *run, const struct mtu_session *session,
                                 const char *at, struct fault *fault)
{
    enum status status = STATUS_OK;

    for (int i = 0; i < MTU_DIRECTION_COUNT && status == STATUS_OK; i++) {
        status = check_answered(run, session, (enum mtu_direction)i, at, fault);
        if (status == STATUS_OK)
            status = check_events(run, session, (enum mtu_direction)i, at, fault);
    }
    return status;
}

/* In the plan's order; some may be missing from an interrupted run only. */
static enum status check_sessions(const struct run *run, struct fault *fault)
{
    const struct mtu_session *sessions = run->mtu_sessions.items;
    size_t wanted = mtu_plan_sessions(&run->mtu_plan);
    enum status status = STATUS_OK;
    char at[POINTER_SIZE];

    if (!run->interrupted && run->mtu_sessions.count != wanted)
        return fault_set(fault, STATUS_CORRUPT,
                         "/sessions: %zu, but the plan has %zu and the run was not interrupted",
                         run->mtu_sessions.count, wanted);
    for (size_t i = 0; i < run->mtu_sessions.count && status == STATUS_OK; i++) {
        size_t place = session_of(run, sessions[i].family);

        snprintf(at, sizeof at, "/sessions/%zu", i);
        if (place == wanted)
            status = fault_set(fault, STATUS_CORRUPT, "%s/family: is not in the plan", at);
        else if (i > 0 && place <= session_of(run, sessions[i - 1].family))
            status =
                fault_set(fault, STATUS_CORRUPT, "%s/family: not in the order of the plan", at);
        else
            status = check_session(run, &sessions[i], at, fault);
    }
    return status;
}

/* --- cases ----------------------------------------------------------------------------------- */

static bool has_session(const struct run *run, enum family family)
{
    const struct mtu_session *sessions = run->mtu_sessions.items;

    for (size_t i = 0; i < run->mtu_sessions.count; i++) {
        if (sessions[i].family == family)
            return true;
    }
    return false;
}

/* A number that grows from one case to the next: by session, direction and flow. */
static size_t rank_of(const struct run *run, const struct mtu_case *result)
{
    return (session_of(run, result->family) * MTU_DIRECTION_COUNT + (size_t)result->direction) *
               MTU_FLOWS_MAX +
           (size_t)result->flow.flow;
}

static enum status check_place(const struct run *run, size_t position, const char *at,
                               struct fault *fault)
{
    const struct mtu_case *result = (const struct mtu_case *)run->mtu_cases.items + position;

    if (result->index != (int64_t)position)
        return fault_set(fault, STATUS_CORRUPT, "%s/index: %" PRId64 ", but it is case %zu", at,
                         result->index, position);
    if (!has_session(run, result->family))
        return fault_set(fault, STATUS_CORRUPT, "%s/family: there is no such session", at);
    if (!has_direction(&run->mtu_plan, result->direction))
        return fault_set(fault, STATUS_CORRUPT, "%s/direction: was not asked for", at);
    if (position > 0 && rank_of(run, result - 1) >= rank_of(run, result))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/flow: not in order of session, direction and flow", at);
    return STATUS_OK;
}

/* What follows from the answer. */
static enum status check_case(const struct run *run, const struct mtu_case *result, const char *at,
                              struct fault *fault)
{
    struct mtu_params params = mtu_plan_session(&run->mtu_plan, session_of(run, result->family));
    int64_t payload = mtu_payload_of(result->family, result->flow.path_mtu);
    enum mtu_verdict verdict = mtu_verdict_of(result->family, &result->flow);
    struct fault why = { "" };

    if (mtu_flow_check(&params, &result->flow, &why) != STATUS_OK)
        return fault_set(fault, STATUS_CORRUPT, "%s%s", at, why.text);
    if (result->udp_payload != payload)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/udp_payload: is not path_mtu less the headers of %s", at,
                         family_names[result->family]);
    if (result->verdict != verdict)
        return fault_set(fault, STATUS_CORRUPT, "%s/verdict: \"%s\", but its numbers say \"%s\"",
                         at, mtu_verdict_names[result->verdict], mtu_verdict_names[verdict]);
    if (result->error[0] != '\0' && result->verdict != MTU_NO_VERDICT)
        return fault_set(fault, STATUS_CORRUPT, "%s/error: must be null where there is an answer",
                         at);
    return STATUS_OK;
}

static enum status check_cases(const struct run *run, struct fault *fault)
{
    const struct mtu_case *cases = run->mtu_cases.items;
    size_t ways = run->mtu_plan.common.direction == MTU_WAYS_BOTH ? 2 : 1;
    size_t wanted = run->mtu_sessions.count * ways * (size_t)run->mtu_plan.common.flows;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < run->mtu_cases.count && status == STATUS_OK; i++) {
        char at[POINTER_SIZE];

        snprintf(at, sizeof at, "/cases/%zu", i);
        status = check_place(run, i, at, fault);
        if (status == STATUS_OK)
            status = check_case(run, &cases[i], at, fault);
    }
    if (status == STATUS_OK && !run->interrupted && run->mtu_cases.count != wanted)
        status = fault_set(fault, STATUS_CORRUPT,
                           "/cases: %zu, but the plan has %zu and the run was not interrupted",
                           run->mtu_cases.count, wanted);
    return status;
}

enum status validate_mtu(const struct run *run, struct fault *fault)
{
    enum status status = check_plan(run, fault);

    if (status == STATUS_OK)
        status = check_sessions(run, fault);
    return status == STATUS_OK ? check_cases(run, fault) : status;
}
