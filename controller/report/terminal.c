/* Owns the page: its head, the order of the sections, ink and wrapping. Knows no numbers. */
#include "controller/report/terminal.h"

#include <stdio.h>
#include <string.h>

#include "controller/report/terminal_parts.h"
#include "proto/base/utf8.h"

void page_ink(struct page *page, enum ink ink, int columns, const char *text)
{
    static const char *const codes[] = { "", "\x1b[1m", "\x1b[32m", "\x1b[1;31m", "\x1b[2m" };
    int length = (int)strlen(text);

    if (columns > length)
        buf_printf(page->out, "%*s", columns - length, "");
    if (page->style.color && ink != INK_PLAIN)
        buf_printf(page->out, "%s%s\x1b[0m", codes[ink], text);
    else
        buf_text(page->out, text);
}

void page_heading(struct page *page, const char *text)
{
    buf_text(page->out, "\n");
    page_ink(page, INK_HEAD, 0, text);
    buf_text(page->out, "\n");
}

void page_paragraph(struct page *page, const char *text)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t word = strcspn(text, " ");

        if (column > 0 && column + 1 + word > PAGE_COLUMNS) {
            buf_text(page->out, "\n");
            column = 0;
        }
        if (column > 0)
            buf_text(page->out, " ");
        buf_append(page->out, text, word);
        column += word + (column > 0);
        text += word;
        text += strspn(text, " ");
    }
    buf_text(page->out, "\n");
}

/* C1 control characters and what turns the reading direction around, as UTF-8 has them. */
static bool steers_terminal(const unsigned char *at)
{
    if (at[0] == 0xc2)
        return at[1] >= 0x80 && at[1] <= 0x9f;
    if (at[0] == 0xe2 && at[1] == 0x80)
        return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae);
    return at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
}

void page_outside(struct page *page, const char *text)
{
    bool utf8 = page->style.utf8 && utf8_is_valid(text, strlen(text));

    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at < 0x20 || *at == 0x7f || (*at >= 0x80 && !utf8)) {
            /* One mark for one character, not for each of its bytes. */
            if ((*at & 0xc0) != 0x80)
                buf_text(page->out, "?");
        } else if (*at >= 0x80 && steers_terminal(at)) {
            buf_text(page->out, "?");
            while ((at[1] & 0xc0) == 0x80)
                at++;
        } else {
            buf_append(page->out, at, 1);
        }
    }
}

void page_words(struct page *page, int column, const char *text)
{
    int at = column;
    char word[PAGE_COLUMNS + 1];

    while (*text != '\0') {
        size_t length = strcspn(text, " ");

        if (length >= sizeof word)
            length = sizeof word - 1; /* it is cut where a line ends */
        memcpy(word, text, length);
        word[length] = '\0';
        if (at > column && at + 1 + (int)length > PAGE_COLUMNS) {
            buf_printf(page->out, "\n%*s", column, "");
            at = column;
        }
        buf_text(page->out, at > column ? " " : "");
        at += (int)length + (at > column);
        page_outside(page, word);
        text += length;
        text += strspn(text, " ");
    }
    buf_text(page->out, "\n");
}

const struct host *page_host(const struct page *page)
{
    return (const struct host *)page->run->hosts.items + page->host;
}

struct label page_label(const struct page *page, struct cell_at at)
{
    struct label label;

    snprintf(label.text, sizeof label.text, "%s B x %s",
             grouped(grid_payload(&page->grid, at.payload)).text,
             grouped(grid_window(&page->grid, at.window)).text);
    return label;
}

struct cell_sum page_sum(const struct page *page, struct cell_at at)
{
    struct cell_sum sum = { .lost_echoes = 0 };

    for (size_t r = 0; r < (size_t)page->run->plan.repeats; r++) {
        const struct case_result *result = grid_case(&page->grid, at, r);

        if (result == NULL || result->status == CASE_ERROR)
            continue;
        leg_add(&sum.forward, &result->phases.measure.forward);
        leg_add(&sum.reverse, &result->phases.measure.reverse);
        sum.lost_echoes = count_add(sum.lost_echoes, result->phases.measure.lost_echoes);
    }
    return sum;
}

void page_engine_line(struct page *page, struct cell_at at, size_t *last_engine)
{
    if (page->run->plan.engines.count > 1 && *last_engine != at.engine)
        buf_printf(page->out, "  engine %s\n", engine_names[grid_engine(&page->grid, at.engine)]);
    *last_engine = at.engine;
}

const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

void page_system(struct page *page, const struct host *host)
{
    page_outside(page, host->name);
    buf_text(page->out, ", ");
    page_outside(page, host->os);
    buf_text(page->out, " ");
    page_outside(page, host->os_release);
    buf_text(page->out, " ");
    page_outside(page, host->arch);
}

void page_title(struct page *page)
{
    const struct run *run = page->run;
    const struct host *host = page_host(page);
    char head[64];

    snprintf(head, sizeof head, "UDP %s on ", run_kind_names[run->kind]);
    page_ink(page, INK_HEAD, 0, head);
    page_system(page, host);
    buf_printf(page->out, ", %s%s\n", run->started, run->interrupted ? " (interrupted)" : "");
}

void page_plan(struct page *page)
{
    const struct plan *plan = &page->run->plan;
    const struct case_common *common = &plan->common;
    struct buf text;

    buf_init(&text, 2048);
    buf_printf(&text, "%zu case%s: %zu payload%s x %zu window%s x %lld repeat%s",
               page->run->cases.count, plural((int64_t)page->run->cases.count),
               plan->payloads.count, plural((int64_t)plan->payloads.count), plan->windows.count,
               plural((int64_t)plan->windows.count), (long long)plan->repeats,
               plural(plan->repeats));
    for (size_t i = 0; i < plan->engines.count; i++)
        buf_printf(&text, "%s%s", i == 0 ? ", engine " : " and ",
                   engine_names[grid_engine(&page->grid, i)]);
    buf_printf(&text, "; %s client%s, %s, %lld I/O thread%s, %s; %s s after %s s of warm-up",
               grouped(common->clients).text, plural(common->clients),
               io_model_names[common->io_model], (long long)common->io_threads,
               plural(common->io_threads), common->family == FAMILY_IPV4 ? "IPv4" : "IPv6",
               seconds_text(common->seconds).text, seconds_text(common->warmup_s).text);
    if (common->work_ns > 0)
        buf_printf(&text, "; %s of work for each datagram", lasting(common->work_ns).text);
    if (common->interval_ns > 0)
        buf_printf(&text, "; one window per client each %s", lasting(common->interval_ns).text);
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

void page_errors(struct page *page)
{
    const struct case_result *cases = page->run->cases.items;
    size_t errors = 0;

    for (size_t i = 0; i < page->run->cases.count; i++) {
        if (cases[i].status != CASE_ERROR)
            continue;
        if (errors++ == 0)
            page_heading(page, "Cases that could not be measured");
        if (errors > ROWS_MAX)
            continue;
        buf_printf(page->out,
                   "  %s B, window %s, repeat %lld, %s: ", grouped(cases[i].params.payload).text,
                   grouped(cases[i].params.window).text, (long long)cases[i].params.repeat,
                   engine_names[cases[i].params.engine]);
        page_outside(page, cases[i].error);
        buf_text(page->out, "\n");
    }
    if (errors > ROWS_MAX)
        buf_printf(page->out, "  ... and %zu more\n", errors - ROWS_MAX);
}

void terminal_loopback(const struct run *run, struct terminal_style style, struct buf *out_text)
{
    struct page page = { .run = run, .style = style, .out = out_text };

    grid_init(&page.grid, run);
    page_title(&page);
    page_plan(&page);
    terminal_grid(&page);
    terminal_story(&page);
    page_errors(&page);
    terminal_account(&page);
    terminal_fragments(&page);
    terminal_bursts(&page);
    terminal_sockets(&page);
    terminal_kernel(&page);
    terminal_rates(&page);
    terminal_advice(&page);
    grid_done(&page.grid);
}

void terminal_run(const struct run *run, struct terminal_style style, struct buf *out_text)
{
    if (run->kind == RUN_BUFFERS)
        terminal_buffers(run, style, out_text);
    else if (run->kind == RUN_PAIR)
        terminal_pair(run, style, out_text);
    else if (run->kind == RUN_MTU)
        terminal_mtu(run, style, out_text);
    else
        terminal_loopback(run, style, out_text);
}
