/* Owns how charges read: a table of steps for each way, and what they mean. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/command/charge_view.h"
#include "proto/base/text.h"

enum { RANGE_SIZE = 2 * TEXT_QUANTITY_SIZE + 8 };

struct cell {
    char text[RANGE_SIZE];
};

/* "5", or "5 to 7". */
static struct cell range(int64_t first, int64_t last)
{
    char from[TEXT_QUANTITY_SIZE], to[TEXT_QUANTITY_SIZE];
    struct cell cell;

    text_grouped(first, from);
    text_grouped(last, to);
    if (first == last)
        text_copy(cell.text, sizeof cell.text, from);
    else
        snprintf(cell.text, sizeof cell.text, "%s to %s", from, to);
    return cell;
}

static struct cell number(int64_t value)
{
    return range(value, value);
}

static int64_t step_at(const struct charge_step *step, int64_t payload)
{
    return step->charge + (payload - step->from) * step->slope;
}

bool charge_view_predicted(const struct charge_view *view, const struct charge_step *step)
{
    return charge_predicted(view->family, step->from, view->smallest) == step->charge &&
           charge_predicted(view->family, step->to, view->smallest) == step_at(step, step->to);
}

/* Both ends of every part in which neither list has a step. */
static bool same_from(const struct list *a, const struct list *b)
{
    const struct charge_step *step = a->items;

    for (size_t i = 0; i < a->count; i++) {
        const int64_t ends[] = { step[i].from, step[i].to };

        for (size_t end = 0; end < 2; end++) {
            int64_t other = charge_at(b, ends[end]);

            if (other != NONE_INT && other != step_at(&step[i], ends[end]))
                return false;
        }
    }
    return true;
}

bool charge_view_same(const struct list *a, const struct list *b)
{
    return same_from(a, b) && same_from(b, a);
}

/* --- tables --------------------------------------------------------------------------------- */

static void put_row(struct buf *out, const char *payload, const char *charge, const char *other)
{
    buf_printf(out, "  %20s %20s %20s", payload, charge, other);
}

/* Why the rule does not give a step, as far as that is known. */
static void put_difference(const struct charge_view *view, const struct charge_step *step,
                           struct buf *out)
{
    int64_t headers =
        UDP_HEADER_BYTES + (view->family == FAMILY_IPV4 ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
    int64_t mtu = view->machine.interface.mtu;

    if (charge_view_predicted(view, step))
        buf_text(out, "\n");
    else if (mtu > 0 && step->from + headers > mtu)
        buf_text(out, "  differs: in fragments\n");
    else
        buf_text(out, "  differs\n");
}

static void put_plain(const struct charge_view *view, struct buf *out)
{
    const struct list *steps = &view->ways[CHARGE_PLAIN].steps;
    const struct charge_step *step = steps->items;
    size_t exact = 0;

    buf_text(out, "\nplain: a receiver that is not connected\n");
    put_row(out, "payload", "bytes charged", "predicted");
    buf_text(out, "\n");
    for (size_t i = 0; i < steps->count; i++) {
        put_row(out, range(step[i].from, step[i].to).text,
                range(step[i].charge, step_at(&step[i], step[i].to)).text,
                range(charge_predicted(view->family, step[i].from, view->smallest),
                      charge_predicted(view->family, step[i].to, view->smallest))
                    .text);
        put_difference(view, &step[i], out);
        exact += charge_view_predicted(view, &step[i]);
    }
    buf_printf(out, "  %zu of %zu steps as predicted from the smallest datagram's charge, %s\n",
               exact, steps->count, number(view->smallest).text);
}

/* The other way beside the plain one, in the parts in which neither has a step. */
static void put_beside(const struct list *other, const struct list *plain, struct buf *out)
{
    const struct charge_step *a = other->items, *b = plain->items;

    put_row(out, "payload", "bytes charged", "plain");
    buf_text(out, "\n");
    for (size_t i = 0; i < other->count; i++) {
        for (size_t j = 0; j < plain->count; j++) {
            int64_t from = a[i].from > b[j].from ? a[i].from : b[j].from;
            int64_t to = a[i].to < b[j].to ? a[i].to : b[j].to;

            if (from > to)
                continue;
            put_row(out, range(from, to).text, range(step_at(&a[i], from), step_at(&a[i], to)).text,
                    range(step_at(&b[j], from), step_at(&b[j], to)).text);
            buf_text(out, "\n");
        }
    }
}

static void put_way(const struct charge_view *view, enum charge_way way, struct buf *out)
{
    static const char *const what[] = {
        [CHARGE_PLAIN] = "a receiver that is not connected",
        [CHARGE_CONNECTED] = "a receiver that is connected to the sender",
        [CHARGE_OTHER_CPU] = "sent from one CPU, read on another",
        [CHARGE_GRO] = "sent 16 at once (UDP_SEGMENT), received as one (UDP_GRO); for each of them",
    };
    _Static_assert(CHARGE_GRO_SEGMENTS == 16, "as the words say");
    const struct charge_view_way *at = &view->ways[way];
    const struct list *plain = &view->ways[CHARGE_PLAIN].steps;

    buf_printf(out, "\n%s: %s\n", charge_way_names[way], what[way]);
    if (*at->reason != '\0')
        buf_printf(out, "  not measured: %s\n", at->reason);
    else if (charge_view_same(&at->steps, plain))
        buf_text(out, "  the same as plain at every payload\n");
    else
        put_beside(&at->steps, plain, out);
}

/* --- what it means -------------------------------------------------------------------------- */

/* The step at which one more byte costs most. */
static void put_steepest(const struct list *steps, struct buf *out)
{
    const struct charge_step *step = steps->items;
    size_t steepest = 0;
    double factor = 1;

    for (size_t i = 1; i < steps->count; i++) {
        double jump = (double)step[i].charge / (double)step_at(&step[i - 1], step[i - 1].to);

        if (jump > factor) {
            factor = jump;
            steepest = i;
        }
    }
    if (steepest > 0)
        buf_printf(out,
                   "One byte more can matter: %s bytes are charged %s, %s bytes %s.\nWhoever can "
                   "choose a size stays just below such a step.\n",
                   number(step[steepest].from - 1).text,
                   number(step_at(&step[steepest - 1], step[steepest - 1].to)).text,
                   number(step[steepest].from).text, number(step[steepest].charge).text);
}

static void put_others(const struct charge_view *view, struct buf *out)
{
    const struct list *plain = &view->ways[CHARGE_PLAIN].steps;
    const struct list *gro = &view->ways[CHARGE_GRO].steps;
    bool same = true;

    for (int way = CHARGE_CONNECTED; way <= CHARGE_OTHER_CPU; way++) {
        const struct list *steps = &view->ways[way].steps;

        if (steps->count > 0 && !charge_view_same(steps, plain)) {
            buf_printf(out,
                       "%s is charged differently here: a buffer sized for a plain socket "
                       "holds another number.\n",
                       charge_way_names[way]);
            same = false;
        }
    }
    if (same)
        buf_text(out, "Connecting the receiver, or reading on another CPU, changes nothing of it "
                      "where it was measured.\n");
    if (gro->count > 0 && !charge_view_same(gro, plain))
        buf_text(out, "With UDP_GRO, what was sent at once stays one in the buffer and shares one "
                      "overhead: the same\nbuffer holds another number of datagrams, and what does "
                      "not fit is lost all at once.\n");
}

void charge_view_text(const struct charge_view *view, struct buf *out_text)
{
    const struct list *plain = &view->ways[CHARGE_PLAIN].steps;
    const struct charge_step *first = plain->items;

    buf_printf(out_text,
               "What a queued datagram is charged over %s loopback, %s %s, measured now\n",
               family_name(view->family), view->machine.os, view->machine.os_release);
    put_plain(view, out_text);
    for (int way = CHARGE_PLAIN + 1; way < CHARGE_WAY_COUNT; way++)
        put_way(view, (enum charge_way)way, out_text);
    buf_printf(
        out_text,
        "\nA receive buffer is charged the memory that a datagram occupies, not its payload: "
        "%s bytes are\ncharged %s. A buffer of N bytes holds about N divided by the charge.\n",
        number(first->to).text, number(step_at(first, first->to)).text);
    put_steepest(plain, out_text);
    put_others(view, out_text);
}
