/* Datagram I/O engines behind one table of functions. */
#ifndef SONDE_PROBE_ENGINE_H
#define SONDE_PROBE_ENGINE_H

#include "agent/host/datagram.h"
#include "proto/wire/case.h"

/* Both functions as in agent/host/datagram.h: up to DATAGRAM_BATCH_MAX datagrams a call. */
struct engine {
    enum engine_kind kind;
    bool (*available)(void);
    const char *missing; /* why it is not available where it is not */
    size_t (*receive)(int fd, struct datagram *datagrams, size_t count, int *out_error);
    size_t (*send)(int fd, struct datagram *datagrams, size_t count, int *out_error);
};

/* How many datagrams of this payload to read in one call: what is looked at afterwards should still
 * be in the core's cache, and for large datagrams a system call costs little beside the copying. */
size_t engine_read_batch(size_t payload);

/* The engine of this kind; NULL with a fault that says why, where this platform lacks it. */
const struct engine *engine_find(enum engine_kind kind, struct fault *fault);

/* The fastest one that this platform has. */
enum engine_kind engine_best(void);

#endif
