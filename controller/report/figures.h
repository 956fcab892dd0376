/* Figures of runs as SVG: pure, from archives only. */
#ifndef SONDE_REPORT_FIGURES_H
#define SONDE_REPORT_FIGURES_H

#include <stdbool.h>

#include "proto/base/buf.h"
#include "proto/wire/run.h"

/* One SVG with a panel per run (and per engine in it): the grid of lost echoes, payload x window,
 * each cell with its repeats and pass or fail. Readable on light and dark pages, with text
 * alternatives; whatever came from the runs is escaped. */
enum status figure_loss_grid(const struct run *const *runs, size_t count,
                             struct buf *out_svg) must_check;

/* One SVG of buffer experiments, a part for each run: held against buffer and by payload, measured
 * and predicted; loss against pace with the model's value; the queue filling and dropping over time
 * with its events. In the same manner. */
enum status figure_buffers(const struct run *const *runs, size_t count,
                           struct buf *out_svg) must_check;

/* One SVG of path MTU runs, a part for each run: what each family carries in each direction beside
 * the interface's MTU, and loss by size with its intervals and the threshold where it was measured.
 * In the same manner. */
enum status figure_mtu(const struct run *const *runs, size_t count, struct buf *out_svg) must_check;

/* Whichever fits runs that can stand in one figure. */
enum status figure_runs(const struct run *const *runs, size_t count,
                        struct buf *out_svg) must_check;

/* False for kinds that do not stand in one figure. */
bool figure_combines(enum run_kind a, enum run_kind b);

/* What an archive calls the figure of this kind: "loss.svg", ... */
const char *figure_file_name(enum run_kind kind);

#endif
