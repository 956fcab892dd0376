/* Owns how a stored run becomes an archive: which reports and rows make which case and host. What
 * two reports say together is verdict's. */
#include "controller/fleet/archive_of.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/verdict.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/wire/record_msgpack.h"
#include "source_hash.h"

/* --- the reports of a case ------------------------------------------------------------------ */

void case_reports_done(struct case_reports *reports)
{
    for (size_t i = 0; i < END_COUNT; i++) {
        record_done(&report_record, reports->ends[i]);
        free(reports->ends[i]);
        reports->ends[i] = NULL;
    }
}

/* STATUS_INVALID: it is there and no report. */
static enum status read_report(struct store *store, const char *id, struct report **out_report)
{
    struct report *report;
    struct buf body;
    enum status status;

    buf_init(&body, LIMIT_RESULT_BYTES);
    status = store_result(store, id, &body);
    if (status == STATUS_OK) {
        report = memory_new(1, sizeof *report);
        if (record_from_msgpack(&report_record, body.data, body.length, report, NULL) !=
            STATUS_OK) {
            free(report);
            status = STATUS_INVALID;
        } else {
            *out_report = report;
        }
    }
    buf_done(&body);
    return status;
}

enum status case_reports_read(struct store *store, const char *run, int64_t index,
                              struct case_reports *out_reports, unsigned *out_unreadable)
{
    struct case_reports reports = { { NULL, NULL } };
    char ids[END_COUNT][UUID_SIZE];
    enum status status = store_case_reports(store, run, index, ids);
    unsigned unreadable = 0;

    for (size_t i = 0; i < END_COUNT && status == STATUS_OK; i++) {
        if (ids[i][0] == '\0')
            continue;
        status = read_report(store, ids[i], &reports.ends[i]);
        if (status != STATUS_INVALID)
            continue;
        unreadable |= 1U << i;
        status = STATUS_OK;
    }
    if (status != STATUS_OK) {
        case_reports_done(&reports);
        return status;
    }
    *out_reports = reports;
    *out_unreadable = unreadable;
    return STATUS_OK;
}

void case_reports_join(const struct case_reports *reports, const struct run_entry *entry,
                       struct case_result *out_result)
{
    struct case_params wanted;

    verdict_join(reports->ends[END_SENDER], reports->ends[END_ECHO], out_result);
    assert((size_t)out_result->index < plan_case_count(&entry->plan));
    wanted = plan_case(&entry->plan, (size_t)out_result->index);
    if (case_params_equal(&out_result->params, &wanted))
        return;
    out_result->params = wanted;
    out_result->status = CASE_ERROR;
    text_copy(out_result->error, sizeof out_result->error,
              "the reports are of other parameters than the plan has");
}

void archive_of_case(const struct run_entry *entry, const struct case_result *result,
                     struct case_row *out_row)
{
    const struct phase *measure = &result->phases.measure;

    record_init(&case_row_record, out_row);
    text_copy(out_row->run, sizeof out_row->run, entry->run);
    text_copy(out_row->started, sizeof out_row->started, entry->started);
    text_copy(out_row->from, sizeof out_row->from, entry->from);
    text_copy(out_row->to, sizeof out_row->to, entry->to);
    out_row->params = result->params;
    out_row->index = result->index;
    out_row->status = result->status;
    text_copy(out_row->error, sizeof out_row->error, result->error);
    if (!measure->present)
        return;
    out_row->sent = measure->forward.sent;
    out_row->received = measure->reverse.received;
    out_row->forward_lost = measure->forward.lost;
    out_row->reverse_lost = measure->reverse.lost;
    out_row->forward_lost_to = measure->forward.lost_to;
    out_row->reverse_lost_to = measure->reverse.lost_to;
    out_row->echoes_per_second = measure->echoes_per_second;
    if (!result->rtt_ns.present)
        return;
    out_row->rtt_p50_ns = result->rtt_ns.p50;
    out_row->rtt_p99_ns = result->rtt_ns.p99;
}

/* --- a run ---------------------------------------------------------------------------------- */

/* An archive while it is made. */
struct making {
    struct store *store;
    const struct run_entry *entry;
    struct run *run;
    char **errors; /* by index: what the store says of a case that could not be measured */
    size_t count;
    struct report *first[END_COUNT], *last[END_COUNT]; /* may be the same */
    char finished[32];                                 /* the latest end that a report tells */
    int64_t step_ns[END_COUNT]; /* the largest step of each host's wall clock */
    size_t measured;            /* cases with a report */
};

static char *copy_of(const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        abort();
    return copy;
}

static void note_errors(struct making *making, const struct message_results *results)
{
    const struct case_row *rows = results->rows.items;

    for (size_t i = 0; i < results->rows.count; i++) {
        char **place;

        if (rows[i].status != CASE_ERROR || (size_t)rows[i].index >= making->count)
            continue;
        place = &making->errors[rows[i].index];
        free(*place);
        *place = copy_of(rows[i].error);
    }
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
    query.limit = LIMIT_ROWS;
    while (more) {
        message_init(&results, MESSAGE_RESULTS);
        status = store_cases(making->store, &query, &results, fault);
        if (status != STATUS_OK)
            return status;
        note_errors(making, &results);
        more = results.more && results.rows.count > 0;
        if (more)
            query.before =
                ((const struct case_row *)results.rows.items)[results.rows.count - 1].row;
        message_done(&results);
    }
    return STATUS_OK;
}

/* Keeps the first and the last report of an end; the others are freed with their case. */
static void keep_report(struct making *making, size_t end, struct report **report)
{
    struct report *old = making->last[end];
    int64_t step_ns = (*report)->host.clock_step_ns;

    if (step_ns != NONE_INT && llabs(step_ns) > llabs(making->step_ns[end]))
        making->step_ns[end] = step_ns;
    if (strcmp((*report)->finished, making->finished) > 0)
        text_copy(making->finished, sizeof making->finished, (*report)->finished);
    if (making->first[end] == NULL)
        making->first[end] = *report;
    making->last[end] = *report;
    *report = NULL;
    if (old != NULL && old != making->first[end]) {
        record_done(&report_record, old);
        free(old);
    }
}

static void add_error(struct making *making, size_t index, const char *error)
{
    struct case_result *result = list_append_sized(&making->run->cases, sizeof *result);

    record_init(&case_result_record, result);
    result->index = (int64_t)index;
    result->params = plan_case(&making->entry->plan, index);
    result->status = CASE_ERROR;
    text_copy(result->error, sizeof result->error, error);
}

/* What the controller saw while it waited explains more than that a report is missing. */
static void prefer_error(const struct making *making, const struct case_reports *reports,
                         struct case_result *result)
{
    const char *error = making->errors[result->index];

    if (error != NULL && (reports->ends[END_SENDER] == NULL || reports->ends[END_ECHO] == NULL))
        text_copy(result->error, sizeof result->error, error);
}

static bool is_complete(const struct run_entry *entry)
{
    return entry->outcome == RUN_COMPLETE && entry->finished[0] != '\0';
}

static enum status add_case(struct making *making, size_t index)
{
    struct case_reports reports = { { NULL, NULL } };
    struct case_result *result;
    unsigned unreadable = 0;
    enum status status =
        case_reports_read(making->store, making->entry->run, (int64_t)index, &reports, &unreadable);

    if (status != STATUS_OK)
        return status;
    if (reports.ends[END_SENDER] == NULL && reports.ends[END_ECHO] == NULL) {
        if (making->errors[index] != NULL)
            add_error(making, index, making->errors[index]);
        else if (unreadable != 0 || is_complete(making->entry))
            add_error(making, index, "there is no report that can be read");
        return STATUS_OK;
    }
    making->measured++;
    result = list_append_sized(&making->run->cases, sizeof *result);
    case_reports_join(&reports, making->entry, result);
    prefer_error(making, &reports, result);
    for (size_t i = 0; i < END_COUNT; i++) {
        if (reports.ends[i] != NULL)
            keep_report(making, i, &reports.ends[i]);
    }
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
    for (size_t i = 0; i < END_COUNT; i++) {
        struct host *host = list_append_sized(&making->run->hosts, sizeof *host);

        if (making->first[i] == NULL)
            unknown_host(making, (enum end_role)i, host);
        else
            verdict_host(making->first[i], making->last[i], host);
        if (making->first[i] != NULL && host->clock_step_ns != NONE_INT)
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
    plan_copy(&entry->plan, &run->plan);
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
    for (size_t i = 0; i < END_COUNT; i++) {
        if (making->last[i] != making->first[i]) {
            record_done(&report_record, making->last[i]);
            free(making->last[i]);
        }
        record_done(&report_record, making->first[i]);
        free(making->first[i]);
    }
    for (size_t i = 0; i < making->count; i++)
        free(making->errors[i]);
    free(making->errors);
}

enum status archive_of_run(struct store *store, const struct run_entry *entry, struct run *out_run,
                           struct fault *fault)
{
    size_t count = plan_case_count(&entry->plan);
    struct run run;
    struct making making = { .store = store, .entry = entry, .run = &run, .count = count };
    enum status status;

    making.errors = memory_new(count, sizeof *making.errors);
    run_init(&run, RUN_PAIR);
    add_head(&making);
    status = read_errors(&making, fault);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = add_case(&making, i);
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
