/* Owns the tables of the messages' fields: names, ranges and meanings, once. */
#include "proto/wire/message_fields.h"

#include "proto/wire/message.h"
#include "proto/wire/record_table.h"

const char *const message_names[] = {
    "ping",      "bye",          "hello",    "status",  "opened",    "refused",      "begun",
    "progress",  "moved",        "ended",    "closed",  "failed",    "result",       "welcome",
    "open",      "begin",        "end",      "close",   "committed", "list_agents",  "run",
    "stop",      "list_results", "show",     "agents",  "accepted",  "run_progress", "run_moved",
    "case_done", "mtu_done",     "run_done", "results", "part",      "error",
};
const char *const work_kind_names[] = { "pair", "mtu" };
const char *const run_outcome_names[] = { "complete", "stopped", "failed" };

/* What every message begins with. */
#define TYPE(S)    CHOICE(struct S, type, message_names, MESSAGE_COUNT, "this message's name")
#define SESSION(S) TEXT(struct S, session, "UUID of the session")
#define REQUEST(S) INT(struct S, request, 0, COUNT_MAX, "the operator's number for it")
#define KIND(S)    CHOICE(struct S, kind, work_kind_names, WORK_KIND_COUNT, "what is measured")
#define OF_KIND(S, M, R, VALUE)                                                                    \
    {                                                                                              \
        FIELD_AT(struct S, M), .type = FIELD_INLINE, .record = &(R),                               \
                               .when = offsetof(struct S, kind) + 1, .when_value = (int)(VALUE)    \
    }
/* How far a search is. */
#define SEARCHED(S)                                                                                \
    COUNT_OR_NULL(struct S, low, "path MTU: the smallest answer so far"),                          \
        COUNT_OR_NULL(struct S, high, "path MTU: the smallest size that does not pass"),           \
        COUNT_OR_NULL(struct S, flows_done, "path MTU: flows whose search has ended")
#define PHASE(S) CHOICE(struct S, phase, phase_kind_names, PHASE_KIND_COUNT, "which phase")

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
    SEARCHED(message_progress),
};
const struct record message_progress_record = RECORD(message_progress, message_progress_fields);

static const struct field message_moved_fields[] = {
    TYPE(message_moved),
    SESSION(message_moved),
    PHASE(message_moved),
    PART(struct message_moved, event, mtu_event_record, "what was noticed"),
};
const struct record message_moved_record = RECORD(message_moved, message_moved_fields);

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
    TEXT(struct message_result, kind, "report or mtu_report: one end's half"),
    BYTES(struct message_result, body, LIMIT_RESULT_BYTES, "the result, as msgpack"),
};
const struct record message_result_record = RECORD(message_result, message_result_fields);

static const struct field message_welcome_fields[] = {
    TYPE(message_welcome),
    INT(struct message_welcome, protocol, 1, INT32_MAX, "version of this protocol"),
    TEXT(struct message_welcome, version, "of the controller"),
};
const struct record message_welcome_record = RECORD(message_welcome, message_welcome_fields);

static const struct field open_case_fields[] = {
    REAL(struct open_case, idle_s, 3600, "idle interval to listen to first, seconds"),
    PART(struct open_case, params, case_params_record, "the case"),
};
static const struct record open_case_record = RECORD(open_case, open_case_fields);

static const struct field open_mtu_fields[] = {
    PART(struct open_mtu, params, mtu_params_record, "the session"),
};
static const struct record open_mtu_record = RECORD(open_mtu, open_mtu_fields);

static const struct field message_open_fields[] = {
    TYPE(message_open),
    SESSION(message_open),
    TEXT(struct message_open, run, "UUID of the run"),
    INT(struct message_open, index, 0, LIMIT_CASES - 1, "the case's position in the run"),
    CHOICE(struct message_open, role, end_role_names, END_COUNT, "which end to open"),
    { FIELD_AT(struct message_open, key), .type = FIELD_BYTES, .min = SESSION_KEY_SIZE,
      .size = SESSION_KEY_SIZE, .help = "HMAC key of the session, fresh" },
    INT(struct message_open, ssid, 1, 65532,
        "hello: ssid; confirmation: + 1; warm-up or probes: + 2; measure: + 3"),
    TEXT_OR_NULL(struct message_open, target,
                 "sender: address and port of the echo role; echo: null"),
    KIND(message_open),
    OF_KIND(message_open, of_case, open_case_record, WORK_CASES),
    OF_KIND(message_open, of_mtu, open_mtu_record, WORK_MTU),
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

static const struct field run_cases_fields[] = {
    PART(struct run_cases, plan, plan_record, "the cases"),
};
static const struct record run_cases_record = RECORD(run_cases, run_cases_fields);

static const struct field run_mtu_fields[] = {
    PART(struct run_mtu, plan, mtu_plan_record, "the sessions"),
};
static const struct record run_mtu_record = RECORD(run_mtu, run_mtu_fields);

static const struct field message_run_fields[] = {
    TYPE(message_run),
    REQUEST(message_run),
    TEXT(struct message_run, from, "agent with the sender role"),
    TEXT(struct message_run, to, "agent with the echo role"),
    TEXT_OR_NULL(struct message_run, address,
                 "of `to`, with a zone of `from`; null: its first of the family"),
    KIND(message_run),
    OF_KIND(message_run, of_cases, run_cases_record, WORK_CASES),
    OF_KIND(message_run, of_mtu, run_mtu_record, WORK_MTU),
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
    KIND(message_list_results),
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

static const struct field mtu_row_fields[] = {
    COUNT(struct mtu_row, row, "its number in the store"),
    TEXT(struct mtu_row, run, "UUID of the run"),
    TEXT(struct mtu_row, started, "RFC 3339 UTC, of the run"),
    TEXT(struct mtu_row, from, "calling agent's name"),
    TEXT(struct mtu_row, to, "listening agent's name"),
    COUNT(struct mtu_row, index, "2 x session + direction"),
    CHOICE(struct mtu_row, family, family_names, FAMILY_COUNT, "of the addresses"),
    CHOICE(struct mtu_row, direction, mtu_direction_names, MTU_DIRECTION_COUNT,
           "forward: from `from` to `to`"),
    CHOICE(struct mtu_row, status, case_status_names, CASE_STATUS_COUNT, "how it ended"),
    TEXT_OR_NULL(struct mtu_row, error, "why it could not be measured"),
    CHOICE(struct mtu_row, verdict, mtu_verdict_names, MTU_VERDICT_COUNT,
           "of the flow with the smallest path MTU"),
    INT(struct mtu_row, flows, 0, MTU_FLOWS_MAX, "source ports"),
    COUNT_OR_NULL(struct mtu_row, path_mtu, "the smallest"),
    COUNT_OR_NULL(struct mtu_row, largest, "the largest of the flows"),
    COUNT_OR_NULL(struct mtu_row, udp_payload, "that fits the smallest"),
    COUNT_OR_NULL(struct mtu_row, local_mtu, "of the probing host's interface"),
    COUNT_OR_NULL(struct mtu_row, previous, "path_mtu of the run before between these hosts"),
    COUNT_OR_NULL(struct mtu_row, threshold, "size above which more is lost"),
    TEXT_OR_NULL(struct mtu_row, groups, "flows that differ"),
    TEXT_OR_NULL(struct mtu_row, words, "why it is what it is"),
    COUNT(struct mtu_row, probes, "datagrams of all searches"),
    REAL(struct mtu_row, seconds, LIMIT_SECONDS * 2, "of the longest search"),
    COUNT(struct mtu_row, changes, "noticed while watching"),
};
const struct record mtu_row_record = RECORD(mtu_row, mtu_row_fields);

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
    SEARCHED(message_run_progress),
};
const struct record message_run_progress_record =
    RECORD(message_run_progress, message_run_progress_fields);

static const struct field message_case_done_fields[] = {
    TYPE(message_case_done),
    PART(struct message_case_done, row, case_row_record, "what came out"),
};
const struct record message_case_done_record = RECORD(message_case_done, message_case_done_fields);

static const struct field message_mtu_done_fields[] = {
    TYPE(message_mtu_done),
    PART(struct message_mtu_done, row, mtu_row_record, "what came out"),
};
const struct record message_mtu_done_record = RECORD(message_mtu_done, message_mtu_done_fields);

static const struct field message_run_moved_fields[] = {
    TYPE(message_run_moved),
    TEXT(struct message_run_moved, run, "UUID of the run"),
    CHOICE(struct message_run_moved, family, family_names, FAMILY_COUNT, "of the addresses"),
    CHOICE(struct message_run_moved, direction, mtu_direction_names, MTU_DIRECTION_COUNT,
           "forward: from `from` to `to`"),
    PART(struct message_run_moved, event, mtu_event_record, "what was noticed"),
};
const struct record message_run_moved_record = RECORD(message_run_moved, message_run_moved_fields);

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
    PARTS(struct message_results, rows, case_row_record, LIMIT_ROWS, "newest first; kind pair"),
    PARTS(struct message_results, mtu_rows, mtu_row_record, LIMIT_ROWS, "likewise; kind mtu"),
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
