/* What a buffer holds must be what was predicted, and every datagram must be held or dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/hold.h"

static struct hold_result hold(enum family family, int64_t payload, int64_t rcvbuf, int64_t sends)
{
    const struct hold_order order = {
        .family = family, .payload = payload, .rcvbuf = rcvbuf, .sends = sends
    };
    struct hold_result result;
    struct fault fault = { "" };

    if (hold_measure(&order, &result, &fault) != STATUS_OK)
        fail_msg("%" PRId64 " B into %" PRId64 ": %s", payload, rcvbuf, fault.text);
    assert_int_equal(result.payload, payload);
    assert_int_equal(result.rcvbuf.asked, rcvbuf);
    assert_int_equal(result.sent, sends);
    assert_int_equal(refused_total(&result.refused), 0);
    assert_true(result.held <= result.sent);
    if (result.dropped.socket != NONE_INT)
        assert_int_equal(result.held + result.dropped.socket, result.sent);
    if (result.predicted_held - result.held > 1 || result.held - result.predicted_held > 1)
        fail_msg("%" PRId64 " B into %" PRId64 ": held %" PRId64 ", predicted %" PRId64, payload,
                 rcvbuf, result.held, result.predicted_held);
    return result;
}

static void a_buffer_holds_what_was_predicted(void **state)
{
    static const int64_t payloads[] = { 0, 1, 44, 133, 134, 646, 1472, 1670, 8192, 16384, 65507 };

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        struct hold_result small = hold(FAMILY_IPV4, payloads[i], 4096, 100);
        struct hold_result plain = hold(FAMILY_IPV4, payloads[i], 0, 2000);

        assert_true(small.held >= 1 && small.held < 100);
        assert_true(plain.held > small.held || payloads[i] > 16384);
        assert_true(plain.bytes_per_datagram > (double)payloads[i]);
    }
}

static void over_ipv6_too(void **state)
{
    struct addr any = addr_loopback(FAMILY_IPV6, 0), bound;
    int fd;

    (void)state;
    if (socket_open(&any, &fd, &bound, NULL) != STATUS_OK)
        skip();
    close(fd);
    assert_true(hold(FAMILY_IPV6, 1452, 65536, 500).held < 500);
    assert_true(hold(FAMILY_IPV6, 65527, 65536, 20).held < 20);
}

static void a_burst_that_fits_is_held_whole(void **state)
{
    struct hold_result result = hold(FAMILY_IPV4, 100, 65536, 5);

    (void)state;
    assert_int_equal(result.held, 5);
    assert_int_equal(result.predicted_held, 5);
    assert_true(result.dropped.socket <= 0);
}

/* The kernel's own sum, while all was in the queue. */
static void the_charge_is_of_what_was_queued(void **state)
{
    struct hold_result result = hold(FAMILY_IPV4, 8000, 0, 1000);

    (void)state;
    if (result.dropped.socket == NONE_INT)
        skip();
    assert_true(result.queued_bytes <= result.rcvbuf.granted);
    assert_true(
        fabs(result.bytes_per_datagram * (double)result.held - (double)result.queued_bytes) < 1);
    assert_true(result.dropped.system == NONE_INT ||
                result.dropped.system >= result.dropped.socket);
}

static void what_cannot_be_sent_is_an_error(void **state)
{
    const struct hold_order order = { FAMILY_IPV4, 65508, 0, 10 };
    struct hold_result result = { .held = 77 };
    struct fault fault = { "" };

    (void)state;
    assert_int_not_equal(hold_measure(&order, &result, &fault), STATUS_OK);
    assert_int_equal(result.held, 77);
    assert_int_not_equal(fault.text[0], '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_holds_what_was_predicted),
        cmocka_unit_test(over_ipv6_too),
        cmocka_unit_test(a_burst_that_fits_is_held_whole),
        cmocka_unit_test(the_charge_is_of_what_was_queued),
        cmocka_unit_test(what_cannot_be_sent_is_an_error),
    };

    return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
