/* Owns how a path MTU run is laid out in a figure, and the chart of what each family carries in
 * each direction. Loss by size is drawn by figure_sizes.c. */
#include <stdio.h>
#include <stdlib.h>

#include "controller/report/figure_parts.h"
#include "controller/report/grid.h"
#include "controller/report/ways.h"
#include "proto/wire/mtu_verdict.h"

enum {
    CAPTION = 52,
    GAP = 28,
    ROW = 26,
    BAR = 16,
    WAY_GAP = 6,
    SCALE = 20,
    LABEL_WIDTH = 210,
    VALUE_WIDTH = 250,
    ROWS_DRAWN = 40,
    WORDS_MAX = 1 << 16
};

/* --- one row --------------------------------------------------------------------------------- */

static void value_text(const struct mtu_case *of, char out_text[CHART_LINE_SIZE])
{
    if (of->flow.path_mtu == NONE_INT)
        snprintf(out_text, CHART_LINE_SIZE, "%s", mtu_verdict_names[of->verdict]);
    else
        snprintf(out_text, CHART_LINE_SIZE, "%s%s B (UDP %s): %s",
                 of->verdict == MTU_NO_VERDICT ? "\xe2\x89\xa5 " : "",
                 grouped(of->flow.path_mtu).text, grouped(of->udp_payload).text,
                 mtu_verdict_names[of->verdict]);
}

/* "IPv4 forward: 1,400 B (UDP 1,372): signalled; 10.9.2.254 said so (ICMP)". */
static void put_alternative(const struct way *way, const struct mtu_group *group, bool alone,
                            struct buf *out)
{
    char name[WAY_NAME_SIZE], value[CHART_LINE_SIZE];

    way_name(way, name);
    value_text(group->first, value);
    buf_printf(out, "%s: %s; ", name, value);
    mtu_evidence_words(group->first, out);
    if (alone)
        return;
    buf_text(out, "; ");
    mtu_group_words(way->flows, way->count, group, false, out);
}

static void label_text(const struct way *way, const struct mtu_group *group, bool alone,
                       char out_text[CHART_LINE_SIZE])
{
    char name[WAY_NAME_SIZE];

    way_name(way, name);
    if (alone)
        snprintf(out_text, CHART_LINE_SIZE, "%s", name);
    else
        snprintf(out_text, CHART_LINE_SIZE, "%s, %zu of %zu flows", name, group->count, way->count);
}

static const char *class_of(enum mtu_verdict verdict)
{
    return verdict == MTU_CLEAN || verdict == MTU_SIGNALLED ? "dot"
           : verdict == MTU_NO_VERDICT                      ? "error"
                                                            : "bar";
}

struct row {
    const struct way *way;
    const struct mtu_group *group;
    bool alone;
};

static void draw_row(const struct row *row, const struct plot_axis *axis, struct chart_point at,
                     struct buf *out)
{
    const struct mtu_case *first = row->group->first;
    char text[CHART_LINE_SIZE];
    struct buf words;

    buf_init(&words, WORDS_MAX);
    put_alternative(row->way, row->group, row->alone, &words);
    chart_group_begin(out, buf_peek(&words));
    buf_done(&words);
    label_text(row->way, row->group, row->alone, text);
    plot_line(out, (struct chart_box){ at.x, at.y + 13, LABEL_WIDTH - 12, 12 }, "", text);
    chart_rect(out, (struct chart_box){ axis->from, at.y + 1, axis->to - axis->from, BAR },
               "track");
    if (first->flow.path_mtu != NONE_INT)
        chart_rect(out,
                   (struct chart_box){ axis->from, at.y + 1,
                                       plot_place(axis, (double)first->flow.path_mtu) - axis->from,
                                       BAR },
                   class_of(first->verdict));
    if (first->flow.local_mtu != NONE_INT && (double)first->flow.local_mtu <= axis->high) {
        int x = plot_place(axis, (double)first->flow.local_mtu);

        chart_line(out, (struct chart_point){ x, at.y - 2 },
                   (struct chart_point){ x, at.y + BAR + 4 }, "model");
    }
    value_text(first, text);
    plot_line(out, (struct chart_box){ axis->to + 12, at.y + 13, VALUE_WIDTH - 12, 12 }, "", text);
    chart_group_end(out);
}

/* --- all rows -------------------------------------------------------------------------------- */

/* What the scale must have room for. A loopback interface of 65,536 is no reason to press all
 * others flat: what is beyond eight times the largest answer has no mark. */
static struct plot_axis axis_of(const struct run *run, struct chart_box box)
{
    const struct mtu_case *cases = run->mtu_cases.items;
    struct plot_axis axis;
    double answer = 0, local = 0;

    for (size_t i = 0; i < run->mtu_cases.count; i++) {
        double path_mtu = (double)cases[i].flow.path_mtu;

        answer = path_mtu > answer ? path_mtu : answer;
        if ((double)cases[i].flow.local_mtu > local)
            local = (double)cases[i].flow.local_mtu;
    }
    if (answer > 0 && local > 8 * answer)
        local = 8 * answer;
    axis = plot_axis(PLOT_LINEAR, 0, answer > local ? answer : local > 0 ? local : 1500);
    axis.from = box.x + LABEL_WIDTH;
    axis.to = box.x + box.width - VALUE_WIDTH;
    return axis;
}

/* Draws the rows below `top`, or with `out` NULL measures them; returns their height. */
static int draw_rows(const struct run *run, const struct plot_axis *axis, struct chart_point top,
                     struct buf *out)
{
    struct way way;
    size_t position = 0, rows = 0;
    int y = top.y;
    char text[CHART_LINE_SIZE];

    while (way_next(run, &position, &way)) {
        struct mtu_group *groups;
        size_t count = mtu_groups(way.flows, way.count, &groups);

        for (size_t i = 0; i < count; i++) {
            struct row row = { &way, &groups[i], count == 1 };

            if (++rows > ROWS_DRAWN)
                continue;
            if (out != NULL)
                draw_row(&row, axis, (struct chart_point){ top.x, y }, out);
            y += ROW;
        }
        y += rows > ROWS_DRAWN ? 0 : WAY_GAP;
        free(groups);
    }
    if (rows > ROWS_DRAWN) {
        snprintf(text, sizeof text, "and %zu more, in run.json", rows - ROWS_DRAWN);
        if (out != NULL)
            chart_text(out, top.x, y + 12, "muted", text);
        y += ROW;
    }
    return y - top.y;
}

static void draw_scale(const struct plot_axis *axis, int y, int height, struct buf *out)
{
    double ticks[PLOT_TICKS_MAX];
    size_t count = plot_ticks(axis, ticks);

    for (size_t i = 0; i < count; i++) {
        int x = plot_place(axis, ticks[i]);
        char text[CHART_LINE_SIZE];

        plot_name_count(ticks[i], text);
        chart_text(out, x, y + 10, "small muted middle", text);
        chart_line(out, (struct chart_point){ x, y + 14 }, (struct chart_point){ x, y + height },
                   "grid");
    }
}

static void draw_legend(struct chart_point at, struct buf *out)
{
    static const struct {
        const char *class, *words;
    } bars[] = {
        { "dot", "carried; a limit is the interface's, or was told" },
        { "bar", "carried, but larger ones vanish, or more is lost" },
    };
    int x = at.x;

    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        chart_rect(out, (struct chart_box){ x, at.y - 9, 16, 10 }, bars[i].class);
        chart_text(out, x + 22, at.y, "small muted", bars[i].words);
        x += 22 + chart_text_width(bars[i].words, 11) + 20;
    }
    chart_line(out, (struct chart_point){ x, at.y - 11 }, (struct chart_point){ x, at.y + 3 },
               "model");
    chart_text(out, x + 8, at.y, "small muted", "the interface's MTU");
}

/* Draws the chart; returns its height. */
static int draw_paths(const struct run *run, int top, struct buf *out)
{
    struct chart_box box = { PAGE_MARGIN, top, PAGE_ROOM, 0 };
    struct plot_axis axis = axis_of(run, box);
    int y = top + PART_HEAD, height;

    plot_line(out, (struct chart_box){ box.x, top + 12, box.width, 17 }, "panel",
              "What the path carries: the largest IP packet, bytes");
    draw_legend((struct chart_point){ box.x, top + 31 }, out);
    height = SCALE + draw_rows(run, &axis, (struct chart_point){ box.x, y + SCALE }, NULL);
    draw_scale(&axis, y, height, out);
    draw_rows(run, &axis, (struct chart_point){ box.x, y + SCALE }, out);
    return PART_HEAD + height;
}

/* --- the run --------------------------------------------------------------------------------- */

static int draw_caption(const struct run *run, int y, struct buf *out)
{
    const struct host *hosts = run->hosts.items;
    char text[2 * CHART_LINE_SIZE];
    struct buf line;

    snprintf(text, sizeof text, "%s to %s", hosts[0].name, hosts[1].name);
    plot_line(out, (struct chart_box){ PAGE_MARGIN, y + 14, PAGE_ROOM, 17 }, "panel", text);
    buf_init(&line, 2 * CHART_LINE_SIZE);
    buf_printf(&line, "%s %s and %s %s \xc2\xb7 %.10s", hosts[0].os, hosts[0].os_release,
               hosts[1].os, hosts[1].os_release, run->started);
    for (size_t i = 0, told = 0; i < mtu_plan_sessions(&run->mtu_plan); i++) {
        enum family family = mtu_plan_session(&run->mtu_plan, i).family;
        struct fit fit = fit_of(run, family);

        if (fit.known)
            buf_printf(&line, "%s %s %s B",
                       told++ > 0 ? "," : " \xc2\xb7 an application may send:", family_word(family),
                       grouped(fit.even).text);
    }
    buf_text(&line, run->interrupted ? " \xc2\xb7 interrupted" : "");
    plot_line(out, (struct chart_box){ PAGE_MARGIN, y + 34, PAGE_ROOM, 12 }, "muted",
              buf_peek(&line));
    buf_done(&line);
    return CAPTION;
}

static int draw_run(const struct run *run, int top, struct buf *out)
{
    int y = top + draw_caption(run, top, out), height = sizes_height(run);

    if (run->mtu_cases.count == 0) {
        chart_text(out, PAGE_MARGIN, y + 14, "", "nothing was measured here");
        return y + GAP - top;
    }
    y += draw_paths(run, y, out);
    if (height == 0)
        return y - top;
    y += GAP;
    sizes_draw(run, (struct chart_box){ PAGE_MARGIN, y, PAGE_ROOM, height }, out);
    return y + height - top;
}

static void describe(const struct run *run, struct buf *out)
{
    const struct host *hosts = run->hosts.items;
    struct way way;
    size_t position = 0, rows = 0;

    buf_printf(out, "%s to %s: ", hosts[0].name, hosts[1].name);
    while (way_next(run, &position, &way)) {
        struct mtu_group *groups;
        size_t count = mtu_groups(way.flows, way.count, &groups);

        for (size_t i = 0; i < count; i++) {
            if (++rows > ROWS_DRAWN)
                continue;
            put_alternative(&way, &groups[i], count == 1, out);
            buf_text(out, ". ");
        }
        free(groups);
    }
    if (rows > ROWS_DRAWN)
        buf_printf(out, "And %zu more. ", rows - ROWS_DRAWN);
    sizes_describe(run, out);
}

enum status figure_mtu(const struct run *const *runs, size_t count, struct buf *out_svg)
{
    static const struct figure_page page = {
        .title = "The path MTU between two hosts",
        .draw = draw_run,
        .describe = describe,
    };

    return figure_page_draw(&page, runs, count, out_svg);
}
