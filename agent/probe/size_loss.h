/* Does loss change above some size? The plan of sizes to send, the counts for each size, and a
 * decision that is wrong at a known rate. Pure: no sockets, no clock.
 *
 * The caller asks size_loss_next for one datagram after the other, sends each at its own pace, and
 * says of each whether the far end had it (acknowledged by a small datagram, or counted there and
 * told later). It ends when size_loss_next says STATUS_NOT_FOUND.
 *
 * Time does not look like size. Datagrams go in blocks of SIZE_LOSS_BLOCK: half of a block are the
 * grid's sizes, once each, from the floor to the ceiling in even steps, and the other half are
 * sizes near the suspected edge (as long as nothing is suspected: the ceiling, whose loss is the
 * largest there can be, and more of the grid). The order within a block is drawn by lot. If size
 * does not matter, then whatever the path does in time, given how many of a block were lost it is
 * an even chance which ones.
 *
 * The decision is a sequential test, of all thresholds T at once ("above T the odds of loss are r
 * times as high", r from 2 up). For each block and each (T, r) the likelihood of which ones were
 * lost is divided by the even chance (Fisher's noncentral hypergeometric distribution); the
 * products over the blocks are averaged over r and over T, every byte counting the same. If size
 * does not matter this average is a martingale that begins at 1, and the chance that it ever
 * reaches 1 / SIZE_LOSS_CHANCE is at most SIZE_LOSS_CHANCE (Ville), although the sizes of each
 * block are chosen after those before it and the test is asked after each. So a threshold is
 * reported on a path without one in at most 1 of 10,000 runs, whatever its loss and however it
 * comes in rows.
 *
 * What the same averages say about T is its posterior distribution: its median is the threshold,
 * its 0.5 % and 99.5 % points are the bounds. The sizes near the edge are its quantiles, so that
 * each block asks where the doubt is.
 *
 * The default budget of 20,000 datagrams finds 1 % of loss above 1,440 of 1,500 bytes, nothing
 * being lost below, to within 8 bytes. It ends early when the points that leave
 * SIZE_LOSS_DOUBT outside are SIZE_LOSS_WIDTH apart: it asks after each block, so the bounds that
 * are told would let it end on a wrong edge in one run of a hundred.
 */
#ifndef SONDE_PROBE_SIZE_LOSS_H
#define SONDE_PROBE_SIZE_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/status.h"

#define SIZE_LOSS_CHANCE 1e-4
#define SIZE_LOSS_DOUBT  1e-4

enum {
    SIZE_LOSS_BUDGET = 20000, /* datagrams */
    SIZE_LOSS_BUDGET_MAX = 10000000,
    SIZE_LOSS_GRID = 16,
    SIZE_LOSS_BLOCK = 32,
    SIZE_LOSS_OPEN = 256, /* blocks that may be without all their answers */
    SIZE_LOSS_SIZES = 256,
    SIZE_LOSS_WIDTH = 4 /* bytes that the threshold may be in doubt by when it ends early */
};

struct size_loss_config {
    int64_t floor, ceiling;      /* sizes of IP packets from .. to; floor < ceiling */
    int64_t gap_first, gap_last; /* no datagram has one of these sizes; 0, 0: no gap */
    int64_t budget;              /* datagrams at most; rounded up to whole blocks */
    uint64_t seed;
};

/* STATUS_RANGE: says which member and what is allowed. */
enum status size_loss_check(const struct size_loss_config *config, struct fault *fault) must_check;

struct size_loss;

/* The configuration was checked (asserted); copied. Never NULL. */
struct size_loss *size_loss_new(const struct size_loss_config *config);
void size_loss_free(struct size_loss *loss);

struct size_loss_ask {
    uint32_t id;  /* counts up from 0 */
    int64_t size; /* of the IP packet */
};

/* The next datagram. STATUS_AGAIN: the oldest block waits for answers first; STATUS_NOT_FOUND: no
 * more are needed. */
enum status size_loss_next(struct size_loss *loss, struct size_loss_ask *out_ask) must_check;

enum size_loss_fate {
    SIZE_LOSS_RECEIVED,
    SIZE_LOSS_LOST,  /* waited for long enough; what comes later does not count any more */
    SIZE_LOSS_UNSENT /* this host refused it: it counts nowhere */
};

/* What became of a datagram; in any order. False when that was said before, or its id is unknown.
 */
bool size_loss_settle(struct size_loss *loss, uint32_t id, enum size_loss_fate fate);

/* The counts of some sizes together, and Wilson's 95 % interval of their loss. */
struct size_loss_count {
    int64_t size; /* of a single size */
    bool grid;    /* of a single size: it was in every block, so time counts alike for it */
    int64_t sent, lost;
    double low, high; /* 0..1 */
};

/* Wilson's score interval of `lost` of `sent` at `z` standard deviations; 0..1 of none. */
void size_loss_interval(int64_t lost, int64_t sent, double z, double *out_low, double *out_high);

/* The sizes that were sent, in ascending order; false: there is no such index. */
bool size_loss_size(const struct size_loss *loss, size_t index, struct size_loss_count *out_count);

struct size_loss_verdict {
    bool found; /* loss is larger above `threshold` */
    int64_t threshold, least,
        most;        /* the largest size before the change; 99 % bounds. Of a path
                      * that was not found to have one: where it would be likeliest */
    double evidence; /* the average's natural logarithm at its largest */
    struct size_loss_count below, above; /* of `threshold`, if found; else below has all */
};

/* At any time. */
void size_loss_decide(const struct size_loss *loss, struct size_loss_verdict *out_verdict);

#endif
