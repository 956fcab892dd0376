/* Whatever a kernel says to a send, each datagram must end as sent or as refused by its cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/probe/transmit.h"
#include "proto/base/clock.h"
#include "tests/agent/probe/chance.h"

enum { PATIENCE = 20, EARLIER_ERRORS = 16 };

/* A kernel by hand. The engine's functions have no context of their own. */
static struct kernel {
    size_t calls;
    size_t taken;                                /* datagrams, in their order */
    size_t (*say)(size_t count, int *out_error); /* the answer to one call */
    struct chance chance;
} kernel;

static size_t fake_send(int fd, struct datagram *datagrams, size_t count, int *out_error)
{
    size_t taken;

    (void)fd;
    assert_true(count > 0);
    kernel.calls++;
    *out_error = 0;
    taken = kernel.say(count, out_error);
    assert_true(taken <= count);
    for (size_t i = 0; i < taken; i++, kernel.taken++)
        assert_int_equal(datagrams[i].parts, 1);
    return taken;
}

static const struct engine engine = { .send = fake_send };

struct outcome {
    struct leg leg;
    uint64_t refused;
    int64_t waited_ns;
};

/* Sends `count` datagrams over a descriptor that is always ready, as a kernel's would say it is. */
static struct outcome send_all(size_t count, size_t (*say)(size_t count, int *out_error))
{
    struct datagram datagrams[DATAGRAM_BATCH_MAX];
    struct outcome outcome = { .refused = 0 };
    struct transmit_way way = { .engine = &engine,
                                .leg = &outcome.leg,
                                .waited_ns = &outcome.waited_ns };
    int64_t bits = 0;
    int pipes[2];

    for (size_t i = 0; i < count; i++)
        datagrams[i] = (struct datagram){ .parts = 1 };
    assert_int_equal(pipe(pipes), 0);
    kernel.calls = 0;
    kernel.taken = 0;
    kernel.say = say;
    way.fd = pipes[1];
    outcome.refused = transmit(&way, datagrams, count);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(outcome.leg.attempted, count);
    assert_int_equal(outcome.leg.sent + refused_total(&outcome.leg.refused), count);
    for (uint64_t rest = outcome.refused; rest != 0; rest &= rest - 1)
        bits++;
    /* One that an ECONNREFUSED took back was on its way: it has no bit. */
    assert_int_equal(count - kernel.taken, bits);
    return outcome;
}

static size_t say_all(size_t count, int *out_error)
{
    (void)out_error;
    return count;
}

static void sends_all_in_one_call(void **state)
{
    (void)state;
    for (size_t count = 0; count <= DATAGRAM_BATCH_MAX; count++) {
        struct outcome outcome = send_all(count, say_all);

        assert_int_equal(outcome.leg.sent, count);
        assert_int_equal(kernel.calls, count > 0);
        assert_int_equal(outcome.waited_ns, 0);
    }
}

/* sendmmsg took some and keeps the reason to itself; a loop of sendmsg says it. */
static size_t say_part(size_t count, int *out_error)
{
    size_t taken = kernel.calls % 2 == 0 ? 0 : count < 3 ? count : 3;

    if (taken < count && kernel.calls % 4 != 1)
        *out_error = kernel.calls % 3 == 0 ? EINTR : 0;
    return taken;
}

static void goes_on_behind_part(void **state)
{
    (void)state;
    assert_int_equal(send_all(64, say_part).leg.sent, 64);
}

static size_t say_later(size_t count, int *out_error)
{
    if (kernel.calls > 10)
        return count;
    *out_error = EAGAIN;
    return kernel.calls == 3 ? 1 : 0;
}

static void waits_for_room(void **state)
{
    struct outcome outcome;

    (void)state;
    outcome = send_all(64, say_later);
    assert_int_equal(outcome.leg.sent, 64);
    assert_int_equal(outcome.refused, 0);
}

static size_t say_no_buffers_every_7th(size_t count, int *out_error)
{
    (void)count;
    if (kernel.calls % 7 != 0)
        return 1;
    *out_error = ENOBUFS;
    return 0;
}

static void tries_again_without_buffers(void **state)
{
    (void)state;
    assert_int_equal(send_all(64, say_no_buffers_every_7th).leg.sent, 64);
}

static int stubborn;

static size_t say_stubborn(size_t count, int *out_error)
{
    (void)count;
    *out_error = stubborn;
    return 0;
}

/* Patience is per batch: one try each, and so many more for all. A wait is two milliseconds at
 * most, so the number of calls bounds the time. */
static void gives_up_in_time(void **state)
{
    struct outcome outcome;

    (void)state;
    stubborn = ENOBUFS;
    outcome = send_all(64, say_stubborn);
    assert_int_equal(outcome.leg.refused.enobufs, 64);
    assert_true(outcome.refused == UINT64_MAX);
    assert_int_equal(kernel.calls, 64 + PATIENCE);
    assert_int_equal(outcome.waited_ns, PATIENCE * 2 * NS_PER_MS);
    stubborn = EAGAIN;
    outcome = send_all(5, say_stubborn);
    assert_int_equal(outcome.leg.refused.eagain, 5);
    assert_true(outcome.refused == 0x1f);
    assert_int_equal(kernel.calls, 5 + PATIENCE);
}

/* A closed port far away: each datagram is taken, and the next call tells that nobody was there. */
static size_t say_refused_every_2nd(size_t count, int *out_error)
{
    (void)count;
    if (kernel.calls % 2 == 1)
        return 1;
    *out_error = ECONNREFUSED;
    return 0;
}

static void blames_earlier_datagrams(void **state)
{
    struct outcome outcome;

    (void)state;
    outcome = send_all(64, say_refused_every_2nd);
    assert_int_equal(outcome.leg.sent, 1); /* of the last nobody has said anything yet */
    assert_int_equal(outcome.leg.refused.econnrefused, 63);
    assert_int_equal(outcome.refused, 0);
    assert_int_equal(kernel.taken, 64);
}

static size_t say_refused_first(size_t count, int *out_error)
{
    if (kernel.calls > 1)
        return count;
    *out_error = ECONNREFUSED;
    return 0;
}

static void ignores_an_error_of_another_phase(void **state)
{
    struct outcome outcome;

    (void)state;
    outcome = send_all(8, say_refused_first);
    assert_int_equal(outcome.leg.sent, 8);
    assert_int_equal(refused_total(&outcome.leg.refused), 0);
}

static void ends_when_refused_for_ever(void **state)
{
    struct outcome outcome;

    (void)state;
    stubborn = ECONNREFUSED;
    outcome = send_all(64, say_stubborn);
    assert_int_equal(outcome.leg.refused.econnrefused, 64);
    assert_int_equal(kernel.calls, 64 + EARLIER_ERRORS);
}

/* The second is too large, the fourth is filtered, the sixth meets a broken device. */
static size_t say_some_are_bad(size_t count, int *out_error)
{
    static const int errors[] = { 0, EMSGSIZE, 0, EPERM, 0, EIO, 0, EACCES };

    (void)count;
    *out_error = errors[kernel.calls - 1];
    return *out_error == 0;
}

static void counts_what_is_hopeless_at_once(void **state)
{
    struct outcome outcome;

    (void)state;
    outcome = send_all(8, say_some_are_bad);
    assert_int_equal(outcome.leg.sent, 4);
    assert_int_equal(outcome.leg.refused.emsgsize, 1);
    assert_int_equal(outcome.leg.refused.eperm, 2);
    assert_int_equal(outcome.leg.refused.other, 1);
    assert_true(outcome.refused == 0xaa);
    assert_int_equal(kernel.calls, 8);
}

static size_t say_anything(size_t count, int *out_error)
{
    static const int errors[] = { 0,     0,        0,     EINTR,        EAGAIN, ENOBUFS,
                                  EPERM, EMSGSIZE, EBADF, ECONNREFUSED, EACCES, ENETUNREACH };
    size_t taken = (size_t)chance_below(&kernel.chance, count + 1);

    if (taken < count)
        *out_error = errors[chance_below(&kernel.chance, sizeof errors / sizeof errors[0])];
    return taken;
}

static void adds_up_whatever_is_said(void **state)
{
    (void)state;
    kernel.chance = chance_start("transmit");
    for (int i = 0; i < 300; i++)
        send_all((size_t)chance_below(&kernel.chance, 65), say_anything);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_all_in_one_call),
        cmocka_unit_test(goes_on_behind_part),
        cmocka_unit_test(waits_for_room),
        cmocka_unit_test(tries_again_without_buffers),
        cmocka_unit_test(gives_up_in_time),
        cmocka_unit_test(blames_earlier_datagrams),
        cmocka_unit_test(ignores_an_error_of_another_phase),
        cmocka_unit_test(ends_when_refused_for_ever),
        cmocka_unit_test(counts_what_is_hopeless_at_once),
        cmocka_unit_test(adds_up_whatever_is_said),
    };

    return cmocka_run_group_tests_name("transmit", tests, NULL, NULL);
}
