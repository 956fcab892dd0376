/* Two peers back to back on virtual time: what each state answers to bytes and deadlines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/proto/link/pair.h"

static void both_come_up_and_know_each_other(void **state)
{
    struct pair pair;

    pair_init(&pair, *state);
    assert_null(peer_identity(pair.client));
    assert_string_equal(peer_reason(pair.client), "");
    pair_settle(&pair);
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
    pair_carry_all(&pair, pair.client, pair.server);
    pair_carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_CONFIRM);
    assert_int_equal(peer_send(pair.client, "x", 1, pair.now), STATUS_INVALID);
    assert_int_equal(peer_deadline(pair.client).ns, (1000 + 10) * NS_PER_S);
    pair_carry_all(&pair, pair.client, pair.server);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    pair_carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_UP);
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
        struct peer *server = pair_peer(world->controller, TLS_SERVER, AGENTS, now);

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
        uint64_t steps = world_random(world) % 7;
        size_t length = world_random(world) % sizeof noise;
        struct peer *victim;

        pair_init(&pair, world);
        for (uint64_t i = 0; i < steps; i++)
            pair_carry(&pair, i % 2 == 0 ? pair.client : pair.server,
                       i % 2 == 0 ? pair.server : pair.client);
        victim = world_random(world) % 2 == 0 ? pair.client : pair.server;
        for (size_t i = 0; i < length; i++)
            noise[i] = (uint8_t)world_random(world);
        if (length > 5 && world_random(world) % 2 == 0)
            memcpy(noise, "\x17\x03\x03\0\x40", 5);
        peer_input(victim, noise, length, pair.now);
        pair_settle(&pair);
        for (int i = 0; i < 5; i++)
            pair_tick(&pair, 31 * NS_PER_S);
        assert_int_equal(peer_state(victim), PEER_DOWN);
        pair_done(&pair);
    }
}

static void a_silent_stranger_is_gone_after_the_handshakes_time(void **state)
{
    struct pair pair;

    pair_init(&pair, *state);
    assert_int_equal(peer_deadline(pair.server).ns, pair.now.ns + PEER_HANDSHAKE_NS);
    pair_tick(&pair, PEER_HANDSHAKE_NS - 1);
    assert_int_equal(peer_state(pair.server), PEER_HANDSHAKE);
    pair_tick(&pair, 1);
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
    pair_carry_all(&pair, pair.client, pair.server);
    pair_carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_CONFIRM);
    pair_tick(&pair, PEER_HANDSHAKE_NS);
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_has(peer_reason(pair.client), "said nothing");
    pair_done(&pair);
}

static void pings_keep_an_idle_connection_up(void **state)
{
    struct pair pair;
    const uint8_t *bytes;

    pair_up(&pair, *state);
    for (int i = 0; i < 30; i++) {
        assert_true(peer_deadline(pair.client).ns <= pair.now.ns + PEER_PING_NS);
        pair_tick(&pair, PEER_PING_NS);
        assert_true(peer_output(pair.client, &bytes) > 0);
        assert_int_equal(pair_settle(&pair), 0);
    }
    assert_int_equal(peer_state(pair.client), PEER_UP);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    pair_tick(&pair, PEER_PING_NS - 1);
    assert_int_equal(peer_output(pair.client, &bytes), 0); /* not before it is due */
    pair_done(&pair);
}

static void nothing_heard_ends_it(void **state)
{
    struct pair pair;

    pair_up(&pair, *state);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(peer_state(pair.server), PEER_UP);
        pair_tick(&pair, PEER_PING_NS); /* nothing is carried */
    }
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_has(peer_reason(pair.server), "nothing was heard for 30 s");
    pair_done(&pair);
}

static void bytes_without_meaning_are_not_heard(void **state)
{
    static const uint8_t record[40] = { 0x17, 3, 3, 0, 0x40 }; /* never whole */
    struct pair pair;

    pair_up(&pair, *state);
    for (size_t i = 0; i < 29; i++) {
        pair.now = mono_after(pair.now, NS_PER_S);
        peer_input(pair.server, record + i, 1, pair.now);
        peer_tick(pair.server, pair.now);
    }
    assert_int_equal(peer_state(pair.server), PEER_UP);
    peer_tick(pair.server, mono_after(pair.now, NS_PER_S));
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    pair_done(&pair);
}

static void a_new_context_leaves_old_connections_alone(void **state)
{
    struct world *world = *state;
    struct mono now = { 1000 * NS_PER_S };
    struct tls_files files;
    struct tls_context *old, *new;
    struct pair before, after;

    certs_good(world->certs, world->ca, "spiffe://test/controller/old", &files);
    old = world_load(&files, ROLE_CONTROLLER, wall_now());
    pair_of(&before, world, pair_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            pair_peer(old, TLS_SERVER, AGENTS, now));
    certs_good(world->certs, world->ca, "spiffe://test/controller/new", &files);
    new = world_load(&files, ROLE_CONTROLLER, wall_now());
    tls_context_free(old);
    pair_of(&after, world, pair_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            pair_peer(new, TLS_SERVER, AGENTS, now));
    pair_settle(&before);
    pair_settle(&after);
    assert_string_equal(peer_identity(before.client)->name, "old");
    assert_string_equal(peer_identity(after.client)->name, "new");
    assert_int_equal(peer_send(before.server, "x", 1, before.now), STATUS_OK);
    assert_int_equal(pair_settle(&before), 1);
    tls_context_free(new);
    pair_done(&before);
    pair_done(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_come_up_and_know_each_other),
        cmocka_unit_test(a_client_waits_for_the_servers_first_frame),
        cmocka_unit_test(hostile_first_bytes_end_in_words),
        cmocka_unit_test(random_bytes_never_crash_any_state),
        cmocka_unit_test(a_silent_stranger_is_gone_after_the_handshakes_time),
        cmocka_unit_test(a_server_that_never_confirms_is_given_up),
        cmocka_unit_test(pings_keep_an_idle_connection_up),
        cmocka_unit_test(nothing_heard_ends_it),
        cmocka_unit_test(bytes_without_meaning_are_not_heard),
        cmocka_unit_test(a_new_context_leaves_old_connections_alone),
    };

    return cmocka_run_group_tests(tests, world_make, world_end);
}
