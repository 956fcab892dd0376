/* Owns the tables of a path MTU run below its answers: loss by size, what watching noticed, and
 * what the searches cost. */
#include <math.h>
#include <stdio.h>

#include "controller/report/terminal_parts.h"
#include "controller/report/ways.h"

/* --- loss by size ---------------------------------------------------------------------------- */

/* 0.0101 as "1.01 %": small losses are what this is about. */
static struct quantity loss(double ratio)
{
    struct quantity quantity = { "-" };

    if (!isnan(ratio))
        snprintf(quantity.text, sizeof quantity.text, "%.2f %%", ratio * 100);
    return quantity;
}

struct part {
    const char *sizes;
    int64_t sent, lost;
    double low, high;
};

static void put_part(struct page *page, const char *whose, const struct part *part, enum ink ink)
{
    double ratio = part->sent > 0 ? (double)part->lost / (double)part->sent : (double)NAN;

    buf_printf(page->out, "  %-13s  %-13s %12s %10s ", whose, part->sizes, grouped(part->sent).text,
               grouped(part->lost).text);
    page_ink(page, ink, 9, loss(ratio).text);
    buf_printf(page->out, "   %s to %s\n", loss(part->low).text, loss(part->high).text);
}

static void put_effect(struct page *page, const char *whose, const struct mtu_size_effect *effect)
{
    char up_to[64], above[64];
    struct part below = { "all sizes", effect->sent_below, effect->lost_below, effect->low_below,
                          effect->high_below };
    struct part rest = { above, effect->sent_above, effect->lost_above, effect->low_above,
                         effect->high_above };

    if (!effect->found) {
        put_part(page, whose, &below, effect->lost > 0 ? INK_BAD : INK_GOOD);
        buf_printf(page->out, "%17sno size loses more than smaller ones\n", "");
        return;
    }
    snprintf(up_to, sizeof up_to, "up to %s", grouped(effect->threshold).text);
    snprintf(above, sizeof above, "above %s", grouped(effect->threshold).text);
    below.sizes = up_to;
    put_part(page, whose, &below, INK_PLAIN);
    put_part(page, "", &rest, INK_BAD);
    buf_printf(page->out, "%17sthe loss changes above %s (99 %%: %s to %s)\n", "",
               grouped(effect->threshold).text, grouped(effect->least).text,
               grouped(effect->most).text);
}

void terminal_sizes(struct page *page)
{
    size_t position = 0, rows = 0;
    struct way way;

    while (way_next(page->run, &position, &way)) {
        const struct mtu_size_effect *effect = &way.flows[0]->flow.size_effect;
        char whose[WAY_NAME_SIZE];

        if (!effect->present)
            continue;
        if (rows++ == 0) {
            page_heading(page, "Loss by size (of IP packets, on the first flow)");
            buf_printf(page->out, "  %-13s  %-13s %12s %10s %9s   %s\n", "", "size", "sent", "lost",
                       "loss", "95 % interval");
        }
        way_name(&way, whose);
        put_effect(page, whose, effect);
    }
}

/* --- watching -------------------------------------------------------------------------------- */

static const struct list *events_of(const struct way *way)
{
    static const struct list none = { 0 };

    if (way->session == NULL)
        return &none;
    return way->direction == MTU_FORWARD ? &way->session->events_forward
                                         : &way->session->events_reverse;
}

static void put_flow(struct page *page, const struct way *way, int64_t flow)
{
    char text[64] = "";

    if (page->run->mtu_plan.common.flows > 1) {
        snprintf(text, sizeof text, "flow %lld", (long long)flow);
        for (size_t i = 0; i < way->count; i++) {
            if (way->flows[i]->flow.flow == flow && way->flows[i]->flow.source_port != NONE_INT)
                snprintf(text, sizeof text, "port %lld",
                         (long long)way->flows[i]->flow.source_port);
        }
    }
    buf_printf(page->out, " %-11s", text);
}

static void put_event(struct page *page, const struct way *way, const struct mtu_event *event)
{
    char whose[WAY_NAME_SIZE];

    way_name(way, whose);
    buf_printf(page->out, "  %10.1f s  %-13s", event->after_s, whose);
    put_flow(page, way, event->flow);
    if (event->change == MTU_CHANGE_UNREACHABLE) {
        buf_printf(page->out, " %7s -> ", grouped_or_dash(event->from).text);
        page_ink(page, INK_BAD, 0, "unreachable");
        buf_text(page->out, "\n");
        return;
    }
    buf_printf(page->out, " %7s -> %s%s\n", grouped_or_dash(event->from).text,
               event->to == NONE_INT ? "below the floor" : grouped(event->to).text,
               event->change == MTU_CHANGE_KNOWN ? " (the first answer)" : "");
}

void terminal_changes(struct page *page)
{
    size_t position = 0, rows = 0, changes = 0;
    struct way way;

    if (page->run->mtu_plan.common.watch_s <= 0)
        return;
    page_heading(page, "Changes while watching (path MTU, time since the direction's begin)");
    while (way_next(page->run, &position, &way)) {
        const struct list *events = events_of(&way);
        const struct mtu_event *items = events->items;

        for (size_t i = 0; i < events->count; i++) {
            changes += items[i].change != MTU_CHANGE_KNOWN;
            if (++rows <= ROWS_MAX)
                put_event(page, &way, &items[i]);
        }
    }
    if (rows > ROWS_MAX)
        buf_printf(page->out, "  ... and %zu more\n", rows - ROWS_MAX);
    if (changes == 0)
        buf_text(page->out, "  none\n");
}

/* --- what it cost ---------------------------------------------------------------------------- */

/* Of all flows of a way. */
struct effort {
    int64_t probes, retries, refused, controls, controls_lost;
    int64_t rtt_ns; /* the smallest; NONE_INT: nobody answered */
    double seconds; /* the longest: flows are searched side by side */
};

static struct effort effort_of(const struct way *way)
{
    struct effort effort = { .rtt_ns = NONE_INT };

    for (size_t i = 0; i < way->count; i++) {
        const struct mtu_flow *flow = &way->flows[i]->flow;

        effort.probes = count_add(effort.probes, flow->probes);
        effort.retries = count_add(effort.retries, flow->retries);
        effort.refused = count_add(effort.refused, flow->refused);
        effort.controls = count_add(effort.controls, flow->controls);
        effort.controls_lost = count_add(effort.controls_lost, flow->controls_lost);
        if (flow->rtt_ns != NONE_INT && (effort.rtt_ns == NONE_INT || flow->rtt_ns < effort.rtt_ns))
            effort.rtt_ns = flow->rtt_ns;
        effort.seconds = fmax(effort.seconds, flow->seconds);
    }
    return effort;
}

void terminal_effort(struct page *page)
{
    size_t position = 0, rows = 0;
    struct way way;

    while (way_next(page->run, &position, &way)) {
        struct effort effort = effort_of(&way);
        char whose[WAY_NAME_SIZE];

        if (effort.probes == 0)
            continue;
        if (rows++ == 0) {
            page_heading(page, "What the searches sent");
            buf_printf(page->out, "  %-13s %10s %10s %10s %10s %10s %10s %10s\n", "", "datagrams",
                       "again", "refused", "small", "lost", "RTT", "time");
        }
        way_name(&way, whose);
        buf_printf(page->out, "  %-13s %10s %10s %10s %10s %10s %10s %10s\n", whose,
                   grouped(effort.probes).text, grouped(effort.retries).text,
                   grouped(effort.refused).text, grouped(effort.controls).text,
                   grouped(effort.controls_lost).text,
                   effort.rtt_ns == NONE_INT ? "-" : lasting(effort.rtt_ns).text,
                   lasting_s(effort.seconds).text);
    }
    if (rows > 0)
        page_paragraph(page,
                       "again: sizes that had been asked before; refused: not taken by the probing "
                       "host; small: those that measure the loss meanwhile, and how many of them "
                       "were lost.");
}
