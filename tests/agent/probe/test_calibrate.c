/* What calibration says of a buffer must be what a burst into such a buffer shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/host/datagram.h"
#include "agent/host/socket.h"
#include "agent/probe/calibrate.h"

static int open_at(enum family family, struct addr *out_bound, int64_t rcvbuf, int64_t *out_granted)
{
    struct addr any = addr_loopback(family, 0);
    struct grant grant;
    int fd = -1;

    if (socket_open(&any, &fd, out_bound, NULL) != STATUS_OK) {
        assert_int_equal(family, FAMILY_IPV6);
        skip();
    }
    assert_int_equal(socket_ask_buffer(fd, SOCKET_RCVBUF, rcvbuf, &grant, NULL), STATUS_OK);
    assert_int_equal(socket_ask_buffer(fd, SOCKET_SNDBUF, 256 << 10, &(struct grant){ 0 }, NULL),
                     STATUS_OK);
    *out_granted = grant.granted;
    return fd;
}

/* Sends `count` datagrams to a socket that does not read, then counts what it has. */
static int64_t burst(enum family family, size_t payload, int64_t rcvbuf, int64_t count,
                     int64_t *out_granted)
{
    struct addr to, from;
    int64_t unused, held = 0;
    int receiver = open_at(family, &to, rcvbuf, out_granted);
    int sender = open_at(family, &from, rcvbuf, &unused);
    uint8_t *bytes = calloc(1, payload);
    struct datagram datagram = { .part = { { bytes, payload } }, .parts = 1 };
    int error;

    assert_non_null(bytes);
    assert_int_equal(socket_connect(sender, &to, NULL), STATUS_OK);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(datagram_send_single(sender, &datagram, 1, &error), 1);
    while (datagram_receive_single(receiver, &datagram, 1, &error) == 1)
        held++;
    free(bytes);
    close(receiver);
    close(sender);
    return held;
}

static void check_buffer(enum family family, size_t payload, int64_t rcvbuf)
{
    struct calibration calibration;
    struct capacity capacity;
    struct fault fault = { "" };
    int64_t granted, count, held;

    if (calibrate_capacity(family, payload, rcvbuf, &calibration, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    capacity = calibration.capacity;
    assert_true(calibration.dropped > 0);
    assert_true(capacity.charge >= (double)payload);
    burst(family, payload, rcvbuf, 0, &granted);
    count = capacity_of(&capacity, granted) + 7;
    held = burst(family, payload, rcvbuf, count, &granted);
    if (held != capacity_of(&capacity, granted))
        fail_msg("payload %zu, granted %lld: held %lld, predicted %lld", payload,
                 (long long)granted, (long long)held, (long long)capacity_of(&capacity, granted));
    assert_int_equal(capacity_predict_lost(&capacity, granted, count), count - held);
}

static void predicts_what_a_burst_leaves(void **state)
{
    static const size_t payloads[] = { 44, 133, 134, 1472, 1669, 1670, 8192, 16384, 65507 };

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        check_buffer(FAMILY_IPV4, payloads[i], 65536);
        check_buffer(FAMILY_IPV4, payloads[i], 212992);
    }
}

static void predicts_for_ipv6_too(void **state)
{
    (void)state;
    check_buffer(FAMILY_IPV6, 1452, 212992);
    check_buffer(FAMILY_IPV6, 65527, 212992);
}

static void predicts_for_a_buffer_smaller_than_one_datagram(void **state)
{
    (void)state;
    check_buffer(FAMILY_IPV4, 65507, 1);
    check_buffer(FAMILY_IPV4, 8192, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicts_what_a_burst_leaves),
        cmocka_unit_test(predicts_for_ipv6_too),
        cmocka_unit_test(predicts_for_a_buffer_smaller_than_one_datagram),
    };

    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
