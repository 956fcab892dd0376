/* Owns what a flow's answer means, and which flows have the same one. Must not know where an answer
 * comes from, nor the words for it (mtu_verdict_words.c, mtu_verdict_notes.c).
 */
#include "proto/wire/mtu_verdict_part.h"

#include <stdlib.h>

#include "proto/base/memory.h"

enum { RANGES_TOLD = 16 }; /* of ports in a line */

/* --- one flow -------------------------------------------------------------------------------- */

int64_t mtu_base_of(enum family family)
{
    return family == FAMILY_IPV4 ? MTU_BASE_IPV4 : MTU_BASE_IPV6;
}

bool mtu_icmp_names(const struct mtu_flow *flow, const struct mtu_icmp *icmp)
{
    int64_t next = flow->next_size != NONE_INT ? flow->next_size : flow->path_mtu + 1;

    return icmp->accepted && flow->path_mtu != NONE_INT && icmp->mtu >= flow->path_mtu &&
           icmp->mtu < next;
}

static bool reaches_interface(const struct mtu_flow *flow)
{
    return flow->local_mtu != NONE_INT && flow->path_mtu >= flow->local_mtu;
}

enum mtu_verdict mtu_end_of(const struct mtu_flow *flow)
{
    const struct mtu_icmp *icmp = flow->icmp.items;

    if (flow->limit != MTU_LIMIT_PATH || reaches_interface(flow))
        return MTU_CLEAN;
    for (size_t i = 0; i < flow->icmp.count; i++)
        if (mtu_icmp_names(flow, &icmp[i]))
            return MTU_SIGNALLED;
    return MTU_BLACK_HOLE;
}

/* A ceiling that somebody set says nothing about what is above it. */
static bool ended_as_asked(const struct mtu_flow *flow)
{
    return flow->limit == MTU_LIMIT_CEILING && !reaches_interface(flow);
}

enum mtu_verdict mtu_verdict_of(enum family family, const struct mtu_flow *flow)
{
    int64_t base = mtu_base_of(family);

    switch (flow->outcome) {
    case MTU_UNREACHABLE:
        return MTU_NO_ANSWER;
    case MTU_BELOW_FLOOR: /* of a floor above the base it is not known whether that passes */
        return flow->next_size == NONE_INT || flow->next_size <= base ? MTU_BELOW_BASE
                                                                      : MTU_NO_VERDICT;
    case MTU_FOUND:
        if (flow->path_mtu == NONE_INT)
            return MTU_NO_VERDICT;
        if (flow->path_mtu < base && !ended_as_asked(flow))
            return MTU_BELOW_BASE;
        return flow->size_effect.present && flow->size_effect.found ? MTU_LOSSY : mtu_end_of(flow);
    case MTU_UNDECIDED:
    case MTU_UNSTABLE:
    case MTU_EXHAUSTED:
    case MTU_OUTCOME_COUNT:
        break;
    }
    return MTU_NO_VERDICT;
}

int64_t mtu_payload_of(enum family family, int64_t path_mtu)
{
    int64_t headers =
        UDP_HEADER_BYTES + (family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);

    if (path_mtu == NONE_INT)
        return NONE_INT;
    return path_mtu > headers ? path_mtu - headers : 0;
}

/* --- groups ---------------------------------------------------------------------------------- */

static bool alike(const struct mtu_case *a, const struct mtu_case *b)
{
    return a->flow.path_mtu == b->flow.path_mtu && a->verdict == b->verdict;
}

/* NONE_INT is the smallest there is. */
static int by_size(const void *left, const void *right)
{
    const struct mtu_case *a = ((const struct mtu_group *)left)->first;
    const struct mtu_case *b = ((const struct mtu_group *)right)->first;

    if (a->flow.path_mtu != b->flow.path_mtu)
        return a->flow.path_mtu > b->flow.path_mtu ? -1 : 1;
    return (a->verdict > b->verdict) - (a->verdict < b->verdict);
}

size_t mtu_groups(const struct mtu_case *const *cases, size_t count, struct mtu_group **out_groups)
{
    struct mtu_group *groups = NULL;
    size_t found = 0;

    *out_groups = NULL;
    if (count == 0)
        return 0;
    groups = memory_new(MTU_FLOWS_MAX, sizeof *groups);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        while (at < found && !alike(groups[at].first, cases[i]))
            at++;
        if (at == MTU_FLOWS_MAX)
            continue;
        if (at == found)
            groups[found++].first = cases[i];
        groups[at].count++;
    }
    qsort(groups, found, sizeof *groups, by_size);
    *out_groups = groups;
    return found;
}

/* --- the words for a group ------------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* "port 40001", "ports 40001-40003, 40007"; sorts the numbers. */
static void put_ranges(const char *word, int64_t *numbers, size_t count, struct buf *out)
{
    size_t told = 0;

    qsort(numbers, count, sizeof *numbers, by_value);
    buf_printf(out, "%s%s ", word, count == 1 ? "" : "s");
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && numbers[end] <= numbers[end - 1] + 1;)
            end++;
        if (told == RANGES_TOLD) {
            buf_printf(out, " and %zu more", count - i);
            return;
        }
        buf_printf(out, "%s%lld", told++ == 0 ? "" : ", ", (long long)numbers[i]);
        if (numbers[end - 1] != numbers[i])
            buf_printf(out, "-%lld", (long long)numbers[end - 1]);
    }
}

/* Flows that no port is known of stand under their own numbers. */
static void put_members(const struct mtu_case *const *cases, size_t count,
                        const struct mtu_group *group, struct buf *out)
{
    int64_t *ports = memory_new(count + 1, sizeof *ports);
    int64_t *flows = memory_new(count + 1, sizeof *flows);
    size_t port_count = 0, flow_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (!alike(cases[i], group->first))
            continue;
        if (cases[i]->flow.source_port != NONE_INT)
            ports[port_count++] = cases[i]->flow.source_port;
        else
            flows[flow_count++] = cases[i]->flow.flow;
    }
    if (port_count > 0)
        put_ranges("port", ports, port_count, out);
    if (port_count > 0 && flow_count > 0)
        buf_text(out, ", ");
    if (flow_count > 0)
        put_ranges("flow", flows, flow_count, out);
    buf_text(out, ": ");
    free(ports);
    free(flows);
}

void mtu_group_words(const struct mtu_case *const *cases, size_t count,
                     const struct mtu_group *group, bool alone, struct buf *out)
{
    if (!alone)
        put_members(cases, count, group, out);
    if (group->first->flow.path_mtu == NONE_INT)
        buf_text(out, "none");
    else
        buf_printf(out, "%lld", (long long)group->first->flow.path_mtu);
}
