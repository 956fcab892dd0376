/* Owns what signals write into: one pipe for each meaning, because a pipe that is full is readable
 * all the same, so that no signal can push another one out. A handler has no argument: where it
 * writes to is at file scope. */
#include "proto/link/loop_signal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static const struct {
    int number, meaning;
} caught[] = { { SIGTERM, SIGNAL_STOP }, { SIGINT, SIGNAL_STOP }, { SIGHUP, SIGNAL_RELOAD } };

/* -1: not made. */
static atomic_int readers[SIGNAL_COUNT] = { -1, -1 }, writers[SIGNAL_COUNT] = { -1, -1 };

static void on_signal(int number)
{
    int saved = errno;
    int fd = atomic_load(&writers[number == SIGHUP ? SIGNAL_RELOAD : SIGNAL_STOP]);
    ssize_t written = write(fd, "", 1);

    (void)written;
    errno = saved;
}

static enum status make_pipe(int meaning, struct fault *fault)
{
    int ends[2];

    if (pipe(ends) != 0)
        return fault_errno(fault, errno, "making a pipe for signals");
    for (size_t i = 0; i < 2; i++) {
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[i], F_SETFL, O_NONBLOCK) == 0)
            continue;
        fault_errno(fault, errno, "setting up a pipe for signals");
        close(ends[0]);
        close(ends[1]);
        return STATUS_IO;
    }
    atomic_store(&readers[meaning], ends[0]);
    atomic_store(&writers[meaning], ends[1]);
    return STATUS_OK;
}

enum status loop_signal_catch(int out_fds[SIGNAL_COUNT], struct fault *fault)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    enum status status;

    for (int meaning = 0; meaning < SIGNAL_COUNT; meaning++) {
        assert(atomic_load(&readers[meaning]) == -1);
        status = make_pipe(meaning, fault);
        if (status != STATUS_OK) {
            loop_signal_release();
            return status;
        }
    }
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        sigaction(caught[i].number, &action, NULL);
    for (int meaning = 0; meaning < SIGNAL_COUNT; meaning++)
        out_fds[meaning] = atomic_load(&readers[meaning]);
    return STATUS_OK;
}

void loop_signal_release(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        sigaction(caught[i].number, &action, NULL);
    for (int meaning = 0; meaning < SIGNAL_COUNT; meaning++) {
        if (atomic_load(&readers[meaning]) == -1)
            continue;
        close(atomic_exchange(&writers[meaning], -1));
        close(atomic_exchange(&readers[meaning], -1));
    }
}

void loop_signal_drain(int fd)
{
    char bytes[64];

    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}
