/* Owns what can be said of a figure's texts without drawing it. */
#include "tests/controller/report/svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/report/chart.h"

struct label {
    struct chart_box box;
    char text[CHART_LINE_SIZE * 2];
};

size_t svg_count(const char *svg, const char *part)
{
    size_t count = 0;

    for (svg = strstr(svg, part); svg != NULL; svg = strstr(svg + 1, part))
        count++;
    return count;
}

static int number_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return (int)strtol(at + strlen(name), NULL, 10);
}

static bool has_class(const char *at, const char *end, const char *class)
{
    const char *found = strstr(at, class);

    return found != NULL && found < end;
}

/* The text element at `at`; returns what stands behind it. */
static const char *read_label(const char *at, bool wide, struct label *out_label)
{
    const char *start = strchr(at, '>') + 1, *end = strstr(start, "</text>");
    bool bold = has_class(at, start, "head") || has_class(at, start, "panel");
    int font = has_class(at, start, "head") ? 18 : has_class(at, start, "panel") ? 15 : 11;
    int x = number_behind(at, " x=\""), y = number_behind(at, " y=\""), width;

    snprintf(out_label->text, sizeof out_label->text, "%.*s", (int)(end - start), start);
    width = chart_text_width(out_label->text, bold && wide ? font + 1 : font);
    if (!wide)
        width = width * 9 / 10; /* the estimate is rather too wide */
    out_label->box = (struct chart_box){
        .x = has_class(at, start, "middle") ? x - width / 2
             : has_class(at, start, " end") ? x - width
                                            : x,
        .y = y - font + 2,
        .width = width,
        .height = font - 2,
    };
    return end;
}

void svg_check_inside(const char *svg)
{
    int width = number_behind(svg, " width=\""), height = number_behind(svg, " height=\"");

    for (const char *at = strstr(svg, "<text "); at != NULL; at = strstr(at + 1, "<text ")) {
        struct label label;

        (void)read_label(at, true, &label);
        if (label.box.x < 0 || label.box.y < 0 || label.box.x + label.box.width > width ||
            label.box.y + label.box.height > height)
            fail_msg("outside of the page: %s", label.text);
    }
}

static bool apart(const struct chart_box *a, const struct chart_box *b)
{
    return a->x + a->width <= b->x || b->x + b->width <= a->x || a->y + a->height <= b->y ||
           b->y + b->height <= a->y;
}

void svg_check_apart(const char *svg)
{
    size_t count = svg_count(svg, "<text "), got = 0;
    struct label *labels = calloc(count + 1, sizeof *labels);

    assert_non_null(labels);
    for (const char *at = strstr(svg, "<text "); at != NULL; at = strstr(at + 1, "<text "))
        (void)read_label(at, false, &labels[got++]);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!apart(&labels[i].box, &labels[k].box))
                fail_msg("\"%s\" (%d, %d) covers \"%s\" (%d, %d)", labels[i].text, labels[i].box.x,
                         labels[i].box.y, labels[k].text, labels[k].box.x, labels[k].box.y);
        }
    }
    free(labels);
}

void svg_check_harmless(const char *svg)
{
    assert_null(strstr(svg, "<script"));
    assert_null(strstr(svg, "\" onload"));
    assert_null(strstr(svg, "]]>"));
    assert_null(strstr(svg, "\xe2\x80\xae"));
    assert_null(strchr(svg, '\x01'));
    assert_null(strchr(svg, '\x1b'));
}
