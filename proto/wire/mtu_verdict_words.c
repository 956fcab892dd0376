/* Owns the words that say why a flow's answer is what it is, and which tunnel it looks like. Must
 * not know who prints them.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/wire/mtu_verdict_part.h"
#include "proto/wire/tunnels.h"

enum { TUNNELS_TOLD = 3 };

void mtu_put_number(struct buf *out, int64_t number)
{
    char text[TEXT_QUANTITY_SIZE];

    text_grouped(number, text);
    buf_text(out, number == NONE_INT ? "an unknown number" : text);
}

void mtu_put_times(struct buf *out, int64_t count)
{
    buf_text(out, " (ICMP");
    if (count > 1) {
        buf_text(out, ", ");
        mtu_put_number(out, count);
        buf_text(out, " times");
    }
    buf_text(out, ")");
}

void mtu_put_percent(struct buf *out, double share)
{
    buf_printf(out, "%.1f %%", share * 100);
}

/* --- what ended the sizes -------------------------------------------------------------------- */

/* The largest packet that the family's length field can say. */
static int64_t largest_packet(enum family family)
{
    return family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 + UDP_HEADER_BYTES + IPV4_HEADER_BYTES
                                 : PAYLOAD_MAX_IPV6 + UDP_HEADER_BYTES + IPV6_HEADER_BYTES;
}

static void put_interface(struct buf *out, const struct mtu_flow *flow)
{
    if (flow->local_mtu == NONE_INT)
        return;
    buf_text(out, " (the interface's MTU is ");
    mtu_put_number(out, flow->local_mtu);
    buf_text(out, ")");
}

static void put_clean(const struct mtu_case *what, struct buf *out)
{
    const struct mtu_flow *flow = &what->flow;

    if (flow->local_mtu != NONE_INT && flow->path_mtu >= flow->local_mtu) {
        buf_text(out, "this is the interface's MTU");
    } else if (flow->limit == MTU_LIMIT_LOCAL) {
        buf_text(out, "the probing host itself refuses more");
        put_interface(out, flow);
    } else if (flow->path_mtu == largest_packet(what->family)) {
        buf_printf(out, "no %s packet is larger", what->family == FAMILY_IPV4 ? "IPv4" : "IPv6");
    } else {
        buf_text(out, "nothing larger was tried");
        put_interface(out, flow);
    }
}

/* Who named it; the one who said it most often by address, others by their number. */
static void put_signalled(const struct mtu_flow *flow, struct buf *out)
{
    const struct mtu_icmp *icmp = flow->icmp.items;
    const struct mtu_icmp *most = NULL;
    int64_t times = 0;
    size_t others = 0;

    for (size_t i = 0; i < flow->icmp.count; i++) {
        if (!mtu_icmp_names(flow, &icmp[i]))
            continue;
        times += icmp[i].count;
        if (most == NULL || icmp[i].count > most->count)
            most = &icmp[i];
    }
    assert(most != NULL); /* or the path is no MTU_SIGNALLED one */
    for (size_t i = 0; i < flow->icmp.count; i++) {
        bool again = strcmp(icmp[i].from, most->from) == 0;

        for (size_t k = 0; k < i; k++)
            again |= mtu_icmp_names(flow, &icmp[k]) && strcmp(icmp[i].from, icmp[k].from) == 0;
        others += mtu_icmp_names(flow, &icmp[i]) && !again;
    }
    buf_text(out, most->from);
    if (others > 0)
        buf_printf(out, " and %zu other%s", others, others == 1 ? "" : "s");
    buf_text(out, " said so");
    mtu_put_times(out, times);
}

/* The hops between which larger datagrams vanish, as far as any answered. */
static void put_vanished(const struct mtu_flow *flow, struct buf *out)
{
    const struct mtu_hops *hops = &flow->hops;

    buf_text(out, "larger datagrams vanish without a word");
    if (!hops->present)
        return;
    if (hops->first_hop == 0 && hops->last_hop == 0) {
        buf_text(out, "; no hop answers, so it is not known where");
        return;
    }
    if (hops->first_hop == 0) {
        buf_printf(out, ": tell the owner of the hop after %s", hops->last);
        return;
    }
    buf_text(out, " between ");
    if (hops->last_hop == 0)
        buf_text(out, "the probing host");
    else
        buf_printf(out, "hop %lld (%s)", (long long)hops->last_hop, hops->last);
    buf_printf(out, " and hop %lld", (long long)hops->first_hop);
    if (hops->first_is_peer)
        buf_text(out, ", the other end");
    else
        buf_printf(out, " (%s)", hops->first);
    buf_text(out, ": tell the owner of what is between them");
}

void mtu_end_words(const struct mtu_case *what, struct buf *out)
{
    enum mtu_verdict end = mtu_end_of(&what->flow);

    if (end == MTU_CLEAN)
        put_clean(what, out);
    else if (end == MTU_SIGNALLED)
        put_signalled(&what->flow, out);
    else
        put_vanished(&what->flow, out);
}

/* --- why ------------------------------------------------------------------------------------- */

static double share_of(int64_t lost, int64_t sent)
{
    return sent > 0 ? (double)lost / (double)sent : 0;
}

static void put_lossy(const struct mtu_size_effect *effect, struct buf *out)
{
    buf_text(out, "loss is ");
    mtu_put_percent(out, share_of(effect->lost_below, effect->sent_below));
    buf_text(out, " up to ");
    mtu_put_number(out, effect->threshold);
    buf_text(out, " and ");
    mtu_put_percent(out, share_of(effect->lost_above, effect->sent_above));
    if (!isnan(effect->low_above) && !isnan(effect->high_above))
        buf_printf(out, " (%.1f to %.1f %%)", effect->low_above * 100, effect->high_above * 100);
    buf_text(out, " above");
}

static void put_below_base(const struct mtu_case *what, struct buf *out)
{
    const struct mtu_flow *flow = &what->flow;

    buf_text(out, "less than the ");
    mtu_put_number(out, mtu_base_of(what->family));
    buf_text(out, what->family == FAMILY_IPV4 ? " bytes that applications count on (RFC 8899)"
                                              : " bytes that every IPv6 link carries (RFC 8200)");
    if (flow->outcome == MTU_FOUND) {
        buf_text(out, "; ");
        mtu_end_words(what, out);
    } else if (flow->next_size != NONE_INT) {
        buf_text(out, "; not even ");
        mtu_put_number(out, flow->next_size);
        buf_text(out, " passes");
    }
}

static void put_unreachable(const struct mtu_case *what, struct buf *out)
{
    const struct mtu_flow *flow = &what->flow;

    buf_text(out, "small datagrams are not answered");
    if (flow->unreachable > 0) {
        buf_printf(out, "; %s said \"%s\"", flow->unreachable_from, flow->unreachable_kind);
        mtu_put_times(out, flow->unreachable);
    } else if (what->error[0] != '\0') {
        buf_printf(out, ": %s", what->error);
    }
}

/* What is known although the search did not come to its end. */
static void put_known(const struct mtu_flow *flow, struct buf *out)
{
    if (flow->path_mtu != NONE_INT) {
        buf_text(out, ": ");
        mtu_put_number(out, flow->path_mtu);
        buf_text(out, " passes");
    }
    if (flow->next_size != NONE_INT) {
        buf_text(out, flow->path_mtu != NONE_INT ? ", " : ": ");
        mtu_put_number(out, flow->next_size);
        buf_text(out, " does not");
    }
}

static void put_undecided(const struct mtu_case *what, struct buf *out)
{
    const struct mtu_flow *flow = &what->flow;

    if (flow->outcome == MTU_BELOW_FLOOR) {
        buf_text(out, "not even the floor of ");
        mtu_put_number(out, flow->next_size);
        buf_text(out, " passes: ask again with a lower one");
        return;
    }
    if (what->error[0] != '\0')
        buf_text(out, what->error);
    else if (flow->outcome == MTU_UNSTABLE)
        buf_text(out, "what passed stopped to pass, again and again: the path changes");
    else if (flow->outcome == MTU_EXHAUSTED)
        buf_text(out, "the budget of datagrams was used up before the proof");
    else
        buf_text(out, "cut off before the proof");
    put_known(flow, out);
}

void mtu_evidence_words(const struct mtu_case *what, struct buf *out)
{
    switch (what->verdict) {
    case MTU_CLEAN:
    case MTU_SIGNALLED:
    case MTU_BLACK_HOLE:
        mtu_end_words(what, out);
        break;
    case MTU_LOSSY:
        put_lossy(&what->flow.size_effect, out);
        break;
    case MTU_BELOW_BASE:
        put_below_base(what, out);
        break;
    case MTU_NO_ANSWER:
        put_unreachable(what, out);
        break;
    case MTU_NO_VERDICT:
    case MTU_VERDICT_COUNT:
        put_undecided(what, out);
        break;
    }
}

/* --- tunnels --------------------------------------------------------------------------------- */

/* "A, B inside C or 2 others": those on links of the same size. */
static void put_tunnels(const struct tunnel_match *matches, size_t count, struct buf *out)
{
    size_t told = count > TUNNELS_TOLD ? TUNNELS_TOLD : count;

    for (size_t i = 0; i < told; i++) {
        bool last = i + 1 == told && told == count;

        buf_printf(out, "%s%s", i == 0 ? "" : last ? " or " : ", ", matches[i].tunnel->name);
        if (matches[i].under != NULL)
            buf_printf(out, " inside %s", matches[i].under->name);
    }
    if (count > told)
        buf_printf(out, " or %zu other%s", count - told, count - told == 1 ? "" : "s");
    buf_printf(out, " leaves of %lld", (long long)matches[0].mtu);
}

void mtu_tunnel_words(const struct mtu_case *what, struct buf *out)
{
    const struct mtu_flow *flow = &what->flow;
    const char *known = tunnel_known_mtu(flow->path_mtu);
    struct tunnel_match matches[TUNNEL_MATCHES_MAX];
    size_t count, begin = 0;

    if (flow->outcome != MTU_FOUND || flow->path_mtu == NONE_INT || mtu_end_of(flow) == MTU_CLEAN)
        return;
    count = tunnel_explain(what->family, flow->local_mtu == NONE_INT ? LIMIT_MTU : flow->local_mtu,
                           flow->path_mtu, matches, TUNNEL_MATCHES_MAX);
    if (count > 0 || known != NULL)
        buf_printf(out, "%lld is ", (long long)flow->path_mtu);
    while (begin < count) {
        size_t end = begin + 1;

        while (end < count && matches[end].mtu == matches[begin].mtu)
            end++;
        buf_text(out, begin == 0 ? "what " : ", or what ");
        put_tunnels(&matches[begin], end - begin, out);
        begin = end;
    }
    if (known != NULL)
        buf_printf(out, "%s%s", count > 0 ? ", or " : "", known);
}
