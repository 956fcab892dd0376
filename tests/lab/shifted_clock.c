/* Preloaded, it moves a program's wall clock by SHIFT_S seconds. The monotonic clock stays. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void)
{
    const char *text = getenv("SHIFT_S");

    return text != NULL ? (time_t)strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out_time)
{
    long failed = syscall(SYS_clock_gettime, clock, out_time);

    if (failed == 0 && clock == CLOCK_REALTIME)
        out_time->tv_sec += shift();
    return (int)failed;
}

int gettimeofday(struct timeval *restrict out_time, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    out_time->tv_sec = now.tv_sec;
    out_time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out_time)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out_time != NULL)
        *out_time = now.tv_sec;
    return now.tv_sec;
}
