/* Two peers back to back, an agent's and a controller's, and what lies between them. */
#ifndef SONDE_TESTS_PAIR_H
#define SONDE_TESTS_PAIR_H

#include "proto/link/peer.h"
#include "tests/proto/link/make_certs.h"

#define AGENTS         (1U << ROLE_AGENT)
#define CONTROLLERS    (1U << ROLE_CONTROLLER)
#define AGENT_URI      "spiffe://test/agent/a"
#define CONTROLLER_URI "spiffe://test/controller/c"

/* Certificates for all tests of a program, made once: cmocka's set-up and end. */
struct world {
    struct certs *certs;
    struct authority *ca;
    struct tls_files agent_files, controller_files;
    struct tls_context *agent, *controller;
    uint64_t random;
};

int world_make(void **state);
int world_end(void **state);

/* From a seed that is printed and can be given as SONDE_SEED. */
uint64_t world_random(struct world *world);

/* The context, or the test fails with the words. */
struct tls_context *world_load(const struct tls_files *files, enum identity_role role,
                               struct wall now);

struct pair {
    struct world *world;
    struct peer *client, *server;
    struct mono now;
    size_t piece; /* bytes are carried in random pieces of at most as many; 0: all at once */
};

struct peer *pair_peer(const struct tls_context *context, enum tls_side side, unsigned roles,
                       struct mono now);

/* Of two peers that were made at 1000 s. */
void pair_of(struct pair *pair, struct world *world, struct peer *client, struct peer *server);

/* Of an agent and a controller; pair_up: and both are up. */
void pair_init(struct pair *pair, struct world *world);
void pair_up(struct pair *pair, struct world *world);
void pair_done(struct pair *pair);

/* Moves one piece; false when there is none. */
bool pair_carry(struct pair *pair, struct peer *from, struct peer *to);
void pair_carry_all(struct pair *pair, struct peer *from, struct peer *to);

/* Carries both ways until nothing moves; takes all frames and says how many there were. */
size_t pair_settle(struct pair *pair);

/* Moves the time and ticks both. */
void pair_tick(struct pair *pair, int64_t ns);

void assert_has(const char *text, const char *part);

#endif
