/* A reflector's answer to TLVs, by the rules of RFC 8972 section 4, and the walk over them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "proto/base/digest.h"
#include "proto/wire/stamp.h"

enum { U = 0x80, M = 0x40, I = 0x20, ROOM = 2048 };

static const uint8_t key[STAMP_KEY_SIZE] = "the key of this session: 32 byte";
static struct digest_key ready; /* `key`, by main */
static const struct stamp_format plain = { STAMP_PLAIN, NULL };
static const struct stamp_format plain_keyed = { STAMP_PLAIN, &ready };
static const struct stamp_format authenticated = { STAMP_AUTHENTICATED, &ready };
static const struct stamp_format *const formats[] = { &plain, &plain_keyed, &authenticated };

static const struct stamp_request request = { 7, 0x1112131415161718, 0x0001, 0x3132 };
static const struct stamp_reply reply = { .sequence = 0x41424344,
                                          .timestamp = 0x5152535455565758,
                                          .error_estimate = 0x6162,
                                          .ssid = 0x3132,
                                          .receive_timestamp = 0x7172737475767778,
                                          .sender_sequence = 7,
                                          .sender_timestamp = 0x1112131415161718,
                                          .sender_error_estimate = 0x0001,
                                          .sender_ttl = 64 };

/* A datagram under construction; `bytes` is as large as a test may need. */
struct packet {
    const struct stamp_format *format;
    size_t length;
    uint8_t bytes[ROOM];
};

static void start(struct packet *packet, const struct stamp_format *format)
{
    packet->format = format;
    packet->length = stamp_base_size(format->mode);
    memset(packet->bytes, 0xc7, sizeof(packet->bytes));
    stamp_put_request(format, &request, packet->length, packet->bytes);
}

/* Adds a TLV with this Length field and `size` bytes of value; returns where it begins. */
static size_t add_sized(struct packet *packet, unsigned flags, unsigned type, unsigned length,
                        size_t size)
{
    size_t at = packet->length;

    packet->bytes[at] = (uint8_t)flags;
    packet->bytes[at + 1] = (uint8_t)type;
    packet->bytes[at + 2] = (uint8_t)(length >> 8);
    packet->bytes[at + 3] = (uint8_t)length;
    for (size_t i = 0; i < size; i++)
        packet->bytes[at + 4 + i] = (uint8_t)(type * 16 + i + 1);
    packet->length += 4 + size;
    return at;
}

static size_t add(struct packet *packet, unsigned type, size_t size)
{
    return add_sized(packet, U, type, (unsigned)size, size);
}

/* The HMAC of RFC 8972 section 4.8 at offset `at`: Sequence Number, then all TLVs before it. */
static void tlv_mac(const struct packet *packet, size_t at, uint8_t out_mac[DIGEST_SIZE])
{
    size_t base = stamp_base_size(packet->format->mode);
    const struct digest_part parts[] = { { packet->bytes, 4 },
                                         { packet->bytes + base, at - base } };

    digest_hmac(key, sizeof(key), parts, 2, out_mac);
}

static size_t add_mac(struct packet *packet)
{
    size_t at = add(packet, STAMP_TLV_HMAC, STAMP_MAC_SIZE);
    uint8_t mac[DIGEST_SIZE];

    tlv_mac(packet, at, mac);
    memcpy(packet->bytes + at + 4, mac, STAMP_MAC_SIZE);
    return at;
}

/* Reflects in a heap block of the exact size, and checks that the base packet is the reply's. */
static void reflect(struct packet *packet)
{
    uint8_t *exact = malloc(packet->length);
    struct stamp_request got;
    struct stamp_reply got_reply;

    memcpy(exact, packet->bytes, packet->length);
    assert_int_equal(stamp_get_request(packet->format, exact, packet->length, &got), STATUS_OK);
    stamp_put_reply(packet->format, &reply, exact, packet->length);
    assert_int_equal(stamp_get_reply(packet->format, exact, packet->length, &got_reply), STATUS_OK);
    assert_int_equal(got_reply.sequence, reply.sequence);
    assert_int_equal(got_reply.sender_sequence, 7);
    memcpy(packet->bytes, exact, packet->length);
    free(exact);
}

/* The reply's TLVs are the request's but for the bytes at the `count` offsets. */
static void assert_verbatim_but(const struct packet *before, const struct packet *after,
                                const size_t *offsets, size_t count)
{
    for (size_t i = stamp_base_size(before->format->mode); i < ROOM; i++) {
        bool changed = false;
        for (size_t k = 0; k < count; k++)
            changed = changed || offsets[k] == i;
        if (!changed)
            assert_int_equal(after->bytes[i], before->bytes[i]);
    }
}

static void extra_padding_alone_only_loses_its_u(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++)
        for (size_t size = 0; size < 70; size++) {
            struct packet before, after;
            start(&before, formats[f]);
            size_t at = add(&before, STAMP_TLV_PADDING, size);
            after = before;
            reflect(&after);
            assert_int_equal(after.bytes[at], 0);
            assert_verbatim_but(&before, &after, &at, 1);
        }
}

static void a_type_that_is_not_processed_keeps_u_and_every_byte(void **state)
{
    static const unsigned types[] = { 0,
                                      STAMP_TLV_LOCATION,
                                      STAMP_TLV_TIMESTAMP_INFO,
                                      4,
                                      STAMP_TLV_DIRECT_MEASUREMENT,
                                      STAMP_TLV_ACCESS_REPORT,
                                      9,
                                      12,
                                      176,
                                      255 };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct packet before, after;
        start(&before, &plain);
        size_t first = add(&before, types[i], 12);
        size_t padding = add(&before, STAMP_TLV_PADDING, 9);
        size_t last = add(&before, types[i], 0);
        after = before;
        reflect(&after);
        assert_int_equal(after.bytes[first], U);
        assert_int_equal(after.bytes[padding], 0);
        assert_int_equal(after.bytes[last], U);
        assert_verbatim_but(&before, &after, &padding, 1);
    }
}

static void u_is_set_where_a_sender_forgot_it_and_m_and_i_are_cleared(void **state)
{
    struct packet packet;

    (void)state;
    start(&packet, &plain);
    size_t unknown = add_sized(&packet, M | I, 200, 4, 4);
    size_t padding = add_sized(&packet, U | M | I, STAMP_TLV_PADDING, 4, 4);
    reflect(&packet);
    assert_int_equal(packet.bytes[unknown], U);
    assert_int_equal(packet.bytes[padding], 0);
}

static void follow_up_telemetry_is_answered_with_zeros(void **state)
{
    static const uint8_t zeros[16];
    struct packet packet;

    (void)state;
    start(&packet, &plain);
    size_t at = add(&packet, STAMP_TLV_FOLLOW_UP, 16), behind = add(&packet, 1, 1);
    reflect(&packet);
    assert_int_equal(packet.bytes[at], 0);
    assert_memory_equal(packet.bytes + at + 4, zeros, 16);
    assert_int_equal(packet.bytes[behind], 0);
    assert_int_equal(packet.bytes[behind + 4], 17);
}

static void a_follow_up_of_another_length_gets_m_and_stops_the_processing(void **state)
{
    (void)state;
    for (size_t size = 0; size < 40; size++) {
        struct packet before, after;
        if (size == 16)
            continue;
        start(&before, &plain);
        size_t at = add(&before, STAMP_TLV_FOLLOW_UP, size);
        size_t behind = add(&before, STAMP_TLV_PADDING, 3);
        after = before;
        reflect(&after);
        assert_int_equal(after.bytes[at], M);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(after.bytes[at + 4 + i], i < 16 ? 0 : before.bytes[at + 4 + i]);
        assert_memory_equal(after.bytes + behind, before.bytes + behind, 7);
    }
}

static void a_length_past_the_end_gets_m_and_the_rest_stays(void **state)
{
    (void)state;
    for (unsigned excess = 1; excess < 66000; excess = excess * 3 + 1) {
        struct packet before, after;
        unsigned length = 8 + excess > 65535 ? 65535 : 8 + excess;

        start(&before, &plain);
        size_t first = add(&before, STAMP_TLV_PADDING, 5);
        size_t cut = add_sized(&before, U, STAMP_TLV_PADDING, length, 8);
        after = before;
        reflect(&after);
        assert_int_equal(after.bytes[first], 0);
        assert_int_equal(after.bytes[cut], M);
        assert_verbatim_but(&before, &after, (size_t[]){ first, cut }, 2);

        start(&before, &plain);
        cut = add_sized(&before, U, 200, length, 8);
        after = before;
        reflect(&after);
        assert_int_equal(after.bytes[cut], U | M);
        assert_verbatim_but(&before, &after, &cut, 1);
    }
}

static void a_piece_of_a_header_at_the_end_gets_m(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 4; piece++) {
        struct packet before, after;
        start(&before, &plain);
        size_t first = add(&before, STAMP_TLV_PADDING, 5);
        size_t cut = add(&before, 200, 0);
        before.length = cut + piece;
        after = before;
        reflect(&after);
        assert_int_equal(after.bytes[first], 0);
        assert_int_equal(after.bytes[cut], U | M);
        assert_verbatim_but(&before, &after, (size_t[]){ first, cut }, 2);
    }
}

static void an_hmac_tlv_that_verifies_is_made_anew_over_the_reply(void **state)
{
    (void)state;
    for (size_t f = 1; f < 3; f++) {
        struct packet before, after;
        uint8_t mac[DIGEST_SIZE];

        start(&before, formats[f]);
        size_t unknown = add(&before, 200, 11), front = add(&before, STAMP_TLV_PADDING, 2);
        size_t at = add_mac(&before);
        size_t behind = add(&before, STAMP_TLV_PADDING, 33), more = add(&before, 1, 0);
        after = before;
        reflect(&after);
        assert_int_equal(after.bytes[unknown], U);
        assert_int_equal(after.bytes[front], 0);
        assert_int_equal(after.bytes[at], 0);
        assert_int_equal(after.bytes[behind], 0);
        assert_int_equal(after.bytes[more], 0);
        tlv_mac(&after, at, mac);
        assert_memory_equal(after.bytes + at + 4, mac, STAMP_MAC_SIZE);
        assert_memory_not_equal(after.bytes + at + 4, before.bytes + at + 4, STAMP_MAC_SIZE);
        assert_memory_equal(after.bytes + behind + 4, before.bytes + behind + 4, 33);
    }
}

/* Every TLV of the packet, and nothing else of it, must have got I. */
static void assert_integrity_refused(struct packet *packet, const size_t *tlvs, size_t count)
{
    struct packet before = *packet;

    reflect(packet);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(packet->bytes[tlvs[i]], before.bytes[tlvs[i]] | I);
    assert_verbatim_but(&before, packet, tlvs, count);
}

static void a_flipped_bit_under_the_hmac_tlv_puts_i_on_all_tlvs(void **state)
{
    (void)state;
    for (size_t f = 1; f < 3; f++) {
        struct packet good;
        size_t tlvs[3];

        start(&good, formats[f]);
        tlvs[0] = add(&good, STAMP_TLV_FOLLOW_UP, 16);
        tlvs[1] = add_mac(&good);
        tlvs[2] = add(&good, STAMP_TLV_PADDING, 6);
        for (size_t bit = 8 * (tlvs[0] + 4); bit < 8 * tlvs[2]; bit++) {
            struct packet packet = good;
            if (bit / 8 >= tlvs[1] && bit / 8 < tlvs[1] + 4)
                continue; /* the HMAC TLV's own header is not covered */
            packet.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_integrity_refused(&packet, tlvs, 3);
        }
        reflect(&good);
        assert_int_equal(good.bytes[tlvs[2]], 0);
    }
}

static void the_hmac_tlv_covers_the_sequence_number(void **state)
{
    struct packet packet;

    (void)state;
    start(&packet, &plain_keyed);
    size_t at = add_mac(&packet);
    packet.bytes[3] ^= 1;
    assert_integrity_refused(&packet, &at, 1);
}

static void a_misplaced_hmac_tlv_is_a_failed_one(void **state)
{
    (void)state;
    for (size_t f = 1; f < 3; f++) {
        struct packet packet;
        size_t tlvs[3];

        start(&packet, formats[f]);
        tlvs[0] = add_mac(&packet);
        tlvs[1] = add(&packet, STAMP_TLV_PADDING, 6);
        tlvs[2] = add(&packet, 200, 6);
        assert_integrity_refused(&packet, tlvs, 3);

        start(&packet, formats[f]);
        tlvs[0] = add_mac(&packet);
        tlvs[1] = add_mac(&packet);
        assert_integrity_refused(&packet, tlvs, 2);
    }
}

static void an_hmac_tlv_of_another_length_gets_i_and_m(void **state)
{
    (void)state;
    for (size_t size = 0; size < 33; size++) {
        struct packet packet;
        if (size == 16)
            continue;
        start(&packet, &authenticated);
        size_t first = add(&packet, STAMP_TLV_PADDING, 1);
        size_t at = add(&packet, STAMP_TLV_HMAC, size);
        size_t last = add(&packet, STAMP_TLV_PADDING, 1);
        reflect(&packet);
        assert_int_equal(packet.bytes[first], U | I);
        assert_int_equal(packet.bytes[at], U | M | I);
        assert_int_equal(packet.bytes[last], U | I);
    }
}

static void a_cut_hmac_tlv_is_a_failed_one(void **state)
{
    (void)state;
    for (size_t f = 1; f < 3; f++) {
        struct packet packet;
        start(&packet, formats[f]);
        size_t first = add(&packet, STAMP_TLV_PADDING, 1);
        size_t at = add_sized(&packet, U, STAMP_TLV_HMAC, 16, 15);
        reflect(&packet);
        assert_int_equal(packet.bytes[first], U | I);
        assert_int_equal(packet.bytes[at], U | M | I);
    }
}

static void authenticated_needs_an_hmac_tlv_unless_one_extra_padding_is_all(void **state)
{
    struct packet packet;
    size_t tlvs[2];

    (void)state;
    start(&packet, &authenticated);
    tlvs[0] = add(&packet, 200, 4);
    assert_integrity_refused(&packet, tlvs, 1);

    start(&packet, &authenticated);
    tlvs[0] = add(&packet, STAMP_TLV_PADDING, 4);
    tlvs[1] = add(&packet, STAMP_TLV_FOLLOW_UP, 16);
    assert_integrity_refused(&packet, tlvs, 2);

    /* Section 4.8: "only one TLV present". */
    start(&packet, &authenticated);
    tlvs[0] = add(&packet, STAMP_TLV_PADDING, 4);
    tlvs[1] = add(&packet, STAMP_TLV_PADDING, 4);
    assert_integrity_refused(&packet, tlvs, 2);

    start(&packet, &authenticated);
    tlvs[0] = add_sized(&packet, U, STAMP_TLV_PADDING, 5, 4);
    reflect(&packet);
    assert_int_equal(packet.bytes[tlvs[0]], M);
}

static void plain_without_a_key_does_not_process_an_hmac_tlv(void **state)
{
    struct packet before, after;

    (void)state;
    start(&before, &plain);
    size_t padding = add(&before, STAMP_TLV_PADDING, 4);
    add_mac(&before);
    after = before;
    reflect(&after);
    assert_verbatim_but(&before, &after, &padding, 1);
}

static void the_walk_gives_every_tlv_and_stops_where_one_is_cut(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        enum stamp_mode mode = formats[f]->mode;
        struct stamp_tlv tlv;
        struct packet packet;
        size_t cursor = 0;

        start(&packet, formats[f]);
        const uint8_t *bytes = packet.bytes;
        assert_int_equal(stamp_next_tlv(mode, bytes, packet.length, &cursor, &tlv),
                         STATUS_NOT_FOUND);
        size_t first = add(&packet, STAMP_TLV_PADDING, 0), second = add(&packet, 200, 300);
        size_t whole = packet.length;
        add_sized(&packet, 0, STAMP_TLV_PADDING, 9, 8);
        assert_int_equal(stamp_next_tlv(mode, bytes, packet.length, &cursor, &tlv), STATUS_OK);
        assert_true(tlv.type == 1 && tlv.flags == U && tlv.length == 0);
        assert_ptr_equal(tlv.value, bytes + first + 4);
        assert_int_equal(stamp_next_tlv(mode, bytes, packet.length, &cursor, &tlv), STATUS_OK);
        assert_true(tlv.type == 200 && tlv.flags == U && tlv.length == 300);
        assert_ptr_equal(tlv.value, bytes + second + 4);
        for (size_t length = whole + 1; length <= packet.length; length++)
            assert_int_equal(stamp_next_tlv(mode, bytes, length, &cursor, &tlv), STATUS_INVALID);
        assert_true(tlv.type == 200); /* untouched */
        assert_int_equal(stamp_next_tlv(mode, bytes, whole, &cursor, &tlv), STATUS_NOT_FOUND);
    }
}

/* Whatever comes: no byte behind the datagram is touched, and the reply is a good one. */
static void random_datagrams_are_reflected_within_their_bounds(void **state)
{
    const char *given = getenv("SONDE_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);

    (void)state;
    print_message("SONDE_SEED=%u\n", seed);
    for (int round = 0; round < 30000; round++) {
        struct packet packet;
        size_t extra = (size_t)rand_r(&seed) % 90 + 4;

        start(&packet, formats[round % 3]);
        /* Small numbers, so that lengths and types are often right. */
        for (size_t i = 0; i < extra; i++)
            packet.bytes[packet.length + i] =
                (uint8_t)(rand_r(&seed) % 4 == 0 ? rand_r(&seed) : rand_r(&seed) % 9);
        packet.length += extra;
        reflect(&packet);
        for (size_t i = packet.length; i < ROOM; i++)
            assert_int_equal(packet.bytes[i], 0xc7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extra_padding_alone_only_loses_its_u),
        cmocka_unit_test(a_type_that_is_not_processed_keeps_u_and_every_byte),
        cmocka_unit_test(u_is_set_where_a_sender_forgot_it_and_m_and_i_are_cleared),
        cmocka_unit_test(follow_up_telemetry_is_answered_with_zeros),
        cmocka_unit_test(a_follow_up_of_another_length_gets_m_and_stops_the_processing),
        cmocka_unit_test(a_length_past_the_end_gets_m_and_the_rest_stays),
        cmocka_unit_test(a_piece_of_a_header_at_the_end_gets_m),
        cmocka_unit_test(an_hmac_tlv_that_verifies_is_made_anew_over_the_reply),
        cmocka_unit_test(a_flipped_bit_under_the_hmac_tlv_puts_i_on_all_tlvs),
        cmocka_unit_test(the_hmac_tlv_covers_the_sequence_number),
        cmocka_unit_test(a_misplaced_hmac_tlv_is_a_failed_one),
        cmocka_unit_test(an_hmac_tlv_of_another_length_gets_i_and_m),
        cmocka_unit_test(a_cut_hmac_tlv_is_a_failed_one),
        cmocka_unit_test(authenticated_needs_an_hmac_tlv_unless_one_extra_padding_is_all),
        cmocka_unit_test(plain_without_a_key_does_not_process_an_hmac_tlv),
        cmocka_unit_test(the_walk_gives_every_tlv_and_stops_where_one_is_cut),
        cmocka_unit_test(random_datagrams_are_reflected_within_their_bounds),
    };

    digest_key_init(&ready, key, sizeof(key));
    return cmocka_run_group_tests_name("stamp_tlv", tests, NULL, NULL);
}
