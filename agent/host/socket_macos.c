/* Owns the socket options as macOS has them: buffers as asked, IP_DONTFRAG, SO_TIMESTAMP,
 * proc_pidfdinfo. Knows nothing of datagrams' contents.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/proc_info.h>
#include <sys/time.h>
#include <unistd.h>

#include <libproc.h>

#include "agent/host/machine.h"
#include "agent/host/socket.h"
#include "agent/host/socket_system.h"
#include "proto/base/text.h"

int socket_system_new(int domain)
{
    int error, fd = socket(domain, SOCK_DGRAM, 0);

    if (fd < 0)
        return -1;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static const char *option_name(enum socket_buffer which)
{
    return which == SOCKET_RCVBUF ? "SO_RCVBUF" : "SO_SNDBUF";
}

enum status socket_buffer_granted(int fd, enum socket_buffer which, int64_t *out_bytes)
{
    int option = which == SOCKET_RCVBUF ? SO_RCVBUF : SO_SNDBUF;
    int value = 0;
    int error = socket_option_get(fd, SOL_SOCKET, option, &value);

    if (error != 0)
        return status_of_errno(error);
    *out_bytes = value;
    return STATUS_OK;
}

/* The largest size from 1 to `asked` that the kernel takes: above kern.ipc.maxsockbuf it is either
 * cut silently or refused with ENOBUFS (bsd/kern/uipc_socket2.c, sbreserve). Bisection, because
 * the limit that is really applied need not be the one that the sysctl shows. */
static int set_largest(int fd, int option, int asked)
{
    int error = socket_option_set(fd, SOL_SOCKET, option, asked);
    int taken = 0, refused = asked;

    if (error != ENOBUFS)
        return error;
    while (refused - taken > 1) {
        int middle = taken + (refused - taken) / 2;

        error = socket_option_set(fd, SOL_SOCKET, option, middle);
        if (error == 0)
            taken = middle;
        else if (error == ENOBUFS)
            refused = middle;
        else
            return error;
    }
    if (taken == 0)
        return ENOBUFS;
    return socket_option_set(fd, SOL_SOCKET, option, taken);
}

enum status socket_ask_buffer(int fd, enum socket_buffer which, int64_t asked,
                              struct grant *out_grant, struct fault *fault)
{
    int option = which == SOCKET_RCVBUF ? SO_RCVBUF : SO_SNDBUF;
    const char *limit = which == SOCKET_RCVBUF ? machine_rcvbuf_limit() : machine_sndbuf_limit();
    struct grant grant = { .asked = asked };
    enum status status;
    int error;

    if (asked < 1 || asked > INT_MAX)
        return fault_set(fault, STATUS_RANGE, "%s: %lld is not from 1 to %d", option_name(which),
                         (long long)asked, INT_MAX);
    error = set_largest(fd, option, (int)asked);
    if (error != 0)
        return fault_errno(fault, error, "cannot set %s to %lld", option_name(which),
                           (long long)asked);
    status = socket_buffer_granted(fd, which, &grant.granted);
    if (status != STATUS_OK)
        return fault_set(fault, status, "cannot read %s back: %s", option_name(which),
                         status_text(status));
    text_copy(grant.limit, sizeof grant.limit, grant.granted < asked ? limit : "");
    *out_grant = grant;
    return STATUS_OK;
}

int64_t socket_buffer_factor(void)
{
    return 1;
}

double socket_release_share(void)
{
    return 0;
}

/* xnu counts drops per socket only in private structs (docs/counters.md). */
enum status socket_drops(int fd, uint32_t *out_drops)
{
    (void)fd;
    (void)out_drops;
    return STATUS_UNSUPPORTED;
}

enum status socket_queued_bytes(int fd, int64_t *out_bytes)
{
    struct socket_fdinfo info;
    int length;

    memset(&info, 0, sizeof info);
    length = proc_pidfdinfo(getpid(), fd, PROC_PIDFDSOCKETINFO, &info, sizeof info);
    if (length <= 0)
        return status_of_errno(errno);
    if ((size_t)length < sizeof info)
        return STATUS_UNSUPPORTED;
    *out_bytes = (int64_t)info.psi.soi_rcv.sbi_cc;
    return STATUS_OK;
}

/* IP_DONTFRAG since macOS 11; output looks at the interface's MTU only, not at a cached path MTU
 * (bsd/netinet/ip_output.c), so it probes as Linux's IP_PMTUDISC_PROBE does. IPV6_DONTFRAG rules
 * mapped addresses too. */
static int dont_fragment_option(enum family family, int *out_level)
{
    *out_level = family == FAMILY_IPV6 ? IPPROTO_IPV6 : IPPROTO_IP;
    return family == FAMILY_IPV6 ? IPV6_DONTFRAG : IP_DONTFRAG;
}

enum status socket_set_dont_fragment(int fd, enum family family, struct fault *fault)
{
    int level;
    int option = dont_fragment_option(family, &level);
    int error = socket_option_set(fd, level, option, 1);
    bool on = false;
    enum status status;

    if (error == 0 && family == FAMILY_IPV6) /* path_socket.h; -1 is the system's own */
        error = socket_option_set(fd, level, IPV6_USE_MIN_MTU, -1);
    if (error != 0)
        return fault_errno(fault, error, "cannot forbid fragmentation on an %s socket",
                           family_name(family));
    status = socket_get_dont_fragment(fd, family, &on);
    if (status == STATUS_OK && !on)
        status = STATUS_UNSUPPORTED;
    if (status != STATUS_OK)
        return fault_set(fault, status, "fragmentation is not off on an %s socket after setting it",
                         family_name(family));
    return STATUS_OK;
}

enum status socket_get_dont_fragment(int fd, enum family family, bool *out_on)
{
    int level, value = 0;
    int option = dont_fragment_option(family, &level);
    int error = socket_option_get(fd, level, option, &value);

    if (error != 0)
        return status_of_errno(error);
    *out_on = value != 0;
    return STATUS_OK;
}

enum status socket_enable_receive_time(int fd, struct fault *fault)
{
    int error = socket_option_set(fd, SOL_SOCKET, SO_TIMESTAMP, 1);

    if (error != 0)
        return fault_errno(fault, error, "cannot turn on SO_TIMESTAMP");
    return STATUS_OK;
}

enum status socket_receive_time(const struct msghdr *message, struct wall *out_time)
{
    struct timeval stamp;
    enum status status = socket_control(message, SOL_SOCKET, SCM_TIMESTAMP, &stamp, sizeof stamp);

    if (status == STATUS_OK)
        out_time->ns = (int64_t)stamp.tv_sec * NS_PER_S + (int64_t)stamp.tv_usec * NS_PER_US;
    return status;
}
