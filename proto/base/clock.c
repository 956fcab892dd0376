/* Owns the arithmetic of both clocks and the text of wall time. Must not know what is measured; the
 * monotonic clock itself is read in clock_linux.c and clock_macos.c. */
#include "proto/base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

struct wall wall_now(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME, &now);

    assert(failed == 0);
    return (struct wall){ .ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec };
}

int64_t mono_between(struct mono earlier, struct mono later)
{
    int64_t difference;

    if (__builtin_sub_overflow(later.ns, earlier.ns, &difference))
        return later.ns < earlier.ns ? INT64_MIN : INT64_MAX;
    return difference;
}

struct mono mono_after(struct mono time, int64_t ns)
{
    struct mono moved;

    if (__builtin_add_overflow(time.ns, ns, &moved.ns))
        moved.ns = ns < 0 ? INT64_MIN : INT64_MAX;
    return moved;
}

static struct tm to_utc(struct wall time)
{
    time_t since_1970 = (time_t)(time.ns / NS_PER_S - (time.ns % NS_PER_S < 0));
    struct tm utc;
    const struct tm *converted = gmtime_r(&since_1970, &utc);

    assert(converted != NULL);
    return utc;
}

/* The numbers of strftime are the same under every locale. */
void wall_format(struct wall time, char out_text[WALL_TEXT_SIZE])
{
    struct tm utc = to_utc(time);
    size_t written = strftime(out_text, WALL_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);

    assert(written > 0);
}

void wall_format_compact(struct wall time, char out_text[WALL_TEXT_SIZE])
{
    struct tm utc = to_utc(time);
    size_t written = strftime(out_text, WALL_TEXT_SIZE, "%Y%m%dT%H%M%SZ", &utc);

    assert(written > 0);
}

/* Reads `digits` digits at *text and moves behind them; -1 when they are not all there. */
static int64_t take_number(const char **text, int digits)
{
    int64_t value = 0;

    for (; digits > 0; digits--, (*text)++) {
        if (**text < '0' || **text > '9')
            return -1;
        value = value * 10 + (**text - '0');
    }
    return value;
}

static bool take_char(const char **text, char wanted)
{
    if (**text != wanted)
        return false;
    (*text)++;
    return true;
}

/* Digits beyond nanoseconds are read and dropped. */
static bool take_fraction(const char **text, int64_t *out_ns)
{
    int64_t ns = 0;
    int64_t unit = NS_PER_S / 10;
    const char *start;

    *out_ns = 0;
    if (!take_char(text, '.'))
        return true;
    for (start = *text; **text >= '0' && **text <= '9'; (*text)++, unit /= 10)
        ns += (**text - '0') * unit;
    *out_ns = ns;
    return *text != start;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1970-01-01 to the first of the month, or -1 as `out_length` when there is no such day.
 */
static int64_t days_to(int64_t year, int64_t month, int64_t *out_length)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };
    int64_t last = year - 1;
    int64_t days = (year - 1970) * 365 + (last / 4 - last / 100 + last / 400) - 477;

    *out_length = before[month] - before[month - 1] + (month == 2 && is_leap(year));
    return days + before[month - 1] + (month > 2 && is_leap(year));
}

enum status wall_parse(const char *text, struct wall *out_time)
{
    int64_t year = take_number(&text, 4);
    int64_t month = year >= 0 && take_char(&text, '-') ? take_number(&text, 2) : -1;
    int64_t day = month >= 1 && take_char(&text, '-') ? take_number(&text, 2) : -1;
    int64_t hour = day >= 1 && take_char(&text, 'T') ? take_number(&text, 2) : -1;
    int64_t minute = hour >= 0 && take_char(&text, ':') ? take_number(&text, 2) : -1;
    int64_t second = minute >= 0 && take_char(&text, ':') ? take_number(&text, 2) : -1;
    int64_t fraction, length, days, seconds, ns;

    if (second < 0 || !take_fraction(&text, &fraction) || strcmp(text, "Z") != 0)
        return STATUS_INVALID;
    if (year < 1 || month > 12 || hour > 23 || minute > 59 || second > 59)
        return STATUS_INVALID;
    days = days_to(year, month, &length);
    if (day > length)
        return STATUS_INVALID;
    seconds = ((days + day - 1) * 24 + hour) * 3600 + minute * 60 + second;
    if (__builtin_mul_overflow(seconds, NS_PER_S, &ns) || __builtin_add_overflow(ns, fraction, &ns))
        return STATUS_RANGE;
    out_time->ns = ns;
    return STATUS_OK;
}
