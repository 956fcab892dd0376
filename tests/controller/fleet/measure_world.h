/* A measure on virtual time, and a world that writes down what was done to it. */
#ifndef SONDE_TESTS_MEASURE_WORLD_H
#define SONDE_TESTS_MEASURE_WORLD_H

#include "controller/fleet/measure.h"

struct world {
    struct measure *measure;
    struct mono now;
    char log[8192];
    size_t used;
    bool away[END_COUNT];
    struct message_open opened[END_COUNT]; /* the last orders; without their keys */
    uint8_t keys[END_COUNT][SESSION_KEY_SIZE];
    uint8_t next_random;
    uint16_t next_ssid;
    struct message_run_progress progress;
    size_t progresses, overs;
};

extern const char *const world_ends[]; /* "sender", "echo" */

/* The log since the last call must be this. */
void world_expect(struct world *world, const char *lines);

/* A fresh run of so many cases, each of 1 s, whose first order has been sent; world_done. */
void world_begin(struct world *world, size_t cases, double warmup_s, const char *address);

/* A fresh run of path MTU, of two sessions, IPv4 and IPv6, of one flow; world_done. */
void world_begin_mtu(struct world *world, enum mtu_ways direction, double watch_s);

void world_done(struct world *world);

/* A message about the running session. */
void world_say(struct world *world, enum end_role role, enum message_type type,
               enum phase_kind phase);

/* Brings a fresh run with this phase as its first to a state. */
void world_bring(struct world *world, enum measure_state state, enum phase_kind phase);

/* Both, without a warm-up, and with an empty log. */
void world_begin_at(struct world *world, enum measure_state state, size_t cases);

/* Lets time pass, and ticks. */
void world_pass(struct world *world, int64_t ns);

#endif
