/* The echo role must answer what it agreed to answer, once each, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probe/echo.h"
#include "tests/agent/probe/chance.h"
#include "tests/agent/probe/stage.h"

enum { WINDOW = 64, WORK_SLICE_MAX = 60 };

/* A role that has begun its session; the last client is not admitted. */
struct role {
    struct stage *stage;
    struct echo *echo;
    struct echo_worker *worker;
};

static struct role role_new(size_t payload, int64_t work_ns)
{
    struct role role = { .stage = stage_new(payload) };
    const struct engine *engine = engine_find(engine_best(), NULL);

    role.echo = echo_new(role.stage->echo_fd, engine, STAGE_CLIENTS - 1, WINDOW);
    for (size_t i = 0; i < STAGE_CLIENTS - 1; i++)
        echo_admit(role.echo, &role.stage->client_addr[i]);
    echo_begin(role.echo, &role.stage->session, work_ns);
    role.worker = echo_worker_new(role.echo, payload);
    echo_worker_begin(role.worker);
    return role;
}

static void role_free(struct role *role)
{
    echo_worker_free(role->worker);
    echo_free(role->echo);
    stage_free(role->stage);
}

/* Serves until `count` more datagrams were read. */
static void serve(struct role *role, size_t count)
{
    for (size_t done = 0; done < count;) {
        size_t got;

        assert_true(stage_readable(role->stage->echo_fd, STAGE_WAIT_MS));
        got = echo_serve(role->worker);
        done += got;
        assert_true(done <= count);
    }
    while (echo_waiting(role->worker))
        echo_serve(role->worker);
}

struct account {
    struct leg forward, reverse;
};

static struct account account_of(const struct role *role)
{
    struct account account = { 0 };

    echo_worker_account(role->worker, &account.forward, &account.reverse);
    return account;
}

/* Sends stage->bytes from a socket, serves it, and sees that there was no answer. */
static void assert_no_answer(struct role *role, int fd, size_t length)
{
    int64_t before = account_of(role).reverse.attempted;

    stage_send(fd, role->stage->bytes, length);
    serve(role, 1);
    assert_false(stage_readable(fd, 0));
    assert_int_equal(account_of(role).reverse.attempted, before);
}

static void request(struct role *role, size_t client, uint32_t sequence)
{
    size_t length = stage_request(role->stage, &role->stage->session, sequence);

    stage_send(role->stage->client_fd[client], role->stage->bytes, length);
}

static struct stamp_reply reply_to(struct role *role, size_t client)
{
    struct stage *stage = role->stage;
    struct stamp_reply reply;
    size_t length = stage_receive(stage->client_fd[client], stage->bytes, sizeof stage->bytes);

    assert_int_equal(length, stage->session.payload);
    assert_int_equal(stamp_get_reply(&stage->session.ground.format, stage->bytes, length, &reply),
                     STATUS_OK);
    assert_true(session_reply_intact(&stage->session, &reply, stage->bytes));
    return reply;
}

static void answers_in_the_size_that_was_asked(void **state)
{
    static const size_t payloads[] = { 44, 48, 49, 1472, 16384, 65507 };

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        struct role role = role_new(payloads[i], 0);
        struct stamp_reply reply;

        request(&role, 0, 0);
        serve(&role, 1);
        reply = reply_to(&role, 0);
        assert_int_equal(reply.sequence, 0);
        assert_int_equal(reply.sender_sequence, 0);
        assert_int_equal(reply.sender_ttl, 255);
        assert_true(stamp_ntp_between(reply.receive_timestamp, reply.timestamp) >= 0);
        assert_true(stamp_ntp_between(reply.sender_timestamp, reply.receive_timestamp) >= 0);
        assert_int_equal(account_of(&role).forward.received, 1);
        assert_int_equal(account_of(&role).reverse.sent, 1);
        role_free(&role);
    }
}

static void counts_its_own_datagrams_per_flow(void **state)
{
    struct role role = role_new(100, 0);

    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        request(&role, 0, i);
        request(&role, 1, i);
    }
    serve(&role, 20);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(reply_to(&role, 0).sequence, i);
        assert_int_equal(reply_to(&role, 1).sequence, i);
    }
    assert_int_equal(echo_arrived_of_first(role.echo, 10), 20); /* the third has sent nothing */
    assert_int_equal(echo_arrived_of_first(role.echo, 12), 20);
    assert_int_equal(echo_arrived_of_first(role.echo, 7), 14);
    role_free(&role);
}

static void does_not_answer_strangers(void **state)
{
    struct chance chance = chance_start("echo strangers");
    struct role role = role_new(64, 0);
    struct stage *stage = role.stage;
    struct session other = stage->session;
    size_t length;
    struct account account;

    (void)state;
    for (int stranger = 0; stranger < 2; stranger++) {
        /* an admitted client has no more rights with these than anybody else */
        int fd = stage->client_fd[stranger ? STAGE_CLIENTS - 1 : 0];

        assert_no_answer(&role, fd, 0);
        assert_no_answer(&role, fd, 1);
        for (size_t i = 0; i < 64; i++)
            stage->bytes[i] = (uint8_t)chance_next(&chance);
        stage->bytes[14] = 0xff; /* no SSID of ours */
        assert_no_answer(&role, fd, 64);
        other.ssid = STAGE_SSID + 1;
        assert_no_answer(&role, fd, stage_request(stage, &other, 0));
        session_init(&other, STAGE_SSID, 65, &stage->session.ground);
        assert_no_answer(&role, fd, stage_request(stage, &other, 0)); /* one byte more */
        session_init(&other, STAGE_SSID, 44, &stage->session.ground);
        assert_no_answer(&role, fd, stage_request(stage, &other, 0));
        other = stage->session;
    }
    length = stage_request(stage, &stage->session, 0);
    assert_no_answer(&role, stage->client_fd[STAGE_CLIENTS - 1], length); /* not admitted */
    account = account_of(&role);
    assert_int_equal(account.forward.foreign, 13);
    assert_int_equal(account.forward.received + account.forward.corrupt, 0);
    assert_int_equal(account.reverse.attempted, 0);
    role_free(&role);
}

static void does_not_answer_an_earlier_phase(void **state)
{
    struct role role = role_new(200, 0);
    struct stage *stage = role.stage;
    struct session earlier = stage->session;

    (void)state;
    request(&role, 0, 0);
    serve(&role, 1);
    reply_to(&role, 0);
    stage_begin(stage, STAGE_SSID + 1, 200);
    echo_begin(role.echo, &stage->session, 0);
    echo_worker_begin(role.worker);
    assert_no_answer(&role, stage->client_fd[0], stage_request(stage, &earlier, 0));
    assert_int_equal(account_of(&role).forward.foreign, 1);
    request(&role, 0, 0);
    serve(&role, 1);
    assert_int_equal(reply_to(&role, 0).sequence, 0); /* counted anew */
    assert_int_equal(account_of(&role).forward.received, 1);
    assert_int_equal(account_of(&role).forward.duplicates, 0);
    role_free(&role);
}

static void does_not_answer_what_is_damaged(void **state)
{
    static const size_t places[] = { 16, 43, 44, 45, 46, 47, 48, 100, 1471 };
    enum { PLACES = sizeof places / sizeof places[0] };
    struct role role = role_new(1472, 0);

    (void)state;
    for (size_t i = 0; i < PLACES; i++) {
        size_t length = stage_request(role.stage, &role.stage->session, 0);

        role.stage->bytes[places[i]] ^= 0x10;
        assert_no_answer(&role, role.stage->client_fd[0], length);
    }
    assert_int_equal(account_of(&role).forward.corrupt, PLACES);
    assert_int_equal(account_of(&role).forward.received, 0);
    /* what was damaged has not arrived: its number is still to come */
    request(&role, 0, 0);
    serve(&role, 1);
    assert_int_equal(account_of(&role).forward.received, 1);
    assert_int_equal(account_of(&role).forward.duplicates, 0);
    role_free(&role);
}

/* Two echo roles that answer each other would do so for ever. */
static void does_not_answer_an_echo(void **state)
{
    static const size_t payloads[] = { 44, 48, 1472 };

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        struct role role = role_new(payloads[i], 0);

        request(&role, 0, 0);
        request(&role, 0, 1);
        serve(&role, 2);
        reply_to(&role, 0);
        reply_to(&role, 0); /* its own number is 1 */
        assert_no_answer(&role, role.stage->client_fd[0], payloads[i]);
        assert_int_equal(account_of(&role).forward.corrupt, 1);
        assert_int_equal(account_of(&role).forward.received, 2);
        role_free(&role);
    }
}

static void answers_each_datagram_once_and_counts_duplicates(void **state)
{
    struct role role = role_new(44, 0);
    struct account account;

    (void)state;
    for (int i = 0; i < 3; i++)
        request(&role, 0, 0);
    request(&role, 0, 2);
    request(&role, 0, 1);
    serve(&role, 5);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(reply_to(&role, 0).sequence, i);
    assert_false(stage_readable(role.stage->client_fd[0], 0));
    account = account_of(&role);
    assert_int_equal(account.forward.received, 3);
    assert_int_equal(account.forward.duplicates, 2);
    assert_int_equal(account.forward.reordered, 1);
    assert_int_equal(account.reverse.attempted, 3);
    role_free(&role);
}

static bool even_ports(void *context, const struct addr *peer)
{
    ++*(int *)context;
    return addr_port(peer) % 2 == 0;
}

/* Who may join is asked once for each that does, again for those who may not. */
static void lets_flows_join_while_it_runs(void **state)
{
    struct stage *stage = stage_new(100);
    struct role role = { .stage = stage };
    int64_t joined = 0;
    int asked = 0;

    (void)state;
    assert_int_equal(datagram_ask_local(stage->echo_fd, FAMILY_IPV4, NULL), STATUS_OK);
    role.echo = echo_new(stage->echo_fd, engine_find(engine_best(), NULL), STAGE_CLIENTS, WINDOW);
    echo_open_to(role.echo, even_ports, &asked);
    echo_begin(role.echo, &stage->session, 0);
    role.worker = echo_worker_new(role.echo, 100);
    echo_worker_begin(role.worker);
    for (uint32_t i = 0; i < 3; i++) {
        for (size_t client = 0; client < STAGE_CLIENTS; client++)
            request(&role, client, i);
    }
    serve(&role, 3 * STAGE_CLIENTS);
    for (size_t client = 0; client < STAGE_CLIENTS; client++) {
        bool even = addr_port(&stage->client_addr[client]) % 2 == 0;

        for (uint32_t i = 0; i < 3 && even; i++)
            assert_int_equal(reply_to(&role, client).sequence, i);
        assert_false(stage_readable(stage->client_fd[client], 0));
        joined += even;
    }
    assert_int_equal(asked, joined + 3 * (STAGE_CLIENTS - joined));
    assert_int_equal(account_of(&role).forward.received, 3 * joined);
    assert_int_equal(account_of(&role).forward.foreign, 3 * (STAGE_CLIENTS - joined));
    assert_int_equal(echo_arrived_of_first(role.echo, 3), 3 * joined);
    role_free(&role);
}

static void takes_what_is_left_after_the_drain_as_late(void **state)
{
    struct role role = role_new(44, 0);
    struct account account;

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        request(&role, 0, i);
    assert_true(stage_readable(role.stage->echo_fd, STAGE_WAIT_MS));
    echo_sweep(role.worker);
    account = account_of(&role);
    assert_int_equal(account.forward.late, 100);
    assert_int_equal(account.forward.received, 0);
    assert_int_equal(account.reverse.attempted, 0);
    assert_false(stage_readable(role.stage->client_fd[0], 0));
    assert_int_equal(echo_arrived_of_first(role.echo, 100), 100);
    role_free(&role);
}

/* 300 datagrams of 5 ms are 1.5 s of work: the role comes back before, and the end of the phase
 * does not wait for it, but every datagram that was read in time has its answer. */
static void comes_back_from_long_work(void **state)
{
    struct role role = role_new(44, 5 * NS_PER_MS);
    struct account account;

    (void)state;
    for (uint32_t i = 0; i < 300; i++)
        request(&role, 0, i);
    assert_int_equal(echo_serve(role.worker), 300);
    assert_true(echo_waiting(role.worker));
    assert_true(account_of(&role).reverse.sent < WORK_SLICE_MAX);
    assert_true(account_of(&role).reverse.sent > 0);
    echo_sweep(role.worker);
    assert_false(echo_waiting(role.worker));
    account = account_of(&role);
    assert_int_equal(account.forward.received, 300);
    assert_int_equal(account.forward.late, 0);
    assert_int_equal(account.reverse.sent, 300);
    role_free(&role);
}

/* The ring of slots is 1,024 long; it must come round without a datagram lost or answered twice. */
static void goes_round_its_ring(void **state)
{
    struct role role = role_new(44, 0);
    struct chance chance = chance_start("echo ring");
    uint32_t next = 0;

    (void)state;
    while (next < 5000) {
        uint32_t count = 1 + (uint32_t)chance_below(&chance, 400);

        for (uint32_t i = 0; i < count; i++)
            request(&role, 0, next + i);
        serve(&role, count);
        for (uint32_t i = 0; i < count; i++, next++) {
            struct stamp_reply reply = reply_to(&role, 0);

            assert_int_equal(reply.sequence, next);
            assert_int_equal(reply.sender_sequence, next);
        }
    }
    assert_int_equal(account_of(&role).forward.received, next);
    assert_int_equal(account_of(&role).reverse.sent, next);
    role_free(&role);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_in_the_size_that_was_asked),
        cmocka_unit_test(counts_its_own_datagrams_per_flow),
        cmocka_unit_test(does_not_answer_strangers),
        cmocka_unit_test(does_not_answer_an_earlier_phase),
        cmocka_unit_test(does_not_answer_what_is_damaged),
        cmocka_unit_test(does_not_answer_an_echo),
        cmocka_unit_test(answers_each_datagram_once_and_counts_duplicates),
        cmocka_unit_test(lets_flows_join_while_it_runs),
        cmocka_unit_test(takes_what_is_left_after_the_drain_as_late),
        cmocka_unit_test(comes_back_from_long_work),
        cmocka_unit_test(goes_round_its_ring),
    };

    return cmocka_run_group_tests_name("echo", tests, NULL, NULL);
}
