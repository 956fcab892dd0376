/* Owns the rules of one buffer experiment: what was sent, held, processed and dropped is one
 * account, and what is measured over time is in order. A case with an error need not add up. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "controller/report/validate_parts.h"

enum { PORT_MAX = 65535 };

static enum status check_grant(const struct grant *rcvbuf, const char *at, struct fault *fault)
{
    if (rcvbuf->granted == 0)
        return fault_set(fault, STATUS_CORRUPT, "%s/rcvbuf/granted: must not be 0", at);
    if (rcvbuf->asked == 0 && rcvbuf->limit[0] != '\0')
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/rcvbuf/limit: must be null where nothing was asked for", at);
    return STATUS_OK;
}

/* Everything that was to be sent was taken or refused. A datagram may have been refused before it
 * was taken. */
static enum status check_sent(int64_t sent, const struct refused *refused, int64_t sends,
                              const char *at, struct fault *fault)
{
    int64_t tried = sent;

    if (sent > sends)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/sent: %" PRId64 " is more than the plan has (%" PRId64 ")", at, sent,
                         sends);
    if (sum_add(&tried, refused_total(refused)) && tried < sends)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/sent: %" PRId64 " taken and %" PRId64 " refused are not the %" PRId64
                         " of the plan",
                         at, sent, tried - sent, sends);
    return STATUS_OK;
}

static enum status check_ladder(const struct experiment_result *result, const char *at,
                                struct fault *fault)
{
    const struct ladder_result *ladder = &result->ladder;
    bool failed = result->error[0] != '\0';

    if (failed != (ladder->granted == NONE_INT))
        return fault_set(fault, STATUS_CORRUPT, "%s/granted: must %sbe null where %s error is", at,
                         failed ? "" : "not ", failed ? "an" : "no");
    if (ladder->limit[0] != '\0' && (failed || ladder->asked == NONE_INT))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/limit: must be null where nothing was asked for or granted", at);
    return STATUS_OK;
}

/* Both may be rounded quotients: leave room for their last digits. */
static bool same_charge(double has, double wants)
{
    return fabs(has - wants) <= 1.0 + wants * 1e-9;
}

static enum status check_charge(const struct hold_result *hold, const char *at, struct fault *fault)
{
    bool queued = hold->queued_bytes != NONE_INT;
    double bytes = (double)(queued ? hold->queued_bytes : hold->rcvbuf.granted);
    double held = (double)hold->held;
    double charge = hold->held > 0 ? bytes / held : (double)NAN;

    if (isnan(charge) != isnan(hold->bytes_per_datagram))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/bytes_per_datagram: must %sbe null where held is %" PRId64, at,
                         isnan(charge) ? "" : "not ", hold->held);
    if (isnan(charge) || same_charge(hold->bytes_per_datagram, charge))
        return STATUS_OK;
    /* Where sockets do not count their drops, a queue's bytes are not all that a datagram takes of
     * the buffer: one that overflowed says it better. */
    if (hold->dropped.socket == NONE_INT && hold->held < hold->sent &&
        same_charge(hold->bytes_per_datagram, (double)hold->rcvbuf.granted / held))
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT, "%s/bytes_per_datagram: %.1f, but %s / held is %.1f",
                     at, hold->bytes_per_datagram, queued ? "queued_bytes" : "granted", charge);
}

static enum status check_held(const struct hold_result *hold, const char *at, struct fault *fault)
{
    if (hold->held > hold->sent)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/held: %" PRId64 " is more than was sent (%" PRId64 ")", at, hold->held,
                         hold->sent);
    if (hold->dropped.socket != NONE_INT && hold->dropped.socket != hold->sent - hold->held)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/held: %" PRId64 " held and %" PRId64
                         " dropped by the socket are not the %" PRId64 " sent",
                         at, hold->held, hold->dropped.socket, hold->sent);
    if (hold->predicted_held != NONE_INT && hold->predicted_held > hold->sent)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/predicted_held: %" PRId64 " is more than was sent (%" PRId64 ")", at,
                         hold->predicted_held, hold->sent);
    return STATUS_OK;
}

static enum status check_hold(const struct hold_result *hold, int64_t sends, const char *at,
                              struct fault *fault)
{
    enum status status = check_grant(&hold->rcvbuf, at, fault);

    if (status == STATUS_OK)
        status = check_sent(hold->sent, &hold->refused, sends, at, fault);
    if (status == STATUS_OK)
        status = check_held(hold, at, fault);
    return status == STATUS_OK ? check_charge(hold, at, fault) : status;
}

/* The real interval is that of the sends that were tried, which are `sent` when none was refused.
 */
static enum status check_pace(const struct slow_reader_result *slow, const char *at,
                              struct fault *fault)
{
    double taken = slow->achieved_interval_ns * (double)(slow->sent - 1);
    double given = slow->sending_s * 1e9;

    if (isnan(slow->sending_s))
        return fault_set(fault, STATUS_CORRUPT, "%s/sending_s: must not be null", at);
    if (isnan(slow->achieved_interval_ns) != (slow->sent < 2))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/achieved_interval_ns: must %sbe null where %" PRId64 " were sent", at,
                         slow->sent < 2 ? "" : "not ", slow->sent);
    if (slow->sent >= 2 && refused_total(&slow->refused) == 0 &&
        fabs(taken - given) > 1e3 + given * 1e-3)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/achieved_interval_ns: %.1f, but sending_s / (sent - 1) is %.1f", at,
                         slow->achieved_interval_ns, given / (double)(slow->sent - 1));
    return STATUS_OK;
}

static enum status check_loss(const struct slow_reader_result *slow, const char *at,
                              struct fault *fault)
{
    double ratio = slow->sent > 0 ? (double)slow->lost / (double)slow->sent : (double)NAN;

    if (slow->processed > slow->sent)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/processed: %" PRId64 " is more than was sent (%" PRId64 ")", at,
                         slow->processed, slow->sent);
    if (slow->lost != slow->sent - slow->processed)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/lost: %" PRId64 ", but sent - processed is %" PRId64, at, slow->lost,
                         slow->sent - slow->processed);
    if (isnan(ratio) != isnan(slow->loss_ratio) || fabs(slow->loss_ratio - ratio) > 1e-9)
        return fault_set(fault, STATUS_CORRUPT, "%s/loss_ratio: is not lost / sent", at);
    return STATUS_OK;
}

static enum status check_drops(const struct slow_reader_result *slow, const char *at,
                               struct fault *fault)
{
    int64_t dropped = slow->dropped.socket;

    if (dropped == NONE_INT)
        return STATUS_OK;
    if (dropped > slow->lost)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/dropped/socket: %" PRId64 " is more than was lost (%" PRId64 ")", at,
                         dropped, slow->lost);
    if (isnan(slow->first_drop_s) != (dropped == 0))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/first_drop_s: must %sbe null where the socket dropped %" PRId64, at,
                         dropped == 0 ? "" : "not ", dropped);
    return STATUS_OK;
}

/* Points in order of time; `grows`: what they say never falls either. */
static enum status check_points(const struct list *list, bool grows, const char *at,
                                struct fault *fault)
{
    const double(*points)[2] = list->items;

    for (size_t i = 0; i < list->count; i++) {
        if (points[i][0] < 0 || points[i][1] < 0)
            return fault_set(fault, STATUS_CORRUPT, "%s/%zu: must not be negative", at, i);
        if (i > 0 && points[i][0] < points[i - 1][0])
            return fault_set(fault, STATUS_CORRUPT, "%s/%zu: not in order of time", at, i);
        if (i > 0 && grows && points[i][1] < points[i - 1][1])
            return fault_set(fault, STATUS_CORRUPT, "%s/%zu: less than before", at, i);
    }
    return STATUS_OK;
}

static enum status check_curves(const struct slow_reader_result *slow, const char *at,
                                struct fault *fault)
{
    const double(*drops)[2] = slow->drops.items;
    char place[POINTER_SIZE];
    enum status status;

    snprintf(place, sizeof place, "%s/queue", at);
    status = check_points(&slow->queue, false, place, fault);
    if (status != STATUS_OK)
        return status;
    snprintf(place, sizeof place, "%s/drops", at);
    status = check_points(&slow->drops, true, place, fault);
    if (status == STATUS_OK && slow->drops.count > 0 && slow->dropped.socket != NONE_INT &&
        drops[slow->drops.count - 1][1] > (double)slow->dropped.socket)
        status = fault_set(fault, STATUS_CORRUPT, "%s: more than dropped/socket in the end", place);
    return status;
}

static enum status check_slow_reader(const struct slow_reader_result *slow, int64_t sends,
                                     const char *at, struct fault *fault)
{
    enum status status = check_grant(&slow->rcvbuf, at, fault);

    if (status == STATUS_OK)
        status = check_sent(slow->sent, &slow->refused, sends, at, fault);
    if (status == STATUS_OK)
        status = check_pace(slow, at, fault);
    if (status == STATUS_OK)
        status = check_loss(slow, at, fault);
    if (status == STATUS_OK)
        status = check_drops(slow, at, fault);
    return status == STATUS_OK ? check_curves(slow, at, fault) : status;
}

static enum status check_idle(const struct idle_result *idle, const char *at, struct fault *fault)
{
    const struct drop_owner *owners = idle->owners.items;
    char place[POINTER_SIZE];
    enum status status;

    if (idle->seconds <= 0)
        return fault_set(fault, STATUS_CORRUPT, "%s/seconds: must be above 0", at);
    snprintf(place, sizeof place, "%s/delta", at);
    status = validate_counters(&idle->delta, place, fault);
    for (size_t i = 0; i < idle->owners.count && status == STATUS_OK; i++) {
        if (owners[i].port > PORT_MAX)
            return fault_set(fault, STATUS_CORRUPT, "%s/owners/%zu/port: must be at most %d", at, i,
                             PORT_MAX);
        if (owners[i].drops == 0)
            return fault_set(fault, STATUS_CORRUPT, "%s/owners/%zu/drops: must not be 0", at, i);
        if (i > 0 && owners[i].drops > owners[i - 1].drops)
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/owners/%zu/drops: more than the one before; the largest come "
                             "first",
                             at, i);
    }
    return status;
}

enum status validate_experiment(const struct buffers_plan *plan,
                                const struct experiment_result *result, const char *at,
                                struct fault *fault)
{
    if (result->experiment == EXPERIMENT_LADDER)
        return check_ladder(result, at, fault);
    if (result->error[0] != '\0')
        return STATUS_OK;
    switch (result->experiment) {
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        return check_hold(&result->hold, plan->sends, at, fault);
    case EXPERIMENT_SLOW_READER:
        return check_slow_reader(&result->slow_reader, plan->slow_sends, at, fault);
    case EXPERIMENT_CLOSED_PORT:
        return check_sent(result->closed_port.sent, &result->closed_port.refused,
                          plan->closed_port_sends, at, fault);
    case EXPERIMENT_IDLE:
        return check_idle(&result->idle, at, fault);
    case EXPERIMENT_LADDER:
    case EXPERIMENT_COUNT:
        break;
    }
    return STATUS_OK;
}
