/* Endpoints are written, read back, compared and hashed; a mapped address is its IPv4 address. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>

#include "proto/base/addr.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct addr parsed(const char *text)
{
    struct addr addr;
    struct fault fault;

    if (addr_parse(text, &addr, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return addr;
}

static void assert_formats(struct addr addr, const char *expected)
{
    char text[ADDR_TEXT_SIZE];

    addr_format(&addr, text);
    assert_string_equal(text, expected);
}

static struct addr mapped(const char *v6, uint16_t port)
{
    struct addr addr = { .length = sizeof(struct sockaddr_in6) };

    addr.socket.v6.sin6_family = AF_INET6;
    addr.socket.v6.sin6_port = htons(port);
    assert_int_equal(inet_pton(AF_INET6, v6, &addr.socket.v6.sin6_addr), 1);
    return addr;
}

static void loopback_is_of_its_family(void **state)
{
    struct addr v4 = addr_loopback(FAMILY_IPV4, 7862), v6 = addr_loopback(FAMILY_IPV6, 7862);

    (void)state;
    assert_formats(v4, "127.0.0.1:7862");
    assert_formats(v6, "[::1]:7862");
    assert_int_equal(addr_family(&v4), FAMILY_IPV4);
    assert_int_equal(addr_family(&v6), FAMILY_IPV6);
    assert_int_equal(v4.length, sizeof(struct sockaddr_in));
    assert_int_equal(v6.length, sizeof(struct sockaddr_in6));
    assert_string_equal(family_name(FAMILY_IPV4), "ipv4");
    assert_string_equal(family_name(FAMILY_IPV6), "ipv6");
}

static void the_port_can_be_changed(void **state)
{
    struct addr v4 = addr_loopback(FAMILY_IPV4, 1), v6 = addr_loopback(FAMILY_IPV6, 1);

    (void)state;
    addr_set_port(&v4, 65535);
    addr_set_port(&v6, 258);
    assert_int_equal(addr_port(&v4), 65535);
    assert_int_equal(addr_port(&v6), 258);
    assert_formats(v6, "[::1]:258");
}

static void what_is_written_is_read_back(void **state)
{
    static const char *const texts[] = { "0.0.0.0:0",  "127.0.0.1:7862", "255.255.255.255:65535",
                                         "[::]:0",     "[::1]:7862",     "[2001:db8::1]:1",
                                         "[fe80::1]:5" };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_formats(parsed(texts[i]), texts[i]);
}

static void a_mapped_address_is_its_ipv4_address(void **state)
{
    struct addr v4 = parsed("192.0.2.7:99"), v6 = mapped("::ffff:192.0.2.7", 99);

    (void)state;
    assert_int_equal(addr_family(&v6), FAMILY_IPV4);
    assert_formats(v6, "192.0.2.7:99");
    assert_true(addr_equal(&v4, &v6));
    assert_true(addr_hash(&v4) == addr_hash(&v6));
    v6 = parsed("[::ffff:192.0.2.7]:99");
    assert_int_equal(v6.socket.any.sa_family, AF_INET);
    assert_true(addr_equal(&v4, &v6));
}

static void a_zone_is_for_link_local_addresses(void **state)
{
    char name[IF_NAMESIZE], text[ADDR_TEXT_SIZE];
    struct addr addr, other, out = addr_loopback(FAMILY_IPV4, 3);

    (void)state;
    assert_non_null(if_indextoname(1, name));
    snprintf(text, sizeof text, "[fe80::1%%%s]:5", name);
    addr = parsed(text);
    assert_int_equal(addr.socket.v6.sin6_scope_id, 1);
    assert_formats(addr, text);
    other = parsed("[fe80::1]:5");
    assert_false(addr_equal(&addr, &other));
    snprintf(text, sizeof text, "[2001:db8::1%%%s]:5", name);
    assert_int_equal(addr_parse(text, &out, NULL), STATUS_INVALID);
    assert_int_equal(addr_parse("[fe80::1%no-such-if]:5", &out, NULL), STATUS_INVALID);
    assert_int_equal(addr_parse("[fe80::1%]:5", &out, NULL), STATUS_INVALID);
    assert_formats(out, "127.0.0.1:3");
}

static void other_forms_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:+1",
        "127.0.0.1:1 ",
        " 127.0.0.1:1",
        "127.0.0:1",
        "127.0.0.256:1",
        "127.0.0.1.1:1",
        "::1:7862",
        "[::1]",
        "[::1]7862",
        "[::1:7862",
        "::1]:7862",
        "[]:1",
        "[:::1]:1",
        "localhost:1",
        "[127.0.0.1]:1",
        "[::1]:99999999999999999999999",
        "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee:ffff:0:1]:1",
    };
    struct addr addr = addr_loopback(FAMILY_IPV4, 3);
    struct fault fault;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        fault.text[0] = '\0';
        if (addr_parse(bad[i], &addr, &fault) != STATUS_INVALID || fault.text[0] == '\0')
            fail_msg("\"%s\" was read", bad[i]);
    }
    assert_formats(addr, "127.0.0.1:3");
}

static void equal_means_family_address_and_port(void **state)
{
    static const char *const texts[] = { "127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1", "[::1]:1",
                                         "[::1]:2",     "[::2]:1",     "[::7f00:1]:1" };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (size_t j = 0; j < COUNT(texts); j++) {
            struct addr a = parsed(texts[i]), b = parsed(texts[j]);

            assert_int_equal(addr_equal(&a, &b), i == j);
            assert_int_equal(addr_hash(&a) == addr_hash(&b), i == j);
        }
    }
}

static void the_hash_spreads_neighbouring_ports(void **state)
{
    enum { BUCKETS = 256, PORTS = 65536 };
    int counts[BUCKETS] = { 0 };

    (void)state;
    for (int port = 0; port < PORTS; port++) {
        struct addr addr = addr_loopback(FAMILY_IPV4, (uint16_t)port);

        counts[addr_hash(&addr) % BUCKETS]++;
    }
    /* 256 expected in each, standard deviation 16: six of them either way */
    for (int i = 0; i < BUCKETS; i++)
        assert_in_range(counts[i], 160, 352);
}

static struct addr host(const char *text)
{
    struct addr addr;
    struct fault fault;

    if (addr_parse_host(text, &addr, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return addr;
}

static struct addr_net net(const char *text)
{
    struct addr_net range;
    struct fault fault;

    if (addr_net_parse(text, &range, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return range;
}

static void a_host_has_no_port(void **state)
{
    static const char *const bad[] = { "",          "127.0.0.1:1", "[::1]", "[::1]:1",
                                       "localhost", "127.0.0.1/8", " ::1",  "::1%lo",
                                       ":",         "1.2.3" };
    char name[IF_NAMESIZE], text[ADDR_TEXT_SIZE], expected[ADDR_TEXT_SIZE + 8];
    struct addr out = addr_loopback(FAMILY_IPV4, 3);
    struct fault fault;

    (void)state;
    assert_formats(host("192.0.2.1"), "192.0.2.1:0");
    assert_formats(host("::"), "[::]:0");
    assert_formats(host("::ffff:192.0.2.1"), "192.0.2.1:0");
    assert_non_null(if_indextoname(1, name));
    snprintf(text, sizeof text, "fe80::1%%%s", name);
    snprintf(expected, sizeof expected, "[%s]:0", text);
    assert_formats(host(text), expected);
    for (size_t i = 0; i < COUNT(bad); i++) {
        fault.text[0] = '\0';
        if (addr_parse_host(bad[i], &out, &fault) != STATUS_INVALID || fault.text[0] == '\0')
            fail_msg("\"%s\" was read", bad[i]);
    }
    assert_formats(out, "127.0.0.1:3");
}

static void a_range_holds_what_shares_its_prefix(void **state)
{
    static const struct {
        const char *range, *first, *last, *before, *behind;
    } cases[] = {
        { "10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0" },
        { "192.0.2.128/25", "192.0.2.128", "192.0.2.255", "192.0.2.127", "192.0.3.0" },
        { "192.0.2.6/31", "192.0.2.6", "192.0.2.7", "192.0.2.5", "192.0.2.8" },
        { "192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.6", "192.0.2.8" },
        { "192.0.2.7/32", "::ffff:192.0.2.7", "192.0.2.7", "192.0.2.6", "192.0.2.8" },
        { "::ffff:10.0.0.0/104", "10.0.0.0", "10.255.255.255", "::ffff:9.0.0.1", "11.0.0.0" },
        { "0.0.0.0/0", "0.0.0.0", "255.255.255.255", "::", "::1" },
        { "::/0", "::", "ffff::1", "10.0.0.1", "::ffff:10.0.0.1" },
        { "fd00::/8", "fd00::", "fdff:ffff::1", "fcff:ffff::1", "fe00::" },
        { "2001:db8::/33", "2001:db8::", "2001:db8:7fff::1", "2001:db7:ffff::", "2001:db8:8000::" },
        { "2001:db8::4", "2001:db8::4", "2001:db8::4", "2001:db8::3", "2001:db8::5" },
        { "fe80::/10", "fe80::1", "febf::1", "fe7f::1", "fec0::" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct addr_net range = net(cases[i].range);
        struct addr in[] = { host(cases[i].first), host(cases[i].last) };
        struct addr out[] = { host(cases[i].before), host(cases[i].behind) };

        addr_set_port(&in[0], 7862);
        for (size_t k = 0; k < 2; k++) {
            if (!addr_net_contains(&range, &in[k]) || addr_net_contains(&range, &out[k]))
                fail_msg("%s: wrong about its %s end", cases[i].range, k == 0 ? "lower" : "upper");
        }
    }
}

static void the_zone_does_not_tell_hosts_of_a_range_apart(void **state)
{
    struct addr_net range = net("fe80::/10");
    struct addr addr = host("fe80::1");

    (void)state;
    addr.socket.v6.sin6_scope_id = 7;
    assert_true(addr_net_contains(&range, &addr));
}

static void a_range_of_another_form_is_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        { "", "as in 10.0.0.0/8" },
        { "10.0.0.0/", "0 to 32" },
        { "10.0.0.0/33", "0 to 32" },
        { "10.0.0.0/-1", "0 to 32" },
        { "10.0.0.0/8/8", "0 to 32" },
        { "10.0.0.0/255.0.0.0", "0 to 32" },
        { "10/8", "no IPv4 or IPv6 address" },
        { "fd00::/129", "0 to 128" },
        { "::ffff:10.0.0.0/95", "96 to 128" },
        { "::ffff:10.0.0.0/8", "96 to 128" },
        { "fe80::%lo/10", "no zone" },
        { "example.org", "no IPv4 or IPv6 address" },
        { "10.0.0.1/8", "10.0.0.0/8 is the range" },
        { "fd00:1::/8", "fd00::/8 is the range" },
        { "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee:ffff:0:1:2:3/8",
          "too long" },
    };
    struct addr_net range = net("192.0.2.1");
    struct fault fault;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fault.text[0] = '\0';
        assert_int_equal(addr_net_parse(cases[i].text, &range, &fault), STATUS_INVALID);
        if (strstr(fault.text, cases[i].said) == NULL)
            fail_msg("\"%s\": %s", cases[i].text, fault.text);
    }
    assert_int_equal(range.prefix, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_is_of_its_family),
        cmocka_unit_test(the_port_can_be_changed),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_mapped_address_is_its_ipv4_address),
        cmocka_unit_test(a_zone_is_for_link_local_addresses),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(equal_means_family_address_and_port),
        cmocka_unit_test(the_hash_spreads_neighbouring_ports),
        cmocka_unit_test(a_host_has_no_port),
        cmocka_unit_test(a_range_holds_what_shares_its_prefix),
        cmocka_unit_test(the_zone_does_not_tell_hosts_of_a_range_apart),
        cmocka_unit_test(a_range_of_another_form_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
