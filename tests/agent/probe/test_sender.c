/* The sender role must keep its windows and enter whatever comes back where it belongs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/agent/probe/sender_role.h"

enum { WINDOW = 8, ALL = STAGE_CLIENTS * WINDOW };

static const struct mono never = { INT64_MAX };

static void drop_all_requests(struct role *role)
{
    while (stage_readable(role->stage->echo_fd, 0))
        take_request(role);
}

static void bursts_client_by_client(void **state)
{
    struct role role = role_new(100, WINDOW);

    (void)state;
    assert_int_equal(sender_first_sent(role.sender).ns, 0);
    sender_burst(role.sender);
    assert_true(sender_first_sent(role.sender).ns > 0);
    assert_int_equal(sender_outstanding(role.sender), ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        struct asked asked = take_request(&role);

        assert_true(addr_equal(&asked.from, &role.stage->client_addr[i / WINDOW]));
        assert_int_equal(asked.request.sequence, i % WINDOW);
    }
    assert_false(stage_readable(role.stage->echo_fd, 0));
    count(&role);
    assert_int_equal(role.forward.attempted, ALL);
    assert_int_equal(role.forward.sent, ALL);
    assert_int_equal(sender_burst_sent(role.sender), ALL);
    role_free(&role);
}

static void sends_one_more_for_each_echo(void **state)
{
    struct role role = role_new(44, 1);
    struct asked asked;

    (void)state;
    sender_burst(role.sender);
    asked = take_request(&role);
    drop_all_requests(&role);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(asked.request.sequence, i);
        make_echo(&role, &asked, i, 0);
        send_back(&role, &asked, 44);
        assert_int_equal(collect(&role, true, never), 1);
        asked = take_request(&role);
        assert_int_equal(sender_outstanding(role.sender), STAGE_CLIENTS);
    }
    make_echo(&role, &asked, 20, 0);
    send_back(&role, &asked, 44);
    collect(&role, true, mono_now()); /* the time is over */
    assert_false(stage_readable(role.stage->echo_fd, 0));
    assert_int_equal(sender_outstanding(role.sender), STAGE_CLIENTS - 1);
    count(&role);
    assert_int_equal(role.reverse.received, 21);
    assert_int_equal(role.rtt.count, 21);
    assert_int_equal(role.forward.sent, STAGE_CLIENTS + 20);
    role_free(&role);
}

static void takes_an_echo_once(void **state)
{
    struct role role = role_new(44, WINDOW);
    struct asked asked;

    (void)state;
    sender_burst(role.sender);
    asked = take_request(&role);
    make_echo(&role, &asked, 0, 0);
    for (int i = 0; i < 3; i++)
        send_back(&role, &asked, 44);
    make_echo(&role, &asked, 1, 0); /* the request came twice, and both were answered */
    send_back(&role, &asked, 44);
    collect(&role, true, never);
    count(&role);
    assert_int_equal(role.reverse.received, 2);
    assert_int_equal(role.reverse.duplicates, 2);
    assert_int_equal(role.forward.sent, ALL + 1);
    assert_int_equal(role.rtt.count, 1);
    assert_int_equal(role.there.count, 1);
    assert_int_equal(sender_outstanding(role.sender), ALL);
    role_free(&role);
}

static void shows_how_far_it_is(void **state)
{
    struct role role = role_new(44, WINDOW);
    int64_t sent, received;
    struct asked asked;

    (void)state;
    sender_progress(role.sender, &sent, &received);
    assert_int_equal(sent + received, 0);
    sender_burst(role.sender);
    asked = take_request(&role);
    poll(NULL, 0, 5);
    make_echo(&role, &asked, 0, 4 * NS_PER_MS);
    send_back(&role, &asked, 44);
    assert_int_equal(sender_slowest_ns(role.sender), 0);
    collect(&role, false, never);
    sender_progress(role.sender, &sent, &received);
    assert_int_equal(sent, ALL);
    assert_int_equal(received, 1);
    /* whoever waits for an echo waits for the echo role too */
    assert_true(sender_slowest_ns(role.sender) >= 5 * NS_PER_MS);
    role_free(&role);
}

static void sees_reordered_echoes(void **state)
{
    struct role role = role_new(44, 3);
    struct asked asked[3];

    (void)state;
    sender_burst(role.sender);
    for (size_t i = 0; i < 3; i++)
        asked[i] = take_request(&role);
    for (uint32_t i = 3; i-- > 0;) {
        make_echo(&role, &asked[i], i, 0);
        send_back(&role, &asked[i], 44);
    }
    collect(&role, false, never);
    count(&role);
    assert_int_equal(role.reverse.received, 3);
    assert_int_equal(role.reverse.reordered, 2);
    role_free(&role);
}

static void takes_nothing_that_is_not_its_echo(void **state)
{
    struct role role = role_new(64, WINDOW);
    struct stage *stage = role.stage;
    struct asked asked, wrong;

    (void)state;
    sender_burst(role.sender);
    asked = take_request(&role);
    send_back(&role, &asked, 0);
    send_back(&role, &asked, 1);
    make_echo(&role, &asked, 0, 0);
    send_back(&role, &asked, 63); /* cut */
    send_back(&role, &asked, 65); /* and too long */
    stage->bytes[15] ^= 1;        /* another session's */
    send_back(&role, &asked, 64);
    wrong = asked;
    wrong.request.sequence = WINDOW; /* never sent */
    make_echo(&role, &wrong, 0, 0);
    send_back(&role, &asked, 64);
    collect(&role, true, never);
    count(&role);
    assert_int_equal(role.reverse.foreign, 6);
    assert_int_equal(role.reverse.received + role.reverse.corrupt, 0);
    assert_int_equal(sender_outstanding(role.sender), ALL);
    assert_int_equal(role.forward.sent, ALL);
    role_free(&role);
}

static void counts_damaged_echoes(void **state)
{
    /* sender's timestamp, its error estimate, zeros, TLV header, padding */
    static const size_t places[] = { 28, 35, 37, 39, 41, 43, 44, 45, 47, 48, 63 };
    enum { PLACES = sizeof places / sizeof places[0] };
    struct role role = role_new(64, WINDOW);
    struct asked asked;

    (void)state;
    sender_burst(role.sender);
    asked = take_request(&role);
    for (size_t i = 0; i < PLACES; i++) {
        make_echo(&role, &asked, 0, 0);
        role.stage->bytes[places[i]] ^= 0x04;
        send_back(&role, &asked, 64);
    }
    /* its own request, sent back unanswered */
    stage_request(role.stage, &role.stage->session, 0);
    send_back(&role, &asked, 64);
    collect(&role, true, never);
    count(&role);
    assert_int_equal(role.reverse.corrupt, PLACES + 1);
    assert_int_equal(role.reverse.received + role.reverse.foreign, 0);
    assert_int_equal(sender_outstanding(role.sender), ALL);
    role_free(&role);
}

static void counts_late_what_comes_after_the_drain(void **state)
{
    struct role role = role_new(44, WINDOW);

    (void)state;
    sender_burst(role.sender);
    for (uint32_t i = 0; i < ALL; i++) {
        struct asked asked = take_request(&role);

        make_echo(&role, &asked, i % WINDOW, 0);
        send_back(&role, &asked, 44);
    }
    assert_true(stage_readable(role.stage->client_fd[STAGE_CLIENTS - 1], STAGE_WAIT_MS));
    sender_sweep(role.sender);
    count(&role);
    assert_int_equal(role.reverse.late, ALL);
    assert_int_equal(role.reverse.received, 0);
    assert_true(role.rtt.count == 0 && role.there.count == 0);
    assert_int_equal(role.forward.sent, ALL);
    role_free(&role);
}

static void forgets_a_phase(void **state)
{
    struct role role = role_new(44, WINDOW);
    struct asked asked;

    (void)state;
    sender_burst(role.sender);
    asked = take_request(&role);
    make_echo(&role, &asked, 0, 0);
    stage_begin(role.stage, STAGE_SSID + 1, 44);
    sender_begin(role.sender, &role.stage->session, 2);
    assert_int_equal(sender_outstanding(role.sender), 0);
    send_back(&role, &asked, 44); /* made in the phase before */
    collect(&role, true, never);
    count(&role);
    assert_int_equal(role.reverse.foreign, 1);
    assert_int_equal(role.reverse.received, 0);
    assert_int_equal(role.forward.attempted, 0);
    role_free(&role);
}

/* Virtual time: bursts are due at 1000, 1100, 1200, ... */
static void keeps_pace_and_never_makes_up(void **state)
{
    static const struct {
        int64_t now, due, bursts, slip, skipped;
    } steps[] = {
        { 1000, 1100, 1, 0, 0 },   { 1000, 1100, 1, 0, 0 },   { 1099, 1100, 1, 0, 0 },
        { 1100, 1200, 2, 0, 0 },   { 1230, 1300, 3, 30, 0 },  { 1301, 1400, 4, 30, 0 },
        { 1750, 1800, 5, 350, 3 }, { 1799, 1800, 5, 350, 3 }, { 1900, 2000, 6, 350, 4 },
        { 2000, 2100, 7, 350, 4 },
    };
    struct role role = role_new(44, WINDOW);

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct mono due = sender_pace(role.sender, 100, (struct mono){ steps[i].now });
        struct pace pace = sender_pace_kept(role.sender);

        count(&role);
        assert_int_equal(due.ns, steps[i].due);
        assert_int_equal(role.forward.attempted, steps[i].bursts * ALL);
        assert_int_equal(pace.slip_ns, steps[i].slip);
        assert_int_equal(pace.skipped, steps[i].skipped);
    }
    sender_pace_end(role.sender, 100, (struct mono){ 2100 });
    assert_int_equal(sender_pace_kept(role.sender).skipped, 4);
    sender_pace_end(role.sender, 100, (struct mono){ 2301 });
    assert_int_equal(sender_pace_kept(role.sender).skipped, 7);
    role_free(&role);
}

/* IPv4 has no datagrams of this size: none is sent, and none is waited for. */
static void gives_the_slots_of_the_refused_back(void **state)
{
    struct role role = role_new(PAYLOAD_MAX_IPV6, WINDOW);

    (void)state;
    sender_burst(role.sender);
    count(&role);
    assert_int_equal(role.forward.refused.emsgsize, ALL);
    assert_int_equal(role.forward.attempted, ALL);
    assert_int_equal(role.forward.sent, 0);
    assert_int_equal(sender_burst_sent(role.sender), 0);
    assert_int_equal(sender_outstanding(role.sender), 0);
    role_free(&role);
}

/* Others wait for their echoes to be read, too. */
static void does_not_stay_with_one_client(void **state)
{
    struct role role = role_new(44, WINDOW);
    struct asked asked;

    (void)state;
    sender_burst(role.sender);
    asked = take_request(&role);
    make_echo(&role, &asked, 0, 0);
    for (int i = 0; i < 500; i++)
        send_back(&role, &asked, 44);
    assert_in_range(sender_collect(role.sender, 0, true, never), WINDOW, 100);
    assert_true(stage_readable(role.stage->client_fd[0], 0));
    role_free(&role);
}

/* Nobody listens any more: each datagram was sent, then came back as refused, or is outstanding. */
static void accounts_for_a_closed_port(void **state)
{
    struct role role = role_new(44, 200);

    (void)state;
    close(role.stage->echo_fd);
    role.stage->echo_fd = -1;
    sender_burst(role.sender);
    sender_sweep(role.sender);
    count(&role);
    assert_int_equal(role.forward.attempted, STAGE_CLIENTS * 200);
    assert_int_equal(role.forward.sent + refused_total(&role.forward.refused),
                     role.forward.attempted);
    assert_int_equal(role.forward.refused.econnrefused, refused_total(&role.forward.refused));
    assert_true(role.forward.refused.econnrefused > 0);
    assert_int_equal(sender_burst_sent(role.sender),
                     STAGE_CLIENTS * 200); /* all of them were on their way */
    role_free(&role);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_client_by_client),
        cmocka_unit_test(sends_one_more_for_each_echo),
        cmocka_unit_test(takes_an_echo_once),
        cmocka_unit_test(shows_how_far_it_is),
        cmocka_unit_test(sees_reordered_echoes),
        cmocka_unit_test(takes_nothing_that_is_not_its_echo),
        cmocka_unit_test(counts_damaged_echoes),
        cmocka_unit_test(counts_late_what_comes_after_the_drain),
        cmocka_unit_test(forgets_a_phase),
        cmocka_unit_test(keeps_pace_and_never_makes_up),
        cmocka_unit_test(gives_the_slots_of_the_refused_back),
        cmocka_unit_test(does_not_stay_with_one_client),
        cmocka_unit_test(accounts_for_a_closed_port),
    };

    return cmocka_run_group_tests_name("sender", tests, NULL, NULL);
}
