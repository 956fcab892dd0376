/* What is going on while a run is measured, on stderr: one live line on a terminal, a plain line
 * per case elsewhere. */
#ifndef SONDE_COMMAND_PROGRESS_H
#define SONDE_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/clock.h"
#include "proto/wire/result.h"

struct progress {
    bool live;      /* stderr is a terminal */
    size_t cases;   /* of the plan */
    double whole_s; /* how long the run takes at most */
    double done_s;  /* how long what is done could have taken at most */
    double case_s;  /* the running case */
    struct mono case_began;
    char label[160]; /* what runs now */
    size_t failed;
};

void progress_init(struct progress *progress, const struct plan *plan, double whole_s);

/* A case (or, with NULL, the idle interval) begins; `at_most_s` is the longest it can take. */
void progress_begin(struct progress *progress, size_t index, const struct case_params *params,
                    double at_most_s);

/* Draws the live line again. `note` stands behind it ("" for nothing). */
void progress_tick(struct progress *progress, const char *note);

void progress_end(struct progress *progress, const struct case_result *result);

/* Takes the live line away. */
void progress_done(struct progress *progress);

#endif
