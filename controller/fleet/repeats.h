/* Log lines that repeat: one per key, words and REPEATS_NS, with how many were left out. Pure. */
#ifndef SONDE_FLEET_REPEATS_H
#define SONDE_FLEET_REPEATS_H

#include "proto/base/clock.h"

#define REPEATS_NS (10 * NS_PER_S)

/* Keys with words that are told apart at once; what others do counts as one more. So do further
 * words of a key that has said REPEATS_REASONS different ones: it may be making them up. */
enum { REPEATS_KEYS = 128, REPEATS_REASONS = 8, REPEATS_KEY_SIZE = 80, REPEATS_WORDS_SIZE = 512 };

struct repeats;

/* What is to be logged: something for the first time in a while (`left_out` 0), or the last of
 * `left_out` of them. */
struct repeats_line {
    const char *key, *words;
    int64_t left_out;
};
typedef void repeats_say(void *context, const struct repeats_line *line);

struct repeats *repeats_new(repeats_say *say, void *context);
void repeats_free(struct repeats *repeats);

/* Something happened: says it at once, or counts it. A longer key or text is cut. */
void repeats_add(struct repeats *repeats, const char *key, const char *words, struct mono now);

/* Says what was counted and whose time has come. */
void repeats_tick(struct repeats *repeats, struct mono now);

/* When that is next due; INT64_MAX: never. */
struct mono repeats_deadline(const struct repeats *repeats);

#endif
