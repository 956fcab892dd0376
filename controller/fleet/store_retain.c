/* Owns forgetting: what is older than the retention goes, a little at a time, so that whoever waits
 * for an answer meanwhile waits for a little only. */
#include "controller/fleet/store_query.h"

/* Rows of one call, and runs. */
enum { RETAIN_ROWS = 2000, RETAIN_RUNS = 100 };

/* What a call may still delete, and what it has. */
struct allowance {
    int64_t rows, runs, done;
};

static enum status delete_rows(struct store *store, enum statement which, const char *run,
                               struct allowance *allowance, struct fault *fault)
{
    struct query query = query_begin(store, which);
    enum status status;

    query_text(&query, 1, run);
    query_int(&query, 2, allowance->rows);
    status = query_run(&query, fault);
    if (status == STATUS_OK) {
        allowance->rows -= query_changes(store);
        allowance->done += query_changes(store);
    }
    return status;
}

/* The run itself goes last: what an interrupted deletion leaves is found again by it. */
static enum status delete_run(struct store *store, const char *run, struct allowance *allowance,
                              struct fault *fault)
{
    struct query query;
    enum status status = delete_rows(store, STATEMENT_DELETE_RESULTS, run, allowance, fault);

    if (status == STATUS_OK && allowance->rows > 0)
        status = delete_rows(store, STATEMENT_DELETE_CASES, run, allowance, fault);
    if (status != STATUS_OK || allowance->rows <= 0)
        return status;
    query = query_begin(store, STATEMENT_DELETE_RUN);
    query_text(&query, 1, run);
    allowance->runs--;
    allowance->done++;
    return query_run(&query, fault);
}

/* The run that ended first, before `until`; "" when there is none. */
static enum status oldest(struct store *store, struct wall until, char out_run[UUID_SIZE],
                          struct fault *fault)
{
    struct query query = query_begin(store, STATEMENT_OLD_RUNS);

    out_run[0] = '\0';
    query_int(&query, 1, until.ns);
    if (query_next(&query))
        query_get_text(&query, 0, out_run, UUID_SIZE);
    return query_end(&query, fault);
}

static enum status delete_runs(struct store *store, struct wall until, struct allowance *allowance,
                               struct fault *fault)
{
    char run[UUID_SIZE];
    enum status status = oldest(store, until, run, fault);

    while (status == STATUS_OK && run[0] != '\0' && allowance->rows > 0 && allowance->runs > 0) {
        status = delete_run(store, run, allowance, fault);
        if (status == STATUS_OK)
            status = oldest(store, until, run, fault);
    }
    return status;
}

/* Results of no run, or of one that is gone. */
static enum status delete_lone(struct store *store, struct wall until, struct allowance *allowance,
                               struct fault *fault)
{
    struct query query = query_begin(store, STATEMENT_DELETE_LONE_RESULTS);
    enum status status;

    query_int(&query, 1, until.ns);
    query_int(&query, 2, allowance->rows);
    status = query_run(&query, fault);
    if (status == STATUS_OK)
        allowance->done += query_changes(store);
    return status;
}

enum status store_retain(struct store *store, struct wall until, int64_t *out_count,
                         struct fault *fault)
{
    struct allowance allowance = { .rows = RETAIN_ROWS, .runs = RETAIN_RUNS };
    enum status status = store_begin(store, fault);

    if (status != STATUS_OK)
        return status;
    status = delete_runs(store, until, &allowance, fault);
    if (status == STATUS_OK && allowance.rows > 0)
        status = delete_lone(store, until, &allowance, fault);
    status = store_finish(store, status, fault);
    if (status == STATUS_OK)
        *out_count = allowance.done;
    return status;
}
