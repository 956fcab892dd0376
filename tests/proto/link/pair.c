/* Owns what tests of peers share. */
#include "tests/proto/link/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/digest.h"
#include "proto/wire/limits.h"

struct tls_context *world_load(const struct tls_files *files, enum identity_role role,
                               struct wall now)
{
    struct tls_context *context = NULL;
    struct fault fault = { "" };

    if (tls_context_new(files, role, now, &context, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return context;
}

static uint64_t seed_of_this_run(void)
{
    const char *given = getenv("SONDE_SEED");
    uint64_t seed;

    digest_random(&seed, sizeof seed);
    if (given != NULL)
        seed = strtoull(given, NULL, 10);
    print_message("seed: SONDE_SEED=%llu\n", (unsigned long long)seed);
    return seed | 1;
}

int world_make(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    world->random = seed_of_this_run();
    world->certs = certs_new();
    world->ca = certs_authority(world->certs, "ca", CERTS_P256);
    certs_good(world->certs, world->ca, AGENT_URI, &world->agent_files);
    certs_good(world->certs, world->ca, CONTROLLER_URI, &world->controller_files);
    world->agent = world_load(&world->agent_files, ROLE_AGENT, wall_now());
    world->controller = world_load(&world->controller_files, ROLE_CONTROLLER, wall_now());
    *state = world;
    return 0;
}

int world_end(void **state)
{
    struct world *world = *state;

    tls_context_free(world->agent);
    tls_context_free(world->controller);
    certs_free(world->certs);
    free(world);
    return 0;
}

uint64_t world_random(struct world *world)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random;
}

struct peer *pair_peer(const struct tls_context *context, enum tls_side side, unsigned roles,
                       struct mono now)
{
    struct peer_rules rules = { .side = side, .roles = roles, .outbound_cap = 2 * LIMIT_FRAME };

    return peer_new(context, &rules, now, wall_now());
}

void pair_of(struct pair *pair, struct world *world, struct peer *client, struct peer *server)
{
    *pair = (struct pair){ .world = world, .client = client, .server = server };
    pair->now.ns = 1000 * NS_PER_S;
}

void pair_init(struct pair *pair, struct world *world)
{
    struct mono now = { 1000 * NS_PER_S };

    pair_of(pair, world, pair_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            pair_peer(world->controller, TLS_SERVER, AGENTS, now));
}

void pair_done(struct pair *pair)
{
    peer_free(pair->client);
    peer_free(pair->server);
}

/* Moves one piece; false when there is none. */
bool pair_carry(struct pair *pair, struct peer *from, struct peer *to)
{
    const uint8_t *bytes;
    size_t length = peer_output(from, &bytes);
    uint8_t *copy;

    if (length == 0)
        return false;
    if (pair->piece > 0 && length > pair->piece)
        length = 1 + world_random(pair->world) % pair->piece;
    copy = malloc(length);
    memcpy(copy, bytes, length);
    peer_sent(from, length);
    peer_input(to, copy, length, pair->now);
    free(copy);
    return true;
}

/* Carries without taking frames. */
void pair_carry_all(struct pair *pair, struct peer *from, struct peer *to)
{
    while (pair_carry(pair, from, to))
        ;
}

/* Until nothing moves any more; frames that come are counted and dropped. */
size_t pair_settle(struct pair *pair)
{
    const uint8_t *bytes;
    size_t length, frames = 0;
    bool moved = true;

    while (moved) {
        moved = pair_carry(pair, pair->client, pair->server);
        while (peer_next_frame(pair->server, &bytes, &length))
            frames++;
        moved = pair_carry(pair, pair->server, pair->client) || moved;
        while (peer_next_frame(pair->client, &bytes, &length))
            frames++;
    }
    return frames;
}

void pair_up(struct pair *pair, struct world *world)
{
    pair_init(pair, world);
    pair_settle(pair);
    assert_int_equal(peer_state(pair->client), PEER_UP);
    assert_int_equal(peer_state(pair->server), PEER_UP);
}

void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void pair_tick(struct pair *pair, int64_t ns)
{
    pair->now = mono_after(pair->now, ns);
    peer_tick(pair->client, pair->now);
    peer_tick(pair->server, pair->now);
}
