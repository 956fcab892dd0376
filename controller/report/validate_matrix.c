/* Owns the matrix: which cells a plan asks for and whether the cases are exactly those. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/report/validate_parts.h"

enum { CELL_TEXT_SIZE = 160 };

static void cell_format(const struct case_params *params, char out_text[CELL_TEXT_SIZE])
{
    snprintf(out_text, CELL_TEXT_SIZE,
             "payload %" PRId64 ", window %" PRId64 ", repeat %" PRId64 ", engine %s",
             params->payload, params->window, params->repeat, engine_names[params->engine]);
}

struct pair {
    const char *name;
    int64_t has, wants;
};

/* The parameters that all cases share, as the plan has them. */
static enum status check_common(const struct case_common *has, const struct case_common *wants,
                                const char *at, struct fault *fault)
{
    const struct pair pairs[] = {
        { "family", has->family, wants->family },
        { "clients", has->clients, wants->clients },
        { "io_model", has->io_model, wants->io_model },
        { "io_threads", has->io_threads, wants->io_threads },
        { "work_ns", has->work_ns, wants->work_ns },
        { "interval_ns", has->interval_ns, wants->interval_ns },
        { "rcvbuf", has->rcvbuf, wants->rcvbuf },
        { "sndbuf", has->sndbuf, wants->sndbuf },
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].has != pairs[i].wants)
            return fault_set(fault, STATUS_CORRUPT, "%s/%s: is not what the plan says", at,
                             pairs[i].name);
    }
    /* Not `!=`: both ends come from the same text, and -Wfloat-equal is right elsewhere. */
    if (has->warmup_s < wants->warmup_s || has->warmup_s > wants->warmup_s)
        return fault_set(fault, STATUS_CORRUPT, "%s/warmup_s: is not what the plan says", at);
    if (has->seconds < wants->seconds || has->seconds > wants->seconds)
        return fault_set(fault, STATUS_CORRUPT, "%s/seconds: is not what the plan says", at);
    return STATUS_OK;
}

static enum status check_params(const struct case_params *has, const struct case_params *wants,
                                const char *at, struct fault *fault)
{
    const struct pair pairs[] = {
        { "payload", has->payload, wants->payload },
        { "window", has->window, wants->window },
        { "repeat", has->repeat, wants->repeat },
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].has != pairs[i].wants)
            return fault_set(fault, STATUS_CORRUPT,
                             "%s/%s: %" PRId64 ", but the plan has %" PRId64 " at this index", at,
                             pairs[i].name, pairs[i].has, pairs[i].wants);
    }
    if (has->engine != wants->engine)
        return fault_set(fault, STATUS_CORRUPT, "%s/engine: %s, but the plan has %s at this index",
                         at, engine_names[has->engine], engine_names[wants->engine]);
    return check_common(&has->common, &wants->common, at, fault);
}

/* `seen` has a place for each cell of the plan: 1 + the position of the case that measured it. */
static enum status check_place(const struct run *run, size_t position, size_t *seen, size_t cells,
                               struct fault *fault)
{
    const struct case_result *result = (const struct case_result *)run->cases.items + position;
    struct case_params wants;
    char at[POINTER_SIZE], cell[CELL_TEXT_SIZE];

    snprintf(at, sizeof at, "/cases/%zu", position);
    if (result->index < 0 || (uint64_t)result->index >= cells)
        return fault_set(fault, STATUS_CORRUPT, "%s/index: %" PRId64 ", but the plan has %zu cases",
                         at, result->index, cells);
    wants = plan_case(&run->plan, (size_t)result->index);
    cell_format(&wants, cell);
    if (seen[result->index] != 0)
        return fault_set(fault, STATUS_CORRUPT, "%s: the same cell as /cases/%zu (%s)", at,
                         seen[result->index] - 1, cell);
    if (position > 0 && result[-1].index > result->index)
        return fault_set(fault, STATUS_CORRUPT, "%s/index: not in the order of the plan", at);
    seen[result->index] = position + 1;
    return check_params(&result->params, &wants, at, fault);
}

static enum status check_complete(const struct run *run, const size_t *seen, size_t cells,
                                  struct fault *fault)
{
    for (size_t i = 0; i < cells && !run->interrupted; i++) {
        if (seen[i] == 0) {
            struct case_params wants = plan_case(&run->plan, i);
            char cell[CELL_TEXT_SIZE];

            cell_format(&wants, cell);
            return fault_set(fault, STATUS_CORRUPT,
                             "/cases: case %zu is missing (%s) and the run was not interrupted", i,
                             cell);
        }
    }
    return STATUS_OK;
}

static enum status check_plan(const struct plan *plan, struct fault *fault)
{
    struct fault why = { "" };
    enum status status = plan_check(plan, &why);

    if (status != STATUS_OK)
        return fault_set(fault, STATUS_CORRUPT, "/plan: %s", why.text);
    return STATUS_OK;
}

enum status validate_matrix(const struct run *run, struct fault *fault)
{
    size_t cells;
    size_t *seen;
    enum status status = check_plan(&run->plan, fault);

    if (status != STATUS_OK)
        return status;
    cells = plan_case_count(&run->plan); /* 1 to LIMIT_CASES, says plan_check */
    seen = calloc(cells, sizeof *seen);
    if (seen == NULL)
        return fault_set(fault, STATUS_NO_RESOURCE, "/cases: out of memory");
    for (size_t i = 0; i < run->cases.count && status == STATUS_OK; i++)
        status = check_place(run, i, seen, cells, fault);
    if (status == STATUS_OK)
        status = check_complete(run, seen, cells, fault);
    free(seen);
    return status;
}
