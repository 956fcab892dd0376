/* The agent's routing between controller and tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/agent/sessions_world.h"

/* --- routing ---------------------------------------------------------------------------------- */

static void a_whole_session(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    assert_int_equal(sessions_count(world->sessions), 1);
    task(world, MESSAGE_OPENED, "S");
    control(world, MESSAGE_BEGIN, "S");
    task(world, MESSAGE_BEGUN, "S");
    task(world, MESSAGE_PROGRESS, "S");
    control(world, MESSAGE_END, "S");
    task(world, MESSAGE_ENDED, "S");
    control(world, MESSAGE_CLOSE, "S");
    task_result(world, "S", "R", 100);
    task_closed(world, "S", "R");
    assert_done(world, "start S\nsend opened S\ntell S begin\nsend begun S\nsend progress S\n"
                       "tell S end\nsend ended S\ntell S close\nput R\njoin S\nsend closed S: R\n"
                       "send result R\n");
    assert_int_equal(sessions_count(world->sessions), 0);
    committed(world, "R");
    assert_int_equal(world->forgets, 1);
    assert_done(world, "");
}

/* The same, and what watching has noticed is passed on. */
static void a_whole_path_mtu_session(void **state)
{
    struct world *world = *state;

    open_listener(world, "S");
    task(world, MESSAGE_OPENED, "S");
    control(world, MESSAGE_BEGIN, "S");
    task(world, MESSAGE_MOVED, "S");
    task(world, MESSAGE_ENDED, "S");
    control(world, MESSAGE_CLOSE, "S");
    task(world, MESSAGE_MOVED, "S");
    task_result(world, "S", "R", 100);
    task_closed(world, "S", "R");
    task(world, MESSAGE_MOVED, "S");
    assert_done(world, "start S\nsend opened S\ntell S begin\nsend moved S\nsend ended S\n"
                       "tell S close\nsend moved S\nput R\njoin S\nsend closed S: R\n"
                       "send result R\n");
}

static void each_session_has_its_own_task(void **state)
{
    struct world *world = *state;

    open_echo(world, "A");
    open_echo(world, "B");
    control(world, MESSAGE_BEGIN, "B");
    task_failed(world, "A", "", "broke");
    control(world, MESSAGE_END, "B");
    assert_done(world, "start A\nstart B\ntell B begin\njoin A\nsend failed A: : broke\n"
                       "tell B end\n");
    assert_int_equal(sessions_count(world->sessions), 1);
    task_closed(world, "B", "");
}

static void a_session_that_is_open_is_not_opened_again(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    open_echo(world, "S");
    assert_done(world, "start S\nsend refused S: this session is open here already\n");
    assert_int_equal(sessions_count(world->sessions), 1);
    task_closed(world, "S", "");
}

static void an_unknown_session_has_failed_at_once(void **state)
{
    struct world *world = *state;

    control(world, MESSAGE_BEGIN, "S");
    control(world, MESSAGE_END, "S");
    control(world, MESSAGE_CLOSE, "S");
    assert_done(world, "send failed S: : this session is not open here\n"
                       "send failed S: : this session is not open here\n"
                       "send failed S: : this session is not open here\n");
    task(world, MESSAGE_OPENED, "S");
    task_closed(world, "S", "");
    assert_done(world, "");
}

static void what_is_not_admitted_is_refused_with_the_limit(void **state)
{
    struct world *world = *state;

    open_sender(world, "S");
    assert_non_null(strstr(world->log, "send refused S: "));
    assert_non_null(strstr(world->log, "allow_sender"));
    assert_null(strstr(world->log, "start"));
    assert_int_equal(sessions_count(world->sessions), 0);
}

static void only_so_many_sessions_at_once(void **state)
{
    static const char *const names[] = { "A", "B", "C", "D" };
    struct world *world = *state;

    for (size_t i = 0; i < MAX_SESSIONS; i++)
        open_echo(world, names[i]);
    assert_done(world, "start A\nstart B\nstart C\nstart D\n");
    open_echo(world, "E");
    assert_non_null(strstr(world->log, "send refused E: "));
    assert_non_null(strstr(world->log, "max_sessions"));
    task_closed(world, "B", "");
    forget_done(world);
    open_echo(world, "E");
    assert_done(world, "start E\n");
    task_closed(world, "A", "");
    task_closed(world, "C", "");
    task_closed(world, "D", "");
    task_closed(world, "E", "");
}

static void a_task_that_cannot_start_is_a_refusal(void **state)
{
    struct world *world = *state;

    world->start = STATUS_NO_RESOURCE;
    open_echo(world, "S");
    assert_done(world, "send refused S: no thread is left\n");
    assert_int_equal(sessions_count(world->sessions), 0);
    world->start = STATUS_OK;
    open_echo(world, "S");
    assert_done(world, "start S\n");
    task_closed(world, "S", "");
}

static void a_task_that_refuses_is_forgotten(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    task_refused(world, "S", "no port");
    assert_done(world, "start S\njoin S\nsend refused S: no port\n");
    assert_int_equal(sessions_count(world->sessions), 0);
}

static void a_second_close_is_not_told(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    control(world, MESSAGE_CLOSE, "S");
    control(world, MESSAGE_CLOSE, "S");
    control(world, MESSAGE_BEGIN, "S");
    assert_done(world, "start S\ntell S close\n");
    task_closed(world, "S", "");
}

static void without_a_controller_every_session_is_closed(void **state)
{
    struct world *world = *state;

    open_echo(world, "A");
    open_echo(world, "B");
    world->away = true;
    sessions_disconnected(world->sessions, world->now);
    assert_done(world, "start A\nstart B\n"
                       "tell B close: the connection to the controller is gone\n"
                       "tell A close: the connection to the controller is gone\n");
    task_result(world, "A", "R", 10);
    task_closed(world, "A", "R");
    assert_done(world, "put R\njoin A\n");
    world->away = false;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result R\n");
    task_closed(world, "B", "");
}

static void stopping_closes_all_and_opens_no_more(void **state)
{
    struct world *world = *state;

    open_echo(world, "S");
    assert_int_equal(sessions_stop(world->sessions), 1);
    open_echo(world, "T");
    assert_int_equal(sessions_stop(world->sessions), 1);
    assert_done(world, "start S\ntell S close: this agent is being stopped\n"
                       "send refused T: this agent is being stopped\n");
    task_closed(world, "S", "");
    assert_int_equal(sessions_stop(world->sessions), 0);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_whole_session),
        UNIT(a_whole_path_mtu_session),
        UNIT(each_session_has_its_own_task),
        UNIT(a_session_that_is_open_is_not_opened_again),
        UNIT(an_unknown_session_has_failed_at_once),
        UNIT(what_is_not_admitted_is_refused_with_the_limit),
        UNIT(only_so_many_sessions_at_once),
        UNIT(a_task_that_cannot_start_is_a_refusal),
        UNIT(a_task_that_refuses_is_forgotten),
        UNIT(a_second_close_is_not_told),
        UNIT(without_a_controller_every_session_is_closed),
        UNIT(stopping_closes_all_and_opens_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
