/* Owns how advice reads: what is needed, what there is, what to do, what was tried. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/command/advise_view.h"
#include "proto/base/text.h"

/* How a system keeps its limit over a boot; "" where there is no file for that. */
static const struct {
    const char *os, *limit, *file;
} systems[] = {
    { "Linux", "net.core.rmem_max", "/etc/sysctl.d/60-udp-buffers.conf" },
    { "macOS", "kern.ipc.maxsockbuf", "" },
};

void advise_limit_lines(const struct advise_view *view, struct advise_lines *out_lines)
{
    const struct advice *advice = &view->advice;

    memset(out_lines, 0, sizeof *out_lines);
    if (!advice->curable || !advice->possible || advice->limit_is_enough)
        return;
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (strcmp(view->machine.os, systems[i].os) != 0)
            continue;
        snprintf(out_lines->now, ADVISE_LINE_SIZE, "sysctl -w %s=%" PRId64, systems[i].limit,
                 advice->ask);
        text_copy(out_lines->file, ADVISE_LINE_SIZE, systems[i].file);
        if (*systems[i].file != '\0')
            snprintf(out_lines->line, ADVISE_LINE_SIZE, "%s = %" PRId64, systems[i].limit,
                     advice->ask);
    }
}

/* A number by value, so that several stand in one call. */
struct number {
    char text[TEXT_QUANTITY_SIZE];
};

static struct number grouped(int64_t value)
{
    struct number number;

    text_grouped(value, number.text);
    return number;
}

static const char *datagrams(int64_t count)
{
    return count == 1 ? "datagram" : "datagrams";
}

/* Of rates: whole when that says enough. */
static struct number per_second(double rate)
{
    struct number number;

    if (rate >= 100)
        return grouped((int64_t)(rate + 0.5));
    snprintf(number.text, sizeof number.text, "%.3g", rate);
    return number;
}

static struct number time_of(double seconds)
{
    struct number number;

    text_duration((int64_t)fmin(seconds * 1e9, 9e18), number.text);
    return number;
}

/* --- the question, and what it takes -------------------------------------------------------- */

static void put_question(const struct advise_view *view, struct buf *out)
{
    const struct advice_question *question = &view->question;

    buf_printf(out, "A burst of %s %s of %s bytes over %s", grouped(question->burst).text,
               datagrams(question->burst), grouped(question->payload).text,
               family_name(view->family));
    if (question->rate > 0)
        buf_printf(out, ", %s a second besides", per_second(question->rate).text);
    if (question->pause_ns > 0)
        buf_printf(out, ",\nwhile nothing is read for %s",
                   time_of((double)question->pause_ns / 1e9).text);
    if (question->read_ns > 0)
        buf_printf(out, ",\n%s to read each", time_of((double)question->read_ns / 1e9).text);
    buf_text(out, "\n\n");
}

static void put_buffer(const struct advise_view *view, const char *label, int64_t granted,
                       bool enough, struct buf *out)
{
    buf_printf(out, "  %-24s %15s bytes: holds %s", label, grouped(granted).text,
               grouped(capacity_of(&view->host.capacity, granted)).text);
    buf_text(out, !view->advice.curable ? "" : enough ? ", enough" : ", not enough");
}

static void put_sizes(const struct advise_view *view, struct buf *out)
{
    const struct advice *advice = &view->advice;

    buf_printf(out, "  %-24s %15s bytes of buffer, measured here\n", "one datagram takes",
               grouped((int64_t)ceil(view->host.capacity.charge)).text);
    buf_printf(out, "  %-24s %15s %s", "must fit at once", grouped(advice->datagrams).text,
               datagrams(advice->datagrams));
    if (advice->datagrams > view->question.burst)
        buf_printf(out, ": %s and %s that come in the pause", grouped(view->question.burst).text,
                   grouped(advice->datagrams - view->question.burst).text);
    buf_printf(out, "\n  %-24s %15s bytes\n", "they take", grouped(advice->taken).text);
    if (advice->needed > advice->taken)
        buf_printf(out, "  %-24s %15s bytes, with the quarter that a busy reader leaves booked\n",
                   "needed", grouped(advice->needed).text);
    put_buffer(view, "a plain socket has", view->host.default_granted, advice->default_is_enough,
               out);
    buf_text(out, "\n");
    put_buffer(view, "the most granted here", view->host.most_granted, advice->limit_is_enough,
               out);
    if (*view->most.limit != '\0')
        buf_printf(out, " (%s)", view->most.limit);
    buf_text(out, "\n");
}

/* --- what to do ----------------------------------------------------------------------------- */

static void put_not_curable(const struct advise_view *view, struct buf *out)
{
    const struct advice_question *question = &view->question;

    double read_rate = 1e9 / (double)question->read_ns;

    buf_printf(out,
               "\nNo buffer cures this: %s datagrams a second come and %s are read. The largest "
               "buffer here\nfirst drops after %s%s; then %.1f %% are lost.\nRead faster, or send "
               "less.\n",
               per_second(question->rate).text, per_second(read_rate).text,
               time_of(view->advice.first_drop_s).text,
               view->host.lazy_release ? ", or up to a quarter sooner" : "",
               100 * (1 - read_rate / question->rate));
}

static void put_administrator(const struct advise_view *view, struct buf *out)
{
    struct advise_lines lines;

    advise_limit_lines(view, &lines);
    if (*lines.now == '\0')
        return;
    buf_printf(out, "\nFirst this system's limit must be raised, as root:\n\n    %s\n", lines.now);
    if (*lines.file != '\0')
        buf_printf(out, "\nand, for the next boots, this line in %s:\n\n    %s\n", lines.file,
                   lines.line);
    else
        buf_text(out, "\nIt holds until the next boot.\n");
}

static void put_program(const struct advise_view *view, struct buf *out)
{
    const struct advice *advice = &view->advice;

    if (advice->default_is_enough) {
        buf_text(out, "\nA plain socket is enough here. Other systems have other defaults; to be "
                      "sure, the program\nasks:\n");
    } else {
        put_administrator(view, out);
        buf_text(out, "\nThe program must ask for it before the burst comes:\n");
    }
    buf_printf(out,
               "\n    int bytes = %" PRId64 ";\n"
               "    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);\n"
               "\nand check what it got, for a system gives less without an error:\n"
               "\n    socklen_t length = sizeof bytes;\n"
               "    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length);"
               "    /* must be %" PRId64 " or more */\n",
               advice->ask, advice->needed);
    if (view->host.factor > 1)
        buf_printf(out, "\n%s grants, and reads back, the double of what is asked.\n",
                   view->machine.os);
}

static void put_advice(const struct advise_view *view, struct buf *out)
{
    if (!view->advice.curable)
        put_not_curable(view, out);
    else if (!view->advice.possible)
        buf_text(out, "\nNo socket buffer can be that large. Send less at once, pause less, or "
                      "read from several sockets.\n");
    else
        put_program(view, out);
    if (view->advice.curable && view->question.read_ns > 0)
        buf_printf(
            out, "\nThe reader has worked the burst off after %s, if nothing else comes.\n",
            time_of((double)view->advice.datagrams * (double)view->question.read_ns / 1e9).text);
}

/* --- the proof ------------------------------------------------------------------------------ */

static void put_trial(const char *label, const struct advice_trial *trial, struct buf *out)
{
    buf_printf(out,
               "  %s: asked %s, granted %s\n"
               "      sent %s, held %s (predicted %s), lost %s\n",
               label, grouped(trial->rcvbuf.asked).text, grouped(trial->rcvbuf.granted).text,
               grouped(trial->sent).text, grouped(trial->held).text, grouped(trial->predicted).text,
               grouped(trial->sent - trial->held).text);
}

static void put_proof(const struct advise_view *view, struct buf *out)
{
    const struct advice_proof *proof = &view->proof;

    if (!proof->present) {
        buf_printf(out, "\nNot proved: %s.\n", view->no_proof);
        return;
    }
    buf_text(out, "\nTried on loopback just now, nobody reading:\n");
    if (proof->at_limit) {
        put_trial("the largest", &proof->advised, out);
        if (view->advice.curable)
            buf_text(out, "  The advised buffer is more than this system grants, so the largest "
                          "that it grants was tried.\n");
    } else {
        put_trial("advised", &proof->advised, out);
        if (proof->smaller.present)
            put_trial("just below what they take", &proof->smaller, out);
        else
            buf_text(out, "  This system has no buffer that is too small for it.\n");
    }
    buf_text(out, proof->agrees ? "  As the advice says.\n" : "  This contradicts the advice.\n");
}

void advise_view_text(const struct advise_view *view, struct buf *out_text)
{
    put_question(view, out_text);
    put_sizes(view, out_text);
    put_advice(view, out_text);
    put_proof(view, out_text);
    buf_text(out_text,
             "\nThis is for datagrams of this size from this machine. A network card's driver may "
             "take more\nof the buffer for each: then measure there (docs/buffers.md).\n");
}
