/* Owns what the kernel says of its wall clock: one call, the same on Linux and macOS. */
#include "agent/host/wall_state.h"

#include <string.h>
#include <sys/timex.h>

#include "proto/base/clock.h"

void wall_state(struct clock_report *out_report)
{
    struct timex now;
    int state;

    memset(&now, 0, sizeof now); /* modes 0: nothing is set */
    state = ntp_adjtime(&now);
    *out_report = (struct clock_report){ .sync = CLOCK_UNKNOWN, .max_error_ns = NONE_INT };
    if (state < 0)
        return;
    if (state == TIME_ERROR || (now.status & STA_UNSYNC) != 0) {
        out_report->sync = CLOCK_UNSYNCHRONIZED; /* and its error is anybody's guess */
        return;
    }
    out_report->sync = CLOCK_SYNCHRONIZED;
    if (now.maxerror >= 0)
        out_report->max_error_ns = (int64_t)now.maxerror * NS_PER_US;
}
