/* The tables of /proc/net: one bad line costs itself, no column is taken for its neighbour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/procfs.h"
#include "proto/wire/limits.h"

/* --- softnet_stat --------------------------------------------------------------------------- */

static void a_cpu_has_its_own_number_where_the_kernel_prints_it(void **state)
{
    static const char text[] = "0000000f 00000001 00000002 0 0 0 0 0 0 0 0 0 00000000 0 0\n"
                               "FFFFFFFF 0000000a 00000010 0 0 0 0 0 0 0 0 0 00000003 0 0\n";
    struct list cpus = { NULL, 0 };
    const struct softnet_cpu *cpu;

    (void)state;
    assert_int_equal(procfs_softnet(text, strlen(text), &cpus), 0);
    assert_int_equal(cpus.count, 2);
    cpu = cpus.items;
    assert_int_equal(cpu[0].cpu, 0);
    assert_int_equal(cpu[0].processed, 15);
    assert_int_equal(cpu[0].dropped, 1);
    assert_int_equal(cpu[0].squeezed, 2);
    assert_int_equal(cpu[1].cpu, 3);
    assert_int_equal(cpu[1].processed, 4294967295);
    assert_int_equal(cpu[1].dropped, 10);
    assert_int_equal(cpu[1].squeezed, 16);
    free(cpus.items);
}

static void old_and_broken_softnet_lines(void **state)
{
    static const char text[] = "1 2 3 0 0 0 0 0 0\n1 2\n4 xyz 6\n7 8 9\n";
    struct list cpus = { NULL, 0 };
    const struct softnet_cpu *cpu;

    (void)state;
    assert_int_equal(procfs_softnet(text, strlen(text), &cpus), 2);
    assert_int_equal(cpus.count, 2);
    cpu = cpus.items;
    assert_int_equal(cpu[0].cpu, 0);
    assert_int_equal(cpu[1].cpu, 3);
    assert_int_equal(cpu[1].squeezed, 9);
    free(cpus.items);
}

static void no_more_cpus_than_the_cap(void **state)
{
    struct list cpus = { NULL, 0 };
    size_t lines = LIMIT_CPUS + 3;
    char *text = malloc(lines * 6 + 1);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < lines; i++)
        memcpy(text + i * 6, "1 2 3\n", 7);
    assert_int_equal(procfs_softnet(text, lines * 6, &cpus), 3);
    assert_int_equal(cpus.count, LIMIT_CPUS);
    free(text);
    free(cpus.items);
}

/* --- dev ------------------------------------------------------------------------------------ */

#define DEV_HEADER                                                                                 \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "     \
    "drop fifo colls carrier compressed\n"

static struct list dev(const char *text, size_t skipped)
{
    struct list interfaces = { NULL, 0 };

    assert_int_equal(procfs_dev(text, strlen(text), &interfaces), skipped);
    return interfaces;
}

static void wide_numbers_need_no_blank_and_odd_names_are_kept(void **state)
{
    struct list list =
        dev(DEV_HEADER "    lo:18446744073709551614 224490607 1 2 3 0 0 0 181005683161 "
                       "224490607 4 5 6 0 0 0\n"
                       "veth0abc@if7:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
            0);
    const struct interface_counters *i = list.items;

    (void)state;
    assert_int_equal(list.count, 2);
    assert_string_equal(i[0].name, "lo");
    assert_true(i[0].rx_bytes == UINT64_MAX - 1);
    assert_int_equal(i[0].rx_packets, 224490607);
    assert_int_equal(i[0].rx_errors, 1);
    assert_int_equal(i[0].rx_dropped, 2);
    assert_int_equal(i[0].tx_bytes, 181005683161);
    assert_int_equal(i[0].tx_errors, 4);
    assert_int_equal(i[0].tx_dropped, 5);
    assert_string_equal(i[1].name, "veth0abc@if7");
    assert_int_equal(i[1].rx_dropped, 4);
    assert_int_equal(i[1].tx_bytes, 9);
    assert_int_equal(i[1].tx_packets, 10);
    assert_int_equal(i[1].tx_errors, 11);
    assert_int_equal(i[1].tx_dropped, 12);
    free(list.items);
}

static void dev_columns_are_found_by_their_names(void **state)
{
    struct list list = dev("x|y|z\nface|drop errs packets bytes|packets new bytes drop errs\n"
                           "a:1 2 3 4 5 6 7 8 9\n",
                           0);
    const struct interface_counters *i = list.items;

    (void)state;
    assert_int_equal(list.count, 1);
    assert_int_equal(i->rx_dropped, 1);
    assert_int_equal(i->rx_errors, 2);
    assert_int_equal(i->rx_packets, 3);
    assert_int_equal(i->rx_bytes, 4);
    assert_int_equal(i->tx_packets, 5);
    assert_int_equal(i->tx_bytes, 7);
    assert_int_equal(i->tx_dropped, 8);
    assert_int_equal(i->tx_errors, 9);
    free(list.items);
}

static void interface_lines_that_do_not_fit_are_skipped(void **state)
{
    struct list list = dev(DEV_HEADER "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
                                      "eth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
                                      "eth2: -1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                      "eth3  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                      ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                      "a b: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                      "a:b: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
                           6);

    (void)state;
    assert_int_equal(list.count, 1);
    assert_string_equal(((struct interface_counters *)list.items)->name, "a:b");
    free(list.items);
}

static void without_a_header_no_column_has_a_meaning(void **state)
{
    static const char *const texts[] = {
        "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        " face |bytes packets errs|bytes packets errs drop\neth0: 1 2 3 4 5 6 7\n",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct list list = dev(texts[i], 1);

        assert_int_equal(list.count, 0);
    }
}

static void a_name_longer_than_any_interface_is_skipped(void **state)
{
    char text[1024], name[65];

    (void)state;
    memset(name, 'n', sizeof name);
    for (int length = 63; length <= 64; length++) {
        struct list list;

        snprintf(text, sizeof text, DEV_HEADER "%.*s:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
                 length, name);
        list = dev(text, length == 63 ? 0 : 1);
        assert_int_equal(list.count, length == 63 ? 1 : 0);
        free(list.items);
    }
}

/* --- udp ------------------------------------------------------------------------------------ */

#define UDP_HEADER                                                                                 \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "  \
    "inode ref pointer drops\n"

static void the_good_socket_is_read_and_the_bad_lines_counted(void **state)
{
    static const char good[] =
        UDP_HEADER "  411: 00000000:1B58 00000000:0000 07 00000000:00001500 00:00000000 00000000  "
                   "   7        0 30001 2 0000000000000000 994\n"
                   "  412: 0100007F:0035 00000000:0000 07\n";
    char text[sizeof good + 130] = { 0 };
    struct list sockets = { NULL, 0 };
    const struct proc_socket *socket;

    (void)state;
    memcpy(text, good, sizeof good - 1); /* and 128 zero bytes as a line of their own */
    text[sizeof good - 1 + 128] = '\n';
    assert_int_equal(procfs_udp(text, sizeof good - 1 + 129, &sockets), 2);
    assert_int_equal(sockets.count, 1);
    socket = sockets.items;
    assert_int_equal(socket->port, 7000);
    assert_int_equal(socket->drops, 994);
    assert_int_equal(socket->queued_bytes, 5376);
    assert_int_equal(socket->inode, 30001);
    assert_int_equal(socket->uid, 7);
    free(sockets.items);
}

static void an_ipv6_line_and_one_port_twice(void **state)
{
    static const char text[] = UDP_HEADER
        " 1: 00000000000000000000000001000000:1B58 00000000000000000000000000000000:0000 07 "
        "00000001:00000002 00:00000000 00000000 0 0 11 2 0000000000000000 3\n"
        " 2: 00000000000000000000000000000000:1B58 00000000000000000000000000000000:0000 07 "
        "00000000:00000000 00:00000000 00000000 0 0 12 2 0000000000000000 4\n";
    struct list sockets = { NULL, 0 };
    const struct proc_socket *socket;

    (void)state;
    assert_int_equal(procfs_udp(text, strlen(text), &sockets), 0);
    assert_int_equal(sockets.count, 2);
    socket = sockets.items;
    assert_int_equal(socket[0].port, socket[1].port);
    assert_int_equal(socket[0].inode, 11);
    assert_int_equal(socket[0].queued_bytes, 2);
    assert_int_equal(socket[1].inode, 12);
    assert_int_equal(socket[1].drops, 4);
    free(sockets.items);
}

static void a_kernel_without_the_drops_column_says_nothing_of_drops(void **state)
{
    static const char text[] =
        "sl local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n"
        "0: 00000000:0001 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 5\n";
    struct list sockets = { NULL, 0 };

    (void)state;
    assert_int_equal(procfs_udp(text, strlen(text), &sockets), 0);
    assert_int_equal(sockets.count, 1);
    assert_true(((struct proc_socket *)sockets.items)->drops == NONE_INT);
    free(sockets.items);
}

static void a_port_is_16_bits_and_a_pair_has_a_colon(void **state)
{
    static const char text[] = UDP_HEADER "0: 00000000:10000 0:0 07 0:0 00:0 0 0 0 5 2 0 0\n"
                                          "1: 000000000001 0:0 07 0:0 00:0 0 0 0 5 2 0 0\n"
                                          "2: 00000000:0001 0:0 07 00 00:0 0 0 0 5 2 0 0\n"
                                          "3: 00000000:FFFF 0:0 07 0:0 00:0 0 0 0 5 2 0 0\n";
    struct list sockets = { NULL, 0 };

    (void)state;
    assert_int_equal(procfs_udp(text, strlen(text), &sockets), 3);
    assert_int_equal(sockets.count, 1);
    assert_int_equal(((struct proc_socket *)sockets.items)->port, 65535);
    free(sockets.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_has_its_own_number_where_the_kernel_prints_it),
        cmocka_unit_test(old_and_broken_softnet_lines),
        cmocka_unit_test(no_more_cpus_than_the_cap),
        cmocka_unit_test(wide_numbers_need_no_blank_and_odd_names_are_kept),
        cmocka_unit_test(dev_columns_are_found_by_their_names),
        cmocka_unit_test(interface_lines_that_do_not_fit_are_skipped),
        cmocka_unit_test(without_a_header_no_column_has_a_meaning),
        cmocka_unit_test(a_name_longer_than_any_interface_is_skipped),
        cmocka_unit_test(the_good_socket_is_read_and_the_bad_lines_counted),
        cmocka_unit_test(an_ipv6_line_and_one_port_twice),
        cmocka_unit_test(a_kernel_without_the_drops_column_says_nothing_of_drops),
        cmocka_unit_test(a_port_is_16_bits_and_a_pair_has_a_colon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
