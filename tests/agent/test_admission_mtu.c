/* What is asked of a path MTU session, against each limit: at it lets pass, one above is refused in
 * words that name its key; and which end needs which permission. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "agent/admission.h"

static uint8_t key[SESSION_KEY_SIZE];

/* Limits that the order below just meets. */
static struct admission_config limits(void)
{
    return (struct admission_config){
        .max_payload = 1472,
        .max_rate = 1000,
        .max_seconds = 60,
        .max_sessions = 2,
        .max_clients = 4,
        .max_outstanding = 2048,
        .max_socket_buffer = 1 << 20,
        .max_io_threads = 1,
        .allow_sender = true,
        .allow_echo = true,
    };
}

static struct message_open order(enum end_role role)
{
    struct message_open open = {
        .type = MESSAGE_OPEN,
        .session = "11111111-1111-4111-8111-111111111111",
        .role = role,
        .key = { .data = key, .length = sizeof key },
        .ssid = 1,
        .kind = WORK_MTU,
    };
    struct mtu_plan plan;

    mtu_plan_init(&plan);
    plan.common.flows = 4;
    plan.common.ceiling = 1500;
    plan.common.pace = 140 * 1000;
    open.of_mtu.params = (struct mtu_params){ .family = FAMILY_IPV4, .common = plan.common };
    if (role == END_SENDER)
        snprintf(open.target, sizeof open.target, "10.9.2.2:7900");
    return open;
}

static enum status ask(const struct admission_config *config, const struct message_open *open,
                       struct fault *fault)
{
    struct admission *admission = admission_new(config);
    enum status status;

    fault->text[0] = '\0';
    status = admission_check(admission, open, 0, fault);
    admission_free(admission);
    return status;
}

static void assert_opens(const struct admission_config *config, const struct message_open *open)
{
    struct fault fault;

    if (ask(config, open, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void assert_refused(const struct admission_config *config, const struct message_open *open,
                           enum status status, const char *words)
{
    struct fault fault;

    assert_int_equal(ask(config, open, &fault), status);
    assert_string_equal(fault.text, words);
}

/* At either end. */
static void assert_denied(void (*change)(struct mtu_common *), const char *words)
{
    const struct admission_config config = limits();

    for (int role = 0; role < END_COUNT; role++) {
        struct message_open open = order((enum end_role)role);

        change(&open.of_mtu.params.common);
        assert_refused(&config, &open, STATUS_DENIED, words);
    }
}

static void what_meets_every_limit_is_opened(void **state)
{
    const struct admission_config config = limits();
    const struct message_open caller = order(END_SENDER), listener = order(END_ECHO);

    (void)state;
    assert_opens(&config, &caller);
    assert_opens(&config, &listener);
}

static void more_flows(struct mtu_common *common)
{
    common->flows = 5;
}

static void a_higher_ceiling(struct mtu_common *common)
{
    common->ceiling = 1501;
}

static void a_higher_pace(struct mtu_common *common)
{
    common->pace = 140 * 1000 + 1;
}

static void a_longer_watch(struct mtu_common *common)
{
    common->watch_s = 60.5;
}

static void more_sizes(struct mtu_common *common)
{
    common->flows = 1;
    common->sizes = 15000; /* of 576 bytes and more */
}

static void what_is_above_a_limit_is_denied_in_its_words(void **state)
{
    (void)state;
    assert_denied(more_flows, "admission.max_clients allows 4 flows, 5 were asked for");
    assert_denied(a_higher_ceiling, "admission.max_payload allows 1472 bytes, a ceiling of 1501, "
                                    "1473 bytes of payload, was asked for");
    assert_denied(a_higher_pace,
                  "admission.max_rate allows 1000 datagrams a second, a pace of 140001 bytes a "
                  "second, up to 1001 datagrams, was asked for: a pace of 140000 would do");
    assert_denied(a_longer_watch,
                  "admission.max_seconds allows 60 seconds, 60.5 were asked for to watch");
    assert_denied(more_sizes, "admission.max_seconds allows 60 seconds, 61.7142857143 were asked "
                              "for at least for loss by size at that pace");
}

static void outstanding_datagrams_are_those_of_all_flows(void **state)
{
    struct admission_config config = limits();
    const struct message_open open = order(END_SENDER);

    (void)state;
    config.max_outstanding = 2047;
    assert_refused(&config, &open, STATUS_DENIED,
                   "admission.max_outstanding allows 2047 datagrams outstanding, 2048 were asked "
                   "for");
}

/* Without a rate there is no limit of the pace; without a ceiling the instrument keeps below what
 * is allowed by itself, as long as the floor fits. */
static void what_was_not_asked_for_is_not_held_against_it(void **state)
{
    struct admission_config config = limits();
    struct message_open open = order(END_SENDER);

    (void)state;
    config.max_rate = 0;
    open.of_mtu.params.common.pace = 1000 * 1000 * 1000;
    assert_opens(&config, &open);
    open.of_mtu.params.common.ceiling = 0;
    assert_opens(&config, &open);
    config.max_payload = 548;
    assert_opens(&config, &open);
    config.max_payload = 547;
    assert_refused(&config, &open, STATUS_DENIED,
                   "admission.max_payload allows 547 bytes, a floor of 576, 548 bytes of payload, "
                   "was asked for");
    open.of_mtu.params.common.floor = 200;
    assert_opens(&config, &open);
}

/* An answer is small whatever it answers. */
static void sizes_are_the_probing_ends_alone(void **state)
{
    const struct admission_config config = limits();
    struct message_open listener = order(END_ECHO), caller = order(END_SENDER);

    (void)state;
    listener.of_mtu.params.common.ceiling = caller.of_mtu.params.common.ceiling = 9000;
    listener.of_mtu.params.common.direction = MTU_WAYS_FORWARD;
    assert_opens(&config, &listener);
    caller.of_mtu.params.common.direction = MTU_WAYS_REVERSE;
    assert_opens(&config, &caller);
}

static void who_probes_sends_and_who_is_asked_answers(void **state)
{
    static const struct {
        enum end_role role;
        enum mtu_ways direction;
        const char *without_sender, *without_echo; /* NULL: is not needed */
    } cases[] = {
        { END_SENDER, MTU_WAYS_FORWARD,
          "admission.allow_sender is false: this host does not take the sender role", NULL },
        { END_SENDER, MTU_WAYS_REVERSE,
          "admission.allow_sender is false: this host does not take the sender role",
          "admission.allow_echo is false: this host does not answer probes, as direction reverse "
          "asks of it" },
        { END_SENDER, MTU_WAYS_BOTH,
          "admission.allow_sender is false: this host does not take the sender role",
          "admission.allow_echo is false: this host does not answer probes, as direction both asks "
          "of it" },
        { END_ECHO, MTU_WAYS_FORWARD, NULL,
          "admission.allow_echo is false: this host does not take the echo role" },
        { END_ECHO, MTU_WAYS_REVERSE,
          "admission.allow_sender is false: this host does not probe, as direction reverse asks of "
          "it",
          "admission.allow_echo is false: this host does not take the echo role" },
        { END_ECHO, MTU_WAYS_BOTH,
          "admission.allow_sender is false: this host does not probe, as direction both asks of it",
          "admission.allow_echo is false: this host does not take the echo role" },
    };

    (void)state;
    for (size_t i = 0; i < RECORD_COUNT(cases); i++) {
        struct message_open open = order(cases[i].role);
        struct admission_config config = limits();

        open.of_mtu.params.common.direction = cases[i].direction;
        config.allow_sender = false;
        if (cases[i].without_sender != NULL)
            assert_refused(&config, &open, STATUS_DENIED, cases[i].without_sender);
        else
            assert_opens(&config, &open);
        config = limits();
        config.allow_echo = false;
        if (cases[i].without_echo != NULL)
            assert_refused(&config, &open, STATUS_DENIED, cases[i].without_echo);
        else
            assert_opens(&config, &open);
    }
}

static void assert_senseless(const struct message_open *open, const char *said)
{
    const struct admission_config config = limits();
    struct fault fault;

    if (ask(&config, open, &fault) != STATUS_INVALID || strstr(fault.text, said) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.text, said);
}

static void an_order_without_sense_is_refused(void **state)
{
    struct message_open open = order(END_ECHO);
    struct mtu_common *common = &open.of_mtu.params.common;

    (void)state;
    common->flows = 257;
    assert_senseless(&open, "flows");
    common->flows = 0;
    assert_senseless(&open, "flows");
    common->flows = 1;
    common->watch_s = (double)NAN;
    assert_senseless(&open, "watch_s");
    common->watch_s = 0;
    common->floor = 1501;
    assert_senseless(&open, "floor");
    open = order(END_ECHO);
    open.key.length = 31;
    assert_senseless(&open, "key: 32 bytes are needed");
    open = order(END_ECHO);
    open.ssid = 65533;
    assert_senseless(&open, "ssid: 65533");
    open = order(END_SENDER);
    open.of_mtu.params.family = FAMILY_IPV6;
    assert_senseless(&open, "target: 10.9.2.2:7900 is not allowed: the order asks for ipv6");
}

static void what_a_session_is_held_to(void **state)
{
    struct admission_config config = limits();
    struct admission *admission = admission_new(&config);

    (void)state;
    assert_int_equal(admission_max_packet(admission, FAMILY_IPV4), 1500);
    assert_int_equal(admission_max_packet(admission, FAMILY_IPV6), 1520);
    assert_true(admission_max_seconds(admission) > 59.9 && admission_max_seconds(admission) < 60.1);
    assert_int_equal(admission_socket_buffer(admission, 4 << 20), 1 << 20);
    assert_int_equal(admission_socket_buffer(admission, 4096), 4096);
    admission_free(admission);
    config.max_payload = 65507; /* the most that IPv4 has */
    admission = admission_new(&config);
    assert_int_equal(admission_max_packet(admission, FAMILY_IPV4), 0);
    assert_int_equal(admission_max_packet(admission, FAMILY_IPV6), 65555);
    admission_free(admission);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_meets_every_limit_is_opened),
        cmocka_unit_test(what_is_above_a_limit_is_denied_in_its_words),
        cmocka_unit_test(outstanding_datagrams_are_those_of_all_flows),
        cmocka_unit_test(what_was_not_asked_for_is_not_held_against_it),
        cmocka_unit_test(sizes_are_the_probing_ends_alone),
        cmocka_unit_test(who_probes_sends_and_who_is_asked_answers),
        cmocka_unit_test(an_order_without_sense_is_refused),
        cmocka_unit_test(what_a_session_is_held_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
