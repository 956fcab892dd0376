/* Owns where Linux keeps its limits and facts: /proc/sys, /proc/cpuinfo. */
#include "agent/host/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/host/machine_system.h"
#include "proto/base/file.h"
#include "proto/base/text.h"
#include "proto/wire/limits.h"

const char machine_os[] = "Linux";
const char machine_descriptor_folder[] = "/proc/self/fd";
const int64_t machine_maxrss_unit = 1024;

rlim_t machine_descriptor_ceiling(rlim_t hard)
{
    return hard;
}

int64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (int64_t)pages * page : NONE_INT;
}

/* The value behind the first line "key : value" of cpuinfo; false without one. */
static bool cpuinfo_value(const char *text, const char *key, char *out_value, size_t size)
{
    size_t length = strlen(key);

    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        const char *colon, *end;

        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        end = line + strcspn(line, "\n");
        colon = memchr(line, ':', (size_t)(end - line));
        if (colon == NULL)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        if (colon > end)
            colon = end;
        snprintf(out_value, size, "%.*s", (int)(end - colon), colon);
        return out_value[0] != '\0';
    }
    return false;
}

/* x86 names its processors; arm64 gives numbers only. */
void machine_cpu(char *out_text, size_t size)
{
    char implementer[32], part[32];
    struct buf text;

    buf_init(&text, LIMIT_PROC_BYTES);
    if (file_read_stream("/proc/cpuinfo", &text, NULL) == STATUS_OK) {
        const char *all = buf_peek(&text);

        if (!cpuinfo_value(all, "model name", out_text, size) &&
            cpuinfo_value(all, "CPU implementer", implementer, sizeof implementer) &&
            cpuinfo_value(all, "CPU part", part, sizeof part))
            snprintf(out_text, size, "implementer %s part %s", implementer, part);
    }
    buf_done(&text);
}

/* Cuts the next word off; NULL when there is none. */
static char *next_word(char **rest)
{
    char *word = *rest;

    if (word == NULL)
        return NULL;
    word += strspn(word, " \t\n");
    *rest = word + strcspn(word, " \t\n");
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return *word == '\0' ? NULL : word;
}

/* Adds the `count` numbers of one file of /proc/sys under these names, null where one is missing.
 */
static void add_limits(struct list *limits, const char *path, const char *const *names,
                       size_t count)
{
    struct buf text;
    char *word, *rest;

    buf_init(&text, LIMIT_PROC_BYTES);
    rest = file_read_stream(path, &text, NULL) == STATUS_OK ? text.data : NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t value = NONE_INT;

        word = next_word(&rest);
        if (word == NULL || text_to_i64(word, &value) != STATUS_OK)
            value = NONE_INT;
        map_add_int(limits, names[i], value);
    }
    buf_done(&text);
}

void machine_limits(struct list *out_limits)
{
    static const struct {
        const char *path;
        const char *names[3];
        size_t count;
    } limits[] = {
        { "/proc/sys/net/core/rmem_max", { "net.core.rmem_max" }, 1 },
        { "/proc/sys/net/core/rmem_default", { "net.core.rmem_default" }, 1 },
        { "/proc/sys/net/core/wmem_max", { "net.core.wmem_max" }, 1 },
        { "/proc/sys/net/core/wmem_default", { "net.core.wmem_default" }, 1 },
        { "/proc/sys/net/core/netdev_max_backlog", { "net.core.netdev_max_backlog" }, 1 },
        { "/proc/sys/net/ipv4/udp_mem",
          { "net.ipv4.udp_mem.min", "net.ipv4.udp_mem.pressure", "net.ipv4.udp_mem.max" },
          3 },
        { "/proc/sys/net/ipv4/udp_rmem_min", { "net.ipv4.udp_rmem_min" }, 1 },
        { "/proc/sys/net/ipv4/udp_wmem_min", { "net.ipv4.udp_wmem_min" }, 1 },
        { "/proc/sys/net/ipv4/icmp_ratelimit", { "net.ipv4.icmp_ratelimit" }, 1 },
        { "/proc/sys/net/ipv4/icmp_ratemask", { "net.ipv4.icmp_ratemask" }, 1 },
        { "/proc/sys/net/ipv4/icmp_msgs_per_sec", { "net.ipv4.icmp_msgs_per_sec" }, 1 },
    };

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        add_limits(out_limits, limits[i].path, limits[i].names, limits[i].count);
}

const char *machine_rcvbuf_limit(void)
{
    return "net.core.rmem_max";
}

const char *machine_sndbuf_limit(void)
{
    return "net.core.wmem_max";
}
