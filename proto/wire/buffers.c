/* Owns the tables of the buffer experiments, and what a plan of them unfolds to. */
#include "proto/wire/buffers.h"

#include <assert.h>

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

/* --- the plan -------------------------------------------------------------------------------- */

static int64_t item(const struct list *list, size_t index)
{
    assert(index < list->count);
    return ((const int64_t *)list->items)[index];
}

static enum experiment experiment_at(const struct buffers_plan *plan, size_t index)
{
    return (enum experiment)((const int *)plan->experiments.items)[index];
}

static bool wants(const struct buffers_plan *plan, enum experiment experiment)
{
    for (size_t i = 0; i < plan->experiments.count; i++) {
        if (experiment_at(plan, i) == experiment)
            return true;
    }
    return false;
}

size_t buffers_plan_experiment_count(const struct buffers_plan *plan, enum experiment experiment)
{
    switch (experiment) {
    case EXPERIMENT_LADDER:
        return BUFFER_SIDE_COUNT * (1 + plan->asked.count);
    case EXPERIMENT_HOLD:
        return plan->payloads.count;
    case EXPERIMENT_SWEEP:
        return plan->sweep_rcvbufs.count;
    case EXPERIMENT_SLOW_READER:
        return plan->read_ns.count * plan->intervals_ns.count * plan->slow_rcvbufs.count;
    case EXPERIMENT_CLOSED_PORT:
    case EXPERIMENT_IDLE:
        return 1;
    case EXPERIMENT_COUNT:
        break;
    }
    return 0;
}

size_t buffers_plan_case_count(const struct buffers_plan *plan)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->experiments.count; i++)
        count += buffers_plan_experiment_count(plan, experiment_at(plan, i));
    return count;
}

static void fill_ladder(const struct buffers_plan *plan, size_t index, struct ladder_result *ladder)
{
    size_t steps = 1 + plan->asked.count;

    ladder->buffer = index / steps == 0 ? BUFFER_RCVBUF : BUFFER_SNDBUF;
    ladder->asked = index % steps == 0 ? NONE_INT : item(&plan->asked, index % steps - 1);
}

static void fill_slow_reader(const struct buffers_plan *plan, size_t index,
                             struct slow_reader_result *slow)
{
    size_t rcvbufs = plan->slow_rcvbufs.count;
    size_t intervals = plan->intervals_ns.count;

    slow->payload = plan->slow_payload;
    slow->rcvbuf.asked = item(&plan->slow_rcvbufs, index % rcvbufs);
    slow->interval_ns = item(&plan->intervals_ns, index / rcvbufs % intervals);
    slow->read_ns = item(&plan->read_ns, index / (rcvbufs * intervals));
}

/* `index` within its experiment. */
static void fill_case(const struct buffers_plan *plan, size_t index,
                      struct experiment_result *result)
{
    switch (result->experiment) {
    case EXPERIMENT_LADDER:
        fill_ladder(plan, index, &result->ladder);
        break;
    case EXPERIMENT_HOLD:
        result->hold.payload = item(&plan->payloads, index);
        result->hold.rcvbuf.asked = plan->hold_rcvbuf;
        break;
    case EXPERIMENT_SWEEP:
        result->hold.payload = plan->sweep_payload;
        result->hold.rcvbuf.asked = item(&plan->sweep_rcvbufs, index);
        break;
    case EXPERIMENT_SLOW_READER:
        fill_slow_reader(plan, index, &result->slow_reader);
        break;
    case EXPERIMENT_CLOSED_PORT:
    case EXPERIMENT_IDLE:
    case EXPERIMENT_COUNT:
        break;
    }
}

void buffers_plan_case(const struct buffers_plan *plan, size_t index,
                       struct experiment_result *out_result)
{
    size_t first = 0;

    assert(index < buffers_plan_case_count(plan));
    record_init(&experiment_result_record, out_result);
    out_result->index = (int64_t)index;
    for (size_t i = 0; i < plan->experiments.count; i++) {
        size_t count = buffers_plan_experiment_count(plan, experiment_at(plan, i));

        if (index - first < count) {
            out_result->experiment = experiment_at(plan, i);
            fill_case(plan, index - first, out_result);
            return;
        }
        first += count;
    }
}

/* --- its check ------------------------------------------------------------------------------- */

/* A list of a plan: its flag, and which experiment cannot do without it. */
struct plan_list {
    const struct list *list;
    const char *flag;
    enum experiment experiment;
};

static enum status check_payload(const struct buffers_plan *plan, const char *flag, int64_t payload,
                                 struct fault *fault)
{
    int64_t largest = plan->family == FAMILY_IPV4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;

    if (payload <= largest)
        return STATUS_OK;
    return fault_set(fault, STATUS_RANGE, "%s: %lld is not allowed: an integer from 0 to %lld (%s)",
                     flag, (long long)payload, (long long)largest, family_names[plan->family]);
}

static enum status check_payloads(const struct buffers_plan *plan, struct fault *fault)
{
    enum status status = check_payload(plan, "sweep-payload", plan->sweep_payload, fault);

    if (status == STATUS_OK)
        status = check_payload(plan, "slow-payload", plan->slow_payload, fault);
    for (size_t i = 0; i < plan->payloads.count && status == STATUS_OK; i++)
        status = check_payload(plan, "payload", item(&plan->payloads, i), fault);
    return status;
}

static enum status check_experiments(const struct buffers_plan *plan, struct fault *fault)
{
    if (plan->experiments.count == 0)
        return fault_set(fault, STATUS_RANGE, "experiment: at least one is needed");
    for (size_t i = 0; i < plan->experiments.count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (experiment_at(plan, i) == experiment_at(plan, k))
                return fault_set(fault, STATUS_RANGE, "experiment: %s is there twice",
                                 experiment_names[experiment_at(plan, i)]);
        }
    }
    return STATUS_OK;
}

/* A case that is there twice could not be told from its twin. */
static enum status check_list(const struct buffers_plan *plan, const struct plan_list *list,
                              struct fault *fault)
{
    if (wants(plan, list->experiment) && list->list->count == 0)
        return fault_set(fault, STATUS_RANGE, "%s: at least one is needed", list->flag);
    for (size_t i = 0; i < list->list->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (item(list->list, i) == item(list->list, k))
                return fault_set(fault, STATUS_RANGE, "%s: %lld is there twice", list->flag,
                                 (long long)item(list->list, i));
        }
    }
    return STATUS_OK;
}

enum status buffers_plan_check(const struct buffers_plan *plan, struct fault *fault)
{
    const struct plan_list lists[] = {
        { &plan->asked, "asked", EXPERIMENT_LADDER },
        { &plan->payloads, "payload", EXPERIMENT_HOLD },
        { &plan->sweep_rcvbufs, "sweep-rcvbuf", EXPERIMENT_SWEEP },
        { &plan->read_ns, "read-ns", EXPERIMENT_SLOW_READER },
        { &plan->intervals_ns, "interval", EXPERIMENT_SLOW_READER },
        { &plan->slow_rcvbufs, "slow-rcvbuf", EXPERIMENT_SLOW_READER },
    };
    enum status status = check_experiments(plan, fault);

    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && status == STATUS_OK; i++)
        status = check_list(plan, &lists[i], fault);
    if (status == STATUS_OK)
        status = check_payloads(plan, fault);
    if (status == STATUS_OK && buffers_plan_case_count(plan) > LIMIT_CASES)
        status = fault_set(fault, STATUS_RANGE, "%zu cases are too many: at most %d are allowed",
                           buffers_plan_case_count(plan), LIMIT_CASES);
    return status;
}
