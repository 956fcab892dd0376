/* On which CPU the calling thread runs. Linux only; elsewhere a thread cannot be bound to one. */
#ifndef SONDE_HOST_AFFINITY_H
#define SONDE_HOST_AFFINITY_H

#include <stddef.h>

#include "proto/base/status.h"

struct affinity;

/* Remembers the CPUs on which the calling thread may run. On success *out_affinity is the caller's
 * (affinity_free); STATUS_UNSUPPORTED where the system cannot bind threads. */
enum status affinity_take(struct affinity **out_affinity, struct fault *fault) must_check;

/* How many CPUs that were. */
size_t affinity_count(const struct affinity *affinity);

/* Binds the calling thread to one of them, `index` from 0. */
enum status affinity_pin(const struct affinity *affinity, size_t index,
                         struct fault *fault) must_check;

/* Lets the calling thread run where it could before, and frees. NULL is allowed. */
void affinity_free(struct affinity *affinity);

#endif
