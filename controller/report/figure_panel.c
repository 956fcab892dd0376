/* Owns one panel: caption, the grid of cells, what stands under it. Knows no other panel. */
#include "controller/report/figure_panel.h"

#include <stdio.h>
#include <string.h>

#include "controller/report/chart.h"
#include "controller/report/figure_cell.h"

enum {
    PANEL_FONT = 17,       /* 15 pixels of a bold font are as wide as 17 of a plain one */
    PANEL_WIDTH_MIN = 430, /* so that the caption's lines fit */
    ROW_LABEL = 86,
    CAPTION_LINE = 17,
    CAPTION_LINES = 4,
    CAPTION_HEIGHT = 20 + CAPTION_LINES * CAPTION_LINE + 12,
    COLUMN_HEAD = 42,
    FOOT_HEIGHT = 44,
};

void panel_init(struct panel *panel, const struct run *run, size_t engine)
{
    int cells = ROW_LABEL + (int)run->plan.windows.count * CELL_WIDTH;

    *panel = (struct panel){ .run = run, .engine = engine };
    grid_init(&panel->grid, run);
    panel->width = cells > PANEL_WIDTH_MIN ? cells : PANEL_WIDTH_MIN;
    panel->height =
        CAPTION_HEIGHT + COLUMN_HEAD + (int)run->plan.payloads.count * CELL_HEIGHT + FOOT_HEIGHT;
}

void panel_done(struct panel *panel)
{
    grid_done(&panel->grid);
}

struct tally {
    size_t passed, failed, errors, missing;
    int64_t lost;
};

static struct tally tally_of(const struct panel *panel)
{
    struct tally tally = { 0 };
    struct cell_at at = { .engine = panel->engine };

    for (at.payload = 0; at.payload < panel->run->plan.payloads.count; at.payload++) {
        for (at.window = 0; at.window < panel->run->plan.windows.count; at.window++) {
            struct cell cell = grid_cell(&panel->grid, at);

            tally.passed += cell.passed;
            tally.failed += cell.failed;
            tally.errors += cell.errors;
            tally.missing += cell.repeats - cell.passed - cell.failed - cell.errors;
            for (size_t r = 0; r < cell.repeats; r++) {
                const struct case_result *result = grid_case(&panel->grid, at, r);

                if (result != NULL && result->status != CASE_ERROR)
                    tally.lost = count_add(tally.lost, result->phases.measure.lost_echoes);
            }
        }
    }
    return tally;
}

static const struct host *host_of(const struct run *run)
{
    return run->hosts.items;
}

static void tally_text(const struct panel *panel, struct buf *out)
{
    struct tally tally = tally_of(panel);

    buf_printf(out, "%zu pass, %zu fail", tally.passed, tally.failed);
    if (tally.errors > 0)
        buf_printf(out, ", %zu error", tally.errors);
    if (tally.missing > 0)
        buf_printf(out, ", %zu not reached", tally.missing);
    buf_printf(out, "; %s echoes lost", grouped(tally.lost).text);
}

void panel_describe(const struct panel *panel, struct buf *out)
{
    buf_printf(out, "%s, engine %s: ", host_of(panel->run)->name,
               engine_names[grid_engine(&panel->grid, panel->engine)]);
    tally_text(panel, out);
    buf_text(out, ". ");
}

/* A line that fits into `width`. */
static void line_at(struct buf *out, struct chart_box at, const char *class, const char *text)
{
    char line[CHART_LINE_SIZE];

    chart_shorten(text, at.height, at.width, line);
    chart_text(out, at.x, at.y, class, line);
}

/* The buffers of the first case that has them; all cases of a plan ask for the same. */
static const struct case_sockets *sockets_of(const struct run *run)
{
    const struct case_result *cases = run->cases.items;

    for (size_t i = 0; i < run->cases.count; i++) {
        if (cases[i].status != CASE_ERROR && cases[i].sockets.present)
            return &cases[i].sockets;
    }
    return NULL;
}

static void caption_line(const struct run *run, int number, char out_text[CHART_LINE_SIZE])
{
    const struct host *host = host_of(run);
    const struct case_common *common = &run->plan.common;
    const struct case_sockets *sockets = sockets_of(run);
    size_t size = CHART_LINE_SIZE;

    out_text[0] = '\0';
    if (number == 0) {
        snprintf(out_text, size, "%s %s, %s", host->os, host->os_release, host->arch);
    } else if (number == 1) {
        snprintf(out_text, size, "%.10s, %s, %s%s%s", run->started, run_kind_names[run->kind],
                 common->family == FAMILY_IPV4 ? "IPv4" : "IPv6",
                 host->interface.name[0] != '\0' ? " on " : "", host->interface.name);
    } else if (number == 2) {
        snprintf(out_text, size, "%s client%s, %s, %lld thread%s, %s s after %s s of warm-up",
                 grouped(common->clients).text, common->clients == 1 ? "" : "s",
                 io_model_names[common->io_model], (long long)common->io_threads,
                 common->io_threads == 1 ? "" : "s", seconds_text(common->seconds).text,
                 seconds_text(common->warmup_s).text);
    } else if (sockets != NULL) {
        snprintf(out_text, size, "receive buffer %s asked, %s granted; send %s",
                 sized(sockets->rcvbuf.asked).text, sized(sockets->rcvbuf.granted).text,
                 sized(sockets->sndbuf.granted).text);
    }
}

static void draw_caption(const struct panel *panel, int width, struct buf *out)
{
    const struct run *run = panel->run;
    char text[CHART_LINE_SIZE], name[CHART_LINE_SIZE];

    snprintf(text, sizeof text, " \xc2\xb7 engine %s%s",
             engine_names[grid_engine(&panel->grid, panel->engine)],
             run->interrupted ? " \xc2\xb7 interrupted" : "");
    /* The name gives way, not what the panel is about. */
    chart_shorten(host_of(run)->name, PANEL_FONT, width - chart_text_width(text, PANEL_FONT), name);
    memmove(name + strlen(name), text,
            strlen(text) + 1 <= sizeof name - strlen(name) ? strlen(text) + 1 : 0);
    line_at(out, (struct chart_box){ panel->x, panel->y + 14, width, PANEL_FONT }, "panel", name);
    for (int i = 0; i < CAPTION_LINES; i++) {
        caption_line(run, i, text);
        line_at(out, (struct chart_box){ panel->x, panel->y + 36 + i * CAPTION_LINE, width, 12 },
                "muted", text);
    }
}

static void draw_column_heads(const struct panel *panel, struct buf *out)
{
    int y = panel->y + CAPTION_HEIGHT;

    chart_text(out, panel->x, y + 14, "small muted", "payload");
    chart_text(out, panel->x, y + 30, "small muted", "per datagram");
    for (size_t i = 0; i < panel->run->plan.windows.count; i++) {
        int64_t window = grid_window(&panel->grid, i);
        int middle = panel->x + ROW_LABEL + (int)i * CELL_WIDTH + CELL_WIDTH / 2;
        int64_t outstanding = count_multiply(window, panel->run->plan.common.clients);
        char text[CHART_LINE_SIZE];

        snprintf(text, sizeof text, "window %s", grouped(window).text);
        chart_text(out, middle, y + 14, "label middle", text);
        snprintf(text, sizeof text, "%s in flight", grouped(outstanding).text);
        chart_text(out, middle, y + 30, "small muted middle", text);
    }
}

static void draw_cells(const struct panel *panel, struct buf *out)
{
    int top = panel->y + CAPTION_HEIGHT + COLUMN_HEAD;
    struct cell_at at = { .engine = panel->engine };

    for (at.payload = 0; at.payload < panel->run->plan.payloads.count; at.payload++) {
        int y = top + (int)at.payload * CELL_HEIGHT;
        char text[CHART_LINE_SIZE];

        snprintf(text, sizeof text, "%s B", grouped(grid_payload(&panel->grid, at.payload)).text);
        chart_text(out, panel->x + ROW_LABEL - 12, y + CELL_HEIGHT / 2 + 4, "label end", text);
        for (at.window = 0; at.window < panel->run->plan.windows.count; at.window++)
            cell_draw(&panel->grid, at,
                      (struct chart_box){ panel->x + ROW_LABEL + (int)at.window * CELL_WIDTH, y,
                                          CELL_WIDTH, CELL_HEIGHT },
                      out);
    }
}

static const char *counter_text(const struct counters *counters, enum counter counter,
                                struct quantity *room)
{
    if (counters->value[counter] == NONE_INT)
        return "not known";
    *room = grouped(counters->value[counter]);
    return room->text;
}

static void draw_foot(const struct panel *panel, int width, struct buf *out)
{
    int y = panel->y + panel->height - FOOT_HEIGHT;
    bool v4 = panel->run->plan.common.family == FAMILY_IPV4;
    const struct counters *delta = &host_of(panel->run)->counters.delta;
    struct quantity full, fragments, reassembled;
    char text[CHART_LINE_SIZE];
    struct buf line;

    buf_init(&line, CHART_LINE_SIZE - 1);
    tally_text(panel, &line);
    line_at(out, (struct chart_box){ panel->x, y + 20, width, 12 }, "", buf_peek(&line));
    buf_done(&line);
    snprintf(text, sizeof text, "kernel, whole run: buffer full %s; fragmented %s, reassembled %s",
             counter_text(delta, buffer_full_counter(panel->run), &full),
             counter_text(delta, v4 ? IP_FRAGMENTS_CREATED : IP6_FRAGMENTS_CREATED, &fragments),
             counter_text(delta, v4 ? IP_REASSEMBLED : IP6_REASSEMBLED, &reassembled));
    line_at(out, (struct chart_box){ panel->x, y + 37, width, 12 }, "muted", text);
}

void panel_draw(const struct panel *panel, int width, struct buf *out)
{
    draw_caption(panel, width, out);
    draw_column_heads(panel, out);
    draw_cells(panel, out);
    draw_foot(panel, width, out);
}
