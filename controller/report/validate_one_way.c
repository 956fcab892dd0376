/* Owns what one-way delays may say: nothing that the clocks' error does not allow. */
#include <inttypes.h>

#include "controller/report/validate_parts.h"

static enum status check_leg(const struct delay *delay, int64_t error_ns, const char *at,
                             const char *leg, struct fault *fault)
{
    if (!delay->present)
        return STATUS_OK;
    if (error_ns == NONE_INT)
        return fault_set(fault, STATUS_CORRUPT, "%s/%s: must be null without an error_ns", at, leg);
    if (error_ns > delay->min)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/%s/min: %" PRId64 " is below error_ns, which is %" PRId64, at, leg,
                         delay->min, error_ns);
    if (delay->mean < delay->min)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/%s/mean: %" PRId64 " is below min, which is %" PRId64, at, leg,
                         delay->mean, delay->min);
    if (delay->max < delay->mean)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/%s/max: %" PRId64 " is below mean, which is %" PRId64, at, leg,
                         delay->max, delay->mean);
    return STATUS_OK;
}

enum status validate_one_way(enum run_kind kind, const struct one_way *one_way, const char *at,
                             struct fault *fault)
{
    bool whole = one_way->forward.present && one_way->reverse.present;
    enum status status;

    if (kind != RUN_PAIR)
        return fault_set(fault, STATUS_CORRUPT, "%s: must be null where one host has both roles",
                         at);
    if (whole != (one_way->withheld[0] == '\0'))
        return fault_set(fault, STATUS_CORRUPT, "%s/withheld: must %s", at,
                         whole ? "be null where both legs are there"
                               : "say why a leg is not there");
    status = check_leg(&one_way->forward, one_way->error_ns, at, "forward", fault);
    if (status == STATUS_OK)
        status = check_leg(&one_way->reverse, one_way->error_ns, at, "reverse", fault);
    return status;
}
