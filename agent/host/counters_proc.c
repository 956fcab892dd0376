/* Owns where the files of a /proc tree are and what it means when one is missing or short.
 * Knows nothing of this host: the tree may be a copy, on any system.
 */
#include "agent/host/counters_system.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/procfs.h"
#include "proto/base/file.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/limits.h"

/* One file of root/self/net or root/net, read whole. */
struct net_file {
    char path[PATH_MAX]; /* of the one that was read, or tried last */
    struct buf text;
    struct fault fault;
};

static enum status read_at(const char *root, const char *folder, const char *name,
                           struct net_file *file)
{
    int length = snprintf(file->path, sizeof file->path, "%s/%s/%s", root, folder, name);

    if (length < 0 || (size_t)length >= sizeof file->path)
        return fault_set(&file->fault, STATUS_RANGE, "%s: path too long", name);
    return file_read_stream(file->path, &file->text, &file->fault);
}

/* self/net is this process's network namespace wherever the root came from. On a whole /proc, net
 * is a link to it: so a file that is missing in both is named by the shorter path. */
static bool net_file_read(const char *root, const char *name, struct net_file *file)
{
    enum status status;

    buf_init(&file->text, LIMIT_PROC_BYTES);
    status = read_at(root, "self/net", name, file);
    if (status == STATUS_NOT_FOUND)
        status = read_at(root, "net", name, file);
    return status == STATUS_OK;
}

static const char *net_file_text(const struct net_file *file)
{
    return buf_peek(&file->text);
}

/* Reasons for what snmp or snmp6 was read for and did not give. */
static void explain_fields(struct counter_snapshot *snapshot, enum counter first, enum counter last,
                           const char *path)
{
    for (unsigned i = first; i <= (unsigned)last; i++) {
        const char *prefix = "", *name = procfs_field((enum counter)i, &prefix);
        bool large = snapshot->total.value[i] == PROCFS_TOO_LARGE;

        if (large)
            snapshot->total.value[i] = NONE_INT;
        counters_explain(snapshot, (enum counter)i, (enum counter)i,
                         large ? "%s%s in %s is above 2^63-1" : "no %s%s in %s", prefix, name,
                         path);
    }
}

typedef size_t parse_fields(const char *text, size_t length, struct counters *counters);

/* A file of fields, which fills one range of udp counters and one of ip counters. */
struct fields_file {
    const char *name;
    parse_fields *parse;
    enum counter udp_first, udp_last, ip_first, ip_last;
};

static const struct fields_file fields_files[] = {
    { "snmp", procfs_snmp, UDP_DELIVERED, UDP_MEMORY_ERRORS, IP_FRAGMENTS_CREATED,
      IP_DISCARDS_OUT },
    { "snmp6", procfs_snmp6, UDP6_DELIVERED, UDP6_MEMORY_ERRORS, IP6_FRAGMENTS_CREATED,
      IP6_DISCARDS_OUT },
};

static void read_fields(const char *root, const struct fields_file *fields,
                        struct counter_snapshot *snapshot)
{
    struct net_file file;

    if (net_file_read(root, fields->name, &file)) {
        (void)fields->parse(net_file_text(&file), file.text.length, &snapshot->total);
        explain_fields(snapshot, fields->udp_first, fields->udp_last, file.path);
        explain_fields(snapshot, fields->ip_first, fields->ip_last, file.path);
    } else {
        counters_explain(snapshot, fields->udp_first, fields->udp_last, "%s", file.fault.text);
        counters_explain(snapshot, fields->ip_first, fields->ip_last, "%s", file.fault.text);
    }
    buf_done(&file.text);
}

static void sum_cpus(struct counter_snapshot *snapshot, const char *path)
{
    const struct softnet_cpu *cpus = snapshot->cpus.items;
    uint64_t dropped = 0, squeezed = 0;
    bool dropped_over = false, squeezed_over = false;

    if (snapshot->cpus.count == 0) {
        counters_explain(snapshot, SOFTNET_DROPPED, SOFTNET_SQUEEZED,
                         "%s has no line that can be read", path);
        return;
    }
    for (size_t i = 0; i < snapshot->cpus.count; i++) {
        dropped_over |= (uint64_t)cpus[i].dropped > UINT64_MAX - dropped;
        squeezed_over |= (uint64_t)cpus[i].squeezed > UINT64_MAX - squeezed;
        dropped += (uint64_t)cpus[i].dropped;
        squeezed += (uint64_t)cpus[i].squeezed;
    }
    counters_put(snapshot, SOFTNET_DROPPED, dropped, dropped_over, "the sum over all CPUs");
    counters_put(snapshot, SOFTNET_SQUEEZED, squeezed, squeezed_over, "the sum over all CPUs");
}

static void read_softnet(const char *root, struct counter_snapshot *snapshot)
{
    struct net_file file;

    if (net_file_read(root, "softnet_stat", &file)) {
        (void)procfs_softnet(net_file_text(&file), file.text.length, &snapshot->cpus);
        sum_cpus(snapshot, file.path);
    } else {
        counters_explain(snapshot, SOFTNET_DROPPED, SOFTNET_SQUEEZED, "%s", file.fault.text);
    }
    buf_done(&file.text);
}

static void read_interfaces(const char *root, struct counter_snapshot *snapshot)
{
    struct net_file file;

    if (net_file_read(root, "dev", &file)) {
        (void)procfs_dev(net_file_text(&file), file.text.length, &snapshot->interfaces);
        counters_sum_interfaces(snapshot, file.path);
    } else {
        counters_explain(snapshot, INTERFACE_RX_DROPPED, INTERFACE_TX_ERRORS, "%s",
                         file.fault.text);
    }
    buf_done(&file.text);
}

/* The name of a process's network namespace, "" when it cannot be told. */
static void read_namespace(const char *root, const char *process, char *out_name, size_t size)
{
    char path[PATH_MAX], name[64];
    ssize_t length;

    if ((size_t)snprintf(path, sizeof path, "%s/%s/ns/net", root, process) >= sizeof path)
        return;
    length = readlink(path, name, sizeof name - 1);
    if (length < 0 || !utf8_is_valid(name, (size_t)length))
        return;
    name[length] = '\0';
    text_copy(out_name, size, name);
}

void counters_read_proc(const char *root, struct counter_snapshot *snapshot)
{
    for (size_t i = 0; i < sizeof fields_files / sizeof fields_files[0]; i++)
        read_fields(root, &fields_files[i], snapshot);
    read_softnet(root, snapshot);
    read_interfaces(root, snapshot);
    read_namespace(root, "self", snapshot->namespace, sizeof snapshot->namespace);
    read_namespace(root, "1", snapshot->init_namespace, sizeof snapshot->init_namespace);
}
