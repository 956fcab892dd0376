/* Owns the charts of what a buffer holds: by its size, and by payload. */
#include <math.h>
#include <stdio.h>

#include "controller/report/figure_parts.h"
#include "controller/report/grid.h"

enum {
    FRAME_HEIGHT = 230,
    FRAME_LEFT = 76,
    FRAME_FOOT = 40,
    DOT = 4,
    RING = 7,
    LABELLED_MAX = 12, /* more points say their numbers as text alternatives only */
};

/* What a chart must have room for. */
struct reach {
    size_t count;
    double x_low, x_high, y_low, y_high;
};

static double x_of(const struct experiment_result *result)
{
    return result->experiment == EXPERIMENT_SWEEP ? (double)result->hold.rcvbuf.granted
                                                  : (double)result->hold.payload;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static struct reach reach_of(const struct run *run, enum experiment experiment)
{
    struct reach reach = { .count = 0, .x_low = INFINITY, .y_low = INFINITY };
    const struct experiment_result *result = NULL;

    while ((result = figure_next(run, experiment, result)) != NULL) {
        double held = (double)result->hold.held;
        double predicted =
            result->hold.predicted_held == NONE_INT ? held : (double)result->hold.predicted_held;

        reach.count++;
        reach.x_low = lesser(reach.x_low, x_of(result));
        reach.x_high = greater(reach.x_high, x_of(result));
        reach.y_low = lesser(reach.y_low, lesser(held, predicted));
        reach.y_high = greater(reach.y_high, greater(held, predicted));
        reach.y_high = greater(reach.y_high, (double)result->hold.sent);
    }
    return reach;
}

int held_height(const struct run *run, enum experiment experiment)
{
    return reach_of(run, experiment).count == 0 ? 0 : PART_HEAD + FRAME_HEIGHT + FRAME_FOOT;
}

static struct plot_frame frame_of(const struct run *run, enum experiment experiment,
                                  struct chart_box box)
{
    struct reach reach = reach_of(run, experiment);
    bool sweep = experiment == EXPERIMENT_SWEEP;
    struct plot_frame frame = {
        .box = { box.x + FRAME_LEFT, box.y + PART_HEAD, box.width - FRAME_LEFT - 8, FRAME_HEIGHT },
        .x = plot_axis(sweep ? PLOT_LOG2 : PLOT_LOG10, reach.x_low / 1.5, reach.x_high * 1.5),
        .y = plot_axis(PLOT_LOG10, reach.y_low / 2, reach.y_high * 1.6),
        .name_x = sweep ? plot_name_bytes : plot_name_count,
        .name_room = FRAME_LEFT,
        .name_y = plot_name_count,
    };

    plot_frame_fit(&frame);
    return frame;
}

static void put_alternative(const struct experiment_result *result, struct buf *out)
{
    const struct hold_result *hold = &result->hold;

    buf_printf(out, "%s B payload, buffer of %s", grouped(hold->payload).text,
               grouped(hold->rcvbuf.granted).text);
    if (hold->rcvbuf.asked == 0)
        buf_text(out, " (default)");
    buf_printf(out, ": %s of %s held", grouped(hold->held).text, grouped(hold->sent).text);
    if (hold->predicted_held != NONE_INT)
        buf_printf(out, ", %s predicted", grouped(hold->predicted_held).text);
}

static struct chart_point place_of(const struct experiment_result *result,
                                   const struct plot_frame *frame)
{
    return (struct chart_point){ plot_place(&frame->x, x_of(result)),
                                 plot_place(&frame->y, (double)result->hold.held) };
}

static void draw_points(const struct run *run, enum experiment experiment,
                        const struct plot_frame *frame, struct buf *out)
{
    const struct experiment_result *result = NULL;

    while ((result = figure_next(run, experiment, result)) != NULL) {
        const struct hold_result *hold = &result->hold;
        struct chart_point at = place_of(result, frame);
        struct buf text;

        buf_init(&text, CHART_LINE_SIZE);
        put_alternative(result, &text);
        chart_group_begin(out, buf_peek(&text));
        buf_done(&text);
        chart_dot(out, at, DOT, "dot");
        if (hold->predicted_held != NONE_INT)
            chart_dot(
                out,
                (struct chart_point){ at.x, plot_place(&frame->y, (double)hold->predicted_held) },
                RING, "ring");
        chart_group_end(out);
    }
}

/* How many were sent: what lies on this line held all of them. Its name stands where no point is.
 */
static void draw_sent(const struct run *run, const struct plot_frame *frame,
                      struct plot_labels *labels, struct buf *out)
{
    int y = plot_place(&frame->y, (double)run->buffers_plan.sends);
    int left = frame->box.x, right = left + frame->box.width, width;
    char text[CHART_LINE_SIZE];

    snprintf(text, sizeof text, "sent: %s", grouped(run->buffers_plan.sends).text);
    width = chart_text_width(text, 11);
    chart_line(out, (struct chart_point){ left, y }, (struct chart_point){ right, y }, "limit");
    for (int x = right - width - 2; x > left; x -= 10) {
        if (!plot_take(labels, (struct chart_box){ x, y - 15, width, 13 }))
            continue;
        chart_text(out, x, y - 4, "small muted", text);
        break;
    }
    plot_reserve(labels, (struct chart_box){ left, y - 1, frame->box.width, 2 });
}

static void draw_labels(const struct run *run, enum experiment experiment,
                        const struct plot_frame *frame, struct buf *out)
{
    bool few = reach_of(run, experiment).count <= LABELLED_MAX;
    struct plot_labels labels = { .within = frame->box };
    const struct experiment_result *result = NULL;

    while ((result = figure_next(run, experiment, result)) != NULL) {
        struct chart_point at = place_of(result, frame);

        plot_reserve(&labels, (struct chart_box){ at.x - RING, at.y - RING, 2 * RING, 2 * RING });
    }
    draw_sent(run, frame, &labels, out);
    while (few && (result = figure_next(run, experiment, result)) != NULL)
        (void)plot_label(&labels, place_of(result, frame), "small", grouped(result->hold.held).text,
                         out);
}

static void draw_head(const struct run *run, enum experiment experiment, struct chart_box box,
                      struct buf *out)
{
    bool sweep = experiment == EXPERIMENT_SWEEP;
    int legend = box.x + FRAME_LEFT;
    char title[CHART_LINE_SIZE];

    if (sweep)
        snprintf(title, sizeof title, "Held against buffer (%s B each)",
                 grouped(run->buffers_plan.sweep_payload).text);
    else
        snprintf(title, sizeof title, "Held by payload (%s buffer)",
                 run->buffers_plan.hold_rcvbuf == 0 ? "default"
                                                    : sized(run->buffers_plan.hold_rcvbuf).text);
    plot_line(out, (struct chart_box){ box.x, box.y + 12, box.width, 17 }, "panel", title);
    chart_dot(out, (struct chart_point){ legend + 4, box.y + 26 }, DOT, "dot");
    chart_text(out, legend + 14, box.y + 30, "small muted", "measured");
    chart_dot(out, (struct chart_point){ legend + 92, box.y + 26 }, RING - 1, "ring");
    chart_text(out, legend + 104, box.y + 30, "small muted", "predicted before anything was sent");
}

void held_draw(const struct run *run, enum experiment experiment, struct chart_box box,
               struct buf *out)
{
    struct plot_frame frame = frame_of(run, experiment, box);

    draw_head(run, experiment, box, out);
    plot_frame_draw(&frame, out);
    draw_labels(run, experiment, &frame, out);
    draw_points(run, experiment, &frame, out);
    chart_text(out, frame.box.x + frame.box.width / 2, frame.box.y + frame.box.height + 32,
               "small muted middle",
               experiment == EXPERIMENT_SWEEP ? "receive buffer granted" : "payload, bytes");
    /* Beside the axis there is room for digits only. */
    chart_text(out, box.x, box.y + PART_HEAD - 10, "small muted", "held");
}

void held_describe(const struct run *run, enum experiment experiment, struct buf *out)
{
    const struct experiment_result *result = NULL;
    size_t count = 0;

    while ((result = figure_next(run, experiment, result)) != NULL) {
        if (count++ == 0)
            buf_text(out, experiment == EXPERIMENT_SWEEP ? "Held against buffer: "
                                                         : "Held by payload: ");
        if (count <= LABELLED_MAX) {
            put_alternative(result, out);
            buf_text(out, "; ");
        }
    }
    if (count > LABELLED_MAX)
        buf_printf(out, "and %zu more. ", count - LABELLED_MAX);
}
