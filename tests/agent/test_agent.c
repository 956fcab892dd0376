/* The whole agent in this process, with its files, its spool and its threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/uplink.h"
#include "proto/base/file.h"
#include "proto/base/text.h"
#include "tests/agent/agent_stage.h"

/* --- the tests -------------------------------------------------------------------------------- */

static void it_connects_and_says_what_it_is(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    assert_string_not_equal(stage->fake.hello.os, "");
    assert_string_not_equal(stage->fake.hello.os_release, "");
    assert_string_not_equal(stage->fake.hello.arch, "");
    assert_int_equal(strlen(stage->fake.hello.instance), 36);
    assert_int_equal(stage->fake.hello.sessions_max, 4);
    assert_int_equal(stage->fake.hello.spool.waiting, 0);
    assert_true(stage->fake.addresses > 0);
    assert_true(is_logged(stage, "agent a of test"));
}

static void a_result_leaves_the_spool_once_it_is_committed(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    close_session(stage, "S");
    until(stage, &stage->results, 1);
    assert_int_equal(stage->closed, 1);
    assert_string_equal(stage->report.session, "S");
    assert_string_equal(stage->report.id, stage->result);
    end_agent(stage);
    assert_int_equal(spooled(stage), 1);

    /* Of the same id again, from a process that has never heard of the session. */
    stage->result[0] = '\0';
    start_agent(stage);
    until(stage, &stage->results, 2);
    assert_string_equal(stage->report.id, stage->result);
    fake_controller_committed(&stage->fake, stage->result);
    turn_a_while(stage);
    end_agent(stage);
    assert_int_equal(spooled(stage), 0);
}

/* One agent may be both ends, of two sessions: each is a thread of its own. */
static void two_sessions_of_one_agent_agree(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "E", END_ECHO);
    until(stage, &stage->opened, 1);
    open_session(stage, "S", END_SENDER);
    until(stage, &stage->opened, 2);
    close_session(stage, "S");
    close_session(stage, "E");
    until(stage, &stage->closed, 2);
    until(stage, &stage->results, 2);
}

static void stopping_reports_what_is_open(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    agent_stop(stage->agent, loop_now(stage->loop));
    loop_run(stage->loop);
    turn_a_while(stage);
    assert_int_equal(stage->closed, 1);
    assert_string_not_equal(stage->fake.bye, "");
    end_agent(stage);
    assert_int_equal(spooled(stage), 1);
}

static void asked_twice_it_stops_at_once(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    agent_stop(stage->agent, loop_now(stage->loop));
    agent_stop(stage->agent, loop_now(stage->loop));
    loop_run(stage->loop);
    end_agent(stage);
    assert_int_equal(spooled(stage), 1);
}

static void a_controller_that_goes_closes_the_sessions(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "S", END_ECHO);
    until(stage, &stage->opened, 1);
    channel_close(stage->fake.channel, stage->fake.peer, "for a test");
    turn_a_while(stage);
    loop_skip(stage->loop, UPLINK_FIRST_PAUSE_NS);
    until(stage, &stage->results, 1);
    assert_string_equal(stage->report.error, "closed: the connection to the controller is gone");
}

static void new_limits_are_for_new_sessions(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    open_session(stage, "A", END_ECHO);
    until(stage, &stage->opened, 1);
    write_config(stage, "admission:\n  max_payload: 128\n");
    reload(stage);
    open_session(stage, "B", END_ECHO);
    until(stage, &stage->refused, 1);
    assert_non_null(strstr(stage->reason, "max_payload allows 128"));
    close_session(stage, "A");
    until(stage, &stage->closed, 1);
    assert_int_equal(stage->fake.hellos, 1);
}

static void a_broken_configuration_changes_nothing(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    write_config(stage, "admission:\n  max_payloat: 128\n");
    reload(stage);
    assert_true(is_logged(stage, "the old configuration stays"));
    assert_true(is_logged(stage, "max_payloat"));
    open_session(stage, "A", END_ECHO);
    until(stage, &stage->opened, 1);
}

static void another_controller_is_connected_to(void **state)
{
    struct stage *stage = *state;
    struct fake_controller second;

    fake_controller_init(&second, stage->loop, stage->controller);
    start_connected(stage);
    stage->port = fake_controller_listen(&second, 0);
    write_config(stage, "");
    reload(stage);
    until(stage, &second.hellos, 1);
    turn_a_while(stage);
    assert_int_equal(channel_peers(stage->fake.channel), 0);
    fake_controller_done(&second);
}

/* --- certificates ----------------------------------------------------------------------------- */

static void copy(const char *from, const char *to)
{
    struct buf bytes;

    buf_init(&bytes, 1 << 20);
    assert_int_equal(file_read(from, &bytes, NULL), STATUS_OK);
    assert_int_equal(file_write_whole(to, bytes.data, bytes.length, NULL), STATUS_OK);
    buf_done(&bytes);
}

static void changed_certificates_are_read_within_a_minute(void **state)
{
    struct stage *stage = *state;
    struct tls_files fresh;

    start_connected(stage);
    certs_good(stage->certs, stage->ca, "spiffe://test/agent/a", &fresh);
    copy(fresh.key, stage->files.key);
    assert_int_equal(chmod(stage->files.key, 0600), 0);
    copy(fresh.certificate, stage->files.certificate);
    assert_false(is_logged(stage, "certificates read anew"));
    loop_skip(stage->loop, 20 * NS_PER_S);
    turn_a_while(stage);
    loop_skip(stage->loop, 20 * NS_PER_S);
    turn_a_while(stage);
    loop_skip(stage->loop, 20 * NS_PER_S);
    turn_a_while(stage);
    assert_true(is_logged(stage, "certificates read anew"));
    assert_int_equal(stage->fake.ups, 1);
}

static void broken_certificates_leave_the_old_ones(void **state)
{
    struct stage *stage = *state;

    start_connected(stage);
    assert_int_equal(file_write_whole(stage->files.certificate, "no\n", 3, NULL), STATUS_OK);
    reload(stage);
    assert_true(is_logged(stage, "the old ones stay"));
    assert_true(is_logged(stage, stage->files.certificate));
    channel_close(stage->fake.channel, stage->fake.peer, "for a test");
    turn_a_while(stage);
    loop_skip(stage->loop, UPLINK_FIRST_PAUSE_NS);
    until(stage, &stage->fake.hellos, 2);
}

static void an_end_that_is_near_is_told(void **state)
{
    struct stage *stage = *state;
    const struct certs_wish wish = {
        .uris = { "spiffe://test/agent/a" },
        .until = { wall_now().ns + 5 * 24 * 3600 * NS_PER_S },
    };

    certs_issue(stage->certs, stage->ca, &wish, &stage->files);
    start_connected(stage);
    assert_true(is_logged(stage, "this agent's certificate ends in 4 days"));
}

/* --- the start -------------------------------------------------------------------------------- */

static void assert_no_start(struct stage *stage, const char *words)
{
    struct agent *agent;
    struct fault fault = { "" };

    assert_int_not_equal(agent_new(stage->loop, stage->config, &agent, &fault), STATUS_OK);
    if (strstr(fault.text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, fault.text);
}

static void what_is_missing_is_named(void **state)
{
    struct stage *stage = *state;

    assert_no_start(stage, "agent.yaml");
    write_config(stage, "nonsense: 1\n");
    assert_no_start(stage, "nonsense");
    write_config(stage, "");
    assert_int_equal(unlink(stage->files.key), 0);
    assert_no_start(stage, stage->files.key);
}

static void systemd_hears_of_it(void **state)
{
    struct stage *stage = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = certs_path(stage->certs, "notify");
    char text[512];
    ssize_t length;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    assert_true(fd >= 0);
    text_copy(address.sun_path, sizeof address.sun_path, path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", path, 1);
    fake_controller_done(&stage->fake); /* it need not be there */
    write_config(stage, "");
    start_agent(stage);
    assert_null(getenv("NOTIFY_SOCKET"));
    length = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    assert_true(length > 0);
    text[length] = '\0';
    assert_non_null(strstr(text, "READY=1"));
    close(fd);
    unlink(path);
}

/* --- idle ------------------------------------------------------------------------------------- */

static void stop_loop(void *context, struct mono now)
{
    (void)now;
    loop_stop(context);
}

/* Nothing is asked of it: it wakes at most twice a second. */
static void idle_it_sleeps(void **state)
{
    struct stage *stage = *state;
    struct loop_timer timer = { .handler = stop_loop, .context = stage->loop };
    uint64_t before;

    start_connected(stage);
    before = loop_turns(stage->loop);
    loop_timer_set(stage->loop, &timer, mono_after(loop_now(stage->loop), 3 * NS_PER_S));
    loop_run(stage->loop);
    /* The controller's side is on the same loop and counted too. */
    assert_in_range(loop_turns(stage->loop) - before, 1, 6);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, stage_set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(it_connects_and_says_what_it_is),
        UNIT(a_result_leaves_the_spool_once_it_is_committed),
        UNIT(two_sessions_of_one_agent_agree),
        UNIT(stopping_reports_what_is_open),
        UNIT(asked_twice_it_stops_at_once),
        UNIT(a_controller_that_goes_closes_the_sessions),
        UNIT(new_limits_are_for_new_sessions),
        UNIT(a_broken_configuration_changes_nothing),
        UNIT(another_controller_is_connected_to),
        UNIT(changed_certificates_are_read_within_a_minute),
        UNIT(broken_certificates_leave_the_old_ones),
        UNIT(an_end_that_is_near_is_told),
        UNIT(what_is_missing_is_named),
        UNIT(systemd_hears_of_it),
        UNIT(idle_it_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
