/* Owns which one-way delays two hosts' clocks allow to be told, and the words for those that they
 * do not. Knows no counts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "controller/fleet/verdict.h"
#include "proto/base/text.h"

/* One more reason; what does not fit is cut. */
static void withhold(struct one_way *one_way, const char *format, ...) printf_like(2, 3);
static void withhold(struct one_way *one_way, const char *format, ...)
{
    size_t length = strlen(one_way->withheld);
    va_list arguments;

    if (length > 0 && length + 2 < sizeof one_way->withheld) {
        memcpy(one_way->withheld + length, "; ", 3);
        length += 2;
    }
    va_start(arguments, format);
    vsnprintf(one_way->withheld + length, sizeof one_way->withheld - length, format, arguments);
    va_end(arguments);
}

static void doubt_clock(const struct report *report, struct one_way *one_way)
{
    const char *host = end_role_names[report->role];
    int64_t step_ns = report->host.clock_step_ns;
    char step[TEXT_QUANTITY_SIZE];

    if (step_ns == NONE_INT) {
        withhold(one_way, "whether the clock of the %s's host was stepped is not known", host);
    } else if (step_ns != 0) {
        text_duration(step_ns, step);
        withhold(one_way, "the clock of the %s's host was stepped by %s meanwhile", host, step);
    } else if (report->clock.sync != CLOCK_SYNCHRONIZED) {
        withhold(one_way, "the clock of the %s's host is not %ssynchronized", host,
                 report->clock.sync == CLOCK_UNKNOWN ? "known to be " : "");
    } else if (report->clock.max_error_ns == NONE_INT) {
        withhold(one_way, "the error of the clock of the %s's host is not known", host);
    }
}

static int64_t error_of_both(const struct report *sender, const struct report *echo)
{
    int64_t sum;

    if (sender->clock.max_error_ns == NONE_INT || echo->clock.max_error_ns == NONE_INT ||
        __builtin_add_overflow(sender->clock.max_error_ns, echo->clock.max_error_ns, &sum))
        return NONE_INT;
    return sum;
}

static struct delay tell(const char *leg, const struct delay *seen, struct one_way *one_way)
{
    int64_t error = one_way->error_ns;
    char text[TEXT_QUANTITY_SIZE];

    if (error <= seen->min)
        return *seen;
    text_duration(error, text);
    if (seen->min < -error)
        withhold(one_way, "%s: the clocks are further apart than their error of %s", leg, text);
    else
        withhold(one_way, "%s: the clocks' error of %s is larger than the delay", leg, text);
    return (struct delay){ .present = false };
}

static bool in_order(const struct delay *delay)
{
    return delay->min <= delay->mean && delay->mean <= delay->max;
}

enum status verdict_one_way(const struct report *sender, const struct report *echo,
                            struct one_way *out_one_way, struct fault *fault)
{
    const struct one_way_seen *seen = &sender->one_way_ns;
    struct one_way one_way = { .present = true, .error_ns = error_of_both(sender, echo) };

    if (!seen->present || seen->count == 0)
        return STATUS_OK;
    if (!in_order(&seen->forward) || !in_order(&seen->reverse))
        return fault_set(fault, STATUS_CORRUPT,
                         "the sender's report: one-way delays that are out of order");
    doubt_clock(sender, &one_way);
    doubt_clock(echo, &one_way);
    if (one_way.withheld[0] == '\0' && one_way.error_ns == NONE_INT)
        withhold(&one_way, "the clocks' error is beyond all reason");
    if (one_way.withheld[0] == '\0') {
        one_way.forward = tell("forward", &seen->forward, &one_way);
        one_way.reverse = tell("reverse", &seen->reverse, &one_way);
    }
    *out_one_way = one_way;
    return STATUS_OK;
}
