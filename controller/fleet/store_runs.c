/* Owns runs: begun, ended, found again. Must not know how one is measured. */
#include <string.h>

#include "controller/fleet/store_query.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"
#include "proto/wire/record_table.h"

enum { PREFIX_LETTERS = 4 };

static const struct field run_entry_fields[] = {
    TEXT(struct run_entry, run, "UUID of the run"),
    TEXT(struct run_entry, from, "sender's name"),
    TEXT(struct run_entry, to, "echo's name"),
    { FIELD_NAMED_AT(struct run_entry, operator_name, "operator"), .type = FIELD_TEXT,
      .size = NAME_SIZE, .help = "who asked for it" },
    TEXT(struct run_entry, started, "RFC 3339 UTC"),
    TEXT_OR_NULL(struct run_entry, finished, "RFC 3339 UTC; null while it runs"),
    CHOICE(struct run_entry, outcome, run_outcome_names, RUN_OUTCOME_COUNT, "how it ended"),
    TEXT_OR_NULL(struct run_entry, reason, "null when complete"),
    PART(struct run_entry, work, work_record, "what was asked for"),
    WORDS(struct run_entry, command, LIMIT_COMMAND_WORDS, "the operator's argv"),
};
const struct record run_entry_record = RECORD(run_entry, run_entry_fields);

/* What has no column of its own: the plan of the run's kind, and its command. */
struct run_body {
    struct work work;
    struct list command;
};

#define PLAN(M, R)                                                                                 \
    {                                                                                              \
        FIELD_NAMED_AT(struct run_body, M, "plan"), .type = FIELD_RECORD, .record = &(R),          \
                                                    .help = "what was asked for"                   \
    }
#define COMMAND WORDS(struct run_body, command, LIMIT_COMMAND_WORDS, "the operator's argv")

static const struct field case_body_fields[] = { PLAN(work.plan, plan_record), COMMAND };
static const struct field mtu_body_fields[] = { PLAN(work.mtu_plan, mtu_plan_record), COMMAND };

static const struct record body_records[WORK_KIND_COUNT] = {
    [WORK_CASES] = RECORD(run_body, case_body_fields),
    [WORK_MTU] = RECORD(run_body, mtu_body_fields),
};

static enum status insert_run(struct store *store, const struct run_entry *run,
                              const struct buf *body, struct fault *fault)
{
    struct query query;
    struct wall started;
    enum status status = wall_parse(run->started, &started);

    if (status != STATUS_OK)
        return fault_set(fault, STATUS_INVALID, "started: \"%s\" is not RFC 3339", run->started);
    status = store_begin(store, fault);
    if (status != STATUS_OK)
        return status;
    query = query_begin(store, STATEMENT_RUN_BEGIN);
    query_text(&query, 1, run->run);
    query_text(&query, 2, run->from);
    query_text(&query, 3, run->to);
    query_text(&query, 4, run->operator_name);
    query_int(&query, 5, started.ns);
    query_bytes(&query, 6, body->data, body->length);
    query_int(&query, 7, run->work.kind);
    return store_finish(store, query_run(&query, fault), fault);
}

enum status store_run_begin(struct store *store, const struct run_entry *run, struct fault *fault)
{
    struct run_body part = { .work = run->work, .command = run->command }; /* borrowed */
    struct buf body;
    enum status status;

    buf_init(&body, RUN_BODY_MAX);
    status = record_to_msgpack(&body_records[run->work.kind], &part, &body);
    if (status == STATUS_OK)
        status = insert_run(store, run, &body, fault);
    else
        fault_set(fault, status, "plan and command of a run are above %d bytes", RUN_BODY_MAX);
    buf_done(&body);
    return status;
}

enum status store_run_end(struct store *store, const struct run_end *end, struct fault *fault)
{
    struct query query;
    enum status status = store_begin(store, fault);

    if (status != STATUS_OK)
        return status;
    query = query_begin(store, STATEMENT_RUN_END);
    query_text(&query, 1, end->run);
    query_int(&query, 2, end->now.ns);
    query_int(&query, 3, end->outcome);
    query_text(&query, 4, end->reason != NULL ? end->reason : "");
    return store_finish(store, query_run(&query, fault), fault);
}

enum status store_end_orphans(struct store *store, const char *reason, struct wall now,
                              struct fault *fault)
{
    struct query query;
    enum status status = store_begin(store, fault);

    if (status != STATUS_OK)
        return status;
    query = query_begin(store, STATEMENT_ORPHANS_END);
    query_int(&query, 1, now.ns);
    query_int(&query, 2, RUN_FAILED);
    query_text(&query, 3, reason);
    return store_finish(store, query_run(&query, fault), fault);
}

/* --- finding one -------------------------------------------------------------------------------
 */

static enum status read_body(const struct query *query, struct run_entry *out_run,
                             struct fault *fault)
{
    int64_t kind = query_get_int(query, 9);
    struct run_body part;
    size_t length;
    const void *body = query_peek_bytes(query, 8, &length);

    if (kind < 0 || kind >= WORK_KIND_COUNT)
        return fault_set(fault, STATUS_CORRUPT, "kind %lld of a run", (long long)kind);
    if (record_from_msgpack(&body_records[kind], body, length, &part, fault) != STATUS_OK)
        return STATUS_CORRUPT;
    out_run->work = part.work;
    out_run->work.kind = (enum work_kind)kind;
    out_run->command = part.command;
    return STATUS_OK;
}

static void get_time(const struct query *query, int column, char out_text[WALL_TEXT_SIZE])
{
    if (!query_is_null(query, column))
        wall_format((struct wall){ query_get_int(query, column) }, out_text);
}

static enum status read_run(const struct query *query, struct run_entry *out_run,
                            struct fault *fault)
{
    struct run_entry run;
    int64_t outcome = query_get_int(query, 6);
    enum status status;

    if (outcome < 0 || outcome >= RUN_OUTCOME_COUNT)
        return fault_set(fault, STATUS_CORRUPT, "outcome %lld of a run", (long long)outcome);
    record_init(&run_entry_record, &run);
    query_get_text(query, 0, run.run, sizeof run.run);
    query_get_text(query, 1, run.from, sizeof run.from);
    query_get_text(query, 2, run.to, sizeof run.to);
    query_get_text(query, 3, run.operator_name, sizeof run.operator_name);
    get_time(query, 4, run.started);
    get_time(query, 5, run.finished);
    run.outcome = (enum run_outcome)outcome;
    query_get_text(query, 7, run.reason, sizeof run.reason);
    status = read_body(query, &run, fault);
    if (status == STATUS_OK)
        *out_run = run;
    return status;
}

/* The run with exactly this id. */
static enum status one_run(struct store *store, const char *id, struct run_entry *out_run,
                           struct fault *fault)
{
    struct query query = query_begin(store, STATEMENT_RUN);
    enum status status, found = STATUS_NOT_FOUND;

    query_text(&query, 1, id);
    if (query_next(&query))
        found = read_run(&query, out_run, fault);
    status = query_end(&query, fault);
    if (status != STATUS_OK && found == STATUS_OK)
        record_done(&run_entry_record, out_run);
    return status != STATUS_OK ? status : found;
}

/* How many runs (up to 2) the query names, and the first. */
static enum status name_run(struct query *query, char out_id[UUID_SIZE], int *out_count,
                            struct fault *fault)
{
    char id[UUID_SIZE] = "";
    int count = 0;
    enum status status;

    for (; query_next(query); count++) {
        if (count == 0)
            query_get_text(query, 0, id, sizeof id);
    }
    status = query_end(query, fault);
    if (status != STATUS_OK)
        return status;
    memcpy(out_id, id, sizeof id);
    *out_count = count;
    return STATUS_OK;
}

void store_prefix_end(const char *prefix, char *out_end, size_t size)
{
    size_t length;

    text_copy(out_end, size, prefix);
    length = strlen(out_end);
    /* Texts are compared bytewise; 0xff is in no UTF-8. */
    if (length > 0 && (unsigned char)out_end[length - 1] < 0xff)
        out_end[length - 1]++;
}

static enum status named_by_prefix(struct store *store, const char *prefix, char out_id[UUID_SIZE],
                                   struct fault *fault)
{
    char end[UUID_SIZE];
    int count = 0;
    struct query query = query_begin(store, STATEMENT_RUN_PREFIX);
    enum status status;

    store_prefix_end(prefix, end, sizeof end);
    query_text(&query, 1, prefix);
    query_text(&query, 2, end);
    status = name_run(&query, out_id, &count, fault);
    if (status == STATUS_OK && count == 0)
        return fault_set(fault, STATUS_NOT_FOUND, "no run begins with \"%s\"", prefix);
    if (status == STATUS_OK && count > 1)
        return fault_set(fault, STATUS_RANGE, "several runs begin with \"%s\"", prefix);
    return status;
}

static enum status latest(struct store *store, char out_id[UUID_SIZE], struct fault *fault)
{
    int count = 0;
    struct query query = query_begin(store, STATEMENT_RUN_LATEST);
    enum status status = name_run(&query, out_id, &count, fault);

    if (status == STATUS_OK && count == 0)
        return fault_set(fault, STATUS_NOT_FOUND, "there is no run yet");
    return status;
}

enum status store_run(struct store *store, const char *prefix, struct run_entry *out_run,
                      struct fault *fault)
{
    char id[UUID_SIZE];
    enum status status;

    if (strcmp(prefix, "latest") == 0) {
        status = latest(store, id, fault);
        return status == STATUS_OK ? one_run(store, id, out_run, fault) : status;
    }
    if (strlen(prefix) < PREFIX_LETTERS || strlen(prefix) >= UUID_SIZE)
        return fault_set(fault, STATUS_INVALID,
                         "a run is named by latest or the first %d to %d letters of its id",
                         PREFIX_LETTERS, UUID_SIZE - 1);
    status = one_run(store, prefix, out_run, fault);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = named_by_prefix(store, prefix, id, fault);
    return status == STATUS_OK ? one_run(store, id, out_run, fault) : status;
}
