/* Two clocks whose times cannot be mixed up: mono measures, wall labels.
 *
 * Every interval, timeout and rate uses `struct mono`. `struct wall` is read once per run, for
 * labels; it may step at any time. Only event loops, I/O engines and main read clocks.
 */
#ifndef SONDE_BASE_CLOCK_H
#define SONDE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/status.h"

#define NS_PER_US ((int64_t)1000)
#define NS_PER_MS ((int64_t)1000000)
#define NS_PER_S  ((int64_t)1000000000)

/* Nanoseconds since an arbitrary moment; never goes back. */
struct mono {
    int64_t ns;
};

/* Nanoseconds since 1970-01-01 00:00 UTC. */
struct wall {
    int64_t ns;
};

enum { WALL_TEXT_SIZE = 32 };

struct mono mono_now(void);
struct wall wall_now(void);

/* later - earlier, in nanoseconds; negative when `later` is before `earlier`. */
int64_t mono_between(struct mono earlier, struct mono later);

/* `time` moved by `ns`; stops at the ends of the range instead of wrapping. */
struct mono mono_after(struct mono time, int64_t ns);

/* RFC 3339 in UTC with seconds: 2026-11-30T18:44:10Z. Independent of TZ and locale. */
void wall_format(struct wall time, char out_text[WALL_TEXT_SIZE]);

/* For file names: 20261130T184410Z. */
void wall_format_compact(struct wall time, char out_text[WALL_TEXT_SIZE]);

/* Reads what wall_format writes (fractions of a second are allowed and kept). */
enum status wall_parse(const char *text, struct wall *out_time) must_check;

#endif
