/* Owns the tables of counters for people. Knows no system and no JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/procfs.h"
#include "controller/command/counters_view.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

/* The groups' first counters, and the end. */
static const int group_starts[] = { UDP_DELIVERED,         UDP6_DELIVERED,  IP_FRAGMENTS_CREATED,
                                    IP6_FRAGMENTS_CREATED, SOFTNET_DROPPED, INTERFACE_RX_DROPPED,
                                    QDISC_DROPPED,         COUNTER_COUNT };
enum { GROUPS = sizeof group_starts / sizeof group_starts[0] - 1, NAME_WIDTH = 28 };

void counters_interval_init(struct counters_interval *interval, const struct counters *before,
                            const struct counters *after, const bool *width32, int64_t elapsed_ns)
{
    bool reset[COUNTER_COUNT];

    memset(interval, 0, sizeof *interval);
    interval->present = true;
    interval->seconds = (double)elapsed_ns / (double)NS_PER_S;
    counters_subtract(before, after, width32, &interval->delta, reset);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (reset[i])
            words_add(&interval->reset, counter_names[i]);
    }
}

void counters_interval_done(struct counters_interval *interval)
{
    words_done(&interval->reset);
    memset(interval, 0, sizeof *interval);
}

static void put_value(struct buf *out_text, int counter, int64_t value)
{
    char text[TEXT_QUANTITY_SIZE];

    text_grouped(value, text);
    buf_printf(out_text, "  %-*s %20s\n", NAME_WIDTH, counter_names[counter], text);
}

static bool group_has_values(const struct counters *counters, int group)
{
    for (int i = group_starts[group]; i < group_starts[group + 1]; i++) {
        if (counters->value[i] != NONE_INT)
            return true;
    }
    return false;
}

static void put_values(const struct counters *counters, struct buf *out_text)
{
    for (int group = 0; group < GROUPS; group++) {
        if (!group_has_values(counters, group))
            continue;
        buf_text(out_text, "\n");
        for (int i = group_starts[group]; i < group_starts[group + 1]; i++) {
            if (counters->value[i] != NONE_INT)
                put_value(out_text, i, counters->value[i]);
        }
    }
}

/* How many of the group are unavailable for the reason of counter `like`. */
static int same_reason(const struct counter_snapshot *snapshot, int group, int like)
{
    int count = 0;

    for (int i = group_starts[group]; i < group_starts[group + 1]; i++)
        count += snapshot->total.value[i] == NONE_INT &&
                 strcmp(snapshot->reason[i], snapshot->reason[like]) == 0;
    return count;
}

static bool told_before(const struct counter_snapshot *snapshot, int group, int counter)
{
    for (int i = group_starts[group]; i < counter; i++) {
        if (snapshot->total.value[i] == NONE_INT &&
            strcmp(snapshot->reason[i], snapshot->reason[counter]) == 0)
            return true;
    }
    return false;
}

/* "udp6.*" when the whole group shares the reason, else the names that do. */
static void put_sharers(const struct counter_snapshot *snapshot, int group, int like,
                        struct buf *out_text)
{
    int prefix = (int)strcspn(counter_names[like], ".");
    bool first = true;

    if (same_reason(snapshot, group, like) == group_starts[group + 1] - group_starts[group]) {
        buf_printf(out_text, "  %.*s.*", prefix, counter_names[like]);
        return;
    }
    for (int i = like; i < group_starts[group + 1]; i++) {
        if (snapshot->total.value[i] != NONE_INT ||
            strcmp(snapshot->reason[i], snapshot->reason[like]) != 0)
            continue;
        buf_printf(out_text, "%s%s", first ? "  " : ", ", counter_names[i]);
        first = false;
    }
}

static void put_reasons(const struct counter_snapshot *snapshot, struct buf *out_text)
{
    bool any = false;

    for (int group = 0; group < GROUPS; group++) {
        for (int i = group_starts[group]; i < group_starts[group + 1]; i++) {
            if (snapshot->total.value[i] != NONE_INT || told_before(snapshot, group, i))
                continue;
            buf_text(out_text, any ? "" : "\nNot available:\n");
            any = true;
            put_sharers(snapshot, group, i, out_text);
            buf_printf(out_text, ": %s\n", snapshot->reason[i]);
        }
    }
}

static void put_cpus(const struct list *cpus, struct buf *out_text)
{
    const struct softnet_cpu *cpu = cpus->items;
    size_t quiet = 0;

    if (cpus->count == 0)
        return;
    buf_printf(out_text, "\n  %-*s %14s %14s %14s\n", NAME_WIDTH, "CPU backlog (softnet)",
               "processed", "dropped", "squeezed");
    for (size_t i = 0; i < cpus->count; i++) {
        char name[32];

        if (cpu[i].dropped == 0 && cpu[i].squeezed == 0 && cpus->count > 8) {
            quiet++;
            continue;
        }
        snprintf(name, sizeof name, "cpu %lld", (long long)cpu[i].cpu);
        buf_printf(out_text, "  %-*s %14lld %14lld %14lld\n", NAME_WIDTH, name,
                   (long long)cpu[i].processed, (long long)cpu[i].dropped,
                   (long long)cpu[i].squeezed);
    }
    if (quiet > 0)
        buf_printf(out_text, "  %zu more without drops\n", quiet);
}

static void put_interfaces(const struct list *interfaces, struct buf *out_text)
{
    const struct interface_counters *at = interfaces->items;
    size_t quiet = 0;

    if (interfaces->count == 0)
        return;
    buf_printf(out_text, "\n  %-*s %14s %14s %14s %14s\n", NAME_WIDTH, "interface", "rx_dropped",
               "rx_errors", "tx_dropped", "tx_errors");
    for (size_t i = 0; i < interfaces->count; i++) {
        char name[sizeof at[i].name];

        if (interfaces->count > 8 &&
            (at[i].rx_dropped | at[i].rx_errors | at[i].tx_dropped | at[i].tx_errors) == 0) {
            quiet++;
            continue;
        }
        text_copy(name, sizeof name, at[i].name);
        utf8_mask(name);
        buf_printf(out_text, "  %-*s %14llu %14llu %14llu %14llu\n", NAME_WIDTH, name,
                   (unsigned long long)at[i].rx_dropped, (unsigned long long)at[i].rx_errors,
                   (unsigned long long)at[i].tx_dropped, (unsigned long long)at[i].tx_errors);
    }
    if (quiet > 0)
        buf_printf(out_text, "  %zu more without drops or errors\n", quiet);
}

void counters_view_text(const struct counters_view *view, struct buf *out_text)
{
    char taken[WALL_TEXT_SIZE], root[1024], namespace[64];

    wall_format(view->taken, taken);
    text_copy(namespace, sizeof namespace, view->snapshot->namespace);
    utf8_mask(namespace);
    text_copy(root, sizeof root, view->proc_root == NULL ? "" : view->proc_root);
    utf8_mask(root);
    if (view->proc_root == NULL)
        buf_printf(out_text, "Kernel counters of %s, %s %s", view->host->name, view->host->os,
                   view->host->os_release);
    else
        buf_printf(out_text, "Kernel counters in %s", root);
    buf_printf(out_text, "%s%s, at %s\n", *namespace == '\0' ? "" : ", ", namespace, taken);
    put_values(&view->snapshot->total, out_text);
    put_cpus(&view->snapshot->cpus, out_text);
    put_interfaces(&view->snapshot->interfaces, out_text);
    put_reasons(view->snapshot, out_text);
}

void counters_view_changes(const struct counters_view *view, struct buf *out_text)
{
    const struct counters *delta = &view->interval.delta;
    char *const *reset = view->interval.reset.items;
    char taken[WALL_TEXT_SIZE];
    bool quiet = view->interval.reset.count == 0;

    wall_format(view->taken, taken);
    buf_printf(out_text, "%s, after %.2f s\n", taken, view->interval.seconds);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        char text[TEXT_QUANTITY_SIZE], step[TEXT_QUANTITY_SIZE + 1];

        if (delta->value[i] == NONE_INT || delta->value[i] == 0)
            continue;
        text_grouped(delta->value[i], text);
        snprintf(step, sizeof step, "+%s", text);
        buf_printf(out_text, "  %-*s %20s\n", NAME_WIDTH, counter_names[i], step);
        quiet = false;
    }
    for (size_t i = 0; i < view->interval.reset.count; i++)
        buf_printf(out_text, "  %-*s %20s\n", NAME_WIDTH, reset[i], "reset");
    if (quiet)
        buf_text(out_text, "  nothing changed\n");
}
