/* SVG primitives: escaped text, boxes, the colours of light and dark pages. Pure text out.
 *
 * Everything is placed on whole pixels. Colours are classes of the one style block; see chart.c
 * for what there is. No scripts, no links, nothing fetched.
 */
#ifndef SONDE_REPORT_CHART_H
#define SONDE_REPORT_CHART_H

#include <stddef.h>

#include "proto/base/buf.h"

enum { CHART_LINE_SIZE = 512 };

struct chart_box {
    int x, y, width, height;
};

struct chart_point {
    int x, y;
};

/* Opens the document: role img, <title>, <desc>, style, background. */
void chart_begin(struct buf *out, int width, int height, const char *title, const char *desc);
void chart_end(struct buf *out);

/* A group with a text alternative of its own (shown when a pointer rests on it). */
void chart_group_begin(struct buf *out, const char *title);
void chart_group_end(struct buf *out);

void chart_rect(struct buf *out, struct chart_box box, const char *class);

void chart_line(struct buf *out, struct chart_point from, struct chart_point to, const char *class);

/* A line through the points; one point draws nothing. */
void chart_polyline(struct buf *out, const struct chart_point *points, size_t count,
                    const char *class);

void chart_dot(struct buf *out, struct chart_point at, int radius, const char *class);

/* `y` is the baseline. The class says size, colour and anchor. */
void chart_text(struct buf *out, int x, int y, const char *class, const char *text);

/* Appends text as XML character data and attribute value: markup is escaped; control bytes, what
 * is not UTF-8, characters that XML 1.0 lacks and those that turn the reading direction around
 * (U+202A to U+202E, U+2066 to U+2069) become U+FFFD. */
void chart_escape(struct buf *out, const char *text);

/* How wide the text is at this font size, in pixels; rather too wide than too narrow. */
int chart_text_width(const char *text, int font_size);

/* Copies the text, cut in its middle with an ellipsis where it is wider than `width`. */
void chart_shorten(const char *text, int font_size, int width, char out_text[CHART_LINE_SIZE]);

#endif
