/* Owns the page of a buffers run: its head, the order of its sections, the cases that could not be
 * measured. */
#include <math.h>
#include <stdio.h>

#include "controller/report/terminal_parts.h"

const struct experiment_result *page_next(const struct page *page, enum experiment experiment,
                                          const struct experiment_result *last)
{
    const struct experiment_result *results = page->run->experiments.items;
    size_t i = last == NULL ? 0 : (size_t)(last - results) + 1;

    for (; i < page->run->experiments.count; i++) {
        /* A rung that the kernel refused is an answer; any other error is none. */
        if (results[i].experiment == experiment &&
            (results[i].error[0] == '\0' || experiment == EXPERIMENT_LADDER))
            return &results[i];
    }
    return NULL;
}

struct quantity grouped_or_dash(int64_t value)
{
    return value == NONE_INT ? (struct quantity){ "-" } : grouped(value);
}

struct quantity percent(double ratio)
{
    struct quantity quantity = { "-" };

    if (!isnan(ratio))
        snprintf(quantity.text, sizeof quantity.text, "%.1f %%", ratio * 100);
    return quantity;
}

struct quantity lasting_s(double seconds)
{
    if (isnan(seconds))
        return (struct quantity){ "-" };
    return seconds < 9e9 ? lasting((int64_t)(seconds * 1e9 + 0.5)) : (struct quantity){ "huge" };
}

static void put_plan(struct page *page)
{
    const struct buffers_plan *plan = &page->run->buffers_plan;
    struct buf text;

    buf_init(&text, 1024);
    buf_printf(&text, "%zu case%s, %s:", page->run->experiments.count,
               plural((int64_t)page->run->experiments.count),
               plan->family == FAMILY_IPV4 ? "IPv4" : "IPv6");
    for (size_t i = 0; i < plan->experiments.count; i++)
        buf_printf(&text, "%s %s", i == 0 ? "" : ",",
                   experiment_names[((const int *)plan->experiments.items)[i]]);
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

static void put_story(struct page *page)
{
    page_heading(page, "What this is about");
    page_paragraph(
        page,
        "What arrives for a UDP socket waits in its receive buffer until the program reads it. "
        "When the buffer is full, the kernel throws away what arrives next; the sender is not "
        "told. How much a buffer holds, how long it lasts and who counts what it drops is measured "
        "here.");
}

static void put_case(struct page *page, const struct experiment_result *result)
{
    const struct slow_reader_result *slow = &result->slow_reader;

    buf_printf(page->out, "  %s", experiment_names[result->experiment]);
    if (result->experiment == EXPERIMENT_HOLD)
        buf_printf(page->out, " %s B", grouped(result->hold.payload).text);
    if (result->experiment == EXPERIMENT_SWEEP)
        buf_printf(page->out, ", buffer of %s asked", grouped(result->hold.rcvbuf.asked).text);
    if (result->experiment == EXPERIMENT_SLOW_READER) {
        buf_printf(page->out, ", reader %s, ", lasting(slow->read_ns).text);
        if (slow->interval_ns == 0)
            buf_text(page->out, "full speed, ");
        else
            buf_printf(page->out, "one per %s, ", lasting(slow->interval_ns).text);
        if (slow->rcvbuf.asked == 0)
            buf_text(page->out, "default buffer");
        else
            buf_printf(page->out, "buffer of %s asked", grouped(slow->rcvbuf.asked).text);
    }
    buf_text(page->out, ": ");
    page_outside(page, result->error);
    buf_text(page->out, "\n");
}

static void put_errors(struct page *page)
{
    const struct experiment_result *results = page->run->experiments.items;
    size_t errors = 0;

    for (size_t i = 0; i < page->run->experiments.count; i++) {
        if (results[i].error[0] == '\0' || results[i].experiment == EXPERIMENT_LADDER)
            continue;
        if (errors++ == 0)
            page_heading(page, "Cases that could not be measured");
        if (errors <= ROWS_MAX)
            put_case(page, &results[i]);
    }
    if (errors > ROWS_MAX)
        buf_printf(page->out, "  ... and %zu more\n", errors - ROWS_MAX);
}

void terminal_buffers(const struct run *run, struct terminal_style style, struct buf *out_text)
{
    struct page page = { .run = run, .style = style, .out = out_text };

    page_title(&page);
    put_plan(&page);
    put_story(&page);
    put_errors(&page);
    terminal_ladder(&page);
    terminal_hold(&page);
    terminal_sweep(&page);
    terminal_slow_reader(&page);
    terminal_closed_port(&page);
    terminal_idle(&page);
    terminal_kernel(&page);
}
