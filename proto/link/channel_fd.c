/* Owns what a channel asks of descriptors. Must not know ZeroMQ. */
#include "proto/link/channel_fd.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "proto/base/addr.h"

enum {
    FILES_KEPT = 64, /* for ZeroMQ itself, the store, pipes and logs */
    /* Of the limit, at most 1/SHARE is for connections that ZeroMQ has accepted and the channel has
     * not refused yet: without room for them its listener spins. */
    SHARE = 4
};

static bool is_internet(const struct addr *addr)
{
    return addr->socket.any.sa_family == AF_INET || addr->socket.any.sa_family == AF_INET6;
}

uint64_t channel_fd_ends(int fd)
{
    struct addr here = { .length = sizeof here.socket }, there = { .length = sizeof there.socket };

    if (fd < 0 || getsockname(fd, &here.socket.any, &here.length) != 0 ||
        getpeername(fd, &there.socket.any, &there.length) != 0)
        return 0;
    if (!is_internet(&here) || !is_internet(&there))
        return 0;
    return (addr_hash(&here) * 31 + addr_hash(&there)) | 1;
}

void channel_fd_cut(int fd, uint64_t ends)
{
    if (ends != 0 && channel_fd_ends(fd) == ends)
        shutdown(fd, SHUT_RDWR);
}

/* The soft limit after it was raised to `need`, or as far as the system lets it be. */
static rlim_t raise_limit(rlim_t need)
{
    struct rlimit limit;
    rlim_t before;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return need;
    before = limit.rlim_cur;
    if (before >= need)
        return need;
    limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need; /* infinity is the largest */
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

size_t channel_fd_room(size_t wanted)
{
    rlim_t need = (rlim_t)wanted + wanted / (SHARE - 1) + FILES_KEPT;
    rlim_t files = raise_limit(need);
    rlim_t kept = files / 2 < FILES_KEPT ? files / 2 : FILES_KEPT;

    if (files >= need)
        return wanted;
    if (kept < files / SHARE)
        kept = files / SHARE;
    return files - kept > 1 ? (size_t)(files - kept) : 1;
}
