/* What probing a path asks of a socket beyond socket.h: hops, fragments on purpose, and what the
 * kernel believes of the path. One file per system behind it. */
#ifndef SONDE_HOST_PATH_SOCKET_H
#define SONDE_HOST_PATH_SOCKET_H

#include "proto/base/addr.h"

/* The hop limit of what is sent from now on, 1 to 255; 0: the system's own again. */
enum status path_socket_set_hops(int fd, enum family family, int hops,
                                 struct fault *fault) must_check;

/* Lets what is sent be cut into fragments; on IPv6, where only the sender does that, what does
 * not fit the interface is cut into ones of at most `size` bytes (where the system can; never below
 * 1280). socket_set_dont_fragment ends it.
 */
enum status path_socket_allow_fragments(int fd, enum family family, int64_t size,
                                        struct fault *fault) must_check;

/* The path MTU that this host's kernel has for packets from `local` (its port does not matter; of
 * length 0: the system chooses) to `peer`: of its route, or what an ICMP message has told it
 * lately, for whatever program. STATUS_UNSUPPORTED where the system does not say. */
enum status path_socket_kernel_mtu(const struct addr *local, const struct addr *peer,
                                   int64_t *out_mtu) must_check;

#endif
