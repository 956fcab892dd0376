/* Owns sched_setaffinity. Machines with more CPUs than a cpu_set_t has room for are no exception:
 * the kernel refuses a set that is smaller than its own. */
#include "agent/host/affinity.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "proto/wire/limits.h"

struct affinity {
    cpu_set_t *all, *one;
    size_t bytes; /* of each */
};

enum status affinity_take(struct affinity **out_affinity, struct fault *fault)
{
    struct affinity *affinity = calloc(1, sizeof *affinity);

    if (affinity == NULL)
        abort();
    affinity->bytes = CPU_ALLOC_SIZE(LIMIT_CPUS);
    affinity->all = CPU_ALLOC(LIMIT_CPUS);
    affinity->one = CPU_ALLOC(LIMIT_CPUS);
    if (affinity->all == NULL || affinity->one == NULL)
        abort();
    CPU_ZERO_S(affinity->bytes, affinity->all);
    if (sched_getaffinity(0, affinity->bytes, affinity->all) == 0) {
        *out_affinity = affinity;
        return STATUS_OK;
    }
    fault_errno(fault, errno, "cannot read on which CPUs this thread may run");
    CPU_FREE(affinity->all);
    CPU_FREE(affinity->one);
    free(affinity);
    return STATUS_UNSUPPORTED;
}

size_t affinity_count(const struct affinity *affinity)
{
    return (size_t)CPU_COUNT_S(affinity->bytes, affinity->all);
}

enum status affinity_pin(const struct affinity *affinity, size_t index, struct fault *fault)
{
    size_t seen = 0, cpu = 0;

    assert(index < affinity_count(affinity));
    for (;; cpu++) {
        if (CPU_ISSET_S(cpu, affinity->bytes, affinity->all) && seen++ == index)
            break;
    }
    CPU_ZERO_S(affinity->bytes, affinity->one);
    CPU_SET_S(cpu, affinity->bytes, affinity->one);
    if (sched_setaffinity(0, affinity->bytes, affinity->one) == 0)
        return STATUS_OK;
    return fault_errno(fault, errno, "cannot bind this thread to CPU %zu", cpu);
}

void affinity_free(struct affinity *affinity)
{
    if (affinity == NULL)
        return;
    /* It was the kernel's own answer; a CPU set that has changed since is the kernel's to keep. */
    (void)sched_setaffinity(0, affinity->bytes, affinity->all);
    CPU_FREE(affinity->all);
    CPU_FREE(affinity->one);
    free(affinity);
}
