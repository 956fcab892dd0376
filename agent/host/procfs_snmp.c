/* Owns which field of /proc/net/snmp and /proc/net/snmp6 is which counter, and their parsers.
 * Knows no file system.
 */
#include <string.h>

#include "agent/host/procfs.h"
#include "agent/host/procfs_text.h"

/* snmp has them behind "Udp:" and "Ip:", snmp6 with "Udp6" and "Ip6" in front of the name. */
struct field_name {
    const char *name;
    enum counter counter; /* the IPv4 one */
};

static const struct field_name udp_fields[] = {
    { "InDatagrams", UDP_DELIVERED },
    { "OutDatagrams", UDP_SENT },
    { "NoPorts", UDP_NO_SOCKET },
    { "RcvbufErrors", UDP_RECEIVE_BUFFER_FULL },
    { "SndbufErrors", UDP_SEND_BUFFER_FULL },
    { "InCsumErrors", UDP_CHECKSUM_ERRORS },
    { "InErrors", UDP_ERRORS },
    { "MemErrors", UDP_MEMORY_ERRORS },
};

static const struct field_name ip_fields[] = {
    { "FragCreates", IP_FRAGMENTS_CREATED },  { "FragOKs", IP_FRAGMENTED },
    { "FragFails", IP_FRAGMENT_FAILURES },    { "ReasmOKs", IP_REASSEMBLED },
    { "ReasmFails", IP_REASSEMBLY_FAILURES }, { "ReasmTimeout", IP_REASSEMBLY_TIMEOUTS },
    { "OutNoRoutes", IP_NO_ROUTE },           { "InDiscards", IP_DISCARDS_IN },
    { "OutDiscards", IP_DISCARDS_OUT },
};

enum {
    UDP_FIELDS = sizeof udp_fields / sizeof udp_fields[0],
    IP_FIELDS = sizeof ip_fields / sizeof ip_fields[0],
    UDP_TO_UDP6 = UDP6_DELIVERED - UDP_DELIVERED,
    IP_TO_IP6 = IP6_FRAGMENTS_CREATED - IP_FRAGMENTS_CREATED
};

/* A group of names: its prefix in the file, its fields, the distance to the counters it fills. */
struct group {
    const char *prefix;
    const char *heading; /* for people */
    const struct field_name *fields;
    size_t count;
    int shift;
};

static const struct group snmp_groups[] = {
    { "Udp", "Udp: ", udp_fields, UDP_FIELDS, 0 },
    { "Ip", "Ip: ", ip_fields, IP_FIELDS, 0 },
};

static const struct group snmp6_groups[] = {
    { "Udp6", "Udp6", udp_fields, UDP_FIELDS, UDP_TO_UDP6 },
    { "Ip6", "Ip6", ip_fields, IP_FIELDS, IP_TO_IP6 },
};

enum { GROUPS = 2 };

const char *procfs_field(enum counter counter, const char **out_prefix)
{
    for (size_t i = 0; i < 2 * (size_t)GROUPS; i++) {
        const struct group *group = i < GROUPS ? &snmp_groups[i] : &snmp6_groups[i - GROUPS];

        for (size_t j = 0; j < group->count; j++) {
            if ((int)group->fields[j].counter + group->shift != (int)counter)
                continue;
            *out_prefix = group->heading;
            return group->fields[j].name;
        }
    }
    return NULL;
}

/* Where the value of this name belongs, NULL when it is none of ours. */
static int64_t *place_of(const struct group *group, struct span name, struct counters *counters)
{
    for (size_t i = 0; i < group->count; i++) {
        if (span_is(name, group->fields[i].name))
            return &counters->value[(int)group->fields[i].counter + group->shift];
    }
    return NULL;
}

static int64_t counter_of(uint64_t value)
{
    return value > (uint64_t)INT64_MAX ? PROCFS_TOO_LARGE : (int64_t)value;
}

/* One pair of lines; false, with nothing changed, when values are missing, too many or no numbers.
 */
static bool read_pair(const struct group *group, struct span names, struct span values,
                      struct counters *counters)
{
    struct counters filled = *counters;
    struct span name, word;
    uint64_t value;

    if (span_words(names) != span_words(values))
        return false;
    while (span_word(&names, &name) && span_word(&values, &word)) {
        int64_t *place = place_of(group, name, &filled);

        if (place == NULL)
            continue;
        if (!span_u64(word, 10, &value))
            return false;
        *place = counter_of(value);
    }
    *counters = filled;
    return true;
}

static const struct group *snmp_group(struct span prefix)
{
    for (size_t i = 0; i < GROUPS; i++) {
        if (span_is(prefix, snmp_groups[i].prefix))
            return &snmp_groups[i];
    }
    return NULL;
}

static bool same_span(struct span a, struct span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* A names line waits for its values line; a line of another prefix takes its place, so that one
 * that is missing or broken costs its own pair alone. */
size_t procfs_snmp(const char *text, size_t length, struct counters *counters)
{
    struct span rest = { text, length }, line, prefix, names = { NULL, 0 }, names_prefix;
    bool waiting = false;
    size_t skipped = 0;

    names_prefix = names;
    while (span_line(&rest, &line)) {
        if (span_words(line) == 0)
            continue;
        if (!span_cut(&line, ':', &prefix)) {
            skipped++;
        } else if (waiting && same_span(prefix, names_prefix)) {
            const struct group *group = snmp_group(prefix);

            skipped += group != NULL && !read_pair(group, names, line, counters);
            waiting = false;
        } else {
            skipped += waiting;
            names = line;
            names_prefix = prefix;
            waiting = true;
        }
    }
    return skipped + waiting;
}

static void put_snmp6(struct span name, uint64_t value, struct counters *counters)
{
    for (size_t i = 0; i < GROUPS; i++) {
        struct span tail = name;
        int64_t *place = NULL;

        if (span_skip(&tail, snmp6_groups[i].prefix))
            place = place_of(&snmp6_groups[i], tail, counters);
        if (place != NULL)
            *place = counter_of(value);
    }
}

size_t procfs_snmp6(const char *text, size_t length, struct counters *counters)
{
    struct span rest = { text, length }, line, name, word;
    size_t skipped = 0;
    uint64_t value;

    while (span_line(&rest, &line)) {
        if (!span_word(&line, &name))
            continue;
        if (span_word(&line, &word) && span_words(line) == 0 && span_u64(word, 10, &value))
            put_snmp6(name, value, counters);
        else
            skipped++;
    }
    return skipped;
}
