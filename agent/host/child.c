/* Owns the life of a child process: its start, its end, and who reaps it. Knows nothing of what it
 * does. */
#include "agent/host/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/host/child_system.h"

static void ignore_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = SIG_IGN };

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

enum status child_start(void (*work)(void *context, int64_t parent), void *context,
                        struct child *out_child, struct fault *fault)
{
    int64_t parent = (int64_t)getpid();
    pid_t pid = fork();

    if (pid < 0)
        return fault_errno(fault, errno, "cannot start a process");
    if (pid == 0) {
        ignore_signals();
        child_system_bind();
        if (!child_orphaned(parent))
            work(context, parent);
        /* Not exit: what the parent has in its buffers, the parent writes. */
        _exit(0);
    }
    out_child->pid = (int64_t)pid;
    return STATUS_OK;
}

/* Waits for it as `options` say; true when it is gone, with *out_state -1 where somebody else has
 * reaped it (a parent that inherited an ignored SIGCHLD never sees how a child ends). */
static bool reap(struct child *child, int options, int *out_state)
{
    pid_t pid;

    *out_state = -1;
    do
        pid = waitpid((pid_t)child->pid, out_state, options);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return false;
    child->pid = 0;
    return true;
}

bool child_running(struct child *child, char *out_how, size_t size)
{
    int state = -1;

    if (child->pid != 0 && !reap(child, WNOHANG, &state))
        return true;
    if (state != -1 && WIFSIGNALED(state))
        snprintf(out_how, size, "ended by signal %d", WTERMSIG(state));
    else if (state != -1 && WIFEXITED(state))
        snprintf(out_how, size, "ended with exit code %d", WEXITSTATUS(state));
    else
        snprintf(out_how, size, "ended");
    return false;
}

void child_end(struct child *child)
{
    int state;

    if (child->pid == 0 || reap(child, WNOHANG, &state))
        return;
    kill((pid_t)child->pid, SIGKILL);
    (void)reap(child, 0, &state);
}

bool child_orphaned(int64_t parent)
{
    return (int64_t)getppid() != parent;
}

enum status memory_share(size_t size, void **out_memory, struct fault *fault)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return fault_errno(fault, errno, "cannot share %zu bytes of memory", size);
    *out_memory = memory;
    return STATUS_OK;
}

void memory_unshare(void *memory, size_t size)
{
    if (memory != NULL)
        munmap(memory, size);
}
