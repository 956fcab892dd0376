/* Owns what macOS lacks: public batch calls. They are done one by one. */
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
