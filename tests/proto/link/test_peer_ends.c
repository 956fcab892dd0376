/* How a connection ends, and what each side says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/proto/link/pair.h"

static void close_tells_the_other_side_why(void **state)
{
    struct pair pair;

    pair_up(&pair, *state);
    assert_int_equal(peer_send(pair.client, "last", 4, pair.now), STATUS_OK);
    peer_close(pair.client, "going\nhome", pair.now);
    assert_int_equal(peer_state(pair.client), PEER_CLOSING);
    assert_int_equal(peer_send(pair.client, "x", 1, pair.now), STATUS_INVALID);
    peer_close(pair.client, "again", pair.now);
    assert_int_equal(pair_settle(&pair), 1);
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

    pair_up(&pair, *state);
    for (int i = 0; i < 3; i++)
        assert_int_equal(peer_send(pair.client, "result", 6, pair.now), STATUS_OK);
    peer_close(pair.client, "bye", pair.now);
    pair_carry_all(&pair, pair.client, pair.server);
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

    pair_up(&pair, *state);
    assert_int_equal(peer_send(pair.client, "late", 4, pair.now), STATUS_OK);
    peer_close(pair.server, "no more", pair.now);
    pair_carry_all(&pair, pair.client, pair.server);
    assert_false(peer_next_frame(pair.server, &bytes, &length));
    assert_int_equal(peer_state(pair.server), PEER_CLOSING);
    pair_settle(&pair);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.client), "no more");
    pair_done(&pair);
}

static void a_role_that_is_not_wanted_hears_why(void **state)
{
    struct world *world = *state;
    struct mono now = { 1000 * NS_PER_S };
    struct pair pair;

    pair_of(&pair, world, pair_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            pair_peer(world->controller, TLS_SERVER, 1U << ROLE_OPERATOR, now));
    assert_int_equal(pair_settle(&pair), 0);
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

    pair_of(&pair, world, pair_peer(world->agent, TLS_CLIENT, CONTROLLERS, now),
            pair_peer(world->agent, TLS_SERVER, AGENTS, now));
    pair_settle(&pair);
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

    certs_good(world->certs, other, AGENT_URI, &files);
    snprintf(files.ca, sizeof files.ca, "%s", certs_both(world->certs, world->ca, other));
    stranger = world_load(&files, ROLE_AGENT, wall_now());
    pair_of(&pair, world, pair_peer(stranger, TLS_CLIENT, CONTROLLERS, now),
            pair_peer(world->controller, TLS_SERVER, AGENTS, now));
    pair_carry_all(&pair, pair.client, pair.server);
    pair_carry_all(&pair, pair.server, pair.client);
    assert_int_equal(peer_state(pair.client), PEER_CONFIRM);
    assert_int_equal(pair_settle(&pair), 0);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_has(peer_reason(pair.server), "unknown CA");
    assert_int_equal(peer_state(pair.client), PEER_DOWN);
    assert_has(peer_reason(pair.client), "the other side says: unknown CA");
    assert_true(peer_was_refused(pair.client));
    tls_context_free(stranger);
    pair_done(&pair);
}

static void closing_takes_two_seconds_at_most(void **state)
{
    struct pair pair;

    pair_up(&pair, *state);
    peer_close(pair.server, "end", pair.now);
    assert_int_equal(peer_deadline(pair.server).ns, pair.now.ns + PEER_CLOSING_NS);
    pair_tick(&pair, PEER_CLOSING_NS - 1);
    assert_int_equal(peer_state(pair.server), PEER_CLOSING);
    pair_tick(&pair, 1);
    assert_int_equal(peer_state(pair.server), PEER_DOWN);
    assert_string_equal(peer_reason(pair.server), "end");
    pair_done(&pair);
}

static void the_first_certificate_to_end_ends_the_connection(void **state)
{
    struct world *world = *state;
    struct certs_wish wish = { .uris = { AGENT_URI }, .until = { wall_now().ns + 20 * NS_PER_S } };
    struct tls_files files;
    struct tls_context *brief;
    struct mono now = { 1000 * NS_PER_S };
    struct pair pair;

    certs_issue(world->certs, world->ca, &wish, &files);
    brief = world_load(&files, ROLE_AGENT, wall_now());
    pair_of(&pair, world, pair_peer(brief, TLS_CLIENT, CONTROLLERS, now),
            pair_peer(world->controller, TLS_SERVER, AGENTS, now));
    pair_settle(&pair);
    pair_tick(&pair, 9 * NS_PER_S);
    pair_settle(&pair);
    pair_tick(&pair, 9 * NS_PER_S);
    pair_settle(&pair);
    assert_int_equal(peer_state(pair.server), PEER_UP);
    assert_true(peer_deadline(pair.server).ns <= now.ns + 20 * NS_PER_S);
    pair.now = mono_after(pair.now, 2 * NS_PER_S);
    peer_tick(pair.server, pair.now);
    assert_int_equal(peer_state(pair.server), PEER_CLOSING);
    pair_settle(&pair);
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
            pair_carry_all(&pair, i % 2 == 0 ? pair.client : pair.server,
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_tells_the_other_side_why),
        cmocka_unit_test(what_came_with_the_bye_is_still_given_out),
        cmocka_unit_test(after_its_own_close_a_side_is_deaf),
        cmocka_unit_test(a_role_that_is_not_wanted_hears_why),
        cmocka_unit_test(a_server_of_the_wrong_role_hears_why),
        cmocka_unit_test(a_client_learns_late_that_it_was_refused),
        cmocka_unit_test(closing_takes_two_seconds_at_most),
        cmocka_unit_test(the_first_certificate_to_end_ends_the_connection),
        cmocka_unit_test(a_lost_connection_is_down_in_every_state),
    };

    return cmocka_run_group_tests(tests, world_make, world_end);
}
