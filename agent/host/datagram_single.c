/* Owns datagrams by one system call each, and what both ways share.
 * Knows nothing of what is in them.
 */
#include <errno.h>
#include <string.h>

#include "agent/host/datagram_system.h"

static struct msghdr header_of(struct datagram *datagram)
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

struct msghdr datagram_header_in(struct datagram *datagram, union datagram_control *control)
{
    struct msghdr header = header_of(datagram);

    if (datagram->peer != NULL)
        header.msg_namelen = sizeof datagram->peer->socket;
    if (datagram->local != NULL || datagram->fragment != NULL) {
        header.msg_control = control;
        header.msg_controllen = sizeof *control;
    }
    return header;
}

struct msghdr datagram_header_out(struct datagram *datagram, union datagram_control *control)
{
    struct msghdr header = header_of(datagram);

    if (datagram->peer != NULL)
        header.msg_namelen = datagram->peer->length;
    if (datagram->local != NULL && datagram->local->length > 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof *control;
        datagram_local_put(datagram->local, &header);
    }
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
    if (datagram->local != NULL)
        datagram_local_get(header, datagram->local);
    if (datagram->fragment != NULL)
        *datagram->fragment = datagram_fragment_get(header);
}

size_t datagram_receive_single(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    size_t done;

    *out_error = 0;
    for (done = 0; done < count && done < DATAGRAM_BATCH_MAX; done++) {
        union datagram_control control;
        struct msghdr header = datagram_header_in(&datagrams[done], &control);
        ssize_t length;

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
        union datagram_control control;
        struct msghdr header = datagram_header_out(&datagrams[done], &control);

        if (sendmsg(fd, &header, MSG_DONTWAIT) < 0) {
            *out_error = errno;
            break;
        }
    }
    return done;
}
