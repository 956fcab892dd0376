/* Between datagram_single.c and the system's datagram_*.c: nobody else includes this. */
#ifndef SONDE_HOST_DATAGRAM_SYSTEM_H
#define SONDE_HOST_DATAGRAM_SYSTEM_H

#include <sys/socket.h>

#include "agent/host/datagram.h"

/* Flags of recvmsg: not to wait and, where the system can, to return a cut datagram's real size. */
extern const int datagram_receive_flags;

/* A message header over the datagram's parts and peer. */
struct msghdr datagram_header(struct datagram *datagram);

/* Takes over what the system filled in: `length` as it returned it. */
void datagram_received(struct datagram *datagram, const struct msghdr *header, size_t length);

#endif
