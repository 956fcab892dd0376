/* Descriptors of connections: how many there may be, and what can be done with one that is
 * ZeroMQ's. Part of channel.
 *
 * ZeroMQ does not close a connection whose other side does not read, and does not say so when one
 * has gone while its notices were full. Its descriptor knows. But it is ZeroMQ's to close, at any
 * time, and then the number may be another's: so a connection is known by its two ends, never by
 * its number alone.
 */
#ifndef SONDE_LINK_CHANNEL_FD_H
#define SONDE_LINK_CHANNEL_FD_H

#include <stddef.h>
#include <stdint.h>

/* A number for the two ends of a connection; 0: this is none (any more). */
uint64_t channel_fd_ends(int fd);

/* Ends the connection at once when it still has these ends. */
void channel_fd_cut(int fd, uint64_t ends);

/* Raises the soft limit of open files as far as `wanted` connections need; returns how many of
 * them, at least 1, leave enough for the rest of the process. */
size_t channel_fd_room(size_t wanted);

#endif
