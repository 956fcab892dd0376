/* The agents that this controller knows: which are connected, since when, and who holds them. Pure.
 *
 * One connection per name. Another one with the same name and the same instance, or after the old
 * one is gone, is a reconnect. With another instance while the old one lives, it is a second host
 * with one identity (or a restart whose old connection has not ended yet): the newest wins, but not
 * within FLEET_FLAP_NS of the last time; then it is refused. Both are counted and shown.
 */
#ifndef SONDE_FLEET_FLEET_H
#define SONDE_FLEET_FLEET_H

#include "proto/base/clock.h"
#include "proto/wire/message.h"

#define FLEET_FLAP_NS (30 * NS_PER_S)

struct fleet;

struct fleet *fleet_new(void);
void fleet_free(struct fleet *fleet);

/* Knows this agent from an earlier life (the store), not connected, last seen `ago_ns` ago. */
void fleet_remember(struct fleet *fleet, const struct agent_row *row, struct mono now);

/* Who said hello, and on which connection (a channel_peer). All borrowed during the call. */
struct fleet_arrival {
    uint64_t peer;
    const char *name, *address;
    const struct message_hello *hello;
};

/* An agent said hello. On STATUS_OK *out_replaced is the connection that
 * it takes over from and that is to be closed (0: none). STATUS_EXISTS: refused as a duplicate,
 * with a fault that names both addresses. STATUS_TOO_LARGE: LIMIT_FLEET names are known. */
enum status fleet_hello(struct fleet *fleet, const struct fleet_arrival *arrival, struct mono now,
                        uint64_t *out_replaced, struct fault *fault) must_check;

void fleet_status(struct fleet *fleet, uint64_t peer, const struct message_status *status,
                  struct mono now);

/* Something came from it. */
void fleet_seen(struct fleet *fleet, uint64_t peer, struct mono now);

/* The connection is gone. Returns the agent's name when it was its current one, else NULL. */
const char *fleet_lost(struct fleet *fleet, uint64_t peer, struct mono now);

/* The name behind a connection that has said hello, else NULL; and the connection of a name, 0 when
 * it is away or unknown. */
const char *fleet_name(const struct fleet *fleet, uint64_t peer);
uint64_t fleet_peer(const struct fleet *fleet, const char *name);
bool fleet_knows(const struct fleet *fleet, const char *name);

/* The known name nearest to one that is not known; NULL when none is near. */
const char *fleet_nearest(const struct fleet *fleet, const char *name);

/* A host's first address of this family ("" when it has none). */
const char *fleet_address(const struct fleet *fleet, const char *name, enum family family);

/* Two hosts that a run needs: exclusively (bursts), or shared with other runs that share. */
struct fleet_claim {
    const char *from, *to, *run;
    bool exclusive;
};

/* Holds both hosts. False when one is held; *out_holder is then that run. */
bool fleet_hold(struct fleet *fleet, const struct fleet_claim *claim, const char **out_holder);
void fleet_release(struct fleet *fleet, const char *run);

/* An agent that said hello or was lost since its row was last taken here: one at a time, in that
 * order, for whoever remembers them. False when there is none. The row is as fleet_row makes it. */
bool fleet_changed(struct fleet *fleet, struct mono now, struct agent_row *out_row);

/* Is there one? */
bool fleet_unsaved(const struct fleet *fleet);

/* How many agents are connected. */
size_t fleet_connected(const struct fleet *fleet);

/* How many agents are known; and one as an operator sees it, by place in the order of names. The
 * row's address list is the caller's (record_done of agent_row_record, or of the message that has
 * it). */
size_t fleet_count(const struct fleet *fleet);
void fleet_row(const struct fleet *fleet, size_t place, struct mono now, struct agent_row *out_row);

#endif
