/* Owns scales and their ticks, frames, and where a label has room. Knows no measurement. */
#include "controller/report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"

enum { SMALL_FONT = 11, LABEL_GAP = 8, LABEL_HEIGHT = 13 };

struct plot_axis plot_axis(enum plot_scale scale, double low, double high)
{
    struct plot_axis axis = { .scale = scale, .low = low, .high = high };
    double widen = scale == PLOT_LOG2 ? 2.5 : 3;

    if (scale == PLOT_LINEAR || scale == PLOT_BYTES) {
        axis.high = high > low ? high : low + 1;
        return axis;
    }
    axis.low = low < 0.5 ? 0.5 : low;
    axis.high = high < axis.low ? axis.low : high;
    if (axis.high < axis.low * widen) {
        axis.low /= widen;
        axis.high *= widen;
    }
    return axis;
}

int plot_place(const struct plot_axis *axis, double value)
{
    double share;

    if (isnan(value) || value <= axis->low)
        return axis->from;
    if (value >= axis->high)
        return axis->to;
    if (axis->scale == PLOT_LINEAR || axis->scale == PLOT_BYTES)
        share = (value - axis->low) / (axis->high - axis->low);
    else
        share = log(value / axis->low) / log(axis->high / axis->low);
    return axis->from + (int)lround(share * (axis->to - axis->from));
}

static size_t linear_ticks(const struct plot_axis *axis, double *ticks)
{
    double rough = (axis->high - axis->low) / 4, step = pow(10, floor(log10(rough)));
    size_t count = 0;

    if (axis->scale == PLOT_BYTES)
        step = pow(2, ceil(log2(rough)));
    else
        step *= rough / step > 5 ? 10 : rough / step > 2 ? 5 : rough / step > 1 ? 2 : 1;
    for (double k = ceil(axis->low / step); k * step <= axis->high * (1 + 1e-12); k++) {
        if (count == PLOT_TICKS_MAX)
            break;
        ticks[count++] = k * step;
    }
    return count;
}

/* Powers of the base, each so many; with several a decade where there are few. */
static size_t log_ticks(const struct plot_axis *axis, double base, double *ticks)
{
    static const double between[] = { 1, 2, 5 };
    double first = ceil(log(axis->low) / log(base) - 1e-9);
    double span = log(axis->high / axis->low) / log(base);
    double stride = ceil((span + 1e-9) / 7);
    bool fine = base > 9 && span < 2;
    size_t count = 0;

    for (double k = fine ? first - 1 : first; count < PLOT_TICKS_MAX; k += stride) {
        for (size_t i = 0; i < (fine ? 3 : 1) && count < PLOT_TICKS_MAX; i++) {
            double tick = pow(base, k) * between[i];

            if (tick > axis->high * (1 + 1e-12))
                return count;
            if (tick >= axis->low * (1 - 1e-12))
                ticks[count++] = tick;
        }
    }
    return count;
}

size_t plot_ticks(const struct plot_axis *axis, double out_ticks[PLOT_TICKS_MAX])
{
    if (axis->scale == PLOT_LINEAR || axis->scale == PLOT_BYTES)
        return linear_ticks(axis, out_ticks);
    return log_ticks(axis, axis->scale == PLOT_LOG2 ? 2 : 10, out_ticks);
}

void plot_name_count(double value, char out_text[CHART_LINE_SIZE])
{
    if (value >= 1e15 || (value > 0 && value < 1))
        snprintf(out_text, CHART_LINE_SIZE, "%.3g", value);
    else
        text_grouped((int64_t)llround(value), out_text);
}

void plot_name_bytes(double value, char out_text[CHART_LINE_SIZE])
{
    if (value >= 9e18)
        snprintf(out_text, CHART_LINE_SIZE, "%.3g B", value);
    else
        text_bytes((int64_t)llround(value), out_text);
}

void plot_name_seconds(double value, char out_text[CHART_LINE_SIZE])
{
    if (value >= 9e9)
        snprintf(out_text, CHART_LINE_SIZE, "%.3g s", value);
    else if (value <= 0)
        snprintf(out_text, CHART_LINE_SIZE, "0");
    else
        text_duration((int64_t)llround(value * 1e9), out_text);
    plot_micro(out_text);
}

void plot_micro(char text[CHART_LINE_SIZE])
{
    char *at = strstr(text, " us");

    if (at == NULL || strlen(text) + 2 > CHART_LINE_SIZE)
        return;
    memmove(at + 3, at + 2, strlen(at + 2) + 1);
    at[1] = '\xc2';
    at[2] = '\xb5';
}

void plot_frame_fit(struct plot_frame *frame)
{
    frame->x.from = frame->box.x;
    frame->x.to = frame->box.x + frame->box.width;
    frame->y.from = frame->box.y + frame->box.height;
    frame->y.to = frame->box.y;
}

/* A name of a tick that would stand in its neighbour is left out. */
static void draw_x_ticks(const struct plot_frame *frame, struct buf *out)
{
    int bottom = frame->box.y + frame->box.height, free_from = INT32_MIN;
    double ticks[PLOT_TICKS_MAX];
    size_t count = plot_ticks(&frame->x, ticks);

    for (size_t i = 0; i < count; i++) {
        int x = plot_place(&frame->x, ticks[i]), half;
        char text[CHART_LINE_SIZE];

        frame->name_x(ticks[i], text);
        half = chart_text_width(text, SMALL_FONT) / 2;
        chart_line(out, (struct chart_point){ x, frame->box.y }, (struct chart_point){ x, bottom },
                   "grid");
        if (x - half < free_from || half > 60)
            continue;
        chart_text(out, x, bottom + 15, "small muted middle", text);
        free_from = x + half + 4;
    }
}

void plot_frame_draw(const struct plot_frame *frame, struct buf *out)
{
    struct chart_box box = frame->box;
    struct chart_point corner = { box.x, box.y + box.height };
    double ticks[PLOT_TICKS_MAX];
    size_t count = plot_ticks(&frame->y, ticks);

    for (size_t i = 0; i < count; i++) {
        int y = plot_place(&frame->y, ticks[i]);
        char text[CHART_LINE_SIZE];

        frame->name_y(ticks[i], text);
        chart_line(out, (struct chart_point){ box.x, y },
                   (struct chart_point){ box.x + box.width, y }, "grid");
        if (chart_text_width(text, SMALL_FONT) + 6 <= frame->name_room)
            chart_text(out, box.x - 6, y + 4, "small muted end", text);
    }
    draw_x_ticks(frame, out);
    chart_line(out, (struct chart_point){ box.x, box.y }, corner, "axis");
    chart_line(out, corner, (struct chart_point){ box.x + box.width, corner.y }, "axis");
}

void plot_line(struct buf *out, struct chart_box at, const char *class, const char *text)
{
    char line[CHART_LINE_SIZE];

    chart_shorten(text, at.height, at.width, line);
    chart_text(out, at.x, at.y, class, line);
}

static bool apart(struct chart_box a, struct chart_box b)
{
    return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y ||
           b.y + b.height <= a.y;
}

static bool has_room(const struct plot_labels *labels, struct chart_box box)
{
    const struct chart_box *within = &labels->within;

    if (labels->count == PLOT_LABELS_MAX || box.x < within->x || box.y < within->y ||
        box.x + box.width > within->x + within->width ||
        box.y + box.height > within->y + within->height)
        return false;
    for (size_t i = 0; i < labels->count; i++) {
        if (!apart(labels->taken[i], box))
            return false;
    }
    return true;
}

void plot_reserve(struct plot_labels *labels, struct chart_box box)
{
    if (labels->count < PLOT_LABELS_MAX)
        labels->taken[labels->count++] = box;
}

bool plot_take(struct plot_labels *labels, struct chart_box box)
{
    if (!has_room(labels, box))
        return false;
    plot_reserve(labels, box);
    return true;
}

bool plot_label(struct plot_labels *labels, struct chart_point at, const char *class,
                const char *text, struct buf *out)
{
    int width = chart_text_width(text, SMALL_FONT);
    const struct chart_point corners[] = {
        { at.x - LABEL_GAP - width, at.y - LABEL_GAP - LABEL_HEIGHT + 3 },
        { at.x + LABEL_GAP, at.y + LABEL_GAP - 3 },
        { at.x + LABEL_GAP, at.y - LABEL_GAP - LABEL_HEIGHT + 3 },
        { at.x - LABEL_GAP - width, at.y + LABEL_GAP - 3 },
        { at.x - width / 2, at.y - LABEL_GAP - LABEL_HEIGHT },
        { at.x - width / 2, at.y + LABEL_GAP },
    };

    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        struct chart_box box = { corners[i].x, corners[i].y, width, LABEL_HEIGHT };

        if (!plot_take(labels, box))
            continue;
        chart_text(out, box.x, box.y + LABEL_HEIGHT - 3, class, text);
        return true;
    }
    return false;
}
