/* Owns the likelihood ratios of thresholds. Must not know which sizes are sent next, or why. */
#include "agent/probe/size_loss_evidence.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* How many times the odds of loss are as high above the threshold. The largest stands for "only
 * above it"; its power of a whole block is still a double. */
static const double ratios[SIZE_LOSS_RATIOS] = { 2, 4, 10, 30, 100, 1000, 1e6 };

/* The first index whose size is not below `size`. */
static size_t place(const struct size_loss_evidence *evidence, int64_t size)
{
    size_t at = 0;

    while (at < evidence->count && evidence->sizes[at] < size)
        at++;
    return at;
}

bool size_loss_evidence_add(struct size_loss_evidence *evidence, int64_t size)
{
    size_t at = place(evidence, size);
    size_t behind = evidence->count - at;

    if (behind > 0 && evidence->sizes[at] == size)
        return true;
    if (evidence->count == SIZE_LOSS_SIZES)
        return false;
    memmove(&evidence->sizes[at + 1], &evidence->sizes[at], behind * sizeof evidence->sizes[0]);
    memmove(evidence->logs[at + 1], evidence->logs[at], behind * sizeof evidence->logs[0]);
    evidence->sizes[at] = size;
    if (at > 0)
        memcpy(evidence->logs[at], evidence->logs[at - 1], sizeof evidence->logs[0]);
    evidence->count++;
    return true;
}

/* n over k, exact as a double for all that is asked. */
static double choose(int n, int k)
{
    double result = 1;

    if (k < 0 || k > n)
        return 0;
    for (int i = 1; i <= k; i++)
        result = result * (n - k + i) / i;
    return result;
}

/* A block: `sent` datagrams, `lost` of them. */
struct block {
    int sent, lost;
};

/* ln of how much likelier it is under `ratio` than by an even chance that `lost_above` of the lost
 * ones are among the `above` that are above the threshold. */
static double log_ratio(struct block block, int above, int lost_above, double ratio)
{
    int rest = block.sent - above;
    int least = block.lost > rest ? block.lost - rest : 0;
    int most = block.lost < above ? block.lost : above;
    double term = choose(above, least) * choose(rest, block.lost - least) * pow(ratio, least);
    double all = 0;

    if (above == 0 || rest == 0)
        return 0;
    for (int i = least; i <= most; i++) {
        all += term;
        term *=
            ratio * (above - i) * (block.lost - i) / ((i + 1.0) * (rest - block.lost + i + 1.0));
    }
    return lost_above * log(ratio) - log(all / choose(block.sent, block.lost));
}

void size_loss_evidence_block(struct size_loss_evidence *evidence,
                              const struct size_loss_outcome *outcomes, size_t count)
{
    struct block block = { .sent = (int)count, .lost = 0 };
    int sent_at[SIZE_LOSS_SIZES] = { 0 };
    int lost_at[SIZE_LOSS_SIZES] = { 0 };
    double terms[SIZE_LOSS_RATIOS] = { 0 };
    int above = 0, lost_above = 0;

    assert(count <= SIZE_LOSS_BLOCK);
    for (size_t i = 0; i < count; i++) {
        size_t at = place(evidence, outcomes[i].size);

        assert(at < evidence->count && evidence->sizes[at] == outcomes[i].size);
        sent_at[at]++;
        lost_at[at] += outcomes[i].lost;
        block.lost += outcomes[i].lost;
    }
    if (block.lost == 0 || block.lost == block.sent)
        return;
    for (size_t i = evidence->count - 1; i > 0; i--) {
        above += sent_at[i];
        lost_above += lost_at[i];
        for (size_t r = 0; r < SIZE_LOSS_RATIOS; r++) {
            if (sent_at[i] > 0)
                terms[r] = log_ratio(block, above, lost_above, ratios[r]);
            evidence->logs[i - 1][r] += terms[r];
        }
    }
}

/* ln of a cell's share in the average, times the number of all thresholds. */
static double log_cell(const struct size_loss_evidence *evidence, size_t cell)
{
    const double *logs = evidence->logs[cell];
    double width = (double)(evidence->sizes[cell + 1] - evidence->sizes[cell]);
    double most = logs[0];
    double sum = 0;

    for (size_t r = 1; r < SIZE_LOSS_RATIOS; r++)
        most = fmax(most, logs[r]);
    for (size_t r = 0; r < SIZE_LOSS_RATIOS; r++)
        sum += exp(logs[r] - most);
    return most + log(sum / SIZE_LOSS_RATIOS * width);
}

double size_loss_evidence_total(const struct size_loss_evidence *evidence)
{
    double thresholds = (double)(evidence->sizes[evidence->count - 1] - evidence->sizes[0]);
    double most = -HUGE_VAL;
    double sum = 0;

    for (size_t i = 0; i + 1 < evidence->count; i++)
        most = fmax(most, log_cell(evidence, i));
    for (size_t i = 0; i + 1 < evidence->count; i++)
        sum += exp(log_cell(evidence, i) - most);
    return most + log(sum / thresholds);
}

size_t size_loss_evidence_cells(const struct size_loss_evidence *evidence,
                                double out_masses[SIZE_LOSS_SIZES])
{
    double thresholds = (double)(evidence->sizes[evidence->count - 1] - evidence->sizes[0]);
    double total = size_loss_evidence_total(evidence) + log(thresholds);

    for (size_t i = 0; i + 1 < evidence->count; i++)
        out_masses[i] = exp(log_cell(evidence, i) - total);
    return evidence->count - 1;
}

int64_t size_loss_evidence_quantile(const struct size_loss_evidence *evidence,
                                    const double masses[SIZE_LOSS_SIZES], double share)
{
    size_t cell = 0;
    double before = 0;
    double width, inside;

    while (cell + 2 < evidence->count && before + masses[cell] < share)
        before += masses[cell++];
    width = (double)(evidence->sizes[cell + 1] - evidence->sizes[cell]);
    inside = masses[cell] > 0 ? (share - before) / masses[cell] * width : 0;
    return evidence->sizes[cell] + (int64_t)fmin(fmax(inside, 0), width - 1);
}
