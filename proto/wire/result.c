/* Owns the tables of run.json: every key, its range and its meaning, once. */
#include "proto/wire/result.h"

#include <stdio.h>

const char *const run_kind_names[] = { "loopback", "buffers", "pair", "mtu" };
const char *const case_status_names[] = { "pass", "fail", "error" };
const char *const evidence_names[] = { "per-socket", "system-wide" };
static const char *const host_role_names[] = { "local", "sender", "echo" };
static const char *const rtt_clock_names[] = { "user", "kernel", "hardware" };

/* The kinds of table entries that repeat. */
#define COUNT(S, M, TEXT)                                                                          \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .max = COUNT_MAX, .help = (TEXT)                        \
    }
#define COUNT_AS(S, M, N, TEXT)                                                                    \
    {                                                                                              \
        FIELD_NAMED_AT(S, M, N), .type = FIELD_INT, .max = COUNT_MAX, .help = (TEXT)               \
    }
#define COUNT_OR_NULL(S, M, TEXT)                                                                  \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .flags = FIELD_NULLABLE, .max = COUNT_MAX,              \
                        .help = (TEXT)                                                             \
    }
#define REAL(S, M, HIGH, TEXT)                                                                     \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_REAL, .real_max = (HIGH), .help = (TEXT)                     \
    }
#define REAL_OR_NULL(S, M, HIGH, TEXT)                                                             \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_REAL, .flags = FIELD_NULLABLE, .real_max = (HIGH),           \
                        .help = (TEXT)                                                             \
    }
#define TEXT(S, M, HELP)                                                                           \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_TEXT, .size = sizeof(((S *)0)->M), .help = (HELP)            \
    }
#define TEXT_OR_NULL(S, M, HELP)                                                                   \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_TEXT, .flags = FIELD_NULLABLE, .size = sizeof(((S *)0)->M),  \
                        .help = (HELP)                                                             \
    }
#define FLAG(S, M, TEXT)                                                                           \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_BOOL, .help = (TEXT)                                         \
    }
#define CHOICE(S, M, NAMES, N, TEXT)                                                               \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_ENUM, .names = (NAMES), .name_count = (N), .help = (TEXT)    \
    }
#define PART(S, M, R, TEXT)                                                                        \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_RECORD, .record = &(R), .help = (TEXT)                       \
    }
#define PART_OR_NULL(S, M, R, TEXT)                                                                \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_RECORD, .flags = FIELD_NULLABLE, .record = &(R),             \
                        .help = (TEXT)                                                             \
    }
#define PARTS(S, M, R, CAP, TEXT)                                                                  \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_LIST, .of = FIELD_RECORD, .record = &(R), .size = (CAP),     \
                        .help = (TEXT)                                                             \
    }
#define COUNTERS(S, M, TEXT)                                                                       \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_NAMED, .names = counter_names, .name_count = COUNTER_COUNT,  \
                        .help = (TEXT)                                                             \
    }
#define WORDS(S, M, CAP, TEXT)                                                                     \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_LIST, .of = FIELD_WORD, .size = (CAP), .help = (TEXT)        \
    }
#define MAP(S, M, TYPE, TEXT)                                                                      \
    {                                                                                              \
        FIELD_AT(S, M), .type = (TYPE), .help = (TEXT)                                             \
    }
#define RECORD(S, FIELDS)                                                                          \
    {                                                                                              \
        .name = #S, .size = sizeof(struct S), .fields = (FIELDS), .count = RECORD_COUNT(FIELDS)    \
    }
#define RECORD_OR_NULL(S, FIELDS)                                                                  \
    {                                                                                              \
        .name = #S, .size = sizeof(struct S), .fields = (FIELDS), .count = RECORD_COUNT(FIELDS),   \
        .present = offsetof(struct S, present) + 1                                                 \
    }

static const struct field grant_fields[] = {
    COUNT(struct grant, asked, "asked for, bytes"),
    COUNT(struct grant, granted, "as the kernel reads it back, bytes (Linux books the double)"),
    { FIELD_AT(struct grant, limit), .type = FIELD_TEXT, .flags = FIELD_NULLABLE | FIELD_OPTIONAL,
      .size = sizeof(((struct grant *)0)->limit),
      .help = "the limit that capped it (a key of the host's limits), or null" },
};
static const struct record grant_record = RECORD(grant, grant_fields);

static const struct field refused_fields[] = {
    COUNT_AS(struct refused, eagain, "EAGAIN", "send buffer full"),
    COUNT_AS(struct refused, enobufs, "ENOBUFS", "no buffers in this host"),
    COUNT_AS(struct refused, emsgsize, "EMSGSIZE", "larger than this host sends"),
    COUNT_AS(struct refused, eperm, "EPERM", "refused by this host's filter"),
    COUNT_AS(struct refused, econnrefused, "ECONNREFUSED", "nobody listens there"),
    COUNT(struct refused, other, "any other error"),
};
static const struct record refused_record = RECORD(refused, refused_fields);

static const struct field lost_to_fields[] = {
    COUNT(struct lost_to, receive_buffer, "the receiving socket's buffer was full"),
    COUNT(struct lost_to, sender_host, "dropped in the sending host, by its counters"),
    COUNT(struct lost_to, receiver_host, "dropped in the receiving host, by its counters"),
    COUNT(struct lost_to, network, "left one host and did not reach the other"),
    COUNT(struct lost_to, unattributed, "no place found"),
};
static const struct record lost_to_record = RECORD(lost_to, lost_to_fields);

static const struct field leg_fields[] = {
    COUNT(struct leg, attempted, "sent and refused datagrams"),
    PART(struct leg, refused, refused_record, "not taken by the sending kernel, by cause"),
    COUNT(struct leg, sent, "taken by the sending kernel"),
    COUNT(struct leg, received, "arrived in time; unique datagrams"),
    COUNT(struct leg, late, "arrived after the drain"),
    COUNT(struct leg, lost, "never arrived"),
    PART(struct leg, lost_to, lost_to_record, "the lost datagrams by place"),
    CHOICE(struct leg, evidence, evidence_names, EVIDENCE_COUNT, "what the places rest on"),
    COUNT(struct leg, duplicates, "arrived more than once"),
    COUNT(struct leg, reordered, "arrived behind a later one (RFC 4737)"),
    COUNT(struct leg, corrupt, "arrived with wrong contents"),
    COUNT(struct leg, foreign, "of another phase, session or run"),
};
const struct record leg_record = RECORD(leg, leg_fields);

static const struct field phase_fields[] = {
    REAL(struct phase, seconds, LIMIT_SECONDS * 2,
         "first send to the end of sending or the last echo, the later of both"),
    PART(struct phase, forward, leg_record, "sender to echo"),
    PART(struct phase, reverse, leg_record, "echo to sender"),
    COUNT(struct phase, lost_echoes, "forward lost + reverse lost + echoes refused"),
    REAL_OR_NULL(struct phase, echoes_per_second, 1e12, "null when the case failed"),
    { FIELD_AT(struct phase, slip_ns), .type = FIELD_INT, .flags = FIELD_NULLABLE | FIELD_OPTIONAL,
      .max = COUNT_MAX,
      .help = "open loop: the largest delay of a burst, ns; null in closed loops" },
    { FIELD_AT(struct phase, skipped_bursts), .type = FIELD_INT,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .max = COUNT_MAX,
      .help = "open loop: bursts left out because the sender was too late" },
    { FIELD_AT(struct phase, counters), .type = FIELD_LIST, .of = FIELD_NAMED, .size = LIMIT_HOSTS,
      .names = counter_names, .name_count = COUNTER_COUNT,
      .help = "kernel counters' differences over the phase, one per host" },
};
const struct record phase_record = RECORD_OR_NULL(phase, phase_fields);

static const struct field rtt_fields[] = {
    CHOICE(struct rtt, clock, rtt_clock_names, RTT_CLOCK_COUNT, "where arrivals were stamped"),
    COUNT(struct rtt, count, "samples"),
    COUNT_OR_NULL(struct rtt, min, "ns"),
    COUNT_OR_NULL(struct rtt, p50, "ns"),
    COUNT_OR_NULL(struct rtt, p90, "ns; null below 10 samples"),
    COUNT_OR_NULL(struct rtt, p99, "ns; null below 100 samples"),
    COUNT_OR_NULL(struct rtt, p999, "ns; null below 1,000 samples"),
    COUNT_OR_NULL(struct rtt, max, "ns"),
    { FIELD_AT(struct rtt, histogram), .type = FIELD_LIST, .of = FIELD_PAIR,
      .size = LIMIT_HISTOGRAM_BUCKETS, .help = "[lowest ns of the bucket, samples]" },
};
static const struct record rtt_record = RECORD_OR_NULL(rtt, rtt_fields);

static const struct field case_sockets_fields[] = {
    PART(struct case_sockets, rcvbuf, grant_record, "receive buffer of the echo role's socket"),
    PART(struct case_sockets, sndbuf, grant_record, "send buffer of the clients' sockets"),
    REAL_OR_NULL(struct case_sockets, bytes_per_datagram, 1e12,
                 "what the kernel charges for one queued datagram"),
    COUNT_OR_NULL(struct case_sockets, burst_capacity,
                  "datagrams that an empty receive buffer holds"),
    { FIELD_AT(struct case_sockets, calibration_drops), .type = FIELD_INT,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .max = COUNT_MAX,
      .help = "dropped on purpose to learn charge and rule; in the system's counters" },
};
static const struct record case_sockets_record = RECORD_OR_NULL(case_sockets, case_sockets_fields);

static const struct field first_burst_fields[] = {
    COUNT(struct first_burst, sent, "datagrams of the first burst of the measure phase"),
    COUNT_OR_NULL(struct first_burst, predicted_lost,
                  "by charge and rule; null where the reader races the burst"),
    COUNT(struct first_burst, lost, "of them never arrived at the echo role"),
};
static const struct record first_burst_record = RECORD_OR_NULL(first_burst, first_burst_fields);

static const struct field case_phases_fields[] = {
    PART_OR_NULL(struct case_phases, warmup, phase_record, "null without a warm-up"),
    PART_OR_NULL(struct case_phases, measure, phase_record, "what counts"),
};
static const struct record case_phases_record = RECORD(case_phases, case_phases_fields);

static const struct field case_result_fields[] = {
    COUNT(struct case_result, index, "position in the plan, from 0"),
    { FIELD_AT(struct case_result, params), .type = FIELD_INLINE, .record = &case_params_record,
      .help = "the parameters" },
    CHOICE(struct case_result, status, case_status_names, CASE_STATUS_COUNT,
           "pass: nothing lost, refused, corrupt or late in the measure phase"),
    TEXT_OR_NULL(struct case_result, error, "why the case could not be measured"),
    PART_OR_NULL(struct case_result, sockets, case_sockets_record, "buffers and their charge"),
    PART_OR_NULL(struct case_result, first_burst, first_burst_record, "prediction and outcome"),
    PART(struct case_result, phases, case_phases_record, "what was counted"),
    PART_OR_NULL(struct case_result, rtt_ns, rtt_record,
                 "round-trip time less the echo role's residence, ns"),
};
const struct record case_result_record = RECORD(case_result, case_result_fields);

static const struct field idle_counters_fields[] = {
    REAL(struct idle_counters, seconds, 86400, "length of the idle interval"),
    COUNTERS(struct idle_counters, delta, "differences over it: the machine's own noise"),
};
static const struct record idle_counters_record = RECORD(idle_counters, idle_counters_fields);

static const struct field host_counters_fields[] = {
    COUNTERS(struct host_counters, before, "before the first case"),
    COUNTERS(struct host_counters, after, "after the last case"),
    COUNTERS(struct host_counters, delta, "after - before; null where unavailable or reset"),
    WORDS(struct host_counters, reset, COUNTER_COUNT, "counters that went backwards"),
    PART(struct host_counters, idle, idle_counters_record, "the idle interval"),
    MAP(struct host_counters, unavailable, FIELD_MAP_TEXT, "counters that this system lacks: why"),
};
static const struct record host_counters_record = RECORD(host_counters, host_counters_fields);

static const struct field host_interface_fields[] = {
    TEXT(struct host_interface, name, "interface of the measurement"),
    { FIELD_AT(struct host_interface, mtu), .type = FIELD_INT, .flags = FIELD_NULLABLE,
      .max = INT32_MAX, .help = "bytes" },
};
static const struct record host_interface_record = RECORD(host_interface, host_interface_fields);

static const struct field host_fields[] = {
    TEXT(struct host, name, "host name"),
    CHOICE(struct host, role, host_role_names, HOST_ROLE_COUNT, "its part in the run"),
    TEXT(struct host, os, "Linux or macOS"),
    TEXT(struct host, os_release, "kernel release"),
    TEXT(struct host, arch, "machine architecture"),
    TEXT(struct host, cpu, "processor"),
    COUNT_OR_NULL(struct host, cpus, "processors on line"),
    COUNT_OR_NULL(struct host, memory_bytes, "memory"),
    MAP(struct host, libraries, FIELD_MAP_TEXT, "versions of the libraries in use"),
    MAP(struct host, limits, FIELD_MAP_INT, "limits of the system, before the run"),
    FLAG(struct host, limits_unchanged, "the limits were the same after the run"),
    PART(struct host, interface, host_interface_record, "interface of the measurement"),
    PART(struct host, counters, host_counters_record, "kernel counters around the whole run"),
};
const struct record host_record = RECORD(host, host_fields);

static const struct field tool_fields[] = {
    TEXT(struct tool, name, "the program"),
    TEXT(struct tool, version, "its version"),
    TEXT(struct tool, source_sha256, "SHA-256 over the sources it was built from"),
};
static const struct record tool_record = RECORD(tool, tool_fields);

static const struct field run_fields[] = {
    TEXT(struct run, schema, RUN_SCHEMA),
    TEXT(struct run, id, "UUID, version 7"),
    CHOICE(struct run, kind, run_kind_names, RUN_KIND_COUNT, "what was run"),
    PART(struct run, tool, tool_record, "what measured"),
    WORDS(struct run, command, LIMIT_COMMAND_WORDS, "its command line"),
    TEXT(struct run, started, "RFC 3339 UTC"),
    TEXT(struct run, finished, "RFC 3339 UTC"),
    FLAG(struct run, interrupted, "stopped early; the matrix may be incomplete"),
    PARTS(struct run, hosts, host_record, LIMIT_HOSTS, "the sender first"),
    PART(struct run, plan, plan_record, "the parameters as asked"),
    PARTS(struct run, cases, case_result_record, LIMIT_CASES, "what was measured"),
};
const struct record run_record = RECORD(run, run_fields);

void uuid7_format(int64_t unix_ms, const uint8_t random[10], char out_text[40])
{
    uint64_t ms = (uint64_t)unix_ms;

    snprintf(out_text, 40, "%08x-%04x-7%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             (unsigned)(ms >> 16 & 0xffffffff), (unsigned)(ms & 0xffff), random[0] & 0x0fU,
             (unsigned)random[1], (random[2] & 0x3fU) | 0x80U, (unsigned)random[3],
             (unsigned)random[4], (unsigned)random[5], (unsigned)random[6], (unsigned)random[7],
             (unsigned)random[8], (unsigned)random[9]);
}

static int64_t total(const int64_t *counts, size_t count)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum = counts[i] > INT64_MAX - sum ? INT64_MAX : sum + counts[i];
    return sum;
}

int64_t refused_total(const struct refused *refused)
{
    const int64_t counts[] = { refused->eagain, refused->enobufs,      refused->emsgsize,
                               refused->eperm,  refused->econnrefused, refused->other };

    return total(counts, RECORD_COUNT(counts));
}

int64_t lost_to_total(const struct lost_to *places)
{
    const int64_t counts[] = { places->receive_buffer, places->sender_host, places->receiver_host,
                               places->network, places->unattributed };

    return total(counts, RECORD_COUNT(counts));
}
