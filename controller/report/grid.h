/* A run as the grid that people read: payload x window, the repeats of each cell together. Pure.
 *
 * It trusts a run that validate_run accepts, so that index and parameters agree.
 */
#ifndef SONDE_REPORT_GRID_H
#define SONDE_REPORT_GRID_H

#include <stdbool.h>

#include "proto/base/text.h"
#include "proto/wire/run.h"

struct grid {
    const struct plan *plan;         /* borrowed, as the cases are */
    const struct case_result **slot; /* by index in the plan; NULL: not measured */
    size_t count;
};

/* Aborts when memory is out; grid_done frees it. */
void grid_init(struct grid *grid, const struct run *run);
void grid_done(struct grid *grid);

/* One cell: positions in the plan's lists. */
struct cell_at {
    size_t engine, payload, window;
};

/* Repeat `repeat` (from 0) of a cell, NULL when it was not measured. */
const struct case_result *grid_case(const struct grid *grid, struct cell_at at, size_t repeat);

/* Walks all cells: engines outermost, then payloads, then windows. Starts at { 0 }; false at the
 * end. */
bool grid_has(const struct grid *grid, struct cell_at at);
struct cell_at grid_next(const struct grid *grid, struct cell_at at);

int64_t grid_payload(const struct grid *grid, size_t payload);
int64_t grid_window(const struct grid *grid, size_t window);
enum engine_kind grid_engine(const struct grid *grid, size_t engine);

/* The repeats of a cell together. */
struct cell {
    size_t repeats; /* as planned */
    size_t passed, failed, errors;
    int64_t lost_min, lost_max;      /* lost echoes of the measure phase; 0 without a count */
    bool alike;                      /* every counted repeat says the same */
    const struct case_result *first; /* a repeat that failed, else any that was counted, or NULL */
    const char *reason;              /* one word for why it failed: "lost", "refused", "corrupt",
                                        "late"; NULL when nothing failed */
};

struct cell grid_cell(const struct grid *grid, struct cell_at at);

/* a + b, at most INT64_MAX: archives may hold any count. */
int64_t count_add(int64_t a, int64_t b);

/* a * b, the same way. */
int64_t count_multiply(int64_t a, int64_t b);

/* Adds up a leg's counts; evidence becomes system-wide when any part is. */
void leg_add(struct leg *total, const struct leg *leg);

/* The counter of full receive buffers that this run's traffic is in: IPv6 has one of its own, but
 * not on every system. */
enum counter buffer_full_counter(const struct run *run);

/* Datagrams that the sending kernel did not take, of a leg that adds up. */
int64_t leg_refused(const struct leg *leg);

/* 1,234,567 and 4 MiB as values that live to the end of the expression they stand in. */
struct quantity {
    char text[TEXT_QUANTITY_SIZE];
};
struct quantity grouped(int64_t value);
struct quantity sized(int64_t bytes);
struct quantity lasting(int64_t ns);

/* A real number of seconds without needless zeros: "1", "0.25". */
struct quantity seconds_text(double seconds);

#endif
