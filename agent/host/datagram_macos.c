/* Owns what macOS lacks: public batch calls, which are done one by one, and word of fragments. */
#include "agent/host/datagram_system.h"

const int datagram_receive_flags = MSG_DONTWAIT;

bool datagram_batch_available(void)
{
    return false;
}

size_t datagram_receive_batch(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    return datagram_receive_single(fd, datagrams, count, out_error);
}

size_t datagram_send_batch(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    return datagram_send_single(fd, datagrams, count, out_error);
}

enum status datagram_ask_fragments(int fd, enum family family, struct fault *fault)
{
    (void)fd;
    (void)family;
    return fault_set(fault, STATUS_UNSUPPORTED,
                     "this system does not tell whether a datagram came in fragments");
}

int64_t datagram_fragment_get(const struct msghdr *header)
{
    (void)header;
    return 0;
}
