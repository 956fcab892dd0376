/* A process of our own that runs one function, and memory that both processes see. */
#ifndef SONDE_HOST_CHILD_H
#define SONDE_HOST_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/status.h"

struct child {
    int64_t pid; /* 0: none, or ended and reaped */
};

/* Forks. The child has SIGINT, SIGTERM and SIGHUP ignored (a terminal sends them to both; its
 * parent decides), runs `work` and ends when that returns, without what a program does at its end.
 * `parent` is for child_orphaned. The calling process must have one thread: a fork copies no other,
 * and locks that others hold stay locked in the child for ever. */
enum status child_start(void (*work)(void *context, int64_t parent), void *context,
                        struct child *out_child, struct fault *fault) must_check;

/* True while it runs. An end is noticed once, and reaped: *out_how is then what it was, "ended by
 * signal 9" or "ended with exit code 0". */
bool child_running(struct child *child, char *out_how, size_t size);

/* Kills it, if it still runs, and reaps it. */
void child_end(struct child *child);

/* In the child: true when its parent has ended. On Linux the kernel then ends the child as well,
 * whatever it does. */
bool child_orphaned(int64_t parent);

/* Zeroed memory that children started later share. memory_unshare takes what memory_share gave;
 * NULL is allowed. */
enum status memory_share(size_t size, void **out_memory, struct fault *fault) must_check;
void memory_unshare(void *memory, size_t size);

#endif
