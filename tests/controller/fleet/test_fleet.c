/* Who is connected, who takes over, who is a duplicate, and who holds which host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/fleet/fleet.h"
#include "proto/base/text.h"

static struct mono at(int64_t seconds)
{
    return (struct mono){ seconds * NS_PER_S };
}

static void add_address(struct message_hello *hello, const char *address)
{
    char *copy = strdup(address);

    assert_non_null(copy);
    *(char **)list_append_sized(&hello->addresses, sizeof copy) = copy;
}

static enum status say_hello(struct fleet *fleet, uint64_t peer, const char *name,
                             const char *instance, int64_t seconds)
{
    struct message_hello hello;
    struct fleet_arrival arrival = { .peer = peer, .name = name, .hello = &hello };
    struct fault fault = { "" };
    char address[ADDR_TEXT_SIZE];
    uint64_t replaced = 0;
    enum status status;

    message_init(&hello, MESSAGE_HELLO);
    snprintf(address, sizeof address, "192.0.2.%d:5", (int)peer);
    arrival.address = address;
    text_copy(hello.instance, sizeof hello.instance, instance);
    add_address(&hello, "no address");
    add_address(&hello, "10.0.0.7");
    add_address(&hello, "fd00::7");
    status = fleet_hello(fleet, &arrival, at(seconds), &replaced, &fault);
    message_done(&hello);
    if (status == STATUS_EXISTS) {
        assert_non_null(strstr(fault.text, "192.0.2."));
        assert_non_null(strstr(fault.text, address));
    }
    return replaced != 0 ? STATUS_INTERRUPTED : status; /* for the tests: took over */
}

static struct agent_row row_of(const struct fleet *fleet, size_t place, int64_t seconds)
{
    struct agent_row row;
    struct fault fault;

    fleet_row(fleet, place, at(seconds), &row);
    assert_int_equal(STATUS_OK, record_check(&agent_row_record, &row, &fault));
    return row;
}

static void done(struct agent_row *row)
{
    record_done(&agent_row_record, row);
}

static void an_agent_comes_and_goes(void **state)
{
    struct fleet *fleet = fleet_new();
    struct agent_row row;

    (void)state;
    assert_int_equal(STATUS_OK, say_hello(fleet, 1, "b", "x", 10));
    assert_int_equal(STATUS_OK, say_hello(fleet, 2, "a", "y", 10));
    assert_int_equal(2, fleet_connected(fleet));
    assert_string_equal("b", fleet_name(fleet, 1));
    assert_int_equal(2, fleet_peer(fleet, "a"));
    assert_int_equal(0, fleet_peer(fleet, "c"));
    assert_false(fleet_knows(fleet, "c"));
    fleet_seen(fleet, 1, at(12));
    row = row_of(fleet, 1, 15);
    assert_string_equal("b", row.name);
    assert_true(row.connected);
    assert_true(row.last_seen_s > 2.9 && row.last_seen_s < 3.1);
    done(&row);
    assert_string_equal("b", fleet_lost(fleet, 1, at(20)));
    assert_null(fleet_lost(fleet, 1, at(20)));
    assert_null(fleet_name(fleet, 1));
    assert_int_equal(0, fleet_peer(fleet, "b"));
    assert_true(fleet_knows(fleet, "b"));
    assert_int_equal(1, fleet_connected(fleet));
    assert_int_equal(STATUS_OK, say_hello(fleet, 3, "b", "z", 21));
    row = row_of(fleet, 1, 21);
    assert_int_equal(0, row.duplicates);
    done(&row);
    fleet_free(fleet);
}

/* A restart whose old connection still lives is taken at once; a clone that wants it back is not,
 * so that neither flaps faster than once in 30 s. */
static void a_clone_is_seen_and_does_not_flap(void **state)
{
    struct fleet *fleet = fleet_new();
    struct agent_row row;

    (void)state;
    assert_int_equal(STATUS_OK, say_hello(fleet, 1, "a", "x", 100));
    assert_int_equal(STATUS_INTERRUPTED, say_hello(fleet, 2, "a", "y", 101));
    assert_null(fleet_lost(fleet, 1, at(101)));
    assert_int_equal(2, fleet_peer(fleet, "a"));
    row = row_of(fleet, 0, 101);
    assert_int_equal(1, row.duplicates);
    assert_string_equal("192.0.2.1:5", row.duplicate_address);
    assert_string_equal("192.0.2.2:5", row.address);
    done(&row);
    assert_int_equal(STATUS_EXISTS, say_hello(fleet, 3, "a", "x", 102));
    assert_int_equal(STATUS_EXISTS, say_hello(fleet, 4, "a", "x", 130));
    assert_int_equal(2, fleet_peer(fleet, "a"));
    row = row_of(fleet, 0, 130);
    assert_int_equal(3, row.duplicates);
    assert_string_equal("192.0.2.4:5", row.duplicate_address);
    done(&row);
    assert_int_equal(STATUS_INTERRUPTED, say_hello(fleet, 5, "a", "x", 131));
    assert_int_equal(5, fleet_peer(fleet, "a"));
    assert_int_equal(1, fleet_connected(fleet));
    fleet_free(fleet);
}

static void the_same_instance_reconnects_as_often_as_it_likes(void **state)
{
    struct fleet *fleet = fleet_new();
    struct agent_row row;

    (void)state;
    assert_int_equal(STATUS_OK, say_hello(fleet, 1, "a", "x", 100));
    assert_int_equal(STATUS_OK, say_hello(fleet, 1, "a", "x", 100)); /* hello again */
    for (uint64_t peer = 2; peer < 10; peer++)
        assert_int_equal(STATUS_INTERRUPTED, say_hello(fleet, peer, "a", "x", 100));
    row = row_of(fleet, 0, 100);
    assert_int_equal(0, row.duplicates);
    done(&row);
    fleet_free(fleet);
}

static void addresses_are_by_family(void **state)
{
    struct fleet *fleet = fleet_new();

    (void)state;
    assert_int_equal(STATUS_OK, say_hello(fleet, 1, "a", "x", 1));
    assert_string_equal("10.0.0.7", fleet_address(fleet, "a", FAMILY_IPV4));
    assert_string_equal("fd00::7", fleet_address(fleet, "a", FAMILY_IPV6));
    assert_string_equal("", fleet_address(fleet, "b", FAMILY_IPV4));
    fleet_free(fleet);
}

static void the_nearest_name_is_found(void **state)
{
    struct fleet *fleet = fleet_new();

    (void)state;
    assert_null(fleet_nearest(fleet, "paris"));
    assert_int_equal(STATUS_OK, say_hello(fleet, 1, "paris-1", "x", 1));
    assert_int_equal(STATUS_OK, say_hello(fleet, 2, "oslo", "y", 1));
    assert_string_equal("paris-1", fleet_nearest(fleet, "pariz-1"));
    assert_null(fleet_nearest(fleet, "something else"));
    fleet_free(fleet);
}

static bool hold(struct fleet *fleet, const char *from, const char *to, const char *run,
                 bool exclusive)
{
    const char *holder = NULL;
    const struct fleet_claim claim = { from, to, run, exclusive };
    bool held = fleet_hold(fleet, &claim, &holder);

    assert_true(held == (holder == NULL));
    return held;
}

static void exclusive_runs_share_no_host(void **state)
{
    struct fleet *fleet = fleet_new();
    struct agent_row row;

    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        say_hello(fleet, i + 1, (const char *[]){ "a", "b", "c", "d" }[i], "x", 1);
    assert_true(hold(fleet, "a", "b", "run 1", true));
    assert_false(hold(fleet, "b", "c", "run 2", false));
    assert_false(hold(fleet, "c", "a", "run 2", true));
    assert_true(hold(fleet, "c", "d", "run 3", false));
    assert_true(hold(fleet, "d", "c", "run 4", false));
    assert_false(hold(fleet, "d", "c", "run 5", true));
    row = row_of(fleet, 1, 1);
    assert_string_equal("run 1", row.busy_with);
    done(&row);
    fleet_release(fleet, "run 3");
    row = row_of(fleet, 2, 1);
    assert_string_equal("run 4", row.busy_with);
    done(&row);
    assert_false(hold(fleet, "d", "c", "run 5", true));
    fleet_release(fleet, "run 4");
    fleet_release(fleet, "run 1");
    fleet_release(fleet, "run 1");
    assert_true(hold(fleet, "d", "c", "run 5", true));
    assert_true(hold(fleet, "a", "b", "run 6", true));
    fleet_free(fleet);
}

static void what_changed_is_told_once_in_order(void **state)
{
    struct fleet *fleet = fleet_new();
    struct agent_row row;

    (void)state;
    assert_false(fleet_changed(fleet, at(1), &row));
    say_hello(fleet, 1, "b", "x", 1);
    say_hello(fleet, 2, "a", "y", 1);
    fleet_lost(fleet, 1, at(2));
    assert_true(fleet_unsaved(fleet));
    assert_true(fleet_changed(fleet, at(3), &row));
    assert_string_equal("b", row.name);
    assert_false(row.connected);
    done(&row);
    assert_true(fleet_changed(fleet, at(3), &row));
    assert_string_equal("a", row.name);
    done(&row);
    assert_false(fleet_changed(fleet, at(3), &row));
    assert_false(fleet_unsaved(fleet));
    fleet_status(fleet, 2, &(struct message_status){ .sessions = 4 }, at(4));
    assert_false(fleet_unsaved(fleet));
    fleet_lost(fleet, 2, at(5));
    assert_true(fleet_unsaved(fleet));
    fleet_free(fleet);
}

static void an_earlier_life_is_remembered(void **state)
{
    struct fleet *fleet = fleet_new();
    struct agent_row row;

    (void)state;
    record_init(&agent_row_record, &row);
    text_copy(row.name, sizeof row.name, "old");
    text_copy(row.version, sizeof row.version, "0.1.0");
    row.last_seen_s = 90;
    fleet_remember(fleet, &row, at(5)); /* longer ago than this machine's clock */
    row = row_of(fleet, 0, 15);
    assert_false(row.connected);
    assert_string_equal("0.1.0", row.version);
    assert_true(row.last_seen_s > 99 && row.last_seen_s < 101);
    done(&row);
    assert_int_equal(0, fleet_connected(fleet));
    assert_false(fleet_unsaved(fleet));
    assert_int_equal(STATUS_OK, say_hello(fleet, 9, "old", "x", 20));
    fleet_free(fleet);
}

static void twenty_thousand_names_are_the_limit(void **state)
{
    struct fleet *fleet = fleet_new();
    struct agent_row row;
    char name[NAME_SIZE];

    (void)state;
    record_init(&agent_row_record, &row);
    for (int i = 0; i < LIMIT_FLEET; i++) {
        /* In an order that is neither up nor down. */
        snprintf(row.name, sizeof row.name, "agent-%d", i * 7919 % LIMIT_FLEET);
        fleet_remember(fleet, &row, at(1));
    }
    assert_int_equal(LIMIT_FLEET, fleet_count(fleet));
    assert_int_equal(STATUS_TOO_LARGE, say_hello(fleet, 1, "one more", "x", 1));
    for (int i = 0; i < LIMIT_FLEET; i += 997) {
        snprintf(name, sizeof name, "agent-%d", i);
        assert_int_equal(STATUS_OK, say_hello(fleet, (uint64_t)i + 1, name, "x", 1));
        assert_string_equal(name, fleet_name(fleet, (uint64_t)i + 1));
    }
    fleet_free(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_comes_and_goes),
        cmocka_unit_test(a_clone_is_seen_and_does_not_flap),
        cmocka_unit_test(the_same_instance_reconnects_as_often_as_it_likes),
        cmocka_unit_test(addresses_are_by_family),
        cmocka_unit_test(the_nearest_name_is_found),
        cmocka_unit_test(exclusive_runs_share_no_host),
        cmocka_unit_test(what_changed_is_told_once_in_order),
        cmocka_unit_test(an_earlier_life_is_remembered),
        cmocka_unit_test(twenty_thousand_names_are_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
