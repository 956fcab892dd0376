/* Owns one-way delays between two hosts: those that the clocks allow to be told, over the repeats
 * of a cell, and why the others are withheld. */
#include <stdio.h>

#include "controller/report/terminal_parts.h"

enum { TEXT_BYTES = 1024 };

/* Of one leg, over the cases of a cell that have it. */
struct span {
    int64_t count;
    int64_t min, mean, max; /* mean: of the cases' means */
    int64_t error;          /* the largest */
};

static void span_add(struct span *span, const struct delay *delay, int64_t error)
{
    if (!delay->present)
        return;
    if (span->count++ == 0)
        *span = (struct span){ 1, delay->min, delay->mean, delay->max, error };
    if (delay->min < span->min)
        span->min = delay->min;
    if (delay->max > span->max)
        span->max = delay->max;
    if (error > span->error)
        span->error = error;
    span->mean += (delay->mean - span->mean) / span->count; /* none is negative: they have passed */
}

static void put_span(struct page *page, const char *label, const char *leg, const struct span *span)
{
    if (span->count > 0)
        buf_printf(page->out, "%18s  %-8s %12s %12s %12s %12s\n", label, leg,
                   lasting(span->min).text, lasting(span->mean).text, lasting(span->max).text,
                   lasting(span->error).text);
}

static bool cell_spans(const struct page *page, struct cell_at at, struct span spans[2])
{
    spans[0] = spans[1] = (struct span){ .count = 0 };
    for (size_t r = 0; r < (size_t)page->run->plan.repeats; r++) {
        const struct case_result *result = grid_case(&page->grid, at, r);

        if (result == NULL || result->status == CASE_ERROR || !result->one_way_ns.present)
            continue;
        span_add(&spans[0], &result->one_way_ns.forward, result->one_way_ns.error_ns);
        span_add(&spans[1], &result->one_way_ns.reverse, result->one_way_ns.error_ns);
    }
    return spans[0].count + spans[1].count > 0;
}

static void put_table(struct page *page)
{
    size_t rows = 0, last_engine = SIZE_MAX;
    struct span spans[2];

    for (struct cell_at at = { 0 }; grid_has(&page->grid, at); at = grid_next(&page->grid, at)) {
        if (!cell_spans(page, at, spans) || ++rows > ROWS_MAX)
            continue;
        if (rows == 1)
            buf_printf(page->out, "%18s  %-8s %12s %12s %12s %12s\n", "payload x window", "leg",
                       "min", "mean", "max", "+/-");
        page_engine_line(page, at, &last_engine);
        put_span(page, page_label(page, at).text, "forward", &spans[0]);
        put_span(page, spans[0].count > 0 ? "" : page_label(page, at).text, "reverse", &spans[1]);
    }
    if (rows > ROWS_MAX)
        buf_printf(page->out, "%18s %zu more cells\n", "...", rows - ROWS_MAX);
}

static void put_reason(struct page *page, size_t count, size_t told, const char *reason)
{
    struct page part = *page;
    struct buf text;

    buf_init(&text, TEXT_BYTES);
    buf_printf(&text, "Withheld in %zu of %zu cases%s: ", count, told,
               count > 1 ? "; the first says" : "");
    part.out = &text;
    page_outside(&part, reason);
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

/* The reason of one case for all: reasons differ by what the clocks' error happens to be. */
static void put_withheld(struct page *page, size_t told)
{
    const struct case_result *cases = page->run->cases.items;
    const struct case_result *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < page->run->cases.count; i++) {
        const struct one_way *one_way = &cases[i].one_way_ns;

        if (cases[i].status == CASE_ERROR || !one_way->present || one_way->withheld[0] == '\0')
            continue;
        if (count++ == 0)
            first = &cases[i];
    }
    if (first != NULL)
        put_reason(page, count, told, first->one_way_ns.withheld);
}

void terminal_one_way(struct page *page)
{
    const struct case_result *cases = page->run->cases.items;
    size_t told = 0;

    for (size_t i = 0; i < page->run->cases.count; i++)
        told += cases[i].status != CASE_ERROR && cases[i].one_way_ns.present;
    if (told == 0)
        return;
    page_heading(page, "One-way delay, by both hosts' clocks, +/- their error together");
    put_table(page);
    put_withheld(page, told);
}
