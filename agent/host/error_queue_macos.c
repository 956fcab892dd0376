/* Owns what macOS lacks: errors are not queued. An ICMP message makes one call on a connected
 * socket fail, with neither sender, nor MTU, nor quote (bsd/netinet/udp_usrreq.c, udp_ctlinput);
 * IPV6_RECVPATHMTU tells an MTU to every socket towards that host, whatever the ports, so nothing
 * that a hint could be matched with.
 */
#include "agent/host/error_queue.h"

enum status error_queue_enable(int fd, enum family family, struct fault *fault)
{
    (void)fd;
    (void)family;
    return fault_set(fault, STATUS_UNSUPPORTED,
                     "this system does not tell a socket who sent which ICMP error");
}

enum status error_queue_take(int fd, struct queued_error *out_error)
{
    (void)fd;
    (void)out_error;
    return STATUS_AGAIN;
}
