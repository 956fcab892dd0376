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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
