/* Linux: glibc learns from large blocks to keep them, up to 64 MiB for each of its arenas, and
 * threads get arenas of their own: after a large case a daemon would stay that large. Thresholds
 * that are set are not learnt. */
#include <malloc.h>

#include "agent/allocator.h"

enum { KEPT_BYTES = 128 << 10 };

void allocator_keep_little(void)
{
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}
