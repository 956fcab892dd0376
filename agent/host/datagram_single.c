/* Owns datagrams by one system call each, and what both ways share.
 * Knows nothing of what is in them.
 */
#include <errno.h>
#include <string.h>

#include "agent/host/datagram_system.h"

struct msghdr datagram_header(struct datagram *datagram)
{
    struct msghdr header;

    memset(&header, 0, sizeof header);
    header.msg_iov = datagram->part;
    /* size_t on Linux, int on macOS */
    header.msg_iovlen = (__typeof__(header.msg_iovlen))datagram->parts;
    if (datagram->peer != NULL)
        header.msg_name = &datagram->peer->socket;
    return header;
}

void datagram_received(struct datagram *datagram, const struct msghdr *header, size_t length)
{
    size_t room = 0;

    for (size_t i = 0; i < datagram->parts; i++)
        room += datagram->part[i].iov_len;
    /* A system that does not tell the real size still tells that it cut. */
    if ((header->msg_flags & MSG_TRUNC) != 0 && length <= room)
        length = room + 1;
    datagram->length = length;
    if (datagram->peer != NULL)
        datagram->peer->length = header->msg_namelen;
}

size_t datagram_receive_single(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    size_t done;

    *out_error = 0;
    for (done = 0; done < count && done < DATAGRAM_BATCH_MAX; done++) {
        struct msghdr header = datagram_header(&datagrams[done]);
        ssize_t length;

        if (header.msg_name != NULL)
            header.msg_namelen = sizeof datagrams[done].peer->socket;
        length = recvmsg(fd, &header, datagram_receive_flags);
        if (length < 0) {
            if (done == 0)
                *out_error = errno;
            break;
        }
        datagram_received(&datagrams[done], &header, (size_t)length);
    }
    return done;
}

size_t datagram_send_single(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    size_t done;

    *out_error = 0;
    for (done = 0; done < count && done < DATAGRAM_BATCH_MAX; done++) {
        struct msghdr header = datagram_header(&datagrams[done]);

        if (header.msg_name != NULL)
            header.msg_namelen = datagrams[done].peer->length;
        if (sendmsg(fd, &header, MSG_DONTWAIT) < 0) {
            *out_error = errno;
            break;
        }
    }
    return done;
}
