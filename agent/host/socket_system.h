/* Between socket.c and the system's own socket_*.c: nobody else includes this. */
#ifndef SONDE_HOST_SOCKET_SYSTEM_H
#define SONDE_HOST_SOCKET_SYSTEM_H

#include <stddef.h>
#include <sys/socket.h>

#include "proto/base/addr.h"

/* A UDP socket of the domain (AF_INET, AF_INET6), close-on-exec and non-blocking. -1 and errno. */
int socket_system_new(int domain);

/* An integer option set; set and read back. 0 or an errno value. */
int socket_option_set(int fd, int level, int option, int value);
int socket_option_get(int fd, int level, int option, int *out_value);

/* Copies the value of the control message of this level and type out. STATUS_NOT_FOUND without
 * one, STATUS_INVALID when the control messages were cut or its length is another. */
enum status socket_control(const struct msghdr *message, int level, int type, void *out_value,
                           size_t length) must_check;

/* For path_socket.c: IPv4's hop limit, -1 for the system's own (0 or an errno value), and the
 * cached path MTU of a connected socket. */
int path_socket_system_ttl(int fd, int hops);
enum status path_socket_system_mtu(int fd, enum family family, int64_t *out_mtu) must_check;

#endif
