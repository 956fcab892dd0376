/* Owns the table of what one end of a path MTU session reports. */
#include "proto/wire/mtu_report.h"

#include "proto/wire/record_table.h"

static const struct field mtu_report_fields[] = {
    TEXT(struct mtu_report, schema, MTU_REPORT_SCHEMA),
    TEXT(struct mtu_report, id, "UUID, version 7"),
    TEXT(struct mtu_report, run, "UUID of the run"),
    TEXT(struct mtu_report, session, "UUID of the session"),
    INT(struct mtu_report, index, 0, LIMIT_CASES - 1, "the session's position in its run"),
    CHOICE(struct mtu_report, role, end_role_names, END_COUNT, "this end's part"),
    PART(struct mtu_report, params, mtu_params_record, "what was asked for"),
    TEXT_OR_NULL(struct mtu_report, error, "why this end could not measure"),
    TEXT_OR_NULL(struct mtu_report, local, "this end's address and port"),
    TEXT_OR_NULL(struct mtu_report, peer, "the other end's, as seen here"),
    TEXT(struct mtu_report, started, "RFC 3339 UTC"),
    TEXT(struct mtu_report, finished, "RFC 3339 UTC"),
    PART_OR_NULL(struct mtu_report, agreement, agreement_record, "before the first phase"),
    PARTS(struct mtu_report, flows, mtu_flow_record, MTU_FLOWS_MAX,
          "the answers of the direction in which this end probed"),
    PARTS(struct mtu_report, events, mtu_event_record, MTU_EVENTS_MAX,
          "changes of it that were noticed while watching"),
    PART_OR_NULL(struct mtu_report, answered, mtu_answered_record,
                 "what came to this end in the other direction"),
    PART(struct mtu_report, host, host_record, "this host, and its counters around the session"),
};
const struct record mtu_report_record = RECORD(mtu_report, mtu_report_fields);

bool mtu_has_phase(const struct mtu_common *common, enum phase_kind phase)
{
    return (phase == PHASE_FORWARD && common->direction != MTU_WAYS_REVERSE) ||
           (phase == PHASE_REVERSE && common->direction != MTU_WAYS_FORWARD);
}

enum end_role mtu_prober(enum phase_kind phase)
{
    return phase == PHASE_REVERSE ? END_ECHO : END_SENDER;
}
