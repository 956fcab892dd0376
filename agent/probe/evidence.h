/* What is done around every phase, whichever roles are here: sized sockets, and what they and the
 * kernel count while it runs. */
#ifndef SONDE_PROBE_EVIDENCE_H
#define SONDE_PROBE_EVIDENCE_H

#include "proto/wire/account.h"
#include "proto/wire/case.h"

/* A UDP socket of a case, with the buffers that it asks for. */
struct sized_socket {
    int fd;
    struct addr bound;
    struct grant rcvbuf, sndbuf;
};

/* Opens and binds one; on failure nothing is open. */
enum status sized_socket_open(const struct addr *bind_to, const struct case_common *common,
                              struct sized_socket *out_socket, struct fault *fault) must_check;

struct port_range {
    uint16_t first, last; /* 0, 0: any */
};

/* As above, on the first port of the range that is free (the address's own port is not used).
 * STATUS_NO_RESOURCE: none is. */
enum status sized_socket_open_in(const struct addr *bind_to, struct port_range ports,
                                 const struct case_common *common, struct sized_socket *out_socket,
                                 struct fault *fault) must_check;

/* What some sockets together have dropped since they were made. */
struct socket_evidence evidence_drops(const int *fds, size_t count);

/* The differences of the system's counters between two samples (system_count.h). */
struct counters evidence_counters(const struct counters *before, const struct counters *after);

/* What those sockets dropped between two samples; where sockets do not count, what the whole system
 * did by `delta`. */
struct socket_evidence evidence_between(const struct socket_evidence *before,
                                        const struct socket_evidence *after,
                                        const struct counters *delta);

#endif
