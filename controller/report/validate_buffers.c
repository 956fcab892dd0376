/* Owns the rules of buffer experiments: what was sent, held and dropped is one account. */
#include "controller/report/validate_parts.h"

#include <inttypes.h>
#include <stdio.h>

static enum status check_hold(const struct hold_result *hold, const char *at, struct fault *fault)
{
    if (hold->dropped.socket == NONE_INT || hold->held == hold->sent - hold->dropped.socket)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT,
                     "%s/held: %" PRId64 " held and %" PRId64
                     " dropped by the socket are not the %" PRId64 " sent",
                     at, hold->held, hold->dropped.socket, hold->sent);
}

enum status validate_buffers(const struct run *run, struct fault *fault)
{
    const struct experiment_result *results = run->experiments.items;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < run->experiments.count && status == STATUS_OK; i++) {
        char at[POINTER_SIZE];

        snprintf(at, sizeof at, "/cases/%zu", i);
        if (results[i].index != (int64_t)i)
            return fault_set(fault, STATUS_CORRUPT, "%s/index: must be %zu", at, i);
        if (results[i].error[0] != '\0')
            continue;
        if (results[i].experiment == EXPERIMENT_HOLD || results[i].experiment == EXPERIMENT_SWEEP)
            status = check_hold(&results[i].hold, at, fault);
    }
    return status;
}
