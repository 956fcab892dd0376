/* Each limit refuses what is one above it, in words that name its key, and lets pass what is at
 * it; orders that make no sense are refused whatever the limits are. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <net/if.h>
#include <stdio.h>

#include "agent/admission.h"

static uint8_t key[SESSION_KEY_SIZE];

/* Limits that the order below just meets. */
static struct admission_config limits(void)
{
    return (struct admission_config){
        .max_payload = 1472,
        .max_seconds = 2.5,
        .max_sessions = 2,
        .max_clients = 4,
        .max_outstanding = 64,
        .max_socket_buffer = 4096,
        .max_io_threads = 3,
        .allow_sender = true,
        .allow_echo = true,
    };
}

static struct message_open order(void)
{
    return (struct message_open){
        .type = MESSAGE_OPEN,
        .session = "11111111-1111-4111-8111-111111111111",
        .role = END_SENDER,
        .key = { .data = key, .length = sizeof key },
        .ssid = 1,
        .target = "10.9.2.2:7900",
        .of_case.params = {
            .payload = 1472,
            .window = 16,
            .repeat = 1,
            .common = {
                .family = FAMILY_IPV4,
                .clients = 4,
                .io_threads = 3,
                .warmup_s = 0.5,
                .seconds = 2,
                .rcvbuf = 4096,
                .sndbuf = 4096,
            },
        },
    };
}

static struct message_open echo_order(void)
{
    struct message_open open = order();

    open.role = END_ECHO;
    open.target[0] = '\0';
    return open;
}

static void set_target(struct message_open *open, const char *target)
{
    snprintf(open->target, sizeof open->target, "%s", target);
}

static enum status ask(const struct admission_config *config, const struct message_open *open,
                       size_t sessions, struct fault *fault)
{
    struct admission *admission = admission_new(config);
    enum status status;

    fault->text[0] = '\0';
    status = admission_check(admission, open, sessions, fault);
    admission_free(admission);
    return status;
}

static void assert_opens(const struct admission_config *config, const struct message_open *open)
{
    struct fault fault;

    if (ask(config, open, 0, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void assert_denied(const struct admission_config *config, const struct message_open *open,
                          const char *words)
{
    struct fault fault;

    assert_int_equal(ask(config, open, 0, &fault), STATUS_DENIED);
    assert_string_equal(fault.text, words);
}

static void assert_senseless(const struct message_open *open, const char *said)
{
    const struct admission_config config = limits();
    struct fault fault;

    if (ask(&config, open, 0, &fault) != STATUS_INVALID || strstr(fault.text, said) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.text, said);
}

static void what_meets_every_limit_is_opened(void **state)
{
    const struct admission_config config = limits();
    const struct message_open sender = order(), echo = echo_order();

    (void)state;
    assert_opens(&config, &sender);
    assert_opens(&config, &echo);
}

static void what_is_above_a_limit_is_denied_in_its_words(void **state)
{
    const struct admission_config config = limits();
    struct message_open open;

    (void)state;
    open = order();
    open.of_case.params.payload = 8192;
    assert_denied(&config, &open, "admission.max_payload allows 1472 bytes, 8192 were asked for");
    open = order();
    open.of_case.params.common.clients = 5;
    assert_denied(&config, &open, "admission.max_clients allows 4 clients, 5 were asked for");
    open = order();
    open.of_case.params.window = 17;
    assert_denied(&config, &open,
                  "admission.max_outstanding allows 64 datagrams outstanding, 68 were asked for");
    open = echo_order();
    open.of_case.params.common.rcvbuf = 4097;
    assert_denied(&config, &open,
                  "admission.max_socket_buffer allows 4096 bytes to receive into, 4097 were asked "
                  "for");
    open = order();
    open.of_case.params.common.sndbuf = 4097;
    assert_denied(&config, &open,
                  "admission.max_socket_buffer allows 4096 bytes to send from, 4097 were asked "
                  "for");
    open = order();
    open.of_case.params.common.io_threads = 4;
    assert_denied(&config, &open, "admission.max_io_threads allows 3 threads, 4 were asked for");
    open = order();
    open.of_case.params.common.warmup_s = 0.75;
    assert_denied(&config, &open, "admission.max_seconds allows 2.5 seconds, 2.75 were asked for");
    open = order();
    open.of_case.params.common.seconds = (double)NAN;
    assert_denied(&config, &open, "admission.max_seconds allows 2.5 seconds, nan were asked for");
    open = echo_order();
    open.of_case.idle_s = 3600;
    assert_denied(&config, &open,
                  "admission.max_seconds allows 2.5 seconds, 3600 were asked for as idle interval");
}

static void sessions_at_once_are_counted(void **state)
{
    const struct admission_config config = limits();
    const struct message_open open = order();
    struct fault fault;

    (void)state;
    assert_int_equal(ask(&config, &open, 1, &fault), STATUS_OK);
    assert_int_equal(ask(&config, &open, 2, &fault), STATUS_DENIED);
    assert_string_equal(fault.text, "admission.max_sessions allows 2 sessions at once, 2 are open");
}

static void a_rate_is_what_all_clients_send_and_a_closed_loop_has_none(void **state)
{
    struct admission_config config = limits();
    struct message_open open = order();

    (void)state;
    config.max_rate = 64000; /* 4 clients x 16 datagrams each millisecond */
    open.of_case.params.common.interval_ns = 1000000;
    assert_opens(&config, &open);
    open.of_case.params.common.interval_ns = 999999;
    assert_denied(&config, &open,
                  "admission.max_rate allows 64000 datagrams a second, 64001 were asked for");
    open.of_case.params.common.interval_ns = 0;
    assert_denied(&config, &open,
                  "admission.max_rate allows 64000 datagrams a second, a closed loop, which has no "
                  "rate, was asked for (interval_ns is 0)");
    config.max_rate = 0;
    assert_opens(&config, &open);
}

static void a_role_can_be_closed(void **state)
{
    const struct message_open sender = order(), echo = echo_order();
    struct admission_config config = limits();

    (void)state;
    config.allow_sender = false;
    assert_opens(&config, &echo);
    assert_denied(&config, &sender,
                  "admission.allow_sender is false: this host does not take the sender role");
    config = limits();
    config.allow_echo = false;
    assert_opens(&config, &sender);
    assert_denied(&config, &echo,
                  "admission.allow_echo is false: this host does not take the echo role");
}

/* --- peers --- */

static void add_peer(struct admission_config *config, const char *range)
{
    char **peer = list_append_sized(&config->peers, sizeof *peer);

    *peer = strdup(range);
    assert_non_null(*peer);
}

static void free_peers(struct admission_config *config)
{
    for (size_t i = 0; i < config->peers.count; i++)
        free(((char **)config->peers.items)[i]);
    free(config->peers.items);
}

static void only_peers_are_sent_to(void **state)
{
    struct admission_config config = limits();
    struct message_open open = order(), echo = echo_order();

    (void)state;
    add_peer(&config, "10.9.3.0/24");
    assert_denied(&config, &open,
                  "admission.peers allows 1 range of hosts, 10.9.2.2:7900 is in none");
    assert_opens(&config, &echo); /* who comes is asked later: admission_allows_host */
    add_peer(&config, "10.9.2.2");
    assert_opens(&config, &open);
    set_target(&open, "10.9.2.3:7900");
    assert_denied(&config, &open,
                  "admission.peers allows 2 ranges of hosts, 10.9.2.3:7900 is in none");
    free_peers(&config);
}

static bool allows(const struct admission *admission, const char *host)
{
    struct addr addr;

    assert_int_equal(addr_parse(host, &addr, NULL), STATUS_OK);
    return admission_allows_host(admission, &addr);
}

static void hosts_are_allowed_by_range_or_all(void **state)
{
    struct admission_config config = limits();
    struct admission *admission = admission_new(&config);

    (void)state;
    assert_true(allows(admission, "192.0.2.1:5"));
    assert_true(allows(admission, "[2001:db8::1]:5"));
    admission_free(admission);
    add_peer(&config, "10.0.0.0/8");
    add_peer(&config, "fd00::/8");
    admission = admission_new(&config);
    free_peers(&config); /* it has a copy */
    assert_true(allows(admission, "10.255.0.1:5"));
    assert_true(allows(admission, "[::ffff:10.255.0.1]:5"));
    assert_true(allows(admission, "[fd12::1]:5"));
    assert_false(allows(admission, "11.0.0.1:5"));
    assert_false(allows(admission, "[2001:db8::1]:5"));
    admission_free(admission);
    admission_free(NULL);
}

/* --- sense --- */

static void a_key_and_ssids_must_be_there(void **state)
{
    const struct admission_config config = limits();
    struct message_open open = order();

    (void)state;
    open.key.length = 31;
    assert_senseless(&open, "key: 32 bytes are needed, 31 were given");
    open.key = (struct bytes){ .data = NULL };
    assert_senseless(&open, "0 were given");
    open = order();
    open.ssid = 0;
    assert_senseless(&open, "ssid: 0 is not allowed: 1 to 65532");
    open.ssid = 65533;
    assert_senseless(&open, "65533");
    open.ssid = 65532;
    assert_opens(&config, &open);
}

static void payloads_are_those_of_authenticated_datagrams(void **state)
{
    static const int64_t good[] = { 112, 116, 117, 65507 }, bad[] = { 44, 111, 113, 115, 65508 };
    struct admission_config config = limits();
    struct message_open open = order();

    (void)state;
    config.max_payload = 65527;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        open.of_case.params.payload = good[i];
        assert_opens(&config, &open);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        open.of_case.params.payload = bad[i];
        assert_senseless(&open,
                         "112 (a bare authenticated STAMP datagram), or 116 to 65507 (ipv4)");
    }
    open.of_case.params.common.family = FAMILY_IPV6;
    set_target(&open, "[2001:db8::1]:7900");
    open.of_case.params.payload = 65527;
    assert_opens(&config, &open);
    open.of_case.params.payload = 65528;
    assert_senseless(&open, "116 to 65527 (ipv6)");
}

static void what_is_outstanding_has_an_end_of_its_own(void **state)
{
    struct message_open open = order();

    (void)state;
    open.of_case.params.common.clients = 65;
    open.of_case.params.window = 65536;
    assert_senseless(&open, "at most 4194304 datagrams");
}

static void a_target_is_one_host_of_the_family(void **state)
{
    static const struct {
        const char *target, *said;
        enum family family;
    } cases[] = {
        { "", "no port", FAMILY_IPV4 },
        { "localhost:7900", "no IPv4 address", FAMILY_IPV4 },
        { "10.9.2.2", "no port", FAMILY_IPV4 },
        { "10.9.2.2:0", "its port is 0", FAMILY_IPV4 },
        { "0.0.0.0:7900", "no host has this address", FAMILY_IPV4 },
        { "0.1.2.3:7900", "no host has this address", FAMILY_IPV4 },
        { "255.255.255.255:7900", "every host's", FAMILY_IPV4 },
        { "224.0.0.1:7900", "a group's", FAMILY_IPV4 },
        { "239.255.255.255:7900", "a group's", FAMILY_IPV4 },
        { "[::ffff:224.0.0.1]:7900", "a group's", FAMILY_IPV4 },
        { "10.9.2.2:7900", "asks for ipv6", FAMILY_IPV6 },
        { "[2001:db8::1]:7900", "asks for ipv4", FAMILY_IPV4 },
        { "[2001:db8::1]:0", "its port is 0", FAMILY_IPV6 },
        { "[::]:7900", "no host has this address", FAMILY_IPV6 },
        { "[ff02::1]:7900", "a group's", FAMILY_IPV6 },
        { "[fe80::1]:7900", "needs a zone", FAMILY_IPV6 },
        { "[fe80::1%no-such-if]:7900", "no interface", FAMILY_IPV6 },
    };
    struct message_open open = order();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_target(&open, cases[i].target);
        open.of_case.params.common.family = cases[i].family;
        assert_senseless(&open, cases[i].said);
        assert_senseless(&open, "target: ");
    }
}

static void a_link_local_target_has_its_zone(void **state)
{
    struct admission_config config = limits();
    struct message_open open = order();
    char name[IF_NAMESIZE], target[ADDR_TEXT_SIZE];

    (void)state;
    assert_non_null(if_indextoname(1, name));
    snprintf(target, sizeof target, "[fe80::1%%%s]:7900", name);
    set_target(&open, target);
    open.of_case.params.common.family = FAMILY_IPV6;
    assert_opens(&config, &open);
    add_peer(&config, "fe80::/10");
    assert_opens(&config, &open);
    free_peers(&config);
}

static void the_echo_role_has_no_target(void **state)
{
    struct message_open open = order();

    (void)state;
    open.role = END_ECHO;
    assert_senseless(&open, "target: \"10.9.2.2:7900\" is not allowed: the echo role has none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_meets_every_limit_is_opened),
        cmocka_unit_test(what_is_above_a_limit_is_denied_in_its_words),
        cmocka_unit_test(sessions_at_once_are_counted),
        cmocka_unit_test(a_rate_is_what_all_clients_send_and_a_closed_loop_has_none),
        cmocka_unit_test(a_role_can_be_closed),
        cmocka_unit_test(only_peers_are_sent_to),
        cmocka_unit_test(hosts_are_allowed_by_range_or_all),
        cmocka_unit_test(a_key_and_ssids_must_be_there),
        cmocka_unit_test(payloads_are_those_of_authenticated_datagrams),
        cmocka_unit_test(what_is_outstanding_has_an_end_of_its_own),
        cmocka_unit_test(a_target_is_one_host_of_the_family),
        cmocka_unit_test(a_link_local_target_has_its_zone),
        cmocka_unit_test(the_echo_role_has_no_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
