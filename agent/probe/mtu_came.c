/* Owns the memory of the numbers that have come to an end that answers. */
#include "agent/probe/mtu_came.h"

/* `bits` of what is now `by` numbers further back. */
static uint64_t moved(uint64_t bits, uint32_t by)
{
    return by < MTU_CAME_BEFORE ? bits << by : 0;
}

uint64_t mtu_came_add(struct mtu_came *came, uint32_t number)
{
    uint32_t back;

    if (!came->any || number > came->newest) {
        uint32_t ahead = number - came->newest;

        came->before = came->any ? moved(came->before, ahead) | moved(1, ahead - 1) : 0;
        came->newest = number;
        came->any = true;
        return came->before;
    }
    back = came->newest - number;
    if (back > 0)
        came->before |= moved(1, back - 1);
    return back == 0 ? came->before : 0;
}
