/* A child runs beside its parent, its end is noticed and reaped, and it does not outlive us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/host/child.h"

enum { PATIENCE_MS = 10000 };

struct board {
    atomic_int rounds;
    _Atomic int64_t pid;
};

static struct board *make_board(void)
{
    void *memory = NULL;

    assert_int_equal(memory_share(sizeof(struct board), &memory, NULL), STATUS_OK);
    return memory;
}

static void free_board(struct board *board)
{
    memory_unshare(board, sizeof *board);
}

/* Counts rounds until its parent is gone. */
static void go_round(void *context, int64_t parent)
{
    struct board *board = context;

    atomic_store(&board->pid, (int64_t)getpid());
    while (!child_orphaned(parent)) {
        atomic_fetch_add(&board->rounds, 1);
        poll(NULL, 0, 1);
    }
}

static void return_at_once(void *context, int64_t parent)
{
    (void)parent;
    atomic_fetch_add(&((struct board *)context)->rounds, 1);
}

static void wait_for_rounds(struct board *board, int more)
{
    int target = atomic_load(&board->rounds) + more;

    for (int waited = 0; atomic_load(&board->rounds) < target; waited++) {
        assert_true(waited < PATIENCE_MS);
        poll(NULL, 0, 1);
    }
}

static void wait_for_end(struct child *child, char *how, size_t size)
{
    for (int waited = 0; child_running(child, how, size); waited++) {
        assert_true(waited < PATIENCE_MS);
        poll(NULL, 0, 1);
    }
}

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void runs_beside_us_until_it_is_ended(void **state)
{
    struct board *board = make_board();
    struct child child = { 0 };
    char how[64] = "";

    (void)state;
    assert_int_equal(child_start(go_round, board, &child, NULL), STATUS_OK);
    wait_for_rounds(board, 3);
    assert_int_equal(atomic_load(&board->pid), child.pid);
    assert_true(child_running(&child, how, sizeof how));
    assert_string_equal(how, "");
    child_end(&child);
    assert_no_children();
    assert_false(child_running(&child, how, sizeof how));
    child_end(&child); /* again changes nothing */
    free_board(board);
}

static void an_end_is_told_apart(void **state)
{
    struct board *board = make_board();
    struct child child = { 0 };
    char how[64];

    (void)state;
    assert_int_equal(child_start(return_at_once, board, &child, NULL), STATUS_OK);
    wait_for_end(&child, how, sizeof how);
    assert_string_equal(how, "ended with exit code 0");
    assert_int_equal(atomic_load(&board->rounds), 1);
    assert_no_children();

    assert_int_equal(child_start(go_round, board, &child, NULL), STATUS_OK);
    wait_for_rounds(board, 1);
    assert_int_equal(kill((pid_t)child.pid, SIGKILL), 0);
    wait_for_end(&child, how, sizeof how);
    assert_string_equal(how, "ended by signal 9");
    assert_no_children();
    free_board(board);
}

static void what_a_terminal_sends_to_both_does_not_end_it(void **state)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct board *board = make_board();
    struct child child = { 0 };
    char how[64];

    (void)state;
    assert_int_equal(child_start(go_round, board, &child, NULL), STATUS_OK);
    wait_for_rounds(board, 1);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_int_equal(kill((pid_t)child.pid, numbers[i]), 0);
    wait_for_rounds(board, 3);
    assert_true(child_running(&child, how, sizeof how));
    child_end(&child);
    free_board(board);
}

/* A process that inherited an ignored SIGCHLD cannot see how a child ended, only that. */
static void an_ignored_sigchld_does_no_harm(void **state)
{
    struct board *board = make_board();
    struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
    struct child child = { 0 };
    char how[64];

    (void)state;
    sigemptyset(&ignore.sa_mask);
    assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
    assert_int_equal(child_start(go_round, board, &child, NULL), STATUS_OK);
    wait_for_rounds(board, 1);
    assert_int_equal(kill((pid_t)child.pid, SIGKILL), 0);
    wait_for_end(&child, how, sizeof how);
    assert_string_equal(how, "ended");

    assert_int_equal(child_start(go_round, board, &child, NULL), STATUS_OK);
    child_end(&child);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
    free_board(board);
}

static void start_and_wait(void *context, int64_t parent)
{
    struct child child;

    if (child_start(go_round, context, &child, NULL) == STATUS_OK) {
        while (!child_orphaned(parent))
            poll(NULL, 0, 10);
    }
}

static void does_not_outlive_its_parent(void **state)
{
    struct board *board = make_board();
    struct child middle = { 0 };
    int before;

    (void)state;
    assert_int_equal(child_start(start_and_wait, board, &middle, NULL), STATUS_OK);
    wait_for_rounds(board, 3);
    child_end(&middle);
    for (int waited = 0;; waited++) { /* nobody of us can reap it: it is quiet when it is gone */
        before = atomic_load(&board->rounds);
        poll(NULL, 0, 200);
        if (atomic_load(&board->rounds) == before)
            break;
        assert_true(waited < PATIENCE_MS / 200);
    }
    free_board(board);
}

static void shared_memory_is_zeroed_and_may_be_none(void **state)
{
    struct board *board = make_board();

    (void)state;
    assert_int_equal(atomic_load(&board->rounds), 0);
    assert_int_equal(atomic_load(&board->pid), 0);
    free_board(board);
    memory_unshare(NULL, sizeof *board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_beside_us_until_it_is_ended),
        cmocka_unit_test(an_end_is_told_apart),
        cmocka_unit_test(what_a_terminal_sends_to_both_does_not_end_it),
        cmocka_unit_test(an_ignored_sigchld_does_no_harm),
        cmocka_unit_test(does_not_outlive_its_parent),
        cmocka_unit_test(shared_memory_is_zeroed_and_may_be_none),
    };

    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
