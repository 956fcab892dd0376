/* A descriptor that becomes readable once, for good, when somebody says so. */
#ifndef SONDE_HOST_WAKEUP_H
#define SONDE_HOST_WAKEUP_H

#include "proto/base/status.h"

struct wakeup {
    int fd; /* readable once wakeup_now was called */
    int other;
};

enum status wakeup_init(struct wakeup *wakeup, struct fault *fault) must_check;
void wakeup_done(struct wakeup *wakeup);

/* From any thread, and from a signal's handler. */
void wakeup_now(const struct wakeup *wakeup);

#endif
