/* Owns who was logged lately. Must not know what is logged, nor where to. */
#include "controller/fleet/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/memory.h"
#include "proto/base/text.h"

/* Something of a key that was said lately. */
struct seen {
    char key[REPEATS_KEY_SIZE];
    char words[REPEATS_WORDS_SIZE]; /* the last */
    int64_t left_out;
    struct mono until; /* nothing more is said before */
    bool used;
};

struct repeats {
    repeats_say *say;
    void *context;
    struct seen seen[REPEATS_KEYS + 1]; /* the last one: all others */
};

struct repeats *repeats_new(repeats_say *say, void *context)
{
    struct repeats *repeats = memory_new(1, sizeof *repeats);

    repeats->say = say;
    repeats->context = context;
    return repeats;
}

void repeats_free(struct repeats *repeats)
{
    free(repeats);
}

/* Where this is counted. One key has REPEATS_REASONS of them at most. */
static struct seen *find(struct repeats *repeats, const char *key, const char *words)
{
    struct seen *unused = &repeats->seen[REPEATS_KEYS], *same = NULL;
    size_t reasons = 0;

    for (size_t i = REPEATS_KEYS; i-- > 0;) {
        struct seen *seen = &repeats->seen[i];

        if (!seen->used) {
            unused = seen;
            continue;
        }
        if (strncmp(seen->key, key, sizeof seen->key - 1) != 0)
            continue;
        if (strncmp(seen->words, words, sizeof seen->words - 1) == 0)
            return seen;
        same = seen;
        reasons++;
    }
    return reasons < REPEATS_REASONS ? unused : same;
}

static void say(struct repeats *repeats, struct seen *seen, struct mono now)
{
    const struct repeats_line line = { .key = seen->key,
                                       .words = seen->words,
                                       .left_out = seen->left_out };

    repeats->say(repeats->context, &line);
    seen->left_out = 0;
    seen->until = mono_after(now, REPEATS_NS);
}

void repeats_add(struct repeats *repeats, const char *key, const char *words, struct mono now)
{
    struct seen *seen;

    repeats_tick(repeats, now);
    seen = find(repeats, key, words);
    text_copy(seen->key, sizeof seen->key, key);
    text_copy(seen->words, sizeof seen->words, words);
    if (seen->used) {
        seen->left_out++;
        return;
    }
    seen->used = true;
    say(repeats, seen, now);
}

void repeats_tick(struct repeats *repeats, struct mono now)
{
    for (size_t i = 0; i <= REPEATS_KEYS; i++) {
        struct seen *seen = &repeats->seen[i];

        if (!seen->used || mono_between(seen->until, now) < 0)
            continue;
        if (seen->left_out > 0)
            say(repeats, seen, now);
        else
            seen->used = false;
    }
}

struct mono repeats_deadline(const struct repeats *repeats)
{
    struct mono first = { INT64_MAX };

    for (size_t i = 0; i <= REPEATS_KEYS; i++) {
        const struct seen *seen = &repeats->seen[i];

        if (seen->used && seen->left_out > 0 && mono_between(seen->until, first) > 0)
            first = seen->until;
    }
    return first;
}
