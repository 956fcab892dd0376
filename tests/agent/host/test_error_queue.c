/* What ICMP means must be the same on every system; and what the queue of this one says of a
 * datagram must be about that datagram. On real loopback sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/error_queue.h"
#include "agent/host/socket.h"

static const struct {
    enum family family;
    uint8_t type, code;
    enum error_kind kind;
} meanings[] = {
    { FAMILY_IPV4, 3, 4, ERROR_TOO_BIG },        { FAMILY_IPV4, 3, 3, ERROR_NO_PORT },
    { FAMILY_IPV4, 3, 0, ERROR_UNREACHABLE },    { FAMILY_IPV4, 3, 13, ERROR_UNREACHABLE },
    { FAMILY_IPV4, 11, 0, ERROR_TIME_EXCEEDED }, { FAMILY_IPV4, 11, 1, ERROR_OTHER },
    { FAMILY_IPV4, 12, 0, ERROR_OTHER },         { FAMILY_IPV4, 2, 0, ERROR_OTHER },
    { FAMILY_IPV6, 2, 0, ERROR_TOO_BIG },        { FAMILY_IPV6, 2, 9, ERROR_TOO_BIG },
    { FAMILY_IPV6, 1, 4, ERROR_NO_PORT },        { FAMILY_IPV6, 1, 0, ERROR_UNREACHABLE },
    { FAMILY_IPV6, 3, 0, ERROR_TIME_EXCEEDED },  { FAMILY_IPV6, 3, 1, ERROR_OTHER },
    { FAMILY_IPV6, 4, 0, ERROR_OTHER },          { FAMILY_IPV6, 11, 0, ERROR_OTHER },
};

static void icmp_means_what_its_rfc_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        assert_int_equal(error_kind_of(meanings[i].family, meanings[i].type, meanings[i].code),
                         meanings[i].kind);
}

/* A socket that is connected to a port which nobody has; skips without the family or the queue. */
static int open_to_nobody(enum family family, struct addr *out_nobody)
{
    struct addr any = addr_loopback(family, 0);
    struct addr bound;
    struct fault fault;
    int fd, closed;
    enum status status;

    if (socket_open(&any, &fd, &bound, &fault) != STATUS_OK) {
        assert_int_equal(family, FAMILY_IPV6);
        skip();
    }
    status = error_queue_enable(fd, family, &fault);
    if (status == STATUS_UNSUPPORTED) {
        struct queued_error error;

        assert_string_not_equal(fault.text, "");
        assert_int_equal(error_queue_take(fd, &error), STATUS_AGAIN);
        close(fd);
        skip();
    }
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(socket_open(&any, &closed, out_nobody, &fault), STATUS_OK);
    close(closed);
    assert_int_equal(socket_connect(fd, out_nobody, &fault), STATUS_OK);
    return fd;
}

static void wait_for_error(int fd)
{
    struct pollfd look = { .fd = fd };

    assert_int_equal(poll(&look, 1, 5000), 1);
    assert_true((look.revents & POLLERR) != 0);
}

static void check_port_unreachable(enum family family)
{
    static const char word[] = "the datagram that nobody took";
    struct addr nobody, host = addr_loopback(family, 0);
    int fd = open_to_nobody(family, &nobody);
    struct queued_error error;

    assert_int_equal(error_queue_take(fd, &error), STATUS_AGAIN);
    assert_int_equal(send(fd, word, sizeof word, 0), sizeof word);
    wait_for_error(fd);
    assert_int_equal(error_queue_take(fd, &error), STATUS_OK);
    assert_int_equal(error.kind, ERROR_NO_PORT);
    assert_int_equal(error.error, ECONNREFUSED);
    assert_true(addr_equal(&error.from, &host));
    assert_true(addr_equal(&error.to, &nobody));
    assert_int_equal(error.length, sizeof word);
    assert_memory_equal(error.quote, word, sizeof word);
    assert_int_equal(error_queue_take(fd, &error), STATUS_AGAIN);
    close(fd);
}

static void an_error_says_who_where_and_what(void **state)
{
    (void)state;
    check_port_unreachable(FAMILY_IPV4);
    check_port_unreachable(FAMILY_IPV6);
}

static void a_long_quote_is_cut_and_no_fault(void **state)
{
    uint8_t bytes[1000];
    struct addr nobody;
    int fd = open_to_nobody(FAMILY_IPV4, &nobody);
    struct queued_error error;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
    wait_for_error(fd);
    assert_int_equal(error_queue_take(fd, &error), STATUS_OK);
    assert_int_equal(error.length, sizeof error.quote);
    assert_memory_equal(error.quote, bytes, sizeof error.quote);
    close(fd);
}

/* What the head of path_mtu_io.c's transmit relies on. */
static void an_emptied_queue_leaves_the_socket_in_peace(void **state)
{
    struct addr nobody;
    int fd = open_to_nobody(FAMILY_IPV4, &nobody);
    struct queued_error error;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send(fd, "x", 1, 0), 1);
        wait_for_error(fd);
        assert_int_equal(error_queue_take(fd, &error), STATUS_OK);
    }
    assert_int_equal(send(fd, "x", 1, 0), 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(icmp_means_what_its_rfc_says),
        cmocka_unit_test(an_error_says_who_where_and_what),
        cmocka_unit_test(a_long_quote_is_cut_and_no_fault),
        cmocka_unit_test(an_emptied_queue_leaves_the_socket_in_peace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
