/* Owns how Linux ends a child whose parent has ended. */
#include <signal.h>
#include <sys/prctl.h>

#include "agent/host/child_system.h"

void child_system_bind(void)
{
    /* It cannot fail with a valid signal. The caller looks for a parent that ended before. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}
