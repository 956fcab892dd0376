/* Owns the further lines that are worth telling of a flow's answer. Must not know who prints them.
 */
#include "proto/base/text.h"
#include "proto/wire/mtu_verdict_part.h"

/* The lines are counted in the order of this file; the one that is wanted is written. */
struct notes {
    const struct mtu_case *what;
    size_t wanted, next;
    struct buf *out;
};

/* Whether the next line is the one; each line asks once. */
static bool is_wanted(struct notes *notes)
{
    return notes->next++ == notes->wanted;
}

/* "99 of 100" */
static void put_of(struct buf *out, int64_t part, int64_t whole)
{
    mtu_put_number(out, part);
    buf_text(out, " of ");
    mtu_put_number(out, whole);
}

/* A loss by size stands before what ended the sizes. */
static void note_end(struct notes *notes)
{
    const struct mtu_flow *flow = &notes->what->flow;

    if (notes->what->verdict != MTU_LOSSY || mtu_end_of(flow) == MTU_CLEAN || !is_wanted(notes))
        return;
    buf_text(notes->out, "nothing above ");
    mtu_put_number(notes->out, flow->path_mtu);
    buf_text(notes->out, " passes: ");
    mtu_end_words(notes->what, notes->out);
}

static void note_size_effect(struct notes *notes)
{
    const struct mtu_size_effect *effect = &notes->what->flow.size_effect;
    struct buf *out = notes->out;

    if (!effect->present || !is_wanted(notes))
        return;
    if (effect->found) {
        buf_text(out, "the loss changes above ");
        mtu_put_number(out, effect->threshold);
        if (effect->least != NONE_INT && effect->most != NONE_INT) {
            buf_text(out, " (");
            mtu_put_number(out, effect->least);
            buf_text(out, " to ");
            mtu_put_number(out, effect->most);
            buf_text(out, ")");
        }
        buf_text(out, ": ");
    } else {
        buf_text(out, "no size loses more than others: ");
    }
    put_of(out, effect->lost, effect->sent);
    buf_text(out, " datagrams were lost");
    if (!effect->found)
        buf_printf(out, ", %.1f to %.1f %%", effect->low_below * 100, effect->high_below * 100);
}

static void note_fragments(struct notes *notes)
{
    const struct mtu_flow *flow = &notes->what->flow;
    const struct mtu_fragments *probes = &flow->fragment_probes;
    struct buf *out = notes->out;

    if (!probes->present || !is_wanted(notes))
        return;
    buf_text(out, "datagrams of ");
    mtu_put_number(out, probes->size);
    buf_text(out, flow->fragments == MTU_PASS      ? " bytes arrive in fragments"
                  : flow->fragments == MTU_DROPPED ? " bytes do not arrive in fragments"
                                                   : " bytes: not known if fragments arrive");
    buf_text(out, " (");
    put_of(out, probes->arrived, probes->sent);
    if (flow->fragments != MTU_PASS) {
        buf_text(out, ", small ones ");
        put_of(out, probes->small_arrived, probes->small_sent);
    }
    buf_text(out, ")");
}

/* What the probing host's other programs live with. Above a ceiling it says nothing new. */
static void note_kernel(struct notes *notes)
{
    const struct mtu_flow *flow = &notes->what->flow;
    struct buf *out = notes->out;

    if (flow->outcome != MTU_FOUND || flow->kernel_path_mtu == NONE_INT ||
        flow->path_mtu == NONE_INT || flow->kernel_path_mtu == flow->path_mtu ||
        (flow->kernel_path_mtu > flow->path_mtu && mtu_end_of(flow) == MTU_CLEAN) ||
        !is_wanted(notes))
        return;
    buf_text(out, "the probing host's kernel has ");
    mtu_put_number(out, flow->kernel_path_mtu);
    if (flow->kernel_before != NONE_INT && flow->kernel_before != flow->kernel_path_mtu) {
        buf_text(out, " (before: ");
        mtu_put_number(out, flow->kernel_before);
        buf_text(out, ")");
    }
    buf_text(out, flow->kernel_path_mtu > flow->path_mtu
                      ? ": what its other programs send may be too large"
                      : ": its other programs send less than they could");
}

static void put_hint(struct buf *out, const struct mtu_flow *flow, const struct mtu_icmp *icmp)
{
    buf_printf(out, "%s said ", icmp->from);
    mtu_put_number(out, icmp->mtu);
    mtu_put_times(out, icmp->count);
    if (!icmp->accepted)
        buf_printf(out, ", not believed: %s", icmp->judged);
    else if (flow->path_mtu == NONE_INT || icmp->mtu > flow->path_mtu)
        buf_text(out, "; it was asked, and is not carried");
    else
        buf_text(out, "; it was asked, and more is carried");
}

/* Whoever named what was found stands in the evidence. */
static void note_icmp(struct notes *notes)
{
    const struct mtu_flow *flow = &notes->what->flow;
    const struct mtu_icmp *icmp = flow->icmp.items;

    for (size_t i = 0; i < flow->icmp.count; i++)
        if (!mtu_icmp_names(flow, &icmp[i]) && is_wanted(notes))
            put_hint(notes->out, flow, &icmp[i]);
    if (flow->icmp_missed > 0 && is_wanted(notes)) {
        mtu_put_number(notes->out, flow->icmp_missed);
        buf_text(notes->out, " further ICMP messages were counted alone");
    }
}

static void note_unreachable(struct notes *notes)
{
    const struct mtu_flow *flow = &notes->what->flow;

    if (flow->unreachable == 0 || notes->what->verdict == MTU_NO_ANSWER || !is_wanted(notes))
        return;
    buf_printf(notes->out, "%s said \"%s\"", flow->unreachable_from, flow->unreachable_kind);
    mtu_put_times(notes->out, flow->unreachable);
}

static void note_loss(struct notes *notes)
{
    const struct mtu_flow *flow = &notes->what->flow;
    struct buf *out = notes->out;

    if (flow->controls_lost == 0 || notes->what->verdict == MTU_NO_ANSWER || !is_wanted(notes))
        return;
    put_of(out, flow->controls_lost, flow->controls);
    buf_text(out, " small datagrams were lost meanwhile");
}

static void note_odd_answers(struct notes *notes)
{
    int64_t count = notes->what->flow.odd_answers;

    if (count == 0 || !is_wanted(notes))
        return;
    mtu_put_number(notes->out, count);
    buf_text(notes->out, count == 1 ? " answer of the other end fits nothing that was sent"
                                    : " answers of the other end fit nothing that was sent");
}

bool mtu_note_words(const struct mtu_case *what, size_t line, struct buf *out)
{
    struct notes notes = { .what = what, .wanted = line, .out = out };

    note_end(&notes);
    note_size_effect(&notes);
    note_fragments(&notes);
    note_kernel(&notes);
    note_icmp(&notes);
    note_unreachable(&notes);
    note_loss(&notes);
    note_odd_answers(&notes);
    return notes.next > line;
}
