/* Owns the charts of loss by size: points with their intervals, the threshold and its bounds. */
#include <math.h>
#include <stdio.h>

#include "controller/report/figure_parts.h"
#include "controller/report/grid.h"
#include "controller/report/ways.h"

enum {
    COLUMNS = 2,
    GAP = 28,
    PANEL_HEAD = 58,
    FRAME_HEIGHT = 200,
    FRAME_LEFT = 62,
    FRAME_FOOT = 40,
    PANEL_HEIGHT = PANEL_HEAD + FRAME_HEIGHT + FRAME_FOOT,
    TITLE = 40,
    DOT = 3,
    CAP = 3,        /* of a whisker, to each side */
    POINT_ROOM = 8, /* pixels between points; nearer sizes are one point */
    SHARE = 100     /* and so are those with less than a hundredth of the datagrams */
};

#define Z_95 1.959963984540054

/* Neighbouring sizes together. */
struct point {
    int64_t first, last; /* IP packets */
    int64_t sent, lost;
    double middle;    /* by datagrams */
    double low, high; /* Wilson's 95 % interval of the loss */
};

struct points {
    struct point items[MTU_SIZES_MAX];
    size_t count;
    double highest;
};

static int64_t headers_of(const struct mtu_case *of)
{
    return of->flow.path_mtu - of->udp_payload;
}

/* Wilson's score interval (1927). */
static void point_close(struct point *point)
{
    double n = (double)point->sent, p = (double)point->lost / n, z2 = Z_95 * Z_95;
    double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    double spread = Z_95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);

    point->low = fmax(0, middle - spread);
    point->high = fmin(1, middle + spread);
}

static void point_add(struct point *point, int64_t size, const struct mtu_size *counts)
{
    if (point->sent == 0)
        point->first = size;
    point->last = size;
    point->middle = (point->middle * (double)point->sent + (double)size * (double)counts->sent) /
                    (double)(point->sent + counts->sent);
    point->sent += counts->sent; /* sums of these have been checked */
    point->lost += counts->lost;
}

/* May these sizes be one point? Never across the threshold. */
static bool joins(const struct mtu_case *of, const struct point *point, int64_t size,
                  double per_pixel)
{
    const struct mtu_size_effect *effect = &of->flow.size_effect;

    if (point->sent == 0)
        return true;
    if (effect->found && (point->last <= effect->threshold) != (size <= effect->threshold))
        return false;
    return (double)(size - point->first) < POINT_ROOM * per_pixel ||
           point->sent < effect->sent / SHARE;
}

static void points_of(const struct mtu_case *of, double per_pixel, struct points *out_points)
{
    const struct mtu_size *sizes = of->flow.loss_by_size.items;
    struct points *points = out_points;

    points->count = 0;
    points->highest = 0;
    for (size_t i = 0; i < of->flow.loss_by_size.count && i < MTU_SIZES_MAX; i++) {
        int64_t size = sizes[i].payload + headers_of(of);

        if (sizes[i].sent == 0)
            continue;
        if (points->count == 0 || !joins(of, &points->items[points->count - 1], size, per_pixel))
            points->items[points->count++] = (struct point){ .sent = 0 };
        point_add(&points->items[points->count - 1], size, &sizes[i]);
    }
    for (size_t i = 0; i < points->count; i++) {
        point_close(&points->items[i]);
        points->highest = fmax(points->highest, points->items[i].high);
    }
}

/* --- words ----------------------------------------------------------------------------------- */

static void name_percent(double value, char out_text[CHART_LINE_SIZE])
{
    snprintf(out_text, CHART_LINE_SIZE, "%.3g %%", value * 100);
}

static double ratio(int64_t lost, int64_t sent)
{
    return sent > 0 ? (double)lost / (double)sent : 0;
}

/* "0.00 % up to 1,440 B, 1.01 % above (99 %: 1,438 to 1,442)". */
static void effect_text(const struct mtu_size_effect *effect, char out_text[CHART_LINE_SIZE])
{
    if (effect->sent == 0)
        snprintf(out_text, CHART_LINE_SIZE, "nothing was sent");
    else if (effect->found)
        snprintf(out_text, CHART_LINE_SIZE, "%.2f %% up to %s B, %.2f %% above (99 %%: %s to %s)",
                 100 * ratio(effect->lost_below, effect->sent_below),
                 grouped(effect->threshold).text,
                 100 * ratio(effect->lost_above, effect->sent_above), grouped(effect->least).text,
                 grouped(effect->most).text);
    else
        snprintf(out_text, CHART_LINE_SIZE, "%.2f %%, at no size more than at smaller ones",
                 100 * ratio(effect->lost, effect->sent));
}

static void put_alternative(const struct point *point, struct buf *out)
{
    buf_printf(out, "%s", grouped(point->first).text);
    if (point->last > point->first)
        buf_printf(out, " to %s", grouped(point->last).text);
    buf_printf(out, " B: %s of %s lost, %.2f %% (95 %%: %.2f to %.2f)", grouped(point->lost).text,
               grouped(point->sent).text, 100 * ratio(point->lost, point->sent), 100 * point->low,
               100 * point->high);
}

/* --- one panel ------------------------------------------------------------------------------- */

static struct plot_frame frame_of(const struct points *points, struct chart_box box)
{
    double low = 0, high = 1;
    struct plot_frame frame = {
        .box = { box.x + FRAME_LEFT, box.y + PANEL_HEAD, box.width - FRAME_LEFT - 14,
                 FRAME_HEIGHT },
        .name_x = plot_name_count,
        .name_y = name_percent,
        .name_room = FRAME_LEFT,
    };

    if (points->count > 0) {
        low = (double)points->items[0].first;
        high = (double)points->items[points->count - 1].last;
    }
    /* So that the first and the last whisker are not on the frame. */
    frame.x = plot_axis(PLOT_LINEAR, low - (high - low) / 40, high + (high - low) / 40);
    frame.y = plot_axis(PLOT_LINEAR, 0, 1);
    frame.y.high = points->highest > 0 ? fmin(1, points->highest * 1.08) : 1;
    plot_frame_fit(&frame);
    return frame;
}

/* The frame, with the bounds of the threshold behind its grid and the threshold before it. */
static void draw_frame(const struct mtu_size_effect *effect, const struct plot_frame *frame,
                       struct buf *out)
{
    struct chart_box box = frame->box;
    int from = plot_place(&frame->x, (double)effect->least);
    int to = plot_place(&frame->x, (double)effect->most);
    int x = plot_place(&frame->x, (double)effect->threshold);

    if (effect->found)
        chart_rect(out, (struct chart_box){ from, box.y, to - from + 1, box.height }, "loss1");
    plot_frame_draw(frame, out);
    if (effect->found)
        chart_line(out, (struct chart_point){ x, box.y },
                   (struct chart_point){ x, box.y + box.height }, "ring");
}

static void draw_point(const struct point *point, const struct plot_frame *frame, struct buf *out)
{
    int x = plot_place(&frame->x, point->middle);
    int low = plot_place(&frame->y, point->low), high = plot_place(&frame->y, point->high);
    struct buf text;

    buf_init(&text, CHART_LINE_SIZE);
    put_alternative(point, &text);
    chart_group_begin(out, buf_peek(&text));
    buf_done(&text);
    chart_line(out, (struct chart_point){ x, low }, (struct chart_point){ x, high }, "axis");
    chart_line(out, (struct chart_point){ x - CAP, low }, (struct chart_point){ x + CAP, low },
               "axis");
    chart_line(out, (struct chart_point){ x - CAP, high }, (struct chart_point){ x + CAP, high },
               "axis");
    chart_dot(out,
              (struct chart_point){ x, plot_place(&frame->y, ratio(point->lost, point->sent)) },
              DOT, "dot");
    chart_group_end(out);
}

static void draw_panel(const struct way *way, struct chart_box box, struct buf *out)
{
    const struct mtu_case *of = way->flows[0];
    const struct mtu_size *sizes = of->flow.loss_by_size.items;
    size_t count = of->flow.loss_by_size.count;
    double span = count > 0 ? (double)(sizes[count - 1].payload - sizes[0].payload) : 0;
    struct points points;
    struct plot_frame frame;
    char name[WAY_NAME_SIZE], text[CHART_LINE_SIZE];

    points_of(of, span / (box.width - FRAME_LEFT - 14), &points);
    frame = frame_of(&points, box);
    way_name(way, name);
    chart_text(out, box.x, box.y + 12, "label", name);
    effect_text(&of->flow.size_effect, text);
    plot_line(out, (struct chart_box){ box.x, box.y + 30, box.width, 12 }, "muted", text);
    draw_frame(&of->flow.size_effect, &frame, out);
    for (size_t i = 0; i < points.count; i++)
        draw_point(&points.items[i], &frame, out);
    chart_text(out, frame.box.x + frame.box.width / 2, frame.box.y + FRAME_HEIGHT + 32,
               "small muted middle", "IP packet, bytes");
}

/* --- all of them ----------------------------------------------------------------------------- */

static bool next_measured(const struct run *run, size_t *position, struct way *out_way)
{
    while (way_next(run, position, out_way)) {
        if (out_way->flows[0]->flow.size_effect.present &&
            out_way->flows[0]->udp_payload != NONE_INT)
            return true;
    }
    return false;
}

static size_t count_panels(const struct run *run)
{
    struct way way;
    size_t position = 0, panels = 0;

    while (next_measured(run, &position, &way))
        panels++;
    return panels;
}

int sizes_height(const struct run *run)
{
    int rows = ((int)count_panels(run) + COLUMNS - 1) / COLUMNS;

    return rows == 0 ? 0 : TITLE + rows * PANEL_HEIGHT;
}

static void draw_head(struct chart_box box, struct buf *out)
{
    int y = box.y + 31, x = box.x;

    plot_line(out, (struct chart_box){ box.x, box.y + 12, box.width, 17 }, "panel",
              "Loss by size, on the first flow");
    chart_line(out, (struct chart_point){ x + 4, y - 10 }, (struct chart_point){ x + 4, y + 2 },
               "axis");
    chart_dot(out, (struct chart_point){ x + 4, y - 4 }, DOT, "dot");
    chart_text(out, x + 14, y, "small muted", "loss, with its 95 % interval");
    x += 200;
    chart_rect(out, (struct chart_box){ x, y - 10, 12, 12 }, "loss1");
    chart_line(out, (struct chart_point){ x + 6, y - 10 }, (struct chart_point){ x + 6, y + 2 },
               "ring");
    chart_text(out, x + 20, y, "small muted",
               "threshold above which more is lost, with its 99 % bounds");
}

void sizes_draw(const struct run *run, struct chart_box box, struct buf *out)
{
    int width = (box.width - (COLUMNS - 1) * GAP) / COLUMNS, panel = 0;
    struct way way;
    size_t position = 0;

    draw_head(box, out);
    for (; next_measured(run, &position, &way); panel++)
        draw_panel(&way,
                   (struct chart_box){ box.x + panel % COLUMNS * (width + GAP),
                                       box.y + TITLE + panel / COLUMNS * PANEL_HEIGHT, width,
                                       PANEL_HEIGHT },
                   out);
}

void sizes_describe(const struct run *run, struct buf *out)
{
    struct way way;
    size_t position = 0;

    while (next_measured(run, &position, &way)) {
        char name[WAY_NAME_SIZE], text[CHART_LINE_SIZE];

        way_name(&way, name);
        effect_text(&way.flows[0]->flow.size_effect, text);
        buf_printf(out, "Loss by size, %s: %s. ", name, text);
    }
}
