/* Owns the tables of what a path MTU measurement finds out, and of what an archive has of it. What
 * is asked for is mtu_plan.c's, what the numbers mean mtu_verdict's. */
#include "proto/wire/mtu.h"

#include "proto/wire/limits.h"
#include "proto/wire/record_table.h"

const char *const mtu_outcome_names[] = { "undecided",   "found",    "below_floor",
                                          "unreachable", "unstable", "exhausted" };
const char *const mtu_limit_names[] = { "ceiling", "local", "path" };
const char *const mtu_arrive_names[] = { "untested", "pass", "dropped" };
const char *const mtu_change_names[] = { "known", "changed", "unreachable" };
const char *const mtu_direction_names[] = { "forward", "reverse" };
const char *const mtu_verdict_names[] = { "clean",      "signalled",   "black_hole", "lossy",
                                          "below_base", "unreachable", "undecided" };

#define SIZE_OR_NULL(S, M, TEXT)                                                                   \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .flags = FIELD_NULLABLE, .max = LIMIT_MTU,              \
                        .help = (TEXT)                                                             \
    }

/* --- what is found out about a flow ---------------------------------------------------------- */

static const struct field mtu_icmp_fields[] = {
    TEXT(struct mtu_icmp, from, "who sent it"),
    INT(struct mtu_icmp, mtu, 0, UINT32_MAX, "what it says would pass"),
    FLAG(struct mtu_icmp, accepted, "as a hint, which was then proven or not"),
    TEXT(struct mtu_icmp, judged, "what was made of it"),
    COUNT(struct mtu_icmp, count, "how often it came"),
};
static const struct record mtu_icmp_record = RECORD(mtu_icmp, mtu_icmp_fields);

static const struct field mtu_fragments_fields[] = {
    INT(struct mtu_fragments, size, 0, LIMIT_MTU, "of the IP packet before it is cut"),
    COUNT(struct mtu_fragments, sent, "that may be cut"),
    COUNT(struct mtu_fragments, arrived, "of them"),
    COUNT(struct mtu_fragments, small_sent, "small ones between them"),
    COUNT(struct mtu_fragments, small_arrived, "of them"),
};
static const struct record mtu_fragments_record =
    RECORD_OR_NULL(mtu_fragments, mtu_fragments_fields);

static const struct field mtu_hops_fields[] = {
    INT(struct mtu_hops, passing, 0, LIMIT_MTU, "size that reaches the other end"),
    INT(struct mtu_hops, failing, 0, LIMIT_MTU, "size that does not"),
    INT(struct mtu_hops, last_hop, 0, 255, "farthest hop that answered the larger; 0: none"),
    TEXT_OR_NULL(struct mtu_hops, last, "who"),
    INT(struct mtu_hops, first_hop, 0, 255, "nearest that answered the smaller alone; 0: none"),
    TEXT_OR_NULL(struct mtu_hops, first, "who"),
    FLAG(struct mtu_hops, first_is_peer, "that is the other end itself"),
    COUNT(struct mtu_hops, sent, "datagrams with a short time to live"),
    COUNT(struct mtu_hops, answered, "of them, by any hop"),
};
static const struct record mtu_hops_record = RECORD_OR_NULL(mtu_hops, mtu_hops_fields);

static const struct field mtu_size_fields[] = {
    INT(struct mtu_size, payload, 0, LIMIT_MTU, "UDP payload, bytes"),
    COUNT(struct mtu_size, sent, "datagrams of it"),
    COUNT(struct mtu_size, lost, "of them"),
};
static const struct record mtu_size_record = RECORD(mtu_size, mtu_size_fields);

static const struct field mtu_size_effect_fields[] = {
    FLAG(struct mtu_size_effect, found, "loss is larger above some size"),
    SIZE_OR_NULL(struct mtu_size_effect, threshold, "largest IP packet before the change"),
    SIZE_OR_NULL(struct mtu_size_effect, least, "its lower 99 % bound"),
    SIZE_OR_NULL(struct mtu_size_effect, most, "its upper 99 % bound"),
    COUNT(struct mtu_size_effect, sent, "of all sizes"),
    COUNT(struct mtu_size_effect, lost, "of them"),
    COUNT(struct mtu_size_effect, sent_below, "up to the threshold; all when there is none"),
    COUNT(struct mtu_size_effect, lost_below, "of them"),
    COUNT(struct mtu_size_effect, sent_above, "above the threshold"),
    COUNT(struct mtu_size_effect, lost_above, "of them"),
    REAL(struct mtu_size_effect, low_below, 1, "Wilson's 95 % interval of the loss below: from"),
    REAL(struct mtu_size_effect, high_below, 1, "to"),
    REAL_OR_NULL(struct mtu_size_effect, low_above, 1, "the same above: from"),
    REAL_OR_NULL(struct mtu_size_effect, high_above, 1, "to"),
    REAL(struct mtu_size_effect, seconds, LIMIT_SECONDS * 2, "that it took"),
};
static const struct record mtu_size_effect_record =
    RECORD_OR_NULL(mtu_size_effect, mtu_size_effect_fields);

static const struct field mtu_flow_fields[] = {
    INT(struct mtu_flow, flow, 0, MTU_FLOWS_MAX - 1, "its number"),
    { FIELD_AT(struct mtu_flow, source_port), .type = FIELD_INT, .flags = FIELD_NULLABLE,
      .max = 65535, .help = "of the calling host, as the probing one sees it" },
    CHOICE(struct mtu_flow, outcome, mtu_outcome_names, MTU_OUTCOME_COUNT, "how its search ended"),
    CHOICE(struct mtu_flow, limit, mtu_limit_names, MTU_LIMIT_COUNT, "what ended the sizes"),
    SIZE_OR_NULL(struct mtu_flow, path_mtu, "largest IP packet that was acknowledged"),
    SIZE_OR_NULL(struct mtu_flow, next_size, "the next one, proven not to pass"),
    FLAG(struct mtu_flow, confirmed, "path_mtu and next_size are proven"),
    COUNT_OR_NULL(struct mtu_flow, local_mtu, "of the probing host's interface"),
    COUNT_OR_NULL(struct mtu_flow, kernel_path_mtu, "what its kernel believes, at the end"),
    COUNT_OR_NULL(struct mtu_flow, kernel_before, "and before"),
    PARTS(struct mtu_flow, icmp, mtu_icmp_record, MTU_ICMP_MAX, "\"too big\" messages that came"),
    COUNT(struct mtu_flow, icmp_missed, "further ones"),
    COUNT(struct mtu_flow, probes, "datagrams of the search"),
    COUNT(struct mtu_flow, retries, "of them: sizes that had been asked before"),
    COUNT(struct mtu_flow, refused, "of them: not taken by the probing host's kernel"),
    COUNT(struct mtu_flow, controls, "of them: small ones that measure the loss meanwhile"),
    COUNT(struct mtu_flow, controls_lost, "of these"),
    COUNT_OR_NULL(struct mtu_flow, rtt_ns, "smoothed round trip"),
    REAL(struct mtu_flow, seconds, LIMIT_SECONDS * 2, "that the search took"),
    COUNT(struct mtu_flow, unreachable, "ICMP \"destination unreachable\" of other kinds"),
    TEXT_OR_NULL(struct mtu_flow, unreachable_kind, "of the last of them"),
    TEXT_OR_NULL(struct mtu_flow, unreachable_from, "who sent it"),
    COUNT(struct mtu_flow, odd_answers, "authentic ones that answer nothing that was sent"),
    CHOICE(struct mtu_flow, fragments, mtu_arrive_names, MTU_ARRIVE_COUNT,
           "datagrams above the path MTU, cut on the way"),
    PART_OR_NULL(struct mtu_flow, fragment_probes, mtu_fragments_record, "null: untested"),
    PART_OR_NULL(struct mtu_flow, hops, mtu_hops_record, "null: not traced"),
    PART_OR_NULL(struct mtu_flow, size_effect, mtu_size_effect_record,
                 "null: loss by size was not measured"),
    { FIELD_AT(struct mtu_flow, loss_by_size), .type = FIELD_LIST, .of = FIELD_RECORD,
      .record = &mtu_size_record, .size = MTU_SIZES_MAX,
      .help = "loss of each size; empty: not measured" },
};
const struct record mtu_flow_record = RECORD(mtu_flow, mtu_flow_fields);

static const struct field mtu_answered_fields[] = {
    FLAG(struct mtu_answered, fragments_told, "its system says what came in fragments"),
    COUNT(struct mtu_answered, answered, "datagrams"),
    COUNT(struct mtu_answered, in_fragments, "probes that came in fragments: not answered"),
    COUNT(struct mtu_answered, reassembled, "of those that may be cut: came in fragments"),
    COUNT(struct mtu_answered, damaged, "not as they were made"),
    COUNT(struct mtu_answered, foreign, "not of this session"),
    SIZE_OR_NULL(struct mtu_answered, largest, "IP packet that was answered"),
    COUNT(struct mtu_answered, refused, "answers that its kernel did not take"),
};
const struct record mtu_answered_record = RECORD_OR_NULL(mtu_answered, mtu_answered_fields);

static const struct field mtu_event_fields[] = {
    INT(struct mtu_event, flow, 0, MTU_FLOWS_MAX - 1, "which flow"),
    CHOICE(struct mtu_event, change, mtu_change_names, MTU_CHANGE_COUNT, "what happened"),
    SIZE_OR_NULL(struct mtu_event, from, "path MTU before"),
    SIZE_OR_NULL(struct mtu_event, to, "path MTU since"),
    REAL(struct mtu_event, after_s, LIMIT_SECONDS * 2, "since the phase began, seconds"),
};
const struct record mtu_event_record = RECORD(mtu_event, mtu_event_fields);

/* --- what an archive has --------------------------------------------------------------------- */

static const struct field mtu_case_fields[] = {
    INT(struct mtu_case, index, 0, LIMIT_CASES - 1, "its place in the run"),
    CHOICE(struct mtu_case, family, family_names, FAMILY_COUNT, "of the addresses"),
    CHOICE(struct mtu_case, direction, mtu_direction_names, MTU_DIRECTION_COUNT,
           "forward: from the first host"),
    CHOICE(struct mtu_case, verdict, mtu_verdict_names, MTU_VERDICT_COUNT, "what it means"),
    TEXT_OR_NULL(struct mtu_case, error, "why there is no answer"),
    SIZE_OR_NULL(struct mtu_case, udp_payload, "largest UDP payload in a packet of path_mtu"),
    { FIELD_AT(struct mtu_case, flow), .type = FIELD_INLINE, .record = &mtu_flow_record },
};
const struct record mtu_case_record = RECORD(mtu_case, mtu_case_fields);

static const struct field mtu_session_fields[] = {
    CHOICE(struct mtu_session, family, family_names, FAMILY_COUNT, "of the addresses"),
    TEXT_OR_NULL(struct mtu_session, error, "what an end could not do"),
    TEXT_OR_NULL(struct mtu_session, local, "address and port of the first host's first flow"),
    TEXT_OR_NULL(struct mtu_session, peer, "address and port of the second host"),
    PART_OR_NULL(struct mtu_session, agreement, agreement_record, "before anything else was sent"),
    PART_OR_NULL(struct mtu_session, answered_forward, mtu_answered_record,
                 "what came to the second host; null: not probed"),
    PART_OR_NULL(struct mtu_session, answered_reverse, mtu_answered_record,
                 "what came to the first host; null: not probed"),
    PARTS(struct mtu_session, events_forward, mtu_event_record, MTU_EVENTS_MAX,
          "changes that were noticed while watching"),
    PARTS(struct mtu_session, events_reverse, mtu_event_record, MTU_EVENTS_MAX, "likewise"),
};
const struct record mtu_session_record = RECORD(mtu_session, mtu_session_fields);
