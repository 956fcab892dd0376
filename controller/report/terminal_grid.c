/* Owns the grid of a run as text: payload x window, a word for each cell. */
#include <stdio.h>
#include <string.h>

#include "controller/report/terminal_parts.h"

enum { CELL_TEXT = 128, LABEL_COLUMNS = 11, CELL_COLUMNS_MIN = 11 };

static void lost_text(const struct cell *cell, char out_text[CELL_TEXT])
{
    if (cell->lost_min == cell->lost_max)
        snprintf(out_text, CELL_TEXT, "%s", grouped(cell->lost_max).text);
    else
        snprintf(out_text, CELL_TEXT, "%s-%s", grouped(cell->lost_min).text,
                 grouped(cell->lost_max).text);
}

/* "pass", "512 x3 FAIL", "498-520 FAIL", "0-3 FAIL 1/3", "late FAIL", "error 1/3", "-". */
static enum ink cell_text(const struct cell *cell, char out_text[CELL_TEXT])
{
    size_t counted = cell->passed + cell->failed;
    char lost[CELL_TEXT];

    if (cell->errors > 0) {
        snprintf(out_text, CELL_TEXT, "error %zu/%zu", cell->errors, cell->repeats);
        return INK_BAD;
    }
    if (counted == 0) {
        snprintf(out_text, CELL_TEXT, "-");
        return INK_MUTED;
    }
    if (cell->failed == 0) {
        snprintf(out_text, CELL_TEXT, "pass");
        return INK_GOOD;
    }
    lost_text(cell, lost);
    if (cell->lost_max == 0)
        snprintf(lost, sizeof lost, "%s", cell->reason);
    if (cell->passed > 0)
        snprintf(out_text, CELL_TEXT, "%.60s FAIL %zu/%zu", lost, cell->failed, counted);
    else if (cell->alike && counted > 1)
        snprintf(out_text, CELL_TEXT, "%.60s x%zu FAIL", lost, counted);
    else
        snprintf(out_text, CELL_TEXT, "%.60s FAIL", lost);
    return INK_BAD;
}

/* All columns are as wide as the widest cell needs. */
static int cell_columns(const struct page *page, size_t engine)
{
    int columns = CELL_COLUMNS_MIN;
    char text[CELL_TEXT];

    for (struct cell_at at = { .engine = engine }; at.engine == engine;
         at = grid_next(&page->grid, at)) {
        struct cell cell = grid_cell(&page->grid, at);

        cell_text(&cell, text);
        if ((int)strlen(text) + 2 > columns)
            columns = (int)strlen(text) + 2;
        snprintf(text, sizeof text, "window %s", grouped(grid_window(&page->grid, at.window)).text);
        if ((int)strlen(text) + 2 > columns)
            columns = (int)strlen(text) + 2;
    }
    return columns;
}

static void put_row(struct page *page, struct cell_at at, size_t last, int columns)
{
    char text[CELL_TEXT];

    snprintf(text, sizeof text, "%s B", grouped(grid_payload(&page->grid, at.payload)).text);
    buf_printf(page->out, "%*s", LABEL_COLUMNS, text);
    for (; at.window < last; at.window++) {
        struct cell cell = grid_cell(&page->grid, at);
        enum ink ink = cell_text(&cell, text);

        page_ink(page, ink, columns, text);
    }
    buf_text(page->out, "\n");
}

/* Windows `first` to `last` - 1 of an engine: what fits beside each other. */
static void put_block(struct page *page, struct cell_at first, size_t last, int columns)
{
    char text[CELL_TEXT];

    buf_printf(page->out, "%*s", LABEL_COLUMNS, "payload");
    for (size_t w = first.window; w < last; w++) {
        snprintf(text, sizeof text, "window %s", grouped(grid_window(&page->grid, w)).text);
        page_ink(page, INK_MUTED, columns, text);
    }
    buf_text(page->out, "\n");
    for (size_t p = 0; p < page->run->plan.payloads.count; p++) {
        first.payload = p;
        put_row(page, first, last, columns);
    }
}

static void put_engine(struct page *page, size_t engine)
{
    int columns = cell_columns(page, engine);
    size_t windows = page->run->plan.windows.count;
    size_t fit = (size_t)((PAGE_COLUMNS - LABEL_COLUMNS) / columns);

    if (fit == 0)
        fit = 1;
    if (page->run->plan.engines.count > 1)
        buf_printf(page->out, "  engine %s\n", engine_names[grid_engine(&page->grid, engine)]);
    for (size_t w = 0; w < windows; w += fit) {
        struct cell_at at = { .engine = engine, .window = w };

        put_block(page, at, w + fit < windows ? w + fit : windows, columns);
    }
}

void terminal_grid(struct page *page)
{
    size_t passed = 0, failed = 0, errors = 0;
    const struct case_result *cases = page->run->cases.items;

    page_heading(page, page->run->plan.repeats > 1
                           ? "Lost echoes of the measure phase (xN: N repeats, each the same)"
                           : "Lost echoes of the measure phase");
    for (size_t i = 0; i < page->run->plan.engines.count; i++)
        put_engine(page, i);
    for (size_t i = 0; i < page->run->cases.count; i++) {
        passed += cases[i].status == CASE_PASS;
        failed += cases[i].status == CASE_FAIL;
        errors += cases[i].status == CASE_ERROR;
    }
    buf_printf(page->out, "  %zu pass, %zu fail", passed, failed);
    if (errors > 0)
        buf_printf(page->out, ", %zu error", errors);
    if (page->run->cases.count < page->grid.count)
        buf_printf(page->out, ", %zu not reached", page->grid.count - page->run->cases.count);
    buf_text(page->out, "\n");
}
