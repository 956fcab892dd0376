/* A pair must lose nothing that its own counts do not show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/host/socket.h"
#include "agent/probe/pair.h"

static struct pair open_pair(enum family family, size_t payload, int64_t rcvbuf)
{
    struct fault fault = { "" };
    struct pair pair;

    if (pair_open(family, payload, rcvbuf, &pair, &fault) != STATUS_OK) {
        if (family == FAMILY_IPV4)
            fail_msg("%s", fault.text);
        skip(); /* a machine without IPv6 */
    }
    return pair;
}

static void check_all_arrive(enum family family, size_t payload)
{
    struct pair pair = open_pair(family, payload, 0);
    struct refused refused;

    assert_int_equal(pair_send(&pair, 3, &refused), 3);
    assert_int_equal(refused_total(&refused), 0);
    assert_true(pair_wait(&pair));
    assert_int_equal(pair_read_all(&pair), 3);
    assert_int_equal(pair_read_present(&pair), 0);
    pair_done(&pair);
}

static void what_is_sent_can_be_read(void **state)
{
    static const size_t payloads[] = { 0, 1, 44, 1472, 16384 };

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++)
        check_all_arrive(FAMILY_IPV4, payloads[i]);
    check_all_arrive(FAMILY_IPV6, 1452);
}

static void a_plain_socket_keeps_its_default(void **state)
{
    struct pair plain = open_pair(FAMILY_IPV4, 100, 0);
    struct pair sized = open_pair(FAMILY_IPV4, 100, 8192);
    int64_t granted = 0;

    (void)state;
    assert_int_equal(plain.rcvbuf.asked, 0);
    assert_string_equal(plain.rcvbuf.limit, "");
    assert_int_equal(socket_buffer_granted(plain.receiver, SOCKET_RCVBUF, &granted), STATUS_OK);
    assert_int_equal(plain.rcvbuf.granted, granted);
    assert_int_equal(sized.rcvbuf.asked, 8192);
    assert_int_equal(sized.rcvbuf.granted, 8192 * socket_buffer_factor());
    pair_done(&plain);
    pair_done(&sized);
}

static void what_the_kernel_does_not_take_has_a_cause(void **state)
{
    struct pair pair = open_pair(FAMILY_IPV4, 65508, 0);
    struct refused refused;

    (void)state;
    assert_int_equal(pair_send(&pair, 70, &refused), 0);
    assert_int_equal(refused.emsgsize, 70);
    assert_int_equal(refused_total(&refused), 70);
    pair_done(&pair);
}

/* More than fits: what is not held is in the socket's drops, and the queue is what is held. */
static void a_full_buffer_settles_to_the_datagram(void **state)
{
    struct pair pair = open_pair(FAMILY_IPV4, 1000, 20000);
    struct pair_queue queue = { 0 };
    struct refused refused;
    uint32_t before = 0, after = 0;
    int64_t charge = 0;

    (void)state;
    if (socket_drops(pair.receiver, &before) == STATUS_UNSUPPORTED) {
        pair_done(&pair);
        skip();
    }
    assert_int_equal(pair_send(&pair, 1, &refused), 1);
    assert_true(pair_wait(&pair));
    assert_int_equal(socket_queued_bytes(pair.receiver, &charge), STATUS_OK);
    assert_int_equal(pair_read_present(&pair), 1);
    assert_int_equal(pair_send(&pair, 200, &refused), 200);
    assert_int_equal(pair_settle(&pair, 200, before, charge, &queue), STATUS_OK);
    assert_int_equal(socket_drops(pair.receiver, &after), STATUS_OK);
    assert_true(after > before);
    assert_int_equal(queue.held, 200 - (int64_t)(after - before));
    assert_int_equal(queue.queued_bytes, queue.held * charge);
    assert_int_equal(pair_read_present(&pair), queue.held);
    pair_done(&pair);
}

static void nothing_is_waited_for_in_vain_for_long(void **state)
{
    struct pair pair = open_pair(FAMILY_IPV4, 100, 0);

    (void)state;
    assert_false(pair_wait(&pair));
    assert_int_equal(pair_read_all(&pair), 0);
    pair_done(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent_can_be_read),
        cmocka_unit_test(a_plain_socket_keeps_its_default),
        cmocka_unit_test(what_the_kernel_does_not_take_has_a_cause),
        cmocka_unit_test(a_full_buffer_settles_to_the_datagram),
        cmocka_unit_test(nothing_is_waited_for_in_vain_for_long),
    };

    return cmocka_run_group_tests_name("pair", tests, NULL, NULL);
}
