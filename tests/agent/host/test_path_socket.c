/* Hops, fragments on purpose and the kernel's path MTU: on real loopback sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/addresses.h"
#include "agent/host/datagram.h"
#include "agent/host/path_socket.h"
#include "agent/host/socket.h"
#include "agent/host/socket_system.h"

enum { LARGE = 65500, FRAGMENT = 1400 }; /* no loopback interface carries it whole */

struct pair {
    int from, to;
    struct addr from_addr, to_addr;
};

static struct pair pair_open(enum family family)
{
    struct addr any = addr_loopback(family, 0);
    struct pair pair;
    struct fault fault;

    if (socket_open(&any, &pair.from, &pair.from_addr, &fault) != STATUS_OK) {
        assert_int_equal(family, FAMILY_IPV6);
        skip();
    }
    assert_int_equal(socket_open(&any, &pair.to, &pair.to_addr, &fault), STATUS_OK);
    assert_int_equal(socket_connect(pair.from, &pair.to_addr, &fault), STATUS_OK);
    return pair;
}

static void pair_close(struct pair *pair)
{
    close(pair->from);
    close(pair->to);
}

static void check_hops(enum family family, int level, int option)
{
    struct pair pair = pair_open(family);
    int system = 0, hops = 0;

    assert_int_equal(socket_option_get(pair.from, level, option, &system), 0);
    assert_int_equal(path_socket_set_hops(pair.from, family, 3, NULL), STATUS_OK);
    assert_int_equal(socket_option_get(pair.from, level, option, &hops), 0);
    assert_int_equal(hops, 3);
    assert_int_equal(path_socket_set_hops(pair.from, family, 0, NULL), STATUS_OK);
    assert_int_equal(socket_option_get(pair.from, level, option, &hops), 0);
    assert_int_equal(hops, system);
    pair_close(&pair);
}

static void hops_are_set_and_given_back(void **state)
{
    struct fault fault = { "" };
    struct pair pair = pair_open(FAMILY_IPV4);

    (void)state;
    check_hops(FAMILY_IPV4, IPPROTO_IP, IP_TTL);
    check_hops(FAMILY_IPV6, IPPROTO_IPV6, IPV6_UNICAST_HOPS);
    assert_int_not_equal(path_socket_set_hops(pair.from, FAMILY_IPV4, 256, &fault), STATUS_OK);
    assert_non_null(strstr(fault.text, "256"));
    pair_close(&pair);
}

/* Sends a datagram; returns in fragments of which size it came. */
static int64_t fragment_of(const struct pair *pair, size_t length)
{
    static uint8_t bytes[LARGE], room[LARGE + 1];
    int64_t fragment = -1;
    struct datagram in = { .part = { { room, sizeof room } }, .parts = 1, .fragment = &fragment };
    struct pollfd look = { .fd = pair->to, .events = POLLIN };
    int error;

    assert_int_equal(send(pair->from, bytes, length, 0), length);
    assert_int_equal(poll(&look, 1, 5000), 1);
    assert_int_equal(datagram_receive_single(pair->to, &in, 1, &error), 1);
    assert_int_equal(in.length, length);
    return fragment;
}

/* IPv6's sender alone cuts, to any size that it is told. */
static void fragments_are_cut_told_and_forbidden_again(void **state)
{
    struct pair pair = pair_open(FAMILY_IPV6);
    bool on = false;

    (void)state;
    if (datagram_ask_fragments(pair.to, FAMILY_IPV6, NULL) == STATUS_UNSUPPORTED) {
        pair_close(&pair);
        skip();
    }
    assert_int_equal(path_socket_allow_fragments(pair.from, FAMILY_IPV6, FRAGMENT, NULL),
                     STATUS_OK);
    assert_in_range(fragment_of(&pair, LARGE), FRAGMENT - 7, FRAGMENT); /* in units of 8 */
    assert_int_equal(path_socket_allow_fragments(pair.from, FAMILY_IPV6, 100, NULL), STATUS_OK);
    assert_in_range(fragment_of(&pair, LARGE), 1280 - 7, 1280);
    assert_int_equal(socket_set_dont_fragment(pair.from, FAMILY_IPV6, NULL), STATUS_OK);
    assert_int_equal(socket_get_dont_fragment(pair.from, FAMILY_IPV6, &on), STATUS_OK);
    assert_true(on);
    /* the old size of fragments is no limit for whole ones */
    assert_int_equal(fragment_of(&pair, FRAGMENT + 100), 0);
    pair_close(&pair);
}

static void df_is_off_while_fragments_are_allowed(void **state)
{
    bool on = false;
    struct pair pair = pair_open(FAMILY_IPV4);

    (void)state;
    assert_int_equal(socket_set_dont_fragment(pair.from, FAMILY_IPV4, NULL), STATUS_OK);
    assert_int_equal(path_socket_allow_fragments(pair.from, FAMILY_IPV4, FRAGMENT, NULL),
                     STATUS_OK);
    assert_int_equal(socket_get_dont_fragment(pair.from, FAMILY_IPV4, &on), STATUS_OK);
    assert_false(on);
    assert_int_equal(socket_set_dont_fragment(pair.from, FAMILY_IPV4, NULL), STATUS_OK);
    assert_int_equal(socket_get_dont_fragment(pair.from, FAMILY_IPV4, &on), STATUS_OK);
    assert_true(on);
    pair_close(&pair);
}

static void check_kernel_mtu(enum family family)
{
    struct pair pair = pair_open(family);
    const struct addr nowhere = { .length = 0 };
    struct host_interface interface;
    int64_t mtu = -7, same = -7;

    addresses_interface(&pair.to_addr, &interface);
    if (path_socket_kernel_mtu(&pair.from_addr, &pair.to_addr, &mtu) == STATUS_UNSUPPORTED) {
        assert_int_equal(mtu, -7);
        pair_close(&pair);
        skip();
    }
    assert_in_range(mtu, 1, interface.mtu);
    assert_int_equal(path_socket_kernel_mtu(&nowhere, &pair.to_addr, &same), STATUS_OK);
    assert_int_equal(mtu, same);
    pair_close(&pair);
}

static void the_kernels_path_mtu_is_told(void **state)
{
    (void)state;
    check_kernel_mtu(FAMILY_IPV4);
    check_kernel_mtu(FAMILY_IPV6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hops_are_set_and_given_back),
        cmocka_unit_test(fragments_are_cut_told_and_forbidden_again),
        cmocka_unit_test(df_is_off_while_fragments_are_allowed),
        cmocka_unit_test(the_kernels_path_mtu_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
