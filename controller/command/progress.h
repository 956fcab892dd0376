/* What is going on while a run is measured, on stderr: one live line on a terminal, a plain line
 * per case elsewhere. */
#ifndef SONDE_COMMAND_PROGRESS_H
#define SONDE_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/clock.h"

enum { PROGRESS_DURATION_SIZE = 32 };

struct progress {
    bool live;      /* stderr is a terminal */
    double whole_s; /* how long the run takes at most */
    double done_s;  /* how long what is done could have taken at most */
    double case_s;  /* the running case */
    struct mono case_began;
    char label[200]; /* what runs now */
    size_t failed;
};

void progress_init(struct progress *progress, double whole_s);

/* A case begins; `at_most_s` is the longest it can take. */
void progress_begin(struct progress *progress, const char *label, double at_most_s);

/* Draws the live line again. `note` stands behind it ("" for nothing). */
void progress_tick(struct progress *progress, const char *note);

/* The case is over. `outcome` is what came out, in a few words; "" for nothing to say. */
void progress_end(struct progress *progress, bool failed, const char *outcome);

/* A line that stays, told at once, terminal or not; one that tells of a failure is counted. */
void progress_say(struct progress *progress, bool failed, const char *text);

/* Takes the live line away. */
void progress_done(struct progress *progress);

/* "1 min 35 s", "12.3 s". */
void progress_duration(double seconds, char out_text[PROGRESS_DURATION_SIZE]);

#endif
