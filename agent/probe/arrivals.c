/* Owns the memory of one flow's gaps. */
#include "agent/probe/arrivals.h"

/* Gaps beyond a window arise in open loops only, where nothing waits for what is lost. The leap is
 * an outage of many seconds at any rate there is: whoever comes back behind one is still himself.
 */
enum { GAPS_MIN = 1 << 16, LEAP = 1 << 24 };

void arrivals_init(struct arrivals *arrivals, size_t window)
{
    size_t cap = window * 2 > GAPS_MIN ? window * 2 : GAPS_MIN;

    *arrivals = (struct arrivals){ 0 };
    seqtable_init(&arrivals->missing, 16, cap);
}

void arrivals_done(struct arrivals *arrivals)
{
    seqtable_done(&arrivals->missing);
}

static enum arrival arrived_behind(struct arrivals *arrivals, uint64_t sequence)
{
    if (seqtable_take(&arrivals->missing, sequence, NULL))
        return ARRIVAL_REORDERED;
    if (arrivals->forgotten == 0)
        return ARRIVAL_DUPLICATE;
    arrivals->forgotten--;
    return ARRIVAL_REORDERED;
}

enum arrival arrivals_add(struct arrivals *arrivals, uint32_t wire)
{
    uint64_t sequence = sequence_extend(wire, arrivals->next);

    if (sequence < arrivals->next)
        return arrived_behind(arrivals, sequence);
    if (sequence - arrivals->next > LEAP)
        return ARRIVAL_BEYOND;
    while (arrivals->next < sequence && seqtable_put(&arrivals->missing, arrivals->next, 0))
        arrivals->next++;
    arrivals->forgotten += sequence - arrivals->next;
    arrivals->next = sequence + 1;
    return ARRIVAL_NEW;
}

uint64_t arrivals_missing_of_first(const struct arrivals *arrivals, uint64_t count)
{
    uint64_t unseen = count > arrivals->next ? count - arrivals->next : 0;

    return unseen + seqtable_count_below(&arrivals->missing, count);
}
