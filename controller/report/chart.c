/* Owns how a figure is written: escaping, placing, colours. Knows no measurement. */
#include "controller/report/chart.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"

/* Losses are told by words and marks; the scale of one hue only helps the eye. Passing is blue and
 * failing orange, which most colour-blind people tell apart. */
static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,\"Segoe UI\",\"Helvetica Neue\",Arial,"
    "\"DejaVu Sans\",sans-serif;font-size:12px;fill:#1f2328}\n"
    ".head{font-size:18px;font-weight:600}\n"
    ".panel{font-size:15px;font-weight:600}\n"
    ".label{font-size:13px}\n"
    ".number{font-size:15px;font-weight:600}\n"
    ".small{font-size:11px}\n"
    ".muted{fill:#59636e}\n"
    ".middle{text-anchor:middle}\n"
    ".end{text-anchor:end}\n"
    "rect{stroke:none}\n"
    ".page{fill:#ffffff}\n"
    ".pass{fill:#deebf9}.on-pass{fill:#0b4a86}\n"
    ".loss1{fill:#fdebd3}.on-loss1{fill:#6e3500}\n"
    ".loss2{fill:#fbc98f}.on-loss2{fill:#5a2b00}\n"
    ".loss3{fill:#f09a4e}.on-loss3{fill:#331800}\n"
    ".loss4{fill:#b8480b}.on-loss4{fill:#ffffff}\n"
    ".error{fill:#eceef0;stroke:#59636e;stroke-dasharray:4 3}.on-error{fill:#1f2328}\n"
    ".none{fill:#ffffff;stroke:#d1d9e0;stroke-dasharray:2 3}.on-none{fill:#59636e}\n"
    "line,polyline,circle{fill:none;stroke-width:1}\n"
    ".grid{stroke:#e4e8ec}\n"
    ".axis{stroke:#59636e}\n"
    ".limit{stroke:#59636e;stroke-dasharray:6 4}\n"
    ".event{stroke:#1f2328;stroke-dasharray:2 3}\n"
    ".mark{fill:#ffffff;stroke:#1f2328}\n"
    ".dot{fill:#0b62b8}\n"
    ".ring{stroke:#b8480b;stroke-width:2}\n"
    ".queue{stroke:#0b62b8;stroke-width:2}\n"
    ".drops{stroke:#b8480b;stroke-width:2;stroke-dasharray:5 3}\n"
    ".on-queue{fill:#0b4a86}.on-drops{fill:#8f3705}\n"
    ".track{fill:#eef1f4}\n"
    ".bar{fill:#d9722a}\n"
    ".model{stroke:#1f2328;stroke-width:3}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}\n"
    ".muted{fill:#9aa4ae}\n"
    ".page{fill:#0d1117}\n"
    ".pass{fill:#12304f}.on-pass{fill:#a8d1ff}\n"
    ".loss1{fill:#3f2610}.on-loss1{fill:#ffd7ab}\n"
    ".loss2{fill:#66390f}.on-loss2{fill:#ffe0bd}\n"
    ".loss3{fill:#a2540f}.on-loss3{fill:#fff3e6}\n"
    ".loss4{fill:#f0883e}.on-loss4{fill:#1d0e00}\n"
    ".error{fill:#1c2128;stroke:#9aa4ae}.on-error{fill:#e6edf3}\n"
    ".none{fill:#0d1117;stroke:#3d444d}.on-none{fill:#9aa4ae}\n"
    ".grid{stroke:#262c34}\n"
    ".axis,.limit{stroke:#9aa4ae}\n"
    ".event{stroke:#e6edf3}\n"
    ".mark{fill:#0d1117;stroke:#e6edf3}\n"
    ".dot{fill:#58a6ff}\n"
    ".ring,.drops{stroke:#f0883e}\n"
    ".queue{stroke:#58a6ff}\n"
    ".on-queue{fill:#a8d1ff}.on-drops{fill:#ffb77c}\n"
    ".track{fill:#1c2128}\n"
    ".bar{fill:#c9631b}\n"
    ".model{stroke:#e6edf3}\n"
    "}\n"
    "</style>\n";

/* Reads one character; what is not UTF-8 counts as one byte and yields U+FFFD. */
static uint32_t next_character(const char **cursor)
{
    const unsigned char *at = (const unsigned char *)*cursor;
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    size_t more = *at < 0x80 ? 0 : (*at & 0xe0) == 0xc0 ? 1 : (*at & 0xf0) == 0xe0 ? 2 : 3;
    uint32_t code = more == 0 ? *at : *at & (0x3fU >> more);

    (*cursor)++;
    if (more == 3 && (*at & 0xf8) != 0xf0)
        return 0xfffd;
    for (size_t i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0xfffd;
        code = code << 6 | (at[i] & 0x3fU);
    }
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0xfffd;
    *cursor += more;
    return code;
}

/* What XML 1.0 has no place for, and what would move the text around it. */
static int forbidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f ||
           code == 0x2028 || code == 0x2029 || code == 0xfffd || code == 0xfffe || code == 0xffff;
}

void chart_escape(struct buf *out, const char *text)
{
    while (*text != '\0') {
        const char *start = text;
        uint32_t code = next_character(&text);

        if (forbidden(code))
            buf_text(out, REPLACEMENT);
        else if (code == '&')
            buf_text(out, "&amp;");
        else if (code == '<')
            buf_text(out, "&lt;");
        else if (code == '>')
            buf_text(out, "&gt;");
        else if (code == '"')
            buf_text(out, "&quot;");
        else if (code == '\'')
            buf_text(out, "&#39;");
        else
            buf_append(out, start, (size_t)(text - start));
    }
}

static void element(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "<%s>", name);
    chart_escape(out, text);
    buf_printf(out, "</%s>\n", name);
}

void chart_begin(struct buf *out, int width, int height, const char *title, const char *desc)
{
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
               "aria-labelledby=\"figure-title figure-desc\" width=\"%d\" height=\"%d\" "
               "viewBox=\"0 0 %d %d\">\n",
               width, height, width, height);
    buf_text(out, "<title id=\"figure-title\">");
    chart_escape(out, title);
    buf_text(out, "</title>\n<desc id=\"figure-desc\">");
    chart_escape(out, desc);
    buf_text(out, "</desc>\n");
    buf_text(out, style);
    chart_rect(out, (struct chart_box){ 0, 0, width, height }, "page");
}

void chart_end(struct buf *out)
{
    buf_text(out, "</svg>\n");
}

void chart_group_begin(struct buf *out, const char *title)
{
    buf_text(out, "<g>\n");
    element(out, "title", title);
}

void chart_group_end(struct buf *out)
{
    buf_text(out, "</g>\n");
}

void chart_rect(struct buf *out, struct chart_box box, const char *class)
{
    buf_printf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", class,
               box.x, box.y, box.width, box.height);
}

void chart_line(struct buf *out, struct chart_point from, struct chart_point to, const char *class)
{
    buf_printf(out, "<line class=\"%s\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", class, from.x,
               from.y, to.x, to.y);
}

void chart_polyline(struct buf *out, const struct chart_point *points, size_t count,
                    const char *class)
{
    if (count < 2)
        return;
    buf_printf(out, "<polyline class=\"%s\" points=\"", class);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%d,%d", i == 0 ? "" : " ", points[i].x, points[i].y);
    buf_text(out, "\"/>\n");
}

void chart_dot(struct buf *out, struct chart_point at, int radius, const char *class)
{
    buf_printf(out, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"%d\"/>\n", class, at.x, at.y,
               radius);
}

void chart_text(struct buf *out, int x, int y, const char *class, const char *text)
{
    buf_printf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    chart_escape(out, text);
    buf_text(out, "</text>\n");
}

/* Thousandths of the font size, by the widest of the usual fonts (DejaVu Sans). */
static int advance(uint32_t code)
{
    static const struct {
        const char *characters;
        int width;
    } classes[] = {
        { "ijl.,:;|!' ", 330 }, { "frt()[]/-I", 415 }, { "cksvxyzJ", 595 },
        { "wMW%@", 990 },       { "mOQNDGHU", 990 },   { "+=<>~#&", 850 },
    };

    if (code >= 0x1100)
        return code >= 0x2000 && code < 0x2e80 ? 850 : 1050;
    if (code >= 0x80)
        return 720;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strchr(classes[i].characters, (int)code) != NULL)
            return classes[i].width;
    }
    return code >= 'A' && code <= 'Z' ? 710 : 645;
}

int chart_text_width(const char *text, int font_size)
{
    int64_t thousandths = 0;

    while (*text != '\0' && thousandths < INT32_MAX / 64)
        thousandths += advance(next_character(&text));
    return (int)(thousandths * font_size / 1000 + 1);
}

/* Each half of a shortened text, so that both and the ellipsis fit into a line. */
enum { HALF_BYTES = (CHART_LINE_SIZE - 8) / 2 };

/* The bytes of the longest beginning of whole characters that is not wider than `width`. */
static size_t head_that_fits(const char *text, int font_size, int width)
{
    const char *cursor = text;
    int64_t used = 0;
    size_t fits = 0;

    while (*cursor != '\0') {
        used += (int64_t)advance(next_character(&cursor)) * font_size;
        if (used > (int64_t)width * 1000 || cursor - text > HALF_BYTES)
            break;
        fits = (size_t)(cursor - text);
    }
    return fits;
}

/* The start of the longest ending, the same way. */
static const char *tail_that_fits(const char *text, int font_size, int width)
{
    const char *end = text + strlen(text);

    while (*text != '\0' && (end - text > HALF_BYTES || chart_text_width(text, font_size) > width))
        (void)next_character(&text);
    return text;
}

void chart_shorten(const char *text, int font_size, int width, char out_text[CHART_LINE_SIZE])
{
    int room = (width - font_size) / 2;

    if (chart_text_width(text, font_size) <= width && strlen(text) < CHART_LINE_SIZE) {
        memcpy(out_text, text, strlen(text) + 1);
        return;
    }
    snprintf(out_text, CHART_LINE_SIZE, "%.*s" ELLIPSIS "%s",
             (int)head_that_fits(text, font_size, room), text,
             tail_that_fits(text, font_size, room));
}
