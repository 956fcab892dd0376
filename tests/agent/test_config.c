/* Every key has its default; what a file says is taken; what it must not say is refused, file and
 * key being named. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "agent/config.h"
#include "proto/base/file.h"
#include "proto/base/log.h"
#include "proto/wire/limits.h"
#include "proto/wire/record_yaml.h"

#define ADDRESS "controller:\n  address: controller.example.org:7862\n"

static char folder[64], path[80];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test-config-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/agent.yaml", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static enum status load(const char *text, struct agent_config *out_config, struct fault *fault)
{
    fault->text[0] = '\0';
    assert_int_equal(file_write_whole(path, text, strlen(text), NULL), STATUS_OK);
    return agent_config_load(path, out_config, fault);
}

static void must_load(const char *text, struct agent_config *out_config)
{
    struct fault fault;

    if (load(text, out_config, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

/* It is refused; the fault begins with the file and says both words. */
static void assert_refused(const char *text, const char *key, const char *said)
{
    static struct agent_config untouched, config;
    struct fault fault;

    memset(&config, 0x5a, sizeof config);
    untouched = config;
    if (load(text, &config, &fault) == STATUS_OK)
        fail_msg("was taken:\n%s", text);
    if (strncmp(fault.text, path, strlen(path)) != 0 || strstr(fault.text, key) == NULL ||
        strstr(fault.text, said) == NULL)
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", fault.text, key, said);
    assert_memory_equal(&config, &untouched, sizeof config);
}

static void assert_defaults(const struct agent_config *config)
{
    const struct admission_config *admission = &config->admission;

    assert_string_equal(config->controller.server_name, "");
    assert_string_equal(config->tls.ca, "/etc/sonde/ca.pem");
    assert_string_equal(config->tls.certificate, "/etc/sonde/agent.pem");
    assert_string_equal(config->tls.key, "/etc/sonde/agent-key.pem");
    assert_string_equal(config->tls.crl, "");
    assert_int_equal(admission->peers.count, 0);
    assert_int_equal(admission->max_payload, 65507);
    assert_int_equal(admission->max_rate, 0);
    assert_true(admission->max_seconds == 120);
    assert_int_equal(admission->max_sessions, 4);
    assert_int_equal(admission->max_clients, 1024);
    assert_int_equal(admission->max_outstanding, 262144);
    assert_int_equal(admission->max_socket_buffer, 67108864);
    assert_int_equal(admission->max_io_threads, 8);
    assert_true(admission->allow_sender && admission->allow_echo);
    assert_string_equal(config->echo.bind_ipv4, "0.0.0.0");
    assert_string_equal(config->echo.bind_ipv6, "::");
    assert_int_equal(config->echo.first_port, 7870);
    assert_int_equal(config->echo.last_port, 7899);
    assert_string_equal(config->spool.path, "/var/lib/sonde-agent/spool.sqlite");
    assert_int_equal(config->spool.max_bytes, 67108864);
    assert_int_equal(config->log_level, LOG_LEVEL_INFO);
}

static void every_key_has_its_default(void **state)
{
    static struct agent_config config;
    struct fault fault;

    (void)state;
    agent_config_init(&config);
    assert_string_equal(config.controller.address, "");
    assert_defaults(&config);
    if (record_check(&agent_config_record, &config, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    record_done(&agent_config_record, &config);
    must_load(ADDRESS, &config);
    assert_string_equal(config.controller.address, "controller.example.org:7862");
    assert_defaults(&config);
    record_done(&agent_config_record, &config);
}

static void what_the_file_says_is_taken(void **state)
{
    static struct agent_config config;
    char *const *peers;

    (void)state;
    must_load("controller: { address: \"[2001:db8::1]:7862\", server_name: ctl.example.org }\n"
              "tls: { ca: a, certificate: b, key: c, crl: d }\n"
              "admission:\n"
              "  peers: [10.0.0.0/8, \"fd00::/8\", 192.0.2.7]\n"
              "  max_payload: 1_472\n  max_rate: 20000\n  max_seconds: 2.5\n"
              "  max_sessions: 1\n  max_clients: 2\n  max_outstanding: 3\n"
              "  max_socket_buffer: 4\n  max_io_threads: 5\n"
              "  allow_sender: false\n  allow_echo: true\n"
              "echo: { bind_ipv4: 192.0.2.1, bind_ipv6: \"2001:db8::2\", first_port: 9000,"
              " last_port: 9000 }\n"
              "spool: { path: /s, max_bytes: 8388608 }\n"
              "log_level: debug\n",
              &config);
    peers = config.admission.peers.items;
    assert_string_equal(config.controller.server_name, "ctl.example.org");
    assert_string_equal(config.tls.crl, "d");
    assert_int_equal(config.admission.peers.count, 3);
    assert_string_equal(peers[1], "fd00::/8");
    assert_int_equal(config.admission.max_payload, 1472);
    assert_int_equal(config.admission.max_rate, 20000);
    assert_true(config.admission.max_seconds == 2.5);
    assert_false(config.admission.allow_sender);
    assert_int_equal(config.echo.last_port, 9000);
    assert_string_equal(config.spool.path, "/s");
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    record_done(&agent_config_record, &config);
}

static void levels_are_those_of_the_log(void **state)
{
    static const struct {
        const char *name;
        enum log_level level;
    } levels[] = { { "error", LOG_LEVEL_ERROR },
                   { "warning", LOG_LEVEL_WARNING },
                   { "info", LOG_LEVEL_INFO },
                   { "debug", LOG_LEVEL_DEBUG } };
    static struct agent_config config;
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        snprintf(text, sizeof text, ADDRESS "log_level: %s\n", levels[i].name);
        must_load(text, &config);
        assert_int_equal(config.log_level, levels[i].level);
        record_done(&agent_config_record, &config);
    }
    assert_refused(ADDRESS "log_level: verbose\n", "log_level", "one of error, warning");
}

static void the_controller_is_a_host_and_a_port(void **state)
{
    static const char *const bad[] = { "host",       "host:",      ":7862",  "host:0",
                                       "host:65536", "host:7862x", "host:+1" };
    static struct agent_config config;
    char text[128];

    (void)state;
    assert_refused("", "controller.address", "is missing");
    assert_refused("controller: { address: \"\" }", "controller.address", "is missing");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "controller: { address: \"%s\" }", bad[i]);
        assert_refused(text, "controller.address", "as in controller.example.org:7862");
    }
    assert_refused("controller: { address: \"2001:db8::1:7862\" }", "controller.address",
                   "in brackets");
    must_load("controller: { address: \"192.0.2.1:1\" }", &config);
    record_done(&agent_config_record, &config);
}

static void files_must_be_named(void **state)
{
    (void)state;
    assert_refused(ADDRESS "tls: { ca: \"\" }", "tls.ca", "path is needed");
    assert_refused(ADDRESS "tls: { certificate: \"\" }", "tls.certificate", "path is needed");
    assert_refused(ADDRESS "tls: { key: \"\" }", "tls.key", "path is needed");
    assert_refused(ADDRESS "spool: { path: \"\" }", "spool.path", "path is needed");
}

static void ranges_and_addresses_are_checked(void **state)
{
    (void)state;
    assert_refused(ADDRESS "admission: { peers: [10.0.0.0/8, 10.0.0.0/33] }", "admission.peers",
                   "\"10.0.0.0/33\": the prefix of an IPv4 range is 0 to 32");
    assert_refused(ADDRESS "admission: { peers: [10.0.0.1/8] }", "admission.peers",
                   "10.0.0.0/8 is the range");
    assert_refused(ADDRESS "admission: { peers: [example.org] }", "admission.peers", "no IPv4");
    assert_refused(ADDRESS "echo: { bind_ipv4: \"::\" }", "echo.bind_ipv4", "0.0.0.0 for all");
    assert_refused(ADDRESS "echo: { bind_ipv6: 0.0.0.0 }", "echo.bind_ipv6", ":: for all");
    assert_refused(ADDRESS "echo: { bind_ipv4: \"127.0.0.1:1\" }", "echo.bind_ipv4", "no IPv6");
    assert_refused(ADDRESS "echo: { bind_ipv4: localhost }", "echo.bind_ipv4", "no IPv4 or IPv6");
    assert_refused(ADDRESS "echo: { first_port: 7900 }", "echo.last_port",
                   "7899 is below first_port, 7900");
    assert_refused(ADDRESS "admission: { allow_sender: false, allow_echo: false }",
                   "admission.allow_sender", "nothing is left");
}

static void numbers_have_limits(void **state)
{
    static const struct {
        const char *section, *key, *value;
    } cases[] = {
        { "admission", "max_payload", "111" },
        { "admission", "max_payload", "65528" },
        { "admission", "max_rate", "-1" },
        { "admission", "max_seconds", "0" },
        { "admission", "max_seconds", "172801" },
        { "admission", "max_sessions", "0" },
        { "admission", "max_clients", "65001" },
        { "admission", "max_outstanding", "0" },
        { "admission", "max_io_threads", "257" },
        { "admission", "max_socket_buffer", "0" },
        { "echo", "first_port", "0" },
        { "echo", "last_port", "65536" },
        { "spool", "max_bytes", "1048576" },
        { "admission", "allow_echo", "1" },
        { "admission", "max_payload", "\"1472\"" },
        { "admission", "max_payload", "1.5" },
    };
    char text[160];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, ADDRESS "%s: { %s: %s }", cases[i].section, cases[i].key,
                 cases[i].value);
        assert_refused(text, cases[i].key, cases[i].section);
    }
}

static void other_keys_and_broken_files_are_refused(void **state)
{
    static struct agent_config config;
    struct fault fault;
    char *large;

    (void)state;
    assert_refused(ADDRESS "admision: {}\n", "admision", "admission");
    assert_refused(ADDRESS "spool: { pth: x }\n", "pth", "path");
    assert_refused(ADDRESS ADDRESS, "controller", ":3");
    assert_refused("controller: [\n", ":", "");
    assert_refused("\t", ":", "");
    large = malloc(LIMIT_CONFIG_BYTES + 2);
    assert_non_null(large);
    memset(large, '#', LIMIT_CONFIG_BYTES + 1);
    large[LIMIT_CONFIG_BYTES + 1] = '\0';
    assert_int_equal(load(large, &config, &fault), STATUS_TOO_LARGE);
    free(large);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(agent_config_load(path, &config, &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, path));
}

/* The example file is made so. */
static void what_is_written_reads_back(void **state)
{
    static struct agent_config config, again;
    struct buf first, second;

    (void)state;
    buf_init(&first, LIMIT_CONFIG_BYTES);
    buf_init(&second, LIMIT_CONFIG_BYTES);
    must_load(ADDRESS "admission: { peers: [10.0.0.0/8] }\nlog_level: error", &config);
    assert_int_equal(record_to_yaml(&agent_config_record, &config, &first), STATUS_OK);
    must_load(buf_peek(&first), &again);
    assert_int_equal(record_to_yaml(&agent_config_record, &again, &second), STATUS_OK);
    assert_string_equal(buf_peek(&first), buf_peek(&second));
    assert_int_equal(again.admission.peers.count, 1);
    assert_int_equal(again.log_level, LOG_LEVEL_ERROR);
    record_done(&agent_config_record, &config);
    record_done(&agent_config_record, &again);
    buf_done(&first);
    buf_done(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_its_default),
        cmocka_unit_test(what_the_file_says_is_taken),
        cmocka_unit_test(levels_are_those_of_the_log),
        cmocka_unit_test(the_controller_is_a_host_and_a_port),
        cmocka_unit_test(files_must_be_named),
        cmocka_unit_test(ranges_and_addresses_are_checked),
        cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(other_keys_and_broken_files_are_refused),
        cmocka_unit_test(what_is_written_reads_back),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
