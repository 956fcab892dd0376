/* Owns the datagrams of sd_notify(3) and what its environment says. Must not know what a daemon
 * does. Nothing here fails: who is not heard warns and goes on.
 */
#include "proto/link/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/log.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/link/notify_system.h"

enum { STATUS_SIZE = 256, DATAGRAM_SIZE = 512 };

/* A path, or @name for a name that is no file (the first byte is 0). */
static bool read_address(const char *text, struct sockaddr_un *out_address, socklen_t *out_length)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || length < 2 || length >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, text, length);
    if (text[0] == '@')
        address.sun_path[0] = '\0';
    else
        length++; /* a path ends with its zero */
    *out_address = address;
    *out_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

static int open_socket(const char *text)
{
    struct sockaddr_un address;
    socklen_t length;
    int fd;

    if (!read_address(text, &address, &length)) {
        log_line(LOG_LEVEL_WARNING, "NOTIFY_SOCKET=%s: a path or @name is expected", text);
        return -1;
    }
    fd = notify_system_socket();
    if (fd != -1 && connect(fd, (const struct sockaddr *)&address, length) == 0)
        return fd;
    log_line(LOG_LEVEL_WARNING, "NOTIFY_SOCKET=%s: %s", text, strerror(errno));
    if (fd != -1)
        close(fd);
    return -1;
}

/* Half of what is allowed between two signs of life, so that one of them may be late. */
static int64_t read_watchdog(const char *usec, const char *pid)
{
    uint64_t allowed_us = 0, for_whom = (uint64_t)getpid();

    if (usec == NULL)
        return 0;
    if ((pid != NULL && text_to_u64(pid, &for_whom) != STATUS_OK) ||
        text_to_u64(usec, &allowed_us) != STATUS_OK || allowed_us == 0 ||
        allowed_us > INT64_MAX / (uint64_t)NS_PER_US) {
        log_line(LOG_LEVEL_WARNING, "WATCHDOG_USEC=%s, WATCHDOG_PID=%s: no watchdog", usec,
                 pid != NULL ? pid : "");
        return 0;
    }
    if (for_whom != (uint64_t)getpid())
        return 0;
    return (int64_t)allowed_us * NS_PER_US / 2;
}

void notify_init(struct notify *notify)
{
    const char *where = getenv("NOTIFY_SOCKET");

    *notify = (struct notify){ .fd = -1 };
    if (where != NULL)
        notify->fd = open_socket(where);
    if (notify->fd != -1)
        notify->watchdog_ns = read_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_done(struct notify *notify)
{
    if (notify->fd != -1)
        close(notify->fd);
    *notify = (struct notify){ .fd = -1 };
}

static void tell(const struct notify *notify, const char *text)
{
    if (notify->fd == -1)
        return;
    /* A service manager that is busy for a moment is asked again by the next call. */
    if (send(notify->fd, text, strlen(text), 0) < 0)
        log_line(LOG_LEVEL_WARNING, "telling the service manager: %s", strerror(errno));
}

/* `first` line and the status behind it; a status is one line, whatever is in it. */
static void tell_with_status(const struct notify *notify, const char *first, const char *status)
{
    char line[STATUS_SIZE], datagram[DATAGRAM_SIZE];

    text_copy(line, sizeof line, status);
    utf8_mask(line);
    snprintf(datagram, sizeof datagram, "%sSTATUS=%s", first, line);
    tell(notify, datagram);
}

void notify_ready(const struct notify *notify, const char *status)
{
    tell_with_status(notify, "READY=1\n", status);
}

void notify_reloading(const struct notify *notify, struct mono now)
{
    char text[DATAGRAM_SIZE];

    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, now.ns / NS_PER_US);
    tell(notify, text);
}

void notify_watchdog(const struct notify *notify)
{
    tell(notify, "WATCHDOG=1");
}

void notify_status(const struct notify *notify, const char *status)
{
    tell_with_status(notify, "", status);
}

void notify_stopping(const struct notify *notify)
{
    tell(notify, "STOPPING=1");
}
