/* The reading process counts what it read, takes its time, and says how it ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/probe/reader.h"
#include "proto/base/clock.h"

enum { PATIENCE_MS = 20000, PAYLOAD = 500 };

struct scene {
    struct pair pair;
    struct reader *reader;
};

static void begin(struct scene *scene, size_t payload, int64_t read_ns)
{
    struct fault fault = { "" };

    if (pair_open(FAMILY_IPV4, payload, 0, &scene->pair, &fault) != STATUS_OK ||
        reader_start(&scene->pair, read_ns, &scene->reader, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void end(struct scene *scene)
{
    reader_end(scene->reader);
    pair_done(&scene->pair);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void send_some(const struct scene *scene, int64_t count)
{
    struct refused refused;

    assert_int_equal(pair_send(&scene->pair, count, &refused), count);
}

static struct reader_count wait_for(const struct scene *scene, int64_t processed)
{
    for (int waited = 0;; waited++) {
        struct reader_count count = reader_count(scene->reader);

        if (count.processed >= processed)
            return count;
        assert_true(waited < PATIENCE_MS);
        poll(NULL, 0, 1);
    }
}

static void it_counts_each_datagram_once(void **state)
{
    static const size_t payloads[] = { 0, 1, PAYLOAD, 65507 };

    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        struct scene scene;

        begin(&scene, payloads[i], 0);
        send_some(&scene, 2);
        assert_int_equal(wait_for(&scene, 2).processed, 2);
        send_some(&scene, 1);
        wait_for(&scene, 3);
        poll(NULL, 0, 20);
        assert_int_equal(reader_count(scene.reader).processed, 3);
        assert_int_equal(reader_check(scene.reader, NULL), STATUS_OK);
        end(&scene);
    }
}

static void it_takes_its_time_for_each(void **state)
{
    const int64_t read_ns = 2 * NS_PER_MS;
    struct mono before;
    struct reader_count count;
    struct scene scene;

    (void)state;
    begin(&scene, PAYLOAD, read_ns);
    before = mono_now();
    send_some(&scene, 20);
    count = wait_for(&scene, 20);
    assert_true(mono_between(before, mono_now()) >= 20 * read_ns);
    assert_true(count.busy_ns >= 20 * read_ns);
    assert_true(count.busy_ns <= mono_between(before, mono_now()));
    end(&scene);
}

static void it_says_when_it_has_nothing_to_do(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, PAYLOAD, 200 * NS_PER_MS);
    for (int waited = 0; !reader_count(scene.reader).waiting; waited++) {
        assert_true(waited < PATIENCE_MS);
        poll(NULL, 0, 1);
    }
    send_some(&scene, 1);
    for (int waited = 0; reader_count(scene.reader).waiting; waited++) {
        assert_true(waited < PATIENCE_MS);
        poll(NULL, 0, 1);
    }
    assert_int_equal(reader_count(scene.reader).processed, 0);
    assert_int_equal(wait_for(&scene, 1).processed, 1);
    end(&scene);
}

static void waiting_is_no_time_of_a_datagram(void **state)
{
    struct scene scene;
    struct reader_count count;

    (void)state;
    begin(&scene, PAYLOAD, NS_PER_MS);
    poll(NULL, 0, 300);
    send_some(&scene, 1);
    count = wait_for(&scene, 1);
    assert_true(count.busy_ns >= NS_PER_MS && count.busy_ns < 250 * NS_PER_MS);
    end(&scene);
}

static void a_killed_reader_is_told_with_what_it_did(void **state)
{
    struct scene scene;
    struct fault fault = { "" };
    char expected[128];
    enum status status;

    (void)state;
    begin(&scene, PAYLOAD, 0);
    send_some(&scene, 7);
    wait_for(&scene, 7);
    snprintf(expected, sizeof expected,
             "the reader process %lld ended by signal 9 after 7 datagrams",
             (long long)reader_pid(scene.reader));
    assert_int_equal(kill((pid_t)reader_pid(scene.reader), SIGKILL), 0);
    for (int waited = 0; (status = reader_check(scene.reader, &fault)) == STATUS_OK; waited++) {
        assert_true(waited < PATIENCE_MS);
        poll(NULL, 0, 1);
    }
    assert_int_equal(status, STATUS_IO);
    assert_string_equal(fault.text, expected);
    assert_int_equal(reader_count(scene.reader).processed, 7);
    assert_int_equal(reader_pid(scene.reader), 0);
    end(&scene);
}

static void ending_none_is_allowed(void **state)
{
    (void)state;
    reader_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts_each_datagram_once),
        cmocka_unit_test(it_takes_its_time_for_each),
        cmocka_unit_test(it_says_when_it_has_nothing_to_do),
        cmocka_unit_test(waiting_is_no_time_of_a_datagram),
        cmocka_unit_test(a_killed_reader_is_told_with_what_it_did),
        cmocka_unit_test(ending_none_is_allowed),
    };

    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
