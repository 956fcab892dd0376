/* Owns how the bodies of stored results become reports again, and what reports of both kinds have
 * in common. Must not know how two of them are joined. */
#include "controller/fleet/reports.h"

#include <stdlib.h>

#include "proto/base/memory.h"
#include "proto/wire/record_msgpack.h"

static const struct form {
    const struct record *record;
    size_t host, finished; /* where they are */
} forms[WORK_KIND_COUNT] = {
    [WORK_CASES] = { &report_record, offsetof(struct report, host),
                     offsetof(struct report, finished) },
    [WORK_MTU] = { &mtu_report_record, offsetof(struct mtu_report, host),
                   offsetof(struct mtu_report, finished) },
};

const struct host *report_host(enum work_kind kind, const void *report)
{
    return (const struct host *)(const void *)((const char *)report + forms[kind].host);
}

const char *report_finished(enum work_kind kind, const void *report)
{
    return (const char *)report + forms[kind].finished;
}

void report_free(enum work_kind kind, void *report)
{
    record_done(forms[kind].record, report);
    free(report);
}

void reports_done(struct reports *reports)
{
    for (size_t i = 0; i < END_COUNT; i++) {
        report_free(reports->kind, reports->ends[i]);
        reports->ends[i] = NULL;
    }
}

bool reports_none(const struct reports *reports)
{
    return reports->ends[END_SENDER] == NULL && reports->ends[END_ECHO] == NULL;
}

bool reports_both(const struct reports *reports)
{
    return reports->ends[END_SENDER] != NULL && reports->ends[END_ECHO] != NULL;
}

/* STATUS_INVALID: it is there and no report. */
static enum status read_report(struct store *store, const struct form *form, const char *id,
                               void **out_report)
{
    struct buf body;
    void *report;
    enum status status;

    buf_init(&body, LIMIT_RESULT_BYTES);
    status = store_result(store, id, &body);
    if (status == STATUS_OK) {
        report = memory_new(1, form->record->size);
        if (record_from_msgpack(form->record, body.data, body.length, report, NULL) == STATUS_OK) {
            *out_report = report;
        } else {
            free(report);
            status = STATUS_INVALID;
        }
    }
    buf_done(&body);
    return status;
}

enum status reports_read(struct store *store, const struct run_entry *run, int64_t index,
                         struct reports *out_reports)
{
    struct reports reports = { .kind = run->work.kind };
    char ids[END_COUNT][UUID_SIZE];
    enum status status = store_case_reports(store, run->run, index, ids);

    for (size_t i = 0; i < END_COUNT && status == STATUS_OK; i++) {
        if (ids[i][0] == '\0')
            continue;
        status = read_report(store, &forms[reports.kind], ids[i], &reports.ends[i]);
        if (status != STATUS_INVALID)
            continue;
        reports.unreadable |= 1U << i;
        status = STATUS_OK;
    }
    if (status != STATUS_OK) {
        reports_done(&reports);
        return status;
    }
    *out_reports = reports;
    return STATUS_OK;
}
