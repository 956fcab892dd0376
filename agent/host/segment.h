/* Many datagrams as one piece of the kernel's work: a sender hands over segments (UDP_SEGMENT), a
 * receiver takes them unseparated (UDP_GRO). Linux only. */
#ifndef SONDE_HOST_SEGMENT_H
#define SONDE_HOST_SEGMENT_H

#include <stdint.h>

#include "proto/base/status.h"

/* From now on what `fd` sends is cut into datagrams of `bytes` each; 0: it is not cut. */
enum status segment_sends(int fd, int64_t bytes, struct fault *fault) must_check;

/* From now on `fd` may receive several datagrams of one sender as one. */
enum status segment_receives(int fd, struct fault *fault) must_check;

#endif
