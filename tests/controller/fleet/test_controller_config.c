/* The controller's file: defaults, what it may say, and what is said when it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controller/fleet/config.h"
#include "proto/base/file.h"
#include "proto/base/log.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_yaml.h"

static enum status load(const char *text, struct controller_config_file *out_config,
                        struct fault *fault)
{
    char path[] = "/tmp/sonde-config-XXXXXX";
    int fd = mkstemp(path);
    enum status status;

    assert_true(fd >= 0);
    assert_int_equal((ssize_t)strlen(text), write(fd, text, strlen(text)));
    close(fd);
    status = controller_config_load(path, out_config, fault);
    unlink(path);
    return status;
}

static struct controller_config_file loaded(const char *text)
{
    struct controller_config_file config;
    struct fault fault = { "" };

    if (load(text, &config, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return config;
}

static void expect_refused(const char *text, const char *where, const char *allowed)
{
    struct controller_config_file config, before;
    struct fault fault = { "" };

    memset(&config, 7, sizeof config);
    before = config;
    assert_int_not_equal(STATUS_OK, load(text, &config, &fault));
    if (strstr(fault.text, where) == NULL || strstr(fault.text, allowed) == NULL)
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", fault.text, where, allowed);
    assert_memory_equal(&before, &config, sizeof config);
}

static void an_empty_file_means_the_defaults(void **state)
{
    struct controller_config_file config = loaded(""), defaults;
    struct fault fault = { "" };

    (void)state;
    controller_config_init(&defaults);
    assert_memory_equal(&defaults, &config, sizeof config);
    assert_int_equal(STATUS_OK, record_check(&controller_config_record, &config, &fault));
    assert_string_equal("0.0.0.0:7862", config.listen);
    assert_string_equal("/etc/sonde/controller-key.pem", config.tls.key);
    assert_string_equal("", config.tls.crl);
    assert_string_equal("/var/lib/sonde/sonde.sqlite", config.store.path);
    assert_true(config.store.keep_days == 90);
    assert_int_equal(10000, config.limits.agents);
    assert_int_equal(1024, config.limits.strangers);
    assert_int_equal(4 << 20, config.limits.outbound_bytes);
    assert_int_equal(256 << 20, config.limits.outbound_all_bytes);
    assert_int_equal(64, config.limits.runs);
    assert_int_equal(LOG_LEVEL_INFO, config.log_level);
}

static void every_key_can_be_set(void **state)
{
    struct controller_config_file config =
        loaded("listen: \"[::1]:1234\"\n"
               "tls: {ca: a.pem, certificate: c.pem, key: k.pem, crl: r.pem}\n"
               "store:\n  path: s.sqlite\n  keep_days: 0.5\n"
               "limits: {agents: 20000, strangers: 1, outbound_bytes: 2097152,\n"
               "         outbound_all_bytes: 3_000_000, runs: 1}\n"
               "log_level: debug\n");

    (void)state;
    assert_string_equal("[::1]:1234", config.listen);
    assert_string_equal("a.pem", config.tls.ca);
    assert_string_equal("c.pem", config.tls.certificate);
    assert_string_equal("k.pem", config.tls.key);
    assert_string_equal("r.pem", config.tls.crl);
    assert_string_equal("s.sqlite", config.store.path);
    assert_true(config.store.keep_days == 0.5);
    assert_int_equal(20000, config.limits.agents);
    assert_int_equal(1, config.limits.strangers);
    assert_int_equal(2097152, config.limits.outbound_bytes);
    assert_int_equal(3000000, config.limits.outbound_all_bytes);
    assert_int_equal(1, config.limits.runs);
    assert_int_equal(LOG_LEVEL_DEBUG, config.log_level);
}

static void what_is_printed_reads_back_the_same(void **state)
{
    struct controller_config_file config, again;
    struct buf text;

    (void)state;
    controller_config_init(&config);
    config.store.keep_days = 12.25;
    config.limits.runs = 7;
    buf_init(&text, LIMIT_CONFIG_BYTES);
    assert_int_equal(STATUS_OK, record_to_yaml(&controller_config_record, &config, &text));
    again = loaded(buf_peek(&text));
    assert_memory_equal(&config, &again, sizeof config);
    buf_done(&text);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    expect_refused("lissten: 1\n", "lissten", "listen");
    expect_refused("limits:\n  agents: 20001\n", "limits.agents", "20000");
    expect_refused("limits:\n  agents: 0\n", ":2", "from 1");
    expect_refused("limits: {outbound_bytes: 1000}\n", "outbound_bytes", "2097152");
    expect_refused("store: {keep_days: -1}\n", "keep_days", "0");
    expect_refused("log_level: loud\n", "log_level", "warning");
    expect_refused("listen: 7862\n", "listen", "0.0.0.0:7862");
    expect_refused("listen: \"*:7862\"\n", "listen", "0.0.0.0:7862");
    expect_refused("listen: \"localhost:7862\"\n", "listen", "0.0.0.0:7862");
    expect_refused("listen: \"0.0.0.0\"\n", "listen", "0.0.0.0:7862");
    expect_refused("tls: {key: \"\"}\n", "tls.key", "needed");
    expect_refused("store: {path: \"\"}\n", "store.path", "needed");
    expect_refused("limits: {outbound_all_bytes: 2097152}\n", "outbound_all_bytes", "4194304");
    expect_refused("listen: [\n", ":", "");
}

static void a_file_that_is_not_there_is_named(void **state)
{
    struct controller_config_file config;
    struct fault fault = { "" };

    (void)state;
    assert_int_equal(STATUS_NOT_FOUND, controller_config_load("/nowhere/x.yaml", &config, &fault));
    assert_non_null(strstr(fault.text, "/nowhere/x.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_means_the_defaults),
        cmocka_unit_test(every_key_can_be_set),
        cmocka_unit_test(what_is_printed_reads_back_the_same),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
