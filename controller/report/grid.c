/* Owns the grid: where a case stands in payload x window, and what its repeats say together. Knows
 * no text form but numbers'. */
#include "controller/report/grid.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void grid_init(struct grid *grid, const struct run *run)
{
    const struct case_result *cases = run->cases.items;

    grid->plan = &run->plan;
    grid->count = plan_case_count(&run->plan);
    grid->slot = calloc(grid->count + 1, sizeof *grid->slot);
    if (grid->slot == NULL)
        abort();
    for (size_t i = 0; i < run->cases.count; i++) {
        assert(cases[i].index >= 0 && (uint64_t)cases[i].index < grid->count);
        grid->slot[cases[i].index] = &cases[i];
    }
}

void grid_done(struct grid *grid)
{
    free(grid->slot);
    *grid = (struct grid){ 0 };
}

const struct case_result *grid_case(const struct grid *grid, struct cell_at at, size_t repeat)
{
    const struct plan *plan = grid->plan;
    /* The order of plan_case: engines outermost, then repeats, payloads, windows. */
    size_t row = at.engine * (size_t)plan->repeats + repeat;

    return grid->slot[(row * plan->payloads.count + at.payload) * plan->windows.count + at.window];
}

bool grid_has(const struct grid *grid, struct cell_at at)
{
    return at.engine < grid->plan->engines.count;
}

struct cell_at grid_next(const struct grid *grid, struct cell_at at)
{
    if (++at.window < grid->plan->windows.count)
        return at;
    at.window = 0;
    if (++at.payload < grid->plan->payloads.count)
        return at;
    at.payload = 0;
    at.engine++;
    return at;
}

int64_t grid_payload(const struct grid *grid, size_t payload)
{
    return ((const int64_t *)grid->plan->payloads.items)[payload];
}

int64_t grid_window(const struct grid *grid, size_t window)
{
    return ((const int64_t *)grid->plan->windows.items)[window];
}

enum engine_kind grid_engine(const struct grid *grid, size_t engine)
{
    return (enum engine_kind)((const int *)grid->plan->engines.items)[engine];
}

/* Why a measure phase failed, the gravest first. */
static const char *reason_of(const struct phase *phase)
{
    if (phase->lost_echoes > 0)
        return "lost";
    if (leg_refused(&phase->forward) > 0 || leg_refused(&phase->reverse) > 0)
        return "refused";
    if (phase->forward.corrupt > 0 || phase->reverse.corrupt > 0)
        return "corrupt";
    return "late";
}

static void cell_add(struct cell *cell, const struct case_result *result)
{
    int64_t lost;

    if (result->status == CASE_ERROR) {
        cell->errors++;
        return;
    }
    lost = result->phases.measure.lost_echoes;
    if (cell->passed + cell->failed == 0) {
        cell->lost_min = cell->lost_max = lost;
        cell->first = result;
    } else if (lost < cell->lost_min || lost > cell->lost_max ||
               result->status != cell->first->status) {
        cell->alike = false;
    }
    cell->lost_min = lost < cell->lost_min ? lost : cell->lost_min;
    cell->lost_max = lost > cell->lost_max ? lost : cell->lost_max;
    if (result->status == CASE_PASS) {
        cell->passed++;
        return;
    }
    if (cell->failed++ == 0) {
        cell->first = result;
        cell->reason = reason_of(&result->phases.measure);
    }
}

struct cell grid_cell(const struct grid *grid, struct cell_at at)
{
    struct cell cell = { .repeats = (size_t)grid->plan->repeats, .alike = true };

    for (size_t repeat = 0; repeat < cell.repeats; repeat++) {
        const struct case_result *result = grid_case(grid, at, repeat);

        if (result != NULL)
            cell_add(&cell, result);
    }
    return cell;
}

int64_t count_add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t count_multiply(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static void add_to(int64_t *total, int64_t value)
{
    *total = count_add(*total, value);
}

void leg_add(struct leg *total, const struct leg *leg)
{
    add_to(&total->attempted, leg->attempted);
    add_to(&total->refused.eagain, leg->refused.eagain);
    add_to(&total->refused.enobufs, leg->refused.enobufs);
    add_to(&total->refused.emsgsize, leg->refused.emsgsize);
    add_to(&total->refused.eperm, leg->refused.eperm);
    add_to(&total->refused.econnrefused, leg->refused.econnrefused);
    add_to(&total->refused.other, leg->refused.other);
    add_to(&total->sent, leg->sent);
    add_to(&total->received, leg->received);
    add_to(&total->late, leg->late);
    add_to(&total->lost, leg->lost);
    add_to(&total->lost_to.receive_buffer, leg->lost_to.receive_buffer);
    add_to(&total->lost_to.sender_host, leg->lost_to.sender_host);
    add_to(&total->lost_to.receiver_host, leg->lost_to.receiver_host);
    add_to(&total->lost_to.network, leg->lost_to.network);
    add_to(&total->lost_to.unattributed, leg->lost_to.unattributed);
    add_to(&total->duplicates, leg->duplicates);
    add_to(&total->reordered, leg->reordered);
    add_to(&total->corrupt, leg->corrupt);
    add_to(&total->foreign, leg->foreign);
    if (leg->evidence == EVIDENCE_SYSTEM_WIDE)
        total->evidence = EVIDENCE_SYSTEM_WIDE;
}

enum counter buffer_full_counter(const struct run *run)
{
    const struct host *host = run->hosts.items;
    bool own = host->counters.delta.value[UDP6_RECEIVE_BUFFER_FULL] != NONE_INT;

    return run->plan.common.family == FAMILY_IPV6 && own ? UDP6_RECEIVE_BUFFER_FULL
                                                         : UDP_RECEIVE_BUFFER_FULL;
}

int64_t leg_refused(const struct leg *leg)
{
    return leg->attempted - leg->sent;
}

struct quantity grouped(int64_t value)
{
    struct quantity quantity;

    text_grouped(value, quantity.text);
    return quantity;
}

struct quantity sized(int64_t bytes)
{
    struct quantity quantity;

    text_bytes(bytes, quantity.text);
    return quantity;
}

struct quantity lasting(int64_t ns)
{
    struct quantity quantity;

    text_duration(ns, quantity.text);
    return quantity;
}

struct quantity seconds_text(double seconds)
{
    struct quantity quantity;

    snprintf(quantity.text, sizeof quantity.text, "%.6g", seconds);
    return quantity;
}
