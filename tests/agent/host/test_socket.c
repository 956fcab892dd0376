/* Sockets must say what the kernel really granted, dropped and stamped: on real loopback sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/machine.h"
#include "agent/host/socket.h"
#include "agent/host/socket_system.h"

enum { OVERFLOW_COUNT = 200, OVERFLOW_PAYLOAD = 1000 };

/* A socket on the family's loopback; skips the test where there is none. */
static int open_loopback(enum family family, struct addr *out_bound)
{
    struct addr any = addr_loopback(family, 0);
    struct fault fault;
    int fd = -1;

    if (socket_open(&any, &fd, out_bound, &fault) != STATUS_OK) {
        assert_int_equal(family, FAMILY_IPV6);
        skip();
    }
    return fd;
}

static int open_sender(const struct addr *to)
{
    struct addr bound;
    struct fault fault;
    int fd = open_loopback(addr_family(to), &bound);

    assert_int_equal(socket_connect(fd, to, &fault), STATUS_OK);
    return fd;
}

static void check_birth(enum family family)
{
    struct addr bound;
    int fd = open_loopback(family, &bound);

    assert_int_equal(addr_family(&bound), family);
    assert_int_not_equal(addr_port(&bound), 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    if (family == FAMILY_IPV6) {
        int only = 0;

        assert_int_equal(socket_option_get(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only), 0);
        assert_int_not_equal(only, 0);
    }
    close(fd);
}

static void a_socket_is_bound_nonblocking_and_close_on_exec(void **state)
{
    (void)state;
    check_birth(FAMILY_IPV4);
    check_birth(FAMILY_IPV6);
}

static void a_taken_port_is_refused_by_name_and_leaves_outputs(void **state)
{
    struct addr bound, other;
    struct fault fault;
    int fd = open_loopback(FAMILY_IPV4, &bound), second = -7;
    char text[ADDR_TEXT_SIZE];

    (void)state;
    memset(&other, 0x5a, sizeof other);
    assert_int_not_equal(socket_open(&bound, &second, &other, &fault), STATUS_OK);
    addr_format(&bound, text);
    assert_non_null(strstr(fault.text, text));
    assert_int_equal(second, -7);
    assert_int_equal(((unsigned char *)&other)[0], 0x5a);
    close(fd);
}

static void connecting_to_the_other_family_fails_with_its_address(void **state)
{
    struct addr bound, wrong = addr_loopback(FAMILY_IPV6, 9);
    struct fault fault;
    int fd = open_loopback(FAMILY_IPV4, &bound);

    (void)state;
    assert_int_not_equal(socket_connect(fd, &wrong, &fault), STATUS_OK);
    assert_non_null(strstr(fault.text, "[::1]:9"));
    close(fd);
}

static struct grant ask(int fd, enum socket_buffer which, int64_t asked)
{
    struct grant grant;
    struct fault fault;
    int64_t again = 0;

    assert_int_equal(socket_ask_buffer(fd, which, asked, &grant, &fault), STATUS_OK);
    assert_int_equal(socket_buffer_granted(fd, which, &again), STATUS_OK);
    assert_int_equal(grant.granted, again);
    assert_int_equal(grant.asked, asked);
    return grant;
}

static void a_grant_is_what_was_asked_times_the_factor(void **state)
{
    struct addr bound;
    int fd = open_loopback(FAMILY_IPV4, &bound);
    int64_t factor = socket_buffer_factor(), before = 0;
    struct grant grant;

    (void)state;
    assert_int_equal(socket_buffer_granted(fd, SOCKET_RCVBUF, &before), STATUS_OK);
    for (int which = SOCKET_RCVBUF; which <= SOCKET_SNDBUF; which++) {
        grant = ask(fd, (enum socket_buffer)which, 8192);
        assert_int_equal(grant.granted, 8192 * factor);
        assert_string_equal(grant.limit, "");
    }
    grant = ask(fd, SOCKET_RCVBUF, 4096);
    assert_int_equal(grant.granted, 4096 * factor);
    assert_string_equal(grant.limit, "");
    /* The default comes as it is, not doubled; asked for, it is. */
    grant = ask(fd, SOCKET_RCVBUF, before / factor);
    assert_int_equal(grant.granted, before / factor * factor);
    assert_string_equal(grant.limit, "");
    close(fd);
}

static void a_small_ask_raised_to_the_minimum_names_no_limit(void **state)
{
    struct addr bound;
    int fd = open_loopback(FAMILY_IPV4, &bound);
    struct grant grant = ask(fd, SOCKET_RCVBUF, 1);

    (void)state;
    assert_true(grant.granted >= 1);
    assert_string_equal(grant.limit, "");
    close(fd);
}

static int64_t limit_value(const char *name)
{
    struct list limits = { NULL, 0 };
    const struct map_item *item;
    int64_t value;

    machine_limits(&limits);
    item = map_find(&limits, name);
    assert_non_null(item);
    value = item->number;
    free(limits.items);
    return value;
}

static void an_ask_above_the_limit_names_it_and_gets_it(void **state)
{
    const int64_t asks[] = { INT_MAX / 2, 1342177280, INT_MAX };
    const char *names[] = { machine_rcvbuf_limit(), machine_sndbuf_limit() };
    struct addr bound;
    int fd = open_loopback(FAMILY_IPV4, &bound);

    (void)state;
    for (int which = SOCKET_RCVBUF; which <= SOCKET_SNDBUF; which++) {
        int64_t limit = limit_value(names[which]);

        for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
            struct grant grant = ask(fd, (enum socket_buffer)which, asks[i]);

            if (limit != NONE_INT && limit >= INT_MAX / 2)
                continue;
            assert_string_equal(grant.limit, names[which]);
            if (limit != NONE_INT)
                assert_int_equal(grant.granted, limit * socket_buffer_factor());
        }
    }
    close(fd);
}

static void an_ask_that_no_kernel_takes_is_refused(void **state)
{
    struct addr bound;
    int fd = open_loopback(FAMILY_IPV4, &bound);
    struct grant grant = { .asked = -5 };
    struct fault fault;

    (void)state;
    assert_int_equal(socket_ask_buffer(fd, SOCKET_RCVBUF, -1, &grant, &fault), STATUS_RANGE);
    assert_non_null(strstr(fault.text, "-1"));
    assert_int_equal(socket_ask_buffer(fd, SOCKET_SNDBUF, (int64_t)INT_MAX + 1, &grant, &fault),
                     STATUS_RANGE);
    assert_non_null(strstr(fault.text, "SO_SNDBUF"));
    assert_int_equal(grant.asked, -5);
    close(fd);
}

static int64_t drain(int fd)
{
    char bytes[OVERFLOW_PAYLOAD];
    int64_t count = 0;

    while (recv(fd, bytes, sizeof bytes, 0) == OVERFLOW_PAYLOAD)
        count++;
    assert_int_equal(errno, EAGAIN);
    return count;
}

static void check_overflow(enum family family)
{
    struct addr bound;
    int fd = open_loopback(family, &bound), sender = open_sender(&bound);
    char bytes[OVERFLOW_PAYLOAD] = { 1 };
    uint32_t drops = 77;
    int64_t empty = -1, full = -1, held;

    ask(fd, SOCKET_RCVBUF, 65536);
    assert_int_equal(socket_queued_bytes(fd, &empty), STATUS_OK);
    assert_int_equal(empty, 0);
    for (int i = 0; i < OVERFLOW_COUNT; i++)
        assert_int_equal(send(sender, bytes, sizeof bytes, 0), OVERFLOW_PAYLOAD);
    assert_int_equal(socket_queued_bytes(fd, &full), STATUS_OK);
    held = drain(fd);
    assert_in_range(held, 1, OVERFLOW_COUNT - 1);
    assert_true(full >= held * OVERFLOW_PAYLOAD);
    if (socket_drops(fd, &drops) == STATUS_OK)
        assert_int_equal(drops, OVERFLOW_COUNT - held);
    else
        assert_int_equal(drops, 77);
    close(fd);
    close(sender);
}

static void drops_and_queued_bytes_are_exact_after_an_overflow(void **state)
{
    (void)state;
    check_overflow(FAMILY_IPV4);
    check_overflow(FAMILY_IPV6);
}

static void what_is_no_socket_says_so(void **state)
{
    uint32_t drops = 77;
    int64_t bytes = 77;

    (void)state;
    assert_int_not_equal(socket_drops(-1, &drops), STATUS_OK);
    assert_int_not_equal(socket_queued_bytes(-1, &bytes), STATUS_OK);
    assert_int_not_equal(socket_buffer_granted(-1, SOCKET_RCVBUF, &bytes), STATUS_OK);
    assert_int_equal(drops, 77);
    assert_int_equal(bytes, 77);
}

static void check_dont_fragment(enum family family)
{
    struct addr bound;
    int fd = open_loopback(family, &bound);
    struct fault fault;
    bool on = true;

    assert_int_equal(socket_get_dont_fragment(fd, family, &on), STATUS_OK);
    assert_false(on);
    assert_int_equal(socket_set_dont_fragment(fd, family, &fault), STATUS_OK);
    assert_int_equal(socket_get_dont_fragment(fd, family, &on), STATUS_OK);
    assert_true(on);
    close(fd);
}

static void dont_fragment_is_off_until_set_and_reads_back(void **state)
{
    struct fault fault;

    (void)state;
    check_dont_fragment(FAMILY_IPV4);
    check_dont_fragment(FAMILY_IPV6);
    assert_int_not_equal(socket_set_dont_fragment(-1, FAMILY_IPV4, &fault), STATUS_OK);
    assert_non_null(strstr(fault.text, "ipv4"));
}

/* Sends one datagram to fd and receives it with `room` bytes for control messages. */
static enum status stamp_of_one(int fd, int sender, size_t room, struct wall *out_time)
{
    union {
        char bytes[256];
        struct cmsghdr align;
    } control;
    char payload[8];
    struct iovec part = { payload, sizeof payload };
    struct msghdr message;

    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = (__typeof__(message.msg_controllen))room;
    assert_int_equal(send(sender, "x", 1, 0), 1);
    assert_int_equal(recvmsg(fd, &message, 0), 1);
    return socket_receive_time(&message, out_time);
}

static void a_received_datagram_carries_its_arrival_time(void **state)
{
    struct addr bound;
    int fd = open_loopback(FAMILY_IPV4, &bound), sender = open_sender(&bound);
    struct wall stamp = { -1 };
    struct fault fault;
    int64_t age;

    (void)state;
    assert_int_equal(stamp_of_one(fd, sender, 256, &stamp), STATUS_NOT_FOUND);
    assert_int_equal(socket_enable_receive_time(fd, &fault), STATUS_OK);
    assert_int_equal(stamp_of_one(fd, sender, 8, &stamp), STATUS_INVALID);
    assert_int_equal(stamp.ns, -1);
    assert_int_equal(stamp_of_one(fd, sender, 256, &stamp), STATUS_OK);
    age = wall_now().ns - stamp.ns;
    assert_true(age > -NS_PER_S && age < NS_PER_S);
    close(fd);
    close(sender);
}

/* Two control messages as a kernel might hand them over. */
static void put_control(struct msghdr *message, int type, size_t length)
{
    struct cmsghdr *first = CMSG_FIRSTHDR(message), *second;

    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = 0x7001;
    first->cmsg_len = CMSG_LEN(4);
    second = CMSG_NXTHDR(message, first);
    assert_non_null(second);
    second->cmsg_level = SOL_SOCKET;
    second->cmsg_type = type;
    second->cmsg_len = (__typeof__(second->cmsg_len))CMSG_LEN(length);
    memset(CMSG_DATA(second), 0x11, length);
}

static void a_control_message_counts_only_with_its_exact_length(void **state)
{
    union {
        char bytes[128];
        struct cmsghdr align;
    } control;
    struct msghdr message;
    uint32_t value = 5;

    (void)state;
    memset(&message, 0, sizeof message);
    memset(&control, 0, sizeof control);
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(4) + CMSG_SPACE(8);
    put_control(&message, 0x7002, 4);
    assert_int_equal(socket_control(&message, SOL_SOCKET, 0x7003, &value, 4), STATUS_NOT_FOUND);
    assert_int_equal(socket_control(&message, IPPROTO_IP, 0x7002, &value, 4), STATUS_NOT_FOUND);
    assert_int_equal(socket_control(&message, SOL_SOCKET, 0x7002, &value, 3), STATUS_INVALID);
    assert_int_equal(value, 5);
    assert_int_equal(socket_control(&message, SOL_SOCKET, 0x7002, &value, 4), STATUS_OK);
    assert_int_equal(value, 0x11111111);
    put_control(&message, 0x7002, 8);
    assert_int_equal(socket_control(&message, SOL_SOCKET, 0x7002, &value, 4), STATUS_INVALID);
    message.msg_flags = MSG_CTRUNC;
    assert_int_equal(socket_control(&message, SOL_SOCKET, 0x7001, &value, 4), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_bound_nonblocking_and_close_on_exec),
        cmocka_unit_test(a_taken_port_is_refused_by_name_and_leaves_outputs),
        cmocka_unit_test(connecting_to_the_other_family_fails_with_its_address),
        cmocka_unit_test(a_grant_is_what_was_asked_times_the_factor),
        cmocka_unit_test(a_small_ask_raised_to_the_minimum_names_no_limit),
        cmocka_unit_test(an_ask_above_the_limit_names_it_and_gets_it),
        cmocka_unit_test(an_ask_that_no_kernel_takes_is_refused),
        cmocka_unit_test(drops_and_queued_bytes_are_exact_after_an_overflow),
        cmocka_unit_test(what_is_no_socket_says_so),
        cmocka_unit_test(dont_fragment_is_off_until_set_and_reads_back),
        cmocka_unit_test(a_received_datagram_carries_its_arrival_time),
        cmocka_unit_test(a_control_message_counts_only_with_its_exact_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
