/* Makes runs of buffer experiments that add up, for the tests of everything that reads them. */
#ifndef SONDE_TEST_MAKE_BUFFERS_RUN_H
#define SONDE_TEST_MAKE_BUFFERS_RUN_H

#include "tests/controller/report/make_run.h"

struct make_numbers {
    const int64_t *items;
    size_t count;
};

/* What a run is made of. Start from make_buffers_seed or make_buffers_small and change what the
 * test is about. */
struct make_buffers_shape {
    struct make_shape base; /* os, host_name, rcvbuf_limit (what may be asked for), id */
    int experiments[EXPERIMENT_COUNT];
    size_t experiment_count;
    struct make_numbers asked, payloads, sweep_rcvbufs, read_ns, intervals_ns, slow_rcvbufs;
    int64_t sends, slow_sends;
};

/* Everything, with the parameters of the seed, on Linux. */
struct make_buffers_shape make_buffers_seed(void);

/* Every experiment with a case or two. Cases: 0 to 3 the ladder (SO_RCVBUF default and 8,192,
 * SO_SNDBUF the same), 4 hold 100 B, 5 hold 8,000 B, 6 sweep 64 KiB, 7 a slow reader that loses,
 * 8 one that does not, 9 the closed port, 10 idle with two owners. */
struct make_buffers_shape make_buffers_small(void);
enum {
    SMALL_LADDER_DEFAULT,
    SMALL_LADDER,
    SMALL_LADDER_SNDBUF = 3,
    SMALL_HOLD = 5, /* holds 12 of 5,000 */
    SMALL_SWEEP,
    SMALL_SLOW, /* loses */
    SMALL_FAST, /* does not */
    SMALL_CLOSED,
    SMALL_IDLE,
    SMALL_COUNT
};

/* A run of this shape; the caller's (run_done). */
void make_buffers_run(const struct make_buffers_shape *shape, struct run *out_run);

struct experiment_result *make_experiment_at(struct run *run, size_t index);

/* Makes a case one that could not be measured: its parameters stay, its numbers go. */
void make_experiment_error(struct run *run, size_t index, const char *error);

/* Takes the cases from `count` on away and marks the run as interrupted. */
void make_buffers_interrupted(struct run *run, size_t count);

#endif
