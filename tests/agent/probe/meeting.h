/* Both ends of a path MTU session in one process, one of them on a thread of its own, with a relay
 * between them that makes the path. */
#ifndef SONDE_TEST_PROBE_MEETING_H
#define SONDE_TEST_PROBE_MEETING_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/host/wakeup.h"
#include "agent/probe/path_mtu.h"
#include "tests/agent/probe/relay.h"

enum { MEETING_SSID = 40 };

/* Watches nothing. */
extern const struct phase_watch meeting_nobody;

/* An end that greets (listens for callers) or answers on a thread, from start to stop. */
struct busy {
    struct path_mtu *end;
    bool greets;
    pthread_t thread;
    struct wakeup told;
    atomic_bool finish;
    enum status status;
};

void busy_start(struct busy *busy, struct path_mtu *end, bool greets);
void busy_stop(struct busy *busy);

struct meeting {
    struct path_mtu_order order;
    struct path_mtu *caller, *listener;
    struct relay *relay;
    struct addr target;
};

struct path_mtu_order meeting_order(int64_t flows);

/* The listener alone; without a rule there is no relay. Skips the test where there is no IPv6. */
void meeting_listen(struct meeting *meeting, enum family family, relay_rule *rule);

/* Both, agreed. */
struct meeting meeting_begin(enum family family, int64_t flows, relay_rule *rule);
void meeting_end(struct meeting *meeting);

/* `forward`: the caller probes. */
enum status meeting_try(struct meeting *meeting, bool forward, const struct path_mtu_plan *plan,
                        const struct phase_watch *watch, struct path_mtu_flow *out_flows);

/* The same, which must succeed. */
void meeting_probe(struct meeting *meeting, bool forward, const struct path_mtu_plan *plan,
                   struct path_mtu_flow *out_flows);

/* Fails the test with the fault's words. */
void meeting_need(enum status status, const struct fault *fault);

#endif
