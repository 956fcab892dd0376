/* Figures of runs as SVG: pure, from archives only. */
#ifndef SONDE_REPORT_FIGURES_H
#define SONDE_REPORT_FIGURES_H

#include "proto/base/buf.h"
#include "proto/wire/run.h"

/* One SVG with a panel per run (and per engine in it): the grid of lost echoes, payload x window,
 * each cell with its repeats and pass or fail. Readable on light and dark pages, with text
 * alternatives; whatever came from the runs is escaped. */
enum status figure_loss_grid(const struct run *const *runs, size_t count,
                             struct buf *out_svg) must_check;

#endif
