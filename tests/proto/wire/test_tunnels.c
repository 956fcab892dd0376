/* A number must be recognised for what people know it as, and nothing must be made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/wire/tunnels.h"

/* The texts of all explanations, one after the other. */
static size_t explain(enum family family, int64_t link_mtu, int64_t path_mtu, char *out_text,
                      size_t size)
{
    struct tunnel_match matches[TUNNEL_MATCHES_MAX];
    size_t count = tunnel_explain(family, link_mtu, path_mtu, matches, TUNNEL_MATCHES_MAX);
    size_t used = 0;

    out_text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        char text[TUNNEL_TEXT_SIZE];
        int written;

        tunnel_format(&matches[i], text);
        assert_true(strlen(text) < TUNNEL_TEXT_SIZE - 1);
        written = snprintf(out_text + used, size - used, "%s; ", text);
        assert_true(written > 0 && (size_t)written < size - used);
        used += (size_t)written;
    }
    return count;
}

static void expect(enum family family, int64_t link_mtu, int64_t path_mtu, const char *words)
{
    char text[4096];

    explain(family, link_mtu, path_mtu, text, sizeof text);
    if (strstr(text, words) == NULL)
        fail_msg("%lld of %lld: \"%s\" is not in \"%s\"", (long long)path_mtu, (long long)link_mtu,
                 words, text);
}

static void knows_the_numbers_that_people_know(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        enum family family = i ? FAMILY_IPV6 : FAMILY_IPV4;

        expect(family, 1500, 1420, "WireGuard over IPv6");
        expect(family, 1500, 1440, "WireGuard over IPv4");
        expect(family, 1500, 1450, "VXLAN or Geneve over IPv4");
        expect(family, 1500, 1430, "VXLAN or Geneve over IPv6");
        expect(family, 1500, 1492, "PPPoE, on 1500");
        expect(family, 1500, 1476, "GRE over IPv4");
        expect(family, 1500, 1472, "GRE with a key over IPv4");
        expect(family, 1500, 1456, "GRE over IPv6");
        expect(family, 1500, 1462, "gretap) over IPv4");
        expect(family, 1500, 1458, "NVGRE over IPv4");
        expect(family, 1500, 1442, "OVN");
        expect(family, 1500, 1460, "L2TP");
        expect(family, 1500, 1464, "GTP-U over IPv4");
        expect(family, 1500, 1460, "in IPv6 (DS-Lite");
        expect(family, 9000, 8950, "VXLAN or Geneve over IPv4, on 9000");
        expect(family, 1500, 1496, "VLAN");
    }
}

/* Linux: net/ipv4/esp4.c:esp4_get_mtu; blocks, and two bytes behind the padding. */
static void rounds_ipsec_to_its_blocks(void **state)
{
    (void)state;
    expect(FAMILY_IPV4, 1500, 1446, "AES-GCM, over IPv4");
    expect(FAMILY_IPV4, 1500, 1438, "AES-GCM, NAT traversal, over IPv4");
    expect(FAMILY_IPV4, 1500, 1438, "HMAC-SHA-1-96, over IPv4");
    expect(FAMILY_IPV4, 1500, 1438, "HMAC-SHA-256-128, over IPv4");
    expect(FAMILY_IPV4, 1500, 1422, "HMAC-SHA-256-128, NAT traversal, over IPv4");
    expect(FAMILY_IPV6, 1500, 1426, "AES-GCM, over IPv6");
}

static void knows_what_goes_into_what(void **state)
{
    (void)state;
    expect(FAMILY_IPV4, 1500, 1370, "VXLAN or Geneve over IPv4 inside WireGuard over IPv6");
    expect(FAMILY_IPV4, 1500, 1412,
           "WireGuard over IPv6 (wg-quick's default) inside PPPoE, on 1500");
    expect(FAMILY_IPV6, 9000, 1412, "inside PPPoE, on 1500");
}

static void looks_at_ethernet_behind_jumbo_frames(void **state)
{
    (void)state;
    expect(FAMILY_IPV4, 9000, 1420, "WireGuard over IPv6 (wg-quick's default), on 1500");
    assert_string_equal(tunnel_known_mtu(1500), "Ethernet without jumbo frames (RFC 894)");
    assert_non_null(tunnel_known_mtu(1280));
    assert_null(tunnel_known_mtu(1281));
}

static void tells_the_families_apart(void **state)
{
    char text[4096];

    (void)state;
    explain(FAMILY_IPV6, 1500, 1480, text, sizeof text);
    assert_non_null(strstr(text, "6in4"));
    assert_null(strstr(text, "IPIP"));
    assert_null(strstr(text, "464XLAT"));
    explain(FAMILY_IPV4, 1500, 1480, text, sizeof text);
    assert_null(strstr(text, "6in4"));
    assert_non_null(strstr(text, "IPIP"));
    assert_non_null(strstr(text, "464XLAT"));
}

static void makes_nothing_up(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(explain(FAMILY_IPV4, 1500, 1500, text, sizeof text), 0);
    assert_int_equal(explain(FAMILY_IPV4, 1400, 1500, text, sizeof text), 0);
    assert_int_equal(explain(FAMILY_IPV4, 1500, 1399, text, sizeof text), 0);
    assert_int_equal(explain(FAMILY_IPV4, 1500, 600, text, sizeof text), 0);
    assert_int_equal(explain(FAMILY_IPV4, 1500, 0, text, sizeof text), 0);
    assert_int_equal(explain(FAMILY_IPV6, 68, -1, text, sizeof text), 0);
}

static void never_has_more_answers_than_room(void **state)
{
    struct tunnel_match matches[2];
    size_t most = 0;

    (void)state;
    for (int64_t mtu = 1; mtu < 1500; mtu++) {
        char text[4096];
        size_t count = explain(FAMILY_IPV4, 1500, mtu, text, sizeof text);

        most = count > most ? count : most;
        assert_true(tunnel_explain(FAMILY_IPV4, 1500, mtu, matches, 2) <= 2);
        assert_int_equal(tunnel_explain(FAMILY_IPV4, 1500, mtu, matches, 0), 0);
    }
    assert_true(most < TUNNEL_MATCHES_MAX);
}

static void says_where_every_number_comes_from(void **state)
{
    size_t count = 0;

    (void)state;
    for (const struct tunnel *tunnel; (tunnel = tunnel_at(count)) != NULL; count++) {
        assert_true(strlen(tunnel->source) > 5);
        assert_true(tunnel->carries[FAMILY_IPV4] || tunnel->carries[FAMILY_IPV6]);
        assert_in_range(1500 - tunnel_inside(tunnel, 1500), 4, 100);
        assert_true(tunnel_inside(tunnel, 0) <= 0);
    }
    assert_true(count > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_numbers_that_people_know),
        cmocka_unit_test(rounds_ipsec_to_its_blocks),
        cmocka_unit_test(knows_what_goes_into_what),
        cmocka_unit_test(looks_at_ethernet_behind_jumbo_frames),
        cmocka_unit_test(tells_the_families_apart),
        cmocka_unit_test(makes_nothing_up),
        cmocka_unit_test(never_has_more_answers_than_room),
        cmocka_unit_test(says_where_every_number_comes_from),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
