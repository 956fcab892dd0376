/* What ICMP and this host itself say of datagrams that a UDP socket has sent: the error queue of
 * Linux (RFC 1122 section 4.1.3.3 asks for such a thing). One file per system behind it.
 *
 * The system has matched addresses and ports to the socket already; whether what is quoted was
 * really sent is for the caller to find out (RFC 8899 section 4.6.1).
 */
#ifndef SONDE_HOST_ERROR_QUEUE_H
#define SONDE_HOST_ERROR_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/base/addr.h"

enum { ERROR_QUOTE_BYTES = 128 };

enum error_kind {
    ERROR_LOCAL,         /* this host's own; `error` says what */
    ERROR_TOO_BIG,       /* "fragmentation needed", "packet too big" */
    ERROR_TIME_EXCEEDED, /* the hop limit was used up on the way */
    ERROR_NO_PORT,       /* the host is there and nobody has the port */
    ERROR_UNREACHABLE,   /* any other "destination unreachable" */
    ERROR_OTHER
};

struct queued_error {
    enum error_kind kind;
    int error;        /* an errno value */
    int64_t mtu;      /* what would pass; of ERROR_TOO_BIG and of EMSGSIZE as ERROR_LOCAL */
    struct addr from; /* whose ICMP message it is, port 0; of length 0: nobody's */
    struct addr to;   /* to where the datagram went */
    size_t length;    /* of its payload's first bytes as they are quoted; 0: none */
    uint8_t quote[ERROR_QUOTE_BYTES];
};

/* The kind of an ICMP (ICMPv6) message that comes back for a datagram: RFC 792, RFC 4443. */
enum error_kind error_kind_of(enum family family, uint8_t type, uint8_t code);

/* From now on errors wait in the socket's queue; they also make the next call on the socket fail
 * once, unless the queue is emptied first. STATUS_UNSUPPORTED, with words, where the system keeps
 * none. */
enum status error_queue_enable(int fd, enum family family, struct fault *fault) must_check;

/* Takes the oldest error. STATUS_AGAIN: there is none; STATUS_INVALID: one was there, in no known
 * form, and is gone. */
enum status error_queue_take(int fd, struct queued_error *out_error) must_check;

#endif
