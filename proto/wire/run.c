/* Owns the tables around the cases of a run: hosts, tool, and the run itself, whatever its kind. */
#include "proto/wire/run.h"

#include <stdio.h>

#include "proto/wire/record_table.h"

const char *const run_kind_names[] = { "loopback", "buffers", "pair", "mtu" };
static const char *const host_role_names[] = { "local", "sender", "echo" };
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
const struct record host_counters_record = RECORD(host_counters, host_counters_fields);

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
    { FIELD_AT(struct host, clock_step_ns), .type = FIELD_INT,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .min = -COUNT_MAX, .max = COUNT_MAX,
      .help = "between two hosts: the largest step of the wall clock in a case, ns" },
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

/* What every kind of run has, in front of its plan and its cases. */
#define RUN_HEAD                                                                                   \
    TEXT(struct run, schema, RUN_SCHEMA), TEXT(struct run, id, "UUID, version 7"),                 \
        CHOICE(struct run, kind, run_kind_names, RUN_KIND_COUNT, "what was run"),                  \
        PART(struct run, tool, tool_record, "what measured"),                                      \
        WORDS(struct run, command, LIMIT_COMMAND_WORDS, "its command line"),                       \
        TEXT(struct run, started, "RFC 3339 UTC"), TEXT(struct run, finished, "RFC 3339 UTC"),     \
        FLAG(struct run, interrupted, "stopped early; cases may be missing"),                      \
        PARTS(struct run, hosts, host_record, LIMIT_HOSTS, "the sender first")

static const struct field head_fields[] = {
    TEXT(struct run, schema, RUN_SCHEMA),
    { FIELD_AT(struct run, kind), .type = FIELD_ENUM, .flags = FIELD_OPTIONAL,
      .names = run_kind_names, .name_count = RUN_KIND_COUNT },
};
const struct record run_head_record = RECORD(run, head_fields);

static const struct field loopback_fields[] = {
    RUN_HEAD,
    PART(struct run, plan, plan_record, "the parameters as asked"),
    PARTS(struct run, cases, case_result_record, LIMIT_CASES, "what was measured"),
};
static const struct record loopback_record = RECORD(run, loopback_fields);

static const struct field buffers_fields[] = {
    RUN_HEAD,
    { FIELD_NAMED_AT(struct run, buffers_plan, "plan"), .type = FIELD_RECORD,
      .record = &buffers_plan_record, .help = "the parameters as asked" },
    { FIELD_NAMED_AT(struct run, experiments, "cases"), .type = FIELD_LIST, .of = FIELD_RECORD,
      .record = &experiment_result_record, .size = LIMIT_CASES, .help = "what was measured" },
};
static const struct record buffers_record = RECORD(run, buffers_fields);

static const struct field mtu_fields[] = {
    RUN_HEAD,
    { FIELD_NAMED_AT(struct run, mtu_plan, "plan"), .type = FIELD_RECORD,
      .record = &mtu_plan_record, .help = "the parameters as asked" },
    { FIELD_NAMED_AT(struct run, mtu_sessions, "sessions"), .type = FIELD_LIST, .of = FIELD_RECORD,
      .record = &mtu_session_record, .size = FAMILY_COUNT, .help = "what all flows share" },
    { FIELD_NAMED_AT(struct run, mtu_cases, "cases"), .type = FIELD_LIST, .of = FIELD_RECORD,
      .record = &mtu_case_record, .size = LIMIT_CASES, .help = "the answer of each flow" },
};
static const struct record mtu_record = RECORD(run, mtu_fields);

/* Every part of every kind: what can be owned. */
static const struct field whole_fields[] = {
    RUN_HEAD,
    PART(struct run, plan, plan_record, ""),
    PARTS(struct run, cases, case_result_record, LIMIT_CASES, ""),
    PART(struct run, buffers_plan, buffers_plan_record, ""),
    PARTS(struct run, experiments, experiment_result_record, LIMIT_CASES, ""),
    PART(struct run, mtu_plan, mtu_plan_record, ""),
    PARTS(struct run, mtu_sessions, mtu_session_record, FAMILY_COUNT, ""),
    PARTS(struct run, mtu_cases, mtu_case_record, LIMIT_CASES, ""),
};
static const struct record whole_record = RECORD(run, whole_fields);

const struct record *run_record_of(enum run_kind kind)
{
    switch (kind) {
    case RUN_LOOPBACK:
    case RUN_PAIR:
        return &loopback_record;
    case RUN_BUFFERS:
        return &buffers_record;
    case RUN_MTU:
        return &mtu_record;
    case RUN_KIND_COUNT:
        break;
    }
    return NULL;
}

void run_init(struct run *out_run, enum run_kind kind)
{
    record_init(&whole_record, out_run);
    out_run->kind = kind;
}

void run_done(struct run *run)
{
    record_done(&whole_record, run);
}

void uuid7_format(int64_t unix_ms, const uint8_t random[10], char out_text[40])
{
    uint64_t ms = (uint64_t)unix_ms;

    snprintf(out_text, 40, "%08x-%04x-7%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             (unsigned)(ms >> 16 & 0xffffffff), (unsigned)(ms & 0xffff), random[0] & 0x0fU,
             (unsigned)random[1], (random[2] & 0x3fU) | 0x80U, (unsigned)random[3],
             (unsigned)random[4], (unsigned)random[5], (unsigned)random[6], (unsigned)random[7],
             (unsigned)random[8], (unsigned)random[9]);
}
