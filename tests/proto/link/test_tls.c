/* Two TLS connections of ours: who is refused, in which words on both sides, and that one
 * connection's end is nothing to another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "proto/wire/limits.h"
#include "tests/proto/link/pair.h"

static const int64_t day_ns = 86400 * NS_PER_S;

static struct wall in_days(int64_t days)
{
    return (struct wall){ wall_now().ns + days * day_ns };
}

/* Two of ours. */
struct lane {
    struct tls *client, *server;
    struct fault client_fault, server_fault;
    enum status client_status, server_status;
    struct buf client_plain, server_plain;
};

static void lane_init(struct lane *lane, struct tls *client, struct tls *server)
{
    *lane = (struct lane){ .client = client, .server = server };
    buf_init(&lane->client_plain, 1 << 20);
    buf_init(&lane->server_plain, 1 << 20);
}

static void lane_of(struct lane *lane, struct world *world)
{
    lane_init(lane, tls_new(world->agent, TLS_CLIENT, NULL, false, wall_now()),
              tls_new(world->controller, TLS_SERVER, NULL, false, wall_now()));
}

static void lane_done(struct lane *lane)
{
    tls_free(lane->client);
    tls_free(lane->server);
    buf_done(&lane->client_plain);
    buf_done(&lane->server_plain);
}

/* A failed side takes nothing more, but what it wants to say still goes out. */
static void lane_talk(struct lane *lane)
{
    lane->client_status = tls_input(lane->client, NULL, 0, NULL, &lane->client_fault);
    while (tls_output_pending(lane->client) + tls_output_pending(lane->server) > 0) {
        struct buf bytes;

        buf_init(&bytes, 4 << 20);
        tls_output(lane->client, &bytes);
        if (lane->server_status == STATUS_OK)
            lane->server_status = tls_input(lane->server, bytes.data, bytes.length,
                                            &lane->server_plain, &lane->server_fault);
        buf_done(&bytes);
        tls_output(lane->server, &bytes);
        if (lane->client_status == STATUS_OK)
            lane->client_status = tls_input(lane->client, bytes.data, bytes.length,
                                            &lane->client_plain, &lane->client_fault);
        buf_done(&bytes);
    }
}

static void lane_up(struct lane *lane, struct world *world)
{
    lane_of(lane, world);
    lane_talk(lane);
    assert_true(tls_is_open(lane->client) && tls_is_open(lane->server));
}

static void both_sides_open_and_talk(void **state)
{
    struct lane lane;
    struct identity identity;
    struct fault fault;
    char *large = malloc(500000);

    memset(large, 'x', 500000);
    lane_up(&lane, *state);
    assert_int_equal(tls_write(lane.client, "hello", 5, &fault), STATUS_OK);
    assert_int_equal(tls_write(lane.client, "", 0, &fault), STATUS_OK);
    assert_int_equal(tls_write(lane.server, large, 500000, &fault), STATUS_OK);
    lane_talk(&lane);
    assert_string_equal(buf_peek(&lane.server_plain), "hello");
    assert_int_equal(lane.client_plain.length, 500000);
    assert_memory_equal(lane.client_plain.data, large, 500000);
    assert_int_equal(tls_identity(lane.server, AGENTS, &identity, &fault), STATUS_OK);
    assert_string_equal(identity.name, "a");
    assert_true(tls_peer_expires(lane.server).ns > in_days(29).ns);
    free(large);
    lane_done(&lane);
}

static void close_is_told_from_an_end(void **state)
{
    struct lane lane;
    struct fault fault;

    lane_up(&lane, *state);
    assert_int_equal(tls_write(lane.client, "last", 4, &fault), STATUS_OK);
    tls_close(lane.client);
    lane_talk(&lane);
    assert_string_equal(buf_peek(&lane.server_plain), "last");
    assert_true(tls_is_ended(lane.server));
    assert_false(tls_is_ended(lane.client));
    assert_int_equal(tls_input(lane.server, "more", 4, &lane.server_plain, &fault), STATUS_OK);
    assert_int_equal(lane.server_plain.length, 4);
    lane_done(&lane);
}

static void more_plain_bytes_than_allowed_are_refused(void **state)
{
    struct lane lane;
    struct fault fault;

    lane_up(&lane, *state);
    buf_init(&lane.server_plain, 10);
    assert_int_equal(tls_write(lane.client, "ten bytes.", 10, &fault), STATUS_OK);
    lane_talk(&lane);
    assert_int_equal(lane.server_status, STATUS_OK);
    assert_int_equal(tls_write(lane.client, "x", 1, &fault), STATUS_OK);
    lane_talk(&lane);
    assert_int_equal(lane.server_status, STATUS_TOO_LARGE);
    assert_has(lane.server_fault.text, "more than 10 bytes at once");
    lane_done(&lane);
}

static void a_changed_byte_ends_it_with_an_alert(void **state)
{
    struct lane lane;
    struct buf bytes;
    struct fault fault;

    lane_up(&lane, *state);
    buf_init(&bytes, 1000);
    assert_int_equal(tls_write(lane.client, "hello", 5, &fault), STATUS_OK);
    tls_output(lane.client, &bytes);
    bytes.data[bytes.length - 1] ^= 1;
    assert_int_equal(tls_input(lane.server, bytes.data, bytes.length, &lane.server_plain, &fault),
                     STATUS_INVALID);
    assert_has(fault.text, "broken TLS");
    assert_int_equal(lane.server_plain.length, 0);
    assert_int_not_equal(tls_output_pending(lane.server), 0);
    assert_int_equal(tls_input(lane.server, "x", 1, &lane.server_plain, &fault), STATUS_INVALID);
    assert_int_equal(tls_write(lane.server, "x", 1, &fault), STATUS_INVALID);
    buf_done(&bytes);
    lane_done(&lane);
}

/* Certificates of two of ours that one side refuses. */
struct refusal {
    struct wall server_now, client_now;
    const struct tls_files *server_files, *client_files;
};

static void refuse(struct lane *lane, const struct refusal *how)
{
    struct tls_context *server = world_load(how->server_files, ROLE_CONTROLLER, wall_now());
    struct tls_context *client = world_load(how->client_files, ROLE_AGENT, wall_now());

    lane_init(lane, tls_new(client, TLS_CLIENT, NULL, false, how->client_now),
              tls_new(server, TLS_SERVER, NULL, false, how->server_now));
    tls_context_free(server);
    tls_context_free(client);
    lane_talk(lane);
}

static void assert_server_refused(struct lane *lane, const char *ours, const char *theirs)
{
    assert_int_equal(lane->server_status, STATUS_DENIED);
    assert_has(lane->server_fault.text, ours);
    assert_true(tls_is_open(lane->client)); /* it had no way to know */
    assert_int_equal(lane->client_status, STATUS_DENIED);
    assert_has(lane->client_fault.text, "the other side says: ");
    assert_has(lane->client_fault.text, theirs);
    assert_int_equal(ERR_peek_error(), 0);
    lane_done(lane);
}

static void times_are_judged_on_each_side(void **state)
{
    struct world *world = *state;
    struct refusal how = { wall_now(), wall_now(), &world->controller_files, &world->agent_files };
    struct lane lane;

    how.server_now = in_days(40);
    refuse(&lane, &how);
    assert_has(lane.server_fault.text, "local time is ");
    assert_has(lane.server_fault.text, AGENT_URI);
    assert_server_refused(&lane, "certificate expired at ", "expired");
    how.server_now = in_days(-2);
    refuse(&lane, &how);
    assert_has(lane.server_fault.text, "local time is ");
    assert_server_refused(&lane, "certificate not yet valid", "not yet valid");
    how.server_now = wall_now();
    how.client_now = in_days(40);
    refuse(&lane, &how);
    assert_int_equal(lane.client_status, STATUS_DENIED);
    assert_has(lane.client_fault.text, "certificate expired at ");
    assert_int_equal(lane.server_status, STATUS_DENIED);
    assert_has(lane.server_fault.text, "the other side says: certificate");
    lane_done(&lane);
}

static void revoked_and_stale_lists_are_refused(void **state)
{
    struct world *world = *state;
    struct wall none = { 0 };
    struct authority *ca = certs_authority(world->certs, "lists", CERTS_ED25519);
    struct tls_files server, client;
    struct refusal how = { wall_now(), wall_now(), &server, &client };
    struct lane lane;

    certs_good(world->certs, ca, CONTROLLER_URI, &server);
    certs_good(world->certs, ca, AGENT_URI, &client);
    snprintf(server.crl, sizeof server.crl, "%s", certs_crl(world->certs, ca, none, in_days(2)));
    refuse(&lane, &how);
    assert_int_equal(lane.server_status, STATUS_OK);
    lane_done(&lane);
    how.server_now = in_days(3);
    refuse(&lane, &how);
    assert_server_refused(&lane, "the CRL expired at ", "expired");
    certs_revoke(ca, &client);
    snprintf(server.crl, sizeof server.crl, "%s", certs_crl(world->certs, ca, none, none));
    how.server_now = wall_now();
    refuse(&lane, &how);
    assert_server_refused(&lane, "certificate revoked (" AGENT_URI ")", "certificate revoked");
}

static void a_later_list_tells_who_of_those_that_are_there_is_revoked(void **state)
{
    struct world *world = *state;
    struct wall none = { 0 };
    struct authority *ca = certs_authority(world->certs, "later", CERTS_P256);
    struct authority *namesake = certs_authority(world->certs, "another", CERTS_P256);
    struct tls_files server, client, other;
    struct refusal how = { wall_now(), wall_now(), &server, &client };
    struct tls_context *fresh;
    struct lane lane;

    certs_good(world->certs, ca, CONTROLLER_URI, &server);
    certs_good(world->certs, ca, AGENT_URI, &client);
    certs_good(world->certs, ca, AGENT_URI, &other);
    refuse(&lane, &how);
    assert_int_equal(lane.server_status, STATUS_OK);
    certs_revoke(ca, &other);
    certs_revoke(namesake, &client);
    snprintf(server.crl, sizeof server.crl, "%s", certs_crl(world->certs, ca, none, none));
    fresh = world_load(&server, ROLE_CONTROLLER, wall_now());
    assert_true(tls_context_has_crl(fresh));
    assert_false(tls_is_revoked(lane.server, fresh));
    tls_context_free(fresh);
    certs_revoke(ca, &client);
    snprintf(server.crl, sizeof server.crl, "%s", certs_crl(world->certs, ca, none, none));
    fresh = world_load(&server, ROLE_CONTROLLER, wall_now());
    assert_true(tls_is_revoked(lane.server, fresh));
    assert_false(tls_is_revoked(lane.client, fresh));
    assert_false(tls_is_revoked(lane.server, world->controller));
    tls_context_free(fresh);
    lane_done(&lane);
}

static void another_authority_is_refused_by_either_side(void **state)
{
    struct world *world = *state;
    struct authority *other = certs_authority(world->certs, "other", CERTS_P256);
    struct tls_files client;
    struct refusal how = { wall_now(), wall_now(), &world->controller_files, &client };
    struct lane lane;

    certs_good(world->certs, other, AGENT_URI, &client);
    refuse(&lane, &how);
    assert_int_equal(lane.client_status, STATUS_DENIED);
    assert_has(lane.client_fault.text, "certificate of an unknown CA (" CONTROLLER_URI ")");
    assert_int_equal(lane.server_status, STATUS_DENIED);
    assert_has(lane.server_fault.text, "the other side says: unknown CA");
    lane_done(&lane);
    snprintf(client.ca, sizeof client.ca, "%s", certs_both(world->certs, world->ca, other));
    refuse(&lane, &how);
    assert_server_refused(&lane, "certificate of an unknown CA", "unknown CA");
}

static void roles_and_domains_are_checked(void **state)
{
    struct world *world = *state;
    struct tls_files files;
    struct refusal how = { wall_now(), wall_now(), &world->controller_files, &files };
    struct identity identity;
    struct fault fault;
    struct lane lane;

    certs_good(world->certs, world->ca, "spiffe://elsewhere/agent/a", &files);
    refuse(&lane, &how);
    assert_int_equal(lane.server_status, STATUS_OK);
    assert_int_equal(tls_identity(lane.server, AGENTS, &identity, &fault), STATUS_DENIED);
    assert_has(fault.text, "another trust domain (spiffe://elsewhere/agent/a); ours is test");
    assert_int_equal(tls_identity(lane.client, AGENTS, &identity, &fault), STATUS_DENIED);
    lane_done(&lane);
    lane_up(&lane, world);
    assert_int_equal(
        tls_identity(lane.server, CONTROLLERS | 1U << ROLE_OPERATOR, &identity, &fault),
        STATUS_DENIED);
    assert_has(fault.text, "role agent (" AGENT_URI "); the role controller or operator is needed");
    assert_int_equal(tls_identity(lane.server, 0, &identity, &fault), STATUS_DENIED);
    lane_done(&lane);
}

static void names_are_checked_when_asked(void **state)
{
    static const struct {
        const char *name;
        bool check, good;
    } cases[] = {
        { "controller.test", true, true }, { "x.wild.test", true, true },
        { "10.9.1.2", true, true },        { "fd00:9::2", true, true },
        { "other.test", true, false },     { "10.9.1.3", true, false },
        { "leaf", true, false },           { "a.b.wild.test", true, false },
        { "other.test", false, true },     { "10.9.1.3", false, true },
    };
    struct world *world = *state;
    struct certs_wish wish = { .uris = { CONTROLLER_URI },
                               .dns = { "controller.test", "*.wild.test" },
                               .ips = { "10.9.1.2", "fd00:9::2" } };
    struct tls_files files;
    struct tls_context *server;

    certs_issue(world->certs, world->ca, &wish, &files);
    server = world_load(&files, ROLE_CONTROLLER, wall_now());
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lane lane;

        lane_init(&lane,
                  tls_new(world->agent, TLS_CLIENT, cases[i].name, cases[i].check, wall_now()),
                  tls_new(server, TLS_SERVER, NULL, false, wall_now()));
        lane_talk(&lane);
        assert_int_equal(tls_is_open(lane.client), cases[i].good);
        if (!cases[i].good)
            assert_has(lane.client_fault.text, "for another name");
        lane_done(&lane);
    }
    tls_context_free(server);
}

static void a_name_that_can_be_none_is_refused(void **state)
{
    struct world *world = *state;
    char name[400];
    struct tls *client;
    struct fault fault;

    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    client = tls_new(world->agent, TLS_CLIENT, name, true, wall_now());
    assert_int_equal(tls_input(client, NULL, 0, NULL, &fault), STATUS_INVALID);
    assert_has(fault.text, "name cannot be used");
    tls_free(client);
}

/* What is no record of a hello is not waited for. */
static void a_first_record_is_whole_before_anything_is_done(void **state)
{
    static const char other[] = "GET / HTTP/1.1";
    struct world *world = *state;
    struct lane lane;
    struct fault fault;
    struct buf hello;

    lane_of(&lane, world);
    buf_init(&hello, 1 << 16);
    assert_int_equal(tls_input(lane.client, NULL, 0, NULL, &fault), STATUS_OK);
    tls_output(lane.client, &hello);
    for (size_t i = 0; i < hello.length; i++) {
        assert_int_equal(tls_output_pending(lane.server), 0);
        assert_int_equal(
            tls_input(lane.server, hello.data + i, 1, &lane.server_plain, &lane.server_fault),
            STATUS_OK);
    }
    assert_int_not_equal(tls_output_pending(lane.server), 0);
    lane_talk(&lane);
    assert_true(tls_is_open(lane.client) && tls_is_open(lane.server));
    buf_done(&hello);
    lane_done(&lane);
    lane_of(&lane, world);
    assert_int_equal(tls_input(lane.server, other, sizeof other, NULL, &fault), STATUS_INVALID);
    lane_done(&lane);
}

/* A hello that announces 96 KiB and is sent in records, as far as it is taken. */
static void a_stranger_may_send_64_kib(void **state)
{
    struct world *world = *state;
    struct tls *server = tls_new(world->controller, TLS_SERVER, NULL, false, wall_now());
    uint8_t record[5 + 4096] = { 22, 3, 1, 16, 0, 1, 1, 0x80, 0 };
    struct fault fault = { "" };
    size_t sent = 0;

    while (tls_input(server, record, sizeof record, NULL, &fault) == STATUS_OK) {
        sent += sizeof record;
        memset(record + 5, 0, 4);
    }
    assert_has(fault.text, "more than 65536 bytes before the handshake was over");
    assert_in_range(sent, 65536 - 2 * sizeof record, 65536);
    tls_free(server);
}

/* The queue of errors belongs to the thread: what one connection leaves there is no other's. */
static void one_connections_end_is_nothing_to_another(void **state)
{
    static const char *const garbage[] = { "GET / HTTP/1.0\r\n\r\n", "SSH-2.0-somebody\r\n",
                                           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" };
    struct world *world = *state;
    struct lane lane;
    struct buf bytes;
    struct fault fault;

    buf_init(&bytes, 1000);
    lane_up(&lane, world);
    for (int i = 0; i < 300; i++) {
        struct tls *other = tls_new(world->controller, TLS_SERVER, NULL, false, wall_now());
        const char *first = garbage[i % 3];

        assert_int_equal(tls_input(other, first, strlen(first), NULL, &fault), STATUS_INVALID);
        assert_int_equal(ERR_peek_error(), 0);
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH); /* somebody else's */
        assert_int_equal(tls_write(lane.client, "x", 1, &fault), STATUS_OK);
        tls_output(lane.client, &bytes);
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
        assert_int_equal(
            tls_input(lane.server, bytes.data, bytes.length, &lane.server_plain, &fault),
            STATUS_OK);
        buf_done(&bytes);
        tls_free(other);
    }
    assert_int_equal(lane.server_plain.length, 300);
    ERR_clear_error();
    lane_done(&lane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_open_and_talk),
        cmocka_unit_test(close_is_told_from_an_end),
        cmocka_unit_test(more_plain_bytes_than_allowed_are_refused),
        cmocka_unit_test(a_changed_byte_ends_it_with_an_alert),
        cmocka_unit_test(times_are_judged_on_each_side),
        cmocka_unit_test(revoked_and_stale_lists_are_refused),
        cmocka_unit_test(a_later_list_tells_who_of_those_that_are_there_is_revoked),
        cmocka_unit_test(another_authority_is_refused_by_either_side),
        cmocka_unit_test(roles_and_domains_are_checked),
        cmocka_unit_test(names_are_checked_when_asked),
        cmocka_unit_test(a_name_that_can_be_none_is_refused),
        cmocka_unit_test(a_first_record_is_whole_before_anything_is_done),
        cmocka_unit_test(a_stranger_may_send_64_kib),
        cmocka_unit_test(one_connections_end_is_nothing_to_another),
    };

    return cmocka_run_group_tests(tests, world_make, world_end);
}
