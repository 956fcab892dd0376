/* Probes, their small answers, and what is known again of either in what comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/probe/agreement.h"
#include "agent/probe/mtu_datagram.h"
#include "proto/base/octets.h"

enum { SSID = 700, LARGE = 1372 };

static const struct mono noon = { 1000 * NS_PER_S };

struct talk {
    struct digest_key key;
    struct pattern pattern;
    struct mtu_speech caller, listener;
};

static int set_up(void **state)
{
    static struct talk talk;
    const struct session_ground ground = { .format = { STAMP_AUTHENTICATED, &talk.key },
                                           .pattern = &talk.pattern,
                                           .timebase = { { 1700000000 * NS_PER_S }, { 0 } },
                                           .hello_ssid = SSID };

    digest_key_init(&talk.key, "a key of the session", 20);
    pattern_init(&talk.pattern, 5);
    mtu_speech_init(&talk.caller, &ground, false);
    mtu_speech_init(&talk.listener, &ground, true);
    *state = &talk;
    return 0;
}

static struct mtu_sent sent_of(const struct mtu_speech *speech, uint32_t number, uint32_t payload)
{
    return (struct mtu_sent){ .sequence = mtu_sequence(MTU_CLASS_PROBE, number),
                              .payload = payload,
                              .timestamp = mtu_timestamp(speech, noon, 0x5a5a5a5a) };
}

/* The whole datagram. */
static void make(const struct mtu_speech *speech, const struct mtu_sent *sent, uint8_t *out_bytes)
{
    uint8_t head[STAMP_HEAD_MAX];
    size_t length = mtu_put_probe(speech, sent, head);

    memcpy(out_bytes, head, length);
    memcpy(out_bytes + length, pattern_slice(speech->ground.pattern, sent->sequence),
           sent->payload - length);
}

static void a_sequence_holds_class_and_number(void **state)
{
    (void)state;
    for (int class = MTU_CLASS_PROBE; class <= MTU_CLASS_OPEN; class ++) {
        uint32_t sequence = mtu_sequence((enum mtu_class) class, MTU_NUMBERS - 1);

        assert_int_equal(mtu_class_of(sequence), class);
        assert_int_equal(mtu_number_of(sequence), MTU_NUMBERS - 1);
    }
    assert_int_equal(mtu_sequence(MTU_CLASS_PROBE, 7), 7);
}

static void a_timestamp_is_the_time_within_a_quarter_of_a_millisecond(void **state)
{
    const struct talk *talk = *state;
    uint64_t exact = stamp_ntp((struct wall){ 1700001000 * NS_PER_S });

    for (uint32_t random = 0; random < 50; random++) {
        uint64_t stamp = mtu_timestamp(&talk->caller, noon, random * 0x9e3779b9u);

        assert_true(stamp_ntp_between(exact, stamp) < NS_PER_MS / 4 &&
                    stamp_ntp_between(exact, stamp) > -NS_PER_MS / 4);
    }
    assert_true(mtu_timestamp(&talk->caller, noon, 1) != mtu_timestamp(&talk->caller, noon, 2));
}

static void check_answer(const struct talk *talk, uint32_t payload)
{
    static uint8_t bytes[PAYLOAD_MAX_IPV6], reply[MTU_ANSWER_SIZE];
    static struct mtu_ring ring;
    struct mtu_sent sent = sent_of(&talk->caller, 3, payload);
    const struct mtu_coming coming = { payload, noon, UINT64_C(0x8000000000000005) };
    struct mtu_heard heard;

    memset(&ring, 0, sizeof ring);
    mtu_ring_put(&ring, &sent);
    make(&talk->caller, &sent, bytes);
    assert_int_equal(mtu_read(&talk->listener, bytes, payload, &heard), MTU_REQUEST);
    assert_int_equal(heard.request.sequence, sent.sequence);
    mtu_put_answer(&talk->listener, &heard.request, &coming, reply);
    assert_int_equal(mtu_read(&talk->caller, reply, sizeof reply, &heard), MTU_REPLY);
    assert_true(mtu_answer_before(&heard.reply) == coming.before);
    assert_ptr_equal(mtu_ring_answered(&ring, &heard.reply), mtu_ring_find(&ring, sent.sequence));
    /* of a smaller datagram it would be no answer */
    heard.reply.sequence--;
    assert_null(mtu_ring_answered(&ring, &heard.reply));
    heard.reply.sequence++;
    heard.reply.sender_timestamp ^= 1;
    assert_null(mtu_ring_answered(&ring, &heard.reply));
}

static void an_answer_is_small_and_says_which_size_arrived(void **state)
{
    static const uint32_t payloads[] = { 112, 116, 117, 1252, 1472, 8972, 65507, 65527 };

    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++)
        check_answer(*state, payloads[i]);
}

static void what_is_not_as_it_was_made_is_not_answered(void **state)
{
    const struct talk *talk = *state;
    static uint8_t bytes[LARGE];
    struct mtu_sent sent = sent_of(&talk->caller, 3, LARGE);
    struct mtu_heard heard;

    make(&talk->caller, &sent, bytes);
    assert_int_equal(mtu_read(&talk->listener, bytes, LARGE - 1, &heard), MTU_CUT);
    assert_int_equal(mtu_read(&talk->listener, bytes, STAMP_AUTHENTICATED_SIZE + 4, &heard),
                     MTU_CUT);
    for (size_t at = STAMP_AUTHENTICATED_SIZE; at < LARGE; at += 97) {
        bytes[at] ^= 0x40;
        assert_int_equal(mtu_read(&talk->listener, bytes, LARGE, &heard), MTU_CUT);
        bytes[at] ^= 0x40;
    }
    for (size_t at = 0; at < STAMP_AUTHENTICATED_SIZE; at++) {
        bytes[at] ^= 1;
        assert_int_equal(mtu_read(&talk->listener, bytes, LARGE, &heard), MTU_FOREIGN);
        bytes[at] ^= 1;
    }
    for (size_t length = 0; length < STAMP_AUTHENTICATED_SIZE; length++)
        assert_int_equal(mtu_read(&talk->listener, bytes, length, &heard), MTU_FOREIGN);
    assert_int_equal(mtu_read(&talk->listener, bytes, LARGE, &heard), MTU_REQUEST);
}

static void nothing_can_be_turned_round(void **state)
{
    const struct talk *talk = *state;
    static uint8_t bytes[LARGE], reply[MTU_ANSWER_SIZE];
    struct mtu_sent sent = sent_of(&talk->caller, 3, LARGE);
    struct mtu_heard heard;

    make(&talk->caller, &sent, bytes);
    assert_int_equal(mtu_read(&talk->caller, bytes, LARGE, &heard), MTU_FOREIGN);
    sent.payload = STAMP_AUTHENTICATED_SIZE;
    make(&talk->caller, &sent, bytes);
    assert_int_equal(mtu_read(&talk->caller, bytes, STAMP_AUTHENTICATED_SIZE, &heard), MTU_FOREIGN);
    assert_int_equal(mtu_read(&talk->listener, bytes, STAMP_AUTHENTICATED_SIZE, &heard),
                     MTU_REQUEST);
    mtu_put_answer(&talk->listener, &heard.request,
                   &(struct mtu_coming){ STAMP_AUTHENTICATED_SIZE, noon, 0 }, reply);
    assert_int_equal(mtu_read(&talk->listener, reply, sizeof reply, &heard), MTU_FOREIGN);
}

static void hellos_are_told_apart(void **state)
{
    const struct talk *talk = *state;
    uint8_t bytes[HELLO_SIZE];
    const uint8_t random[12] = { 9 };
    struct hello hello;
    struct mtu_heard heard;

    hello_init(&hello, &talk->key, SSID, noon);
    assert_true(hello_send(&hello, random, noon, bytes));
    assert_int_equal(mtu_read(&talk->listener, bytes, sizeof bytes, &heard), MTU_HELLO);
    hello_init(&hello, &talk->key, SSID + PART_COUNT, noon);
    assert_true(hello_send(&hello, random, noon, bytes));
    assert_int_equal(mtu_read(&talk->listener, bytes, sizeof bytes, &heard), MTU_FOREIGN);
}

static void a_ring_forgets_the_oldest(void **state)
{
    const struct talk *talk = *state;
    static struct mtu_ring ring;

    memset(&ring, 0, sizeof ring);
    assert_null(mtu_ring_find(&ring, 0));
    assert_null(mtu_ring_above(&ring, 0));
    for (uint32_t i = 0; i <= MTU_RING_SLOTS; i++) {
        struct mtu_sent sent = sent_of(&talk->caller, i, 1000 + i);

        mtu_ring_put(&ring, &sent);
    }
    assert_null(mtu_ring_find(&ring, 0));
    assert_int_equal(mtu_ring_find(&ring, 1)->payload, 1001);
    assert_null(mtu_ring_find(&ring, mtu_sequence(MTU_CLASS_TRACE, 1)));
    /* the latest that is larger, or the latest */
    assert_int_equal(mtu_ring_above(&ring, 1100)->payload, 1000 + MTU_RING_SLOTS);
    assert_int_equal(mtu_ring_above(&ring, 60000)->payload, 1000 + MTU_RING_SLOTS);
}

static void a_quote_is_matched_by_all_that_it_has(void **state)
{
    const struct talk *talk = *state;
    static struct mtu_ring ring;
    static uint8_t bytes[LARGE];
    struct mtu_sent sent = sent_of(&talk->caller, 3, LARGE);
    const struct mtu_sent *found;

    memset(&ring, 0, sizeof ring);
    mtu_ring_put(&ring, &sent);
    make(&talk->caller, &sent, bytes);
    for (size_t length = 0; length <= 128; length++) {
        enum mtu_quote quote = mtu_ring_match(&talk->caller, &ring, bytes, length, &found);

        assert_int_equal(quote, length < 24 ? MTU_QUOTE_SHORT : MTU_QUOTE_MATCHED);
        assert_int_equal(found != NULL, length >= 4);
    }
    for (size_t at = 0; at < STAMP_HEAD_MAX; at++) {
        bytes[at] ^= 1;
        assert_int_equal(mtu_ring_match(&talk->caller, &ring, bytes, 128, &found),
                         MTU_QUOTE_FOREIGN);
        assert_null(found);
        bytes[at] ^= 1;
    }
    octets_put32(bytes, 4);
    assert_int_equal(mtu_ring_match(&talk->caller, &ring, bytes, 4, &found), MTU_QUOTE_FOREIGN);
    assert_string_equal(mtu_quote_name(MTU_QUOTE_FOREIGN), "not sent by us");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sequence_holds_class_and_number),
        cmocka_unit_test(a_timestamp_is_the_time_within_a_quarter_of_a_millisecond),
        cmocka_unit_test(an_answer_is_small_and_says_which_size_arrived),
        cmocka_unit_test(what_is_not_as_it_was_made_is_not_answered),
        cmocka_unit_test(nothing_can_be_turned_round),
        cmocka_unit_test(hellos_are_told_apart),
        cmocka_unit_test(a_ring_forgets_the_oldest),
        cmocka_unit_test(a_quote_is_matched_by_all_that_it_has),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
