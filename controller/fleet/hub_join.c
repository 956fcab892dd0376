/* Owns what comes of reports, and of cases without any: each job joins those of one case or
 * session, stores its rows and tells of them. Must not know how reports came into the store. */
#include <stdlib.h>
#include <string.h>

#include "controller/fleet/hub_part.h"
#include "controller/fleet/joined.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"

/* --- the queue -----------------------------------------------------------------------------------
 */

void hub_add_job(struct hub *hub, const char *run, int64_t index, const char *reason)
{
    struct case_job *job = memory_new(1, sizeof *job);

    text_copy(job->run, sizeof job->run, run);
    job->index = index;
    text_copy(job->reason, sizeof job->reason, reason);
    *hub->jobs_end = job;
    hub->jobs_end = &job->next;
}

static void drop_job(struct hub *hub)
{
    struct case_job *job = hub->jobs;

    hub->jobs = job->next;
    if (hub->jobs == NULL)
        hub->jobs_end = &hub->jobs;
    free(job);
}

/* --- cases of a plan ------------------------------------------------------------------------ */

static enum status keep_case(struct hub *hub, const struct run_entry *entry,
                             const struct case_result *result, struct fault *fault)
{
    struct case_row row;
    enum status status;

    joined_case_row(entry, result, &row);
    status = record_check(&case_row_record, &row, fault);
    if (status == STATUS_OK)
        status = store_case(hub->store, &row, fault);
    if (status == STATUS_OK)
        hub_case_done(hub, &row);
    return status;
}

/* Two reports, or what was seen here when no two say it better. */
static enum status keep_cases(struct hub *hub, const struct run_entry *entry,
                              const struct case_job *job, const struct reports *reports,
                              struct fault *fault)
{
    struct case_result result;
    enum status status;

    if (reports_both(reports))
        joined_case(reports, entry, &result);
    else
        joined_error(entry, job->index, job->reason, &result);
    status = keep_case(hub, entry, &result, fault);
    record_done(&case_result_record, &result);
    return status;
}

/* --- sessions of path MTU -------------------------------------------------------------------- */

static enum status keep_row(struct hub *hub, struct mtu_row *row, struct fault *fault)
{
    enum status status = record_check(&mtu_row_record, row, fault);

    if (status == STATUS_OK)
        status = store_mtu(hub->store, row, fault);
    if (status == STATUS_OK)
        hub_mtu_done(hub, row);
    return status;
}

/* What there is of two reports: one alone says what its end has found. */
static enum status keep_session(struct hub *hub, const struct run_entry *entry,
                                const struct case_job *job, const struct reports *reports,
                                struct fault *fault)
{
    struct work_phase phases[WORK_PHASES_MAX];
    size_t count = work_phases(&entry->work, job->index, phases);
    enum status status = STATUS_OK;
    struct mtu_row row;
    struct run joined;

    run_init(&joined, RUN_MTU);
    joined_session(reports, entry, job->index, job->reason, &joined);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        joined_mtu_row(entry, job->index, &joined,
                       phases[i].kind == PHASE_REVERSE ? MTU_REVERSE : MTU_FORWARD, &row);
        status = keep_row(hub, &row, fault);
    }
    run_done(&joined);
    return status;
}

/* --- jobs ----------------------------------------------------------------------------------- */

static void tell_measure(struct hub *hub, const struct case_job *job, const struct reports *reports)
{
    if (reports_both(reports))
        hub_case_joined(hub, job->run, job->index);
    for (size_t i = 0; i < END_COUNT; i++) {
        if (reports->ends[i] != NULL)
            hub_case_reported(hub, job->run, (enum end_role)i, job->index);
    }
}

/* What is to be kept of the reports that there are; nothing, while the other one may come. */
static enum status keep(struct hub *hub, const struct run_entry *entry, const struct case_job *job,
                        const struct reports *reports, struct fault *fault)
{
    if (reports_both(reports) || job->reason[0] != '\0')
        return entry->work.kind == WORK_CASES ? keep_cases(hub, entry, job, reports, fault)
                                              : keep_session(hub, entry, job, reports, fault);
    if (reports->unreadable != 0)
        return fault_set(fault, STATUS_INVALID, "a report of it is not of the right form");
    if (reports_none(reports))
        return fault_set(fault, STATUS_INVALID,
                         "a report of it came from an agent that has no part in the run, or is of "
                         "another kind");
    return STATUS_OK;
}

static enum status do_for_run(struct hub *hub, const struct run_entry *entry,
                              const struct case_job *job, struct fault *fault)
{
    struct reports reports;
    enum status status;

    if ((size_t)job->index >= work_count(&entry->work))
        return fault_set(fault, STATUS_RANGE, "a report is of case %lld, the plan has %zu",
                         (long long)job->index, work_count(&entry->work));
    status = reports_read(hub->store, entry, job->index, &reports);
    if (status != STATUS_OK)
        return fault_set(fault, status, "its reports cannot be read: %s", status_text(status));
    status = keep(hub, entry, job, &reports, fault);
    if (status == STATUS_OK)
        tell_measure(hub, job, &reports);
    reports_done(&reports);
    return status;
}

static enum status do_job(struct hub *hub, const struct case_job *job, struct fault *fault)
{
    const struct hub_run *run = hub_find_run(hub, job->run);
    struct run_entry entry;
    enum status status;

    if (run != NULL)
        return do_for_run(hub, &run->entry, job, fault);
    status = store_run(hub->store, job->run, &entry, fault);
    if (status != STATUS_OK)
        return status;
    /* What names a run is a report's word, and a prefix would do for the store. */
    if (strcmp(entry.run, job->run) == 0)
        status = do_for_run(hub, &entry, job, fault);
    else
        status = fault_set(fault, STATUS_NOT_FOUND, "there is no such run");
    record_done(&run_entry_record, &entry);
    return status;
}

bool hub_do_jobs(struct hub *hub, size_t at_once)
{
    for (; hub->jobs != NULL && at_once > 0; at_once--) {
        const struct case_job *job = hub->jobs;
        struct fault fault = { "" }, what = { "" };
        enum status status = do_job(hub, job, &fault);

        if (status != STATUS_OK) {
            (void)fault_set(&what, status, "case %lld of run %s is not joined",
                            (long long)job->index, job->run);
            if (hub_trouble(hub, status, what.text, &fault))
                return false;
        }
        drop_job(hub);
    }
    return true;
}
