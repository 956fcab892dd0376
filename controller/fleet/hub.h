/* What the controller does with each message of an agent or operator: the daemon without sockets
 * and clocks. Everything it does to the world goes through a table of functions, so that tests run
 * a whole cluster in one process on virtual time.
 *
 * Results are collected and committed together: at most HUB_COMMIT_NS after the first, or when the
 * batch is full. A case is joined as soon as both its reports are stored, whether its run still
 * lives or not. Acknowledgements follow the commit and the joins that come of it, so that whoever
 * is killed in between is sent the reports again. While the store cannot commit, no more is taken
 * in than one batch holds; agents whose results were not taken are sent away once it can, and send
 * everything again.
 *
 * Runs wait for their hosts in the order of their coming; closed loops and loss by size have both
 * to themselves, searches of path MTU and paced cases share them. All progress of a run goes to the
 * operator who asked for it while that connection lives. A path MTU that is another than in the run
 * before, or that changes while it is watched, is a line in the log.
 */
#ifndef SONDE_FLEET_HUB_H
#define SONDE_FLEET_HUB_H

#include "controller/fleet/fleet.h"
#include "controller/fleet/store.h"
#include "proto/base/clock.h"

#define HUB_COMMIT_NS (20 * NS_PER_MS)
#define HUB_RETRY_NS  (250 * NS_PER_MS) /* after a commit that could not be */

struct hub_port {
    void *context;
    /* One message to a connection. STATUS_NOT_FOUND: gone. */
    enum status (*send)(void *context, uint64_t peer, const void *message);
    /* Bytes that wait to be sent to it. */
    size_t (*pending)(void *context, uint64_t peer);
    void (*close)(void *context, uint64_t peer, const char *reason);
    void (*random)(void *context, void *out_bytes, size_t length);
    struct wall (*wall)(void *context);
};

struct hub_rules {
    double keep_s;   /* retention of results; 0: for ever */
    size_t runs_max; /* that wait or run at once */
};

struct hub;

/* What it is made from: rules and port are copied, the store is borrowed for its life. */
struct hub_setup {
    const struct hub_rules *rules;
    const struct hub_port *port;
    struct store *store;
};

/* Remembers the store's agents; ends orphaned runs. */
enum status hub_new(const struct hub_setup *setup, struct mono now, struct hub **out_hub,
                    struct fault *fault) must_check;
void hub_free(struct hub *hub);

/* From now on; what runs already goes on. */
void hub_set_rules(struct hub *hub, const struct hub_rules *rules, struct mono now);

/* A connection is up, with what its certificate says. */
void hub_up(struct hub *hub, uint64_t peer, const struct identity *identity, const char *address,
            struct mono now);

/* A frame of it. What is not a message that this role may send closes it with the reason. */
void hub_frame(struct hub *hub, uint64_t peer, const void *bytes, size_t length, struct mono now);

void hub_down(struct hub *hub, uint64_t peer, const char *reason, struct mono now);

void hub_tick(struct hub *hub, struct mono now);
struct mono hub_deadline(const struct hub *hub);

/* Stops every run, commits what waits. True when nothing runs any more. */
bool hub_stop(struct hub *hub, struct mono now);

/* One line about it, for systemd and logs: "12 agents, 2 runs, 31 results/s". */
void hub_describe(const struct hub *hub, char *out_text, size_t size);

#endif
