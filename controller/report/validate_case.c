/* Owns one case: whether status, sockets, first burst, phases and times agree with each other. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "controller/report/validate.h"
#include "controller/report/validate_parts.h"

static enum status check_sockets(const struct case_sockets *sockets, const char *at,
                                 struct fault *fault)
{
    bool charge_known = !isnan(sockets->bytes_per_datagram) && sockets->bytes_per_datagram > 0;
    double capacity;

    if (!sockets->present)
        return fault_set(fault, STATUS_CORRUPT, "%s/sockets: must not be null", at);
    if (!charge_known) {
        if (sockets->burst_capacity != NONE_INT)
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/sockets/burst_capacity: must be null without bytes_per_datagram",
                             at);
        return STATUS_OK;
    }
    if (sockets->burst_capacity == NONE_INT)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/sockets/burst_capacity: must not be null beside bytes_per_datagram",
                         at);
    capacity = (double)sockets->rcvbuf.granted / sockets->bytes_per_datagram;
    /* bytes_per_datagram may be a rounded quotient: leave room for its last digits. */
    if (fabs((double)sockets->burst_capacity - capacity) > 1.0 + capacity * 1e-9)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/sockets/burst_capacity: %" PRId64
                         ", but granted / bytes_per_datagram is %.1f",
                         at, sockets->burst_capacity, capacity);
    return STATUS_OK;
}

static enum status check_predicted(const struct case_result *result, int64_t burst, const char *at,
                                   struct fault *fault)
{
    const struct case_common *common = &result->params.common;
    bool raced = common->io_model == IO_MODEL_SPLIT || common->interval_ns > 0;
    int64_t predicted = result->first_burst.predicted_lost;
    int64_t capacity = result->sockets.burst_capacity;
    int64_t sent = result->first_burst.sent;
    int64_t least, most;

    if (raced && predicted != NONE_INT)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/predicted_lost: must be null where the reader races the burst", at);
    if (raced)
        return STATUS_OK;
    if (predicted == NONE_INT)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/predicted_lost: must not be null where nothing is read meanwhile", at);
    if (capacity == NONE_INT)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/predicted_lost: must be null without a burst_capacity", at);
    least = sent > capacity ? sent - capacity : 0;
    most = burst > capacity ? burst - capacity : 0;
    if (predicted < least || predicted > most)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/predicted_lost: %" PRId64 " is not what clients x window (%" PRId64
                         ") less burst_capacity (%" PRId64 ") gives",
                         at, predicted, burst, capacity);
    return STATUS_OK;
}

static enum status check_first_burst(const struct case_result *result, const char *case_at,
                                     struct fault *fault)
{
    const struct first_burst *first = &result->first_burst;
    char at[POINTER_SIZE];
    int64_t burst;

    snprintf(at, sizeof at, "%s/first_burst", case_at);
    if (!first->present)
        return fault_set(fault, STATUS_CORRUPT, "%s: must not be null", at);
    if (__builtin_mul_overflow(result->params.common.clients, result->params.window, &burst))
        return fault_set(fault, STATUS_CORRUPT, "%s/window: clients x window is too large",
                         case_at);
    if (first->sent > burst)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/sent: %" PRId64 " is more than clients x window (%" PRId64 ")", at,
                         first->sent, burst);
    if (first->lost > first->sent)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/lost: %" PRId64 " is more than was sent (%" PRId64 ")", at,
                         first->lost, first->sent);
    return check_predicted(result, burst, at, fault);
}

/* False when 64 bits do not hold the sum; the legs themselves are known to add up. */
static bool lost_echoes_of(const struct phase *phase, int64_t *out_lost)
{
    int64_t lost = phase->forward.lost;

    if (!sum_add(&lost, phase->reverse.lost) ||
        !sum_add(&lost, phase->reverse.attempted - phase->reverse.sent))
        return false;
    *out_lost = lost;
    return true;
}

static enum status check_echoes(const struct phase *phase, const char *at, struct fault *fault)
{
    int64_t arrived = phase->forward.received;
    int64_t lost = 0;

    /* More than 64 bits can say arrived: no number of echoes can be above it. */
    if (sum_add(&arrived, phase->forward.late) && sum_add(&arrived, phase->forward.duplicates) &&
        phase->reverse.attempted > arrived)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/reverse/attempted: %" PRId64 ", but only %" PRId64 " arrived forward",
                         at, phase->reverse.attempted, arrived);
    if (!lost_echoes_of(phase, &lost))
        return fault_set(fault, STATUS_CORRUPT, "%s/lost_echoes: the legs do not fit into 64 bits",
                         at);
    if (phase->lost_echoes != lost)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/lost_echoes: %" PRId64
                         ", but forward lost, reverse lost and reverse refused add up to %" PRId64,
                         at, phase->lost_echoes, lost);
    return STATUS_OK;
}

static enum status check_phase(const struct run *run, const struct phase *phase, const char *at,
                               struct fault *fault)
{
    char leg_at[POINTER_SIZE];
    enum status status;

    snprintf(leg_at, sizeof leg_at, "%s/forward", at);
    status = validate_leg(&phase->forward, leg_at, fault);
    if (status != STATUS_OK)
        return status;
    snprintf(leg_at, sizeof leg_at, "%s/reverse", at);
    status = validate_leg(&phase->reverse, leg_at, fault);
    if (status != STATUS_OK)
        return status;
    if (phase->counters.count != run->hosts.count)
        return fault_set(fault, STATUS_CORRUPT, "%s/counters: %zu entries for %zu hosts", at,
                         phase->counters.count, run->hosts.count);
    for (size_t i = 0; i < phase->counters.count; i++) {
        snprintf(leg_at, sizeof leg_at, "%s/counters/%zu", at, i);
        status =
            validate_counters((const struct counters *)phase->counters.items + i, leg_at, fault);
        if (status != STATUS_OK)
            return status;
    }
    return check_echoes(phase, at, fault);
}

static enum status check_phases(const struct run *run, const struct case_result *result,
                                const char *at, struct fault *fault)
{
    const struct case_phases *phases = &result->phases;
    bool warms_up = result->params.common.warmup_s > 0;
    char phase_at[POINTER_SIZE];

    if (phases->warmup.present != warms_up)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/phases/warmup: must %sbe null when warmup_s is %s", at,
                         warms_up ? "not " : "", warms_up ? "above 0" : "0");
    if (!phases->measure.present)
        return fault_set(fault, STATUS_CORRUPT, "%s/phases/measure: must not be null", at);
    if (warms_up) {
        enum status status;

        snprintf(phase_at, sizeof phase_at, "%s/phases/warmup", at);
        status = check_phase(run, &phases->warmup, phase_at, fault);
        if (status != STATUS_OK)
            return status;
    }
    snprintf(phase_at, sizeof phase_at, "%s/phases/measure", at);
    return check_phase(run, &phases->measure, phase_at, fault);
}

/* What keeps a measure phase from passing, or NULL. */
static const char *blemish(const struct phase *phase)
{
    const struct leg *legs[] = { &phase->forward, &phase->reverse };

    if (phase->lost_echoes > 0)
        return "lost echoes";
    for (size_t i = 0; i < 2; i++) {
        if (legs[i]->attempted > legs[i]->sent)
            return "refused datagrams";
        if (legs[i]->corrupt > 0)
            return "corrupt datagrams";
        if (legs[i]->late > 0)
            return "late datagrams";
    }
    return NULL;
}

static enum status check_status(const struct case_result *result, const char *at,
                                struct fault *fault)
{
    const struct phase *measure = &result->phases.measure;
    const char *why = blemish(measure);
    bool rate = !isnan(measure->echoes_per_second);

    if (result->status == CASE_PASS && why != NULL)
        return fault_set(fault, STATUS_CORRUPT, "%s/status: \"pass\", but the measure phase has %s",
                         at, why);
    if (result->status == CASE_FAIL && why == NULL)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/status: \"fail\", but the measure phase has nothing lost, refused, "
                         "corrupt or late",
                         at);
    if (result->status == CASE_FAIL && rate)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/phases/measure/echoes_per_second: must be null in a case that failed",
                         at);
    if (result->status == CASE_PASS && (!rate || measure->echoes_per_second <= 0))
        return fault_set(
            fault, STATUS_CORRUPT,
            "%s/phases/measure/echoes_per_second: must be above 0 in a case that passed", at);
    if (result->status == CASE_PASS && (!result->rtt_ns.present || result->rtt_ns.count == 0))
        return fault_set(fault, STATUS_CORRUPT, "%s/rtt_ns: a case that passed has one", at);
    return STATUS_OK;
}

enum status validate_case(const struct run *run, const struct case_result *result, const char *at,
                          struct fault *fault)
{
    char part_at[POINTER_SIZE];
    enum status status;

    if (result->status == CASE_ERROR) {
        if (result->error[0] == '\0')
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/error: a case with status \"error\" must say why", at);
        return STATUS_OK;
    }
    if (result->error[0] != '\0')
        return fault_set(fault, STATUS_CORRUPT, "%s/error: must be null unless status is \"error\"",
                         at);
    status = check_sockets(&result->sockets, at, fault);
    if (status == STATUS_OK)
        status = check_first_burst(result, at, fault);
    if (status == STATUS_OK)
        status = check_phases(run, result, at, fault);
    if (status == STATUS_OK)
        status = check_status(result, at, fault);
    snprintf(part_at, sizeof part_at, "%s/rtt_ns", at);
    if (status == STATUS_OK && result->rtt_ns.present)
        status = validate_rtt(&result->rtt_ns, part_at, fault);
    snprintf(part_at, sizeof part_at, "%s/one_way_ns", at);
    if (status == STATUS_OK && result->one_way_ns.present)
        status = validate_one_way(run->kind, &result->one_way_ns, part_at, fault);
    return status;
}
