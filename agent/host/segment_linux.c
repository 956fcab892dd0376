/* Owns UDP_SEGMENT (Linux 4.18) and UDP_GRO (5.0). */
#include "agent/host/segment.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/udp.h>

static enum status set(int fd, int option, int64_t value, const char *name, struct fault *fault)
{
    int number = (int)value;

    if (setsockopt(fd, IPPROTO_UDP, option, &number, sizeof number) == 0)
        return STATUS_OK;
    if (errno == ENOPROTOOPT)
        return fault_set(fault, STATUS_UNSUPPORTED, "this kernel does not know %s", name);
    return fault_errno(fault, errno, "cannot set %s to %d", name, number);
}

enum status segment_sends(int fd, int64_t bytes, struct fault *fault)
{
    return set(fd, UDP_SEGMENT, bytes, "UDP_SEGMENT", fault);
}

enum status segment_receives(int fd, struct fault *fault)
{
    return set(fd, UDP_GRO, 1, "UDP_GRO", fault);
}
