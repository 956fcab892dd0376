/* Owns the tables of the buffer experiments. */
#include "proto/wire/buffers.h"

#include "proto/wire/record_table.h"

const char *const experiment_names[] = { "ladder",      "hold",        "sweep",
                                         "slow_reader", "closed_port", "idle" };
static const char *const buffer_side_names[] = { "rcvbuf", "sndbuf" };

enum { SENDS_MAX = 10000000, OWNERS_MAX = 1024, QUEUE_POINTS_MAX = 100000 };

/* A list of whole numbers. */
#define INTS(S, M, LOW, HIGH, TEXT)                                                                \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_LIST, .of = FIELD_INT, .size = LIMIT_LIST_ITEMS,             \
                        .min = (LOW), .max = (HIGH), .help = (TEXT)                                \
    }
#define RANGE(S, M, LOW, HIGH, TEXT)                                                               \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_INT, .min = (LOW), .max = (HIGH), .help = (TEXT)             \
    }

static const struct field buffers_plan_fields[] = {
    { FIELD_AT(struct buffers_plan, experiments), .type = FIELD_LIST, .of = FIELD_ENUM,
      .size = EXPERIMENT_COUNT, .names = experiment_names, .name_count = EXPERIMENT_COUNT,
      .help = "which experiments" },
    CHOICE(struct buffers_plan, family, family_names, FAMILY_COUNT, "IP version"),
    INTS(struct buffers_plan, asked, 1, LIMIT_SOCKET_BUFFER, "ladder: buffers to ask for, bytes"),
    INTS(struct buffers_plan, payloads, 0, PAYLOAD_MAX_IPV6, "hold: UDP payloads, bytes"),
    RANGE(struct buffers_plan, hold_rcvbuf, 0, LIMIT_SOCKET_BUFFER,
          "hold: SO_RCVBUF to ask for, bytes; 0 for a plain socket's default"),
    RANGE(struct buffers_plan, sends, 1, SENDS_MAX, "hold and sweep: datagrams to send"),
    RANGE(struct buffers_plan, sweep_payload, 0, PAYLOAD_MAX_IPV6, "sweep: UDP payload, bytes"),
    INTS(struct buffers_plan, sweep_rcvbufs, 0, LIMIT_SOCKET_BUFFER,
         "sweep: SO_RCVBUF to ask for, bytes; 0 for the default"),
    RANGE(struct buffers_plan, slow_payload, 0, PAYLOAD_MAX_IPV6,
          "slow reader: UDP payload, bytes"),
    RANGE(struct buffers_plan, slow_sends, 2, SENDS_MAX, "slow reader: datagrams to send"),
    INTS(struct buffers_plan, read_ns, 0, LIMIT_WORK_NS,
         "slow reader: what the reader takes for each datagram, ns"),
    INTS(struct buffers_plan, intervals_ns, 0, LIMIT_WORK_NS,
         "slow reader: one datagram per interval, ns; 0 is full speed"),
    INTS(struct buffers_plan, slow_rcvbufs, 0, LIMIT_SOCKET_BUFFER,
         "slow reader: SO_RCVBUF to ask for, bytes; 0 for the default"),
    RANGE(struct buffers_plan, closed_port_sends, 1, SENDS_MAX, "closed port: datagrams to send"),
    { FIELD_AT(struct buffers_plan, idle_s), .type = FIELD_REAL, .real_min = 0.01, .real_max = 3600,
      .help = "idle: how long to listen, seconds" },
};
const struct record buffers_plan_record = RECORD(buffers_plan, buffers_plan_fields);

static const struct field dropped_fields[] = {
    COUNT_OR_NULL(struct dropped, socket, "by this socket; null where sockets do not count"),
    COUNT_OR_NULL(struct dropped, system, "by the whole system, other programs included"),
};
static const struct record dropped_record = RECORD(dropped, dropped_fields);

static const struct field system_count_fields[] = {
    COUNT_OR_NULL(struct system_count, system, "by the whole system, other programs included"),
};
static const struct record system_count_record = RECORD(system_count, system_count_fields);

static const struct field ladder_fields[] = {
    CHOICE(struct ladder_result, buffer, buffer_side_names, BUFFER_SIDE_COUNT,
           "SO_RCVBUF or SO_SNDBUF"),
    COUNT_OR_NULL(struct ladder_result, asked, "bytes; null: a plain socket's default"),
    COUNT_OR_NULL(struct ladder_result, granted, "as the kernel reads it back, bytes"),
    TEXT_OR_NULL(struct ladder_result, limit, "the limit that capped it, or null"),
};
static const struct record ladder_record = RECORD(ladder_result, ladder_fields);

static const struct field hold_fields[] = {
    COUNT(struct hold_result, payload, "UDP payload, bytes"),
    PART(struct hold_result, rcvbuf, grant_record, "asked is 0 for a plain socket's default"),
    COUNT(struct hold_result, sent, "taken by the sending kernel"),
    PART(struct hold_result, refused, refused_record, "not taken, by cause"),
    COUNT(struct hold_result, held, "datagrams that could be read afterwards"),
    COUNT_OR_NULL(struct hold_result, queued_bytes, "what the kernel charged for them"),
    REAL_OR_NULL(struct hold_result, bytes_per_datagram, 1e12, "charge for one, bytes"),
    PART(struct hold_result, dropped, dropped_record, "dropped for a full buffer meanwhile"),
    COUNT_OR_NULL(struct hold_result, predicted_held, "by charge and rule, before the sending"),
};
static const struct record hold_record = RECORD(hold_result, hold_fields);

#define POINTS(S, M, TEXT)                                                                         \
    {                                                                                              \
        FIELD_AT(S, M), .type = FIELD_LIST, .of = FIELD_POINT, .size = QUEUE_POINTS_MAX,           \
                        .help = (TEXT)                                                             \
    }

static const struct field slow_reader_fields[] = {
    COUNT(struct slow_reader_result, payload, "UDP payload, bytes"),
    PART(struct slow_reader_result, rcvbuf, grant_record, "asked is 0 for the default"),
    COUNT(struct slow_reader_result, read_ns, "what the reader was to take for each datagram"),
    COUNT(struct slow_reader_result, interval_ns, "pace asked for; 0 is full speed"),
    REAL_OR_NULL(struct slow_reader_result, achieved_interval_ns, 1e12, "the sender's real pace"),
    REAL_OR_NULL(struct slow_reader_result, achieved_read_ns, 1e12,
                 "the reader's real time for each datagram"),
    REAL_OR_NULL(struct slow_reader_result, sending_s, 1e9, "first send to last"),
    COUNT(struct slow_reader_result, sent, "taken by the sending kernel"),
    PART(struct slow_reader_result, refused, refused_record, "not taken, by cause"),
    COUNT(struct slow_reader_result, processed, "the reader's own count"),
    COUNT(struct slow_reader_result, lost, "sent - processed"),
    REAL_OR_NULL(struct slow_reader_result, loss_ratio, 1, "lost / sent"),
    REAL_OR_NULL(struct slow_reader_result, model_loss_ratio, 1,
                 "max(0, 1 - (held + read during sending) / sent)"),
    PART(struct slow_reader_result, dropped, dropped_record, "dropped for a full buffer"),
    REAL_OR_NULL(struct slow_reader_result, first_drop_s, 1e9, "after the first send; null: none"),
    POINTS(struct slow_reader_result, queue, "[seconds after the first send, queued bytes]"),
    POINTS(struct slow_reader_result, drops, "[seconds after the first send, drops so far]"),
};
static const struct record slow_reader_record = RECORD(slow_reader_result, slow_reader_fields);

static const struct field closed_port_fields[] = {
    COUNT(struct closed_port_result, sent, "taken by the sending kernel"),
    PART(struct closed_port_result, refused, refused_record, "not taken, by cause"),
    PART(struct closed_port_result, no_socket, system_count_record, "\"no socket\" meanwhile"),
    PART(struct closed_port_result, receive_buffer, system_count_record,
         "\"buffer full\" meanwhile"),
};
static const struct record closed_port_record = RECORD(closed_port_result, closed_port_fields);

static const struct field drop_owner_fields[] = {
    COUNT(struct drop_owner, port, "local UDP port"),
    COUNT(struct drop_owner, drops, "datagrams dropped meanwhile"),
    COUNT(struct drop_owner, inode, "of the socket"),
    TEXT_OR_NULL(struct drop_owner, process, "name and pid, null where it cannot be read"),
};
static const struct record drop_owner_record = RECORD(drop_owner, drop_owner_fields);

static const struct field idle_fields[] = {
    REAL(struct idle_result, seconds, 86400, "length of the interval"),
    COUNTERS(struct idle_result, delta, "differences over it"),
    PARTS(struct idle_result, owners, drop_owner_record, OWNERS_MAX,
          "sockets that dropped meanwhile, the largest first"),
};
static const struct record idle_record = RECORD(idle_result, idle_fields);

/* The parts that only one experiment has. */
#define WHEN(M, R, VALUE)                                                                          \
    {                                                                                              \
        FIELD_AT(struct experiment_result, M),                                                     \
            .type = FIELD_INLINE, .record = &(R),                                                  \
            .when = offsetof(struct experiment_result, experiment) + 1, .when_value = (int)(VALUE) \
    }

static const struct field experiment_fields[] = {
    COUNT(struct experiment_result, index, "position in the run, from 0"),
    CHOICE(struct experiment_result, experiment, experiment_names, EXPERIMENT_COUNT,
           "which experiment"),
    TEXT_OR_NULL(struct experiment_result, error, "why it could not be measured"),
    WHEN(ladder, ladder_record, EXPERIMENT_LADDER),
    WHEN(hold, hold_record, EXPERIMENT_HOLD),
    WHEN(hold, hold_record, EXPERIMENT_SWEEP),
    WHEN(slow_reader, slow_reader_record, EXPERIMENT_SLOW_READER),
    WHEN(closed_port, closed_port_record, EXPERIMENT_CLOSED_PORT),
    WHEN(idle, idle_record, EXPERIMENT_IDLE),
};
const struct record experiment_result_record = RECORD(experiment_result, experiment_fields);

static bool wants(const struct buffers_plan *plan, enum experiment experiment)
{
    for (size_t i = 0; i < plan->experiments.count; i++) {
        if (((const int *)plan->experiments.items)[i] == (int)experiment)
            return true;
    }
    return false;
}

static enum status check_payload(const struct buffers_plan *plan, const char *flag, int64_t payload,
                                 struct fault *fault)
{
    int64_t largest = plan->family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;

    if (payload <= largest)
        return STATUS_OK;
    return fault_set(fault, STATUS_RANGE, "%s: %lld is not allowed: an integer from 0 to %lld (%s)",
                     flag, (long long)payload, (long long)largest, family_names[plan->family]);
}

static enum status check_some(const struct list *list, const char *flag, struct fault *fault)
{
    return list->count > 0 ? STATUS_OK
                           : fault_set(fault, STATUS_RANGE, "%s: at least one is needed", flag);
}

enum status buffers_plan_check(const struct buffers_plan *plan, struct fault *fault)
{
    enum status status = check_some(&plan->experiments, "experiment", fault);

    if (status == STATUS_OK && wants(plan, EXPERIMENT_LADDER))
        status = check_some(&plan->asked, "asked", fault);
    if (status == STATUS_OK && wants(plan, EXPERIMENT_HOLD))
        status = check_some(&plan->payloads, "payload", fault);
    for (size_t i = 0; i < plan->payloads.count && status == STATUS_OK; i++)
        status = check_payload(plan, "payload", ((const int64_t *)plan->payloads.items)[i], fault);
    if (status == STATUS_OK && wants(plan, EXPERIMENT_SWEEP))
        status = check_some(&plan->sweep_rcvbufs, "sweep-rcvbuf", fault);
    if (status == STATUS_OK)
        status = check_payload(plan, "sweep-payload", plan->sweep_payload, fault);
    if (status == STATUS_OK && wants(plan, EXPERIMENT_SLOW_READER))
        status = check_some(&plan->read_ns, "read-ns", fault);
    if (status == STATUS_OK && wants(plan, EXPERIMENT_SLOW_READER))
        status = check_some(&plan->intervals_ns, "interval", fault);
    if (status == STATUS_OK && wants(plan, EXPERIMENT_SLOW_READER))
        status = check_some(&plan->slow_rcvbufs, "slow-rcvbuf", fault);
    if (status == STATUS_OK)
        status = check_payload(plan, "slow-payload", plan->slow_payload, fault);
    return status;
}
