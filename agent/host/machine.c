/* Owns the facts about this machine that POSIX gives everywhere: name, loopback interface,
 * descriptors, memory used. Knows no limit by name: those are in machine_linux.c, machine_macos.c.
 */
#include "agent/host/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/host/addresses.h"
#include "agent/host/machine_system.h"
#include "proto/base/digest.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/wire/record_json.h"

/* Names that the system gives are the archive's text: what is not UTF-8 is left out. */
static void copy_name(char *out_text, size_t size, const char *text)
{
    if (utf8_is_valid(text, strlen(text)))
        text_copy(out_text, size, text);
}

static void describe_system(struct host *host)
{
    struct utsname names;

    if (uname(&names) != 0)
        return;
    copy_name(host->name, sizeof host->name, names.nodename);
    text_copy(host->os, sizeof host->os, machine_os);
    copy_name(host->os_release, sizeof host->os_release, names.release);
    copy_name(host->arch, sizeof host->arch, names.machine);
}

static void describe_loopback(struct host_interface *interface)
{
    struct ifaddrs *all = NULL;
    int64_t mtu;

    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if ((i->ifa_flags & IFF_LOOPBACK) == 0)
            continue;
        copy_name(interface->name, sizeof interface->name, i->ifa_name);
        mtu = addresses_mtu(i->ifa_name);
        if (mtu != NONE_INT)
            interface->mtu = mtu;
        break;
    }
    freeifaddrs(all);
}

void machine_describe(struct host *out_host)
{
    char cpu[sizeof out_host->cpu] = "";
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t memory = machine_memory();

    describe_system(out_host);
    machine_cpu(cpu, sizeof cpu);
    copy_name(out_host->cpu, sizeof out_host->cpu, cpu);
    if (cpus > 0)
        out_host->cpus = cpus;
    if (memory > 0)
        out_host->memory_bytes = memory;
    map_add_text(&out_host->libraries, "jansson", record_json_library());
    map_add_text(&out_host->libraries, "openssl", digest_library());
    machine_limits(&out_host->limits);
    describe_loopback(&out_host->interface);
}

/* How many descriptors are open; `limit` is one past the highest that can be. */
static int64_t descriptors_open(rlim_t limit)
{
    DIR *folder = opendir(machine_descriptor_folder);
    int64_t count = 0;

    if (folder != NULL) {
        for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
            count += entry->d_name[0] != '.';
        closedir(folder);
        return count > 0 ? count - 1 : 0; /* the folder's own */
    }
    for (int fd = 0; (rlim_t)fd < limit && fd < 65536; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

int64_t machine_descriptors_left(void)
{
    struct rlimit limit;
    rlim_t soft, raised;
    int64_t left;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    soft = limit.rlim_cur;
    raised = machine_descriptor_ceiling(limit.rlim_max);
    if (soft < raised) {
        limit.rlim_cur = raised;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
            soft = raised;
    }
    if (soft > (rlim_t)INT64_MAX)
        return INT64_MAX;
    left = (int64_t)soft - descriptors_open(soft);
    return left > 0 ? left : 0;
}

int64_t machine_peak_memory(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return NONE_INT;
    return (int64_t)usage.ru_maxrss * machine_maxrss_unit;
}
