/* Owns recvmmsg and sendmmsg, and IP_RECVFRAGSIZE. Knows nothing of what is in the datagrams. */
#include <errno.h>
#include <string.h>

#include "agent/host/datagram_system.h"
#include "agent/host/socket_system.h"

/* include/uapi/linux/in.h and in6.h; newer than some C libraries. */
enum { OPTION_FRAGMENTS4 = 25, OPTION_FRAGMENTS6 = 77 };

const int datagram_receive_flags = MSG_DONTWAIT | MSG_TRUNC;

bool datagram_batch_available(void)
{
    return true;
}

size_t datagram_receive_batch(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    union datagram_control controls[DATAGRAM_BATCH_MAX];
    struct mmsghdr messages[DATAGRAM_BATCH_MAX];
    int received;

    if (count > DATAGRAM_BATCH_MAX)
        count = DATAGRAM_BATCH_MAX;
    for (size_t i = 0; i < count; i++)
        messages[i].msg_hdr = datagram_header_in(&datagrams[i], &controls[i]);
    *out_error = 0;
    received = recvmmsg(fd, messages, (unsigned)count, datagram_receive_flags, NULL);
    if (received < 0) {
        *out_error = errno;
        return 0;
    }
    for (size_t i = 0; i < (size_t)received; i++)
        datagram_received(&datagrams[i], &messages[i].msg_hdr, messages[i].msg_len);
    return (size_t)received;
}

/* The kernel keeps the reason of a short send to itself; the next call tells it. */
size_t datagram_send_batch(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    union datagram_control controls[DATAGRAM_BATCH_MAX];
    struct mmsghdr messages[DATAGRAM_BATCH_MAX];
    int sent;

    if (count > DATAGRAM_BATCH_MAX)
        count = DATAGRAM_BATCH_MAX;
    for (size_t i = 0; i < count; i++)
        messages[i].msg_hdr = datagram_header_out(&datagrams[i], &controls[i]);
    *out_error = 0;
    sent = sendmmsg(fd, messages, (unsigned)count, MSG_DONTWAIT);
    if (sent < 0) {
        *out_error = errno;
        return 0;
    }
    return (size_t)sent;
}

enum status datagram_ask_fragments(int fd, enum family family, struct fault *fault)
{
    int error = family == FAMILY_IPV4 ? socket_option_set(fd, IPPROTO_IP, OPTION_FRAGMENTS4, 1)
                                      : socket_option_set(fd, IPPROTO_IPV6, OPTION_FRAGMENTS6, 1);

    return error == 0 ? STATUS_OK : fault_errno(fault, error, "asking for fragments");
}

int64_t datagram_fragment_get(const struct msghdr *header)
{
    int size = 0;

    if (socket_control(header, IPPROTO_IP, OPTION_FRAGMENTS4, &size, sizeof size) != STATUS_OK &&
        socket_control(header, IPPROTO_IPV6, OPTION_FRAGMENTS6, &size, sizeof size) != STATUS_OK)
        return 0;
    return size;
}
