/* An echo's end must be where it was told to be, and answer from the address that was asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "tests/agent/probe/ends.h"

static enum status open_between(const struct end_order *order, uint16_t first, uint16_t last,
                                struct echo_end **out_end, struct fault *fault)
{
    const struct echo_end_place place = { .bind_to = addr_loopback(FAMILY_IPV4, 0),
                                          .first_port = first,
                                          .last_port = last };

    return echo_end_new(order, &place, out_end, fault);
}

static void takes_the_first_free_port_of_its_range(void **state)
{
    struct end_order order = ends_order(112);
    struct ends *first = ends_echo(&order, "127.0.0.1:0");
    uint16_t port = addr_port(&first->target);
    struct echo_end *second = NULL;
    struct fault fault = { "" };
    char range[64];

    (void)state;
    assert_int_equal(open_between(&order, port, port, &second, &fault), STATUS_NO_RESOURCE);
    snprintf(range, sizeof range, "127.0.0.1:%u to %u", port, port);
    assert_non_null(strstr(fault.text, range));
    if (port < 65000 &&
        open_between(&order, port, (uint16_t)(port + 50), &second, &fault) == STATUS_OK) {
        assert_in_range(echo_end_port(second), port + 1, port + 50);
        echo_end_free(second);
    }
    ends_free(first);
}

static void refuses_an_order_that_is_no_session(void **state)
{
    struct end_order order = ends_order(113);
    struct echo_end *end = NULL;
    struct fault fault;

    (void)state;
    assert_int_equal(open_between(&order, 0, 0, &end, &fault), STATUS_INVALID);
    order.params.payload = 112;
    order.ssid = UINT16_MAX - 2;
    assert_int_equal(open_between(&order, 0, 0, &end, &fault), STATUS_INVALID);
    order.ssid = UINT16_MAX - 3;
    order.params.common.family = FAMILY_IPV6; /* on an IPv4 address */
    assert_int_equal(open_between(&order, 0, 0, &end, &fault), STATUS_INVALID);
    order.params.common.family = FAMILY_IPV4;
    order.params.engine = ENGINE_URING;
    assert_int_equal(open_between(&order, 0, 0, &end, &fault), STATUS_UNSUPPORTED);
    assert_null(end);
}

/* An hour of listening, but for the word of its owner. */
static void listens_before_it_opens_until_it_is_told(void **state)
{
    struct end_order order = ends_order(112);
    atomic_bool stop = true;
    struct report report;
    struct ends *ends;

    (void)state;
    order.idle_s = 3600;
    order.stop = &stop;
    ends = ends_echo(&order, "127.0.0.1:0");
    record_init(&report_record, &report);
    assert_int_equal(echo_end_report(ends->echo, &report, NULL), STATUS_OK);
    assert_true(report.host.counters.idle.seconds < 60);
    assert_true(report.host.counters.idle.delta.value[UDP_SENT] >= 0);
    assert_string_equal(report.local, ""); /* nobody has asked yet */
    assert_string_equal(report.peer, "");
    record_done(&report_record, &report);
    ends_free(ends);
}

static bool has_address(const char *text)
{
    struct addr local;
    int fd;

    assert_int_equal(addr_parse(text, &local, NULL), STATUS_OK);
    if (socket_open(&local, &fd, &local, NULL) != STATUS_OK)
        return false;
    close(fd);
    return true;
}

/* A connected socket takes datagrams from the address alone that it asked. */
static void answers_from_the_address_that_was_asked(void **state)
{
    (void)state;
    for (int i = 1; i <= 5; i++) {
        struct end_order order = ends_order(200);
        struct report report;
        char target[32], local[ADDR_TEXT_SIZE];
        struct ends *ends;

        snprintf(target, sizeof target, "127.0.0.%d:0", i);
        if (!has_address(target))
            skip(); /* macOS has 127.0.0.1 alone */
        ends = ends_meet(&order, "0.0.0.0:0", target);
        ends_phase(ends, PHASE_MEASURE);
        assert_int_equal(ends_oddities(&ends->forward) + ends_oddities(&ends->reverse), 0);
        record_init(&report_record, &report);
        assert_int_equal(echo_end_report(ends->echo, &report, NULL), STATUS_OK);
        snprintf(local, sizeof local, "127.0.0.%d:%u", i, echo_end_port(ends->echo));
        assert_string_equal(report.local, local);
        record_done(&report_record, &report);
        ends_free(ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_first_free_port_of_its_range),
        cmocka_unit_test(refuses_an_order_that_is_no_session),
        cmocka_unit_test(listens_before_it_opens_until_it_is_told),
        cmocka_unit_test(answers_from_the_address_that_was_asked),
    };

    return cmocka_run_group_tests_name("end_place", tests, NULL, NULL);
}
