/* What the kernel says of its wall clock: synchronized or not, and its largest error
 * (ntp_adjtime). */
#ifndef SONDE_HOST_WALL_STATE_H
#define SONDE_HOST_WALL_STATE_H

#include "proto/wire/report.h"

void wall_state(struct clock_report *out_report);

#endif
