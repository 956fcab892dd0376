/* UDP sockets of this machine: what each dropped, and whose it is. One file per system behind it.
 */
#ifndef SONDE_HOST_SOCKETS_H
#define SONDE_HOST_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire/record.h"

enum { SOCKET_OWNER_SIZE = 128 };

/* Appends all UDP sockets of this network namespace to a list of struct proc_socket
 * (agent/host/procfs.h), also those of other users. STATUS_UNSUPPORTED where the system does not
 * tell each socket's drops. */
enum status sockets_read(struct list *out_sockets, struct fault *fault) must_check;

/* Whose a socket is. */
struct socket_owner {
    int64_t inode;                   /* asked for */
    char process[SOCKET_OWNER_SIZE]; /* "name (pid)"; "" where nobody's could be read */
};

/* Fills `process` of each, of the first process that is seen with the socket. Another user's
 * processes can be read by root alone. */
void sockets_find_owners(struct socket_owner *owners, size_t count);

#endif
