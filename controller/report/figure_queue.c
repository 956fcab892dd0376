/* Owns the small panels of a queue that fills, drops and empties, with the events marked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/report/figure_parts.h"
#include "controller/report/grid.h"

enum {
    PANELS_MAX = 6,
    COLUMNS = 3,
    GAP = 24,
    HEAD = 42,  /* what the case is, and the lanes of the events' numbers */
    LANE = 16,  /* one for each event, so that numbers never meet */
    EVENTS = 3, /* first drop, end of sending, queue empty */
    FRAME_HEIGHT = 130,
    FRAME_LEFT = 56,
    FRAME_RIGHT = 14,
    FOOT = 24,
    PANEL_HEIGHT = HEAD + EVENTS * LANE + FRAME_HEIGHT + FOOT + EVENTS * LANE + 18,
};

static const char *const event_words[EVENTS] = { "first drop", "end of sending", "queue empty" };

/* When something happened; NAN where it did not or is not known. */
struct events {
    double t_s[EVENTS];
};

static struct events events_of(const struct slow_reader_result *slow)
{
    const double(*points)[2] = slow->queue.items;
    struct events events = { { slow->first_drop_s, slow->sending_s, (double)NAN } };

    /* Empty for good: the first of the samples at the end that say 0. */
    for (size_t i = slow->queue.count; i > 0 && points[i - 1][1] <= 0; i--) {
        if (points[i - 1][0] >= slow->sending_s)
            events.t_s[2] = points[i - 1][0];
    }
    return events;
}

/* --- which cases ----------------------------------------------------------------------------- */

struct choice {
    const struct experiment_result *cases[PANELS_MAX];
    size_t count;
    size_t of; /* measured with a curve */
};

static double deepest(const struct slow_reader_result *slow)
{
    const double(*points)[2] = slow->queue.items;
    double most = 0;

    for (size_t i = 0; i < slow->queue.count; i++)
        most = points[i][1] > most ? points[i][1] : most;
    return most / (double)slow->rcvbuf.granted;
}

/* A case that overflows in the middle tells more than one that never does or that loses nearly
 * all; of the others, the one whose buffer got fullest. */
static double telling(const struct slow_reader_result *slow)
{
    double loss = isnan(slow->loss_ratio) ? 0 : slow->loss_ratio;

    return (loss > 0 ? 2 + loss * (1 - loss) : 0) + deepest(slow) / 10;
}

/* Takes the place of the least telling one, whose order in the run is kept. */
static void choose(struct choice *choice, const struct experiment_result *result)
{
    size_t least = 0;

    choice->of++;
    if (choice->count < PANELS_MAX) {
        choice->cases[choice->count++] = result;
        return;
    }
    for (size_t i = 1; i < PANELS_MAX; i++) {
        if (telling(&choice->cases[i]->slow_reader) < telling(&choice->cases[least]->slow_reader))
            least = i;
    }
    if (telling(&result->slow_reader) <= telling(&choice->cases[least]->slow_reader))
        return;
    for (size_t i = least; i + 1 < PANELS_MAX; i++)
        choice->cases[i] = choice->cases[i + 1];
    choice->cases[PANELS_MAX - 1] = result;
}

static struct choice choice_of(const struct run *run)
{
    const struct experiment_result *result = NULL;
    struct choice choice = { .count = 0 };

    while ((result = figure_next(run, EXPERIMENT_SLOW_READER, result)) != NULL) {
        if (result->slow_reader.queue.count >= 2)
            choose(&choice, result);
    }
    return choice;
}

int queues_height(const struct run *run)
{
    size_t count = choice_of(run).count;

    return count == 0 ? 0 : PART_HEAD + (int)((count + COLUMNS - 1) / COLUMNS) * PANEL_HEIGHT;
}

/* --- one panel ------------------------------------------------------------------------------- */

static struct plot_frame frame_of(const struct slow_reader_result *slow, struct chart_box box)
{
    const double(*points)[2] = slow->queue.items;
    struct events events = events_of(slow);
    double end_s = points[slow->queue.count - 1][0], most = (double)slow->rcvbuf.granted;
    struct plot_frame frame = {
        .box = { box.x + FRAME_LEFT, box.y + HEAD + EVENTS * LANE,
                 box.width - FRAME_LEFT - FRAME_RIGHT, FRAME_HEIGHT },
        .name_x = plot_name_seconds,
        .name_room = FRAME_LEFT,
        .name_y = plot_name_bytes,
    };

    for (size_t i = 0; i < EVENTS; i++)
        end_s = events.t_s[i] > end_s ? events.t_s[i] : end_s;
    for (size_t i = 0; i < slow->queue.count; i++)
        most = points[i][1] > most ? points[i][1] : most;
    frame.x = plot_axis(PLOT_LINEAR, 0, end_s > 0 ? end_s : 1e-6);
    frame.y = plot_axis(PLOT_BYTES, 0, most * 1.12);
    plot_frame_fit(&frame);
    return frame;
}

/* A curve with at most four points for each pixel column: first, least, most, last. */
static void draw_curve(const struct plot_frame *frame, const struct plot_axis *y_axis,
                       const struct list *list, const char *class, struct buf *out)
{
    const double(*points)[2] = list->items;
    size_t room = 4 * (size_t)frame->box.width + 8, count = 0;
    struct chart_point *pixels = calloc(room, sizeof *pixels);
    struct chart_point least = { 0 }, most = { 0 }, last = { 0 };

    if (pixels == NULL)
        abort();
    for (size_t i = 0; i < list->count; i++) {
        struct chart_point at = { plot_place(&frame->x, points[i][0]),
                                  plot_place(y_axis, points[i][1]) };

        if (i == 0 || at.x != last.x) {
            if (i > 0 && count + 4 <= room) {
                pixels[count++] = least;
                pixels[count++] = most;
                pixels[count++] = last;
            }
            if (count < room)
                pixels[count++] = at;
            least = most = at;
        }
        least = at.y > least.y ? at : least;
        most = at.y < most.y ? at : most;
        last = at;
    }
    if (count + 3 <= room && list->count > 0) {
        pixels[count++] = least;
        pixels[count++] = most;
        pixels[count++] = last;
    }
    chart_polyline(out, pixels, count, class);
    free(pixels);
}

static void draw_events(const struct slow_reader_result *slow, const struct plot_frame *frame,
                        int left, struct buf *out)
{
    struct events events = events_of(slow);
    int bottom = frame->box.y + frame->box.height;

    for (int i = 0; i < EVENTS; i++) {
        int x = plot_place(&frame->x, events.t_s[i]), lane = frame->box.y - (EVENTS - i) * LANE + 5;
        int y = bottom + FOOT + (i + 1) * LANE;
        char text[CHART_LINE_SIZE], when[CHART_LINE_SIZE] = "";
        const char number[] = { (char)('1' + i), '\0' };

        if (!isnan(events.t_s[i])) {
            chart_line(out, (struct chart_point){ x, lane + 6 }, (struct chart_point){ x, bottom },
                       "event");
            chart_dot(out, (struct chart_point){ x, lane }, 6, "mark");
            chart_text(out, x, lane + 4, "small middle", number);
            plot_name_seconds(events.t_s[i], when);
        }
        chart_dot(out, (struct chart_point){ left + 7, y - 4 }, 6, "mark");
        chart_text(out, left + 7, y, "small middle", number);
        if (!isnan(events.t_s[i]))
            snprintf(text, sizeof text, "%s: %.60s", event_words[i], when);
        else if (i == 0 && slow->dropped.socket == NONE_INT)
            snprintf(text, sizeof text, "%s: not counted for sockets here", event_words[i]);
        else
            snprintf(text, sizeof text, "%s: %s", event_words[i], i == 0 ? "none" : "not seen");
        chart_text(out, left + 20, y, "small", text);
    }
}

static void draw_limit(const struct slow_reader_result *slow, const struct plot_frame *frame,
                       struct buf *out)
{
    int y = plot_place(&frame->y, (double)slow->rcvbuf.granted);

    chart_line(out, (struct chart_point){ frame->box.x, y },
               (struct chart_point){ frame->box.x + frame->box.width, y }, "limit");
}

static void put_alternative(const struct slow_reader_result *slow, struct buf *out)
{
    struct events events = events_of(slow);
    char text[CHART_LINE_SIZE];

    figure_pace(slow, text);
    buf_printf(out, "%s: %s of %s lost", text, grouped(slow->lost).text, grouped(slow->sent).text);
    for (size_t i = 0; i < EVENTS; i++) {
        if (isnan(events.t_s[i]))
            continue;
        plot_name_seconds(events.t_s[i], text);
        buf_printf(out, ", %s at %s", event_words[i], text);
    }
}

/* What the panel shows, in two lines. */
static void draw_caption(const struct slow_reader_result *slow, struct chart_box box,
                         struct buf *out)
{
    char text[CHART_LINE_SIZE], *buffer;

    figure_pace(slow, text);
    buffer = text;
    for (char *at = text; *at != '\0'; at++)
        buffer = *at == ',' ? at : buffer;
    *buffer = '\0'; /* the buffer's size goes to the second line */
    plot_line(out, (struct chart_box){ box.x, box.y + 12, box.width, 12 }, "", text);
    snprintf(text, sizeof text, "buffer %s, %s of %s lost", sized(slow->rcvbuf.granted).text,
             grouped(slow->lost).text, grouped(slow->sent).text);
    plot_line(out, (struct chart_box){ box.x, box.y + 29, box.width, 12 }, "muted", text);
}

static void draw_panel(const struct slow_reader_result *slow, struct chart_box box, struct buf *out)
{
    struct plot_frame frame = frame_of(slow, box);
    struct buf text;

    buf_init(&text, 2 * CHART_LINE_SIZE);
    put_alternative(slow, &text);
    chart_group_begin(out, buf_peek(&text));
    buf_done(&text);
    draw_caption(slow, box, out);
    plot_frame_draw(&frame, out);
    draw_limit(slow, &frame, out);
    if (slow->drops.count >= 2 && slow->dropped.socket > 0) {
        /* Ends below the line of the buffer's size. */
        struct plot_axis drops = plot_axis(PLOT_LINEAR, 0, (double)slow->dropped.socket * 1.3);

        drops.from = frame.y.from;
        drops.to = frame.y.to;
        draw_curve(&frame, &drops, &slow->drops, "drops", out);
    }
    draw_curve(&frame, &frame.y, &slow->queue, "queue", out);
    draw_events(slow, &frame, box.x, out);
    chart_group_end(out);
}

/* --- all of them ----------------------------------------------------------------------------- */

static void draw_head(const struct choice *choice, struct chart_box box, struct buf *out)
{
    static const struct {
        const char *class, *words;
    } lines[] = {
        { "queue", "bytes queued" },
        { "limit", "the buffer's size" },
        { "drops", "drops so far, 0 to all (scale of its own)" },
    };
    char title[CHART_LINE_SIZE] = "The queue over time";
    int x = box.x;

    if (choice->of > choice->count)
        snprintf(title, sizeof title, "The queue over time (the %zu most telling of %zu cases)",
                 choice->count, choice->of);
    plot_line(out, (struct chart_box){ box.x, box.y + 12, box.width, 17 }, "panel", title);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        chart_line(out, (struct chart_point){ x, box.y + 27 },
                   (struct chart_point){ x + 24, box.y + 27 }, lines[i].class);
        chart_text(out, x + 30, box.y + 31, "small muted", lines[i].words);
        x += 30 + chart_text_width(lines[i].words, 11) + 20;
    }
}

void queues_draw(const struct run *run, struct chart_box box, struct buf *out)
{
    struct choice choice = choice_of(run);
    int width = (box.width - (COLUMNS - 1) * GAP) / COLUMNS;

    draw_head(&choice, box, out);
    for (size_t i = 0; i < choice.count; i++)
        draw_panel(&choice.cases[i]->slow_reader,
                   (struct chart_box){ box.x + (int)(i % COLUMNS) * (width + GAP),
                                       box.y + PART_HEAD + (int)(i / COLUMNS) * PANEL_HEIGHT, width,
                                       PANEL_HEIGHT },
                   out);
}

void queues_describe(const struct run *run, struct buf *out)
{
    struct choice choice = choice_of(run);

    for (size_t i = 0; i < choice.count; i++) {
        buf_text(out, i == 0 ? "The queue over time: " : "; ");
        put_alternative(&choice.cases[i]->slow_reader, out);
    }
    buf_text(out, choice.count > 0 ? ". " : "");
}
