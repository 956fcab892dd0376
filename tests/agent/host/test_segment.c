/* What is sent as segments arrives as datagrams, and as one where the receiver asked for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "agent/host/datagram.h"
#include "agent/host/segment.h"
#include "agent/host/socket.h"

enum { SEGMENT = 100, COUNT = 5 };

struct two {
    int receiver, sender;
};

static struct two open_two(void)
{
    struct addr any = addr_loopback(FAMILY_IPV4, 0), to, from;
    struct two two;

    assert_int_equal(socket_open(&any, &two.receiver, &to, NULL), STATUS_OK);
    assert_int_equal(socket_open(&any, &two.sender, &from, NULL), STATUS_OK);
    assert_int_equal(socket_connect(two.sender, &to, NULL), STATUS_OK);
    return two;
}

static void close_two(struct two two)
{
    close(two.receiver);
    close(two.sender);
}

/* Sends COUNT segments at once; how many messages of which length came. */
static size_t pass(struct two two, size_t *out_length)
{
    static uint8_t bytes[SEGMENT * COUNT];
    struct datagram datagram = { .part = { { bytes, sizeof bytes } }, .parts = 1 };
    size_t messages = 0;
    int error = 0;

    assert_int_equal(datagram_send_single(two.sender, &datagram, 1, &error), 1);
    while (datagram_receive_single(two.receiver, &datagram, 1, &error) == 1) {
        messages++;
        *out_length = datagram.length;
    }
    return messages;
}

static void set_segments(struct two two, int64_t bytes)
{
    enum status status = segment_sends(two.sender, bytes, NULL);

    if (status == STATUS_UNSUPPORTED)
        skip();
    assert_int_equal(status, STATUS_OK);
}

static void segments_arrive_as_datagrams(void **state)
{
    struct two two = open_two();
    size_t length = 0;

    (void)state;
    set_segments(two, SEGMENT);
    assert_int_equal(pass(two, &length), COUNT);
    assert_int_equal(length, SEGMENT);
    set_segments(two, 0);
    assert_int_equal(pass(two, &length), 1);
    assert_int_equal(length, SEGMENT * COUNT);
    close_two(two);
}

static void one_that_asks_gets_them_in_one(void **state)
{
    struct two two = open_two();
    size_t length = 0;

    (void)state;
    set_segments(two, SEGMENT);
    assert_int_equal(segment_receives(two.receiver, NULL), STATUS_OK);
    assert_int_equal(pass(two, &length), 1);
    assert_int_equal(length, SEGMENT * COUNT);
    close_two(two);
}

static void refuses_a_bad_socket(void **state)
{
    struct fault fault = { "" };

    (void)state;
    assert_int_not_equal(segment_sends(-1, SEGMENT, &fault), STATUS_OK);
    assert_true(fault.text[0] != '\0');
    assert_int_not_equal(segment_receives(-1, &fault), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_arrive_as_datagrams),
        cmocka_unit_test(one_that_asks_gets_them_in_one),
        cmocka_unit_test(refuses_a_bad_socket),
    };

    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
