/* Owns "where the datagrams went": each leg of the cells that failed, and of all cells together;
 * and the first burst beside its prediction. */
#include <stdio.h>
#include <string.h>

#include "controller/report/terminal_parts.h"

/* Where the places stand in a row, and a new line up to there. */
enum { PLACES_AT = 68 };
#define PLACES_INDENT "\n                                                                    "

struct named_count {
    const char *name;
    int64_t count;
};

/* "name 1,234" for each that is not 0, with `between` between them. */
static size_t put_counts(struct buf *out, const struct named_count *counts, size_t count,
                         const char *between)
{
    size_t put = 0;

    for (size_t i = 0; i < count; i++) {
        if (counts[i].count != 0)
            buf_printf(out, "%s%s %s", put++ == 0 ? "" : between, counts[i].name,
                       grouped(counts[i].count).text);
    }
    return put;
}

/* On one line when it fits behind the numbers, else each place on its own. */
static void put_places(struct page *page, const struct leg *leg)
{
    const struct named_count places[] = {
        { "receive buffer", leg->lost_to.receive_buffer },
        { "sender host", leg->lost_to.sender_host },
        { "receiver host", leg->lost_to.receiver_host },
        { "network", leg->lost_to.network },
        { "unattributed", leg->lost_to.unattributed },
    };

    size_t count = sizeof places / sizeof places[0];
    struct buf text;

    if (leg->lost == 0)
        return;
    buf_init(&text, 1024);
    (void)put_counts(&text, places, count, ", ");
    if (leg->evidence == EVIDENCE_SYSTEM_WIDE)
        buf_text(&text, " (system-wide)");
    if (text.length > PAGE_COLUMNS - PLACES_AT) {
        buf_done(&text);
        (void)put_counts(&text, places, count, PLACES_INDENT);
        if (leg->evidence == EVIDENCE_SYSTEM_WIDE)
            buf_text(&text, PLACES_INDENT "(system-wide)");
    }
    buf_printf(page->out, "  %s", buf_peek(&text));
    buf_done(&text);
}

/* What is neither received nor lost, on a line of its own when there is any. */
static void put_also(struct page *page, const char *indent, const struct leg *leg)
{
    const struct named_count refused[] = {
        { "EAGAIN", leg->refused.eagain },
        { "ENOBUFS", leg->refused.enobufs },
        { "EMSGSIZE", leg->refused.emsgsize },
        { "EPERM", leg->refused.eperm },
        { "ECONNREFUSED", leg->refused.econnrefused },
        { "other", leg->refused.other },
    };
    const struct named_count rest[] = {
        { "late", leg->late },           { "duplicates", leg->duplicates },
        { "reordered", leg->reordered }, { "corrupt", leg->corrupt },
        { "foreign", leg->foreign },
    };
    struct buf text;
    size_t put;

    buf_init(&text, 1024);
    put = put_counts(&text, rest, sizeof rest / sizeof rest[0], ", ");
    if (leg_refused(leg) > 0) {
        buf_printf(&text, "%srefused by the kernel %s (", put++ > 0 ? ", " : "",
                   grouped(leg_refused(leg)).text);
        (void)put_counts(&text, refused, sizeof refused / sizeof refused[0], ", ");
        buf_text(&text, ")");
    }
    if (put > 0)
        buf_printf(page->out, "%salso: %s\n", indent, buf_peek(&text));
    buf_done(&text);
}

static bool clean(const struct leg *leg)
{
    return leg->lost == 0 && leg->late == 0 && leg->duplicates == 0 && leg->corrupt == 0 &&
           leg->foreign == 0 && leg_refused(leg) == 0;
}

static void put_leg(struct page *page, const char *label, const char *name, const struct leg *leg)
{
    buf_printf(page->out, "%18s  %-7s %13s %13s %11s", label, name, grouped(leg->sent).text,
               grouped(leg->received).text, grouped(leg->lost).text);
    put_places(page, leg);
    buf_text(page->out, "\n");
    put_also(page, "                    ", leg);
}

static void put_cell(struct page *page, struct cell_at at)
{
    struct cell_sum sum = page_sum(page, at);
    put_leg(page, page_label(page, at).text, "forward", &sum.forward);
    if (!clean(&sum.reverse))
        put_leg(page, "", "reverse", &sum.reverse);
}

static struct cell_sum sum_all(const struct page *page)
{
    struct cell_sum total = { .lost_echoes = 0 };

    for (struct cell_at at = { 0 }; grid_has(&page->grid, at); at = grid_next(&page->grid, at)) {
        struct cell_sum sum = page_sum(page, at);

        leg_add(&total.forward, &sum.forward);
        leg_add(&total.reverse, &sum.reverse);
    }
    return total;
}

void terminal_account(struct page *page)
{
    struct cell_sum total = sum_all(page);
    size_t rows = 0, last_engine = SIZE_MAX;

    page_heading(page, "Where the datagrams went (measure phase, the repeats added up)");
    buf_printf(page->out, "%18s  %-7s %13s %13s %11s  %s\n", "payload x window", "leg", "sent",
               "received", "lost", "lost to");
    for (struct cell_at at = { 0 }; grid_has(&page->grid, at); at = grid_next(&page->grid, at)) {
        if (grid_cell(&page->grid, at).failed == 0 || ++rows > ROWS_MAX)
            continue;
        page_engine_line(page, at, &last_engine);
        put_cell(page, at);
    }
    if (rows > ROWS_MAX)
        buf_printf(page->out, "%18s  %zu more cells failed\n", "...", rows - ROWS_MAX);
    put_leg(page, "all cases", "forward", &total.forward);
    put_leg(page, "", "reverse", &total.reverse);
    buf_text(page->out, "  forward: clients to echo socket; reverse: echoes on their way back");
    if (rows > 0)
        buf_text(page->out, " (shown where not clean)");
    buf_text(page->out, "\n");
}

/* --- the first burst ------------------------------------------------------------------------- */

struct span {
    int64_t least, most;
};

static void span_add(struct span *span, int64_t value, bool first)
{
    if (first || value < span->least)
        span->least = value;
    if (first || value > span->most)
        span->most = value;
}

static void span_text(const struct span *span, char *out_text, size_t size)
{
    if (span->least == NONE_INT)
        snprintf(out_text, size, "-");
    else if (span->least == span->most)
        snprintf(out_text, size, "%s", grouped(span->most).text);
    else
        snprintf(out_text, size, "%s-%s", grouped(span->least).text, grouped(span->most).text);
}

struct burst {
    struct span sent, predicted, lost;
    const struct case_sockets *sockets;
    size_t count, wrong; /* repeats; those that lost another number than predicted */
};

static struct burst burst_of(const struct page *page, struct cell_at at)
{
    struct burst burst = { .count = 0 };

    for (size_t r = 0; r < (size_t)page->run->plan.repeats; r++) {
        const struct case_result *result = grid_case(&page->grid, at, r);
        bool first = burst.count == 0;

        if (result == NULL || result->status == CASE_ERROR)
            continue;
        span_add(&burst.sent, result->first_burst.sent, first);
        span_add(&burst.predicted, result->first_burst.predicted_lost, first);
        span_add(&burst.lost, result->first_burst.lost, first);
        burst.sockets = &result->sockets;
        burst.wrong += result->first_burst.predicted_lost != NONE_INT &&
                       result->first_burst.predicted_lost != result->first_burst.lost;
        burst.count++;
    }
    return burst;
}

static void put_burst(struct page *page, struct cell_at at, const struct burst *burst)
{
    char sent[96], predicted[96], lost[96];
    int64_t holds = burst->sockets->burst_capacity;

    span_text(&burst->sent, sent, sizeof sent);
    span_text(&burst->predicted, predicted, sizeof predicted);
    span_text(&burst->lost, lost, sizeof lost);
    buf_printf(page->out, "%18s %13s %14s %15s %15s\n", page_label(page, at).text, sent,
               holds == NONE_INT ? "-" : grouped(holds).text, predicted, lost);
}

void terminal_bursts(struct page *page)
{
    size_t rows = 0, right = 0, predictions = 0, last_engine = SIZE_MAX;

    for (struct cell_at at = { 0 }; grid_has(&page->grid, at); at = grid_next(&page->grid, at)) {
        struct burst burst = burst_of(page, at);

        if (burst.count > 0 && burst.predicted.least != NONE_INT) {
            predictions += burst.count;
            right += burst.count - burst.wrong;
        }
        if (burst.count == 0 || (burst.lost.most == 0 && burst.wrong == 0) || ++rows > ROWS_MAX)
            continue;
        if (rows == 1) {
            page_heading(page, "The first burst: every client sends its window at once");
            buf_printf(page->out, "%18s %13s %14s %15s %15s\n", "payload x window", "sent",
                       "buffer holds", "predicted lost", "measured lost");
        }
        page_engine_line(page, at, &last_engine);
        put_burst(page, at, &burst);
    }
    if (rows > ROWS_MAX)
        buf_printf(page->out, "%18s %zu more\n", "...", rows - ROWS_MAX);
    if (rows > 0 && predictions > 0)
        buf_printf(page->out, "  the prediction was exact in %zu of %zu cases\n", right,
                   predictions);
    else if (rows > 0)
        buf_text(page->out, "  no prediction: the reader races the burst\n");
}
