/* Scales, axes and labels of figures that show numbers as places. Pure. */
#ifndef SONDE_REPORT_PLOT_H
#define SONDE_REPORT_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "controller/report/chart.h"

enum plot_scale {
    PLOT_LINEAR,
    PLOT_BYTES, /* linear, ticks at binary steps */
    PLOT_LOG10,
    PLOT_LOG2
};

/* low < high; above 0 where the scale is logarithmic. `from` is the pixel of low, `to` of high. */
struct plot_axis {
    enum plot_scale scale;
    double low, high;
    int from, to;
};

/* An axis that has room for all of low..high, widened where they are nearly the same; a logarithmic
 * one starts at `low` even when that is 0 (what is below the axis is drawn at its end). */
struct plot_axis plot_axis(enum plot_scale scale, double low, double high);

/* The pixel of a value; what is outside is at the nearer end. */
int plot_place(const struct plot_axis *axis, double value);

/* Round values within the axis, in order; returns how many, at most PLOT_TICKS_MAX. */
enum { PLOT_TICKS_MAX = 12 };
size_t plot_ticks(const struct plot_axis *axis, double out_ticks[PLOT_TICKS_MAX]);

/* What a tick of this value is called. */
typedef void plot_name(double value, char out_text[CHART_LINE_SIZE]);
void plot_name_count(double value, char out_text[CHART_LINE_SIZE]);
void plot_name_bytes(double value, char out_text[CHART_LINE_SIZE]);
void plot_name_seconds(double value, char out_text[CHART_LINE_SIZE]);

/* Grid lines, ticks and frame. The axes' pixels must be those of the box. */
struct plot_frame {
    struct chart_box box;
    struct plot_axis x, y;
    plot_name *name_x, *name_y;
    int name_room; /* left of the box; a name that needs more is left out */
};
void plot_frame_fit(struct plot_frame *frame); /* sets the axes' pixels */
void plot_frame_draw(const struct plot_frame *frame, struct buf *out);

/* A text that is cut to fit; at.height is the font's size, at.y the baseline. */
void plot_line(struct buf *out, struct chart_box at, const char *class, const char *text);

/* Labels that do not cover one another. */
enum { PLOT_LABELS_MAX = 320 }; /* a list of a plan, and their labels */
struct plot_labels {
    struct chart_box within;
    struct chart_box taken[PLOT_LABELS_MAX];
    size_t count;
};

/* Keeps a box free of labels. */
void plot_reserve(struct plot_labels *labels, struct chart_box box);

/* The same when nothing is there yet; else false. */
bool plot_take(struct plot_labels *labels, struct chart_box box);

/* Writes a small label beside a point where there is room for it; false when there is none. */
bool plot_label(struct plot_labels *labels, struct chart_point at, const char *class,
                const char *text, struct buf *out);

/* "12.3 us" with the letter that it means. */
void plot_micro(char text[CHART_LINE_SIZE]);

#endif
