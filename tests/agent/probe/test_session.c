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

enum { SSID = 0x1234, HELLO_SSID = 0x1231, PAYLOADS = 7 };

static const size_t payloads[][PAYLOADS] = {
    { 44, 48, 49, 1472, 16384, PAYLOAD_MAX_IPV4, PAYLOAD_MAX_IPV6 },
    { 112, 116, 117, 1472, 16384, PAYLOAD_MAX_IPV4, PAYLOAD_MAX_IPV6 },
};

/* Every test is run in both modes. */
struct fixture {
    enum stamp_mode mode;
    struct digest_key key;
    struct pattern pattern;
    uint8_t bytes[PAYLOAD_MAX_IPV6];
};

static struct fixture *fixture_of(void **state)
{
    return *state;
}

static int set_up(void **state, enum stamp_mode mode)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (fixture == NULL)
        return -1;
    fixture->mode = mode;
    digest_key_init(&fixture->key, "one key", 7);
    pattern_init(&fixture->pattern, 42);
    *state = fixture;
    return 0;
}

static int set_up_plain(void **state)
{
    return set_up(state, STAMP_PLAIN);
}

static int set_up_authenticated(void **state)
{
    return set_up(state, STAMP_AUTHENTICATED);
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static struct session session_of(const struct fixture *fixture, size_t payload)
{
    const struct session_ground ground = {
        .format = { fixture->mode, fixture->mode == STAMP_PLAIN ? NULL : &fixture->key },
        .pattern = &fixture->pattern,
        .timebase = { { 1700000000 * NS_PER_S }, { 5 * NS_PER_S } },
        .hello_ssid = fixture->mode == STAMP_PLAIN ? 0 : HELLO_SSID,
    };
    struct session session;

    session_init(&session, SSID, payload, &ground);
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

    stamp_put_request(&session->ground.format, &request, session->payload, fixture->bytes);
    memcpy(fixture->bytes + session->head, pattern_slice(session->ground.pattern, sequence),
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

    stamp_put_reply(&session->ground.format, &reply, fixture->bytes, session->payload);
    return reply;
}

static void knows_its_own(void **state)
{
    struct fixture *fixture = fixture_of(state);

    for (size_t i = 0; i < PAYLOADS; i++) {
        struct session session = session_of(fixture, payloads[fixture->mode][i]);
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
    for (size_t i = stamp_base_size(fixture->mode); i < session.payload; i++) {
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
        struct session session = session_of(fixture, payloads[fixture->mode][i]);
        struct stamp_request request = put_request(fixture, &session, 3);
        struct stamp_reply reply;
        size_t zeros = 0;

        for (size_t at = 0; at < stamp_base_size(fixture->mode); at++) {
            uint8_t before = fixture->bytes[at];

            fixture->bytes[at] ^= 0x80;
            zeros += !session_request_intact(&session, &request, fixture->bytes);
            fixture->bytes[at] = before;
        }
        assert_int_equal(zeros, fixture->mode == STAMP_PLAIN ? 28 : 12 + 68);
        reply = put_reply(fixture, &session, 3);
        zeros = 0;
        for (size_t at = 0; at < stamp_base_size(fixture->mode); at++) {
            uint8_t before = fixture->bytes[at];

            fixture->bytes[at] ^= 0x80;
            zeros += !session_reply_intact(&session, &reply, fixture->bytes);
            fixture->bytes[at] = before;
        }
        assert_int_equal(zeros, fixture->mode == STAMP_PLAIN ? 2 + 3 : 12 + 4 + 8 + 12 + 6 + 15);
        reply.sender_error_estimate ^= 1;
        assert_false(session_reply_intact(&session, &reply, fixture->bytes));
    }
}

static enum session_kin kin_of_request(const struct session *session, struct fixture *fixture,
                                       size_t length)
{
    struct stamp_request request;

    return session_get_request(session, fixture->bytes, length, &request);
}

static enum session_kin kin_of_reply(const struct session *session, struct fixture *fixture,
                                     size_t length)
{
    struct stamp_reply reply;

    return session_get_reply(session, fixture->bytes, length, &reply);
}

/* By size, by SSID, and in authenticated mode by the key; the padding does not matter here. */
static void tells_its_own_from_strangers(void **state)
{
    struct fixture *fixture = fixture_of(state);

    for (size_t i = 0; i < PAYLOADS; i++) {
        size_t payload = payloads[fixture->mode][i];
        struct session session = session_of(fixture, payload);
        struct session other = session;

        put_request(fixture, &session, 5);
        fixture->bytes[payload - 1] ^= i > 1;
        assert_int_equal(kin_of_request(&session, fixture, payload), SESSION_OWN);
        assert_int_equal(kin_of_request(&session, fixture, payload - 1), SESSION_FOREIGN);
        if (payload < PAYLOAD_MAX_IPV6)
            assert_int_equal(kin_of_request(&session, fixture, payload + 1), SESSION_FOREIGN);
        assert_int_equal(kin_of_request(&session, fixture, 0), SESSION_FOREIGN);
        other.ssid++;
        assert_int_equal(kin_of_request(&other, fixture, payload), SESSION_FOREIGN);
        put_reply(fixture, &session, 5);
        assert_int_equal(kin_of_reply(&session, fixture, payload), SESSION_OWN);
        assert_int_equal(kin_of_reply(&session, fixture, payload - 1), SESSION_FOREIGN);
        assert_int_equal(kin_of_reply(&other, fixture, payload), SESSION_FOREIGN);
    }
}

static void believes_nothing_without_the_key(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct session session = session_of(fixture, 200);
    struct session thief = session;
    struct digest_key wrong;

    if (fixture->mode == STAMP_PLAIN)
        skip();
    digest_key_init(&wrong, "no key", 6);
    thief.ground.format.key = &wrong;
    put_request(fixture, &thief, 5);
    assert_int_equal(kin_of_request(&session, fixture, 200), SESSION_FOREIGN);
    put_reply(fixture, &thief, 5);
    assert_int_equal(kin_of_reply(&session, fixture, 200), SESSION_FOREIGN);
    put_request(fixture, &session, 5);
    for (size_t at = 0; at < STAMP_AUTHENTICATED_SIZE; at++) {
        for (int bit = 0; bit < 8; bit++) {
            fixture->bytes[at] ^= (uint8_t)(1 << bit);
            assert_int_equal(kin_of_request(&session, fixture, 200), SESSION_FOREIGN);
            fixture->bytes[at] ^= (uint8_t)(1 << bit);
        }
    }
    assert_int_equal(kin_of_request(&session, fixture, 200), SESSION_OWN);
}

/* Hellos of the agreement may come again while a phase runs, whatever its payload. */
static void knows_a_hello_that_comes_again(void **state)
{
    struct fixture *fixture = fixture_of(state);
    bool plain = fixture->mode == STAMP_PLAIN;

    for (size_t i = 0; i < PAYLOADS; i++) {
        struct session session = session_of(fixture, payloads[fixture->mode][i]);
        struct session hello = session_of(fixture, 112);

        for (uint16_t step = 0; step < 3; step++) {
            enum session_kin kin = step < 2 && !plain ? SESSION_HELLO : SESSION_FOREIGN;

            hello.ssid = (uint16_t)(HELLO_SSID + step);
            put_request(fixture, &hello, 5);
            assert_int_equal(kin_of_request(&session, fixture, 112), kin);
            put_reply(fixture, &hello, 5);
            assert_int_equal(kin_of_reply(&session, fixture, 112), kin);
        }
    }
}

/* A reply reads as a request; it must not pass as one of ours, in no size. */
static void takes_no_reply_for_a_request(void **state)
{
    struct fixture *fixture = fixture_of(state);

    for (size_t i = 0; i < PAYLOADS; i++) {
        struct session session = session_of(fixture, payloads[fixture->mode][i]);
        struct stamp_request request;
        struct stamp_reply reply;

        put_reply(fixture, &session, 3);
        assert_int_equal(
            stamp_get_request(&session.ground.format, fixture->bytes, session.payload, &request),
            STATUS_OK);
        assert_false(session_request_intact(&session, &request, fixture->bytes));
        /* under an HMAC it cannot be a damaged request either */
        assert_int_equal(kin_of_request(&session, fixture, session.payload),
                         fixture->mode == STAMP_PLAIN ? SESSION_OWN : SESSION_FOREIGN);
        put_request(fixture, &session, 3);
        assert_int_equal(
            stamp_get_reply(&session.ground.format, fixture->bytes, session.payload, &reply),
            STATUS_OK);
        assert_false(session_reply_intact(&session, &reply, fixture->bytes));
    }
}

/* Both ends fill their pattern from the key that they were given. */
static void fills_its_padding_from_the_key(void **state)
{
    static const uint8_t zeros[STAMP_KEY_SIZE] = { 0 };
    uint8_t key[STAMP_KEY_SIZE] = { 0 };

    (void)state;
    /* SHA-256 of 32 zero bytes begins with 66687aadf862bd77 */
    assert_true(session_seed(zeros) == UINT64_C(0x66687aadf862bd77));
    key[31] = 1;
    assert_true(session_seed(key) != session_seed(zeros));
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
    memcpy(fixture->bytes + shorter.head, pattern_slice(session.ground.pattern, 5),
           1472 - shorter.head);
    assert_false(session_padding_ok(&session, 5, STAMP_FLAG_UNRECOGNIZED, fixture->bytes));
    put_request(fixture, &session, 5);
    assert_false(session_padding_ok(&session, 5, 0, fixture->bytes));
}

/* Wall time is one moment plus monotonic time: it cannot be stepped, so differences are exact. */
static void keeps_differences_whatever_the_wall_clock_does(void **state)
{
    struct fixture *fixture = fixture_of(state);
    struct chance chance = chance_start("session");
    struct session session = session_of(fixture, 112);

    assert_true(session_timestamp(&session, session.ground.timebase.mono) ==
                stamp_ntp(session.ground.timebase.wall));
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
        cmocka_unit_test(tells_its_own_from_strangers),
        cmocka_unit_test(believes_nothing_without_the_key),
        cmocka_unit_test(knows_a_hello_that_comes_again),
        cmocka_unit_test(fills_its_padding_from_the_key),
        cmocka_unit_test(takes_no_reply_for_a_request),
        cmocka_unit_test(sees_a_neighbours_padding),
        cmocka_unit_test(sees_another_sessions_padding),
        cmocka_unit_test(sees_a_wrong_length),
        cmocka_unit_test(keeps_differences_whatever_the_wall_clock_does),
    };

    return cmocka_run_group_tests_name("session, plain", tests, set_up_plain, tear_down) +
           cmocka_run_group_tests_name("session, authenticated", tests, set_up_authenticated,
                                       tear_down);
}
