/* Owns throughput and round-trip times: of cases that passed only, medians over the repeats. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/report/terminal_parts.h"

struct rates {
    size_t count;
    double *echoes; /* per second, of each repeat that passed */
    int64_t *p50, *p99;
    int64_t max;
};

static int compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int compare_int(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void gather(const struct page *page, struct cell_at at, struct rates *rates)
{
    rates->count = 0;
    rates->max = 0;
    for (size_t r = 0; r < (size_t)page->run->plan.repeats; r++) {
        const struct case_result *result = grid_case(&page->grid, at, r);

        if (result == NULL || result->status != CASE_PASS)
            continue;
        rates->echoes[rates->count] = result->phases.measure.echoes_per_second;
        rates->p50[rates->count] = result->rtt_ns.p50;
        rates->p99[rates->count] = result->rtt_ns.p99;
        if (result->rtt_ns.max > rates->max)
            rates->max = result->rtt_ns.max;
        rates->count++;
    }
    qsort(rates->echoes, rates->count, sizeof *rates->echoes, compare_real);
    qsort(rates->p50, rates->count, sizeof *rates->p50, compare_int);
    qsort(rates->p99, rates->count, sizeof *rates->p99, compare_int);
}

static struct quantity time_text(int64_t ns)
{
    struct quantity none = { "-" };

    return ns == NONE_INT ? none : lasting(ns);
}

/* The lower one of the two in the middle: a value that was measured. */
static void put_rates(struct page *page, struct cell_at at, const struct rates *rates)
{
    size_t middle = (rates->count - 1) / 2;
    double echoes = rates->echoes[middle];
    double bits = echoes * (double)grid_payload(&page->grid, at.payload) * 8;
    buf_printf(page->out, "%18s %13s %12.3f %12s %12s %12s\n", page_label(page, at).text,
               grouped((int64_t)(echoes + 0.5)).text, bits / 1e9,
               time_text(rates->p50[middle]).text, time_text(rates->p99[middle]).text,
               time_text(rates->max).text);
}

void terminal_rates(struct page *page)
{
    size_t repeats = (size_t)page->run->plan.repeats;
    size_t rows = 0, last_engine = SIZE_MAX;
    struct rates rates = { .echoes = calloc(repeats, sizeof *rates.echoes),
                           .p50 = calloc(repeats, sizeof *rates.p50),
                           .p99 = calloc(repeats, sizeof *rates.p99) };

    if (rates.echoes == NULL || rates.p50 == NULL || rates.p99 == NULL)
        abort();
    for (struct cell_at at = { 0 }; grid_has(&page->grid, at); at = grid_next(&page->grid, at)) {
        gather(page, at, &rates);
        if (rates.count == 0 || ++rows > ROWS_MAX)
            continue;
        if (rows == 1) {
            page_heading(page, repeats > 1 ? "Cases that passed (medians over the repeats; the "
                                             "longest RTT of all)"
                                           : "Cases that passed");
            buf_printf(page->out, "%18s %13s %12s %12s %12s %12s\n", "payload x window", "echoes/s",
                       "Gbit/s each", "RTT p50", "p99", "max");
        }
        page_engine_line(page, at, &last_engine);
        put_rates(page, at, &rates);
    }
    if (rows > ROWS_MAX)
        buf_printf(page->out, "%18s %zu more cells passed\n", "...", rows - ROWS_MAX);
    free(rates.echoes);
    free(rates.p50);
    free(rates.p99);
}
