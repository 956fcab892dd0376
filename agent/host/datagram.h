/* Datagrams in and out of a socket, one or many a call. The batch calls are recvmmsg and sendmmsg
 * on Linux; macOS has no public ones. */
#ifndef SONDE_HOST_DATAGRAM_H
#define SONDE_HOST_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "proto/base/addr.h"
#include "proto/base/status.h"

enum { DATAGRAM_PARTS = 2, DATAGRAM_BATCH_MAX = 64 };

struct datagram {
    struct iovec part[DATAGRAM_PARTS];
    size_t parts;
    struct addr *peer; /* to whom, or filled with from whom; NULL on a connected socket */
    /* From which address of this host (its port is ignored; of length 0: the system chooses), or
     * filled with to which it came (port 0; of length 0 where the system does not say), on a socket
     * of datagram_ask_local. NULL: the system chooses, nobody asks. */
    struct addr *local;
    /* Filled with the size of the largest fragment (an IP packet) it came in, 0: whole, or the
     * system does not say; on a socket of datagram_ask_fragments. NULL: nobody asks. */
    int64_t *fragment;
    size_t length; /* received bytes; above the parts' sum when it was cut */
};

/* From now on the system says to which of this host's addresses each datagram came (RFC 3542;
 * IP_PKTINFO). */
enum status datagram_ask_local(int fd, enum family family, struct fault *fault) must_check;

/* From now on the system says of each datagram whether it came in fragments (Linux 4.10:
 * IP_RECVFRAGSIZE). STATUS_UNSUPPORTED where it does not; its counters tell then. */
enum status datagram_ask_fragments(int fd, enum family family, struct fault *fault) must_check;

/* True where the system has batch calls. */
bool datagram_batch_available(void);

/* Receives up to `count` (at most DATAGRAM_BATCH_MAX) datagrams that are there now. Returns how
 * many; 0 with *out_error the errno (EAGAIN: none there). */
size_t datagram_receive_batch(int fd, struct datagram *datagrams, size_t count, int *out_error);

/* Sends up to `count` datagrams in order; returns how many the kernel took. When fewer,
 * *out_error is the errno of the first that it did not take, or 0 where the call ended early
 * without a word (call again). */
size_t datagram_send_batch(int fd, struct datagram *datagrams, size_t count, int *out_error);

/* As above with one system call per datagram; on every system. */
size_t datagram_receive_single(int fd, struct datagram *datagrams, size_t count, int *out_error);
size_t datagram_send_single(int fd, struct datagram *datagrams, size_t count, int *out_error);

#endif
