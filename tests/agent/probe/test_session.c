/* Both ends of a phase must agree on every byte of its datagrams, and see each that is another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "agent/probe/session.h"
#include "tests/agent/probe/chance.h"

enum { SSID = 0x1234 };

static const size_t payloads[] = { 44, 48, 49, 1472, 16384, PAYLOAD_MAX_IPV4, PAYLOAD_MAX_IPV6 };
enum { PAYLOADS = sizeof payloads / sizeof payloads[0] };

struct fixture {
    struct pattern pattern;
    uint8_t bytes[PAYLOAD_MAX_IPV6];
};

static struct fixture *fixture_of(void **state)
{
    return *state;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL)
        return -1;
    pattern_init(&fixture->pattern, 42);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static struct session session_of(const struct fixture *fixture, size_t payload)
{
    struct session session;

    session_init(&session, SSID, payload, &fixture->pattern,
                 (struct timebase){ { 1700000000 * NS_PER_S }, { 5 * NS_PER_S } });
    return session;
}

/* A whole request as the sender role makes it. */
static struct stamp_request put_request(struct fixture *fixture, const struct session *session,
                                        uint32_t sequence)
{
    const struct stamp_request request = { .sequence = sequence,
                                           .timestamp = 77,
                                           .error_estimate = session->error_estimate,
                                           .ssid = session->ssid };

    stamp_put_request(&session->format, &request, session->payload, fixture->bytes);
    memcpy(fixture->bytes + session->head, pattern_slice(session->pattern, sequence),
           session->payload - session->head);
    return request;
}

static struct stamp_reply put_reply(struct fixture *fixture, const struct session *session,
                                    uint32_t sequence)
{
    struct stamp_request request = put_request(fixture, session, sequence);
    const struct stamp_reply reply = { .sequence = 9,
                                       .timestamp = 101,
                                       .error_estimate = session->error_estimate,
                                       .ssid = session->ssid,
                                       .receive_timestamp = 100,
                                       .sender_sequence = request.sequence,
                                       .sender_timestamp = request.timestamp,
                                       .sender_error_estimate = request.error_estimate,
                                       .sender_ttl = 255 };

    stamp_put_reply(&session->format, &reply, fixture->bytes, session->payload);
    return reply;
}

static void knows_its_own(void **state)
{
    struct fixture *fixture = fixture_of(state);

    for (size_t i = 0; i < PAYLOADS; i++) {
        struct session session = session_of(fixture, payloads[i]);
        struct stamp_request request = put_request(fixture, &session, 0xffffffff);
        struct stamp_reply reply;

        assert_true(session_request_intact(&session, &request, fixture->bytes));
        assert_true(
            session_padding_ok(&session, 0xffffffff, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
        reply = put_reply(fixture, &session, 7);
        assert_true(session_reply_intact(&session, &reply, fixture->bytes));
        assert_true(session_padding_ok(&session, 7, 0, fixture->bytes));
    }
}

/* Behind the base packet nothing may differ: TLV header and padding, first to last. */
static void sees_each_flipped_byte(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct session session = session_of(fixture, 1472);

    put_request(fixture, &session, 3);
    for (size_t i = STAMP_PLAIN_SIZE; i < session.payload; i++) {
        for (int bit = 0; bit < 8; bit++) {
            fixture->bytes[i] ^= (uint8_t)(1 << bit);
            assert_false(session_padding_ok(&session, 3, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
            fixture->bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
    assert_true(session_padding_ok(&session, 3, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
}

static void sees_a_flipped_byte_at_the_end_of_the_largest(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct session session = session_of(fixture, PAYLOAD_MAX_IPV6);

    for (uint32_t sequence = 0; sequence < PATTERN_SLICES; sequence++) {
        put_request(fixture, &session, sequence);
        assert_true(
            session_padding_ok(&session, sequence, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
        fixture->bytes[session.payload - 1] ^= 1;
        assert_false(
            session_padding_ok(&session, sequence, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
    }
}

static void sees_what_should_be_zero(void **state)
{
    struct fixture *fixture = fixture_of(state);

    for (size_t i = 0; i < 2; i++) {
        struct session session = session_of(fixture, payloads[i]);
        struct stamp_request request = put_request(fixture, &session, 3);
        struct stamp_reply reply;

        for (size_t at = 16; at < STAMP_PLAIN_SIZE; at++) {
            fixture->bytes[at] = 1;
            assert_false(session_request_intact(&session, &request, fixture->bytes));
            fixture->bytes[at] = 0;
        }
        reply = put_reply(fixture, &session, 3);
        for (size_t at = 38; at < STAMP_PLAIN_SIZE; at++) {
            uint8_t before = fixture->bytes[at];

            if (at == 40) /* the TTL */
                continue;
            fixture->bytes[at] = 1;
            assert_false(session_reply_intact(&session, &reply, fixture->bytes));
            fixture->bytes[at] = before;
        }
        reply.sender_error_estimate ^= 1;
        assert_false(session_reply_intact(&session, &reply, fixture->bytes));
    }
}

/* In plain STAMP a reply reads as a request; it must not pass as one of ours, in no size. */
static void takes_no_reply_for_a_request(void **state)
{
    struct fixture *fixture = fixture_of(state);

    for (size_t i = 0; i < PAYLOADS; i++) {
        struct session session = session_of(fixture, payloads[i]);
        struct stamp_request request;
        struct stamp_reply reply;

        put_reply(fixture, &session, 3);
        assert_int_equal(
            stamp_get_request(&session.format, fixture->bytes, session.payload, &request),
            STATUS_OK);
        assert_false(session_request_intact(&session, &request, fixture->bytes));
        put_request(fixture, &session, 3);
        assert_int_equal(stamp_get_reply(&session.format, fixture->bytes, session.payload, &reply),
                         STATUS_OK);
        assert_false(session_reply_intact(&session, &reply, fixture->bytes));
    }
}

static void sees_a_neighbours_padding(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct session session = session_of(fixture, 128);

    put_request(fixture, &session, 1000);
    for (uint32_t other = 1; other < PATTERN_SLICES; other++) {
        assert_false(
            session_padding_ok(&session, 1000 + other, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
        assert_false(
            session_padding_ok(&session, 1000 - other, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
    }
}

static void sees_another_sessions_padding(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct session session = session_of(fixture, 128);

    put_request(fixture, &session, 5);
    pattern_init(&fixture->pattern, 44);
    assert_false(session_padding_ok(&session, 5, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
    pattern_init(&fixture->pattern, 42);
    assert_true(session_padding_ok(&session, 5, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
}

/* The TLV says how long it is: 1472 bytes that say 1400 are not ours. */
static void sees_a_wrong_length(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct session session = session_of(fixture, 1472);
    struct session shorter = session_of(fixture, 1400);

    put_request(fixture, &shorter, 5);
    memcpy(fixture->bytes + shorter.head, pattern_slice(session.pattern, 5), 1472 - shorter.head);
    assert_false(session_padding_ok(&session, 5, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
    put_request(fixture, &session, 5);
    assert_false(session_padding_ok(&session, 5, 0, fixture->bytes));
}

/* Wall time is one moment plus monotonic time: it cannot be stepped, so differences are exact. */
static void keeps_differences_whatever_the_wall_clock_does(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct chance chance = chance_start("session");
    struct session session = session_of(fixture, 44);

    assert_true(session_timestamp(&session, session.timebase.mono) ==
                stamp_ntp(session.timebase.wall));
    for (int i = 0; i < 10000; i++) {
        int64_t start = (int64_t)chance_below(&chance, UINT64_C(1) << 50);
        int64_t length = (int64_t)chance_below(&chance, UINT64_C(1) << 40);
        uint64_t from = session_timestamp(&session, (struct mono){ start });
        uint64_t to = session_timestamp(&session, (struct mono){ start + length });

        assert_in_range(stamp_ntp_between(from, to) - length + 1, 0, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_its_own),
        cmocka_unit_test(sees_each_flipped_byte),
        cmocka_unit_test(sees_a_flipped_byte_at_the_end_of_the_largest),
        cmocka_unit_test(sees_what_should_be_zero),
        cmocka_unit_test(takes_no_reply_for_a_request),
        cmocka_unit_test(sees_a_neighbours_padding),
        cmocka_unit_test(sees_another_sessions_padding),
        cmocka_unit_test(sees_a_wrong_length),
        cmocka_unit_test(keeps_differences_whatever_the_wall_clock_does),
    };

    return cmocka_run_group_tests_name("session", tests, set_up, tear_down);
}
