/* Owns a pipe with at most one byte in it. */
#include "agent/host/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

enum status wakeup_init(struct wakeup *wakeup, struct fault *fault)
{
    int ends[2];

    if (pipe(ends) != 0)
        return fault_errno(fault, errno, "making a pipe");
    for (size_t i = 0; i < 2; i++) {
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[i], F_SETFL, O_NONBLOCK) == 0)
            continue;
        fault_errno(fault, errno, "setting up a pipe");
        close(ends[0]);
        close(ends[1]);
        return STATUS_IO;
    }
    *wakeup = (struct wakeup){ .fd = ends[0], .other = ends[1] };
    return STATUS_OK;
}

void wakeup_done(struct wakeup *wakeup)
{
    close(wakeup->fd);
    close(wakeup->other);
    *wakeup = (struct wakeup){ -1, -1 };
}

void wakeup_now(const struct wakeup *wakeup)
{
    /* A full pipe is readable already. */
    ssize_t written = write(wakeup->other, "", 1);

    (void)written;
}
