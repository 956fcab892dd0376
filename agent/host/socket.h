/* UDP sockets: buffers asked and granted, drops, DF, timestamps. One file per system behind it.
 * Every socket is close-on-exec and non-blocking from birth. */
#ifndef SONDE_HOST_SOCKET_H
#define SONDE_HOST_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

#include "proto/base/addr.h"
#include "proto/base/clock.h"
#include "proto/wire/result.h"

/* Opens and binds (port 0: any free one); *out_bound is what it got. IPv6 sockets are IPv6 only. */
enum status socket_open(const struct addr *bind_to, int *out_fd, struct addr *out_bound,
                        struct fault *fault) must_check;

enum status socket_connect(int fd, const struct addr *peer, struct fault *fault) must_check;

enum socket_buffer { SOCKET_RCVBUF, SOCKET_SNDBUF };

/* Asks for a buffer, reads back what the kernel granted and names the limit that capped it.
 * Linux books the double of what is asked (and never less than its minimum); macOS grants as asked
 * or fails with ENOBUFS above kern.ipc.maxsockbuf: then smaller sizes are asked until one is
 * taken. */
enum status socket_ask_buffer(int fd, enum socket_buffer which, int64_t asked,
                              struct grant *out_grant, struct fault *fault) must_check;

/* What the kernel reads back now. */
enum status socket_buffer_granted(int fd, enum socket_buffer which, int64_t *out_bytes) must_check;

/* The factor between what a user asks and what is granted: 2 on Linux, 1 on macOS. */
int64_t socket_buffer_factor(void);

/* The share of a receive buffer that may stay booked for datagrams that were read already, while
 * the queue does not run empty: 1/4 on Linux (net/ipv4/udp.c:udp_rmem_release), none on macOS. */
double socket_release_share(void);

/* Datagrams that this socket dropped since it was made (Linux: SO_MEMINFO, exact at once, 32 bits
 * that wrap). STATUS_UNSUPPORTED where the system does not count per socket. */
enum status socket_drops(int fd, uint32_t *out_drops) must_check;

/* Bytes charged for what the receive queue holds (Linux: SK_MEMINFO_RMEM_ALLOC; macOS:
 * proc_pidfdinfo's sbi_cc). */
enum status socket_queued_bytes(int fd, int64_t *out_bytes) must_check;

/* Never fragment and ignore the cached path MTU (Linux IP_PMTUDISC_PROBE; macOS IP_DONTFRAG),
 * read back. On an IPv6 socket also for mapped addresses. */
enum status socket_set_dont_fragment(int fd, enum family family, struct fault *fault) must_check;
enum status socket_get_dont_fragment(int fd, enum family family, bool *out_on) must_check;

/* Asks the kernel to stamp each datagram's arrival. */
enum status socket_enable_receive_time(int fd, struct fault *fault) must_check;

/* The arrival stamp of a received message, as wall time (Linux SO_TIMESTAMPNS, macOS SO_TIMESTAMP);
 * STATUS_NOT_FOUND when there is none; STATUS_INVALID for a control message of a wrong size. */
enum status socket_receive_time(const struct msghdr *message, struct wall *out_time) must_check;

#endif
