/* Who drops while nothing is measured must come out of two lists of sockets, and of this machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/procfs.h"
#include "agent/host/sockets.h"
#include "agent/probe/idle.h"
#include "agent/probe/pair.h"

static void add(struct list *list, int64_t inode, int64_t port, int64_t drops)
{
    *(struct proc_socket *)list_append_sized(list, sizeof(struct proc_socket)) =
        (struct proc_socket){ .inode = inode, .port = port, .drops = drops };
}

static void assert_owner(const struct list *owners, size_t at, int64_t port, int64_t drops)
{
    const struct drop_owner *owner = (const struct drop_owner *)owners->items + at;

    assert_int_equal(owner->port, port);
    assert_int_equal(owner->drops, drops);
    assert_string_equal(owner->process, "");
}

static void the_largest_come_first(void **state)
{
    struct list before = { 0 }, after = { 0 }, owners = { 0 };

    (void)state;
    add(&before, 1, 1000, 5);
    add(&before, 2, 2000, 100);
    add(&before, 3, 3000, 7);
    add(&after, 3, 3000, 8);
    add(&after, 2, 2000, 100); /* nothing new */
    add(&after, 1, 1000, 25);
    add(&after, 4, 4000, 3); /* made meanwhile */
    add(&after, 5, 5000, NONE_INT);
    idle_compare(&before, &after, &owners);
    assert_int_equal(owners.count, 3);
    assert_owner(&owners, 0, 1000, 20);
    assert_owner(&owners, 1, 4000, 3);
    assert_owner(&owners, 2, 3000, 1);
    free(before.items);
    free(after.items);
    free(owners.items);
}

static void counts_wrap_and_inodes_are_used_again(void **state)
{
    struct list before = { 0 }, after = { 0 }, owners = { 0 };

    (void)state;
    add(&before, 1, 1000, UINT32_MAX);
    add(&before, 2, 2000, 900);
    add(&before, 3, 3000, 900);
    add(&after, 1, 1000, 4);  /* wrapped */
    add(&after, 2, 2001, 50); /* another port: another socket */
    add(&after, 3, 3000, 6);  /* far back: another socket, of the same port even */
    idle_compare(&before, &after, &owners);
    assert_int_equal(owners.count, 3);
    assert_owner(&owners, 0, 2001, 50);
    assert_owner(&owners, 1, 3000, 6);
    assert_owner(&owners, 2, 1000, 5);
    free(before.items);
    free(after.items);
    free(owners.items);
}

/* A socket of this process that overflows while it listens. */
struct overflow {
    struct pair pair;
    int ticks;
};

static void on_tick(void *context)
{
    struct overflow *overflow = context;
    struct refused refused;

    overflow->ticks++;
    pair_send(&overflow->pair, 100, &refused);
}

static const struct drop_owner *find_process(const struct idle_result *idle)
{
    const struct drop_owner *owners = idle->owners.items;
    char end[32];

    snprintf(end, sizeof end, "(%ld)", (long)getpid());
    for (size_t i = 0; i < idle->owners.count; i++) {
        if (strstr(owners[i].process, end) != NULL)
            return &owners[i];
    }
    return NULL;
}

static void a_process_that_drops_is_named(void **state)
{
    struct overflow overflow = { .ticks = 0 };
    const struct idle_watch watch = { .context = &overflow, .tick = on_tick };
    struct experiment_result result;
    const struct drop_owner *owner;
    struct list sockets = { 0 };
    struct fault fault = { "" };
    bool told = sockets_read(&sockets, &fault) == STATUS_OK;

    (void)state;
    free(sockets.items);
    record_init(&experiment_result_record, &result);
    assert_int_equal(pair_open(FAMILY_IPV4, 1000, 4096, &overflow.pair, &fault), STATUS_OK);
    assert_int_equal(idle_measure(0.25, &watch, &result.idle, &fault), STATUS_OK);
    pair_done(&overflow.pair);
    assert_true(result.idle.seconds >= 0.25 && overflow.ticks >= 2);
    if (told) {
        owner = find_process(&result.idle);
        assert_non_null(owner);
        assert_true(owner->drops > 100 && owner->drops < 100 * overflow.ticks);
        assert_true(owner->port > 0 && owner->inode > 0);
        if (result.idle.delta.value[UDP_RECEIVE_BUFFER_FULL] != NONE_INT)
            assert_true(result.idle.delta.value[UDP_RECEIVE_BUFFER_FULL] >= owner->drops);
    }
    record_done(&experiment_result_record, &result);
}

static void finish_tick(void *context)
{
    atomic_store((atomic_bool *)context, true);
}

static void it_ends_early_and_says_how_long_it_was(void **state)
{
    atomic_bool over = false;
    const struct idle_watch watch = { .context = &over, .tick = finish_tick, .finish = &over };
    struct idle_result idle = { .seconds = 0 };
    struct fault fault = { "" };

    (void)state;
    assert_false(idle_is_over(&over, NULL));
    assert_int_equal(idle_listen(30, &watch, &idle, &fault), STATUS_OK);
    assert_true(idle.seconds > 0.05 && idle.seconds < 20);
    assert_true(idle_is_over(NULL, &over));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_come_first),
        cmocka_unit_test(counts_wrap_and_inodes_are_used_again),
        cmocka_unit_test(a_process_that_drops_is_named),
        cmocka_unit_test(it_ends_early_and_says_how_long_it_was),
    };

    return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
