/* Owns what a cell says: the number or numbers, a mark and a word, and its text alternative. */
#include "controller/report/figure_cell.h"

#include <stdio.h>

#define MARK_PASS "\xe2\x9c\x93"
#define MARK_FAIL "\xe2\x9c\x97"
#define TIMES     "\xc3\x97"
#define DOT       " \xc2\xb7 "
#define DASH      "\xe2\x80\x93"

enum {
    PADDING = 4,
    NUMBER_FONT = 17, /* 15 pixels of a bold font are as wide as 17 of a plain one */
    SMALL_FONT = 11
};

static size_t counted(const struct cell *cell)
{
    return cell->passed + cell->failed;
}

/* Which share of the datagrams in flight was lost at most: 1 to 4. */
static int loss_level(const struct grid *grid, struct cell_at at, const struct cell *cell)
{
    double flight = (double)grid->plan->common.clients * (double)grid_window(grid, at.window);
    double share = (double)cell->lost_max / flight;

    return share <= 0.25 ? 1 : share <= 0.5 ? 2 : share <= 0.75 ? 3 : 4;
}

/* Each repeat's number when there is room for them, else the least and the greatest. */
static void numbers_text(const struct grid *grid, struct cell_at at, const struct cell *cell,
                         char out_text[CHART_LINE_SIZE])
{
    int room = CELL_WIDTH - 2 * PADDING;
    int used = 0;

    if (cell->lost_min == cell->lost_max) {
        snprintf(out_text, CHART_LINE_SIZE, "%s", grouped(cell->lost_max).text);
    } else {
        for (size_t r = 0, n = 0; r < cell->repeats && used < CHART_LINE_SIZE; r++) {
            const struct case_result *result = grid_case(grid, at, r);

            if (result == NULL || result->status == CASE_ERROR)
                continue;
            used += snprintf(out_text + used, CHART_LINE_SIZE - (size_t)used, "%s%s",
                             n++ == 0 ? "" : DOT, grouped(result->phases.measure.lost_echoes).text);
        }
        if (used >= CHART_LINE_SIZE || chart_text_width(out_text, SMALL_FONT) > room)
            snprintf(out_text, CHART_LINE_SIZE, "%s" DASH "%s", grouped(cell->lost_min).text,
                     grouped(cell->lost_max).text);
    }
    /* A number that is cut would be a wrong one. */
    if (chart_text_width(out_text, SMALL_FONT) > room)
        snprintf(out_text, CHART_LINE_SIZE, "%.1e", (double)cell->lost_max);
}

/* The line below the number: a mark, a word, and of how many repeats it is true. */
static void verdict_text(const struct cell *cell, char out_text[CHART_LINE_SIZE])
{
    const char *word = cell->reason != NULL && cell->lost_max == 0 ? cell->reason : "fail";
    const char *mark = cell->failed > 0 ? MARK_FAIL : MARK_PASS;

    if (cell->errors > 0)
        snprintf(out_text, CHART_LINE_SIZE, "! error in %zu of %zu", cell->errors, cell->repeats);
    else if (cell->failed > 0 && cell->passed > 0)
        snprintf(out_text, CHART_LINE_SIZE, "%s %s %zu of %zu", mark, word, cell->failed,
                 counted(cell));
    else if (counted(cell) != cell->repeats)
        snprintf(out_text, CHART_LINE_SIZE, "%s %zu of %zu run", mark, counted(cell),
                 cell->repeats);
    else if (cell->repeats == 1)
        snprintf(out_text, CHART_LINE_SIZE, "%s %s", mark, cell->failed > 0 ? word : "pass");
    else
        snprintf(out_text, CHART_LINE_SIZE, "%s %s " TIMES "%zu", mark,
                 cell->failed > 0 ? word : "pass", cell->repeats);
}

static void put_alternative(const struct grid *grid, struct cell_at at, const struct cell *cell,
                            struct buf *out)
{
    char numbers[CHART_LINE_SIZE] = "nothing known";

    if (counted(cell) > 0)
        numbers_text(grid, at, cell, numbers);
    buf_printf(out, "%s B, window %s: lost %s; %zu passed, %zu failed, %zu errors of %zu",
               grouped(grid_payload(grid, at.payload)).text,
               grouped(grid_window(grid, at.window)).text, numbers, cell->passed, cell->failed,
               cell->errors, cell->repeats);
    if (cell->first != NULL && cell->first->sockets.burst_capacity != NONE_INT)
        buf_printf(out, "; the receive buffer holds %s",
                   grouped(cell->first->sockets.burst_capacity).text);
}

static void draw_line(struct buf *out, struct chart_box box, int y, const char *const *classes,
                      const char *text)
{
    bool large = chart_text_width(text, NUMBER_FONT) <= box.width - 2 * PADDING;
    char class[64], line[CHART_LINE_SIZE];

    snprintf(class, sizeof class, "%s middle on-%s", large ? classes[0] : "small", classes[1]);
    chart_shorten(text, large ? NUMBER_FONT : SMALL_FONT, box.width - 2 * PADDING, line);
    chart_text(out, box.x + box.width / 2, y, class, line);
}

void cell_draw(const struct grid *grid, struct cell_at at, struct chart_box box, struct buf *out)
{
    struct cell cell = grid_cell(grid, at);
    struct chart_box inner = { box.x + 1, box.y + 1, box.width - 3, box.height - 3 };
    struct buf alternative;
    char class[16] = "pass", number[CHART_LINE_SIZE], text[CHART_LINE_SIZE];

    if (counted(&cell) + cell.errors == 0)
        snprintf(class, sizeof class, "none");
    else if (cell.errors > 0)
        snprintf(class, sizeof class, "error");
    else if (cell.failed > 0)
        snprintf(class, sizeof class, "loss%d", loss_level(grid, at, &cell));
    buf_init(&alternative, 2 * CHART_LINE_SIZE);
    put_alternative(grid, at, &cell, &alternative);
    chart_group_begin(out, buf_peek(&alternative));
    buf_done(&alternative);
    chart_rect(out, inner, class);
    if (counted(&cell) > 0)
        numbers_text(grid, at, &cell, number);
    else
        snprintf(number, sizeof number, "%s", cell.errors > 0 ? "error" : DASH);
    draw_line(out, box, box.y + 21, (const char *const[]){ "number", class }, number);
    if (counted(&cell) + cell.errors > 0) {
        verdict_text(&cell, text);
        draw_line(out, box, box.y + 38, (const char *const[]){ "small", class }, text);
    }
    chart_group_end(out);
}
