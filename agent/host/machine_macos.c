/* Owns where macOS keeps its limits and facts: sysctls by name. */
#include "agent/host/machine.h"

#include <limits.h>
#include <string.h>
#include <sys/sysctl.h>

#include "agent/host/machine_system.h"

const char machine_os[] = "macOS";
const char machine_descriptor_folder[] = "/dev/fd";
const int64_t machine_maxrss_unit = 1;

/* An integer sysctl of 4 or 8 bytes; NONE_INT when it cannot be read. */
static int64_t sysctl_int(const char *name)
{
    union {
        int32_t narrow;
        int64_t wide;
    } value;
    size_t length = sizeof value;

    memset(&value, 0, sizeof value);
    if (sysctlbyname(name, &value, &length, NULL, 0) != 0)
        return NONE_INT;
    if (length == sizeof value.narrow)
        return value.narrow;
    return length == sizeof value.wide ? value.wide : NONE_INT;
}

/* setrlimit refuses more than kern.maxfilesperproc, though the hard limit may say infinity. */
rlim_t machine_descriptor_ceiling(rlim_t hard)
{
    int64_t most = sysctl_int("kern.maxfilesperproc");

    if (most <= 0)
        most = OPEN_MAX;
    return hard < (rlim_t)most ? hard : (rlim_t)most;
}

int64_t machine_memory(void)
{
    return sysctl_int("hw.memsize");
}

void machine_cpu(char *out_text, size_t size)
{
    size_t length = size - 1;

    if (sysctlbyname("machdep.cpu.brand_string", out_text, &length, NULL, 0) != 0)
        length = 0;
    out_text[length] = '\0';
}

void machine_limits(struct list *out_limits)
{
    static const char *const names[] = { "net.inet.udp.maxdgram", "net.inet.udp.recvspace",
                                         "kern.ipc.maxsockbuf", "net.inet.icmp.icmplim" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        map_add_int(out_limits, names[i], sysctl_int(names[i]));
}

const char *machine_rcvbuf_limit(void)
{
    return "kern.ipc.maxsockbuf";
}

const char *machine_sndbuf_limit(void)
{
    return "kern.ipc.maxsockbuf";
}
