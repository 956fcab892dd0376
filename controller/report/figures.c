/* Owns how figures are laid out: panels, their places, the legend. The panel itself is drawn by
 * figure_panel.c. Reads runs only. */
#include "controller/report/figures.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/report/chart.h"
#include "controller/report/figure_panel.h"

enum {
    MARGIN = 24,
    GAP = 32,
    HEAD_HEIGHT = 68,
    LEGEND_LINE = 24,
    PAGE_WIDTH = 1000, /* panels stand beside each other while they fit into it */
    SWATCH = 16,
    SVG_CAP = 64 << 20
};

static const char title[] = "Lost echoes, payload by window";

struct legend_entry {
    const char *class;
    const char *words;
};

static const struct legend_entry legend[] = {
    { "pass", "\xe2\x9c\x93 pass: nothing lost, refused, late or corrupt" },
    { "loss1", "\xe2\x9c\x97 fail: up to 25 % of what was in flight lost" },
    { "loss2", "\xe2\x9c\x97 up to 50 %" },
    { "loss3", "\xe2\x9c\x97 up to 75 %" },
    { "loss4", "\xe2\x9c\x97 more" },
    { "error", "! error: not measured" },
    { "none", "\xe2\x80\x93 not reached" },
};
enum { LEGEND_COUNT = sizeof legend / sizeof legend[0] };

struct layout {
    struct panel *panels;
    size_t count;
    int columns;
    int panel_width; /* all alike, so that panels compare */
    int width, height;
};

static size_t count_panels(const struct run *const *runs, size_t count)
{
    size_t panels = 0;

    for (size_t i = 0; i < count; i++)
        panels += runs[i]->plan.engines.count;
    return panels;
}

static void make_panels(const struct run *const *runs, size_t count, struct layout *layout)
{
    layout->count = count_panels(runs, count);
    layout->panels = calloc(layout->count + 1, sizeof *layout->panels);
    if (layout->panels == NULL)
        abort();
    for (size_t i = 0, at = 0; i < count; i++) {
        for (size_t engine = 0; engine < runs[i]->plan.engines.count; engine++) {
            struct panel *panel = &layout->panels[at++];

            panel_init(panel, runs[i], engine);
            if (panel->width > layout->panel_width)
                layout->panel_width = panel->width;
        }
    }
}

/* Draws the legend, or with `out` NULL measures it; returns its height. */
static int draw_legend(struct buf *out, int x, int y, int width)
{
    int at = x, line = y;

    for (size_t i = 0; i < LEGEND_COUNT; i++) {
        int needs = SWATCH + 6 + chart_text_width(legend[i].words, 12) + 18;

        if (at > x && at + needs > x + width) {
            at = x;
            line += LEGEND_LINE;
        }
        if (out != NULL) {
            chart_rect(out, (struct chart_box){ at, line, SWATCH, SWATCH }, legend[i].class);
            chart_text(out, at + SWATCH + 6, line + 12, "muted", legend[i].words);
        }
        at += needs;
    }
    return line - y + LEGEND_LINE;
}

/* Places the panels row by row; the height of a row is that of its tallest. */
static void place_panels(struct layout *layout)
{
    int y = MARGIN + HEAD_HEIGHT;
    int fit = (PAGE_WIDTH - 2 * MARGIN + GAP) / (layout->panel_width + GAP);

    layout->columns = fit < 1 ? 1 : (size_t)fit > layout->count ? (int)layout->count : fit;
    layout->width =
        2 * MARGIN + layout->columns * layout->panel_width + (layout->columns - 1) * GAP;
    for (size_t first = 0; first < layout->count; first += (size_t)layout->columns) {
        int tallest = 0;

        for (size_t i = first; i < layout->count && i < first + (size_t)layout->columns; i++) {
            struct panel *panel = &layout->panels[i];

            panel->x = MARGIN + (int)(i - first) * (layout->panel_width + GAP);
            panel->y = y;
            tallest = panel->height > tallest ? panel->height : tallest;
        }
        y += tallest + GAP;
    }
    layout->height =
        y - GAP + 20 + draw_legend(NULL, MARGIN, 0, layout->width - 2 * MARGIN) + MARGIN / 2;
}

static void draw_head(struct buf *out, const struct layout *layout)
{
    int room = layout->width - 2 * MARGIN;
    char line[CHART_LINE_SIZE];

    chart_shorten(title, 18, room, line);
    chart_text(out, MARGIN, MARGIN + 16, "head", line);
    chart_shorten("Measured phase; \xc3\x97N: N repeats, otherwise each repeat's number", 12, room,
                  line);
    chart_text(out, MARGIN, MARGIN + 38, "muted", line);
}

static void describe(const struct layout *layout, struct buf *out)
{
    for (size_t i = 0; i < layout->count; i++)
        panel_describe(&layout->panels[i], out);
}

enum status figure_loss_grid(const struct run *const *runs, size_t count, struct buf *out_svg)
{
    struct layout layout = { 0 };
    struct buf svg, desc;
    enum status status;

    assert(count > 0);
    buf_init(&svg, SVG_CAP);
    buf_init(&desc, SVG_CAP / 4);
    make_panels(runs, count, &layout);
    place_panels(&layout);
    describe(&layout, &desc);
    chart_begin(&svg, layout.width, layout.height, title, buf_peek(&desc));
    draw_head(&svg, &layout);
    for (size_t i = 0; i < layout.count; i++)
        panel_draw(&layout.panels[i], layout.panel_width, &svg);
    draw_legend(&svg, MARGIN,
                layout.height - MARGIN / 2 -
                    draw_legend(NULL, MARGIN, 0, layout.width - 2 * MARGIN),
                layout.width - 2 * MARGIN);
    chart_end(&svg);
    status = buf_status(&svg);
    if (status == STATUS_OK) {
        buf_append(out_svg, svg.data, svg.length);
        status = buf_status(out_svg);
    }
    for (size_t i = 0; i < layout.count; i++)
        panel_done(&layout.panels[i]);
    free(layout.panels);
    buf_done(&desc);
    buf_done(&svg);
    return status;
}
