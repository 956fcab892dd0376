/* Owns the page on which runs stand below one another, and which figure a kind of run has. What a
 * run shows is drawn by its kind's figure. */
#include <assert.h>

#include "controller/report/figure_parts.h"
#include "controller/report/figures.h"

enum { HEAD = 40, RUN_GAP = 20, SVG_CAP = 64 << 20 };

enum status figure_page_draw(const struct figure_page *page, const struct run *const *runs,
                             size_t count, struct buf *out_svg)
{
    struct buf body, svg, desc;
    int y = PAGE_MARGIN + HEAD;
    enum status status;

    assert(count > 0);
    buf_init(&body, SVG_CAP);
    buf_init(&svg, SVG_CAP);
    buf_init(&desc, SVG_CAP / 4);
    for (size_t i = 0; i < count; i++) {
        page->describe(runs[i], &desc);
        y += page->draw(runs[i], y, &body) + RUN_GAP;
    }
    /* The page's height is known when all is drawn, and stands in its first line. */
    chart_begin(&svg, PAGE_WIDTH, y, page->title, buf_peek(&desc));
    chart_text(&svg, PAGE_MARGIN, PAGE_MARGIN + 16, "head", page->title);
    buf_append(&svg, buf_peek(&body), body.length);
    chart_end(&svg);
    status = buf_status(&body) == STATUS_OK ? buf_status(&svg) : buf_status(&body);
    if (status == STATUS_OK) {
        buf_append(out_svg, svg.data, svg.length);
        status = buf_status(out_svg);
    }
    buf_done(&desc);
    buf_done(&svg);
    buf_done(&body);
    return status;
}

enum figure { FIGURE_GRID, FIGURE_BUFFERS, FIGURE_MTU };

static enum figure figure_of(enum run_kind kind)
{
    switch (kind) {
    case RUN_BUFFERS:
        return FIGURE_BUFFERS;
    case RUN_MTU:
        return FIGURE_MTU;
    case RUN_LOOPBACK:
    case RUN_PAIR:
    case RUN_KIND_COUNT:
        break;
    }
    return FIGURE_GRID;
}

enum status figure_runs(const struct run *const *runs, size_t count, struct buf *out_svg)
{
    switch (figure_of(runs[0]->kind)) {
    case FIGURE_BUFFERS:
        return figure_buffers(runs, count, out_svg);
    case FIGURE_MTU:
        return figure_mtu(runs, count, out_svg);
    case FIGURE_GRID:
        break;
    }
    return figure_loss_grid(runs, count, out_svg);
}

bool figure_combines(enum run_kind a, enum run_kind b)
{
    return figure_of(a) == figure_of(b);
}

const char *figure_file_name(enum run_kind kind)
{
    static const char *const names[] = { "loss.svg", "buffers.svg", "mtu.svg" };

    return names[figure_of(kind)];
}
