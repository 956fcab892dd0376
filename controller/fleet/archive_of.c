/* Owns how a stored run becomes an archive: which reports and rows make which case and host. What
 * two reports say together is joined.c's. */
#include "controller/fleet/archive_of.h"

#include <stdlib.h>
#include <string.h>

#include "controller/fleet/joined.h"
#include "controller/fleet/verdict.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "source_hash.h"

/* An archive while it is made. */
struct making {
    struct store *store;
    const struct run_entry *entry;
    struct run *run;
    char **errors; /* by index: what the store says of a case that could not be measured */
    size_t count;
    void *first[END_COUNT], *last[END_COUNT]; /* reports of the run's kind; may be the same */
    char finished[32];                        /* the latest end that a report tells */
    int64_t step_ns[END_COUNT];               /* the largest step of each host's wall clock */
    size_t measured;                          /* cases with a report */
};

static char *copy_of(const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        abort();
    return copy;
}

/* The first error of a case's rows is its error. */
static void note_error(struct making *making, int64_t row, enum case_status status,
                       const char *error)
{
    int64_t index = work_case_of(making->entry->work.kind, row);

    if (status == CASE_ERROR && (size_t)index < making->count && making->errors[index] == NULL)
        making->errors[index] = copy_of(error);
}

/* Returns the number of the last row. */
static int64_t note_errors(struct making *making, const struct message_results *results)
{
    const struct case_row *rows = results->rows.items;
    const struct mtu_row *mtu_rows = results->mtu_rows.items;
    int64_t last = NONE_INT;

    for (size_t i = 0; i < results->rows.count; i++) {
        note_error(making, rows[i].index, rows[i].status, rows[i].error);
        last = rows[i].row;
    }
    for (size_t i = 0; i < results->mtu_rows.count; i++) {
        note_error(making, mtu_rows[i].index, mtu_rows[i].status, mtu_rows[i].error);
        last = mtu_rows[i].row;
    }
    return last;
}

/* The rows of a run come in pages. */
static enum status read_errors(struct making *making, struct fault *fault)
{
    struct message_list_results query;
    struct message_results results;
    enum status status;
    bool more = true;

    message_init(&query, MESSAGE_LIST_RESULTS);
    text_copy(query.run, sizeof query.run, making->entry->run);
    query.kind = making->entry->work.kind;
    query.limit = LIMIT_ROWS;
    while (more) {
        message_init(&results, MESSAGE_RESULTS);
        status = store_cases(making->store, &query, &results, fault);
        if (status != STATUS_OK)
            return status;
        query.before = note_errors(making, &results);
        more = results.more && query.before != NONE_INT;
        message_done(&results);
    }
    return STATUS_OK;
}

/* Keeps the first and the last report of an end; the others are freed with their case. */
static void keep_report(struct making *making, size_t end, void *report)
{
    enum work_kind kind = making->entry->work.kind;
    int64_t step_ns = report_host(kind, report)->clock_step_ns;
    const char *finished = report_finished(kind, report);
    void *old = making->last[end];

    if (step_ns != NONE_INT && llabs(step_ns) > llabs(making->step_ns[end]))
        making->step_ns[end] = step_ns;
    if (strcmp(finished, making->finished) > 0)
        text_copy(making->finished, sizeof making->finished, finished);
    if (making->first[end] == NULL)
        making->first[end] = report;
    making->last[end] = report;
    if (old != making->first[end])
        report_free(kind, old);
}

static void keep_reports(struct making *making, struct reports *reports)
{
    making->measured += !reports_none(reports);
    for (size_t i = 0; i < END_COUNT; i++) {
        if (reports->ends[i] != NULL)
            keep_report(making, i, reports->ends[i]);
        reports->ends[i] = NULL;
    }
}

static void add_case(struct making *making, size_t index, const struct reports *reports,
                     const char *error)
{
    struct case_result *result = list_append_sized(&making->run->cases, sizeof *result);

    if (reports_none(reports)) {
        joined_error(making->entry, (int64_t)index, error, result);
        return;
    }
    joined_case(reports, making->entry, result);
    /* What the controller saw while it waited explains more than that a report is missing. */
    if (!reports_both(reports) && error[0] != '\0')
        text_copy(result->error, sizeof result->error, error);
}

static bool is_complete(const struct run_entry *entry)
{
    return entry->outcome == RUN_COMPLETE && entry->finished[0] != '\0';
}

/* A case of which nothing is known at all may be one that it never came to. */
static enum status add(struct making *making, size_t index)
{
    const char *error = making->errors[index] != NULL ? making->errors[index] : "";
    struct reports reports;
    enum status status = reports_read(making->store, making->entry, (int64_t)index, &reports);

    if (status != STATUS_OK)
        return status;
    if (reports_none(&reports) && error[0] == '\0') {
        if (reports.unreadable == 0 && !is_complete(making->entry))
            return STATUS_OK;
        error = "there is no report that can be read";
    }
    if (making->entry->work.kind == WORK_CASES)
        add_case(making, index, &reports, error);
    else
        joined_session(&reports, making->entry, (int64_t)index, error, making->run);
    keep_reports(making, &reports);
    return STATUS_OK;
}

/* A host that has not reported anything. */
static void unknown_host(const struct making *making, enum end_role end, struct host *host)
{
    const struct run_entry *entry = making->entry;

    record_init(&host_record, host);
    host->role = end == END_SENDER ? HOST_SENDER : HOST_ECHO;
    text_copy(host->name, sizeof host->name, end == END_SENDER ? entry->from : entry->to);
    text_copy(host->os, sizeof host->os, "unknown");
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        map_add_text(&host->counters.unavailable, counter_names[i], "no report of this host came");
}

static void add_hosts(struct making *making)
{
    enum work_kind kind = making->entry->work.kind;

    for (size_t i = 0; i < END_COUNT; i++) {
        struct host *host = list_append_sized(&making->run->hosts, sizeof *host);

        if (making->first[i] == NULL) {
            unknown_host(making, (enum end_role)i, host);
            continue;
        }
        verdict_host((enum end_role)i, report_host(kind, making->first[i]),
                     report_host(kind, making->last[i]), host);
        if (host->clock_step_ns != NONE_INT)
            host->clock_step_ns = making->step_ns[i];
    }
}

static void add_head(struct making *making)
{
    const struct run_entry *entry = making->entry;
    struct run *run = making->run;
    char *const *words = entry->command.items;

    text_copy(run->schema, sizeof run->schema, RUN_SCHEMA);
    text_copy(run->id, sizeof run->id, entry->run);
    text_copy(run->tool.name, sizeof run->tool.name, "sonde");
    text_copy(run->tool.version, sizeof run->tool.version, SONDE_VERSION);
    text_copy(run->tool.source_sha256, sizeof run->tool.source_sha256, SONDE_SOURCE_SHA256);
    for (size_t i = 0; i < entry->command.count; i++)
        *(char **)list_append_sized(&run->command, sizeof(char *)) = copy_of(words[i]);
    text_copy(run->started, sizeof run->started, entry->started);
    if (entry->work.kind == WORK_CASES)
        plan_copy(&entry->work.plan, &run->plan);
    else
        mtu_plan_copy(&entry->work.mtu_plan, &run->mtu_plan);
}

/* While it runs, or where hosts' clocks differ, an end is taken that is not before the start. */
static void add_end(struct making *making)
{
    const struct run_entry *entry = making->entry;
    struct run *run = making->run;
    const char *finished = entry->finished[0] != '\0' ? entry->finished : making->finished;
    struct wall start, end;

    run->interrupted = !is_complete(entry);
    if (wall_parse(entry->started, &start) != STATUS_OK ||
        wall_parse(finished, &end) != STATUS_OK || end.ns < start.ns)
        finished = entry->started;
    text_copy(run->finished, sizeof run->finished, finished);
}

static void making_done(struct making *making)
{
    enum work_kind kind = making->entry->work.kind;

    for (size_t i = 0; i < END_COUNT; i++) {
        if (making->last[i] != making->first[i])
            report_free(kind, making->last[i]);
        report_free(kind, making->first[i]);
    }
    for (size_t i = 0; i < making->count; i++)
        free(making->errors[i]);
    free(making->errors);
}

enum status archive_of_run(struct store *store, const struct run_entry *entry, struct run *out_run,
                           struct fault *fault)
{
    size_t count = work_count(&entry->work);
    struct run run;
    struct making making = { .store = store, .entry = entry, .run = &run, .count = count };
    enum status status;

    making.errors = memory_new(count, sizeof *making.errors);
    run_init(&run, entry->work.kind == WORK_CASES ? RUN_PAIR : RUN_MTU);
    add_head(&making);
    status = read_errors(&making, fault);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = add(&making, i);
        if (status != STATUS_OK)
            (void)fault_set(fault, status, "case %zu of run %s cannot be read", i, entry->run);
    }
    if (status == STATUS_OK && making.measured == 0)
        status = fault_set(fault, STATUS_NOT_FOUND, "no case of run %s was measured%s%s",
                           entry->run, entry->reason[0] == '\0' ? "" : ": ", entry->reason);
    if (status == STATUS_OK) {
        add_hosts(&making);
        add_end(&making);
        *out_run = run;
    } else {
        run_done(&run);
    }
    making_done(&making);
    return status;
}
