/* message: each comes back as it went out, from those who may send it, and nothing else passes. */
#include "proto/wire/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/limits.h"
#include "tests/proto/wire/message_stand.h"

enum { FEW = 3 };

static void comes_back(struct filler *filler, enum message_type type)
{
    union message message, back;
    struct fault fault = { "" };
    struct buf once, twice;

    fill_message(filler, type, &message);
    put_message(&message, &once);
    message_done(&message);
    if (get_message(once.data, once.length, message_way_of(type), &back, &fault) != STATUS_OK)
        fail_msg("%s: %s", message_names[type], fault.text);
    assert_int_equal(back.type, type);
    put_message(&back, &twice);
    message_done(&back);
    assert_int_equal(once.length, twice.length);
    assert_memory_equal(once.data, twice.data, once.length);
    buf_done(&once);
    buf_done(&twice);
}

static void each_comes_back(void **state)
{
    struct filler filler = { .chance = chance_start("messages"), .list_cap = FEW };

    (void)state;
    for (int type = 0; type < MESSAGE_COUNT; type++) {
        filler.how = FILL_LEAST;
        comes_back(&filler, (enum message_type)type);
        filler.how = FILL_MOST;
        comes_back(&filler, (enum message_type)type);
        filler.how = FILL_RANDOM;
        for (int i = 0; i < 20; i++)
            comes_back(&filler, (enum message_type)type);
    }
}

/* That a form is the same twice does not show that it says what the struct does. */
static void says_what_the_struct_does(void **state)
{
    static const uint8_t key[SESSION_KEY_SIZE] = { 1, 2, 3, [31] = 255 };
    union message message, back;
    struct buf bytes;

    (void)state;
    message_init(&message, MESSAGE_OPEN);
    memcpy(message.open.session, "s-1", 4);
    memcpy(message.open.target, "[fe80::1%eth0]:7900", 20);
    message.open.role = END_ECHO;
    message.open.ssid = 1234;
    message.open.of_case.idle_s = 1.5;
    message.open.of_case.params = (struct case_params){ .payload = 1472,
                                                        .window = 2,
                                                        .repeat = 1,
                                                        .common = { .clients = 16,
                                                                    .io_threads = 1,
                                                                    .seconds = 2.5,
                                                                    .rcvbuf = 1 << 20,
                                                                    .sndbuf = 1 << 20 } };
    bytes_set(&message.open.key, key, sizeof key);
    put_message(&message, &bytes);
    message_done(&message);
    assert_int_equal(
        message_get(bytes.data, bytes.length, message_way_of(MESSAGE_OPEN), &back, NULL),
        STATUS_OK);
    buf_done(&bytes); /* what was read is a copy */
    assert_string_equal(back.open.session, "s-1");
    assert_string_equal(back.open.run, "");
    assert_string_equal(back.open.target, "[fe80::1%eth0]:7900");
    assert_true(back.open.role == END_ECHO && back.open.ssid == 1234 &&
                back.open.of_case.idle_s == 1.5);
    assert_true(back.open.of_case.params.payload == 1472 &&
                back.open.of_case.params.common.clients == 16);
    assert_true(back.open.of_case.params.common.seconds == 2.5);
    assert_int_equal(back.open.key.length, sizeof key);
    assert_memory_equal(back.open.key.data, key, sizeof key);
    message_done(&back);
}

/* Only what is asked for is there: one kind's keys, or the other's. */
static void an_order_has_the_keys_of_its_kind(void **state)
{
    struct filler filler = { .how = FILL_LEAST };
    union message message, back;
    struct buf bytes;

    (void)state;
    fill_message(&filler, MESSAGE_OPEN, &message);
    message.open.kind = WORK_MTU;
    message.open.of_mtu.params.family = FAMILY_IPV6;
    message.open.of_mtu.params.common = (struct mtu_common){
        .direction = MTU_WAYS_REVERSE,
        .flows = 256,
        .floor = 1280,
        .ceiling = 65575,
        .tries = 3,
        .budget = 3000,
        .pace = 12500000,
        .trace = true,
        .watch_s = 0.5,
        .check_s = 1,
        .raise_s = 600,
    };
    put_message(&message, &bytes);
    assert_int_equal(
        message_get(bytes.data, bytes.length, message_way_of(MESSAGE_OPEN), &back, NULL),
        STATUS_OK);
    assert_true(back.open.kind == WORK_MTU && back.open.of_case.params.payload == 0);
    assert_true(mtu_params_equal(&back.open.of_mtu.params, &message.open.of_mtu.params));
    message_done(&message);
    message_done(&back);
    buf_done(&bytes);
}

/* By name, so that neither a row moved in message_kinds nor one added goes unseen. */
static void only_these_may_send_to_these(void **state)
{
    static const struct {
        const char *names, *from, *to; /* "": anybody */
    } rights[] = {
        { " ping bye ", "", "" },
        { " hello status opened refused begun progress moved ended closed failed result ", "agent",
          "controller" },
        { " welcome open begin end close committed ", "controller", "agent" },
        { " list_agents run stop list_results show ", "operator", "controller" },
        { " agents accepted run_progress run_moved case_done mtu_done run_done results part error ",
          "controller", "operator" },
    };
    struct filler filler = { .how = FILL_LEAST };
    int allowed = 0;

    (void)state;
    for (int i = 0; i < MESSAGE_COUNT * ROLE_COUNT * ROLE_COUNT; i++) {
        enum message_type type = (enum message_type)(i / (ROLE_COUNT * ROLE_COUNT));
        struct message_way way = { (enum identity_role)(i / ROLE_COUNT % ROLE_COUNT),
                                   (enum identity_role)(i % ROLE_COUNT) };
        const char *from = role_names[way.from], *to = role_names[way.to];
        union message message;
        struct buf bytes;
        char name[64], expected[128];
        size_t row = 0;

        snprintf(name, sizeof name, " %s ", message_names[type]);
        while (row < sizeof rights / sizeof rights[0] && strstr(rights[row].names, name) == NULL)
            row++;
        assert_true(row < sizeof rights / sizeof rights[0]);
        fill_message(&filler, type, &message);
        put_message(&message, &bytes);
        message_done(&message);
        if (*rights[row].from == '\0' ||
            (strcmp(rights[row].from, from) == 0 && strcmp(rights[row].to, to) == 0)) {
            assert_int_equal(get_message(bytes.data, bytes.length, way, &message, NULL), STATUS_OK);
            message_done(&message);
            allowed++;
        } else {
            snprintf(expected, sizeof expected, "%s must not send \"%s\" to %s", from,
                     message_names[type], to);
            refuses_message(&bytes, way, STATUS_DENIED, expected);
        }
        buf_done(&bytes);
    }
    assert_int_equal(allowed, 2 * 9 + 11 + 6 + 5 + 10);
}

/* What the caps allow together fits into a frame: a result, and a part of an archive. */
static void the_largest_fit_into_a_frame(void **state)
{
    static const enum message_type types[] = { MESSAGE_RESULT, MESSAGE_PART, MESSAGE_OPEN };
    struct filler filler = { .how = FILL_MOST };

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        union message message;
        struct buf bytes;

        fill_message(&filler, types[i], &message);
        put_message(&message, &bytes);
        assert_true(bytes.length <= LIMIT_FRAME);
        message_done(&message);
        buf_done(&bytes);
    }
}

static void refuses_what_is_no_message(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        enum status status;
        const char *start;
    } wrong[] = {
        { "", 0, STATUS_INVALID, "/: at least 1 bytes" },
        { "\x80", 1, STATUS_INVALID, "/type: missing" },
        { "\xa4ping", 5, STATUS_INVALID, "/: not a map" },
        { "\x81\xa4type\xa4pong", 11, STATUS_RANGE,
          "/type: text \"pong\" is not allowed: one of ping, bye, hello" },
        { "\x81\xa4type\xa3pin", 10, STATUS_RANGE, "/type: text \"pin\"" },
        { "\x81\xa4type\x00", 7, STATUS_INVALID, "/type: an integer 0 is not allowed" },
        { "\x81\xa4type\xc4\x04ping", 12, STATUS_INVALID, "/type: 4 bytes is not allowed" },
        { "\x82\xa4type\xa4ping\xa4type\xa4ping", 21, STATUS_INVALID, "/type: is there twice" },
        { "\x81\xa4type\xa4ping\x80", 12, STATUS_INVALID, "/: 1 bytes behind the message" },
        { "\x82\xa4type\xa4ping\xa1x\xdd\xff\xff\xff\xff", 18, STATUS_INVALID,
          "/x: at least 4294967295 bytes must follow" },
        { "\x82\xa4type\xa4ping\x01\x01", 13, STATUS_INVALID, "/: a key that is no text" },
    };
    struct message_way way = { ROLE_AGENT, ROLE_CONTROLLER };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        union message message;
        struct fault fault = { "" };

        assert_int_equal(get_message(wrong[i].bytes, wrong[i].length, way, &message, &fault),
                         wrong[i].status);
        if (strncmp(fault.text, wrong[i].start, strlen(wrong[i].start)) != 0)
            fail_msg("%s: not: %s", wrong[i].start, fault.text);
    }
}

static void ignores_fields_that_it_does_not_know(void **state)
{
    static const char ping[] = "\x83\xa3new\x91\x81\xa1x\xc0\xa4type\xa4ping\xa5later\xc4\x01x";
    union message message;

    (void)state;
    assert_int_equal(get_message(ping, sizeof ping - 1,
                                 (struct message_way){ ROLE_OPERATOR, ROLE_AGENT }, &message, NULL),
                     STATUS_OK);
    assert_int_equal(message.type, MESSAGE_PING);
}

/* Cut at any byte, and with any one byte changed: refused, or read as something that holds. */
static void no_damage_does_harm(void **state)
{
    struct filler filler = { .how = FILL_LEAST, .chance = chance_start("damage") };

    (void)state;
    for (int i = 0; i < MESSAGE_COUNT; i++) {
        enum message_type type = (enum message_type)i;
        union message message;
        struct buf bytes;

        fill_message(&filler, type, &message);
        put_message(&message, &bytes);
        message_done(&message);
        for (size_t length = 0; length < bytes.length; length++)
            assert_int_equal(get_message(bytes.data, length, message_way_of(type), &message, NULL),
                             STATUS_INVALID);
        for (size_t at = 0; at < bytes.length; at++) {
            char kept = bytes.data[at];

            bytes.data[at] = (char)chance_next(&filler.chance);
            if (get_message(bytes.data, bytes.length, message_way_of(type), &message, NULL) ==
                STATUS_OK) {
                assert_int_equal(record_check(message_kinds[message.type].record, &message, NULL),
                                 STATUS_OK);
                message_done(&message);
            }
            bytes.data[at] = kept;
        }
        buf_done(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_comes_back),
        cmocka_unit_test(says_what_the_struct_does),
        cmocka_unit_test(an_order_has_the_keys_of_its_kind),
        cmocka_unit_test(only_these_may_send_to_these),
        cmocka_unit_test(the_largest_fit_into_a_frame),
        cmocka_unit_test(refuses_what_is_no_message),
        cmocka_unit_test(ignores_fields_that_it_does_not_know),
        cmocka_unit_test(no_damage_does_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
