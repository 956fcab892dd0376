/* Results on their way into the spool and to the controller: in order, bounded, not lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/agent/sessions_world.h"

/* --- results ---------------------------------------------------------------------------------- */

static void a_full_disk_delays_closed_until_the_result_is_there(void **state)
{
    struct world *world = *state;

    world->put = STATUS_NO_SPACE;
    open_echo(world, "S");
    task_result(world, "S", "R", 10);
    task_closed(world, "S", "R");
    assert_done(world, "start S\njoin S\n");
    assert_int_equal(sessions_count(world->sessions), 0);
    tick_at_deadline(world);
    sessions_tick(world->sessions, world->now);
    assert_done(world, "");
    world->put = STATUS_OK;
    tick_at_deadline(world);
    assert_done(world, "put R\nsend closed S: R\nsend result R\n");
    assert_true(sessions_deadline(world->sessions).ns == INT64_MAX);
}

static void a_result_that_waits_may_be_put_before_its_task_ends(void **state)
{
    struct world *world = *state;

    world->put = STATUS_AGAIN;
    open_echo(world, "S");
    task_result(world, "S", "R", 10);
    world->put = STATUS_OK;
    tick_at_deadline(world);
    task_failed(world, "S", "R", "broke");
    assert_done(world, "start S\nput R\nsend result R\njoin S\nsend failed S: R: broke\n");
}

static void results_keep_their_order_behind_one_that_waits(void **state)
{
    struct world *world = *state;

    open_echo(world, "A");
    open_echo(world, "B");
    world->put = STATUS_NO_SPACE;
    task_result(world, "A", "RA", 10);
    world->put = STATUS_OK;
    task_result(world, "B", "RB", 10);
    task_closed(world, "B", "RB");
    task_closed(world, "A", "RA");
    assert_done(world, "start A\nstart B\njoin B\njoin A\n");
    tick_at_deadline(world);
    assert_done(world, "put RA\nsend closed A: RA\nput RB\nsend closed B: RB\nsend result RA\n"
                       "send result RB\n");
}

static void memory_for_results_is_bounded(void **state)
{
    struct world *world = *state;
    char name[UUID_SIZE];

    world->put = STATUS_NO_SPACE;
    for (int i = 0; i <= SESSIONS_HELD; i++) {
        snprintf(name, sizeof name, "N%d", i);
        open_echo(world, name);
        task_result(world, name, name, 10);
        forget_done(world);
        task_closed(world, name, name);
        if (i < SESSIONS_HELD)
            assert_null(strstr(world->log, "send"));
    }
    assert_int_equal(sessions_dropped(world->sessions), 1);
    forget_done(world);
    world->put = STATUS_OK;
    tick_at_deadline(world);
    assert_int_equal(world->spooled, SESSIONS_HELD);
    assert_string_equal(world->spool[0].id, "N1");
}

static void a_dropped_result_s_session_has_failed(void **state)
{
    const size_t large = SESSIONS_HELD_BYTES / 8 - 1;
    struct world *world = *state;
    char name[UUID_SIZE];

    world->put = STATUS_NO_SPACE;
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "N%d", i);
        open_echo(world, name);
        if (i == 8)
            assert_int_equal(sessions_dropped(world->sessions), 0);
        forget_done(world);
        task_result(world, name, name, large);
        if (i < 8)
            task_closed(world, name, name);
    }
    assert_done(world, "send failed N0: : the spool takes none, and too many wait in memory\n");
    assert_int_equal(sessions_dropped(world->sessions), 1);
    task_closed(world, "N8", "N8");
}

static void what_the_spool_never_takes_is_not_tried_again(void **state)
{
    struct world *world = *state;

    world->put = STATUS_TOO_LARGE;
    open_echo(world, "S");
    task_result(world, "S", "R", 10);
    task_closed(world, "S", "R");
    assert_done(world, "start S\njoin S\nsend failed S: : cannot be put\n");
    assert_int_equal(sessions_dropped(world->sessions), 1);
    assert_true(sessions_deadline(world->sessions).ns == INT64_MAX);
}

static void fill_spool(struct world *world, size_t count, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        struct spooled *spooled = &world->spool[world->spooled++];

        snprintf(spooled->id, sizeof spooled->id, "P%zu", world->spooled);
        spooled->length = length;
    }
}

static size_t lines_of(const struct world *world)
{
    size_t count = 0;

    for (const char *at = world->log; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    return count;
}

static void only_so_many_results_are_under_way(void **state)
{
    struct world *world = *state;

    fill_spool(world, SESSIONS_UNACKNOWLEDGED + 2, 10);
    sessions_connected(world->sessions, world->now);
    assert_int_equal(lines_of(world), SESSIONS_UNACKNOWLEDGED);
    forget_done(world);
    committed(world, "P7");
    assert_done(world, "send result P257\n");
    committed(world, "P7");
    assert_done(world, "");
    committed(world, "P1");
    assert_done(world, "send result P258\n");
}

static void only_so_many_bytes_are_under_way(void **state)
{
    struct world *world = *state;

    fill_spool(world, 3, SESSIONS_UNACKNOWLEDGED_BYTES / 2 - 1);
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result P1\nsend result P2\n");
    committed(world, "P2");
    assert_done(world, "send result P3\n");
}

static void after_a_reconnect_everything_is_sent_again(void **state)
{
    struct world *world = *state;

    fill_spool(world, 3, 10);
    sessions_connected(world->sessions, world->now);
    committed(world, "P2");
    sessions_disconnected(world->sessions, world->now);
    forget_done(world);
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result P1\nsend result P3\n");
}

static void a_spool_that_cannot_be_read_is_read_later(void **state)
{
    struct world *world = *state;

    fill_spool(world, 1, 10);
    world->next = STATUS_IO;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "");
    world->next = STATUS_OK;
    tick_at_deadline(world);
    assert_done(world, "send result P1\n");
}

static void what_could_not_be_forgotten_is_forgotten_later(void **state)
{
    struct world *world = *state;
    char name[UUID_SIZE], rest[64];

    fill_spool(world, SESSIONS_UNACKNOWLEDGED + 2, 10);
    sessions_connected(world->sessions, world->now);
    world->forget = STATUS_AGAIN;
    forget_done(world);
    for (int i = 1; i <= SESSIONS_UNACKNOWLEDGED; i++) {
        snprintf(name, sizeof name, "P%d", i);
        committed(world, name);
    }
    tick_at_deadline(world);
    assert_done(world, ""); /* one more could not be remembered when it is committed */
    assert_string_equal(world->spool[0].id, "P1");
    world->forget = STATUS_OK;
    tick_at_deadline(world);
    for (int i = 0; i < SESSIONS_UNACKNOWLEDGED; i++)
        assert_string_equal(world->spool[i].id, "");
    snprintf(rest, sizeof rest, "send result P%d\nsend result P%d\n", SESSIONS_UNACKNOWLEDGED + 1,
             SESSIONS_UNACKNOWLEDGED + 2);
    assert_done(world, rest);
}

static void what_could_not_be_sent_is_sent_on_the_next_connection(void **state)
{
    struct world *world = *state;

    fill_spool(world, 2, 10);
    world->away = true;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "");
    sessions_disconnected(world->sessions, world->now);
    world->away = false;
    sessions_connected(world->sessions, world->now);
    assert_done(world, "send result P1\nsend result P2\n");
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_full_disk_delays_closed_until_the_result_is_there),
        UNIT(a_result_that_waits_may_be_put_before_its_task_ends),
        UNIT(results_keep_their_order_behind_one_that_waits),
        UNIT(memory_for_results_is_bounded),
        UNIT(a_dropped_result_s_session_has_failed),
        UNIT(what_the_spool_never_takes_is_not_tried_again),
        UNIT(only_so_many_results_are_under_way),
        UNIT(only_so_many_bytes_are_under_way),
        UNIT(after_a_reconnect_everything_is_sent_again),
        UNIT(a_spool_that_cannot_be_read_is_read_later),
        UNIT(what_could_not_be_forgotten_is_forgotten_later),
        UNIT(what_could_not_be_sent_is_sent_on_the_next_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
