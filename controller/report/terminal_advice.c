/* Owns the advice: for each cell that overflowed a receive buffer, the buffer that would hold it,
 * and how to get it from this system. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/report/terminal_parts.h"

/* How a system turns what is asked for into room for datagrams. */
struct system {
    const char *os;
    int64_t factor; /* granted / asked */
    /* Room that a reader frees comes back in lumps; a buffer that must not overflow while it is
     * being read needs this much more, as a fraction. */
    int64_t slack_above, slack_below;
    const char *limit; /* caps SO_RCVBUF; compared with what is asked for */
    int64_t ask_max;   /* the largest that setsockopt takes */
};

/* Linux: sk_rcvbuf = 2 * asked; udp_rmem_release keeps up to a quarter of the buffer back while
 * datagrams are queued (net/core/sock.c, net/ipv4/udp.c). macOS: SO_RCVBUF is what it says. */
static const struct system systems[] = {
    { "Linux", 2, 4, 3, "net.core.rmem_max", INT32_MAX / 2 },
    { "macOS", 1, 1, 1, "kern.ipc.maxsockbuf", INT32_MAX },
};

static const struct system *system_of(const struct host *host)
{
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (strcmp(host->os, systems[i].os) == 0)
            return &systems[i];
    }
    return NULL;
}

struct need {
    int64_t datagrams; /* clients x window */
    int64_t charge;    /* bytes that each takes */
    int64_t bytes;     /* of all of them */
    int64_t ask;       /* for SO_RCVBUF */
    const char *vain;  /* why asking does not help, or NULL */
};

static int64_t divide_up(int64_t value, int64_t by)
{
    return value / by + (value % by != 0);
}

static struct need need_of(const struct system *system, const struct case_result *result)
{
    struct need need = { .charge = (int64_t)ceil(result->sockets.bytes_per_datagram) };

    need.datagrams = count_multiply(result->params.common.clients, result->params.window);
    need.bytes = count_multiply(need.datagrams, need.charge);
    need.ask = divide_up(count_multiply(need.bytes, system->slack_above),
                         system->slack_below * system->factor);
    if (need.ask > system->ask_max)
        need.vain = "no socket buffer is that large";
    else if (count_multiply(need.ask, system->factor) <= result->sockets.rcvbuf.granted)
        need.vain = "it has that: the reader is too slow";
    return need;
}

/* The repeat to speak of, or NULL when no repeat lost anything to the echo socket's buffer. */
static const struct case_result *overflowed(const struct page *page, struct cell_at at)
{
    for (size_t r = 0; r < (size_t)page->run->plan.repeats; r++) {
        const struct case_result *result = grid_case(&page->grid, at, r);

        if (result != NULL && result->status == CASE_FAIL &&
            result->phases.measure.forward.lost_to.receive_buffer > 0 &&
            result->sockets.burst_capacity != NONE_INT)
            return result;
    }
    return NULL;
}

/* Engines share the kernel: a cell is advised on once. */
static bool said_before(const struct page *page, struct cell_at at)
{
    for (size_t engine = 0; engine < at.engine; engine++) {
        struct cell_at earlier = { engine, at.payload, at.window };

        if (overflowed(page, earlier) != NULL)
            return true;
    }
    return false;
}

struct advice {
    size_t rows;
    int64_t most;      /* the largest that is worth asking for; 0: none is */
    struct cell_at of; /* the cell that needs it */
};

static void put_row(struct page *page, struct cell_at at, const struct need *need)
{
    buf_printf(page->out, "%18s %11s %14s %12s   ", page_label(page, at).text,
               grouped(need->datagrams).text, grouped(need->charge).text, sized(need->bytes).text);
    if (need->vain != NULL)
        buf_printf(page->out, "%s\n", need->vain);
    else
        buf_printf(page->out, "%15s\n", grouped(need->ask).text);
}

static struct advice put_table(struct page *page, const struct system *system)
{
    struct advice advice = { .rows = 0 };

    for (struct cell_at at = { 0 }; grid_has(&page->grid, at); at = grid_next(&page->grid, at)) {
        const struct case_result *result = overflowed(page, at);
        struct need need;

        if (result == NULL || said_before(page, at))
            continue;
        if (advice.rows++ == 0) {
            page_heading(page, "What would hold these bursts");
            buf_printf(page->out, "%18s %11s %14s %12s   %15s\n", "payload x window", "datagrams",
                       "bytes charged", "they take", "SO_RCVBUF");
        }
        need = need_of(system, result);
        if (need.vain == NULL && need.ask > advice.most) {
            advice.most = need.ask;
            advice.of = at;
        }
        if (advice.rows <= ROWS_MAX)
            put_row(page, at, &need);
    }
    if (advice.rows > ROWS_MAX)
        buf_printf(page->out, "%18s %zu more\n", "...", advice.rows - ROWS_MAX);
    return advice;
}

static void put_command(struct page *page, const struct advice *advice)
{
    const struct case_common *common = &page->run->plan.common;

    buf_printf(page->out, "    sonde loopback --payload %lld --window %lld --clients %lld",
               (long long)grid_payload(&page->grid, advice->of.payload),
               (long long)grid_window(&page->grid, advice->of.window), (long long)common->clients);
    if (common->io_model != IO_MODEL_SHARED)
        buf_printf(page->out, " --io-model %s", io_model_names[common->io_model]);
    if (common->family != FAMILY_IPV4)
        buf_printf(page->out, " --family %s", family_names[common->family]);
    buf_printf(page->out, " --rcvbuf %lld\n", (long long)advice->most);
}

static void put_limit(struct page *page, const struct system *system, const struct advice *advice)
{
    const struct map_item *limit = map_find(&page_host(page)->limits, system->limit);
    struct buf text;

    buf_init(&text, 2048);
    if (limit == NULL || limit->number == NONE_INT)
        buf_printf(&text,
                   "The limit %s of this system is not known. The largest of these needs it "
                   "at %s or more:",
                   system->limit, grouped(advice->most).text);
    else if (limit->number >= advice->most)
        buf_printf(&text,
                   "This system allows up to %s (%s), so asking is enough. For all of these, ask "
                   "for %s:",
                   grouped(limit->number).text, system->limit, grouped(advice->most).text);
    else
        buf_printf(&text,
                   "This system allows up to %s (%s). For all of these, raise it and then "
                   "ask (until the next boot):",
                   grouped(limit->number).text, system->limit);
    page_paragraph(page, buf_peek(&text));
    if (limit == NULL || limit->number < advice->most)
        buf_printf(page->out, "    sudo sysctl -w %s=%lld\n", system->limit,
                   (long long)advice->most);
    put_command(page, advice);
    buf_done(&text);
}

static void put_reason(struct page *page, const struct system *system)
{
    if (system->factor == 2)
        page_paragraph(page,
                       "SO_RCVBUF is what the program must ask for. Linux grants the double, and "
                       "while it is being read it may hold back a quarter of the buffer; so "
                       "ask for two thirds of what the burst takes.");
    else
        page_paragraph(page,
                       "SO_RCVBUF is what the program must ask for; this system grants what is "
                       "asked for, up to its limit.");
}

void terminal_advice(struct page *page)
{
    const struct system *system = system_of(page_host(page));
    struct advice advice;

    if (system == NULL)
        return;
    advice = put_table(page, system);
    if (advice.rows == 0)
        return;
    if (advice.most > 0) {
        put_reason(page, system);
        put_limit(page, system, &advice);
    }
    page_paragraph(page,
                   "Or keep less in flight: a burst that the buffer holds is not dropped. A larger "
                   "buffer delays loss; it does not cure a reader that is too slow for long.");
}
