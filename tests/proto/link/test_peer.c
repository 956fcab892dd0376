/* Two peers back to back on virtual time: what each state answers to bytes, deadlines and ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/digest.h"
#include "proto/base/octets.h"
#include "proto/link/peer.h"
#include "proto/wire/limits.h"
#include "proto/wire/message.h"
#include "tests/proto/link/make_certs.h"

#define AGENTS      (1U << ROLE_AGENT)
#define CONTROLLERS (1U << ROLE_CONTROLLER)

/* Certificates for all tests, made once. */
struct world {
    struct certs *certs;
    struct authority *ca;
    struct tls_files agent_files, controller_files;
    struct tls_context *agent, *controller;
    uint64_t random;
};

/* A connection: an agent's peer and a controller's, and what lies between them. */
struct pair {
    struct world *world;
    struct peer *client, *server;
    struct mono now;
    size_t piece; /* the most bytes at once; 0: all */
};

static const char *const agent_uri = "spiffe://test/agent/a";
static const char *const controller_uri = "spiffe://test/controller/c";

static struct tls_context *load(const struct tls_files *files, enum identity_role role,
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

static int make_world(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    world->random = seed_of_this_run();
    world->certs = certs_new();
    world->ca = certs_authority(world->certs, "ca", CERTS_P256);
    certs_good(world->certs, world->ca, agent_uri, &world->agent_files);
    certs_good(world->certs, world->ca, controller_uri, &world->controller_files);
    world->agent = load(&world->agent_files, ROLE_AGENT, wall_now());
    world->controller = load(&world->controller_files, ROLE_CONTROLLER, wall_now());
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    struct world *world = *state;

    tls_context_free(world->agent);
    tls_context_free(world->controller);
    certs_free(world->certs);
    free(world);
    return 0;
}

static uint64_t next_random(struct world *world)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random;
}

static struct peer *new_peer(const struct tls_context *context, enum tls_side side, unsigned roles,
                             struct mono now)
{
    struct peer_rules rules = { .side = side, .roles = roles, .outbound_cap = 2 * LIMIT_FRAME };

    return peer_new(context, &rules, now, wall_now());
}

static void pair_of(struct pair *pair, struct world *world, struct peer *client,
                    struct peer *server)
{
    *pair = (struct pair){ .world = world, .client = client, .server = server };
    pair->now.ns = 1000 * NS_PER_S;
}

static void pair_init(struct pair *pair, struct world *world)
{
    struct mono now = { 1000 * NS_PER_S };

    pair_of(pair, world, new_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            new_peer(world->controller, TLS_SERVER, AGENTS, now));
}

static void pair_done(struct pair *pair)
{
    peer_free(pair->client);
    peer_free(pair->server);
}

/* Moves one piece; false when there is none. */
static bool carry(struct pair *pair, struct peer *from, struct peer *to)
{
    const uint8_t *bytes;
    size_t length = peer_output(from, &bytes);
    uint8_t *copy;

    if (length == 0)
        return false;
    if (pair->piece > 0 && length > pair->piece)
        length = 1 + next_random(pair->world) % pair->piece;
    copy = malloc(length);
    memcpy(copy, bytes, length);
    peer_sent(from, length);
    peer_input(to, copy, length, pair->now);
    free(copy);
    return true;
}

/* Carries without taking frames. */
static void carry_all(struct pair *pair, struct peer *from, struct peer *to)
{
    while (carry(pair, from, to))
        ;
}

/* Until nothing moves any more; frames that come are counted and dropped. */
static size_t settle(struct pair *pair)
{
    const uint8_t *bytes;
    size_t length, frames = 0;
    bool moved = true;

    while (moved) {
        moved = carry(pair, pair->client, pair->server);
        while (peer_next_frame(pair->server, &bytes, &length))
            frames++;
        moved = carry(pair, pair->server, pair->client) || moved;
        while (peer_next_frame(pair->client, &bytes, &length))
            frames++;
    }
    return frames;
}

static void bring_up(struct pair *pair, struct world *world)
{
    pair_init(pair, world);
    settle(pair);
    assert_int_equal(peer_state(pair->client), PEER_UP);
    assert_int_equal(peer_state(pair->server), PEER_UP);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void tick_both(struct pair *pair, int64_t ns)
{
    pair->now = mono_after(pair->now, ns);
    peer_tick(pair->client, pair->now);
    peer_tick(pair->server, pair->now);
}

static void both_come_up_and_know_each_other(void **state)
{
    struct pair pair;

    pair_init(&pair, *state);
    assert_null(peer_identity(pair.client));
    assert_string_equal(peer_reason(pair.client), "");
    settle(&pair);
    assert_int_equal(peer_state(pair.client), PEER_UP);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    assert_string_equal(peer_identity(pair.client)->name, "c");
    assert_int_equal(peer_identity(pair.client)->role, ROLE_CONTROLLER);
    assert_string_equal(peer_identity(pair.server)->name, "a");
    assert_string_equal(peer_identity(pair.server)->trust_domain, "test");
    pair_done(&pair);
}

static void a_client_waits_for_the_servers_first_frame(void **state)
{
    struct pair pair;

    pair_init(&pair, *state);
    carry_all(&pair, pair.client, pair.server);
    carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_CONFIRM);
    assert_int_equal(peer_send(pair.client, "x", 1, pair.now), STATUS_INVALID);
    assert_int_equal(peer_deadline(pair.client).ns, (1000 + 10) * NS_PER_S);
    carry_all(&pair, pair.client, pair.server);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_UP);
    pair_done(&pair);
}

/* Frames of all sizes both ways, in pieces of at most `piece` bytes: the same come in order. */
static void exchange(struct world *world, size_t piece, size_t count, size_t largest)
{
    struct pair pair;
    uint8_t *sent = malloc(largest);
    const uint8_t *bytes;
    size_t length;

    bring_up(&pair, world);
    pair.piece = piece;
    for (size_t i = 0; i < count; i++) {
        size_t size = 1 + next_random(world) % largest;
        size_t taken = 0;

        memset(sent, (int)i, size);
        assert_int_equal(peer_send(pair.client, sent, size, pair.now), STATUS_OK);
        while (carry(&pair, pair.client, pair.server)) {
            while (peer_next_frame(pair.server, &bytes, &length)) {
                taken++;
                assert_int_equal(length, size);
                assert_memory_equal(bytes, sent, size);
            }
        }
        assert_int_equal(taken, 1);
    }
    free(sent);
    pair_done(&pair);
}

static void frames_come_whole_from_any_pieces(void **state)
{
    exchange(*state, 1, 20, 300);
    exchange(*state, 7, 50, 3000);
    exchange(*state, 5000, 30, 100000);
    exchange(*state, 0, 3, LIMIT_FRAME);
}

static void the_largest_frame_passes_and_a_larger_one_does_not(void **state)
{
    uint8_t *large = calloc(1, LIMIT_FRAME + 1);
    struct pair pair;
    const uint8_t *bytes;
    size_t length;

    bring_up(&pair, *state);
    assert_int_equal(peer_send(pair.server, large, LIMIT_FRAME + 1, pair.now), STATUS_TOO_LARGE);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    assert_int_equal(peer_send(pair.server, large, 0, pair.now), STATUS_INVALID);
    assert_int_equal(peer_send(pair.server, large, LIMIT_FRAME, pair.now), STATUS_OK);
    carry_all(&pair, pair.server, pair.client);
    assert_true(peer_next_frame(pair.client, &bytes, &length));
    assert_int_equal(length, LIMIT_FRAME);
    free(large);
    pair_done(&pair);
}

static void many_small_frames_in_one_input(void **state)
{
    enum { COUNT = 20000 };
    struct pair pair;
    const uint8_t *bytes, *output;
    size_t length, frames = 0;

    bring_up(&pair, *state);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(peer_send(pair.client, &i, sizeof i, pair.now), STATUS_OK);
    length = peer_output(pair.client, &output);
    peer_input(pair.server, output, length, pair.now);
    while (peer_next_frame(pair.server, &bytes, &length)) {
        uint32_t number;

        assert_int_equal(length, sizeof number);
        memcpy(&number, bytes, sizeof number);
        assert_int_equal(number, frames);
        frames++;
    }
    assert_int_equal(frames, COUNT);
    pair_done(&pair);
}

static void a_frame_stays_while_its_receiver_answers(void **state)
{
    struct pair pair;
    const uint8_t *bytes;
    size_t length;

    bring_up(&pair, *state);
    assert_int_equal(peer_send(pair.client, "question", 8, pair.now), STATUS_OK);
    carry_all(&pair, pair.client, pair.server);
    assert_true(peer_next_frame(pair.server, &bytes, &length));
    assert_int_equal(peer_send(pair.server, "answer", 6, pair.now), STATUS_OK);
    peer_close(pair.server, "enough", pair.now);
    peer_tick(pair.server, mono_after(pair.now, PEER_CLOSING_NS));
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_memory_equal(bytes, "question", 8);
    assert_false(peer_next_frame(pair.server, &bytes, &length));
    pair_done(&pair);
}

/* Bytes behind the TLS of a peer that is up, without its framing: a frame whose content makes up
 * the wanted ones would have a good length, so they are written by a TLS connection of our own. */
struct raw {
    struct tls *tls;
    struct peer *server;
    struct mono now;
};

static void raw_carry(struct raw *raw)
{
    struct buf bytes, plain;
    const uint8_t *output;
    size_t length;
    struct fault fault;

    buf_init(&bytes, 8 * LIMIT_FRAME);
    buf_init(&plain, LIMIT_FRAME);
    for (int i = 0; i < 4; i++) {
        tls_output(raw->tls, &bytes);
        if (bytes.length > 0)
            peer_input(raw->server, bytes.data, bytes.length, raw->now);
        buf_done(&bytes);
        length = peer_output(raw->server, &output);
        assert_int_equal(tls_input(raw->tls, output, length, &plain, &fault), STATUS_OK);
        peer_sent(raw->server, length);
    }
    buf_done(&plain);
}

static void raw_init(struct raw *raw, struct world *world)
{
    raw->now = (struct mono){ 1000 * NS_PER_S };
    raw->tls = tls_new(world->agent, TLS_CLIENT, NULL, false, wall_now());
    raw->server = new_peer(world->controller, TLS_SERVER, AGENTS, raw->now);
    raw_carry(raw);
    assert_int_equal(peer_state(raw->server), PEER_UP);
}

static void raw_write(struct raw *raw, const void *bytes, size_t length)
{
    struct fault fault;

    assert_int_equal(tls_write(raw->tls, bytes, length, &fault), STATUS_OK);
    raw_carry(raw);
}

static void raw_done(struct raw *raw)
{
    tls_free(raw->tls);
    peer_free(raw->server);
}

static void lengths_that_are_not_allowed_end_the_connection(void **state)
{
    static const uint32_t lengths[] = { 0, LIMIT_FRAME + 1, 0x7fffffff, 0x80000000, 0xffffffff };
    const uint8_t *bytes;
    size_t length;

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct raw raw;
        uint8_t header[6] = { 0, 0, 0, 1, 'x' };

        raw_init(&raw, *state);
        raw_write(&raw, header, 5);
        octets_put32(header, lengths[i]);
        raw_write(&raw, header, 4);
        assert_true(peer_next_frame(raw.server, &bytes, &length)); /* what came before */
        assert_false(peer_next_frame(raw.server, &bytes, &length));
        assert_int_equal(peer_state(raw.server), PEER_CLOSING);
        assert_has(peer_reason(raw.server), "1 to 1048576 are allowed");
        peer_tick(raw.server, mono_after(raw.now, PEER_CLOSING_NS));
        assert_int_equal(peer_state(raw.server), PEER_DOWN);
        raw_done(&raw);
    }
}

static void a_length_alone_waits_for_its_frame(void **state)
{
    uint8_t header[4];
    const uint8_t *bytes;
    size_t length;
    struct raw raw;

    raw_init(&raw, *state);
    octets_put32(header, LIMIT_FRAME);
    for (size_t i = 0; i < 4; i++) {
        raw_write(&raw, header + i, 1);
        assert_false(peer_next_frame(raw.server, &bytes, &length));
    }
    assert_int_equal(peer_state(raw.server), PEER_UP);
    raw_done(&raw);
}

static void raw_message(struct raw *raw, const void *body, size_t length)
{
    uint8_t frame[700];

    octets_put32(frame, (uint32_t)length);
    memcpy(frame + 4, body, length);
    raw_write(raw, frame, length + 4);
}

/* What is no ping and no bye goes to the owner, however much it looks like one. */
static void only_whole_pings_and_byes_are_taken(void **state)
{
    static const char *const others[] = {
        "\x81\xa4type\xa4pong",
        "\x81\xa4type\xa5pings",
        "\x81\xa4type\xa4pin",
        "\x81\xa4typ",
        "\x81",
        "\x91\xa4type\xa4ping",
        "\xde\x81",
        "\xdf",
        "ping",
    };
    const uint8_t *bytes;
    size_t length;
    struct raw raw;

    raw_init(&raw, *state);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        raw_message(&raw, others[i], strlen(others[i]));
        assert_true(peer_next_frame(raw.server, &bytes, &length));
        assert_int_equal(length, strlen(others[i]));
        assert_memory_equal(bytes, others[i], length);
        assert_false(peer_next_frame(raw.server, &bytes, &length));
    }
    raw_message(&raw, "\x81\xa4type\xa4ping", 11);
    raw_message(&raw, "\x82\xa4type\xa4ping\xa3new\x07", 16); /* of a later version */
    raw_message(&raw, "\xde\0\x01\xa4type\xa4ping", 13);
    assert_false(peer_next_frame(raw.server, &bytes, &length));
    assert_int_equal(peer_state(raw.server), PEER_UP);
    raw_done(&raw);
}

static void a_broken_bye_ends_the_connection_too(void **state)
{
    const uint8_t *bytes;
    size_t length;
    struct raw raw;

    raw_init(&raw, *state);
    raw_message(&raw,
                "\x82\xa4type\xa3"
                "bye\xa6reason\x07",
                18);
    assert_false(peer_next_frame(raw.server, &bytes, &length));
    assert_int_equal(peer_state(raw.server), PEER_CLOSING);
    assert_has(peer_reason(raw.server), "reason");
    raw_done(&raw);
}

static void close_tells_the_other_side_why(void **state)
{
    struct pair pair;

    bring_up(&pair, *state);
    assert_int_equal(peer_send(pair.client, "last", 4, pair.now), STATUS_OK);
    peer_close(pair.client, "going\nhome", pair.now);
    assert_int_equal(peer_state(pair.client), PEER_CLOSING);
    assert_int_equal(peer_send(pair.client, "x", 1, pair.now), STATUS_INVALID);
    peer_close(pair.client, "again", pair.now);
    assert_int_equal(settle(&pair), 1);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_string_equal(peer_reason(pair.server), "the other side says: going?home");
    assert_false(peer_was_refused(pair.server));
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_string_equal(peer_reason(pair.client), "going?home");
    pair_done(&pair);
}

static void what_came_with_the_bye_is_still_given_out(void **state)
{
    struct pair pair;
    const uint8_t *bytes;
    size_t length;

    bring_up(&pair, *state);
    for (int i = 0; i < 3; i++)
        assert_int_equal(peer_send(pair.client, "result", 6, pair.now), STATUS_OK);
    peer_close(pair.client, "bye", pair.now);
    carry_all(&pair, pair.client, pair.server);
    for (int i = 0; i < 3; i++)
        assert_true(peer_next_frame(pair.server, &bytes, &length));
    assert_false(peer_next_frame(pair.server, &bytes, &length));
    assert_string_equal(peer_reason(pair.server), "the other side says: bye");
    pair_done(&pair);
}

static void after_its_own_close_a_side_is_deaf(void **state)
{
    struct pair pair;
    const uint8_t *bytes;
    size_t length;

    bring_up(&pair, *state);
    assert_int_equal(peer_send(pair.client, "late", 4, pair.now), STATUS_OK);
    peer_close(pair.server, "no more", pair.now);
    carry_all(&pair, pair.client, pair.server);
    assert_false(peer_next_frame(pair.server, &bytes, &length));
    assert_int_equal(peer_state(pair.server), PEER_CLOSING);
    settle(&pair);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.client), "no more");
    pair_done(&pair);
}

static void a_role_that_is_not_wanted_hears_why(void **state)
{
    struct world *world = *state;
    struct mono now = { 1000 * NS_PER_S };
    struct pair pair;

    pair_of(&pair, world, new_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            new_peer(world->controller, TLS_SERVER, 1U << ROLE_OPERATOR, now));
    assert_int_equal(settle(&pair), 0);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_null(peer_identity(pair.server));
    assert_has(peer_reason(pair.server), "role agent");
    assert_has(peer_reason(pair.server), "operator is needed");
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_has(peer_reason(pair.client), "the other side says: certificate of the role agent");
    assert_true(peer_was_refused(pair.client));
    pair_done(&pair);
}

static void a_server_of_the_wrong_role_hears_why(void **state)
{
    struct world *world = *state;
    struct mono now = { 1000 * NS_PER_S };
    struct pair pair;

    pair_of(&pair, world, new_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            new_peer(world->agent, TLS_SERVER, AGENTS, now));
    settle(&pair);
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_true(peer_was_refused(pair.client));
    assert_has(peer_reason(pair.client), "the role controller is needed");
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.server), "the other side says: certificate of the role agent");
    pair_done(&pair);
}

/* TLS 1.3: the client's handshake is over before the server looks at its certificate. */
static void a_client_learns_late_that_it_was_refused(void **state)
{
    struct world *world = *state;
    struct tls_files files = world->controller_files;
    struct authority *other = certs_authority(world->certs, "other", CERTS_P256);
    struct tls_context *stranger;
    struct mono now = { 1000 * NS_PER_S };
    struct pair pair;

    certs_good(world->certs, other, agent_uri, &files);
    snprintf(files.ca, sizeof files.ca, "%s", certs_both(world->certs, world->ca, other));
    stranger = load(&files, ROLE_AGENT, wall_now());
    pair_of(&pair, world, new_peer(stranger, TLS_CLIENT, CONTROLLERS, now),
            new_peer(world->controller, TLS_SERVER, AGENTS, now));
    carry_all(&pair, pair.client, pair.server);
    carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_CONFIRM);
    assert_int_equal(settle(&pair), 0);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.server), "unknown CA");
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_has(peer_reason(pair.client), "the other side says: unknown CA");
    assert_true(peer_was_refused(pair.client));
    tls_context_free(stranger);
    pair_done(&pair);
}

static void hostile_first_bytes_end_in_words(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *words;
    } cases[] = {
        { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, "HTTP" },
        { "CONNECT a:443 HTTP/1.1\r\n\r\n", 26, "HTTP" },
        { "SSH-2.0-OpenSSH_9.2p1\r\n", 23, "not TLS" },
        { "\x15\x03\x01\x00\x02\x02\x30", 7, "broken TLS" },
        { "\x16\x03\x01\xff\xff\x01\x00\x00\x00", 9, "" },
        { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 14, "not TLS" },
        { "\xff\0\0\0\0\0\0\0\x01\x7f", 10, "not TLS" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world *world = *state;
        struct mono now = { 1000 * NS_PER_S };
        struct peer *server = new_peer(world->controller, TLS_SERVER, AGENTS, now);

        peer_input(server, cases[i].bytes, cases[i].length, now);
        assert_true(peer_state(server) >= PEER_CLOSING);
        assert_has(peer_reason(server), cases[i].words);
        assert_string_not_equal(peer_reason(server), "");
        peer_input(server, cases[i].bytes, cases[i].length, now);
        peer_tick(server, peer_deadline(server));
        assert_int_equal(peer_state(server), PEER_DOWN);
        peer_input(server, cases[i].bytes, cases[i].length, now);
        peer_free(server);
    }
}

static void random_bytes_never_crash_any_state(void **state)
{
    struct world *world = *state;
    uint8_t noise[300];

    for (int round = 0; round < 400; round++) {
        struct pair pair;
        uint64_t steps = next_random(world) % 7;
        size_t length = next_random(world) % sizeof noise;
        struct peer *victim;

        pair_init(&pair, world);
        for (uint64_t i = 0; i < steps; i++)
            carry(&pair, i % 2 == 0 ? pair.client : pair.server,
                  i % 2 == 0 ? pair.server : pair.client);
        victim = next_random(world) % 2 == 0 ? pair.client : pair.server;
        for (size_t i = 0; i < length; i++)
            noise[i] = (uint8_t)next_random(world);
        if (length > 5 && next_random(world) % 2 == 0)
            memcpy(noise, "\x17\x03\x03\0\x40", 5);
        peer_input(victim, noise, length, pair.now);
        settle(&pair);
        for (int i = 0; i < 5; i++)
            tick_both(&pair, 31 * NS_PER_S);
        assert_int_equal(peer_state(victim), PEER_DOWN);
        pair_done(&pair);
    }
}

static void a_silent_stranger_is_gone_after_the_handshakes_time(void **state)
{
    struct pair pair;

    pair_init(&pair, *state);
    assert_int_equal(peer_deadline(pair.server).ns, pair.now.ns + PEER_HANDSHAKE_NS);
    tick_both(&pair, PEER_HANDSHAKE_NS - 1);
    assert_int_equal(peer_state(pair.server), PEER_HANDSHAKE);
    tick_both(&pair, 1);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.server), "no TLS handshake");
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_int_equal(peer_deadline(pair.client).ns, INT64_MAX);
    assert_false(peer_was_refused(pair.client));
    pair_done(&pair);
}

static void a_server_that_never_confirms_is_given_up(void **state)
{
    struct pair pair;

    pair_init(&pair, *state);
    carry_all(&pair, pair.client, pair.server);
    carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_CONFIRM);
    tick_both(&pair, PEER_HANDSHAKE_NS);
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_has(peer_reason(pair.client), "said nothing");
    pair_done(&pair);
}

static void pings_keep_an_idle_connection_up(void **state)
{
    struct pair pair;
    const uint8_t *bytes;

    bring_up(&pair, *state);
    for (int i = 0; i < 30; i++) {
        assert_true(peer_deadline(pair.client).ns <= pair.now.ns + PEER_PING_NS);
        tick_both(&pair, PEER_PING_NS);
        assert_true(peer_output(pair.client, &bytes) > 0);
        assert_int_equal(settle(&pair), 0);
    }
    assert_int_equal(peer_state(pair.client), PEER_UP);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    tick_both(&pair, PEER_PING_NS - 1);
    assert_int_equal(peer_output(pair.client, &bytes), 0); /* not before it is due */
    pair_done(&pair);
}

static void nothing_heard_ends_it(void **state)
{
    struct pair pair;

    bring_up(&pair, *state);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(peer_state(pair.server), PEER_UP);
        tick_both(&pair, PEER_PING_NS); /* nothing is carried */
    }
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_has(peer_reason(pair.server), "nothing was heard for 30 s");
    pair_done(&pair);
}

static void bytes_without_meaning_are_not_heard(void **state)
{
    struct pair pair;

    bring_up(&pair, *state);
    for (int i = 0; i < 29; i++) {
        pair.now = mono_after(pair.now, NS_PER_S);
        peer_input(pair.server,
                   "\x17\x03\x03\0\x40"
                   "and a part of a record" +
                       i % 3,
                   1, pair.now);
        peer_tick(pair.server, pair.now);
    }
    peer_tick(pair.server, mono_after(pair.now, NS_PER_S));
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    pair_done(&pair);
}

static void closing_takes_two_seconds_at_most(void **state)
{
    struct pair pair;

    bring_up(&pair, *state);
    peer_close(pair.server, "end", pair.now);
    assert_int_equal(peer_deadline(pair.server).ns, pair.now.ns + PEER_CLOSING_NS);
    tick_both(&pair, PEER_CLOSING_NS - 1);
    assert_int_equal(peer_state(pair.server), PEER_CLOSING);
    tick_both(&pair, 1);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_string_equal(peer_reason(pair.server), "end");
    pair_done(&pair);
}

static void a_peer_that_does_not_read_is_dropped_at_the_cap(void **state)
{
    uint8_t *frame = calloc(1, 100000);
    struct pair pair;
    const uint8_t *bytes;
    size_t sent = 0;
    enum status status;

    bring_up(&pair, *state);
    while ((status = peer_send(pair.server, frame, 100000, pair.now)) == STATUS_OK)
        sent += 100000;
    assert_int_equal(status, STATUS_TOO_LARGE);
    assert_in_range(sent, 2 * LIMIT_FRAME - 200000, 2 * LIMIT_FRAME);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.server), "does not read");
    assert_int_equal(peer_output(pair.server, &bytes), 0);
    assert_int_equal(peer_send(pair.server, frame, 1, pair.now), STATUS_INVALID);
    free(frame);
    pair_done(&pair);
}

static void a_reader_is_never_dropped(void **state)
{
    uint8_t *frame = calloc(1, 300000);
    struct pair pair;
    size_t frames = 0;

    bring_up(&pair, *state);
    pair.piece = 20000;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(peer_send(pair.server, frame, 300000, pair.now), STATUS_OK);
        if (i % 4 == 3)
            frames += settle(&pair);
    }
    assert_int_equal(frames, 40);
    free(frame);
    pair_done(&pair);
}

static void frames_that_nobody_takes_are_bounded(void **state)
{
    uint8_t *frame = calloc(1, LIMIT_FRAME);
    struct pair pair;

    bring_up(&pair, *state);
    for (int i = 0; i < 6 && peer_state(pair.client) == PEER_UP; i++) {
        assert_int_equal(peer_send(pair.server, frame, LIMIT_FRAME, pair.now), STATUS_OK);
        carry_all(&pair, pair.server, pair.client);
    }
    assert_true(peer_state(pair.client) >= PEER_CLOSING);
    assert_has(peer_reason(pair.client), "at once");
    free(frame);
    pair_done(&pair);
}

static void the_first_certificate_to_end_ends_the_connection(void **state)
{
    struct world *world = *state;
    struct certs_wish wish = { .uris = { agent_uri }, .until = { wall_now().ns + 20 * NS_PER_S } };
    struct tls_files files;
    struct tls_context *brief;
    struct mono now = { 1000 * NS_PER_S };
    struct pair pair;

    certs_issue(world->certs, world->ca, &wish, &files);
    brief = load(&files, ROLE_AGENT, wall_now());
    pair_of(&pair, world, new_peer(brief, TLS_CLIENT, CONTROLLERS, now),
            new_peer(world->controller, TLS_SERVER, AGENTS, now));
    settle(&pair);
    tick_both(&pair, 9 * NS_PER_S);
    settle(&pair);
    tick_both(&pair, 9 * NS_PER_S);
    settle(&pair);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    assert_true(peer_deadline(pair.server).ns <= now.ns + 20 * NS_PER_S);
    pair.now = mono_after(pair.now, 2 * NS_PER_S);
    peer_tick(pair.server, pair.now);
    assert_int_equal(peer_state(pair.server), PEER_CLOSING);
    settle(&pair);
    assert_has(peer_reason(pair.client), "the other side says: a certificate");
    assert_false(peer_was_refused(pair.client));
    tls_context_free(brief);
    pair_done(&pair);
}

static void a_lost_connection_is_down_in_every_state(void **state)
{
    for (int steps = 0; steps < 5; steps++) {
        struct pair pair;

        pair_init(&pair, *state);
        for (int i = 0; i < steps; i++)
            carry_all(&pair, i % 2 == 0 ? pair.client : pair.server,
                      i % 2 == 0 ? pair.server : pair.client);
        peer_lost(pair.client, "reset by peer");
        assert_int_equal(peer_state(pair.client), PEER_DOWN);
        assert_string_equal(peer_reason(pair.client), "reset by peer");
        peer_lost(pair.client, "again");
        peer_close(pair.client, "again", pair.now);
        peer_tick(pair.client, pair.now);
        peer_input(pair.client, "x", 1, pair.now);
        peer_sent(pair.client, 5);
        assert_string_equal(peer_reason(pair.client), "reset by peer");
        peer_close(pair.server, "gone", pair.now);
        peer_lost(pair.server, "reset by peer");
        assert_string_equal(peer_reason(pair.server), "gone");
        pair_done(&pair);
    }
}

static void a_new_context_leaves_old_connections_alone(void **state)
{
    struct world *world = *state;
    struct mono now = { 1000 * NS_PER_S };
    struct tls_files files;
    struct tls_context *old, *new;
    struct pair before, after;

    certs_good(world->certs, world->ca, "spiffe://test/controller/old", &files);
    old = load(&files, ROLE_CONTROLLER, wall_now());
    pair_of(&before, world, new_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            new_peer(old, TLS_SERVER, AGENTS, now));
    certs_good(world->certs, world->ca, "spiffe://test/controller/new", &files);
    new = load(&files, ROLE_CONTROLLER, wall_now());
    tls_context_free(old);
    pair_of(&after, world, new_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            new_peer(new, TLS_SERVER, AGENTS, now));
    settle(&before);
    settle(&after);
    assert_string_equal(peer_identity(before.client)->name, "old");
    assert_string_equal(peer_identity(after.client)->name, "new");
    assert_int_equal(peer_send(before.server, "x", 1, before.now), STATUS_OK);
    assert_int_equal(settle(&before), 1);
    tls_context_free(new);
    pair_done(&before);
    pair_done(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_come_up_and_know_each_other),
        cmocka_unit_test(a_client_waits_for_the_servers_first_frame),
        cmocka_unit_test(frames_come_whole_from_any_pieces),
        cmocka_unit_test(the_largest_frame_passes_and_a_larger_one_does_not),
        cmocka_unit_test(many_small_frames_in_one_input),
        cmocka_unit_test(a_frame_stays_while_its_receiver_answers),
        cmocka_unit_test(lengths_that_are_not_allowed_end_the_connection),
        cmocka_unit_test(a_length_alone_waits_for_its_frame),
        cmocka_unit_test(only_whole_pings_and_byes_are_taken),
        cmocka_unit_test(a_broken_bye_ends_the_connection_too),
        cmocka_unit_test(close_tells_the_other_side_why),
        cmocka_unit_test(what_came_with_the_bye_is_still_given_out),
        cmocka_unit_test(after_its_own_close_a_side_is_deaf),
        cmocka_unit_test(a_role_that_is_not_wanted_hears_why),
        cmocka_unit_test(a_server_of_the_wrong_role_hears_why),
        cmocka_unit_test(a_client_learns_late_that_it_was_refused),
        cmocka_unit_test(hostile_first_bytes_end_in_words),
        cmocka_unit_test(random_bytes_never_crash_any_state),
        cmocka_unit_test(a_silent_stranger_is_gone_after_the_handshakes_time),
        cmocka_unit_test(a_server_that_never_confirms_is_given_up),
        cmocka_unit_test(pings_keep_an_idle_connection_up),
        cmocka_unit_test(nothing_heard_ends_it),
        cmocka_unit_test(bytes_without_meaning_are_not_heard),
        cmocka_unit_test(closing_takes_two_seconds_at_most),
        cmocka_unit_test(a_peer_that_does_not_read_is_dropped_at_the_cap),
        cmocka_unit_test(a_reader_is_never_dropped),
        cmocka_unit_test(frames_that_nobody_takes_are_bounded),
        cmocka_unit_test(the_first_certificate_to_end_ends_the_connection),
        cmocka_unit_test(a_lost_connection_is_down_in_every_state),
        cmocka_unit_test(a_new_context_leaves_old_connections_alone),
    };

    return cmocka_run_group_tests(tests, make_world, end_world);
}
