/* Owns the due times of a steady stream. */
#include "agent/probe/schedule.h"

void schedule_begin(struct schedule *schedule, int64_t interval_ns, struct mono now)
{
    *schedule = (struct schedule){ .interval_ns = interval_ns, .due = now };
}

int64_t schedule_wait(const struct schedule *schedule, struct mono now)
{
    int64_t left = mono_between(now, schedule->due);

    return left > 0 ? left : 0;
}

void schedule_sent(struct schedule *schedule, struct mono now)
{
    bool missed = mono_between(schedule->due, now) >= schedule->interval_ns;

    schedule->due = mono_after(missed ? now : schedule->due, schedule->interval_ns);
}
