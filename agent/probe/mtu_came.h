/* Which numbers of a flow have come to the end that answers: the newest one and those close before
 * it. Pure. Fresh when zeroed. */
#ifndef SONDE_PROBE_MTU_CAME_H
#define SONDE_PROBE_MTU_CAME_H

#include <stdbool.h>
#include <stdint.h>

enum { MTU_CAME_BEFORE = 64 };

struct mtu_came {
    bool any;
    uint32_t newest;
    uint64_t before; /* bit i: newest - 1 - i has come, too */
};

/* `number` has come, whether it had before or not. Returns which of the MTU_CAME_BEFORE numbers
 * before it have come by now, as `before` has them; 0 of one that is not the newest. */
uint64_t mtu_came_add(struct mtu_came *came, uint32_t number);

#endif
