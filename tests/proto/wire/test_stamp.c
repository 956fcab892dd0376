/* STAMP base packets byte by byte, what is refused, timestamps and error estimates. */
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

static const uint8_t key[STAMP_KEY_SIZE] = "the key of this session: 32 byte";
static struct digest_key ready; /* `key`, by main */
static const struct stamp_format plain = { STAMP_PLAIN, NULL };
static const struct stamp_format authenticated = { STAMP_AUTHENTICATED, &ready };
static const struct stamp_format *const formats[] = { &plain, &authenticated };

/* Every byte of every field is another one, so that a swap or a shift shows. */
static const struct stamp_request request = {
    .sequence = 0x01020304,
    .timestamp = 0x1112131415161718,
    .error_estimate = 0x2122,
    .ssid = 0x3132,
};
static const struct stamp_reply reply = {
    .sequence = 0x41424344,
    .timestamp = 0x5152535455565758,
    .error_estimate = 0x6162,
    .ssid = 0x3132,
    .receive_timestamp = 0x7172737475767778,
    .sender_sequence = 0x01020304,
    .sender_timestamp = 0x1112131415161718,
    .sender_error_estimate = 0x2122,
    .sender_ttl = 0x81,
};

static const uint8_t plain_request[STAMP_PLAIN_SIZE] = {
    0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x31, 0x32,
};
static const uint8_t plain_reply[STAMP_PLAIN_SIZE] = {
    0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x61, 0x62, 0x31,
    0x32, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12,
    0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x00, 0x00, 0x81, 0x00, 0x00, 0x00,
};
/* Without the HMAC, which stands at 96. */
static const uint8_t authenticated_request[96] = {
    [0] = 0x01, 0x02, 0x03, 0x04, [16] = 0x11, 0x12, 0x13,        0x14,
    0x15,       0x16, 0x17, 0x18, 0x21,        0x22, [26] = 0x31, 0x32,
};
static const uint8_t authenticated_reply[96] = {
    [0] = 0x41, 0x42, 0x43, 0x44, [16] = 0x51, 0x52, 0x53,        0x54, 0x55,        0x56,
    0x57,       0x58, 0x61, 0x62, 0x31,        0x32, [32] = 0x71, 0x72, 0x73,        0x74,
    0x75,       0x76, 0x77, 0x78, [48] = 0x01, 0x02, 0x03,        0x04, [64] = 0x11, 0x12,
    0x13,       0x14, 0x15, 0x16, 0x17,        0x18, 0x21,        0x22, [80] = 0x81,
};

static void sign(uint8_t *bytes)
{
    const struct digest_part part = { bytes, 96 };
    uint8_t digest[DIGEST_SIZE];

    digest_hmac(key, sizeof(key), &part, 1, digest);
    memcpy(bytes + 96, digest, STAMP_MAC_SIZE);
}

static void assert_request(const struct stamp_request *got)
{
    assert_int_equal(got->sequence, request.sequence);
    assert_true(got->timestamp == request.timestamp);
    assert_int_equal(got->error_estimate, request.error_estimate);
    assert_int_equal(got->ssid, request.ssid);
}

static void assert_reply(const struct stamp_reply *got)
{
    assert_int_equal(got->sequence, reply.sequence);
    assert_true(got->timestamp == reply.timestamp);
    assert_int_equal(got->error_estimate, reply.error_estimate);
    assert_int_equal(got->ssid, reply.ssid);
    assert_true(got->receive_timestamp == reply.receive_timestamp);
    assert_int_equal(got->sender_sequence, reply.sender_sequence);
    assert_true(got->sender_timestamp == reply.sender_timestamp);
    assert_int_equal(got->sender_error_estimate, reply.sender_error_estimate);
    assert_int_equal(got->sender_ttl, reply.sender_ttl);
}

static void a_plain_request_is_laid_out_as_rfc_8762_4_2_1(void **state)
{
    uint8_t bytes[STAMP_PLAIN_SIZE];
    struct stamp_request got;

    (void)state;
    memset(bytes, 0xee, sizeof(bytes));
    stamp_put_request(&plain, &request, sizeof(bytes), bytes);
    assert_memory_equal(bytes, plain_request, sizeof(bytes));
    assert_int_equal(stamp_get_request(&plain, bytes, sizeof(bytes), &got), STATUS_OK);
    assert_request(&got);
}

static void a_plain_reply_is_laid_out_as_rfc_8762_4_3_1(void **state)
{
    uint8_t bytes[STAMP_PLAIN_SIZE];
    struct stamp_reply got;

    (void)state;
    memset(bytes, 0xee, sizeof(bytes));
    stamp_put_reply(&plain, &reply, bytes, sizeof(bytes));
    assert_memory_equal(bytes, plain_reply, sizeof(bytes));
    assert_int_equal(stamp_get_reply(&plain, bytes, sizeof(bytes), &got), STATUS_OK);
    assert_reply(&got);
}

static void an_authenticated_request_is_laid_out_as_rfc_8762_4_2_2(void **state)
{
    uint8_t bytes[STAMP_AUTHENTICATED_SIZE], expected[STAMP_AUTHENTICATED_SIZE];
    struct stamp_request got;

    (void)state;
    memcpy(expected, authenticated_request, sizeof(authenticated_request));
    sign(expected);
    memset(bytes, 0xee, sizeof(bytes));
    stamp_put_request(&authenticated, &request, sizeof(bytes), bytes);
    assert_memory_equal(bytes, expected, sizeof(bytes));
    assert_int_equal(stamp_get_request(&authenticated, bytes, sizeof(bytes), &got), STATUS_OK);
    assert_request(&got);
}

static void an_authenticated_reply_is_laid_out_as_rfc_8762_4_3_2(void **state)
{
    uint8_t bytes[STAMP_AUTHENTICATED_SIZE], expected[STAMP_AUTHENTICATED_SIZE];
    struct stamp_reply got;

    (void)state;
    memcpy(expected, authenticated_reply, sizeof(authenticated_reply));
    sign(expected);
    memset(bytes, 0xee, sizeof(bytes));
    stamp_put_reply(&authenticated, &reply, bytes, sizeof(bytes));
    assert_memory_equal(bytes, expected, sizeof(bytes));
    assert_int_equal(stamp_get_reply(&authenticated, bytes, sizeof(bytes), &got), STATUS_OK);
    assert_reply(&got);
}

static void a_larger_payload_gets_one_extra_padding_tlv_up_to_its_end(void **state)
{
    static const size_t behind[] = { 4, 5, 56, 1428, 16384, 65415 };

    (void)state;
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
            size_t base = stamp_base_size(formats[m]->mode), payload = base + behind[i];
            uint8_t head[STAMP_HEAD_MAX + 1], alone[STAMP_HEAD_MAX];
            size_t padding = behind[i] - 4;

            memset(head, 0xee, sizeof(head));
            stamp_put_request(formats[m], &request, payload, head);
            stamp_put_request(formats[m], &request, base, alone);
            assert_int_equal(stamp_head_size(formats[m]->mode, payload), base + 4);
            assert_memory_equal(head, alone, base);
            assert_int_equal(head[base], 0x80); /* U, as a sender must */
            assert_int_equal(head[base + 1], 1);
            assert_int_equal(head[base + 2], padding >> 8);
            assert_int_equal(head[base + 3], padding & 255);
            assert_int_equal(head[base + 4], 0xee);
        }
    assert_int_equal(stamp_head_size(STAMP_PLAIN, 44), 44);
    assert_int_equal(stamp_head_size(STAMP_AUTHENTICATED, 112), 112);
}

static void sizes_between_the_base_packet_and_a_tlv_header_do_not_exist(void **state)
{
    (void)state;
    for (size_t m = 0; m < 2; m++)
        for (size_t size = 0; size <= 200; size++) {
            size_t base = m == 0 ? 44 : 112;
            bool good = size == base || size >= base + 4;
            uint8_t *bytes = calloc(1, size + 1); /* the sanitizer sees a read behind `size` */
            uint8_t *exact = malloc(size > 0 ? size : 1);
            struct stamp_request got = { .ssid = 0x7777 };
            struct stamp_reply got_reply = { .ssid = 0x7777 };
            uint8_t head[STAMP_HEAD_MAX];

            stamp_put_request(formats[m], &request, good ? size : base, head);
            memcpy(bytes, head, size < base ? size : base);
            if (size > 0)
                memcpy(exact, bytes, size);
            assert_int_equal(stamp_size_ok(formats[m]->mode, size), good);
            assert_int_equal(stamp_get_request(formats[m], exact, size, &got),
                             good ? STATUS_OK : STATUS_INVALID);
            assert_int_equal(stamp_get_reply(formats[m], exact, size, &got_reply),
                             good ? STATUS_OK : STATUS_INVALID);
            if (!good) {
                assert_int_equal(got.ssid, 0x7777); /* untouched */
                assert_int_equal(got_reply.ssid, 0x7777);
            }
            free(exact);
            free(bytes);
        }
    assert_true(stamp_size_ok(STAMP_PLAIN, 65527));
    assert_false(stamp_size_ok(STAMP_PLAIN, 65528));
    assert_false(stamp_size_ok(STAMP_AUTHENTICATED, SIZE_MAX));
}

static void a_flipped_bit_anywhere_in_an_authenticated_base_packet_is_denied(void **state)
{
    uint8_t bytes[STAMP_AUTHENTICATED_SIZE];
    struct stamp_request got = { .ssid = 0x7777 };
    struct stamp_reply got_reply = { .ssid = 0x7777 };

    (void)state;
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        stamp_put_request(&authenticated, &request, sizeof(bytes), bytes);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(stamp_get_request(&authenticated, bytes, sizeof(bytes), &got),
                         STATUS_DENIED);
        stamp_put_reply(&authenticated, &reply, bytes, sizeof(bytes));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(stamp_get_reply(&authenticated, bytes, sizeof(bytes), &got_reply),
                         STATUS_DENIED);
    }
    assert_int_equal(got.ssid, 0x7777);
    assert_int_equal(got_reply.ssid, 0x7777);
}

static void another_key_is_denied(void **state)
{
    uint8_t other[STAMP_KEY_SIZE], bytes[STAMP_AUTHENTICATED_SIZE];
    struct digest_key other_ready;
    const struct stamp_format format = { STAMP_AUTHENTICATED, &other_ready };
    struct stamp_request got;

    (void)state;
    memcpy(other, key, sizeof(other));
    other[STAMP_KEY_SIZE - 1] ^= 1;
    digest_key_init(&other_ready, other, sizeof(other));
    stamp_put_request(&authenticated, &request, sizeof(bytes), bytes);
    assert_int_equal(stamp_get_request(&format, bytes, sizeof(bytes), &got), STATUS_DENIED);
}

/* Fills what must be zero with ones; what must not be is left as it is. */
static void fill_reserved(const uint8_t *layout, size_t size, uint8_t *bytes)
{
    for (size_t i = 0; i < size; i++)
        if (layout[i] == 0)
            bytes[i] = 0xff;
}

static void reserved_fields_are_never_a_reason_to_refuse(void **state)
{
    uint8_t bytes[STAMP_AUTHENTICATED_SIZE];
    struct stamp_request got;
    struct stamp_reply got_reply;

    (void)state;
    memcpy(bytes, plain_request, sizeof(plain_request));
    fill_reserved(plain_request, sizeof(plain_request), bytes);
    assert_int_equal(stamp_get_request(&plain, bytes, sizeof(plain_request), &got), STATUS_OK);
    assert_request(&got);
    memcpy(bytes, plain_reply, sizeof(plain_reply));
    fill_reserved(plain_reply, sizeof(plain_reply), bytes);
    assert_int_equal(stamp_get_reply(&plain, bytes, sizeof(plain_reply), &got_reply), STATUS_OK);
    assert_reply(&got_reply);

    memcpy(bytes, authenticated_request, sizeof(authenticated_request));
    fill_reserved(authenticated_request, sizeof(authenticated_request), bytes);
    sign(bytes);
    assert_int_equal(stamp_get_request(&authenticated, bytes, sizeof(bytes), &got), STATUS_OK);
    assert_request(&got);
    memcpy(bytes, authenticated_reply, sizeof(authenticated_reply));
    fill_reserved(authenticated_reply, sizeof(authenticated_reply), bytes);
    sign(bytes);
    assert_int_equal(stamp_get_reply(&authenticated, bytes, sizeof(bytes), &got_reply), STATUS_OK);
    assert_reply(&got_reply);
}

/* What a sender and a reflector leave zero, by RFC 8762 figures 4 to 7; the HMAC is no part of it.
 */
static bool zero_in(const size_t ranges[][2], size_t at)
{
    for (size_t i = 0; ranges[i][1] > 0; i++) {
        if (at >= ranges[i][0] && at < ranges[i][1])
            return true;
    }
    return false;
}

static void zeros_are_looked_for_where_the_rfc_has_them(void **state)
{
    static const size_t of_request[][4][2] = { { { 16, 44 } }, { { 4, 16 }, { 28, 96 } } };
    static const size_t of_reply[][8][2] = {
        { { 38, 40 }, { 41, 44 } },
        { { 4, 16 }, { 28, 32 }, { 40, 48 }, { 52, 64 }, { 74, 80 }, { 81, 96 } },
    };
    uint8_t bytes[STAMP_AUTHENTICATED_SIZE] = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        enum stamp_mode mode = (enum stamp_mode)i;

        for (size_t at = 0; at < stamp_base_size(mode); at++) {
            bytes[at] = 0x40;
            assert_int_equal(stamp_request_zeros(mode, bytes), !zero_in(of_request[i], at));
            assert_int_equal(stamp_reply_zeros(mode, bytes), !zero_in(of_reply[i], at));
            bytes[at] = 0;
        }
        assert_true(stamp_request_zeros(mode, bytes) && stamp_reply_zeros(mode, bytes));
    }
}

static void a_reply_is_never_a_request(void **state)
{
    uint8_t bytes[STAMP_AUTHENTICATED_SIZE];
    static const struct stamp_reply least = { .sender_error_estimate = 1 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        size_t length = stamp_base_size(formats[i]->mode);

        stamp_put_request(formats[i], &request, length, bytes);
        assert_true(stamp_request_zeros(formats[i]->mode, bytes));
        stamp_put_reply(formats[i], &least, bytes, length);
        assert_false(stamp_request_zeros(formats[i]->mode, bytes));
        assert_true(stamp_reply_zeros(formats[i]->mode, bytes));
    }
}

static void a_multiplier_of_zero_is_refused_in_both_directions(void **state)
{
    (void)state;
    for (size_t m = 0; m < 2; m++) {
        size_t base = stamp_base_size(formats[m]->mode);
        uint8_t bytes[STAMP_AUTHENTICATED_SIZE];
        struct stamp_request zero = request, got;
        struct stamp_reply zero_reply = reply, got_reply;

        zero.error_estimate = 0xff00;
        stamp_put_request(formats[m], &zero, base, bytes);
        assert_int_equal(stamp_get_request(formats[m], bytes, base, &got), STATUS_INVALID);
        zero.error_estimate = 0x0001;
        stamp_put_request(formats[m], &zero, base, bytes);
        assert_int_equal(stamp_get_request(formats[m], bytes, base, &got), STATUS_OK);

        zero_reply.error_estimate = 0xff00;
        stamp_put_reply(formats[m], &zero_reply, bytes, base);
        assert_int_equal(stamp_get_reply(formats[m], bytes, base, &got_reply), STATUS_INVALID);
        zero_reply.error_estimate = 0x0001;
        zero_reply.sender_error_estimate = 0; /* another's field, only carried */
        stamp_put_reply(formats[m], &zero_reply, bytes, base);
        assert_int_equal(stamp_get_reply(formats[m], bytes, base, &got_reply), STATUS_OK);
    }
}

static void ntp_counts_from_1900_and_wraps_in_2036(void **state)
{
    static const struct {
        int64_t unix_ns;
        uint64_t ntp;
    } times[] = {
        { 0, 0x83aa7e8000000000 },
        { 500000000, 0x83aa7e8080000000 },
        { 1, 0x83aa7e8000000004 },
        { 999999999, 0x83aa7e80fffffffb },
        { -1, 0x83aa7e7ffffffffb },
        { -2208988800 * NS_PER_S, 0 },
        { 2085978495 * NS_PER_S, 0xffffffff00000000 },
        { 2085978496 * NS_PER_S, 0 }, /* 2036-02-07 06:28:16 UTC */
        { 2085978497 * NS_PER_S + 250000000, 0x0000000140000000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        assert_true(stamp_ntp((struct wall){ times[i].unix_ns }) == times[i].ntp);
}

static void ntp_differences_are_exact_to_the_nanosecond_across_the_wrap(void **state)
{
    static const int64_t starts[] = { 0, 1764528250123456789, 2085978495999999999,
                                      2085978496 * NS_PER_S - 1, 4102444800 * NS_PER_S };
    static const int64_t steps[] = { 0,
                                     1,
                                     2,
                                     3,
                                     999,
                                     1000,
                                     123456789,
                                     999999999,
                                     NS_PER_S,
                                     NS_PER_S + 1,
                                     86400 * NS_PER_S,
                                     2147483647 * NS_PER_S };
    const char *given = getenv("SONDE_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);

    (void)state;
    print_message("SONDE_SEED=%u\n", seed);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
            uint64_t a = stamp_ntp((struct wall){ starts[i] });
            uint64_t b = stamp_ntp((struct wall){ starts[i] + steps[j] });
            assert_true(stamp_ntp_between(a, b) == steps[j]);
            assert_true(stamp_ntp_between(b, a) == -steps[j]);
        }
    for (int i = 0; i < 100000; i++) {
        int64_t start = (int64_t)rand_r(&seed) * 3 * NS_PER_S + rand_r(&seed) % NS_PER_S;
        int64_t step = (int64_t)rand_r(&seed) * 7 - 3 * NS_PER_S;
        uint64_t a = stamp_ntp((struct wall){ start });
        uint64_t b = stamp_ntp((struct wall){ start + step });
        assert_true(stamp_ntp_between(a, b) == step);
    }
}

static void ptp_differences_wrap_too(void **state)
{
    (void)state;
    assert_true(stamp_ptp_between(0x0000000500000000, 0x0000000500000001) == 1);
    assert_true(stamp_ptp_between(0x0000000500000001, 0x0000000500000000) == -1);
    assert_true(stamp_ptp_between(0x000000053b9ac9ff, 0x0000000600000000) == 1);
    assert_true(stamp_ptp_between(0x0000000600000000, 0x000000053b9ac9ff) == -1);
    assert_true(stamp_ptp_between(0xffffffff3b9ac9ff, 0x0000000000000000) == 1);
    assert_true(stamp_ptp_between(0x0000000000000000, 0xffffffff3b9ac9ff) == -1);
    assert_true(stamp_ptp_between(0x00000001000003e8, 0x000000030000000a) == 2 * NS_PER_S - 990);
}

static void error_estimates_are_those_of_the_table(void **state)
{
    static const struct {
        int64_t ns;
        uint16_t estimate;
    } rows[] = {
        { 1, 0x0005 },         { 1000, 0x0587 },      { 10000, 0x08a8 },
        { 100000, 0x0bd2 },    { NS_PER_MS, 0x0f84 }, { 10 * NS_PER_MS, 0x12a4 },
        { 100000000, 0x15cd }, { NS_PER_S, 0x1980 },  { 10 * NS_PER_S, 0x1ca0 },
        { 0, 0x0005 },         { -5, 0x0005 },        { INT64_MIN, 0x0005 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(stamp_error_estimate(rows[i].ns, false, false), rows[i].estimate);
        assert_int_equal(stamp_error_estimate(rows[i].ns, true, false), rows[i].estimate | 0x8000);
        assert_int_equal(stamp_error_estimate(rows[i].ns, false, true), rows[i].estimate | 0x4000);
        assert_int_equal(stamp_error_estimate(rows[i].ns, true, true), rows[i].estimate | 0xc000);
    }
}

/* multiplier * 2^scale units of 2^-32 s, in nanoseconds. */
static long double estimate_ns(uint16_t estimate)
{
    long double units = estimate & 255;

    for (int scale = estimate >> 8 & 63; scale > 0; scale--)
        units *= 2;
    return units * 1e9L / 4294967296.0L;
}

static void an_error_estimate_is_never_too_small_and_at_most_a_step_too_large(void **state)
{
    (void)state;
    for (int64_t ns = 1; ns < INT64_C(4294967295000000000) / 2; ns += ns / 7 + 1) {
        uint16_t estimate = stamp_error_estimate(ns, false, false);
        assert_true(estimate_ns(estimate) >= (long double)ns);
        /* A step is 1/128 of it, or the unit of 0.23 ns. */
        assert_true(estimate_ns(estimate) <= (long double)ns * (1 + 1 / 127.0L) + 0.24L);
        assert_true((estimate & 255) != 0);
    }
    assert_true((stamp_error_estimate(INT64_MAX, false, false) & 255) != 0);
    assert_true(estimate_ns(stamp_error_estimate(INT64_MAX, false, false)) >= 4294967295e9L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_request_is_laid_out_as_rfc_8762_4_2_1),
        cmocka_unit_test(a_plain_reply_is_laid_out_as_rfc_8762_4_3_1),
        cmocka_unit_test(an_authenticated_request_is_laid_out_as_rfc_8762_4_2_2),
        cmocka_unit_test(an_authenticated_reply_is_laid_out_as_rfc_8762_4_3_2),
        cmocka_unit_test(a_larger_payload_gets_one_extra_padding_tlv_up_to_its_end),
        cmocka_unit_test(sizes_between_the_base_packet_and_a_tlv_header_do_not_exist),
        cmocka_unit_test(a_flipped_bit_anywhere_in_an_authenticated_base_packet_is_denied),
        cmocka_unit_test(another_key_is_denied),
        cmocka_unit_test(reserved_fields_are_never_a_reason_to_refuse),
        cmocka_unit_test(zeros_are_looked_for_where_the_rfc_has_them),
        cmocka_unit_test(a_reply_is_never_a_request),
        cmocka_unit_test(a_multiplier_of_zero_is_refused_in_both_directions),
        cmocka_unit_test(ntp_counts_from_1900_and_wraps_in_2036),
        cmocka_unit_test(ntp_differences_are_exact_to_the_nanosecond_across_the_wrap),
        cmocka_unit_test(ptp_differences_wrap_too),
        cmocka_unit_test(error_estimates_are_those_of_the_table),
        cmocka_unit_test(an_error_estimate_is_never_too_small_and_at_most_a_step_too_large),
    };

    digest_key_init(&ready, key, sizeof(key));
    return cmocka_run_group_tests_name("stamp", tests, NULL, NULL);
}
