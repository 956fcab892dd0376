/* Owns the tables of what a buffer is granted and of what it holds: ladder, hold, sweep. */
#include <math.h>
#include <stdio.h>

#include "controller/report/terminal_parts.h"

/* --- ladder ---------------------------------------------------------------------------------- */

/* What the rungs say together. */
struct rungs {
    size_t asked, doubled, as_asked, capped, refused;
};

static void rungs_add(struct rungs *rungs, const struct experiment_result *result)
{
    const struct ladder_result *ladder = &result->ladder;

    if (ladder->granted == NONE_INT)
        rungs->refused++;
    if (ladder->granted == NONE_INT || ladder->asked == NONE_INT)
        return;
    rungs->asked++;
    rungs->capped += ladder->limit[0] != '\0';
    rungs->doubled += ladder->limit[0] == '\0' && ladder->granted / 2 == ladder->asked;
    rungs->as_asked += ladder->limit[0] == '\0' && ladder->granted == ladder->asked;
}

static void put_limit(struct page *page, const char *name)
{
    const struct map_item *limit = map_find(&page_host(page)->limits, name);

    buf_text(page->out, "  capped by ");
    page_outside(page, name);
    if (limit != NULL && limit->number != NONE_INT)
        buf_printf(page->out, " = %s", grouped(limit->number).text);
}

static void put_rung(struct page *page, const struct experiment_result *result, bool first)
{
    const struct ladder_result *ladder = &result->ladder;

    buf_printf(page->out, "  %-10s %15s",
               !first                            ? ""
               : ladder->buffer == BUFFER_RCVBUF ? "SO_RCVBUF"
                                                 : "SO_SNDBUF",
               ladder->asked == NONE_INT ? "default" : grouped(ladder->asked).text);
    if (ladder->granted == NONE_INT) {
        buf_printf(page->out, " %15s  ", "refused");
        page_outside(page, result->error);
    } else {
        buf_printf(page->out, " %15s", grouped(ladder->granted).text);
    }
    if (ladder->limit[0] != '\0')
        put_limit(page, ladder->limit);
    buf_text(page->out, "\n");
}

static void explain_ladder(struct page *page, const struct rungs *rungs)
{
    struct buf text;

    buf_init(&text, 1024);
    if (rungs->doubled > 0 && rungs->as_asked == 0)
        buf_text(&text, "This kernel grants the double of what is asked, because what it needs to "
                        "keep a datagram counts against the buffer too. ");
    if (rungs->as_asked > 0 && rungs->doubled == 0)
        buf_text(&text, "This kernel grants what is asked. ");
    if (rungs->capped > 0)
        buf_text(&text, "Above its limit it grants the limit and reports no error: a program must "
                        "read the size back. ");
    if (rungs->refused > 0)
        buf_text(&text, "Where it refused, the socket keeps the buffer it had. ");
    if (text.length > 0)
        page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

void terminal_ladder(struct page *page)
{
    const struct experiment_result *result = NULL, *last = NULL;
    struct rungs rungs = { 0 };
    size_t rows = 0;

    while ((result = page_next(page, EXPERIMENT_LADDER, result)) != NULL) {
        if (rows == 0) {
            page_heading(page, "What a socket is granted");
            buf_printf(page->out, "  %-10s %15s %15s\n", "buffer", "asked", "granted");
        }
        rungs_add(&rungs, result);
        if (++rows <= ROWS_MAX)
            put_rung(page, result, last == NULL || last->ladder.buffer != result->ladder.buffer);
        last = result;
    }
    if (rows > ROWS_MAX)
        buf_printf(page->out, "  %-10s %zu more\n", "...", rows - ROWS_MAX);
    if (rows > 0)
        explain_ladder(page, &rungs);
}

/* --- hold and sweep -------------------------------------------------------------------------- */

/* What the cases of a table say together. */
struct holdings {
    const struct hold_result *least, *most; /* by payload */
    size_t count, counted, predicted, exact, near_misses, all_held;
    int64_t others; /* dropped by the whole system more than by the sockets; NONE_INT: not known */
    int64_t refused;
};

static void holdings_add(struct holdings *all, const struct hold_result *hold)
{
    const struct dropped *dropped = &hold->dropped;

    if (all->count++ == 0)
        *all = (struct holdings){ .least = hold, .most = hold, .count = 1, .others = NONE_INT };
    if (hold->payload < all->least->payload)
        all->least = hold;
    if (hold->payload > all->most->payload)
        all->most = hold;
    all->counted += dropped->socket != NONE_INT;
    if (hold->predicted_held != NONE_INT) {
        int64_t off = hold->held - hold->predicted_held;

        all->predicted++;
        all->exact += off == 0;
        all->near_misses += off == 1 || off == -1;
    }
    all->all_held += hold->held == hold->sent;
    all->refused = count_add(all->refused, refused_total(&hold->refused));
    if (dropped->socket != NONE_INT && dropped->system != NONE_INT &&
        dropped->system >= dropped->socket)
        all->others =
            count_add(all->others == NONE_INT ? 0 : all->others, dropped->system - dropped->socket);
}

static struct quantity charge_text(double charge)
{
    struct quantity quantity = { "-" };

    if (isnan(charge))
        return quantity;
    if (charge >= 9e15)
        return (struct quantity){ "huge" };
    if (fabs(charge - floor(charge)) < 1e-6)
        return grouped((int64_t)charge);
    snprintf(quantity.text, sizeof quantity.text, "%.1f", charge);
    return quantity;
}

static void put_hold(struct page *page, const struct hold_result *hold, bool by_payload)
{
    struct quantity asked =
        hold->rcvbuf.asked == 0 ? (struct quantity){ "default" } : grouped(hold->rcvbuf.asked);

    if (by_payload)
        buf_printf(page->out, "%10s B", grouped(hold->payload).text);
    else
        buf_printf(page->out, "%12s", asked.text);
    buf_printf(
        page->out, " %12s %10s %10s %11s %12s %12s %12s\n", grouped(hold->rcvbuf.granted).text,
        grouped(hold->held).text, grouped_or_dash(hold->predicted_held).text,
        charge_text(hold->bytes_per_datagram).text, grouped_or_dash(hold->queued_bytes).text,
        grouped_or_dash(hold->dropped.socket).text, grouped_or_dash(hold->dropped.system).text);
}

static struct holdings put_table(struct page *page, enum experiment experiment, const char *head)
{
    bool by_payload = experiment == EXPERIMENT_HOLD;
    const struct experiment_result *result = NULL;
    struct holdings all = { .count = 0 };

    while ((result = page_next(page, experiment, result)) != NULL) {
        if (all.count == 0) {
            page_heading(page, head);
            buf_printf(page->out, "%12s %12s %10s %10s %11s %12s %12s %12s\n", "", "buffer", "", "",
                       "bytes", "queued", "dropped by", "by the");
            buf_printf(page->out, "%12s %12s %10s %10s %11s %12s %12s %12s\n",
                       by_payload ? "payload" : "asked", "granted", "held", "predicted", "for each",
                       "bytes", "this socket", "whole system");
        }
        holdings_add(&all, &result->hold);
        if (all.count <= ROWS_MAX)
            put_hold(page, &result->hold, by_payload);
    }
    if (all.count > ROWS_MAX)
        buf_printf(page->out, "%12s %zu more\n", "...", all.count - ROWS_MAX);
    return all;
}

/* What the numbers of held, predicted and dropped mean beside each other. */
static void explain_account(const struct holdings *all, struct buf *text)
{
    if (all->predicted > 0 && all->exact == all->predicted)
        buf_printf(text, "The prediction was exact in each of %zu case%s. ", all->predicted,
                   plural((int64_t)all->predicted));
    else if (all->predicted > 0)
        buf_printf(text, "The prediction was exact in %zu of %zu cases, within 1 in %zu. ",
                   all->exact, all->predicted, all->exact + all->near_misses);
    if (all->counted == all->count)
        buf_text(text, "Held and dropped by this socket add up to what was sent, exactly. ");
    else
        buf_text(text, "Sockets do not count their own drops here: what was sent and is not held "
                       "was dropped. ");
    if (all->others != NONE_INT && all->others > 0)
        buf_printf(text,
                   "The system's counter counted %s more than these sockets: other programs' "
                   "traffic. ",
                   grouped(all->others).text);
    if (all->refused > 0)
        buf_printf(text, "The sending kernel refused %s. ", grouped(all->refused).text);
    else
        buf_text(text, "No send failed: the sender knows nothing of it. ");
}

void terminal_hold(struct page *page)
{
    struct holdings all;
    struct buf text;
    char head[192];

    snprintf(head, sizeof head, "What a socket holds that nobody reads (%s sent for each payload)",
             grouped(page->run->buffers_plan.sends).text);
    all = put_table(page, EXPERIMENT_HOLD, head);
    if (all.count == 0)
        return;
    buf_init(&text, 2048);
    if (!isnan(all.least->bytes_per_datagram))
        buf_printf(
            &text,
            "The buffer is charged more than the payload: %s B for a datagram of %s B. So it "
            "holds far fewer small datagrams than its size divided by their payload. ",
            charge_text(all.least->bytes_per_datagram).text, grouped(all.least->payload).text);
    explain_account(&all, &text);
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

void terminal_sweep(struct page *page)
{
    struct holdings all;
    struct buf text;
    char head[192];

    snprintf(head, sizeof head, "What it holds by the size of its buffer (%s sent, %s B each)",
             grouped(page->run->buffers_plan.sends).text,
             grouped(page->run->buffers_plan.sweep_payload).text);
    all = put_table(page, EXPERIMENT_SWEEP, head);
    if (all.count == 0)
        return;
    buf_init(&text, 2048);
    buf_text(&text, "Twice the buffer holds twice the burst, as far as the system grants it. ");
    if (all.all_held > 0)
        buf_printf(&text, "%zu of %zu held the whole burst. ", all.all_held, all.count);
    else
        buf_text(&text, "None held the whole burst. ");
    explain_account(&all, &text);
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}
