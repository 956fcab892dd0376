/* A service manager hears what is told it, and who has none or a bad one goes on in silence. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/log.h"
#include "proto/link/notify.h"

struct manager {
    int fd;
    char folder[64], path[100];
    unsigned warnings;
};

static void count_warning(void *context, enum log_level level, const char *line)
{
    struct manager *manager = context;

    (void)line;
    assert_int_equal(level, LOG_LEVEL_WARNING);
    manager->warnings++;
}

static int make_manager(void **state)
{
    struct manager *manager = calloc(1, sizeof *manager);
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    assert_non_null(manager);
    snprintf(manager->folder, sizeof manager->folder, "/tmp/sonde-notify-XXXXXX");
    assert_non_null(mkdtemp(manager->folder));
    snprintf(manager->path, sizeof manager->path, "%s/notify", manager->folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", manager->path);
    manager->fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(manager->fd, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", manager->path, 1);
    log_to(count_warning, manager, LOG_LEVEL_WARNING);
    *state = manager;
    return 0;
}

static int free_manager(void **state)
{
    struct manager *manager = *state;

    log_to(NULL, NULL, LOG_LEVEL_WARNING);
    close(manager->fd);
    unlink(manager->path);
    rmdir(manager->folder);
    free(manager);
    return 0;
}

static void expect(const struct manager *manager, const char *text)
{
    char got[1000];
    ssize_t length = recv(manager->fd, got, sizeof got - 1, MSG_DONTWAIT);

    assert_true(length >= 0);
    got[length] = '\0';
    assert_string_equal(got, text);
}

static void expect_silence(const struct manager *manager)
{
    char byte;

    assert_int_equal(recv(manager->fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
}

static void each_event_is_told_in_its_words(void **state)
{
    const struct manager *manager = *state;
    struct notify notify;

    notify_init(&notify);
    notify_ready(&notify, "12 agents");
    expect(manager, "READY=1\nSTATUS=12 agents");
    notify_reloading(&notify, (struct mono){ 1234567890 });
    expect(manager, "RELOADING=1\nMONOTONIC_USEC=1234567");
    notify_watchdog(&notify);
    expect(manager, "WATCHDOG=1");
    notify_status(&notify, "13 agents");
    expect(manager, "STATUS=13 agents");
    notify_stopping(&notify);
    expect(manager, "STOPPING=1");
    notify_done(&notify);
    notify_watchdog(&notify);
    expect_silence(manager);
    assert_int_equal(manager->warnings, 0);
}

static void a_status_stays_one_line_and_short(void **state)
{
    const struct manager *manager = *state;
    struct notify notify;
    char text[2000], expected[300] = "STATUS=";

    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    memset(expected + 7, 'a', 255);
    notify_init(&notify);
    notify_status(&notify, "x\nREADY=1");
    expect(manager, "STATUS=x?READY=1");
    notify_status(&notify, text);
    expect(manager, expected);
    notify_done(&notify);
}

static void the_environment_is_not_handed_on(void **state)
{
    struct notify notify;

    (void)state;
    setenv("WATCHDOG_USEC", "1", 1);
    setenv("WATCHDOG_PID", "1", 1);
    notify_init(&notify);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    notify_done(&notify);
}

static int64_t watchdog_of(const struct manager *manager, const char *usec, const char *pid)
{
    struct notify notify;
    int64_t result;

    setenv("NOTIFY_SOCKET", manager->path, 1);
    setenv("WATCHDOG_USEC", usec, 1);
    if (pid != NULL)
        setenv("WATCHDOG_PID", pid, 1);
    notify_init(&notify);
    assert_int_not_equal(notify.fd, -1);
    result = notify.watchdog_ns;
    notify_done(&notify);
    return result;
}

static void the_watchdog_is_fed_twice_as_often_as_asked(void **state)
{
    const struct manager *manager = *state;
    char us[32], other[32];

    snprintf(us, sizeof us, "%d", (int)getpid());
    snprintf(other, sizeof other, "%d", (int)getpid() + 1);
    assert_int_equal(watchdog_of(manager, "30000000", NULL), 15 * NS_PER_S);
    assert_int_equal(watchdog_of(manager, "30000000", us), 15 * NS_PER_S);
    assert_int_equal(watchdog_of(manager, "30000000", other), 0);
    assert_int_equal(manager->warnings, 0);
    assert_int_equal(watchdog_of(manager, "0", NULL), 0);
    assert_int_equal(watchdog_of(manager, "-5", NULL), 0);
    assert_int_equal(watchdog_of(manager, "1e9", NULL), 0);
    assert_int_equal(watchdog_of(manager, "18446744073709551615", NULL), 0);
    assert_int_equal(watchdog_of(manager, "30000000", "me"), 0);
    assert_int_equal(manager->warnings, 5);
}

static void a_bad_socket_is_a_warning(void **state)
{
    static const char *const bad[] = { "", "/", "@", "relative", "vsock:2:1234", "/no/such/path" };
    const struct manager *manager = *state;
    char long_path[300];
    struct notify notify;
    unsigned expected = 0;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("NOTIFY_SOCKET", bad[i], 1);
        notify_init(&notify);
        assert_int_equal(notify.fd, -1);
        assert_int_equal(manager->warnings, ++expected);
        notify_ready(&notify, "");
    }
    memset(long_path, '/', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    setenv("NOTIFY_SOCKET", long_path, 1);
    notify_init(&notify);
    assert_int_equal(notify.fd, -1);
    assert_int_equal(manager->warnings, ++expected);
    expect_silence(manager);
}

static void a_manager_that_is_gone_does_not_stop_anybody(void **state)
{
    struct manager *manager = *state;
    struct notify notify;

    notify_init(&notify);
    close(manager->fd);
    notify_watchdog(&notify);
    assert_int_equal(manager->warnings, 1);
    notify_done(&notify);
}

static void a_manager_that_does_not_read_does_not_block(void **state)
{
    const struct manager *manager = *state;
    struct notify notify;

    notify_init(&notify);
    for (unsigned i = 0; i < 100000 && manager->warnings == 0; i++)
        notify_watchdog(&notify);
    assert_int_equal(manager->warnings, 1);
    notify_done(&notify);
}

static void without_a_manager_nothing_happens(void **state)
{
    const struct manager *manager = *state;
    struct notify notify;

    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "30000000", 1);
    notify_init(&notify);
    assert_int_equal(notify.fd, -1);
    assert_int_equal(notify.watchdog_ns, 0);
    notify_ready(&notify, "x");
    notify_stopping(&notify);
    notify_done(&notify);
    expect_silence(manager);
    assert_int_equal(manager->warnings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_event_is_told_in_its_words, make_manager,
                                        free_manager),
        cmocka_unit_test_setup_teardown(a_status_stays_one_line_and_short, make_manager,
                                        free_manager),
        cmocka_unit_test_setup_teardown(the_environment_is_not_handed_on, make_manager,
                                        free_manager),
        cmocka_unit_test_setup_teardown(the_watchdog_is_fed_twice_as_often_as_asked, make_manager,
                                        free_manager),
        cmocka_unit_test_setup_teardown(a_bad_socket_is_a_warning, make_manager, free_manager),
        cmocka_unit_test_setup_teardown(a_manager_that_is_gone_does_not_stop_anybody, make_manager,
                                        free_manager),
        cmocka_unit_test_setup_teardown(a_manager_that_does_not_read_does_not_block, make_manager,
                                        free_manager),
        cmocka_unit_test_setup_teardown(without_a_manager_nothing_happens, make_manager,
                                        free_manager),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
