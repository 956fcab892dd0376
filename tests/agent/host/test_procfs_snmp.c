/* snmp and snmp6 by name: whatever a kernel prints or leaves out, no counter may get another's
 * value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/host/procfs.h"

static size_t snmp(const char *text, struct counters *counters)
{
    counters_init(counters);
    return procfs_snmp(text, strlen(text), counters);
}

static size_t snmp6(const char *text, struct counters *counters)
{
    counters_init(counters);
    return procfs_snmp6(text, strlen(text), counters);
}

static void check(const struct counters *counters, enum counter counter, int64_t expected)
{
    if (counters->value[counter] != expected)
        fail_msg("%s is %lld, not %lld", counter_names[counter],
                 (long long)counters->value[counter], (long long)expected);
}

/* --- snmp ----------------------------------------------------------------------------------- */

static void every_field_of_a_new_kernel_is_read(void **state)
{
    static const char text[] =
        "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams "
        "InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout "
        "ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates OutTransmits\n"
        "Ip: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n"
        "Icmp: InMsgs InErrors\nIcmp: 1 2\n"
        "Tcp: RtoMax MaxConn InErrs\nTcp: 120000 -1 0\n"
        "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors "
        "IgnoredMulti MemErrors\n"
        "Udp: 21 22 23 24 25 26 27 28 29\n"
        "UdpLite: InDatagrams NoPorts\nUdpLite: 91 92\n";
    struct counters c;

    (void)state;
    assert_int_equal(snmp(text, &c), 0);
    check(&c, UDP_DELIVERED, 21);
    check(&c, UDP_NO_SOCKET, 22);
    check(&c, UDP_ERRORS, 23);
    check(&c, UDP_SENT, 24);
    check(&c, UDP_RECEIVE_BUFFER_FULL, 25);
    check(&c, UDP_SEND_BUFFER_FULL, 26);
    check(&c, UDP_CHECKSUM_ERRORS, 27);
    check(&c, UDP_MEMORY_ERRORS, 29);
    check(&c, IP_DISCARDS_IN, 8);
    check(&c, IP_DISCARDS_OUT, 11);
    check(&c, IP_NO_ROUTE, 12);
    check(&c, IP_REASSEMBLY_TIMEOUTS, 13);
    check(&c, IP_REASSEMBLED, 15);
    check(&c, IP_REASSEMBLY_FAILURES, 16);
    check(&c, IP_FRAGMENTED, 17);
    check(&c, IP_FRAGMENT_FAILURES, 18);
    check(&c, IP_FRAGMENTS_CREATED, 19);
    for (int i = UDP6_DELIVERED; i <= UDP6_MEMORY_ERRORS; i++)
        check(&c, (enum counter)i, NONE_INT);
}

static void an_old_kernels_short_columns_are_absent_and_not_0(void **state)
{
    struct counters c;

    (void)state;
    assert_int_equal(snmp("IcmpMsg: InType3 OutType3\nIcmpMsg: 8 9\n"
                          "Udp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 100 1 2 90\n",
                          &c),
                     0);
    check(&c, UDP_DELIVERED, 100);
    check(&c, UDP_NO_SOCKET, 1);
    check(&c, UDP_ERRORS, 2);
    check(&c, UDP_SENT, 90);
    check(&c, UDP_RECEIVE_BUFFER_FULL, NONE_INT);
    check(&c, UDP_MEMORY_ERRORS, NONE_INT);
    check(&c, IP_NO_ROUTE, NONE_INT);
}

static void columns_in_another_order_keep_their_names(void **state)
{
    struct counters c;

    (void)state;
    assert_int_equal(snmp("Udp: NewThing MemErrors InDatagrams\nUdp: 1 2 3", &c), 0);
    check(&c, UDP_MEMORY_ERRORS, 2);
    check(&c, UDP_DELIVERED, 3);
}

static void values_that_do_not_match_the_names_change_nothing(void **state)
{
    static const char *const texts[] = {
        "Udp: InDatagrams NoPorts\nUdp: 1\n",
        "Udp: InDatagrams NoPorts\nUdp: 1 2 3\n",
        "Udp: InDatagrams NoPorts\nUdp: 1 two\n",
        "Udp: InDatagrams NoPorts\nUdp: 1 -2\n",
        "Udp: InDatagrams NoPorts\nUdp: 1 0x2\n",
        "Udp: InDatagrams NoPorts\nUdp: 1 18446744073709551616\n",
        "Udp: InDatagrams NoPorts\n",
        "Udp InDatagrams NoPorts\n",
    };
    struct counters c;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(snmp(texts[i], &c), 1);
        check(&c, UDP_DELIVERED, NONE_INT);
        check(&c, UDP_NO_SOCKET, NONE_INT);
    }
}

static void a_missing_line_costs_its_own_pair_alone(void **state)
{
    struct counters c;

    (void)state;
    assert_int_equal(snmp("Ip: InDiscards\nUdp: NoPorts InDatagrams\nUdp: 5 6\nrubbish\n\n"
                          "Ip: OutDiscards\nIp: 7\n",
                          &c),
                     2);
    check(&c, IP_DISCARDS_IN, NONE_INT);
    check(&c, UDP_NO_SOCKET, 5);
    check(&c, IP_DISCARDS_OUT, 7);
}

static void a_value_above_63_bits_is_told_from_a_missing_one(void **state)
{
    struct counters c;

    (void)state;
    assert_int_equal(snmp("Udp: InDatagrams NoPorts InErrors\n"
                          "Udp: 9223372036854775807 9223372036854775808 18446744073709551615\n",
                          &c),
                     0);
    check(&c, UDP_DELIVERED, INT64_MAX);
    check(&c, UDP_NO_SOCKET, PROCFS_TOO_LARGE);
    check(&c, UDP_ERRORS, PROCFS_TOO_LARGE);
    check(&c, UDP_SENT, NONE_INT);
}

static void bytes_that_are_no_text_are_one_bad_line(void **state)
{
    char text[256] = { 0 };
    struct counters c;

    (void)state;
    memset(text, 0, 128);
    memcpy(text + 128, "\nUdp: NoPorts\nUdp: 3\n", 21);
    counters_init(&c);
    assert_int_equal(procfs_snmp(text, 128 + 21, &c), 1);
    check(&c, UDP_NO_SOCKET, 3);
    assert_int_equal(procfs_snmp(NULL, 0, &c), 0);
    assert_int_equal(procfs_snmp6(NULL, 0, &c), 0);
}

/* --- snmp6 ---------------------------------------------------------------------------------- */

static void snmp6_has_the_same_fields_under_their_prefix(void **state)
{
    struct counters c;

    (void)state;
    assert_int_equal(snmp6("Ip6InDiscards                   \t1\nIp6FragOKs 2\nIp6FragCreates 3\n"
                           "Ip6FragFails 4\nIp6ReasmOKs 5\nIp6ReasmFails 6\nIp6ReasmTimeout 7\n"
                           "Ip6OutNoRoutes 8\nIp6OutDiscards 9\nIcmp6InMsgs 99\n"
                           "Udp6InDatagrams 11\nUdp6OutDatagrams 12\nUdp6NoPorts 13\n"
                           "Udp6RcvbufErrors 14\nUdp6SndbufErrors 15\nUdp6InCsumErrors 16\n"
                           "Udp6InErrors 17\nUdp6MemErrors 18\nUdpLite6InDatagrams 99\n",
                           &c),
                     0);
    check(&c, IP6_DISCARDS_IN, 1);
    check(&c, IP6_FRAGMENTED, 2);
    check(&c, IP6_FRAGMENTS_CREATED, 3);
    check(&c, IP6_FRAGMENT_FAILURES, 4);
    check(&c, IP6_REASSEMBLED, 5);
    check(&c, IP6_REASSEMBLY_FAILURES, 6);
    check(&c, IP6_REASSEMBLY_TIMEOUTS, 7);
    check(&c, IP6_NO_ROUTE, 8);
    check(&c, IP6_DISCARDS_OUT, 9);
    for (int i = 0; i < 8; i++) {
        static const enum counter order[] = { UDP6_DELIVERED,        UDP6_SENT,
                                              UDP6_NO_SOCKET,        UDP6_RECEIVE_BUFFER_FULL,
                                              UDP6_SEND_BUFFER_FULL, UDP6_CHECKSUM_ERRORS,
                                              UDP6_ERRORS,           UDP6_MEMORY_ERRORS };

        check(&c, order[i], 11 + i);
    }
    for (int i = UDP_DELIVERED; i <= UDP_MEMORY_ERRORS; i++)
        check(&c, (enum counter)i, NONE_INT);
}

static void bad_lines_of_snmp6_are_skipped_one_by_one(void **state)
{
    struct counters c;

    (void)state;
    assert_int_equal(snmp6("Udp6NoPorts\nUdp6InErrors x\nUdp6InErrors 1 2\nUdp6NoPorts 4\n\n"
                           "Udp6MemErrors 9223372036854775808",
                           &c),
                     3);
    check(&c, UDP6_NO_SOCKET, 4);
    check(&c, UDP6_ERRORS, NONE_INT);
    check(&c, UDP6_MEMORY_ERRORS, PROCFS_TOO_LARGE);
}

static void every_counter_of_these_files_has_its_field(void **state)
{
    const char *prefix = NULL;

    (void)state;
    for (int i = UDP_DELIVERED; i <= IP6_DISCARDS_OUT; i++)
        assert_non_null(procfs_field((enum counter)i, &prefix));
    for (int i = SOFTNET_DROPPED; i < COUNTER_COUNT; i++)
        assert_null(procfs_field((enum counter)i, &prefix));
    assert_string_equal(procfs_field(UDP_ERRORS, &prefix), "InErrors");
    assert_string_equal(prefix, "Udp: ");
    assert_string_equal(procfs_field(IP6_FRAGMENTED, &prefix), "FragOKs");
    assert_string_equal(prefix, "Ip6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_new_kernel_is_read),
        cmocka_unit_test(an_old_kernels_short_columns_are_absent_and_not_0),
        cmocka_unit_test(columns_in_another_order_keep_their_names),
        cmocka_unit_test(values_that_do_not_match_the_names_change_nothing),
        cmocka_unit_test(a_missing_line_costs_its_own_pair_alone),
        cmocka_unit_test(a_value_above_63_bits_is_told_from_a_missing_one),
        cmocka_unit_test(bytes_that_are_no_text_are_one_bad_line),
        cmocka_unit_test(snmp6_has_the_same_fields_under_their_prefix),
        cmocka_unit_test(bad_lines_of_snmp6_are_skipped_one_by_one),
        cmocka_unit_test(every_counter_of_these_files_has_its_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
