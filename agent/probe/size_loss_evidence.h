/* The sequential test of all thresholds at once: a part of size_loss. Pure.
 *
 * Sizes that were sent cut the thresholds into cells: those between two neighbouring sizes are not
 * told apart by any datagram so far. A new size divides a cell; both halves go on from what the
 * whole had.
 */
#ifndef SONDE_PROBE_SIZE_LOSS_EVIDENCE_H
#define SONDE_PROBE_SIZE_LOSS_EVIDENCE_H

#include "agent/probe/size_loss.h"

enum { SIZE_LOSS_RATIOS = 7 };

/* The cell of sizes[i] holds the thresholds sizes[i] .. sizes[i + 1] - 1; the last size has none.
 */
struct size_loss_evidence {
    size_t count;
    int64_t sizes[SIZE_LOSS_SIZES];
    double logs[SIZE_LOSS_SIZES][SIZE_LOSS_RATIOS]; /* ln of each product */
};

/* One datagram of a block. */
struct size_loss_outcome {
    int64_t size;
    bool lost;
};

/* Makes `size` one of the sizes, if it is not; at least two must be there before a block. False
 * when there is no room for it. */
bool size_loss_evidence_add(struct size_loss_evidence *evidence, int64_t size);

/* A block's outcomes, at most SIZE_LOSS_BLOCK; their sizes were added before. */
void size_loss_evidence_block(struct size_loss_evidence *evidence,
                              const struct size_loss_outcome *outcomes, size_t count);

/* ln of the average over all thresholds and ratios. */
double size_loss_evidence_total(const struct size_loss_evidence *evidence);

/* The posterior probability of each cell; returns how many there are. */
size_t size_loss_evidence_cells(const struct size_loss_evidence *evidence,
                                double out_masses[SIZE_LOSS_SIZES]);

/* The threshold below which a share of the posterior lies, 0 < share < 1. */
int64_t size_loss_evidence_quantile(const struct size_loss_evidence *evidence,
                                    const double masses[SIZE_LOSS_SIZES], double share);

#endif
