/* Where nobody listens, "no socket" must count every datagram, and the errors belong to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "agent/host/socket.h"
#include "agent/probe/closed_port.h"

static void check(enum family family, int64_t sends)
{
    struct closed_port_result result;
    struct fault fault = { "" };

    if (closed_port_measure(family, sends, &result, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(result.sent, sends);
    if (result.no_socket.system != NONE_INT)
        assert_true(result.no_socket.system >= sends);
    /* an error for each at most: the kernel limits its ICMP */
    assert_true(result.refused.econnrefused > 0 || sends == 1);
    assert_true(result.refused.econnrefused <= sends);
    assert_int_equal(refused_total(&result.refused), result.refused.econnrefused);
}

static void each_datagram_is_counted_and_some_are_answered(void **state)
{
    (void)state;
    check(FAMILY_IPV4, 1);
    check(FAMILY_IPV4, 20);
}

static void over_ipv6_too(void **state)
{
    struct addr any = addr_loopback(FAMILY_IPV6, 0), bound;
    int fd;

    (void)state;
    if (socket_open(&any, &fd, &bound, NULL) != STATUS_OK)
        skip();
    close(fd);
    check(FAMILY_IPV6, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_datagram_is_counted_and_some_are_answered),
        cmocka_unit_test(over_ipv6_too),
    };

    return cmocka_run_group_tests_name("closed_port", tests, NULL, NULL);
}
