/* A snapshot has every counter or its reason, from this host and from any tree of /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/host/counters.h"
#include "agent/host/procfs.h"
#include "agent/host/socket.h"
#include "proto/base/file.h"

/* A tree under a folder of its own; the test removes what it made. */
struct tree {
    char root[64];
};

static int tree_make(void **state)
{
    struct tree *tree = malloc(sizeof *tree);
    char path[128];
    struct fault fault;

    assert_non_null(tree);
    snprintf(tree->root, sizeof tree->root, "/tmp/sonde-counters-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
    snprintf(path, sizeof path, "%s/self/net", tree->root);
    assert_int_equal(folder_make(path, &fault), STATUS_OK);
    snprintf(path, sizeof path, "%s/net", tree->root);
    assert_int_equal(folder_make(path, &fault), STATUS_OK);
    *state = tree;
    return 0;
}

static int tree_remove(void **state)
{
    static const char *const names[] = {
        "net/snmp",
        "net/snmp6",
        "net/softnet_stat",
        "net/dev",
        "self/net/snmp",
        "self/net/snmp6",
        "self/net/softnet_stat",
        "self/net/dev",
        "self/ns/net",
        "1/ns/net",
        "net",
        "self/net",
        "self/ns",
        "1/ns",
        "1",
        "self",
    };
    struct tree *tree = *state;
    char path[128];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", tree->root, names[i]);
        (void)remove(path);
    }
    assert_int_equal(rmdir(tree->root), 0);
    free(tree);
    return 0;
}

static void put(const struct tree *tree, const char *name, const char *text)
{
    char path[128];
    struct fault fault;

    snprintf(path, sizeof path, "%s/%s", tree->root, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), &fault), STATUS_OK);
}

static void put_link(const struct tree *tree, const char *process, const char *to)
{
    char path[128];
    struct fault fault;

    snprintf(path, sizeof path, "%s/%s/ns", tree->root, process);
    assert_int_equal(folder_make(path, &fault), STATUS_OK);
    snprintf(path, sizeof path, "%s/%s/ns/net", tree->root, process);
    assert_int_equal(symlink(to, path), 0);
}

static struct counter_snapshot take(const char *root)
{
    struct counter_snapshot snapshot;
    struct fault fault;

    assert_int_equal(counters_read(root, &snapshot, &fault), STATUS_OK);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        assert_true(snapshot.total.value[i] >= 0 || snapshot.total.value[i] == NONE_INT);
        assert_true((snapshot.total.value[i] == NONE_INT) == (snapshot.reason[i][0] != '\0'));
    }
    return snapshot;
}

static void check_reason(const struct counter_snapshot *snapshot, enum counter counter,
                         const char *part)
{
    if (strstr(snapshot->reason[counter], part) == NULL)
        fail_msg("%s: \"%s\" has no \"%s\"", counter_names[counter], snapshot->reason[counter],
                 part);
}

static void an_absent_file_costs_its_own_counters_alone(void **state)
{
    const struct tree *tree = *state;
    struct counter_snapshot s;

    put(tree, "net/snmp", "Udp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 100 1 2 90\n");
    s = take(tree->root);
    assert_int_equal(s.total.value[UDP_DELIVERED], 100);
    assert_int_equal(s.total.value[UDP_SENT], 90);
    check_reason(&s, UDP_RECEIVE_BUFFER_FULL, "no Udp: RcvbufErrors in ");
    check_reason(&s, UDP_RECEIVE_BUFFER_FULL, "/net/snmp");
    check_reason(&s, IP_NO_ROUTE, "no Ip: OutNoRoutes in ");
    check_reason(&s, UDP6_DELIVERED, "/net/snmp6: No such file or directory");
    check_reason(&s, IP6_FRAGMENTED, "/net/snmp6: No such file or directory");
    check_reason(&s, SOFTNET_DROPPED, "/net/softnet_stat: No such file or directory");
    check_reason(&s, INTERFACE_TX_ERRORS, "/net/dev: No such file or directory");
    check_reason(&s, QDISC_DROPPED, "not in /proc");
    assert_string_equal(s.namespace, "");
    counter_snapshot_done(&s);
}

static void self_net_comes_before_net(void **state)
{
    const struct tree *tree = *state;
    struct counter_snapshot s;

    put(tree, "net/snmp", "Udp: NoPorts\nUdp: 1\n");
    put(tree, "self/net/snmp", "Udp: NoPorts\nUdp: 2\n");
    put(tree, "net/snmp6", "Udp6NoPorts 3\n");
    s = take(tree->root);
    assert_int_equal(s.total.value[UDP_NO_SOCKET], 2);
    assert_int_equal(s.total.value[UDP6_NO_SOCKET], 3);
    counter_snapshot_done(&s);
}

static void cpus_and_interfaces_are_summed_and_kept(void **state)
{
    const struct tree *tree = *state;
    struct counter_snapshot s;

    put(tree, "net/softnet_stat", "10 1 2\n20 a 4\n");
    put(tree, "net/dev",
        "x|y|z\nface|bytes packets errs drop|bytes packets errs drop\n"
        "lo:1 1 1 2 1 1 3 4\neth0:1 1 10 20 1 1 30 40\n");
    s = take(tree->root);
    assert_int_equal(s.total.value[SOFTNET_DROPPED], 11);
    assert_int_equal(s.total.value[SOFTNET_SQUEEZED], 6);
    assert_int_equal(s.total.value[INTERFACE_RX_ERRORS], 11);
    assert_int_equal(s.total.value[INTERFACE_RX_DROPPED], 22);
    assert_int_equal(s.total.value[INTERFACE_TX_ERRORS], 33);
    assert_int_equal(s.total.value[INTERFACE_TX_DROPPED], 44);
    assert_int_equal(s.cpus.count, 2);
    assert_int_equal(s.interfaces.count, 2);
    assert_string_equal(((struct interface_counters *)s.interfaces.items)[1].name, "eth0");
    counter_snapshot_done(&s);
    assert_int_equal(s.cpus.count, 0);
    counter_snapshot_done(NULL);
}

static void what_is_above_63_bits_is_unavailable_with_that_reason(void **state)
{
    const struct tree *tree = *state;
    struct counter_snapshot s;

    put(tree, "net/snmp", "Udp: NoPorts InErrors\nUdp: 9223372036854775808 5\n");
    put(tree, "net/softnet_stat", "1 7fffffffffffffff 2\n1 1 2\n");
    put(tree, "net/dev",
        "x|y|z\nface|bytes packets errs drop|bytes packets errs drop\n"
        "a:1 1 18446744073709551615 1 1 1 9223372036854775807 0\nb:1 1 2 0 1 1 0 0\n");
    s = take(tree->root);
    check_reason(&s, UDP_NO_SOCKET, "above 2^63-1");
    check_reason(&s, UDP_NO_SOCKET, "NoPorts");
    assert_int_equal(s.total.value[UDP_ERRORS], 5);
    check_reason(&s, SOFTNET_DROPPED, "above 2^63-1");
    assert_int_equal(s.total.value[SOFTNET_SQUEEZED], 4);
    check_reason(&s, INTERFACE_RX_ERRORS, "above 2^63-1"); /* 2^64 + 1 is not 1 */
    assert_true(s.total.value[INTERFACE_TX_ERRORS] == INT64_MAX);
    counter_snapshot_done(&s);
}

static void the_network_namespaces_are_named(void **state)
{
    const struct tree *tree = *state;
    struct counter_snapshot s;

    put_link(tree, "self", "net:[4026532001]");
    put_link(tree, "1", "net:[4026531840]");
    s = take(tree->root);
    assert_string_equal(s.namespace, "net:[4026532001]");
    assert_string_equal(s.init_namespace, "net:[4026531840]");
    counter_snapshot_done(&s);
}

static void a_root_that_is_no_folder_is_refused(void **state)
{
    const struct tree *tree = *state;
    struct counter_snapshot s;
    struct fault fault;
    char path[128];

    snprintf(path, sizeof path, "%s/none", tree->root);
    assert_int_equal(counters_read(path, &s, &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, path));
    put(tree, "net/snmp", "");
    snprintf(path, sizeof path, "%s/net/snmp", tree->root);
    assert_int_equal(counters_read(path, &s, &fault), STATUS_NOT_FOUND);
}

/* Sends `count` datagrams to a socket that holds fewer; returns how many it dropped or -1. */
static int64_t overflow(int count)
{
    struct addr any = addr_loopback(FAMILY_IPV4, 0), to;
    struct grant grant;
    struct fault fault;
    char bytes[1000] = { 0 };
    uint32_t drops = 0;
    enum status status;
    int fd;

    assert_int_equal(socket_open(&any, &fd, &to, &fault), STATUS_OK);
    assert_int_equal(socket_ask_buffer(fd, SOCKET_RCVBUF, 8192, &grant, &fault), STATUS_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(sendto(fd, bytes, sizeof bytes, 0, &to.socket.any, to.length),
                         (ssize_t)sizeof bytes);
    status = socket_drops(fd, &drops);
    close(fd);
    return status == STATUS_OK ? (int64_t)drops : -1;
}

static void this_hosts_counters_move_with_what_it_does(void **state)
{
    struct counter_snapshot before = take(NULL), after;
    struct counters delta;
    bool reset[COUNTER_COUNT];
    int64_t drops = overflow(100);

    (void)state;
    after = take(NULL);
    counters_subtract(&before.total, &after.total, counters_width32(), &delta, reset);
    assert_true(delta.value[UDP_SENT] >= 100);
    assert_true(delta.value[UDP_RECEIVE_BUFFER_FULL] >= (drops > 0 ? drops : 1));
    assert_true(delta.value[UDP_ERRORS] >= delta.value[UDP_RECEIVE_BUFFER_FULL]);
    assert_true(after.interfaces.count >= 1);
    assert_true(after.total.value[INTERFACE_RX_DROPPED] >= 0);
    counter_snapshot_done(&before);
    counter_snapshot_done(&after);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TREE(an_absent_file_costs_its_own_counters_alone),
        WITH_TREE(self_net_comes_before_net),
        WITH_TREE(cpus_and_interfaces_are_summed_and_kept),
        WITH_TREE(what_is_above_63_bits_is_unavailable_with_that_reason),
        WITH_TREE(the_network_namespaces_are_named),
        WITH_TREE(a_root_that_is_no_folder_is_refused),
        cmocka_unit_test(this_hosts_counters_move_with_what_it_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
