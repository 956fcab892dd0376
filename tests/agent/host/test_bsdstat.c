/* xnu's structs by offset: each field alone must move its counters and no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/host/bsdstat.h"
#include "agent/host/procfs.h"

enum { UDPSTAT = 88, IPSTAT = 196, IP6STAT = 192 + 256 * 8, IF_MSGHDR2 = 160 };

static void put(uint8_t *at, size_t width, uint64_t value)
{
    for (size_t i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void check(const struct counters *counters, enum counter counter, int64_t expected)
{
    if (counters->value[counter] != expected)
        fail_msg("%s is %lld, not %lld", counter_names[counter],
                 (long long)counters->value[counter], (long long)expected);
}

/* A struct in which the field at offset n holds 1000 + n, so that no two are alike. */
static void fill(uint8_t *bytes, size_t length, size_t width)
{
    for (size_t at = 0; at + width <= length; at += width)
        put(bytes + at, width, 1000 + at);
}

static void udpstat_is_read_by_offset(void **state)
{
    uint8_t bytes[UDPSTAT];
    struct counters c;

    (void)state;
    fill(bytes, sizeof bytes, 4);
    put(bytes, 4, 100000); /* ipackets */
    counters_init(&c);
    bsdstat_udp(bytes, sizeof bytes, &c);
    check(&c, UDP_DELIVERED, 100000 - 1004 - 1008 - 1012 - 1016 - 1020 - 1024);
    check(&c, UDP_SENT, 1036);
    check(&c, UDP_NO_SOCKET, 1016);
    check(&c, UDP_RECEIVE_BUFFER_FULL, 1024);
    check(&c, UDP_CHECKSUM_ERRORS, 1008);
    check(&c, UDP_ERRORS, 1004 + 1008 + 1012 + 1024);
    check(&c, UDP_SEND_BUFFER_FULL, NONE_INT);
    check(&c, UDP_MEMORY_ERRORS, NONE_INT);
    for (int i = UDP6_DELIVERED; i < COUNTER_COUNT; i++)
        check(&c, (enum counter)i, NONE_INT);
}

static void sums_of_32_bit_fields_wrap_as_the_fields_do(void **state)
{
    uint8_t bytes[UDPSTAT] = { 0 };
    struct counters before, after, delta;
    bool reset[COUNTER_COUNT];

    (void)state;
    put(bytes, 4, 4294967295); /* ipackets */
    put(bytes + 24, 4, 5);     /* fullsock */
    put(bytes + 8, 4, 4294967295);
    counters_init(&before);
    bsdstat_udp(bytes, sizeof bytes, &before);
    check(&before, UDP_DELIVERED, 4294967291); /* -1 - -1 - 5 */
    check(&before, UDP_ERRORS, 4);
    put(bytes, 4, 11); /* 12 more */
    counters_init(&after);
    bsdstat_udp(bytes, sizeof bytes, &after);
    counters_subtract(&before, &after, bsdstat_width32, &delta, reset);
    check(&delta, UDP_DELIVERED, 12);
    assert_false(reset[UDP_DELIVERED]);
}

static void ipstat_is_read_by_offset(void **state)
{
    uint8_t bytes[IPSTAT];
    struct counters c;

    (void)state;
    fill(bytes, sizeof bytes, 4);
    counters_init(&c);
    bsdstat_ip(bytes, sizeof bytes, &c);
    check(&c, IP_REASSEMBLY_FAILURES, 1028 + 1032);
    check(&c, IP_REASSEMBLY_TIMEOUTS, 1032);
    check(&c, IP_DISCARDS_OUT, 1064);
    check(&c, IP_REASSEMBLED, 1068);
    check(&c, IP_FRAGMENTED, 1072);
    check(&c, IP_FRAGMENTS_CREATED, 1076);
    check(&c, IP_FRAGMENT_FAILURES, 1080);
    check(&c, IP_NO_ROUTE, 1088);
    check(&c, IP_DISCARDS_IN, NONE_INT);
    check(&c, IP6_NO_ROUTE, NONE_INT);
}

static void ip6stat_is_read_by_offset(void **state)
{
    static uint8_t bytes[IP6STAT];
    struct counters c;

    (void)state;
    fill(bytes, sizeof bytes, 8);
    put(bytes + 104, 8, UINT64_C(0x1122334455667788));
    put(bytes + 152, 8, UINT64_C(1) << 63);
    counters_init(&c);
    bsdstat_ip6(bytes, sizeof bytes, &c);
    check(&c, IP6_REASSEMBLY_FAILURES, 1032 + 1040 + 1048);
    check(&c, IP6_REASSEMBLY_TIMEOUTS, 1040);
    check(&c, IP6_DISCARDS_OUT, 1096);
    check(&c, IP6_REASSEMBLED, INT64_C(0x1122334455667788));
    check(&c, IP6_FRAGMENTED, 1120);
    check(&c, IP6_FRAGMENTS_CREATED, 1128);
    check(&c, IP6_FRAGMENT_FAILURES, 1136);
    check(&c, IP6_NO_ROUTE, PROCFS_TOO_LARGE);
    check(&c, IP6_DISCARDS_IN, NONE_INT);
}

static void a_field_beyond_the_returned_length_is_unavailable(void **state)
{
    static uint8_t bytes[IP6STAT];
    struct counters c;

    (void)state;
    fill(bytes, sizeof bytes, 4);
    counters_init(&c);
    bsdstat_udp(bytes, 27, &c); /* one byte short of the end of fullsock */
    check(&c, UDP_RECEIVE_BUFFER_FULL, NONE_INT);
    check(&c, UDP_DELIVERED, NONE_INT);
    check(&c, UDP_SENT, NONE_INT);
    check(&c, UDP_NO_SOCKET, 1016);
    bsdstat_udp(bytes, 28, &c);
    check(&c, UDP_RECEIVE_BUFFER_FULL, 1024);
    bsdstat_ip(bytes, 91, &c);
    check(&c, IP_NO_ROUTE, NONE_INT);
    check(&c, IP_FRAGMENT_FAILURES, 1080);
    bsdstat_ip6(bytes, 0, &c);
    bsdstat_ip6(NULL, 0, &c);
    check(&c, IP6_FRAGMENTED, NONE_INT);
}

static void what_wraps_is_what_32_bit_structs_fill(void **state)
{
    uint8_t bytes[IPSTAT] = { 0 };
    struct counters c;

    (void)state;
    counters_init(&c);
    bsdstat_udp(bytes, UDPSTAT, &c);
    bsdstat_ip(bytes, IPSTAT, &c);
    for (int i = 0; i < COUNTER_COUNT; i++)
        assert_int_equal(bsdstat_width32[i], c.value[i] != NONE_INT);
}

/* --- interfaces ----------------------------------------------------------------------------- */

static const char *name_of(void *context, unsigned index)
{
    char *name = context;

    if (index == 99)
        return NULL;
    snprintf(name, 80,
             index == 7 ? "a_name_that_is_much_longer_than_any_interface_may_have_%030u" : "en%u",
             index);
    return name;
}

static size_t put_message(uint8_t *at, uint8_t type, size_t length, unsigned index)
{
    memset(at, 0, length);
    put(at, 2, length);
    at[2] = 5;
    at[3] = type;
    if (length >= IF_MSGHDR2) {
        put(at + 12, 2, index);
        put(at + 24, 4, 4000000000); /* ifm_snd_drops */
        for (size_t i = 56; i < 144; i += 8)
            put(at + i, 8, (UINT64_C(1) << 40) + i);
    }
    return length;
}

static void interfaces_are_read_between_other_messages(void **state)
{
    uint8_t bytes[1024];
    char name[80];
    struct list list = { NULL, 0 };
    const struct interface_counters *i;
    size_t at = put_message(bytes, 0x12, IF_MSGHDR2, 1);

    (void)state;
    at += put_message(bytes + at, 0x0c, 60, 1); /* RTM_NEWADDR */
    at += put_message(bytes + at, 0x12, IF_MSGHDR2, 7);
    assert_int_equal(bsdstat_interfaces(bytes, at, name_of, name, &list), 0);
    assert_int_equal(list.count, 2);
    i = list.items;
    assert_string_equal(i[0].name, "en1");
    assert_true(i[0].rx_packets == (UINT64_C(1) << 40) + 56);
    assert_true(i[0].rx_errors == (UINT64_C(1) << 40) + 64);
    assert_true(i[0].tx_packets == (UINT64_C(1) << 40) + 72);
    assert_true(i[0].tx_errors == (UINT64_C(1) << 40) + 80);
    assert_true(i[0].rx_bytes == (UINT64_C(1) << 40) + 96);
    assert_true(i[0].tx_bytes == (UINT64_C(1) << 40) + 104);
    assert_true(i[0].rx_dropped == (UINT64_C(1) << 40) + 128);
    assert_true(i[0].tx_dropped == 4000000000);
    assert_int_equal(strlen(i[1].name), 63);
    free(list.items);
}

static void messages_that_cannot_be_used_are_counted(void **state)
{
    uint8_t bytes[1024];
    char name[80];
    struct list list = { NULL, 0 };
    size_t at = put_message(bytes, 0x12, 100, 1); /* a shorter struct */

    (void)state;
    at += put_message(bytes + at, 0x12, IF_MSGHDR2, 99); /* gone meanwhile */
    at += put_message(bytes + at, 0x12, IF_MSGHDR2, 2);
    assert_int_equal(bsdstat_interfaces(bytes, at, name_of, name, &list), 2);
    assert_int_equal(list.count, 1);
    free(list.items);
}

static void the_walk_stops_where_a_message_does_not_fit(void **state)
{
    static const size_t lengths[] = { 0, 3, IF_MSGHDR2 + 1, 65535 };
    uint8_t bytes[1024];
    char name[80];

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct list list = { NULL, 0 };
        size_t at = put_message(bytes, 0x12, IF_MSGHDR2, 1);

        put_message(bytes + at, 0x12, IF_MSGHDR2, 2);
        put(bytes + at, 2, lengths[i]);
        assert_int_equal(bsdstat_interfaces(bytes, at + IF_MSGHDR2, name_of, name, &list), 1);
        assert_int_equal(list.count, 1);
        free(list.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(udpstat_is_read_by_offset),
        cmocka_unit_test(sums_of_32_bit_fields_wrap_as_the_fields_do),
        cmocka_unit_test(ipstat_is_read_by_offset),
        cmocka_unit_test(ip6stat_is_read_by_offset),
        cmocka_unit_test(a_field_beyond_the_returned_length_is_unavailable),
        cmocka_unit_test(what_wraps_is_what_32_bit_structs_fill),
        cmocka_unit_test(interfaces_are_read_between_other_messages),
        cmocka_unit_test(messages_that_cannot_be_used_are_counted),
        cmocka_unit_test(the_walk_stops_where_a_message_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
