/* Waiting must end when something is there, not before its time otherwise, and never spin; with few
 * descriptors and with many, which a system may treat in different ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/poller.h"
#include "agent/host/socket.h"

enum { FEW = 5, SOCKETS = 40 };

static int few = FEW, many = SOCKETS;

struct fixture {
    struct poller *poller;
    int count, fd[SOCKETS], sender;
    struct addr bound[SOCKETS];
};

static void setup(struct fixture *f, void **state)
{
    struct addr any = addr_loopback(FAMILY_IPV4, 0), ignored;
    struct fault fault;

    f->count = *(int *)*state;
    assert_int_equal(poller_new(&f->poller, &fault), STATUS_OK);
    assert_int_equal(socket_open(&any, &f->sender, &ignored, &fault), STATUS_OK);
    for (int i = 0; i < f->count; i++) {
        assert_int_equal(socket_open(&any, &f->fd[i], &f->bound[i], &fault), STATUS_OK);
        assert_int_equal(poller_add(f->poller, f->fd[i], UINT64_MAX - (uint64_t)i, &fault),
                         STATUS_OK);
    }
}

static void teardown(struct fixture *f)
{
    poller_free(f->poller);
    close(f->sender);
    for (int i = 0; i < f->count; i++)
        close(f->fd[i]);
}

static void poke(struct fixture *f, int i)
{
    assert_int_equal(sendto(f->sender, "x", 1, 0, &f->bound[i].socket.any, f->bound[i].length), 1);
}

static void nothing_there_is_0_at_once(void **state)
{
    struct fixture f;
    uint64_t tokens[SOCKETS];
    struct mono start;

    setup(&f, state);
    start = mono_now();
    for (int i = 0; i < 100; i++)
        assert_int_equal(poller_wait(f.poller, 0, tokens, SOCKETS), 0);
    assert_true(mono_between(start, mono_now()) < NS_PER_S);
    teardown(&f);
}

static void a_wait_lasts_at_least_its_time(void **state)
{
    const int64_t times[] = { 1, 300 * NS_PER_US, 1200 * NS_PER_US, 20 * NS_PER_MS };
    struct fixture f;
    uint64_t token;

    setup(&f, state);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct mono start = mono_now();

        assert_int_equal(poller_wait(f.poller, times[i], &token, 1), 0);
        assert_true(mono_between(start, mono_now()) >= times[i]);
    }
    teardown(&f);
}

static void tokens_come_back_whole_until_the_datagram_is_read(void **state)
{
    struct fixture f;
    uint64_t tokens[SOCKETS] = { 0 };
    char byte;

    setup(&f, state);
    poke(&f, 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(poller_wait(f.poller, 10 * NS_PER_S, tokens, SOCKETS), 1);
        assert_true(tokens[0] == UINT64_MAX - 3);
    }
    assert_int_equal(recv(f.fd[3], &byte, 1, 0), 1);
    assert_int_equal(poller_wait(f.poller, 0, tokens, SOCKETS), 0);
    teardown(&f);
}

static void no_more_tokens_than_there_is_room_for(void **state)
{
    struct fixture f;
    uint64_t tokens[SOCKETS + 1];

    setup(&f, state);
    for (int i = 0; i < f.count; i++)
        poke(&f, i);
    tokens[2] = 42;
    assert_int_equal(poller_wait(f.poller, NS_PER_S, tokens, 2), 2);
    assert_int_equal(tokens[2], 42);
    assert_int_equal(poller_wait(f.poller, NS_PER_S, tokens, 0), 0);
    assert_int_equal(poller_wait(f.poller, NS_PER_S, tokens, SOCKETS + 1), f.count);
    teardown(&f);
}

static void a_bad_descriptor_is_refused_by_number(void **state)
{
    struct poller *poller;
    struct fault fault;

    (void)state;
    assert_int_equal(poller_new(&poller, &fault), STATUS_OK);
    assert_int_not_equal(poller_add(poller, 12345, 0, &fault), STATUS_OK);
    assert_non_null(strstr(fault.text, "12345"));
    poller_free(poller);
    poller_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(nothing_there_is_0_at_once, &few),
        cmocka_unit_test_prestate(nothing_there_is_0_at_once, &many),
        cmocka_unit_test_prestate(a_wait_lasts_at_least_its_time, &few),
        cmocka_unit_test_prestate(a_wait_lasts_at_least_its_time, &many),
        cmocka_unit_test_prestate(tokens_come_back_whole_until_the_datagram_is_read, &few),
        cmocka_unit_test_prestate(tokens_come_back_whole_until_the_datagram_is_read, &many),
        cmocka_unit_test_prestate(no_more_tokens_than_there_is_room_for, &few),
        cmocka_unit_test_prestate(no_more_tokens_than_there_is_room_for, &many),
        cmocka_unit_test(a_bad_descriptor_is_refused_by_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
