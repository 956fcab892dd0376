/* Owns the answer of macOS: it has neither UDP_SEGMENT nor UDP_GRO. */
#include "agent/host/segment.h"

enum status segment_sends(int fd, int64_t bytes, struct fault *fault)
{
    (void)fd;
    (void)bytes;
    return fault_set(fault, STATUS_UNSUPPORTED, "macOS has no UDP_SEGMENT");
}

enum status segment_receives(int fd, struct fault *fault)
{
    (void)fd;
    return fault_set(fault, STATUS_UNSUPPORTED, "macOS has no UDP_GRO");
}
