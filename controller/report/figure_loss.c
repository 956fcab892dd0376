/* Owns the chart of loss against pace: a bar for each slow reader's case, the model's value marked
 * on it. */
#include <math.h>
#include <stdio.h>

#include "controller/report/figure_parts.h"
#include "controller/report/grid.h"

enum {
    ROW = 24,
    BAR = 14,
    GROUP_GAP = 8,
    ROWS_DRAWN = 40,
    LABEL_WIDTH = 400,
    VALUE_WIDTH = 210,
    SCALE = 20
};

void figure_pace(const struct slow_reader_result *slow, char out_text[CHART_LINE_SIZE])
{
    double achieved_s = slow->achieved_interval_ns * 1e-9;
    char pace[CHART_LINE_SIZE] = "?", asked[CHART_LINE_SIZE], read[CHART_LINE_SIZE];

    if (!isnan(achieved_s))
        plot_name_seconds(achieved_s, pace);
    plot_name_seconds((double)slow->interval_ns * 1e-9, asked);
    plot_name_seconds((double)slow->read_ns * 1e-9, read);
    if (slow->interval_ns == 0)
        snprintf(out_text, CHART_LINE_SIZE, "reader %.40s, full speed (%.40s), %s", read, pace,
                 sized(slow->rcvbuf.granted).text);
    else
        snprintf(out_text, CHART_LINE_SIZE, "reader %.40s, one per %.40s (asked %.40s), %s", read,
                 pace, asked, sized(slow->rcvbuf.granted).text);
}

/* A new read time or pace begins. */
static bool begins_group(const struct experiment_result *result,
                         const struct experiment_result *last)
{
    return last != NULL && (last->slow_reader.read_ns != result->slow_reader.read_ns ||
                            last->slow_reader.interval_ns != result->slow_reader.interval_ns);
}

int loss_height(const struct run *run)
{
    const struct experiment_result *result = NULL, *last = NULL;
    size_t rows = 0;
    int height = 0;

    while ((result = figure_next(run, EXPERIMENT_SLOW_READER, result)) != NULL) {
        if (++rows > ROWS_DRAWN)
            break;
        height += ROW + (begins_group(result, last) ? GROUP_GAP : 0);
        last = result;
    }
    if (rows == 0)
        return 0;
    return PART_HEAD + SCALE + height + (rows > ROWS_DRAWN ? ROW : 0);
}

static void value_text(const struct slow_reader_result *slow, char out_text[CHART_LINE_SIZE])
{
    int used;

    if (isnan(slow->loss_ratio))
        used = snprintf(out_text, CHART_LINE_SIZE, "nothing sent");
    else
        used = snprintf(out_text, CHART_LINE_SIZE, "%.1f %% lost", slow->loss_ratio * 100);
    if (!isnan(slow->model_loss_ratio))
        snprintf(out_text + used, CHART_LINE_SIZE - (size_t)used, ", model %.1f %%",
                 slow->model_loss_ratio * 100);
}

static void draw_row(const struct slow_reader_result *slow, const struct plot_axis *axis,
                     struct chart_point at, struct buf *out)
{
    char label[CHART_LINE_SIZE], value[CHART_LINE_SIZE];
    struct buf text;
    int end = plot_place(axis, slow->loss_ratio);

    figure_pace(slow, label);
    value_text(slow, value);
    buf_init(&text, 4 * CHART_LINE_SIZE);
    buf_printf(&text, "%s: %s; %s of %s lost", label, value, grouped(slow->lost).text,
               grouped(slow->sent).text);
    chart_group_begin(out, buf_peek(&text));
    buf_done(&text);
    plot_line(out, (struct chart_box){ at.x, at.y + 12, LABEL_WIDTH - 12, 12 }, "", label);
    chart_rect(out, (struct chart_box){ axis->from, at.y + 1, axis->to - axis->from, BAR },
               "track");
    if (end > axis->from)
        chart_rect(out, (struct chart_box){ axis->from, at.y + 1, end - axis->from, BAR }, "bar");
    if (!isnan(slow->model_loss_ratio)) {
        int x = plot_place(axis, slow->model_loss_ratio);

        chart_line(out, (struct chart_point){ x, at.y - 2 },
                   (struct chart_point){ x, at.y + BAR + 4 }, "model");
    }
    plot_line(out, (struct chart_box){ axis->to + 12, at.y + 12, VALUE_WIDTH - 12, 12 }, "", value);
    chart_group_end(out);
}

static void draw_head(const struct run *run, const struct plot_axis *axis, struct chart_box box,
                      struct buf *out)
{
    int y = box.y + PART_HEAD;
    char title[CHART_LINE_SIZE];

    snprintf(title, sizeof title, "Loss against pace (%s datagrams of %s B)",
             grouped(run->buffers_plan.slow_sends).text,
             grouped(run->buffers_plan.slow_payload).text);
    plot_line(out, (struct chart_box){ box.x, box.y + 12, box.width, 17 }, "panel", title);
    chart_rect(out, (struct chart_box){ box.x, box.y + 22, 16, 10 }, "bar");
    chart_text(out, box.x + 22, box.y + 31, "small muted", "lost, by the reader's own count");
    chart_line(out, (struct chart_point){ box.x + 230, box.y + 20 },
               (struct chart_point){ box.x + 230, box.y + 34 }, "model");
    chart_text(out, box.x + 240, box.y + 31, "small muted",
               "model: what neither the buffer holds nor the reader reads meanwhile");
    for (int i = 0; i <= 4; i++) {
        int x = plot_place(axis, i * 0.25);
        char text[CHART_LINE_SIZE];

        snprintf(text, sizeof text, "%d %%", i * 25);
        chart_text(out, x, y + 10, "small muted middle", text);
        chart_line(out, (struct chart_point){ x, y + 14 },
                   (struct chart_point){ x, box.y + box.height - 2 }, "grid");
    }
}

void loss_draw(const struct run *run, struct chart_box box, struct buf *out)
{
    struct plot_axis axis = plot_axis(PLOT_LINEAR, 0, 1);
    const struct experiment_result *result = NULL, *last = NULL;
    struct chart_point at = { box.x, box.y + PART_HEAD + SCALE };
    char text[CHART_LINE_SIZE];
    size_t rows = 0;

    axis.from = box.x + LABEL_WIDTH;
    axis.to = box.x + box.width - VALUE_WIDTH;
    draw_head(run, &axis, box, out);
    while ((result = figure_next(run, EXPERIMENT_SLOW_READER, result)) != NULL) {
        if (++rows > ROWS_DRAWN)
            continue;
        at.y += begins_group(result, last) ? GROUP_GAP : 0;
        draw_row(&result->slow_reader, &axis, at, out);
        at.y += ROW;
        last = result;
    }
    if (rows <= ROWS_DRAWN)
        return;
    snprintf(text, sizeof text, "and %zu more cases, in run.json", rows - ROWS_DRAWN);
    chart_text(out, at.x, at.y + 12, "muted", text);
}

void loss_describe(const struct run *run, struct buf *out)
{
    const struct experiment_result *result = NULL;
    size_t rows = 0;

    while ((result = figure_next(run, EXPERIMENT_SLOW_READER, result)) != NULL) {
        char label[CHART_LINE_SIZE], value[CHART_LINE_SIZE];

        if (rows++ == 0)
            buf_text(out, "Loss against pace: ");
        if (rows > ROWS_DRAWN)
            continue;
        figure_pace(&result->slow_reader, label);
        value_text(&result->slow_reader, value);
        buf_printf(out, "%s: %s; ", label, value);
    }
    if (rows > ROWS_DRAWN)
        buf_printf(out, "and %zu more. ", rows - ROWS_DRAWN);
}
