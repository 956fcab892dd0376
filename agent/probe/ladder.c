/* Owns one rung of the ladder: a socket, one wish, the kernel's answer. */
#include "agent/probe/ladder.h"

#include <errno.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "proto/base/text.h"

/* socket_ask_buffer looks for a smaller size when the kernel refuses this one; here the refusal
 * itself is the answer. */
static enum status ask_once(int fd, enum buffer_side side, int64_t asked, struct fault *fault)
{
    int option = side == BUFFER_RCVBUF ? SO_RCVBUF : SO_SNDBUF;
    int value = (int)asked;

    if (setsockopt(fd, SOL_SOCKET, option, &value, sizeof value) == 0)
        return STATUS_OK;
    return fault_errno(fault, errno, "%s of %d bytes is refused",
                       side == BUFFER_RCVBUF ? "SO_RCVBUF" : "SO_SNDBUF", value);
}

static enum status answer(int fd, enum buffer_side side, int64_t asked, struct grant *out_grant,
                          struct fault *fault)
{
    enum socket_buffer which = side == BUFFER_RCVBUF ? SOCKET_RCVBUF : SOCKET_SNDBUF;
    enum status status;

    if (asked == NONE_INT) {
        status = socket_buffer_granted(fd, which, &out_grant->granted);
        if (status != STATUS_OK)
            fault_set(fault, status, "the default cannot be read: %s", status_text(status));
        return status;
    }
    status = ask_once(fd, side, asked, fault);
    if (status == STATUS_OK)
        status = socket_ask_buffer(fd, which, asked, out_grant, fault);
    return status;
}

void ladder_step(enum family family, enum buffer_side side, int64_t asked,
                 struct ladder_result *out_result, struct fault *out_error)
{
    struct addr any_port = addr_loopback(family, 0);
    struct addr bound;
    struct grant grant = { .granted = NONE_INT };
    int fd = -1;
    enum status status = socket_open(&any_port, &fd, &bound, out_error);

    *out_result = (struct ladder_result){ .buffer = side, .asked = asked, .granted = NONE_INT };
    if (status == STATUS_OK)
        status = answer(fd, side, asked, &grant, out_error);
    if (fd >= 0)
        close(fd);
    if (status != STATUS_OK)
        return;
    out_error->text[0] = '\0';
    out_result->granted = grant.granted;
    text_copy(out_result->limit, sizeof out_result->limit, grant.limit);
}
