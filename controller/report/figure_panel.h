/* One panel of the loss grid: a run and an engine of it. Private to figures.c. */
#ifndef SONDE_REPORT_FIGURE_PANEL_H
#define SONDE_REPORT_FIGURE_PANEL_H

#include "controller/report/grid.h"
#include "proto/base/buf.h"

struct panel {
    const struct run *run; /* borrowed */
    size_t engine;         /* position in the plan's list */
    struct grid grid;
    int x, y, width, height;
};

/* Measures the panel; panel_done frees what it holds. */
void panel_init(struct panel *panel, const struct run *run, size_t engine);
void panel_done(struct panel *panel);

/* One sentence for the figure's description. */
void panel_describe(const struct panel *panel, struct buf *out);

/* Draws it at its x and y; `width` is the room it has. */
void panel_draw(const struct panel *panel, int width, struct buf *out);

#endif
