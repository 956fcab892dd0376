/* MTU arithmetic: the documented numbers, both families' edges, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/budget.h"
#include "proto/wire/limits.h"

enum { NONE = -1 };

/* The payload, or NONE with a fault that says why. */
static int64_t at_mtu(enum family family, int64_t mtu, int64_t extra)
{
    struct fault fault = { "" };
    int64_t payload = NONE;
    enum status status = budget_payload(family, mtu, extra, &payload, &fault);

    assert_int_equal(status, payload == NONE ? STATUS_RANGE : STATUS_OK);
    assert_int_equal(payload == NONE, strlen(fault.text) > 0);
    return payload;
}

static int64_t maximum(enum family family, int64_t extra)
{
    struct fault fault = { "" };
    int64_t payload = NONE;
    enum status status = budget_protocol_maximum(family, extra, &payload, &fault);

    assert_int_equal(status, payload == NONE ? STATUS_RANGE : STATUS_OK);
    assert_int_equal(payload == NONE, strlen(fault.text) > 0);
    return payload;
}

static void the_documented_table_comes_out(void **state)
{
    (void)state;
    assert_int_equal(maximum(FAMILY_IPV4, 0), 65507);
    assert_int_equal(maximum(FAMILY_IPV6, 0), 65527);
    assert_int_equal(at_mtu(FAMILY_IPV4, 1500, 0), 1472);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1500, 0), 1452);
    assert_int_equal(at_mtu(FAMILY_IPV4, 16384, 0), 16356);
    assert_int_equal(at_mtu(FAMILY_IPV6, 16384, 0), 16336);
    assert_int_equal(PAYLOAD_MAX_IPV4, 65507);
    assert_int_equal(PAYLOAD_MAX_IPV6, 65527);
}

static void options_and_extension_headers_come_off_the_payload(void **state)
{
    (void)state;
    assert_int_equal(at_mtu(FAMILY_IPV4, 1500, 40), 1432);
    assert_int_equal(at_mtu(FAMILY_IPV4, 1500, 4), 1468);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1500, 8), 1444);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1500, 1448), 4);
    assert_int_equal(maximum(FAMILY_IPV4, 40), 65467);
    assert_int_equal(maximum(FAMILY_IPV6, 65520), 7);
}

static void each_family_has_its_smallest_mtu(void **state)
{
    (void)state;
    assert_int_equal(at_mtu(FAMILY_IPV4, 68, 0), 40);
    assert_int_equal(at_mtu(FAMILY_IPV4, 67, 0), NONE);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1280, 0), 1232);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1279, 0), NONE);
    assert_int_equal(at_mtu(FAMILY_IPV4, 0, 0), NONE);
    assert_int_equal(at_mtu(FAMILY_IPV4, -1500, 0), NONE);
    assert_int_equal(at_mtu(FAMILY_IPV4, INT64_MIN, 0), NONE);
}

static void no_mtu_lifts_the_payload_over_the_protocol_maximum(void **state)
{
    (void)state;
    assert_int_equal(at_mtu(FAMILY_IPV4, 65534, 0), 65506);
    assert_int_equal(at_mtu(FAMILY_IPV4, 65535, 0), 65507);
    assert_int_equal(at_mtu(FAMILY_IPV4, 65536, 0), 65507);
    assert_int_equal(at_mtu(FAMILY_IPV4, LIMIT_MTU, 40), 65467);
    assert_int_equal(at_mtu(FAMILY_IPV6, 65536, 0), 65488);
    assert_int_equal(at_mtu(FAMILY_IPV6, 65575, 0), 65527);
    assert_int_equal(at_mtu(FAMILY_IPV6, 65576, 0), NONE);
    assert_int_equal(at_mtu(FAMILY_IPV4, INT64_MAX, 0), NONE);
}

static void header_bytes_that_no_header_can_have_are_refused(void **state)
{
    static const int64_t bad_v4[] = { -4, -1, 1, 2, 3, 5, 39, 41, 44, INT64_MIN, INT64_MAX };
    static const int64_t bad_v6[] = { -8, 1, 4, 7, 12, 65527, 65536, INT64_MIN, INT64_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof(bad_v4) / sizeof(bad_v4[0]); i++) {
        assert_int_equal(at_mtu(FAMILY_IPV4, 1500, bad_v4[i]), NONE);
        assert_int_equal(maximum(FAMILY_IPV4, bad_v4[i]), NONE);
    }
    for (size_t i = 0; i < sizeof(bad_v6) / sizeof(bad_v6[0]); i++) {
        assert_int_equal(at_mtu(FAMILY_IPV6, 1500, bad_v6[i]), NONE);
        assert_int_equal(maximum(FAMILY_IPV6, bad_v6[i]), NONE);
    }
}

static void a_packet_without_a_payload_byte_is_refused(void **state)
{
    (void)state;
    assert_int_equal(at_mtu(FAMILY_IPV4, 68, 40), NONE);
    assert_int_equal(at_mtu(FAMILY_IPV4, 69, 40), 1);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1280, 1232), NONE);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1281, 1232), 1);
    assert_int_equal(at_mtu(FAMILY_IPV6, 1500, EXTENSION_HEADERS_MAX), NONE);
    assert_int_equal(maximum(FAMILY_IPV6, EXTENSION_HEADERS_MAX), NONE);
}

static void every_mtu_loses_exactly_its_headers(void **state)
{
    (void)state;
    for (int64_t mtu = MTU_MIN_IPV4; mtu <= 65535; mtu++) {
        assert_int_equal(at_mtu(FAMILY_IPV4, mtu, 0), mtu - 28);
        if (mtu >= MTU_MIN_IPV6)
            assert_int_equal(at_mtu(FAMILY_IPV6, mtu, 16), mtu - 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_table_comes_out),
        cmocka_unit_test(options_and_extension_headers_come_off_the_payload),
        cmocka_unit_test(each_family_has_its_smallest_mtu),
        cmocka_unit_test(no_mtu_lifts_the_payload_over_the_protocol_maximum),
        cmocka_unit_test(header_bytes_that_no_header_can_have_are_refused),
        cmocka_unit_test(a_packet_without_a_payload_byte_is_refused),
        cmocka_unit_test(every_mtu_loses_exactly_its_headers),
    };

    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
