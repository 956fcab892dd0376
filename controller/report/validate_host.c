/* Owns what a host's kernel counters may say together: the difference is after - before, or null
 * and named in reset; what is null everywhere has a reason. */
#include <inttypes.h>
#include <string.h>

#include "controller/report/validate_parts.h"

static bool known_counter(const char *name)
{
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (strcmp(counter_names[i], name) == 0)
            return true;
    }
    return false;
}

/* A source of 32 bits may wrap once; the step is then below 2^31 (proto/wire/counters.h). */
static bool wrapped32(int64_t before, int64_t after, int64_t delta)
{
    const int64_t span = INT64_C(1) << 32;

    return before < span && after < before && delta == after - before + span && delta < span / 2;
}

static enum status check_counter(const struct host_counters *counters, int i, const char *at,
                                 struct fault *fault)
{
    int64_t before = counters->before.value[i];
    int64_t after = counters->after.value[i];
    int64_t delta = counters->delta.value[i];
    bool reset = words_have(&counters->reset, counter_names[i]);

    if (before == NONE_INT || after == NONE_INT) {
        if (delta != NONE_INT)
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/counters/delta/%s: must be null where before or after is null", at,
                             counter_names[i]);
        return STATUS_OK;
    }
    if (reset) {
        if (delta != NONE_INT)
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/counters/delta/%s: must be null, the counter was reset", at,
                             counter_names[i]);
        return STATUS_OK;
    }
    if (delta == NONE_INT)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/counters/delta/%s: null, but the counter is not listed in reset", at,
                         counter_names[i]);
    if ((after >= before && delta == after - before) || wrapped32(before, after, delta))
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT,
                     "%s/counters/delta/%s: %" PRId64 " is not after - before (%" PRId64
                     " - %" PRId64 ")",
                     at, counter_names[i], delta, after, before);
}

static enum status check_names(const struct host_counters *counters, const char *at,
                               struct fault *fault)
{
    char *const *words = counters->reset.items;
    const struct map_item *reasons = counters->unavailable.items;

    for (size_t i = 0; i < counters->reset.count; i++) {
        if (!known_counter(words[i]))
            return fault_set(fault, STATUS_CORRUPT, "%s/counters/reset/%zu: no such counter", at,
                             i);
    }
    for (size_t i = 0; i < counters->unavailable.count; i++) {
        if (reasons[i].text[0] == '\0')
            return fault_set(fault, STATUS_CORRUPT, "%s/counters/unavailable/%s: must say why", at,
                             reasons[i].key);
    }
    return STATUS_OK;
}

/* Counts are not negative; what is null is NONE_INT. */
static enum status check_counts(const struct counters *counters, const char *at, const char *place,
                                struct fault *fault)
{
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (counters->value[i] < 0 && counters->value[i] != NONE_INT)
            return fault_set(fault, STATUS_CORRUPT, "%s%s/%s: must not be negative", at, place,
                             counter_names[i]);
    }
    return STATUS_OK;
}

enum status validate_counters(const struct counters *counters, const char *at, struct fault *fault)
{
    return check_counts(counters, at, "", fault);
}

static enum status check_snapshots(const struct host_counters *counters, const char *at,
                                   struct fault *fault)
{
    enum status status = check_counts(&counters->before, at, "/counters/before", fault);

    if (status == STATUS_OK)
        status = check_counts(&counters->after, at, "/counters/after", fault);
    if (status == STATUS_OK)
        status = check_counts(&counters->delta, at, "/counters/delta", fault);
    if (status == STATUS_OK)
        status = check_counts(&counters->idle.delta, at, "/counters/idle/delta", fault);
    return status;
}

enum status validate_host(const struct host *host, const char *at, struct fault *fault)
{
    enum status status = check_names(&host->counters, at, fault);

    if (status == STATUS_OK)
        status = check_snapshots(&host->counters, at, fault);
    for (int i = 0; i < COUNTER_COUNT && status == STATUS_OK; i++) {
        const struct host_counters *counters = &host->counters;

        status = check_counter(counters, i, at, fault);
        if (status == STATUS_OK && counters->before.value[i] == NONE_INT &&
            counters->after.value[i] == NONE_INT &&
            map_find(&counters->unavailable, counter_names[i]) == NULL)
            status =
                fault_set(fault, STATUS_CORRUPT, "%s/counters/unavailable: must say why %s is null",
                          at, counter_names[i]);
    }
    return status;
}
