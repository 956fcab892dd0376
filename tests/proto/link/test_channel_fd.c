/* A connection is known by its ends, and its descriptor is touched only while it has them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/link/channel_fd.h"
#include "tests/proto/link/channel_lab.h"

static void every_connection_has_ends_of_its_own(void **state)
{
    uint16_t port;
    int listener = raw_listen(&port), a = raw_connect(port), b = raw_connect(port), pipes[2];

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    assert_true(channel_fd_ends(a) != 0 && channel_fd_ends(b) != 0);
    assert_true(channel_fd_ends(a) == channel_fd_ends(a));
    assert_true(channel_fd_ends(a) != channel_fd_ends(b));
    assert_true(channel_fd_ends(listener) == 0); /* has one end only */
    assert_true(channel_fd_ends(pipes[0]) == 0);
    assert_true(channel_fd_ends(-1) == 0);
    close(b);
    assert_true(channel_fd_ends(b) == 0);
    close(a);
    close(listener);
    close(pipes[0]);
    close(pipes[1]);
}

static void only_the_connection_itself_is_cut(void **state)
{
    uint16_t port;
    int listener = raw_listen(&port), old = raw_connect(port);
    uint64_t ends = channel_fd_ends(old);
    int other;

    (void)state;
    close(old);
    other = raw_connect(port);
    assert_int_equal(other, old); /* the number is another's now */
    channel_fd_cut(other, ends);
    channel_fd_cut(other, 0);
    assert_false(raw_ended(other));
    channel_fd_cut(other, channel_fd_ends(other));
    assert_true(raw_ended(other));
    close(other);
    close(listener);
}

static void room_is_made_as_far_as_the_system_allows(void **state)
{
    struct rlimit before, limit;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){ .rlim_cur = 50, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(channel_fd_room(100), 100);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(limit.rlim_cur > 100 && limit.rlim_cur < 300); /* no further than needed */
    assert_int_equal(channel_fd_room(10), 10);
    /* For good, so this comes last. */
    limit = (struct rlimit){ .rlim_cur = 100, .rlim_max = 400 };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(channel_fd_room(5000), 300);
    assert_int_equal(channel_fd_room(100), 100);
    limit = (struct rlimit){ .rlim_cur = 64, .rlim_max = 64 };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(channel_fd_room(5000), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_connection_has_ends_of_its_own),
        cmocka_unit_test(only_the_connection_itself_is_cut),
        cmocka_unit_test(room_is_made_as_far_as_the_system_allows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
