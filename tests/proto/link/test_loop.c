/* A loop calls what is due and what is ready, each once a turn, and sleeps otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "proto/base/memory.h"
#include "proto/link/loop.h"

struct watcher {
    struct loop *loop;
    int fds[2];
    unsigned calls;
    struct watcher *other; /* is taken off by the handler */
    bool leave;            /* does not read */
};

static struct loop *new_loop(void)
{
    struct loop *loop = NULL;
    struct fault fault;

    assert_int_equal(loop_new(&loop, &fault), STATUS_OK);
    return loop;
}

static void on_readable(void *context, struct mono now)
{
    struct watcher *watcher = context;
    char byte;

    (void)now;
    watcher->calls++;
    if (!watcher->leave)
        assert_int_equal(read(watcher->fds[0], &byte, 1), 1);
    if (watcher->other != NULL)
        loop_unwatch_fd(watcher->loop, watcher->other->fds[0]);
}

static struct watcher new_watcher(struct loop *loop)
{
    struct watcher watcher = { .loop = loop };

    assert_int_equal(pipe(watcher.fds), 0);
    return watcher;
}

static void close_watcher(struct watcher *watcher)
{
    loop_unwatch_fd(watcher->loop, watcher->fds[0]);
    close(watcher->fds[0]);
    close(watcher->fds[1]);
}

static void a_descriptor_is_called_for_as_long_as_it_can_be_read(void **state)
{
    struct loop *loop = new_loop();
    struct watcher watcher = new_watcher(loop);

    (void)state;
    loop_watch_fd(loop, watcher.fds[0], on_readable, &watcher);
    loop_turn(loop, 0);
    assert_int_equal(watcher.calls, 0);
    assert_int_equal(write(watcher.fds[1], "abc", 3), 3);
    for (unsigned i = 1; i <= 5; i++) {
        loop_turn(loop, 0);
        assert_int_equal(watcher.calls, i < 3 ? i : 3);
    }
    close_watcher(&watcher);
    loop_free(loop);
}

static void what_a_handler_takes_off_is_not_called_in_the_same_turn(void **state)
{
    struct loop *loop = new_loop();
    struct watcher first = new_watcher(loop), second = new_watcher(loop);

    (void)state;
    first.other = &second;
    second.other = &first;
    loop_watch_fd(loop, first.fds[0], on_readable, &first);
    loop_watch_fd(loop, second.fds[0], on_readable, &second);
    assert_int_equal(write(first.fds[1], "a", 1), 1);
    assert_int_equal(write(second.fds[1], "a", 1), 1);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    assert_int_equal(first.calls + second.calls, 1);
    close_watcher(&first);
    close_watcher(&second);
    loop_free(loop);
}

static void on_readable_replace(void *context, struct mono now)
{
    struct watcher *watcher = context;
    int old = watcher->fds[0];

    (void)now;
    watcher->calls++;
    loop_unwatch_fd(watcher->loop, old);
    close(watcher->fds[1]);
    /* The same number, and nothing to read there. */
    assert_int_equal(pipe(watcher->fds), 0);
    assert_int_equal(dup2(watcher->fds[0], old), old);
    close(watcher->fds[0]);
    watcher->fds[0] = old;
    loop_watch_fd(watcher->loop, old, on_readable_replace, watcher);
}

static void a_number_that_is_used_again_has_no_old_events(void **state)
{
    struct loop *loop = new_loop();
    struct watcher watcher = new_watcher(loop);

    (void)state;
    loop_watch_fd(loop, watcher.fds[0], on_readable_replace, &watcher);
    assert_int_equal(write(watcher.fds[1], "a", 1), 1);
    for (unsigned i = 0; i < 3; i++)
        loop_turn(loop, 0);
    assert_int_equal(watcher.calls, 1);
    assert_int_equal(write(watcher.fds[1], "a", 1), 1);
    loop_turn(loop, 0);
    assert_int_equal(watcher.calls, 2);
    close_watcher(&watcher);
    loop_free(loop);
}

struct clockwork {
    struct loop *loop;
    struct loop_timer timer;
    unsigned calls;
    struct mono called;
    bool again;
};

static void on_time(void *context, struct mono now)
{
    struct clockwork *clockwork = context;

    clockwork->calls++;
    clockwork->called = now;
    assert_int_equal(clockwork->timer.place, 0);
    if (clockwork->again)
        loop_timer_set(clockwork->loop, &clockwork->timer, now);
}

static void init_clockwork(struct clockwork *clockwork, struct loop *loop)
{
    *clockwork = (struct clockwork){ .loop = loop };
    clockwork->timer.handler = on_time;
    clockwork->timer.context = clockwork;
}

static void a_timer_is_called_once_and_never_early(void **state)
{
    struct loop *loop = new_loop();
    struct clockwork clockwork;
    struct mono at;

    (void)state;
    init_clockwork(&clockwork, loop);
    at = mono_after(loop_now(loop), 20 * NS_PER_MS);
    loop_timer_set(loop, &clockwork.timer, at);
    while (clockwork.calls == 0)
        loop_turn(loop, NS_PER_S);
    assert_true(clockwork.called.ns >= at.ns);
    loop_turn(loop, NS_PER_MS);
    assert_int_equal(clockwork.calls, 1);
    loop_free(loop);
}

static void a_loop_that_waits_does_not_spin(void **state)
{
    struct loop *loop = new_loop();
    struct clockwork clockwork;

    (void)state;
    init_clockwork(&clockwork, loop);
    loop_timer_set(loop, &clockwork.timer, mono_after(loop_now(loop), 100 * NS_PER_MS));
    while (clockwork.calls == 0)
        loop_turn(loop, INT64_MAX);
    /* zmq_poll's clock is coarse: it may be a millisecond early. */
    assert_true(loop_turns(loop) <= 4);
    loop_free(loop);
}

static void a_timer_can_be_moved_and_cancelled(void **state)
{
    struct loop *loop = new_loop();
    struct clockwork clockwork;
    struct mono now;

    (void)state;
    init_clockwork(&clockwork, loop);
    loop_timer_cancel(loop, &clockwork.timer);
    now = loop_now(loop);
    loop_timer_set(loop, &clockwork.timer, now);
    loop_timer_set(loop, &clockwork.timer, mono_after(now, NS_PER_S));
    loop_turn(loop, 0);
    assert_int_equal(clockwork.calls, 0);
    loop_timer_set(loop, &clockwork.timer, now);
    loop_turn(loop, 0);
    assert_int_equal(clockwork.calls, 1);
    loop_timer_set(loop, &clockwork.timer, now);
    loop_timer_cancel(loop, &clockwork.timer);
    loop_turn(loop, 0);
    assert_int_equal(clockwork.calls, 1);
    loop_free(loop);
}

static void skipped_time_makes_timers_due(void **state)
{
    struct loop *loop = new_loop();
    struct clockwork clockwork;
    struct wall wall = loop_wall(loop);

    (void)state;
    init_clockwork(&clockwork, loop);
    loop_timer_set(loop, &clockwork.timer, mono_after(loop_now(loop), 3600 * NS_PER_S));
    loop_turn(loop, 0);
    assert_int_equal(clockwork.calls, 0);
    loop_skip(loop, 3601 * NS_PER_S);
    loop_turn(loop, INT64_MAX);
    assert_int_equal(clockwork.calls, 1);
    assert_true(loop_wall(loop).ns - wall.ns >= 3600 * NS_PER_S);
    loop_free(loop);
}

/* However many others there are. */
static void a_timer_that_sets_itself_is_called_once_a_turn(void **state)
{
    struct loop *loop = new_loop();
    struct clockwork always, later[10];

    (void)state;
    init_clockwork(&always, loop);
    always.again = true;
    for (size_t i = 0; i < 10; i++) {
        init_clockwork(&later[i], loop);
        loop_timer_set(loop, &later[i].timer, mono_after(loop_now(loop), 3600 * NS_PER_S));
    }
    loop_timer_set(loop, &always.timer, (struct mono){ INT64_MIN });
    for (unsigned turn = 1; turn <= 3; turn++) {
        loop_turn(loop, 0);
        assert_int_equal(always.calls, turn);
    }
    loop_timer_cancel(loop, &always.timer);
    for (size_t i = 0; i < 10; i++)
        loop_timer_cancel(loop, &later[i].timer);
    loop_free(loop);
}

static void what_is_always_ready_starves_nobody(void **state)
{
    struct loop *loop = new_loop();
    struct watcher busy = new_watcher(loop), other = new_watcher(loop);
    struct clockwork always, once;

    (void)state;
    busy.leave = true;
    init_clockwork(&always, loop);
    init_clockwork(&once, loop);
    always.again = true;
    loop_watch_fd(loop, busy.fds[0], on_readable, &busy);
    loop_watch_fd(loop, other.fds[0], on_readable, &other);
    assert_int_equal(write(busy.fds[1], "a", 1), 1);
    assert_int_equal(write(other.fds[1], "a", 1), 1);
    loop_timer_set(loop, &always.timer, loop_now(loop));
    loop_timer_set(loop, &once.timer, mono_after(loop_now(loop), 2 * NS_PER_MS));
    while (once.calls == 0)
        loop_turn(loop, NS_PER_S);
    assert_int_equal(other.calls, 1);
    assert_true(busy.calls >= 1 && always.calls >= 1);
    assert_true(busy.calls <= loop_turns(loop));
    assert_true(always.calls <= loop_turns(loop));
    loop_timer_cancel(loop, &always.timer);
    close_watcher(&busy);
    close_watcher(&other);
    loop_free(loop);
}

enum { MANY = 2000 };

struct ordered {
    struct loop_timer timer;
    struct mono *last;
    unsigned *calls;
};

static void on_ordered(void *context, struct mono now)
{
    struct ordered *ordered = context;

    (void)now;
    assert_true(ordered->timer.at.ns >= ordered->last->ns);
    *ordered->last = ordered->timer.at;
    ++*ordered->calls;
}

static void many_timers_come_in_their_order(void **state)
{
    struct loop *loop = new_loop();
    struct ordered *timers = memory_new(MANY, sizeof *timers);
    struct mono last = { 0 };
    unsigned calls = 0, expected = 0, seed = (unsigned)getpid();

    (void)state;
    printf("seed %u\n", seed);
    for (unsigned step = 0; step < 5 * MANY; step++) {
        struct ordered *timer = &timers[(unsigned)rand_r(&seed) % MANY];

        timer->timer.handler = on_ordered;
        timer->timer.context = timer;
        timer->last = &last;
        timer->calls = &calls;
        expected -= timer->timer.place != 0;
        if (rand_r(&seed) % 3 == 0) {
            loop_timer_cancel(loop, &timer->timer);
        } else {
            loop_timer_set(loop, &timer->timer, (struct mono){ 1 + rand_r(&seed) % 1000 });
            expected++;
        }
    }
    loop_turn(loop, 0);
    assert_int_equal(calls, expected);
    free(timers);
    loop_free(loop);
}

struct station {
    void *socket;
    unsigned calls, messages;
};

static void on_message(void *context, struct mono now)
{
    struct station *station = context;
    char bytes[8];

    (void)now;
    station->calls++;
    if (zmq_recv(station->socket, bytes, sizeof bytes, ZMQ_DONTWAIT) >= 0)
        station->messages++;
}

static void a_socket_is_called_until_it_has_been_read(void **state)
{
    struct loop *loop = new_loop();
    void *sender = zmq_socket(loop_zmq(loop), ZMQ_PAIR);
    struct station station = { .socket = zmq_socket(loop_zmq(loop), ZMQ_PAIR) };

    (void)state;
    assert_int_equal(zmq_bind(station.socket, "inproc://station"), 0);
    assert_int_equal(zmq_connect(sender, "inproc://station"), 0);
    loop_watch_socket(loop, station.socket, on_message, &station);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(zmq_send(sender, "hello", 5, 0), 5);
    for (unsigned i = 0; i < 12; i++)
        loop_turn(loop, 10 * NS_PER_MS);
    assert_int_equal(station.messages, 10);
    assert_int_equal(station.calls, 10);
    loop_unwatch_socket(loop, station.socket);
    zmq_close(sender);
    zmq_close(station.socket);
    loop_free(loop);
}

struct signals {
    struct loop *loop;
    unsigned stops, reloads;
};

static void on_stop(void *context, struct mono now)
{
    struct signals *signals = context;

    (void)now;
    signals->stops++;
    loop_stop(signals->loop);
}

static void on_reload(void *context, struct mono now)
{
    struct signals *signals = context;

    (void)now;
    signals->reloads++;
    raise(signals->reloads == 1 ? SIGHUP : signals->reloads == 2 ? SIGTERM : SIGINT);
}

static void signals_are_called_inside_the_loop(void **state)
{
    struct signals signals = { .loop = new_loop() };
    struct fault fault;

    (void)state;
    for (unsigned round = 0; round < 2; round++) { /* a later loop may have them */
        assert_int_equal(loop_catch_signals(signals.loop, on_stop, on_reload, &signals, &fault),
                         STATUS_OK);
        raise(SIGHUP);
        assert_int_equal(signals.reloads, 0);
        loop_run(signals.loop);
        assert_int_equal(signals.reloads, 2);
        assert_int_equal(signals.stops, 1);
        loop_free(signals.loop);
        signals = (struct signals){ .loop = round == 0 ? new_loop() : NULL };
    }
}

static void a_signal_is_not_lost_behind_a_flood_of_others(void **state)
{
    struct signals signals = { .loop = new_loop() };
    struct fault fault;

    (void)state;
    assert_int_equal(loop_catch_signals(signals.loop, on_stop, on_reload, &signals, &fault),
                     STATUS_OK);
    signals.reloads = 1000; /* does not raise further HUPs */
    for (unsigned i = 0; i < 100000; i++)
        raise(SIGHUP);
    raise(SIGTERM);
    loop_run(signals.loop);
    assert_int_equal(signals.stops, 1);
    loop_free(signals.loop);
}

static void on_alarm(int number)
{
    (void)number;
}

static void a_signal_of_others_does_not_end_a_turn_with_an_error(void **state)
{
    struct loop *loop = new_loop();
    struct watcher watcher = new_watcher(loop);
    struct sigaction action = { .sa_handler = on_alarm }, before;
    struct clockwork clockwork;

    (void)state;
    init_clockwork(&clockwork, loop);
    sigaction(SIGALRM, &action, &before);
    loop_watch_fd(loop, watcher.fds[0], on_readable, &watcher);
    loop_timer_set(loop, &clockwork.timer, mono_after(loop_now(loop), 1200 * NS_PER_MS));
    alarm(1);
    while (clockwork.calls == 0)
        loop_turn(loop, INT64_MAX);
    assert_int_equal(watcher.calls, 0);
    sigaction(SIGALRM, &before, NULL);
    close_watcher(&watcher);
    loop_free(loop);
}

static void a_stop_before_the_start_is_not_forgotten(void **state)
{
    struct loop *loop = new_loop();

    (void)state;
    loop_stop(loop);
    loop_run(loop);
    assert_int_equal(loop_turns(loop), 0);
    loop_free(loop);
    loop_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_is_called_for_as_long_as_it_can_be_read),
        cmocka_unit_test(what_a_handler_takes_off_is_not_called_in_the_same_turn),
        cmocka_unit_test(a_number_that_is_used_again_has_no_old_events),
        cmocka_unit_test(a_timer_is_called_once_and_never_early),
        cmocka_unit_test(a_loop_that_waits_does_not_spin),
        cmocka_unit_test(a_timer_can_be_moved_and_cancelled),
        cmocka_unit_test(skipped_time_makes_timers_due),
        cmocka_unit_test(a_timer_that_sets_itself_is_called_once_a_turn),
        cmocka_unit_test(what_is_always_ready_starves_nobody),
        cmocka_unit_test(many_timers_come_in_their_order),
        cmocka_unit_test(a_socket_is_called_until_it_has_been_read),
        cmocka_unit_test(signals_are_called_inside_the_loop),
        cmocka_unit_test(a_signal_is_not_lost_behind_a_flood_of_others),
        cmocka_unit_test(a_signal_of_others_does_not_end_a_turn_with_an_error),
        cmocka_unit_test(a_stop_before_the_start_is_not_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
