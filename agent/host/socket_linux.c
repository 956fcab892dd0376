/* Owns the socket options that Linux alone has: doubled buffers, SO_MEMINFO, IP_MTU_DISCOVER,
 * SO_TIMESTAMPNS. Knows nothing of datagrams' contents.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include <linux/sock_diag.h>

#include "agent/host/machine.h"
#include "agent/host/socket.h"
#include "agent/host/socket_system.h"
#include "proto/base/text.h"

int socket_system_new(int domain)
{
    return socket(domain, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static const char *option_name(enum socket_buffer which)
{
    return which == SOCKET_RCVBUF ? "SO_RCVBUF" : "SO_SNDBUF";
}

/* net/core/sock.c, __sock_set_rcvbuf: the value is cut to the sysctl, then to INT_MAX / 2, then
 * doubled, then raised to the minimum. So less than the double can only come from the first two. */
static const char *capping_limit(enum socket_buffer which, int64_t asked, int64_t granted)
{
    if (granted >= 2 * asked || granted / 2 >= INT_MAX / 2)
        return "";
    return which == SOCKET_RCVBUF ? machine_rcvbuf_limit() : machine_sndbuf_limit();
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

enum status socket_ask_buffer(int fd, enum socket_buffer which, int64_t asked,
                              struct grant *out_grant, struct fault *fault)
{
    int option = which == SOCKET_RCVBUF ? SO_RCVBUF : SO_SNDBUF;
    struct grant grant = { .asked = asked };
    enum status status;
    int error;

    if (asked < 0 || asked > INT_MAX)
        return fault_set(fault, STATUS_RANGE, "%s: %lld is not from 0 to %d", option_name(which),
                         (long long)asked, INT_MAX);
    error = socket_option_set(fd, SOL_SOCKET, option, (int)asked);
    if (error != 0)
        return fault_errno(fault, error, "cannot set %s to %lld", option_name(which),
                           (long long)asked);
    status = socket_buffer_granted(fd, which, &grant.granted);
    if (status != STATUS_OK)
        return fault_set(fault, status, "cannot read %s back: %s", option_name(which),
                         status_text(status));
    text_copy(grant.limit, sizeof grant.limit, capping_limit(which, asked, grant.granted));
    *out_grant = grant;
    return STATUS_OK;
}

int64_t socket_buffer_factor(void)
{
    return 2;
}

double socket_release_share(void)
{
    return 0.25;
}

/* One of the SK_MEMINFO_* values; kernels before 4.12 have no DROPS in a shorter array. */
static enum status read_meminfo(int fd, unsigned which, uint32_t *out_value)
{
    uint32_t info[SK_MEMINFO_VARS];
    socklen_t length = sizeof info;

    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &length) != 0)
        return status_of_errno(errno);
    if (length < (which + 1) * sizeof info[0])
        return STATUS_UNSUPPORTED;
    *out_value = info[which];
    return STATUS_OK;
}

enum status socket_drops(int fd, uint32_t *out_drops)
{
    return read_meminfo(fd, SK_MEMINFO_DROPS, out_drops);
}

enum status socket_queued_bytes(int fd, int64_t *out_bytes)
{
    uint32_t bytes = 0;
    enum status status = read_meminfo(fd, SK_MEMINFO_RMEM_ALLOC, &bytes);

    if (status == STATUS_OK)
        *out_bytes = bytes;
    return status;
}

enum status socket_set_dont_fragment(int fd, enum family family, struct fault *fault)
{
    bool on = false;
    int error = 0;
    enum status status;

    if (family == FAMILY_IPV6)
        error = socket_option_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    if (error == 0 && family == FAMILY_IPV6) /* a size of fragments would be a limit */
        error = socket_option_set(fd, IPPROTO_IPV6, IPV6_MTU, 0);
    if (error == 0) /* on an IPv6 socket too: it rules mapped addresses */
        error = socket_option_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
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
    int value4 = 0, value6 = IPV6_PMTUDISC_PROBE;
    int error = socket_option_get(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value4);

    if (error == 0 && family == FAMILY_IPV6)
        error = socket_option_get(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value6);
    if (error != 0)
        return status_of_errno(error);
    *out_on = value4 == IP_PMTUDISC_PROBE && value6 == IPV6_PMTUDISC_PROBE;
    return STATUS_OK;
}

enum status socket_enable_receive_time(int fd, struct fault *fault)
{
    int error = socket_option_set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);

    if (error != 0)
        return fault_errno(fault, error, "cannot turn on SO_TIMESTAMPNS");
    return STATUS_OK;
}

enum status socket_receive_time(const struct msghdr *message, struct wall *out_time)
{
    struct timespec stamp;
    enum status status = socket_control(message, SOL_SOCKET, SCM_TIMESTAMPNS, &stamp, sizeof stamp);

    if (status == STATUS_OK)
        out_time->ns = (int64_t)stamp.tv_sec * NS_PER_S + (int64_t)stamp.tv_nsec;
    return status;
}
