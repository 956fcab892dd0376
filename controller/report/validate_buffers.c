/* Owns where the cases of a buffers run stand: each at its place in the plan, with the plan's
 * parameters. What a case says is checked in validate_experiment.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/report/validate_parts.h"

struct pair {
    const char *name;
    int64_t has, wants;
};

enum { PAIRS_MAX = 4 };

/* The parameters that an experiment's part repeats from the plan. */
static size_t pairs_of(const struct experiment_result *has, const struct experiment_result *wants,
                       struct pair pairs[PAIRS_MAX])
{
    switch (wants->experiment) {
    case EXPERIMENT_LADDER:
        pairs[0] = (struct pair){ "buffer", has->ladder.buffer, wants->ladder.buffer };
        pairs[1] = (struct pair){ "asked", has->ladder.asked, wants->ladder.asked };
        return 2;
    case EXPERIMENT_HOLD:
    case EXPERIMENT_SWEEP:
        pairs[0] = (struct pair){ "payload", has->hold.payload, wants->hold.payload };
        pairs[1] =
            (struct pair){ "rcvbuf/asked", has->hold.rcvbuf.asked, wants->hold.rcvbuf.asked };
        return 2;
    case EXPERIMENT_SLOW_READER:
        pairs[0] = (struct pair){ "payload", has->slow_reader.payload, wants->slow_reader.payload };
        pairs[1] = (struct pair){ "rcvbuf/asked", has->slow_reader.rcvbuf.asked,
                                  wants->slow_reader.rcvbuf.asked };
        pairs[2] = (struct pair){ "read_ns", has->slow_reader.read_ns, wants->slow_reader.read_ns };
        pairs[3] = (struct pair){ "interval_ns", has->slow_reader.interval_ns,
                                  wants->slow_reader.interval_ns };
        return 4;
    case EXPERIMENT_CLOSED_PORT:
    case EXPERIMENT_IDLE:
    case EXPERIMENT_COUNT:
        break;
    }
    return 0;
}

static enum status check_parameters(const struct experiment_result *has,
                                    const struct experiment_result *wants, const char *at,
                                    struct fault *fault)
{
    struct pair pairs[PAIRS_MAX];
    size_t count = pairs_of(has, wants, pairs);

    if (has->experiment != wants->experiment)
        return fault_set(fault, STATUS_CORRUPT,
                         "%s/experiment: %s, but the plan has %s at this index", at,
                         experiment_names[has->experiment], experiment_names[wants->experiment]);
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].has != pairs[i].wants)
            return fault_set(fault, STATUS_CORRUPT, "%s/%s: is not what the plan says", at,
                             pairs[i].name);
    }
    return STATUS_OK;
}

/* `seen` has a place for each case of the plan: 1 + the position of the one that measured it. */
static enum status check_place(const struct run *run, size_t position, size_t *seen, size_t count,
                               struct fault *fault)
{
    const struct experiment_result *result =
        (const struct experiment_result *)run->experiments.items + position;
    struct experiment_result wants;
    char at[POINTER_SIZE];
    enum status status;

    snprintf(at, sizeof at, "/cases/%zu", position);
    if ((uint64_t)result->index >= count)
        return fault_set(fault, STATUS_CORRUPT, "%s/index: %" PRId64 ", but the plan has %zu cases",
                         at, result->index, count);
    if (seen[result->index] != 0)
        return fault_set(fault, STATUS_CORRUPT, "%s: the same case as /cases/%zu", at,
                         seen[result->index] - 1);
    if (position > 0 && result[-1].index > result->index)
        return fault_set(fault, STATUS_CORRUPT, "%s/index: not in the order of the plan", at);
    seen[result->index] = position + 1;
    buffers_plan_case(&run->buffers_plan, (size_t)result->index, &wants);
    status = check_parameters(result, &wants, at, fault);
    record_done(&experiment_result_record, &wants);
    return status;
}

static enum status check_complete(const struct run *run, const size_t *seen, size_t count,
                                  struct fault *fault)
{
    struct experiment_result wants;

    for (size_t i = 0; i < count && !run->interrupted; i++) {
        if (seen[i] != 0)
            continue;
        buffers_plan_case(&run->buffers_plan, i, &wants);
        (void)fault_set(fault, STATUS_CORRUPT,
                        "/cases: case %zu is missing (%s) and the run was not interrupted", i,
                        experiment_names[wants.experiment]);
        record_done(&experiment_result_record, &wants);
        return STATUS_CORRUPT;
    }
    return STATUS_OK;
}

static enum status check_places(const struct run *run, struct fault *fault)
{
    size_t count = buffers_plan_case_count(&run->buffers_plan); /* 1 to LIMIT_CASES */
    size_t *seen = calloc(count, sizeof *seen);
    enum status status = STATUS_OK;

    if (seen == NULL)
        return fault_set(fault, STATUS_NO_RESOURCE, "/cases: out of memory");
    for (size_t i = 0; i < run->experiments.count && status == STATUS_OK; i++)
        status = check_place(run, i, seen, count, fault);
    if (status == STATUS_OK)
        status = check_complete(run, seen, count, fault);
    free(seen);
    return status;
}

enum status validate_buffers(const struct run *run, struct fault *fault)
{
    const struct experiment_result *results = run->experiments.items;
    struct fault why = { "" };
    enum status status = buffers_plan_check(&run->buffers_plan, &why);

    if (status != STATUS_OK)
        return fault_set(fault, STATUS_CORRUPT, "/plan: %s", why.text);
    status = check_places(run, fault);
    for (size_t i = 0; i < run->experiments.count && status == STATUS_OK; i++) {
        char at[POINTER_SIZE];

        snprintf(at, sizeof at, "/cases/%zu", i);
        status = validate_experiment(&run->buffers_plan, &results[i], at, fault);
    }
    return status;
}
