/* Owns the answer of macOS: threads are not bound to CPUs there (thread_policy_set only hints). */

#include "agent/host/affinity.h"

#include <assert.h>

enum status affinity_take(struct affinity **out_affinity, struct fault *fault)
{
    (void)out_affinity;
    return fault_set(fault, STATUS_UNSUPPORTED, "macOS does not bind threads to CPUs");
}

size_t affinity_count(const struct affinity *affinity)
{
    (void)affinity;
    return 0;
}

enum status affinity_pin(const struct affinity *affinity, size_t index, struct fault *fault)
{
    (void)affinity;
    (void)index;
    return fault_set(fault, STATUS_UNSUPPORTED, "macOS does not bind threads to CPUs");
}

void affinity_free(struct affinity *affinity)
{
    assert(affinity == NULL);
}
