/* Between datagram_single.c and the system's datagram_*.c: nobody else includes this. */
#ifndef SONDE_HOST_DATAGRAM_SYSTEM_H
#define SONDE_HOST_DATAGRAM_SYSTEM_H

#include <sys/socket.h>

#include "agent/host/datagram.h"

/* Flags of recvmsg: not to wait and, where the system can, to return a cut datagram's real size. */
extern const int datagram_receive_flags;

/* Room for one address of this host and one number as control messages. */
union datagram_control {
    struct cmsghdr align;
    char v4[CMSG_SPACE(sizeof(struct in_pktinfo)) + CMSG_SPACE(sizeof(int))];
    char v6[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int))];
};

/* Message headers over the datagram's parts, peer and local address: to receive it, to send it.
 * `control` is used when there is a local address or a fragment to tell, and lives as long as the
 * header. */
struct msghdr datagram_header_in(struct datagram *datagram, union datagram_control *control);
struct msghdr datagram_header_out(struct datagram *datagram, union datagram_control *control);

/* Takes over what the system filled in: `length` as it returned it. */
void datagram_received(struct datagram *datagram, const struct msghdr *header, size_t length);

/* Writes the local address as a control message into the header's room and says in the header how
 * long it is; and reads it. Of datagram_local.c. */
void datagram_local_put(const struct addr *local, struct msghdr *header);
void datagram_local_get(const struct msghdr *header, struct addr *out_local);

/* The size of the largest fragment, 0: none. The system's own. */
int64_t datagram_fragment_get(const struct msghdr *header);

#endif
