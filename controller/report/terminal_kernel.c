/* Owns what the system says about itself: socket buffers, and kernel counters beside the noise of
 * the idle interval. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/report/terminal_parts.h"
#include "proto/base/clock.h"

static bool same_grant(const struct grant *a, const struct grant *b)
{
    return a->asked == b->asked && a->granted == b->granted && strcmp(a->limit, b->limit) == 0;
}

/* `host`: where the socket is, 0 or the run's last. */
static void put_grant(struct page *page, size_t host, const char *name, const struct grant *grant)
{
    const struct host *there = (const struct host *)page->run->hosts.items + host;
    const struct map_item *limit = map_find(&there->limits, grant->limit);

    buf_printf(page->out, "  %-24s asked %s, granted %s", name, sized(grant->asked).text,
               sized(grant->granted).text);
    if (grant->asked > 0 && grant->granted == 2 * grant->asked)
        buf_text(page->out, " (this kernel books the double)");
    if (grant->limit[0] != '\0') {
        buf_text(page->out, ", capped by ");
        page_outside(page, grant->limit);
        if (limit != NULL && limit->number != NONE_INT)
            buf_printf(page->out, " = %s", grouped(limit->number).text);
    }
    buf_text(page->out, "\n");
}

void terminal_sockets(struct page *page)
{
    const struct case_result *cases = page->run->cases.items;
    const struct case_sockets *last = NULL;
    size_t lines = 0;

    for (size_t i = 0; i < page->run->cases.count; i++) {
        const struct case_sockets *sockets = &cases[i].sockets;

        if (!sockets->present || cases[i].status == CASE_ERROR ||
            (last != NULL && same_grant(&last->rcvbuf, &sockets->rcvbuf) &&
             same_grant(&last->sndbuf, &sockets->sndbuf)))
            continue;
        if (lines++ == 0)
            page_heading(page, "Socket buffers");
        put_grant(page, page->run->hosts.count - 1, "receive, echo socket", &sockets->rcvbuf);
        put_grant(page, 0, "send, clients' sockets", &sockets->sndbuf);
        last = sockets;
        if (lines >= 8)
            break;
    }
    if (lines > 0 && !page_host(page)->limits_unchanged)
        buf_text(page->out, "  the system's limits changed during the run\n");
}

static double run_seconds(const struct run *run)
{
    struct wall started, finished;

    if (wall_parse(run->started, &started) != STATUS_OK ||
        wall_parse(run->finished, &finished) != STATUS_OK)
        return 0;
    return (double)(finished.ns - started.ns) / 1e9;
}

static bool about_fragments(int counter)
{
    return strstr(counter_names[counter], "fragment") != NULL ||
           strstr(counter_names[counter], "reassembl") != NULL;
}

/* What the idle interval would have made of the run's length; NAN when it is not known. */
static double noise(const struct host_counters *counters, int counter, double seconds)
{
    int64_t delta = counters->idle.delta.value[counter];

    if (delta == NONE_INT || counters->idle.seconds <= 0)
        return (double)NAN;
    return (double)delta / counters->idle.seconds * seconds;
}

static void put_counter(struct page *page, int counter, double seconds)
{
    const struct host_counters *counters = &page_host(page)->counters;
    double idle = noise(counters, counter, seconds);
    struct quantity delta, scaled;

    delta = grouped(counters->delta.value[counter]);
    if (isnan(idle))
        snprintf(scaled.text, sizeof scaled.text, "not known");
    else if (idle > 0 && idle < 9e15)
        scaled = grouped((int64_t)(idle + 0.5));
    else
        snprintf(scaled.text, sizeof scaled.text, "%s", idle > 0 ? "huge" : "0");
    buf_printf(page->out, "  %-30s +%-20s %s\n", counter_names[counter], delta.text, scaled.text);
}

/* What this run's own sockets counted. */
struct drops {
    int64_t measured;   /* in both phases and legs */
    int64_t on_purpose; /* to learn what a datagram is charged */
    bool exact;         /* known for each socket, in every case */
};

static void drops_add(struct drops *drops, const struct case_result *result)
{
    const struct phase *phases[] = { &result->phases.warmup, &result->phases.measure };

    if (result->status == CASE_ERROR)
        drops->exact = false;
    if (result->sockets.present && result->sockets.calibration_drops != NONE_INT)
        drops->on_purpose = count_add(drops->on_purpose, result->sockets.calibration_drops);
    for (size_t p = 0; p < 2; p++) {
        if (!phases[p]->present)
            continue;
        drops->measured = count_add(drops->measured, phases[p]->forward.lost_to.receive_buffer);
        drops->measured = count_add(drops->measured, phases[p]->reverse.lost_to.receive_buffer);
        if (phases[p]->forward.evidence == EVIDENCE_SYSTEM_WIDE)
            drops->exact = false;
    }
}

static void put_own_drops(struct page *page)
{
    enum counter counter = buffer_full_counter(page->run);
    const struct case_result *cases = page->run->cases.items;
    struct drops drops = { .exact = true };

    for (size_t i = 0; i < page->run->cases.count; i++)
        drops_add(&drops, &cases[i]);
    /* Other experiments say in their tables what their sockets counted; of two hosts each has only
     * some of them. */
    if (page->run->kind != RUN_LOOPBACK || !drops.exact ||
        page_host(page)->counters.delta.value[counter] == NONE_INT)
        return;
    buf_printf(page->out, "  of %s, this run's own sockets counted %s", counter_names[counter],
               grouped(drops.measured).text);
    if (drops.on_purpose > 0)
        buf_printf(page->out, "\n  and %s more on purpose, to learn what a datagram is charged",
                   grouped(drops.on_purpose).text);
    buf_text(page->out, "\n");
}

struct rest {
    size_t unchanged, unavailable, reset;
    bool fragments_changed, fragments_known;
};

static struct rest put_changed(struct page *page, double seconds)
{
    const struct host_counters *counters = &page_host(page)->counters;
    struct rest rest = { .unchanged = 0 };

    for (int i = 0; i < COUNTER_COUNT; i++) {
        int64_t delta = counters->delta.value[i];

        if (delta == NONE_INT) {
            bool backwards =
                counters->before.value[i] != NONE_INT && counters->after.value[i] != NONE_INT;

            rest.reset += backwards;
            rest.unavailable += !backwards;
            continue;
        }
        if (about_fragments(i)) {
            rest.fragments_known = true;
            rest.fragments_changed |= delta != 0;
        }
        if (delta == 0)
            rest.unchanged++;
        else
            put_counter(page, i, seconds);
    }
    return rest;
}

void terminal_kernel(struct page *page)
{
    double seconds = run_seconds(page->run), idle_s = page_host(page)->counters.idle.seconds;
    struct rest rest;

    page_heading(page,
                 "Kernel counters over the whole run, system-wide: other programs are in them");
    if (page->run->hosts.count > 1) {
        buf_printf(page->out, "  the %s's host: ", page->host == 0 ? "sender" : "echo role");
        page_system(page, page_host(page));
        buf_text(page->out, "\n");
    }
    buf_printf(page->out, "  %-30s %-21s noise (", "counter", "change");
    if (idle_s > 0)
        buf_printf(page->out, "%.3g s idle, scaled to %.0f s)\n", idle_s, seconds);
    else
        buf_text(page->out, "nobody listened)\n");
    rest = put_changed(page, seconds);
    put_own_drops(page);
    if (rest.fragments_known && !rest.fragments_changed)
        buf_text(page->out, "  fragmentation and reassembly: no counter changed\n");
    buf_printf(page->out, "  unchanged %zu, not available here %zu", rest.unchanged,
               rest.unavailable);
    if (rest.reset > 0)
        buf_printf(page->out, ", went backwards (reset) %zu", rest.reset);
    buf_text(page->out, "\n");
}
