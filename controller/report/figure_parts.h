/* A figure whose runs stand below one another, and the parts of one of buffer experiments or path
 * MTUs, one file each. Private to figure_*.c.
 *
 * Each part says how high it is at a width (0: the run has nothing for it), draws itself at a
 * place, and says in words what it shows. They trust runs that validate_run accepts. */
#ifndef SONDE_REPORT_FIGURE_PARTS_H
#define SONDE_REPORT_FIGURE_PARTS_H

#include "controller/report/figures.h"
#include "controller/report/plot.h"
#include "proto/wire/run.h"

enum {
    PAGE_MARGIN = 24,
    PAGE_WIDTH = 1000,
    PAGE_ROOM = PAGE_WIDTH - 2 * PAGE_MARGIN,
    PART_HEAD = 40 /* title and legend above a part's frame */
};

/* How runs of a kind are drawn. */
struct figure_page {
    const char *title;
    int (*draw)(const struct run *run, int top, struct buf *out); /* returns its height */
    void (*describe)(const struct run *run, struct buf *out);     /* in words */
};
enum status figure_page_draw(const struct figure_page *page, const struct run *const *runs,
                             size_t count, struct buf *out_svg) must_check;

/* Held against buffer (EXPERIMENT_SWEEP) and held by payload (EXPERIMENT_HOLD). */
int held_height(const struct run *run, enum experiment experiment);
void held_draw(const struct run *run, enum experiment experiment, struct chart_box box,
               struct buf *out);
void held_describe(const struct run *run, enum experiment experiment, struct buf *out);

/* Loss against pace. */
int loss_height(const struct run *run);
void loss_draw(const struct run *run, struct chart_box box, struct buf *out);
void loss_describe(const struct run *run, struct buf *out);

/* The queue filling and dropping: small panels of the most telling cases. */
int queues_height(const struct run *run);
void queues_draw(const struct run *run, struct chart_box box, struct buf *out);
void queues_describe(const struct run *run, struct buf *out);

/* Loss by size: a panel for each direction in which it was measured. */
int sizes_height(const struct run *run);
void sizes_draw(const struct run *run, struct chart_box box, struct buf *out);
void sizes_describe(const struct run *run, struct buf *out);

/* Walks the measured cases of one experiment: starts with NULL, NULL at the end. */
const struct experiment_result *figure_next(const struct run *run, enum experiment experiment,
                                            const struct experiment_result *last);

/* "reader 300 us, one per 102 us, 208 KiB": a slow reader's case, with its real pace. */
void figure_pace(const struct slow_reader_result *slow, char out_text[CHART_LINE_SIZE]);

#endif
