/* Owns the table of what one client has sent and not got back. */
#include "agent/probe/window.h"

enum { TIMES_MIN = 1 << 16 };

void window_init(struct window *window, size_t slots)
{
    *window = (struct window){ 0 };
    seqtable_init(&window->outstanding, slots, slots > TIMES_MIN ? slots : TIMES_MIN);
}

void window_done(struct window *window)
{
    seqtable_done(&window->outstanding);
}

uint64_t window_open(struct window *window, struct mono now)
{
    if (!seqtable_put(&window->outstanding, window->next, now.ns))
        window->untimed++;
    return window->next++;
}

bool window_sent_at(const struct window *window, uint32_t wire, struct mono *out_sent_at)
{
    return seqtable_peek(&window->outstanding, sequence_extend(wire, window->next),
                         &out_sent_at->ns);
}

enum window_close window_close(struct window *window, uint32_t wire, struct mono *out_sent_at)
{
    uint64_t sequence = sequence_extend(wire, window->next);
    int64_t sent_ns;

    if (sequence >= window->next)
        return WINDOW_UNKNOWN;
    if (seqtable_take(&window->outstanding, sequence, &sent_ns)) {
        *out_sent_at = (struct mono){ sent_ns };
        return WINDOW_CLOSED;
    }
    if (window->untimed == 0)
        return WINDOW_NOT_OPEN;
    window->untimed--;
    return WINDOW_UNTIMED;
}

void window_abandon(struct window *window, uint64_t sequence)
{
    if (!seqtable_take(&window->outstanding, sequence, NULL) && window->untimed > 0)
        window->untimed--;
}
