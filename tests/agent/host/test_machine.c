/* The facts about this machine must be those that the system itself gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/host/machine.h"

static void a_host_is_described_as_uname_has_it(void **state)
{
    struct host host;
    struct utsname names;
    struct fault fault;

    (void)state;
    record_init(&host_record, &host);
    machine_describe(&host);
    assert_int_equal(uname(&names), 0);
    assert_string_equal(host.name, names.nodename);
    assert_string_equal(host.os, strcmp(names.sysname, "Darwin") == 0 ? "macOS" : names.sysname);
    assert_string_equal(host.os_release, names.release);
    assert_string_equal(host.arch, names.machine);
    assert_true(host.cpus >= 1);
    assert_true(host.memory_bytes > 16 << 20);
    assert_true(host.interface.name[0] == 'l' && host.interface.name[1] == 'o');
    assert_true(host.interface.mtu >= 1500);
    assert_int_equal(record_check(&host_record, &host, &fault), STATUS_OK);
    record_done(&host_record, &host);
}

static void the_libraries_have_their_versions(void **state)
{
    static const char *const names[] = { "jansson", "openssl" };
    struct host host;

    (void)state;
    record_init(&host_record, &host);
    machine_describe(&host);
    for (size_t i = 0; i < 2; i++) {
        const struct map_item *item = map_find(&host.libraries, names[i]);

        assert_non_null(item);
        assert_non_null(strchr(item->text, '.'));
    }
    record_done(&host_record, &host);
}

static void both_buffer_limits_are_among_the_limits(void **state)
{
    struct list limits = { NULL, 0 };

    (void)state;
    machine_limits(&limits);
    assert_true(limits.count >= 3);
    assert_non_null(map_find(&limits, machine_rcvbuf_limit()));
    assert_non_null(map_find(&limits, machine_sndbuf_limit()));
    free(limits.items);
}

/* The sysctl's file, where this system has such files. */
static void check_against_file(const struct list *limits, const char *path, const char *name)
{
    const struct map_item *item = map_find(limits, name);
    FILE *file = fopen(path, "r");
    char word[32];

    if (file == NULL)
        return;
    assert_int_equal(fscanf(file, "%31s", word), 1);
    fclose(file);
    assert_non_null(item);
    assert_int_equal(item->number, strtoll(word, NULL, 10));
}

static void limits_equal_the_sysctls(void **state)
{
    struct list limits = { NULL, 0 };
    const struct map_item *min, *max;

    (void)state;
    machine_limits(&limits);
    check_against_file(&limits, "/proc/sys/net/core/rmem_max", "net.core.rmem_max");
    check_against_file(&limits, "/proc/sys/net/core/wmem_default", "net.core.wmem_default");
    check_against_file(&limits, "/proc/sys/net/ipv4/udp_mem", "net.ipv4.udp_mem.min");
    check_against_file(&limits, "/proc/sys/net/ipv4/udp_rmem_min", "net.ipv4.udp_rmem_min");
    check_against_file(&limits, "/proc/sys/net/ipv4/icmp_ratelimit", "net.ipv4.icmp_ratelimit");
    check_against_file(&limits, "/proc/sys/net/ipv4/icmp_ratemask", "net.ipv4.icmp_ratemask");
    min = map_find(&limits, "net.ipv4.udp_mem.min");
    max = map_find(&limits, "net.ipv4.udp_mem.max");
    if (min != NULL && min->number != NONE_INT)
        assert_true(max->number > min->number);
    free(limits.items);
}

static void an_open_descriptor_is_one_less_left(void **state)
{
    int64_t before = machine_descriptors_left(), after;
    struct rlimit limit;
    int fd;

    (void)state;
    assert_true(before > 0);
    fd = dup(2);
    after = machine_descriptors_left();
    close(fd);
    assert_int_equal(after, before - 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true((rlim_t)before <= limit.rlim_cur);
}

static void the_soft_limit_is_raised(void **state)
{
    struct rlimit limit, low;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_true(machine_descriptors_left() > 64 || limit.rlim_max <= 128);
}

static void peak_memory_grows_with_what_is_touched(void **state)
{
    const size_t size = 32 << 20;
    int64_t before = machine_peak_memory(), after;
    char *bytes = malloc(size);

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 1, size);
    after = machine_peak_memory();
    assert_int_equal(bytes[size / 2], 1);
    free(bytes);
    assert_true(before > 256 << 10);
    assert_in_range(after - before, 24 << 20, 256 << 20); /* a sanitizer's shadow counts too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_described_as_uname_has_it),
        cmocka_unit_test(the_libraries_have_their_versions),
        cmocka_unit_test(both_buffer_limits_are_among_the_limits),
        cmocka_unit_test(limits_equal_the_sysctls),
        cmocka_unit_test(an_open_descriptor_is_one_less_left),
        cmocka_unit_test(the_soft_limit_is_raised),
        cmocka_unit_test(peak_memory_grows_with_what_is_touched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
