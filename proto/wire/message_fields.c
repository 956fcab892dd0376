/* Owns the tables of the messages' fields: names, ranges and meanings, once. */
#include "proto/wire/message_fields.h"

#include "proto/wire/message.h"
#include "proto/wire/record_table.h"

const char *const message_names[] = {
    "ping",         "bye",   "hello",  "status",    "opened",       "refused",   "begun",
    "progress",     "ended", "closed", "failed",    "result",       "welcome",   "open",
    "begin",        "end",   "close",  "committed", "list_agents",  "run",       "stop",
    "list_results", "show",  "agents", "accepted",  "run_progress", "case_done", "run_done",
    "results",      "part",  "error",
};
const char *const run_outcome_names[] = { "complete", "stopped", "failed" };

/* What every message begins with. */
#define TYPE(S)    CHOICE(struct S, type, message_names, MESSAGE_COUNT, "this message's name")
#define SESSION(S) TEXT(struct S, session, "UUID of the session")
#define REQUEST(S) INT(struct S, request, 0, COUNT_MAX, "the operator's number for it")
#define PHASE(S)   CHOICE(struct S, phase, phase_kind_names, PHASE_KIND_COUNT, "which phase")

static const struct field spool_report_fields[] = {
    COUNT(struct spool_report, waiting, "results that are not yet acknowledged"),
    COUNT(struct spool_report, bytes, "their bodies' bytes"),
    COUNT(struct spool_report, dropped, "oldest ones dropped because the spool was full, ever"),
};
static const struct record spool_report_record = RECORD(spool_report, spool_report_fields);

static const struct field message_ping_fields[] = {
    TYPE(message_ping),
};
const struct record message_ping_record = RECORD(message_ping, message_ping_fields);

static const struct field message_bye_fields[] = {
    TYPE(message_bye),
    TEXT(struct message_bye, reason, "why this side closes"),
};
const struct record message_bye_record = RECORD(message_bye, message_bye_fields);

static const struct field message_hello_fields[] = {
    TYPE(message_hello),
    INT(struct message_hello, protocol, 1, INT32_MAX, "version of this protocol"),
    TEXT(struct message_hello, version, "of sonde-agent"),
    TEXT(struct message_hello, instance,
         "UUID of this process: tells a restart from a second host"),
    TEXT(struct message_hello, os, "Linux or macOS"),
    TEXT(struct message_hello, os_release, "kernel release"),
    TEXT(struct message_hello, arch, "machine architecture"),
    PART(struct message_hello, clock, clock_report_record, "this host's wall clock"),
    PART(struct message_hello, spool, spool_report_record, "what waits to be sent"),
    WORDS(struct message_hello, addresses, LIMIT_ADDRESSES, "this host's global addresses"),
    COUNT(struct message_hello, sessions_max, "sessions that this host allows at once"),
};
const struct record message_hello_record = RECORD(message_hello, message_hello_fields);

static const struct field message_status_fields[] = {
    TYPE(message_status),
    PART(struct message_status, clock, clock_report_record, "this host's wall clock"),
    PART(struct message_status, spool, spool_report_record, "what waits to be sent"),
    COUNT(struct message_status, sessions, "open now"),
};
const struct record message_status_record = RECORD(message_status, message_status_fields);

static const struct field message_opened_fields[] = {
    TYPE(message_opened),
    SESSION(message_opened),
    INT(struct message_opened, port, 0, 65535, "echo: its UDP port; sender: 0"),
};
const struct record message_opened_record = RECORD(message_opened, message_opened_fields);

static const struct field message_refused_fields[] = {
    TYPE(message_refused),
    SESSION(message_refused),
    TEXT(struct message_refused, reason, "which limit, what it is, what was asked for"),
};
const struct record message_refused_record = RECORD(message_refused, message_refused_fields);

static const struct field message_begun_fields[] = {
    TYPE(message_begun),
    SESSION(message_begun),
    PHASE(message_begun),
};
const struct record message_begun_record = RECORD(message_begun, message_begun_fields);

static const struct field message_progress_fields[] = {
    TYPE(message_progress),
    SESSION(message_progress),
    PHASE(message_progress),
    REAL(struct message_progress, elapsed_s, LIMIT_SECONDS * 2,
         "since its first datagram, seconds"),
    COUNT(struct message_progress, sent, "datagrams so far"),
    COUNT(struct message_progress, received, "echoes so far"),
};
const struct record message_progress_record = RECORD(message_progress, message_progress_fields);

static const struct field message_ended_fields[] = {
    TYPE(message_ended),
    SESSION(message_ended),
    PHASE(message_ended),
};
const struct record message_ended_record = RECORD(message_ended, message_ended_fields);

static const struct field message_closed_fields[] = {
    TYPE(message_closed),
    SESSION(message_closed),
    TEXT(struct message_closed, result, "id of the result with this end's report"),
};
const struct record message_closed_record = RECORD(message_closed, message_closed_fields);

static const struct field message_failed_fields[] = {
    TYPE(message_failed),
    SESSION(message_failed),
    TEXT_OR_NULL(struct message_failed, result, "id of the result with what is known"),
    TEXT(struct message_failed, reason, "what broke"),
};
const struct record message_failed_record = RECORD(message_failed, message_failed_fields);

static const struct field message_result_fields[] = {
    TYPE(message_result),
    TEXT(struct message_result, id, "unique for ever; a repeat changes nothing"),
    TEXT(struct message_result, kind, "report: the body is one end's half of a case"),
    BYTES(struct message_result, body, LIMIT_RESULT_BYTES, "the result, as msgpack"),
};
const struct record message_result_record = RECORD(message_result, message_result_fields);

static const struct field message_welcome_fields[] = {
    TYPE(message_welcome),
    INT(struct message_welcome, protocol, 1, INT32_MAX, "version of this protocol"),
    TEXT(struct message_welcome, version, "of the controller"),
};
const struct record message_welcome_record = RECORD(message_welcome, message_welcome_fields);

static const struct field message_open_fields[] = {
    TYPE(message_open),
    SESSION(message_open),
    TEXT(struct message_open, run, "UUID of the run"),
    INT(struct message_open, index, 0, LIMIT_CASES - 1, "the case's position in the run"),
    CHOICE(struct message_open, role, end_role_names, END_COUNT, "which end to open"),
    { FIELD_AT(struct message_open, key), .type = FIELD_BYTES, .min = SESSION_KEY_SIZE,
      .size = SESSION_KEY_SIZE, .help = "HMAC key of the session, fresh" },
    INT(struct message_open, ssid, 1, 65532,
        "hello: ssid; confirmation: + 1; warm-up: + 2; measure: + 3"),
    TEXT_OR_NULL(struct message_open, target,
                 "sender: address and port of the echo role; echo: null"),
    REAL(struct message_open, idle_s, 3600, "idle interval to listen to first, seconds"),
    PART(struct message_open, params, case_params_record, "the case"),
};
const struct record message_open_record = RECORD(message_open, message_open_fields);

static const struct field message_begin_fields[] = {
    TYPE(message_begin),
    SESSION(message_begin),
    PHASE(message_begin),
};
const struct record message_begin_record = RECORD(message_begin, message_begin_fields);

static const struct field message_end_fields[] = {
    TYPE(message_end),
    SESSION(message_end),
    PHASE(message_end),
};
const struct record message_end_record = RECORD(message_end, message_end_fields);

static const struct field message_close_fields[] = {
    TYPE(message_close),
    SESSION(message_close),
    TEXT_OR_NULL(struct message_close, reason, "null at the regular end"),
};
const struct record message_close_record = RECORD(message_close, message_close_fields);

static const struct field message_committed_fields[] = {
    TYPE(message_committed),
    WORDS(struct message_committed, ids, 10000, "ids of results"),
};
const struct record message_committed_record = RECORD(message_committed, message_committed_fields);

static const struct field message_list_agents_fields[] = {
    TYPE(message_list_agents),
    REQUEST(message_list_agents),
};
const struct record message_list_agents_record =
    RECORD(message_list_agents, message_list_agents_fields);

static const struct field message_run_fields[] = {
    TYPE(message_run),
    REQUEST(message_run),
    TEXT(struct message_run, from, "agent with the sender role"),
    TEXT(struct message_run, to, "agent with the echo role"),
    TEXT_OR_NULL(struct message_run, address,
                 "of `to`, with a zone of `from`; null: its first of the family"),
    PART(struct message_run, plan, plan_record, "the cases"),
    WORDS(struct message_run, command, LIMIT_COMMAND_WORDS,
          "the operator's command line, for the archive"),
};
const struct record message_run_record = RECORD(message_run, message_run_fields);

static const struct field message_stop_fields[] = {
    TYPE(message_stop),
    REQUEST(message_stop),
    TEXT(struct message_stop, run, "UUID of the run"),
};
const struct record message_stop_record = RECORD(message_stop, message_stop_fields);

static const struct field message_list_results_fields[] = {
    TYPE(message_list_results),
    REQUEST(message_list_results),
    TEXT_OR_NULL(struct message_list_results, run, "a prefix of its UUID"),
    TEXT_OR_NULL(struct message_list_results, from, "sender's name"),
    TEXT_OR_NULL(struct message_list_results, to, "echo's name"),
    { FIELD_AT(struct message_list_results, status), .type = FIELD_INT, .flags = FIELD_NULLABLE,
      .max = CASE_STATUS_COUNT - 1, .help = "0 pass, 1 fail, 2 error" },
    TEXT_OR_NULL(struct message_list_results, since, "RFC 3339 UTC: run started then or later"),
    TEXT_OR_NULL(struct message_list_results, until, "RFC 3339 UTC: run started before"),
    INT(struct message_list_results, limit, 1, LIMIT_ROWS, "rows to answer"),
    COUNT_OR_NULL(struct message_list_results, before, "only rows older than this one"),
};
const struct record message_list_results_record =
    RECORD(message_list_results, message_list_results_fields);

static const struct field message_show_fields[] = {
    TYPE(message_show),
    REQUEST(message_show),
    TEXT(struct message_show, run, "latest, or at least 4 letters that begin one run's UUID"),
};
const struct record message_show_record = RECORD(message_show, message_show_fields);

static const struct field agent_row_fields[] = {
    TEXT(struct agent_row, name, "its certificate's"),
    FLAG(struct agent_row, connected, "now"),
    REAL(struct agent_row, last_seen_s, 1e12, "seconds ago"),
    TEXT_OR_NULL(struct agent_row, address, "where its connection comes from"),
    TEXT_OR_NULL(struct agent_row, version, "of sonde-agent"),
    TEXT_OR_NULL(struct agent_row, os, "Linux or macOS"),
    TEXT_OR_NULL(struct agent_row, os_release, "kernel release"),
    TEXT_OR_NULL(struct agent_row, arch, "machine architecture"),
    PART(struct agent_row, clock, clock_report_record, "its wall clock"),
    PART(struct agent_row, spool, spool_report_record, "what waits there"),
    COUNT(struct agent_row, sessions, "open now"),
    TEXT_OR_NULL(struct agent_row, busy_with, "the run that holds it"),
    COUNT(struct agent_row, duplicates, "other hosts that came with this identity"),
    TEXT_OR_NULL(struct agent_row, duplicate_address, "where the last of them came from"),
    WORDS(struct agent_row, addresses, LIMIT_ADDRESSES, "its global addresses"),
};
const struct record agent_row_record = RECORD(agent_row, agent_row_fields);

static const struct field case_row_fields[] = {
    COUNT(struct case_row, row, "its number in the store"),
    TEXT(struct case_row, run, "UUID of the run"),
    TEXT(struct case_row, started, "RFC 3339 UTC, of the run"),
    TEXT(struct case_row, from, "sender's name"),
    TEXT(struct case_row, to, "echo's name"),
    PART(struct case_row, params, case_params_record, "the case"),
    COUNT(struct case_row, index, "its position in the run"),
    CHOICE(struct case_row, status, case_status_names, CASE_STATUS_COUNT, "how it ended"),
    TEXT_OR_NULL(struct case_row, error, "why it could not be measured"),
    COUNT(struct case_row, sent, "datagrams of the measure phase"),
    COUNT(struct case_row, received, "their echoes"),
    COUNT(struct case_row, forward_lost, "of the measure phase"),
    COUNT(struct case_row, reverse_lost, "of the measure phase"),
    PART(struct case_row, forward_lost_to, lost_to_record, "by place"),
    PART(struct case_row, reverse_lost_to, lost_to_record, "by place"),
    REAL_OR_NULL(struct case_row, echoes_per_second, 1e12, "null when it failed"),
    COUNT_OR_NULL(struct case_row, rtt_p50_ns, "median round trip, ns"),
    COUNT_OR_NULL(struct case_row, rtt_p99_ns, "ns"),
};
const struct record case_row_record = RECORD(case_row, case_row_fields);

static const struct field message_agents_fields[] = {
    TYPE(message_agents),
    REQUEST(message_agents),
    PARTS(struct message_agents, agents, agent_row_record, LIMIT_ROWS, "by name"),
    FLAG(struct message_agents, more, "further parts of the answer follow"),
};
const struct record message_agents_record = RECORD(message_agents, message_agents_fields);

static const struct field message_accepted_fields[] = {
    TYPE(message_accepted),
    REQUEST(message_accepted),
    TEXT(struct message_accepted, run, "UUID of the run"),
    COUNT(struct message_accepted, cases, "of its plan"),
    TEXT_OR_NULL(struct message_accepted, waits_for, "the run that holds one of the hosts"),
};
const struct record message_accepted_record = RECORD(message_accepted, message_accepted_fields);

static const struct field message_run_progress_fields[] = {
    TYPE(message_run_progress),
    TEXT(struct message_run_progress, run, "UUID of the run"),
    COUNT(struct message_run_progress, index, "of the case"),
    TEXT(struct message_run_progress, state, "what the case is at"),
    PHASE(message_run_progress),
    REAL(struct message_run_progress, elapsed_s, LIMIT_SECONDS * 2, "of the phase, seconds"),
    COUNT(struct message_run_progress, sent, "datagrams of the phase so far"),
    COUNT(struct message_run_progress, received, "echoes of the phase so far"),
};
const struct record message_run_progress_record =
    RECORD(message_run_progress, message_run_progress_fields);

static const struct field message_case_done_fields[] = {
    TYPE(message_case_done),
    PART(struct message_case_done, row, case_row_record, "what came out"),
};
const struct record message_case_done_record = RECORD(message_case_done, message_case_done_fields);

static const struct field message_run_done_fields[] = {
    TYPE(message_run_done),
    TEXT(struct message_run_done, run, "UUID of the run"),
    CHOICE(struct message_run_done, outcome, run_outcome_names, RUN_OUTCOME_COUNT, "how it ended"),
    TEXT_OR_NULL(struct message_run_done, reason, "null when complete"),
};
const struct record message_run_done_record = RECORD(message_run_done, message_run_done_fields);

static const struct field message_results_fields[] = {
    TYPE(message_results),
    REQUEST(message_results),
    PARTS(struct message_results, rows, case_row_record, LIMIT_ROWS, "newest first"),
    FLAG(struct message_results, more, "there are older ones"),
};
const struct record message_results_record = RECORD(message_results, message_results_fields);

static const struct field message_part_fields[] = {
    TYPE(message_part),
    REQUEST(message_part),
    COUNT(struct message_part, offset, "of the piece in run.json, bytes"),
    COUNT(struct message_part, total, "length of run.json, bytes"),
    BYTES(struct message_part, data, LIMIT_PART_BYTES, "the piece"),
    FLAG(struct message_part, last, "nothing follows"),
};
const struct record message_part_record = RECORD(message_part, message_part_fields);

static const struct field message_error_fields[] = {
    TYPE(message_error),
    REQUEST(message_error),
    TEXT(struct message_error, reason, "what is wrong and what is allowed"),
};
const struct record message_error_record = RECORD(message_error, message_error_fields);
