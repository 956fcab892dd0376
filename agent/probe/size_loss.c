/* Owns the plan of blocks, the counts, and when there is enough. Must not know likelihoods
 * (size_loss_evidence), sockets or times.
 */
#include "agent/probe/size_loss.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "agent/probe/lots.h"
#include "agent/probe/size_loss_evidence.h"
#include "proto/base/memory.h"
#include "proto/wire/limits.h"

enum { GRID_REST = SIZE_LOSS_BLOCK - SIZE_LOSS_GRID, FATE_OPEN = 0 };

#define SUSPICION 1.0 /* ln of the evidence from which on the edge is looked for */
#define WILSON_Z  1.959964

/* A cell that has less of the posterior is not divided further. */
#define WORTH_DIVIDING 0.125

struct block {
    int open; /* datagrams without an answer */
    int64_t sizes[SIZE_LOSS_BLOCK];
    int fates[SIZE_LOSS_BLOCK]; /* FATE_OPEN, or 1 + enum size_loss_fate */
};

struct size_loss {
    struct size_loss_config config;
    uint64_t lots;
    int64_t grid[SIZE_LOSS_GRID];
    struct size_loss_evidence evidence;
    double best; /* the largest total so far */
    bool enough;
    uint32_t next;      /* id */
    uint32_t committed; /* blocks that the evidence has */
    struct block blocks[SIZE_LOSS_OPEN];
    size_t count;
    struct size_loss_count counts[SIZE_LOSS_SIZES]; /* by size */
};

/* --- the plan ----------------------------------------------------------------------------- */

/* The next possible size upwards, if this one is not. */
static int64_t possible(const struct size_loss_config *config, int64_t size)
{
    return size >= config->gap_first && size <= config->gap_last ? config->gap_last + 1 : size;
}

static void fill_grid(struct size_loss *loss)
{
    const struct size_loss_config *config = &loss->config;
    int64_t range = config->ceiling - config->floor;

    for (int i = 0; i < SIZE_LOSS_GRID; i++) {
        loss->grid[i] = possible(config, config->floor + range * i / (SIZE_LOSS_GRID - 1));
        size_loss_evidence_add(&loss->evidence, loss->grid[i]);
    }
}

/* A size that tells the thresholds around this quantile of the posterior apart: the middle of its
 * cell, when the cell is likely enough to be divided, else one of the cell's ends. */
static int64_t size_near(struct size_loss *loss, const double *masses, double share)
{
    struct size_loss_evidence *evidence = &loss->evidence;
    int64_t threshold = size_loss_evidence_quantile(evidence, masses, share);
    size_t cell = 0;
    int64_t low, high, middle;

    while (cell + 2 < evidence->count && evidence->sizes[cell + 1] <= threshold)
        cell++;
    low = evidence->sizes[cell];
    high = evidence->sizes[cell + 1];
    middle = possible(&loss->config, low + (high - low) / 2);
    if (masses[cell] >= WORTH_DIVIDING && middle > low && middle < high &&
        size_loss_evidence_add(evidence, middle))
        return middle;
    return threshold - low < high - 1 - threshold ? low : high;
}

static void choose_rest(struct size_loss *loss, int64_t *rest)
{
    double masses[SIZE_LOSS_SIZES] = { 0 };
    size_t cells = 0;

    for (int i = 0; i < GRID_REST; i++) {
        if (loss->best < SUSPICION) {
            rest[i] =
                i % 2 ? loss->config.ceiling : loss->grid[lots_draw(&loss->lots, SIZE_LOSS_GRID)];
            continue;
        }
        if (cells + 1 != loss->evidence.count) /* a cell was divided */
            cells = size_loss_evidence_cells(&loss->evidence, masses);
        rest[i] = size_near(loss, masses, (i + 0.5) / GRID_REST);
    }
}

static void plan_block(struct size_loss *loss, struct block *block)
{
    for (int i = 0; i < SIZE_LOSS_GRID; i++)
        block->sizes[i] = loss->grid[i];
    choose_rest(loss, block->sizes + SIZE_LOSS_GRID);
    for (size_t left = SIZE_LOSS_BLOCK; left > 1; left--) {
        size_t other = (size_t)lots_draw(&loss->lots, left);
        int64_t size = block->sizes[other];

        block->sizes[other] = block->sizes[left - 1];
        block->sizes[left - 1] = size;
    }
    for (int i = 0; i < SIZE_LOSS_BLOCK; i++)
        block->fates[i] = FATE_OPEN;
    block->open = SIZE_LOSS_BLOCK;
}

/* --- counting ----------------------------------------------------------------------------- */

static bool is_of_grid(const struct size_loss *loss, int64_t size)
{
    for (int i = 0; i < SIZE_LOSS_GRID; i++)
        if (loss->grid[i] == size)
            return true;
    return false;
}

static struct size_loss_count *count_of(struct size_loss *loss, int64_t size)
{
    size_t at = 0;

    while (at < loss->count && loss->counts[at].size < size)
        at++;
    if (at < loss->count && loss->counts[at].size == size)
        return &loss->counts[at];
    assert(loss->count < SIZE_LOSS_SIZES);
    for (size_t i = loss->count++; i > at; i--)
        loss->counts[i] = loss->counts[i - 1];
    loss->counts[at] = (struct size_loss_count){ .size = size, .grid = is_of_grid(loss, size) };
    return &loss->counts[at];
}

static bool is_found(const struct size_loss *loss)
{
    return loss->best >= -log(SIZE_LOSS_CHANCE);
}

static bool is_sure(const struct size_loss *loss)
{
    double masses[SIZE_LOSS_SIZES];
    int64_t least, most;

    size_loss_evidence_cells(&loss->evidence, masses);
    least = size_loss_evidence_quantile(&loss->evidence, masses, SIZE_LOSS_DOUBT / 2);
    most = size_loss_evidence_quantile(&loss->evidence, masses, 1 - SIZE_LOSS_DOUBT / 2);
    return most - least <= SIZE_LOSS_WIDTH;
}

static void judge(struct size_loss *loss)
{
    loss->best = fmax(loss->best, size_loss_evidence_total(&loss->evidence));
    loss->enough = is_found(loss) && is_sure(loss);
}

/* Blocks count in the order in which they were planned: what the test's chance rests on. */
static void commit(struct size_loss *loss)
{
    struct size_loss_outcome outcomes[SIZE_LOSS_BLOCK];
    uint32_t planned = (loss->next + SIZE_LOSS_BLOCK - 1) / SIZE_LOSS_BLOCK;

    for (; loss->committed != planned; loss->committed++) {
        const struct block *block = &loss->blocks[loss->committed % SIZE_LOSS_OPEN];
        size_t count = 0;

        if (block->open > 0)
            return;
        for (int i = 0; i < SIZE_LOSS_BLOCK; i++) {
            if (block->fates[i] == 1 + SIZE_LOSS_UNSENT)
                continue;
            outcomes[count].size = block->sizes[i];
            outcomes[count++].lost = block->fates[i] == 1 + SIZE_LOSS_LOST;
        }
        size_loss_evidence_block(&loss->evidence, outcomes, count);
        judge(loss);
    }
}

/* --- the public part ---------------------------------------------------------------------- */

enum status size_loss_check(const struct size_loss_config *config, struct fault *fault)
{
    if (config->floor < 1 || config->floor >= config->ceiling || config->ceiling > LIMIT_MTU)
        return fault_set(fault, STATUS_RANGE,
                         "sizes from %lld to %lld are not allowed: at least two, within 1 to %d",
                         (long long)config->floor, (long long)config->ceiling, LIMIT_MTU);
    if (config->gap_last >= config->gap_first && config->gap_last >= config->ceiling)
        return fault_set(fault, STATUS_RANGE, "the ceiling must be a size that exists, above %lld",
                         (long long)config->gap_last);
    if (config->budget < SIZE_LOSS_BLOCK || config->budget > SIZE_LOSS_BUDGET_MAX)
        return fault_set(fault, STATUS_RANGE, "%lld datagrams are not allowed: %d to %d",
                         (long long)config->budget, SIZE_LOSS_BLOCK, SIZE_LOSS_BUDGET_MAX);
    return STATUS_OK;
}

struct size_loss *size_loss_new(const struct size_loss_config *config)
{
    struct size_loss *loss = memory_new(1, sizeof *loss);

    assert(size_loss_check(config, NULL) == STATUS_OK);
    loss->config = *config;
    loss->config.floor = possible(config, config->floor);
    loss->lots = config->seed;
    fill_grid(loss);
    return loss;
}

void size_loss_free(struct size_loss *loss)
{
    free(loss);
}

enum status size_loss_next(struct size_loss *loss, struct size_loss_ask *out_ask)
{
    uint32_t number = loss->next / SIZE_LOSS_BLOCK;
    uint32_t at = loss->next % SIZE_LOSS_BLOCK;
    struct block *block = &loss->blocks[number % SIZE_LOSS_OPEN];

    if (at == 0) {
        if (loss->enough || loss->next >= loss->config.budget)
            return STATUS_NOT_FOUND;
        if (number - loss->committed == SIZE_LOSS_OPEN)
            return STATUS_AGAIN;
        plan_block(loss, block);
    }
    *out_ask = (struct size_loss_ask){ .id = loss->next++, .size = block->sizes[at] };
    return STATUS_OK;
}

bool size_loss_settle(struct size_loss *loss, uint32_t id, enum size_loss_fate fate)
{
    uint32_t number = id / SIZE_LOSS_BLOCK;
    uint32_t at = id % SIZE_LOSS_BLOCK;
    struct block *block = &loss->blocks[number % SIZE_LOSS_OPEN];
    struct size_loss_count *count;

    if (id >= loss->next || number < loss->committed || block->fates[at] != FATE_OPEN)
        return false;
    block->fates[at] = 1 + (int)fate;
    block->open--;
    if (fate != SIZE_LOSS_UNSENT) {
        count = count_of(loss, block->sizes[at]);
        count->sent++;
        count->lost += fate == SIZE_LOSS_LOST;
    }
    commit(loss);
    return true;
}

void size_loss_interval(int64_t lost, int64_t sent, double z, double *out_low, double *out_high)
{
    double n = (double)sent;
    double share = sent > 0 ? (double)lost / n : 0;
    double centre, reach;

    if (sent <= 0) {
        *out_low = 0;
        *out_high = 1;
        return;
    }
    centre = (share + z * z / (2 * n)) / (1 + z * z / n);
    reach = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    *out_low = lost == 0 ? 0 : fmax(0, centre - reach);
    *out_high = lost == sent ? 1 : fmin(1, centre + reach);
}

bool size_loss_size(const struct size_loss *loss, size_t index, struct size_loss_count *out_count)
{
    if (index >= loss->count)
        return false;
    *out_count = loss->counts[index];
    size_loss_interval(out_count->lost, out_count->sent, WILSON_Z, &out_count->low,
                       &out_count->high);
    return true;
}

/* The counts of the sizes from .. to together. */
static struct size_loss_count together(const struct size_loss *loss, int64_t from, int64_t to)
{
    struct size_loss_count sum = { .sent = 0 };

    for (size_t i = 0; i < loss->count; i++) {
        if (loss->counts[i].size < from || loss->counts[i].size > to)
            continue;
        sum.sent += loss->counts[i].sent;
        sum.lost += loss->counts[i].lost;
    }
    size_loss_interval(sum.lost, sum.sent, WILSON_Z, &sum.low, &sum.high);
    return sum;
}

void size_loss_decide(const struct size_loss *loss, struct size_loss_verdict *out_verdict)
{
    double masses[SIZE_LOSS_SIZES];
    struct size_loss_verdict verdict = {
        .found = is_found(loss),
        .evidence = loss->best,
    };

    size_loss_evidence_cells(&loss->evidence, masses);
    verdict.threshold = size_loss_evidence_quantile(&loss->evidence, masses, 0.5);
    verdict.least = size_loss_evidence_quantile(&loss->evidence, masses, 0.005);
    verdict.most = size_loss_evidence_quantile(&loss->evidence, masses, 0.995);
    verdict.below = together(loss, 0, verdict.found ? verdict.threshold : LIMIT_MTU);
    verdict.above =
        together(loss, verdict.found ? verdict.threshold + 1 : LIMIT_MTU + 1, LIMIT_MTU);
    *out_verdict = verdict;
}
