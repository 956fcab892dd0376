/* Owns how a run of buffer experiments is laid out in a figure: the parts below one another. The
 * parts themselves are in figure_held.c, figure_loss.c and figure_queue.c. */
#include <stdio.h>

#include "controller/report/figure_parts.h"
#include "controller/report/figures.h"
#include "controller/report/grid.h"

enum { MARGIN = PAGE_MARGIN, ROOM = PAGE_ROOM, CAPTION = 52, GAP = 28 /* between parts */ };

const struct experiment_result *figure_next(const struct run *run, enum experiment experiment,
                                            const struct experiment_result *last)
{
    const struct experiment_result *results = run->experiments.items;
    size_t i = last == NULL ? 0 : (size_t)(last - results) + 1;

    for (; i < run->experiments.count; i++) {
        if (results[i].experiment == experiment && results[i].error[0] == '\0')
            return &results[i];
    }
    return NULL;
}

static size_t count_errors(const struct run *run)
{
    const struct experiment_result *results = run->experiments.items;
    size_t errors = 0;

    for (size_t i = 0; i < run->experiments.count; i++)
        errors += results[i].error[0] != '\0' && results[i].experiment != EXPERIMENT_LADDER;
    return errors;
}

/* Draws the caption; returns its height. */
static int draw_caption(const struct run *run, int y, struct buf *out)
{
    const struct host *host = run->hosts.items;
    size_t errors = count_errors(run);
    char text[CHART_LINE_SIZE];
    struct buf line;

    plot_line(out, (struct chart_box){ MARGIN, y + 14, ROOM, 17 }, "panel", host->name);
    buf_init(&line, 2 * CHART_LINE_SIZE);
    buf_printf(&line, "%s %s, %s \xc2\xb7 %.10s \xc2\xb7 %s", host->os, host->os_release,
               host->arch, run->started, run->buffers_plan.family == FAMILY_IPV4 ? "IPv4" : "IPv6");
    if (host->interface.name[0] != '\0')
        buf_printf(&line, " on %s", host->interface.name);
    if (errors > 0)
        buf_printf(&line, " \xc2\xb7 %zu case%s could not be measured", errors,
                   errors == 1 ? "" : "s");
    buf_text(&line, run->interrupted ? " \xc2\xb7 interrupted" : "");
    snprintf(text, sizeof text, "%s", buf_peek(&line));
    buf_done(&line);
    plot_line(out, (struct chart_box){ MARGIN, y + 34, ROOM, 12 }, "muted", text);
    return CAPTION;
}

/* Sweep and hold beside each other; returns their height. */
static int draw_held(const struct run *run, int y, struct buf *out)
{
    static const enum experiment experiments[] = { EXPERIMENT_SWEEP, EXPERIMENT_HOLD };
    int width = (ROOM - GAP) / 2, x = MARGIN, tallest = 0;

    for (size_t i = 0; i < 2; i++) {
        int height = held_height(run, experiments[i]);

        if (height == 0)
            continue;
        held_draw(run, experiments[i], (struct chart_box){ x, y, width, height }, out);
        x += width + GAP;
        tallest = height > tallest ? height : tallest;
    }
    return tallest;
}

/* Draws one run's part of the page; returns its height. */
static int draw_run(const struct run *run, int top, struct buf *out)
{
    int y = top + draw_caption(run, top, out), height;

    height = draw_held(run, y, out);
    y += height + (height > 0 ? GAP : 0);
    height = loss_height(run);
    if (height > 0)
        loss_draw(run, (struct chart_box){ MARGIN, y, ROOM, height }, out);
    y += height + (height > 0 ? GAP : 0);
    height = queues_height(run);
    if (height > 0)
        queues_draw(run, (struct chart_box){ MARGIN, y, ROOM, height }, out);
    y += height;
    if (held_height(run, EXPERIMENT_SWEEP) + held_height(run, EXPERIMENT_HOLD) + loss_height(run) >
        0)
        return y - top;
    chart_text(out, MARGIN, y + 14, "", "nothing was measured here that a figure could show");
    return y + GAP - top;
}

static void describe(const struct run *run, struct buf *out)
{
    buf_printf(out, "%s: ", ((const struct host *)run->hosts.items)->name);
    held_describe(run, EXPERIMENT_SWEEP, out);
    held_describe(run, EXPERIMENT_HOLD, out);
    loss_describe(run, out);
    queues_describe(run, out);
}

enum status figure_buffers(const struct run *const *runs, size_t count, struct buf *out_svg)
{
    static const struct figure_page page = {
        .title = "What a receive buffer holds, and what it loses",
        .draw = draw_run,
        .describe = describe,
    };

    return figure_page_draw(&page, runs, count, out_svg);
}
