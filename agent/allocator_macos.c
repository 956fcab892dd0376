/* macOS: its allocator gives large blocks back by itself. */
#include "agent/allocator.h"

void allocator_keep_little(void)
{
}
