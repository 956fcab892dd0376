/* Owns the page of a run between two hosts and its story: which leg lost, and where. */
#include <stdio.h>

#include "controller/report/terminal_parts.h"

enum { TEXT_BYTES = 8192 };

static void put_title(struct page *page)
{
    const struct host *hosts = page->run->hosts.items;

    page_ink(page, INK_HEAD, 0, "UDP from ");
    page_system(page, &hosts[0]);
    buf_text(page->out, "\n");
    page_ink(page, INK_HEAD, 0, "      to ");
    page_system(page, &hosts[1]);
    buf_printf(page->out, "\n%s%s\n", page->run->started,
               page->run->interrupted ? " (interrupted)" : "");
}

/* All counted cases, measure phase. */
static struct cell_sum sum_counted(const struct run *run, size_t *out_counted)
{
    const struct case_result *cases = run->cases.items;
    struct cell_sum sum = { .lost_echoes = 0 };

    *out_counted = 0;
    for (size_t i = 0; i < run->cases.count; i++) {
        const struct phase *measure = &cases[i].phases.measure;

        if (cases[i].status == CASE_ERROR)
            continue;
        ++*out_counted;
        leg_add(&sum.forward, &measure->forward);
        leg_add(&sum.reverse, &measure->reverse);
        sum.lost_echoes = count_add(sum.lost_echoes, measure->lost_echoes);
    }
    return sum;
}

struct meaning {
    int64_t count;
    const char *words; /* what such a loss is, and what to do */
};

static void tell_leg(const char *name, const struct leg *leg, struct buf *text)
{
    const struct meaning meanings[] = {
        { leg->lost_to.receive_buffer,
          "came to the host and met a full socket buffer there: a larger SO_RCVBUF or a faster "
          "reader helps" },
        { leg->lost_to.sender_host,
          "were dropped in the sending host, behind the socket: its queue (qdisc) or interface" },
        { leg->lost_to.receiver_host,
          "were dropped in the receiving host, in front of the socket: its interface, backlog or "
          "reassembly" },
        { leg->lost_to.network, "left one host and never reached the other: the network" },
        { leg->lost_to.unattributed, "have no place: a host's counters were not known" },
    };

    if (leg->lost == 0) {
        buf_printf(text, "%s, nothing was lost of %s datagrams. ", name, grouped(leg->sent).text);
        return;
    }
    buf_printf(text, "%s, %s of %s datagrams were lost (%s): ", name, grouped(leg->lost).text,
               grouped(leg->sent).text, percent((double)leg->lost / (double)leg->sent).text);
    for (size_t i = 0, told = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].count > 0)
            buf_printf(text, "%s%s %s", told++ > 0 ? "; " : "", grouped(meanings[i].count).text,
                       meanings[i].words);
    }
    buf_text(text, ". ");
}

static void tell_rest(const struct cell_sum *sum, struct buf *text)
{
    const struct meaning meanings[] = {
        { count_add(leg_refused(&sum->forward), leg_refused(&sum->reverse)),
          "datagrams were refused by a sending kernel and never sent" },
        { count_add(sum->forward.late, sum->reverse.late), "came too late to count as received" },
        { count_add(sum->forward.duplicates, sum->reverse.duplicates), "came more than once" },
        { count_add(sum->forward.reordered, sum->reverse.reordered),
          "overtook one another on the way" },
        { count_add(sum->forward.corrupt, sum->reverse.corrupt), "came with wrong contents" },
        { count_add(sum->forward.foreign, sum->reverse.foreign),
          "strangers came, of other sessions or none, and count nowhere" },
    };

    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].count > 0)
            buf_printf(text, "%s %s. ", grouped(meanings[i].count).text, meanings[i].words);
    }
}

static void tell_agreements(const struct run *run, struct buf *text)
{
    const struct case_result *cases = run->cases.items;
    int64_t sent = 0, answered = 0;

    for (size_t i = 0; i < run->cases.count; i++) {
        if (!cases[i].agreement.present)
            continue;
        sent = count_add(sent, cases[i].agreement.hellos_sent);
        answered = count_add(answered, cases[i].agreement.hellos_answered);
    }
    if (answered < sent)
        buf_printf(text, "Before the phases, %s of %s hellos had no answer. ",
                   grouped(sent - answered).text, grouped(sent).text);
}

static int64_t longest_stall(const struct run *run, size_t host)
{
    const struct case_result *cases = run->cases.items;
    int64_t longest = 0;

    for (size_t i = 0; i < run->cases.count; i++) {
        const struct list *stalls = &cases[i].phases.measure.stalls_ns;

        if (host < stalls->count && ((const int64_t *)stalls->items)[host] > longest)
            longest = ((const int64_t *)stalls->items)[host];
    }
    return longest;
}

/* What happened to the hosts' time meanwhile. */
static void tell_times(const struct run *run, struct buf *text)
{
    static const char *const names[] = { "first", "second" };
    const struct host *hosts = run->hosts.items;
    char time[TEXT_QUANTITY_SIZE];

    for (size_t i = 0; i < run->hosts.count && i < RECORD_COUNT(names); i++) {
        int64_t step_ns = hosts[i].clock_step_ns;
        int64_t stall_ns = longest_stall(run, i);

        if (stall_ns > 0) {
            text_duration(stall_ns, time);
            buf_printf(text,
                       "The %s host did not run this program for %s at a time, which is in the "
                       "round-trip times. ",
                       names[i], time);
        }
        if (step_ns == NONE_INT || step_ns == 0)
            continue;
        text_duration(step_ns < 0 ? -step_ns : step_ns, time);
        buf_printf(text,
                   "The wall clock of the %s host was set %s by %s meanwhile; no round-trip time "
                   "is taken from it. ",
                   names[i], step_ns < 0 ? "back" : "ahead", time);
    }
}

static void put_story(struct page *page)
{
    size_t counted;
    struct cell_sum sum = sum_counted(page->run, &counted);
    struct buf text;

    if (counted == 0)
        return;
    buf_init(&text, TEXT_BYTES);
    buf_text(&text,
             "The first host sent bursts of UDP datagrams, the second returned each to where "
             "it came from, and both counted. ");
    tell_leg("On the way there", &sum.forward, &text);
    tell_leg("On the way back", &sum.reverse, &text);
    tell_rest(&sum, &text);
    tell_fragments(page, &text);
    tell_agreements(page->run, &text);
    tell_times(page->run, &text);
    page_heading(page, "What happened");
    page_paragraph(page, buf_peek(&text));
    buf_done(&text);
}

void terminal_pair(const struct run *run, struct terminal_style style, struct buf *out_text)
{
    struct page page = { .run = run, .style = style, .out = out_text };

    grid_init(&page.grid, run);
    put_title(&page);
    page_plan(&page);
    terminal_grid(&page);
    put_story(&page);
    page_errors(&page);
    terminal_account(&page);
    terminal_fragments(&page);
    terminal_bursts(&page);
    terminal_sockets(&page);
    for (page.host = 0; page.host < run->hosts.count; page.host++)
        terminal_kernel(&page);
    page.host = 0;
    terminal_rates(&page);
    terminal_one_way(&page);
    grid_done(&page.grid);
}
