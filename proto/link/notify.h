/* What systemd wants to hear (sd_notify(3)): readiness, reloads, the watchdog. Without
 * NOTIFY_SOCKET every call is silent; a bad one is a warning, never a failure. */
#ifndef SONDE_LINK_NOTIFY_H
#define SONDE_LINK_NOTIFY_H

#include "proto/base/clock.h"

struct notify {
    int fd;              /* -1: nobody listens */
    int64_t watchdog_ns; /* how often WATCHDOG=1 is due (half of WATCHDOG_USEC); 0: never */
};

/* From NOTIFY_SOCKET (a path or @name), WATCHDOG_USEC and WATCHDOG_PID; takes them out of the
 * environment so that children do not have them. */
void notify_init(struct notify *notify);
void notify_done(struct notify *notify);

void notify_ready(const struct notify *notify, const char *status);
void notify_reloading(const struct notify *notify, struct mono now);
void notify_watchdog(const struct notify *notify);
void notify_status(const struct notify *notify, const char *status);
void notify_stopping(const struct notify *notify);

#endif
