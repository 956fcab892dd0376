/* Which of many descriptors can be read: ppoll and epoll on Linux, kqueue on macOS. */
#ifndef SONDE_HOST_POLLER_H
#define SONDE_HOST_POLLER_H

#include <stddef.h>
#include <stdint.h>

#include "proto/base/status.h"

struct poller;

/* `out_poller` is the caller's; poller_free takes it (NULL is allowed). */
enum status poller_new(struct poller **out_poller, struct fault *fault) must_check;
void poller_free(struct poller *poller);

/* Watches fd for reading, level-triggered; `token` comes back from poller_wait. */
enum status poller_add(struct poller *poller, int fd, uint64_t token,
                       struct fault *fault) must_check;

/* Waits until something can be read, at most timeout_ns (0: looks only; rounded up to the
 * system's grain). Returns how many tokens it wrote, at most `cap`; 0 after the timeout or an
 * interrupting signal. */
size_t poller_wait(struct poller *poller, int64_t timeout_ns, uint64_t *out_tokens, size_t cap);

#endif
