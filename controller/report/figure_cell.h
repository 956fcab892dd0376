/* One cell of the loss grid. Private to figure_panel.c. */
#ifndef SONDE_REPORT_FIGURE_CELL_H
#define SONDE_REPORT_FIGURE_CELL_H

#include "controller/report/chart.h"
#include "controller/report/grid.h"

enum { CELL_WIDTH = 112, CELL_HEIGHT = 48 };

void cell_draw(const struct grid *grid, struct cell_at at, struct chart_box box, struct buf *out);

#endif
