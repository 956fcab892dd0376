/* Owns the table of a report: one end's half of a case between hosts. */
#include "proto/wire/report.h"

#include "proto/wire/record_table.h"

const char *const end_role_names[] = { "sender", "echo" };
const char *const phase_kind_names[] = { "warmup", "measure", "forward", "reverse" };
const char *const clock_sync_names[] = { "unknown", "unsynchronized", "synchronized" };

static const struct field clock_report_fields[] = {
    CHOICE(struct clock_report, sync, clock_sync_names, CLOCK_SYNC_COUNT,
           "whether the kernel's wall clock is synchronized (ntp_adjtime)"),
    COUNT_OR_NULL(struct clock_report, max_error_ns, "its largest error, ns"),
};
const struct record clock_report_record = RECORD(clock_report, clock_report_fields);

static const struct field half_phase_fields[] = {
    REAL(struct half_phase, seconds, LIMIT_SECONDS * 2,
         "sender: first send to the end of sending or the last echo; echo: begin to end"),
    PART(struct half_phase, forward, leg_record, "this end's side of it"),
    PART(struct half_phase, reverse, leg_record, "this end's side of it"),
    FLAG(struct half_phase, per_socket, "`drops` is of this end's own sockets"),
    COUNT(struct half_phase, drops, "dropped at this end because a receive buffer was full"),
    COUNT_OR_NULL(struct half_phase, slip_ns, "sender, open loop: largest delay of a burst, ns"),
    COUNT_OR_NULL(struct half_phase, skipped_bursts, "sender, open loop: bursts left out"),
    COUNT(struct half_phase, stall_ns, "the longest time this end was not run, ns"),
    COUNT(struct half_phase, first_burst,
          "of the first window of every client: sent (sender's end), arrived (echo's end)"),
    COUNTERS(struct half_phase, counters, "kernel counters' differences over the phase"),
};
const struct record half_phase_record = RECORD_OR_NULL(half_phase, half_phase_fields);

static const struct field report_phases_fields[] = {
    PART_OR_NULL(struct report_phases, warmup, half_phase_record, "null without a warm-up"),
    PART_OR_NULL(struct report_phases, measure, half_phase_record,
                 "null when it did not come to it"),
};
static const struct record report_phases_record = RECORD(report_phases, report_phases_fields);

static const struct field one_way_seen_fields[] = {
    COUNT(struct one_way_seen, count, "samples of each leg"),
    PART(struct one_way_seen, forward, delay_record, "echo's clock at arrival less sender's"),
    PART(struct one_way_seen, reverse, delay_record, "sender's clock at arrival less echo's"),
};
static const struct record one_way_seen_record = RECORD_OR_NULL(one_way_seen, one_way_seen_fields);

static const struct field report_fields[] = {
    TEXT(struct report, schema, REPORT_SCHEMA),
    TEXT(struct report, id, "UUID, version 7"),
    TEXT(struct report, run, "UUID of the run"),
    TEXT(struct report, session, "UUID of the session"),
    INT(struct report, index, 0, LIMIT_CASES - 1, "the case's position in its run"),
    CHOICE(struct report, role, end_role_names, END_COUNT, "this end's part"),
    PART(struct report, params, case_params_record, "what was asked for"),
    TEXT_OR_NULL(struct report, error, "why this end could not measure"),
    TEXT_OR_NULL(struct report, local, "this end's address and port"),
    TEXT_OR_NULL(struct report, peer, "the other end's, as seen here"),
    TEXT(struct report, started, "RFC 3339 UTC"),
    TEXT(struct report, finished, "RFC 3339 UTC"),
    PART(struct report, clock, clock_report_record, "the clock of this end's timestamps"),
    PART(struct report, rcvbuf, grant_record, "receive buffer of this end's sockets"),
    PART(struct report, sndbuf, grant_record, "send buffer of this end's sockets"),
    PART_OR_NULL(struct report, agreement, agreement_record, "before the first phase"),
    PART(struct report, phases, report_phases_record, "this end's half of the account"),
    PART_OR_NULL(struct report, rtt_ns, rtt_record, "sender's end: round-trip times"),
    { FIELD_AT(struct report, one_way_ns), .type = FIELD_RECORD,
      .flags = FIELD_NULLABLE | FIELD_OPTIONAL, .record = &one_way_seen_record,
      .help = "sender's end: delays of each leg by both clocks, whatever these are apart, ns" },
    PART(struct report, host, host_record, "this host, and its counters around the case"),
};
const struct record report_record = RECORD(report, report_fields);
