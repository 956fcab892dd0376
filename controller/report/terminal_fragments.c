/* Owns what is said of payloads whose packet is larger than the interface's MTU: whether the
 * system cut them, and whether they arrived all the same, by its own counters. The limit itself is
 * arithmetic; what became of it is measured. */
#include <assert.h>

#include "controller/report/terminal_parts.h"
#include "proto/wire/budget.h"

enum { HEADERS_IPV4 = 28, HEADERS_IPV6 = 48, UDP_HEADER = 8, FRAGMENT_HEADER = 8 };

/* The counters of one family, over the phases of some cases. */
struct cut {
    int64_t sent;                  /* datagrams that left this host */
    int64_t received;              /* and came to it */
    int64_t fragmented, fragments; /* datagrams, pieces; NONE_INT: not known */
    int64_t reassembled, failures;
};

static bool is_ipv4(const struct page *page)
{
    return page->run->plan.common.family == FAMILY_IPV4;
}

static int64_t headers(const struct page *page)
{
    return is_ipv4(page) ? HEADERS_IPV4 : HEADERS_IPV6;
}

static int64_t mtu_of(const struct page *page)
{
    return page_host(page)->interface.mtu;
}

/* The largest payload that one packet of the interface has; 0: not known. */
static int64_t limit_of(const struct page *page)
{
    int64_t mtu = mtu_of(page), least = is_ipv4(page) ? MTU_MIN_IPV4 : MTU_MIN_IPV6;

    return mtu == NONE_INT || mtu < least ? 0 : mtu - headers(page);
}

/* Pieces of a datagram: each but the last a multiple of 8 bytes; IPv6's have a header more. Of the
 * last one Linux fills the interface's MTU (IPv4). */
static int64_t pieces_of(const struct page *page, int64_t payload)
{
    int64_t room = limit_of(page) + UDP_HEADER - (is_ipv4(page) ? 0 : FRAGMENT_HEADER);
    int64_t step = room / 8 * 8, last = is_ipv4(page) ? room : step;
    int64_t bytes = payload + UDP_HEADER;

    assert(step > 0); /* limit_of is 0 below the least MTU, and then nothing is asked */
    return bytes <= last ? 1 : 1 + (bytes - last + step - 1) / step;
}

static void count_in(int64_t *total, int64_t value)
{
    *total = *total == NONE_INT || value == NONE_INT ? NONE_INT : count_add(*total, value);
}

static void add_counters(struct cut *cut, const struct counters *counters, bool ipv4)
{
    const int64_t *value = counters->value;

    count_in(&cut->fragmented, value[ipv4 ? IP_FRAGMENTED : IP6_FRAGMENTED]);
    count_in(&cut->fragments, value[ipv4 ? IP_FRAGMENTS_CREATED : IP6_FRAGMENTS_CREATED]);
    count_in(&cut->reassembled, value[ipv4 ? IP_REASSEMBLED : IP6_REASSEMBLED]);
    count_in(&cut->failures, value[ipv4 ? IP_REASSEMBLY_FAILURES : IP6_REASSEMBLY_FAILURES]);
}

static void add_phase(const struct page *page, struct cut *cut, const struct phase *phase)
{
    bool alone = page->run->hosts.count == 1;

    if (!phase->present || page->host >= phase->counters.count)
        return;
    if (alone || page->host == 0) {
        cut->sent = count_add(cut->sent, phase->forward.sent);
        cut->received = count_add(cut->received, phase->reverse.received);
    }
    if (alone || page->host == 1) {
        cut->sent = count_add(cut->sent, phase->reverse.sent);
        cut->received = count_add(cut->received, phase->forward.received);
    }
    add_counters(cut, (const struct counters *)phase->counters.items + page->host, is_ipv4(page));
}

/* Over the cases of one payload; 0: over all whose packet is larger than the interface's MTU. */
static struct cut cut_of(const struct page *page, int64_t payload)
{
    const struct case_result *cases = page->run->cases.items;
    struct cut cut = { .sent = 0 };

    for (size_t i = 0; i < page->run->cases.count; i++) {
        int64_t has = cases[i].params.payload;

        if (cases[i].status == CASE_ERROR || (payload != 0 && has != payload) ||
            has <= limit_of(page))
            continue;
        add_phase(page, &cut, &cases[i].phases.warmup);
        add_phase(page, &cut, &cases[i].phases.measure);
    }
    return cut;
}

static void tell_name(const struct page *page, struct buf *text)
{
    static const char *const whose[] = { "the first host's ", "the second host's " };
    const struct host *host = page_host(page);
    struct page names = { .style = page->style, .out = text };

    if (page->run->hosts.count > 1)
        buf_text(text, whose[page->host > 0]);
    page_outside(&names, host->interface.name[0] != '\0' ? host->interface.name : "the interface");
}

/* What followed from it. */
static const char *outcome_of(const struct page *page, const struct cut *cut)
{
    if (cut->failures > 0)
        return ": a datagram of which one fragment is lost is lost. ";
    if (page->run->hosts.count == 1 && cut->failures == 0 && cut->received > 0)
        return ": the arithmetic limit is no threshold on loopback. ";
    return ". ";
}

/* One host's interface; nothing when all payloads fit it. */
static void tell_host(const struct page *page, struct buf *text)
{
    struct cut cut = cut_of(page, 0);

    if (limit_of(page) == 0 || cut.sent == 0)
        return;
    buf_text(text, "The MTU of ");
    tell_name(page, text);
    buf_printf(text, " is %s: ", grouped(mtu_of(page)).text);
    if (cut.fragmented == NONE_INT || cut.fragments == NONE_INT || cut.reassembled == NONE_INT) {
        buf_printf(text,
                   "packets of payloads above %s B are larger, and what became of them is not "
                   "known: this system has no counters of fragments. ",
                   grouped(limit_of(page)).text);
        return;
    }
    if (cut.fragmented == 0 && cut.fragments == 0) {
        buf_printf(text,
                   "packets of payloads above %s B are larger, but no fragment was made of %s "
                   "datagrams",
                   grouped(limit_of(page)).text, grouped(cut.sent).text);
    } else {
        buf_printf(text,
                   "payloads above %s B travel in fragments: %s datagrams in %s fragments, "
                   "%s reassembled, %s failure%s",
                   grouped(limit_of(page)).text, grouped(cut.fragmented).text,
                   grouped(cut.fragments).text, grouped(cut.reassembled).text,
                   grouped_or_dash(cut.failures).text, plural(cut.failures));
    }
    buf_text(text, outcome_of(page, &cut));
}

void tell_fragments(const struct page *page, struct buf *text)
{
    struct page at = *page;

    for (at.host = 0; at.host < page->run->hosts.count; at.host++)
        tell_host(&at, text);
}

static void put_row(struct page *page, int64_t payload)
{
    struct cut cut = cut_of(page, payload);
    int64_t pieces = pieces_of(page, payload);

    if (cut.sent == 0)
        return;
    buf_printf(page->out, "  %9s B %10s %12s %6s %12s %14s %14s %8s\n", grouped(payload).text,
               grouped(payload + headers(page)).text, grouped(cut.sent).text, grouped(pieces).text,
               grouped(count_multiply(cut.sent, pieces)).text, grouped_or_dash(cut.fragments).text,
               grouped_or_dash(cut.reassembled).text, grouped_or_dash(cut.failures).text);
}

static void put_head(struct page *page)
{
    struct buf head;

    buf_init(&head, 512);
    buf_text(&head, "Packets larger than the MTU of ");
    tell_name(page, &head);
    buf_printf(&head, ", %s (all phases)", grouped(mtu_of(page)).text);
    page_heading(page, buf_peek(&head));
    buf_done(&head);
    buf_printf(page->out, "  %11s %10s %12s %19s %14s %14s\n", "", "IP", "datagrams",
               "by arithmetic", "fragments", "datagrams");
    buf_printf(page->out, "  %11s %10s %12s %6s %12s %14s %14s %8s\n", "payload", "packet", "sent",
               "each", "fragments", "counted", "reassembled", "failures");
}

void terminal_fragments(struct page *page)
{
    size_t host = page->host;

    for (page->host = 0; page->host < page->run->hosts.count; page->host++) {
        if (limit_of(page) == 0 || cut_of(page, 0).sent == 0)
            continue;
        put_head(page);
        for (size_t i = 0; i < page->run->plan.payloads.count; i++) {
            if (grid_payload(&page->grid, i) > limit_of(page))
                put_row(page, grid_payload(&page->grid, i));
        }
    }
    page->host = host;
}
