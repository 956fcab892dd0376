/* Owns the paragraph for a reader who has never heard of sonde: what happened and why. */
#include <stdio.h>
#include <string.h>

#include "controller/report/terminal_parts.h"

/* Everything the paragraph rests on: all counted cases, measure phase. */
struct gist {
    struct leg forward, reverse;
    int64_t lost_echoes;
    int64_t lost_after_burst;             /* in receive buffers, after the first burst */
    const struct case_result *overflowed; /* the first case whose echo socket overflowed, in the
                                             first burst if any did */
    const struct case_result *largest;    /* the passed case that came nearest to its buffer */
    size_t counted, failed;
};

/* The share of the receive buffer that a full burst takes. */
static double fill(const struct case_result *result)
{
    double burst = (double)result->params.common.clients * (double)result->params.window;

    if (result->sockets.burst_capacity == NONE_INT || result->sockets.burst_capacity == 0)
        return 0;
    return burst / (double)result->sockets.burst_capacity;
}

static void gist_add(struct gist *gist, const struct case_result *result)
{
    const struct phase *measure = &result->phases.measure;
    int64_t dropped = measure->forward.lost_to.receive_buffer;

    gist->counted++;
    gist->failed += result->status == CASE_FAIL;
    leg_add(&gist->forward, &measure->forward);
    leg_add(&gist->reverse, &measure->reverse);
    gist->lost_echoes = count_add(gist->lost_echoes, measure->lost_echoes);
    if (dropped > result->first_burst.lost)
        gist->lost_after_burst =
            count_add(gist->lost_after_burst, dropped - result->first_burst.lost);
    if (dropped > 0 && (gist->overflowed == NULL ||
                        (gist->overflowed->first_burst.lost == 0 && result->first_burst.lost > 0)))
        gist->overflowed = result;
    if (result->status == CASE_PASS &&
        (gist->largest == NULL || fill(result) > fill(gist->largest)))
        gist->largest = result;
}

static void tell_set_up(const struct page *page, struct buf *text)
{
    bool split = page->run->plan.common.io_model == IO_MODEL_SPLIT;

    buf_printf(text,
               "sonde sent bursts of UDP datagrams to a socket that returns each one to where it "
               "came from, and counted what did not come back. What arrives waits in the "
               "socket's receive buffer until the program reads it%s; when the buffer is full, "
               "the kernel throws away what arrives next, and nobody is told. ",
               split ? " (here by threads of its own)" : "");
}

static void tell_pass(const struct gist *gist, struct buf *text)
{
    const struct case_result *largest = gist->largest;

    buf_text(text, "Here nothing was lost: every datagram came back. ");
    if (largest == NULL || largest->sockets.burst_capacity == NONE_INT)
        return;
    buf_printf(text,
               "The fullest the buffer can have been is a burst of %s datagrams of %s B (%s "
               "clients x window %s); the kernel charges %s B for each, and the buffer of %s "
               "holds %s of them. ",
               grouped(count_multiply(largest->params.common.clients, largest->params.window)).text,
               grouped(largest->params.payload).text, grouped(largest->params.common.clients).text,
               grouped(largest->params.window).text,
               grouped((int64_t)(largest->sockets.bytes_per_datagram + 0.5)).text,
               sized(largest->sockets.rcvbuf.granted).text,
               grouped(largest->sockets.burst_capacity).text);
}

static void tell_overflow(const struct case_result *result, struct buf *text)
{
    const struct case_sockets *sockets = &result->sockets;

    if (sockets->burst_capacity == NONE_INT) {
        buf_printf(text,
                   "Here the echo socket's receive buffer of %s was too small for the bursts. ",
                   sized(sockets->rcvbuf.granted).text);
        return;
    }
    buf_printf(
        text,
        "Here the echo socket's receive buffer of %s holds %s datagrams of %s B, because the "
        "kernel charges %s B for each; a burst of %s (%s clients x window %s) ",
        sized(sockets->rcvbuf.granted).text, grouped(sockets->burst_capacity).text,
        grouped(result->params.payload).text,
        grouped((int64_t)(sockets->bytes_per_datagram + 0.5)).text,
        grouped(result->first_burst.sent).text, grouped(result->params.common.clients).text,
        grouped(result->params.window).text);
    if (result->first_burst.lost > 0)
        buf_printf(text, "overflowed it by %s. ", grouped(result->first_burst.lost).text);
    else
        buf_text(text, "still fitted, but the buffer overflowed later, while it was being read. ");
}

static void tell_places(const struct gist *gist, struct buf *text)
{
    int64_t dropped =
        count_add(gist->forward.lost_to.receive_buffer, gist->reverse.lost_to.receive_buffer);
    int64_t refused = count_add(leg_refused(&gist->forward), leg_refused(&gist->reverse));
    int64_t late = count_add(gist->forward.late, gist->reverse.late);
    int64_t corrupt = count_add(gist->forward.corrupt, gist->reverse.corrupt);

    if (gist->lost_echoes > 0 && dropped == gist->lost_echoes)
        buf_printf(text, "All %s lost echoes of this run are such drops. ",
                   grouped(gist->lost_echoes).text);
    else if (dropped > 0)
        buf_printf(text, "Of %s lost echoes, %s are such drops. ", grouped(gist->lost_echoes).text,
                   grouped(dropped).text);
    else if (gist->lost_echoes > 0)
        buf_printf(text, "Here %s echoes were lost, but none to a full receive buffer. ",
                   grouped(gist->lost_echoes).text);
    if (gist->reverse.lost_to.receive_buffer > 0)
        buf_printf(text,
                   "%s of them were echoes that met a full buffer at the client: a client's socket "
                   "must be able to hold its whole window. ",
                   grouped(gist->reverse.lost_to.receive_buffer).text);
    if (gist->lost_after_burst > 0)
        buf_printf(text,
                   "%s drops came after the first burst: space that was read free is not all "
                   "given back at once, so a buffer that is nearly full keeps dropping. ",
                   grouped(gist->lost_after_burst).text);
    if (refused > 0)
        buf_printf(text, "%s datagrams were refused by the sending kernel and never sent. ",
                   grouped(refused).text);
    if (late > 0)
        buf_printf(text, "%s came too late to count as received. ", grouped(late).text);
    if (corrupt > 0)
        buf_printf(text, "%s came with wrong contents. ", grouped(corrupt).text);
}

void terminal_story(struct page *page)
{
    const struct case_result *cases = page->run->cases.items;
    struct gist gist = { .counted = 0 };
    struct buf text;

    for (size_t i = 0; i < page->run->cases.count; i++) {
        if (cases[i].status != CASE_ERROR)
            gist_add(&gist, &cases[i]);
    }
    if (gist.counted == 0)
        return;
    buf_init(&text, 8192);
    tell_set_up(page, &text);
    if (gist.failed == 0) {
        tell_pass(&gist, &text);
    } else {
        if (gist.overflowed != NULL)
            tell_overflow(gist.overflowed, &text);
        tell_places(&gist, &text);
    }
    tell_fragments(page, &text);
    page_heading(page, "What happened");
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}
