/* Owns what macOS does for a child whose parent has ended: nothing, so the child has to look
 * (child_orphaned). */
#include "agent/host/child_system.h"

void child_system_bind(void)
{
}
