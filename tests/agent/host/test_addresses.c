/* A host must name the addresses at which others can reach it, and know whose interface is whose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/addresses.h"

static struct addr host(const char *text)
{
    struct addr addr;

    assert_int_equal(addr_parse_host(text, &addr, NULL), STATUS_OK);
    return addr;
}

static void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(((char **)list->items)[i]);
    free(list->items);
}

static bool is_in(const char *address, const char *net)
{
    struct addr addr = host(address);
    struct addr_net range;

    assert_int_equal(addr_net_parse(net, &range, NULL), STATUS_OK);
    return addr_net_contains(&range, &addr);
}

/* Without port and zone, each once, IPv4 first, and each one somebody's on this host. */
static void lists_what_others_can_reach(void **state)
{
    static const char *const never[] = { "169.254.0.0/16", "224.0.0.0/4", "0.0.0.0/32",
                                         "fe80::/10",      "ff00::/8",    "::/128" };
    struct list list = { 0 };
    char **texts;
    bool v6 = false, loopback;

    (void)state;
    addresses_list(&list);
    texts = list.items;
    assert_in_range(list.count, 1, LIMIT_ADDRESSES);
    loopback = is_in(texts[0], "127.0.0.0/8") || strcmp(texts[0], "::1") == 0;
    for (size_t i = 0; i < list.count; i++) {
        struct addr addr = host(texts[i]);
        struct host_interface interface;

        assert_null(strpbrk(texts[i], "%[]/"));
        assert_false(v6 && addr_family(&addr) == FAMILY_IPV4);
        v6 = addr_family(&addr) == FAMILY_IPV6;
        for (size_t k = 0; k < sizeof never / sizeof never[0]; k++)
            assert_false(is_in(texts[i], never[k]));
        /* all of them are loopback, when there is nothing else, or none is */
        assert_int_equal(is_in(texts[i], "127.0.0.0/8") || strcmp(texts[i], "::1") == 0, loopback);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(texts[i], texts[k]);
        addresses_interface(&addr, &interface);
        assert_true(interface.name[0] != '\0' && interface.mtu > 0);
    }
    list_free(&list);
}

static void adds_to_a_list(void **state)
{
    struct list list = { 0 };
    size_t count;

    (void)state;
    addresses_list(&list);
    count = list.count;
    addresses_list(&list); /* they are there already */
    assert_true(list.count >= count);
    list_free(&list);
}

static void knows_the_interface_of_an_address(void **state)
{
    struct addr loopback = addr_loopback(FAMILY_IPV4, 7862);
    struct addr nobodys = host("192.0.2.255");
    struct host_interface interface = { .name = "old", .mtu = 1 };

    (void)state;
    addresses_interface(&loopback, &interface);
    assert_int_equal(strncmp(interface.name, "lo", 2), 0);
    assert_int_equal(interface.mtu, addresses_mtu(interface.name));
    assert_true(interface.mtu >= 1280);
    addresses_interface(&nobodys, &interface);
    assert_string_equal(interface.name, "");
    assert_true(interface.mtu == NONE_INT);
    assert_true(addresses_mtu("no such interface, and a long name") == NONE_INT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_what_others_can_reach),
        cmocka_unit_test(adds_to_a_list),
        cmocka_unit_test(knows_the_interface_of_an_address),
    };

    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
