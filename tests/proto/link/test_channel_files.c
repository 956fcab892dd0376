/* A listener whose process may open few files refuses what it has no room for, keeps what it has,
 * and does not spin. A program of its own: the limit is for good. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/proto/link/channel_lab.h"

enum { FILES = 96, STRANGERS = 200 };

/* The strangers' process: connects when it is told the port, and lets go when told, or when the
 * test is gone. */
static void strangers(int in, int other)
{
    uint16_t port;
    char byte;

    close(other);
    if (read(in, &port, sizeof port) != sizeof port)
        exit(EXIT_FAILURE);
    for (unsigned i = 0; i < STRANGERS; i++)
        (void)raw_connect(port);
    (void)!read(in, &byte, 1);
    exit(EXIT_SUCCESS);
}

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void the_limit_of_open_files_is_kept_clear_of(void **state)
{
    const struct rlimit limit = { FILES, FILES };
    struct lab *lab = NULL;
    struct end controller, agent;
    channel_peer peer;
    uint16_t port;
    double before;
    int ends[2], code;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork(); /* before there are threads */
    assert_int_not_equal(child, -1);
    if (child == 0)
        strangers(ends[0], ends[1]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    lab_make(state);
    lab = *state;
    end_controller(&controller, lab, NULL);
    end_agent(&agent, lab,
              &(struct channel_rules){ .roles = 1U << ROLE_CONTROLLER,
                                       .peers_max = 1,
                                       .strangers_max = 1,
                                       .outbound_cap = 4 << 20,
                                       .outbound_all_cap = 4 << 20 });
    port = end_listen(&controller);
    lab_join(&controller, &agent, &peer);
    controller.echo = true;
    assert_int_equal(write(ends[1], &port, sizeof port), sizeof port);
    lab_until(lab, &controller.downs_unborn, STRANGERS - FILES / 2);
    assert_non_null(strstr(controller.last_reason, "open files"));
    lab_settle(lab, 300);
    assert_true(open_files() < FILES);
    before = cpu_seconds();
    lab_settle(lab, 1000);
    assert_true(cpu_seconds() - before < 0.3); /* a listener that spins takes all of a second */
    assert_int_equal(channel_send(agent.channel, peer, "hello", 5), STATUS_OK);
    lab_until(lab, &agent.messages, 1);
    assert_int_equal(agent.downs, 0);
    assert_int_equal(write(ends[1], "", 1), 1);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    lab_until(lab, &controller.downs_unborn, STRANGERS);
    end_done(&agent);
    end_done(&controller);
    lab_free(state);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_of_open_files_is_kept_clear_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
