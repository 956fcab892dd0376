/* Owns the tables of what happens meanwhile: slow reader, closed port, idle machine. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/report/terminal_parts.h"

/* --- slow reader ----------------------------------------------------------------------------- */

/* What the cases say together. */
struct paces {
    size_t count;
    size_t below, below_lost;  /* sent more slowly than it was read; of these, with loss */
    size_t above, above_whole; /* sent faster than it was read; of these, without loss */
    double model_off;          /* the largest difference, as a ratio; NAN: no model */
    bool told;                 /* a send failed */
    int64_t read_ns;           /* of the first */
    int64_t others;            /* dropped by the whole system more than by the sockets */
};

static bool sent_faster(const struct slow_reader_result *slow)
{
    double read_ns = isnan(slow->achieved_read_ns) ? (double)slow->read_ns : slow->achieved_read_ns;

    return !isnan(slow->achieved_interval_ns) && slow->achieved_interval_ns < read_ns;
}

static void paces_add(struct paces *paces, const struct slow_reader_result *slow)
{
    const struct dropped *dropped = &slow->dropped;
    double off = fabs(slow->loss_ratio - slow->model_loss_ratio);

    if (paces->count++ == 0) {
        paces->read_ns = slow->read_ns;
        paces->model_off = (double)NAN;
    }
    if (!isnan(off) && !(off <= paces->model_off))
        paces->model_off = off;
    if (sent_faster(slow)) {
        paces->above++;
        paces->above_whole += slow->lost == 0;
    } else {
        paces->below++;
        paces->below_lost += slow->lost > 0;
    }
    paces->told = paces->told || refused_total(&slow->refused) > 0;
    if (dropped->socket != NONE_INT && dropped->system > dropped->socket)
        paces->others = count_add(paces->others, dropped->system - dropped->socket);
}

static void put_pace(struct page *page, const struct slow_reader_result *slow)
{
    struct quantity achieved = lasting_s(slow->achieved_interval_ns * 1e-9);

    buf_printf(page->out, "%9s %11s %10s %12s %11s %10s ", lasting(slow->read_ns).text,
               slow->interval_ns == 0 ? "full speed" : lasting(slow->interval_ns).text,
               achieved.text, grouped(slow->rcvbuf.granted).text, grouped(slow->processed).text,
               grouped(slow->lost).text);
    page_ink(page, slow->lost > 0 ? INK_BAD : INK_GOOD, 8, percent(slow->loss_ratio).text);
    buf_printf(page->out, " %8s %10s\n", percent(slow->model_loss_ratio).text,
               lasting_s(slow->first_drop_s).text);
}

static void explain_paces(struct page *page, const struct paces *paces)
{
    struct buf text;

    buf_init(&text, 2048);
    if (paces->read_ns > 0)
        buf_printf(&text, "A reader that takes %s for each datagram reads at most %s a second. ",
                   lasting(paces->read_ns).text,
                   grouped(INT64_C(1000000000) / paces->read_ns).text);
    buf_text(&text,
             "What comes faster waits in the buffer, and what comes to a full buffer is "
             "lost. A larger buffer delays loss; it does not cure a sender that stays faster "
             "than its reader. ");
    if (paces->above_whole > 0)
        buf_printf(&text,
                   "%zu of the %zu overloaded cases lost nothing, because the sender "
                   "stopped before the buffer was full. ",
                   paces->above_whole, paces->above);
    if (paces->below > 0 && paces->below_lost == 0)
        buf_text(&text, "Sent more slowly than it is read, nothing was lost. ");
    else if (paces->below_lost > 0)
        buf_printf(&text,
                   "%zu of %zu case%s lost although sent more slowly than read: a reader that is "
                   "not scheduled for a while needs room too. ",
                   paces->below_lost, paces->below, plural((int64_t)paces->below));
    if (!isnan(paces->model_off))
        buf_printf(&text,
                   "The model (what the buffer holds and what is read meanwhile gets "
                   "through) was off by at most %.1f points. ",
                   paces->model_off * 100);
    if (paces->others > 0)
        buf_printf(&text,
                   "The system's counter counted %s more than these sockets: other programs' "
                   "traffic. ",
                   grouped(paces->others).text);
    buf_text(&text, paces->told ? "" : "No send failed. ");
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

void terminal_slow_reader(struct page *page)
{
    const struct experiment_result *result = NULL;
    struct paces paces = { .count = 0 };
    char head[192];

    while ((result = page_next(page, EXPERIMENT_SLOW_READER, result)) != NULL) {
        if (paces.count == 0) {
            snprintf(head, sizeof head, "A reader that takes its time (%s datagrams of %s B)",
                     grouped(page->run->buffers_plan.slow_sends).text,
                     grouped(result->slow_reader.payload).text);
            page_heading(page, head);
            buf_printf(page->out, "%9s %11s %10s %12s %11s %10s %8s %8s %10s\n", "read", "sent one",
                       "really", "buffer", "", "", "", "", "first");
            buf_printf(page->out, "%9s %11s %10s %12s %11s %10s %8s %8s %10s\n", "time", "per",
                       "one per", "granted", "processed", "lost", "lost", "model", "drop at");
        }
        paces_add(&paces, &result->slow_reader);
        if (paces.count <= ROWS_MAX)
            put_pace(page, &result->slow_reader);
    }
    if (paces.count > ROWS_MAX)
        buf_printf(page->out, "%9s %zu more\n", "...", paces.count - ROWS_MAX);
    if (paces.count > 0)
        explain_paces(page, &paces);
}

/* --- closed port ----------------------------------------------------------------------------- */

static void put_icmp_limits(struct page *page)
{
    const struct list *limits = &page_host(page)->limits;
    const struct map_item *items = limits->items;

    for (size_t i = 0; i < limits->count; i++) {
        if (strstr(items[i].key, "icmp") == NULL || items[i].number == NONE_INT)
            continue;
        buf_text(page->out, "  here: ");
        page_outside(page, items[i].key);
        buf_printf(page->out, " = %s\n", grouped(items[i].number).text);
    }
}

void terminal_closed_port(struct page *page)
{
    const struct experiment_result *result = NULL;

    while ((result = page_next(page, EXPERIMENT_CLOSED_PORT, result)) != NULL) {
        const struct closed_port_result *port = &result->closed_port;
        int64_t others = refused_total(&port->refused) - port->refused.econnrefused;

        page_heading(page, "A port where nobody listens");
        buf_printf(page->out, "  %-46s %12s\n", "sent", grouped(port->sent).text);
        buf_printf(page->out, "  %-46s %12s\n", "ECONNREFUSED, reported by later sends",
                   grouped(port->refused.econnrefused).text);
        if (others > 0)
            buf_printf(page->out, "  %-46s %12s\n", "refused for another cause",
                       grouped(others).text);
        buf_printf(page->out, "  %-46s %12s\n", "counter \"no socket\", whole system",
                   grouped_or_dash(port->no_socket.system).text);
        buf_printf(page->out, "  %-46s %12s\n", "counter \"receive buffer full\", whole system",
                   grouped_or_dash(port->receive_buffer.system).text);
        page_paragraph(
            page,
            "A missing listener and a full buffer have counters of their own; what the second one "
            "counted meanwhile is other programs' traffic. The error that a later send reports is "
            "the receiver's answer (ICMP) to an earlier datagram. Kernels limit how many they send "
            "(Linux: net.ipv4.icmp_ratelimit, net.ipv4.icmp_msgs_per_sec; macOS: "
            "net.inet.icmp.icmplim), so that errors may be fewer than datagrams.");
        put_icmp_limits(page);
    }
}

/* --- idle ------------------------------------------------------------------------------------ */

static size_t put_noise(struct page *page, const struct idle_result *idle)
{
    size_t changed = 0;

    for (int i = 0; i < COUNTER_COUNT; i++) {
        int64_t delta = idle->delta.value[i];

        if (delta == NONE_INT || delta == 0)
            continue;
        if (changed++ == 0)
            buf_printf(page->out, "  %-30s %12s %14s\n", "counter", "change", "per second");
        buf_printf(page->out, "  %-30s %12s %14.1f\n", counter_names[i], grouped(delta).text,
                   (double)delta / idle->seconds);
    }
    return changed;
}

static void put_owners(struct page *page, const struct list *list)
{
    const struct drop_owner *owners = list->items;

    for (size_t i = 0; i < list->count && i < ROWS_MAX; i++) {
        if (i == 0)
            buf_printf(page->out, "  %-30s %12s  %s\n", "sockets that dropped: port", "drops",
                       "process");
        buf_printf(page->out, "  %-30lld %12s  ", (long long)owners[i].port,
                   grouped(owners[i].drops).text);
        if (owners[i].process[0] != '\0')
            page_outside(page, owners[i].process);
        else
            buf_printf(page->out, "not readable (socket's inode %lld)", (long long)owners[i].inode);
        buf_text(page->out, "\n");
    }
    if (list->count > ROWS_MAX)
        buf_printf(page->out, "  ... and %zu more\n", list->count - ROWS_MAX);
}

void terminal_idle(struct page *page)
{
    const struct experiment_result *result = NULL;

    while ((result = page_next(page, EXPERIMENT_IDLE, result)) != NULL) {
        const struct idle_result *idle = &result->idle;
        char head[192];

        snprintf(head, sizeof head, "The machine's own noise (nothing was measured for %.3g s)",
                 idle->seconds);
        page_heading(page, head);
        if (put_noise(page, idle) == 0)
            buf_text(page->out, "  no counter changed\n");
        put_owners(page, &idle->owners);
        page_paragraph(page, "These counters belong to the whole machine: as much stands in every "
                             "system-wide number above without having to do with it. The "
                             "receiver's own count is the truth.");
    }
}
