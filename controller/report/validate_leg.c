/* Owns the account of one leg: what was attempted, sent, received, late, lost, and where. Sums are
 * checked for overflow, since an archive may say anything up to 2^63 - 1. */
#include <inttypes.h>

#include "controller/report/validate.h"
#include "controller/report/validate_parts.h"

bool sum_add(int64_t *total, int64_t value)
{
    return !__builtin_add_overflow(*total, value, total);
}

/* The sum of `count` numbers; false when 64 bits do not hold it. */
static bool sum_of(const int64_t *values, size_t count, int64_t *out_total)
{
    int64_t total = 0;

    for (size_t i = 0; i < count; i++) {
        if (!sum_add(&total, values[i]))
            return false;
    }
    *out_total = total;
    return true;
}

static enum status check_attempted(const struct leg *leg, const char *at, struct fault *fault)
{
    const struct refused *refused = &leg->refused;
    const int64_t parts[] = { leg->sent,         refused->eagain, refused->enobufs,
                              refused->emsgsize, refused->eperm,  refused->econnrefused,
                              refused->other };
    int64_t total = 0;

    if (!sum_of(parts, sizeof parts / sizeof parts[0], &total))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/attempted: sent and refused do not fit into 64 bits", at);
    if (total != leg->attempted)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/attempted: %" PRId64 ", but sent and refused add up to %" PRId64, at,
                         leg->attempted, total);
    return STATUS_OK;
}

static enum status check_sent(const struct leg *leg, const char *at, struct fault *fault)
{
    const int64_t parts[] = { leg->received, leg->late, leg->lost };
    int64_t total = 0;

    if (!sum_of(parts, sizeof parts / sizeof parts[0], &total))
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/sent: received, late and lost do not fit into 64 bits", at);
    if (total != leg->sent)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/sent: %" PRId64 ", but received, late and lost add up to %" PRId64, at,
                         leg->sent, total);
    return STATUS_OK;
}

static enum status check_lost(const struct leg *leg, const char *at, struct fault *fault)
{
    const struct lost_to *places = &leg->lost_to;
    const int64_t parts[] = { places->receive_buffer, places->sender_host, places->receiver_host,
                              places->network, places->unattributed };
    int64_t total = 0;

    if (!sum_of(parts, sizeof parts / sizeof parts[0], &total))
        return fault_set(fault, STATUS_CORRUPT, "%s/lost: lost_to does not fit into 64 bits", at);
    if (total != leg->lost)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/lost: %" PRId64 ", but lost_to adds up to %" PRId64, at, leg->lost,
                         total);
    return STATUS_OK;
}

enum status validate_leg(const struct leg *leg, const char *pointer, struct fault *fault)
{
    enum status status = check_attempted(leg, pointer, fault);

    if (status == STATUS_OK)
        status = check_sent(leg, pointer, fault);
    if (status == STATUS_OK)
        status = check_lost(leg, pointer, fault);
    if (status != STATUS_OK)
        return status;
    if ((leg->lost_to.sender_host > 0 || leg->lost_to.receiver_host > 0) &&
        leg->evidence != EVIDENCE_SYSTEM_WIDE)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/evidence: \"per-socket\", but sender_host and receiver_host are known "
                         "from system-wide counters only",
                         pointer);
    return STATUS_OK;
}
