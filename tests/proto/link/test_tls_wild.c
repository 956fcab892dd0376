/* A TLS connection against sides that keep none of its rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/proto/link/pair.h"
#include "tests/proto/link/wild.h"

/* A wild client against our server. */
static enum status wild_client(struct world *world, const struct wild_habits *habits,
                               struct tls **out_server, struct fault *out_fault)
{
    struct wild wild;
    enum status status;

    *out_server = tls_new(world->controller, TLS_SERVER, NULL, false, wall_now());
    wild_init(&wild, habits);
    status = wild_talk(&wild, *out_server, out_fault);
    wild_done(&wild);
    return status;
}

static void assert_wild_refused(struct world *world, const struct wild_habits *habits,
                                const char *words, const char *alert)
{
    struct tls *server;
    struct fault fault = { "" };

    if (wild_client(world, habits, &server, &fault) == STATUS_OK)
        fail_msg("not refused: %s", words);
    assert_has(fault.text, words);
    assert_has(wild_error(), alert);
    tls_free(server);
}

static void clients_that_keep_no_rules_are_refused(void **state)
{
    struct world *world = *state;
    struct certs_wish wish = { .uris = { AGENT_URI }, .usage = CERTS_SERVER_ONLY };
    struct tls_files server_only;
    const struct tls_files *good = &world->agent_files;

    certs_issue(world->certs, world->ca, &wish, &server_only);
    assert_wild_refused(world, &(struct wild_habits){ .files = NULL }, "no certificate",
                        "certificate required");
    assert_wild_refused(world, &(struct wild_habits){ .files = &server_only }, "wrong purpose",
                        "unsupported certificate");
    assert_wild_refused(world, &(struct wild_habits){ .files = good, .protocol = "" },
                        "does not offer the protocol sonde/1", "no application protocol");
    assert_wild_refused(world, &(struct wild_habits){ .files = good, .protocol = "\x02h2" },
                        "does not offer the protocol sonde/1", "no application protocol");
    assert_wild_refused(world, &(struct wild_habits){ .files = good, .version = TLS1_2_VERSION },
                        "1.3 is needed", "protocol version");
    assert_wild_refused(world, &(struct wild_habits){ .files = good, .chain_copies = 120 },
                        "handshake message too large", "");
}

static void certificates_without_one_name_are_refused(void **state)
{
    static const struct {
        const char *uris[CERTS_NAMES];
        const char *words;
    } cases[] = {
        { { NULL }, "certificate without a role" },
        { { AGENT_URI, "spiffe://test/operator/b" }, "certificate with 2 URI names" },
        { { "spiffe://test/a" }, "certificate with a wrong name" },
        { { "probe://role/a" }, "certificate with a wrong name" },
    };
    struct world *world = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct certs_wish wish = { .dns = { "a.test" } };
        struct tls_files files;
        struct wild_habits habits = { .files = &files };
        struct identity identity;
        struct tls *server;
        struct fault fault;

        memcpy(wish.uris, cases[i].uris, sizeof wish.uris);
        certs_issue(world->certs, world->ca, &wish, &files);
        assert_int_equal(wild_client(world, &habits, &server, &fault), STATUS_OK);
        assert_int_equal(tls_identity(server, AGENTS, &identity, &fault), STATUS_DENIED);
        assert_has(fault.text, cases[i].words);
        tls_free(server);
    }
    wild_error();
}

static void a_server_that_chooses_another_protocol_is_refused(void **state)
{
    static const char *const protocols[] = { "", "\x07sonde/2" };
    struct world *world = *state;

    for (size_t i = 0; i < 2; i++) {
        struct wild_habits habits = { .server = true,
                                      .protocol = protocols[i],
                                      .files = &world->controller_files };
        struct tls *client = tls_new(world->agent, TLS_CLIENT, NULL, false, wall_now());
        struct wild wild;
        struct fault fault;

        wild_init(&wild, &habits);
        assert_int_equal(wild_talk(&wild, client, &fault), STATUS_INVALID);
        wild_done(&wild);
        wild_error();
        tls_free(client);
    }
}

/* A session that is resumed would skip the certificates. */
static void no_ticket_is_given(void **state)
{
    struct world *world = *state;
    struct wild_habits habits = { .files = &world->agent_files };
    struct tls *server = tls_new(world->controller, TLS_SERVER, NULL, false, wall_now());
    struct wild wild;
    struct fault fault;

    wild_init(&wild, &habits);
    assert_int_equal(wild_talk(&wild, server, &fault), STATUS_OK);
    assert_true(SSL_is_init_finished(wild.ssl));
    assert_false(SSL_SESSION_is_resumable(SSL_get0_session(wild.ssl)));
    wild_done(&wild);
    wild_error();
    tls_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_that_keep_no_rules_are_refused),
        cmocka_unit_test(certificates_without_one_name_are_refused),
        cmocka_unit_test(a_server_that_chooses_another_protocol_is_refused),
        cmocka_unit_test(no_ticket_is_given),
    };

    return cmocka_run_group_tests(tests, world_make, world_end);
}
