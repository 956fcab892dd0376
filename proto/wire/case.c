/* Owns the plan: its table, what it allows and how it unfolds to cases. Knows no measuring. */
#include "proto/wire/case.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "proto/wire/stamp.h"

const char *const io_model_names[] = { "shared", "split" };
const char *const engine_names[] = { "single", "batch", "uring" };
const char *const family_names[] = { "ipv4", "ipv6" };

#define SECONDS_MIN 0.01

static const struct field case_common_fields[] = {
    { FIELD_AT(struct case_common, family), .type = FIELD_ENUM, .names = family_names,
      .name_count = FAMILY_COUNT, .help = "IP version" },
    { FIELD_AT(struct case_common, clients), .type = FIELD_INT, .min = 1, .max = LIMIT_CLIENTS,
      .help = "sender's sockets, each with its own source port" },
    { FIELD_AT(struct case_common, io_model), .type = FIELD_ENUM, .names = io_model_names,
      .name_count = IO_MODEL_COUNT,
      .help = "shared: the same threads serve echo role and clients; split: each has its own" },
    { FIELD_AT(struct case_common, io_threads), .type = FIELD_INT, .min = 1,
      .max = LIMIT_IO_THREADS, .help = "threads (of each role in the split model)" },
    { FIELD_AT(struct case_common, work_ns), .type = FIELD_INT, .min = 0, .max = LIMIT_WORK_NS,
      .help = "busy work of the echo role on each datagram, ns" },
    { FIELD_AT(struct case_common, warmup_s), .type = FIELD_REAL, .real_min = 0,
      .real_max = LIMIT_SECONDS, .help = "warm-up phase, seconds; 0 for none" },
    { FIELD_AT(struct case_common, seconds), .type = FIELD_REAL, .real_min = SECONDS_MIN,
      .real_max = LIMIT_SECONDS, .help = "measure phase, seconds" },
    { FIELD_AT(struct case_common, interval_ns), .type = FIELD_INT, .min = 0, .max = 3600000000000,
      .help = "0: closed loop; else each client sends its window once per interval, ns" },
    { FIELD_AT(struct case_common, rcvbuf), .type = FIELD_INT, .min = 1, .max = LIMIT_SOCKET_BUFFER,
      .help = "SO_RCVBUF to ask for, bytes" },
    { FIELD_AT(struct case_common, sndbuf), .type = FIELD_INT, .min = 1, .max = LIMIT_SOCKET_BUFFER,
      .help = "SO_SNDBUF to ask for, bytes" },
};

const struct record case_common_record = { .name = "case_common",
                                           .size = sizeof(struct case_common),
                                           .fields = case_common_fields,
                                           .count = RECORD_COUNT(case_common_fields) };

static const struct field plan_fields[] = {
    { FIELD_AT(struct plan, payloads), .type = FIELD_LIST, .of = FIELD_INT,
      .size = LIMIT_LIST_ITEMS, .min = STAMP_PLAIN_SIZE, .max = PAYLOAD_MAX_IPV6,
      .help = "UDP payloads, bytes" },
    { FIELD_AT(struct plan, windows), .type = FIELD_LIST, .of = FIELD_INT, .size = LIMIT_LIST_ITEMS,
      .min = 1, .max = LIMIT_WINDOW, .help = "datagrams that each client keeps outstanding" },
    { FIELD_AT(struct plan, repeats), .type = FIELD_INT, .min = 1, .max = LIMIT_REPEATS,
      .help = "how often each case is measured" },
    { FIELD_AT(struct plan, engines), .type = FIELD_LIST, .of = FIELD_ENUM, .size = ENGINE_COUNT,
      .names = engine_names, .name_count = ENGINE_COUNT,
      .help = "datagram I/O: one per system call, or many" },
    { FIELD_AT(struct plan, idle_s), .type = FIELD_REAL, .real_min = 0, .real_max = 3600,
      .help =
          "idle interval before the first case that measures the machine's own noise, seconds" },
    { FIELD_AT(struct plan, common), .type = FIELD_INLINE, .record = &case_common_record },
};

const struct record plan_record = { .name = "plan",
                                    .size = sizeof(struct plan),
                                    .fields = plan_fields,
                                    .count = RECORD_COUNT(plan_fields) };

static const struct field case_params_fields[] = {
    { FIELD_AT(struct case_params, payload), .type = FIELD_INT, .min = STAMP_PLAIN_SIZE,
      .max = PAYLOAD_MAX_IPV6, .help = "UDP payload, bytes" },
    { FIELD_AT(struct case_params, window), .type = FIELD_INT, .min = 1, .max = LIMIT_WINDOW,
      .help = "datagrams that each client keeps outstanding" },
    { FIELD_AT(struct case_params, repeat), .type = FIELD_INT, .min = 1, .max = LIMIT_REPEATS,
      .help = "which repeat, from 1" },
    { FIELD_AT(struct case_params, engine), .type = FIELD_ENUM, .names = engine_names,
      .name_count = ENGINE_COUNT, .help = "datagram I/O" },
    { FIELD_AT(struct case_params, common), .type = FIELD_INLINE, .record = &case_common_record },
};

const struct record case_params_record = { .name = "case_params",
                                           .size = sizeof(struct case_params),
                                           .fields = case_params_fields,
                                           .count = RECORD_COUNT(case_params_fields) };

static enum status check_payload(const struct plan *plan, int64_t payload, struct fault *fault)
{
    bool v4 = plan->common.family == FAMILY_IPV4;
    int64_t largest = v4 ? PAYLOAD_MAX_IPV4 : PAYLOAD_MAX_IPV6;

    if (payload >= 0 && payload <= largest && stamp_size_ok(STAMP_PLAIN, (size_t)payload))
        return STATUS_OK;
    return fault_set(fault, STATUS_RANGE,
                     "payload: %lld is not allowed: %d (a bare STAMP datagram), or %d to %lld (%s)",
                     (long long)payload, STAMP_PLAIN_SIZE, STAMP_PLAIN_SIZE + STAMP_TLV_HEADER_SIZE,
                     (long long)largest, family_names[plan->common.family]);
}

static int64_t item(const struct list *list, size_t index)
{
    assert(index < list->count);
    return ((const int64_t *)list->items)[index];
}

static enum status check_lists(const struct plan *plan, struct fault *fault)
{
    const char *missing = plan->payloads.count == 0  ? "payload"
                          : plan->windows.count == 0 ? "window"
                          : plan->engines.count == 0 ? "engine"
                                                     : NULL;

    if (missing != NULL)
        return fault_set(fault, STATUS_RANGE, "%s: at least one is needed", missing);
    if (plan_case_count(plan) > LIMIT_CASES)
        return fault_set(fault, STATUS_RANGE, "%zu cases are too many: at most %d are allowed",
                         plan_case_count(plan), LIMIT_CASES);
    return STATUS_OK;
}

static enum status check_engines_twice(const struct list *engines, struct fault *fault)
{
    const int *kinds = engines->items;

    for (size_t i = 0; i < engines->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (kinds[i] == kinds[k])
                return fault_set(fault, STATUS_RANGE, "engine: %s is there twice",
                                 engine_names[kinds[i]]);
        }
    }
    return STATUS_OK;
}

/* A cell that is there twice could not be told from its twin. */
static enum status check_twice(const struct list *list, const char *name, struct fault *fault)
{
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (item(list, i) == item(list, k))
                return fault_set(fault, STATUS_RANGE, "%s: %lld is there twice", name,
                                 (long long)item(list, i));
        }
    }
    return STATUS_OK;
}

enum status plan_check(const struct plan *plan, struct fault *fault)
{
    enum status status = check_lists(plan, fault);

    if (status == STATUS_OK)
        status = check_twice(&plan->payloads, "payload", fault);
    if (status == STATUS_OK)
        status = check_twice(&plan->windows, "window", fault);
    if (status == STATUS_OK)
        status = check_engines_twice(&plan->engines, fault);
    for (size_t i = 0; i < plan->payloads.count && status == STATUS_OK; i++)
        status = check_payload(plan, item(&plan->payloads, i), fault);
    for (size_t i = 0; i < plan->windows.count && status == STATUS_OK; i++) {
        if (item(&plan->windows, i) * plan->common.clients > LIMIT_OUTSTANDING)
            status = fault_set(fault, STATUS_RANGE,
                               "window: %lld x %lld clients are not allowed: at most %d datagrams "
                               "may be outstanding",
                               (long long)item(&plan->windows, i), (long long)plan->common.clients,
                               LIMIT_OUTSTANDING);
    }
    return status;
}

enum status plan_check_pair(const struct plan *plan, struct fault *fault)
{
    enum status status = plan_check(plan, fault);

    for (size_t i = 0; i < plan->payloads.count && status == STATUS_OK; i++) {
        if (!stamp_size_ok(STAMP_AUTHENTICATED, (size_t)item(&plan->payloads, i)))
            status = fault_set(fault, STATUS_RANGE,
                               "payload: %lld is not allowed between hosts: %d (a bare "
                               "authenticated STAMP datagram), or from %d up",
                               (long long)item(&plan->payloads, i), STAMP_AUTHENTICATED_SIZE,
                               STAMP_AUTHENTICATED_SIZE + STAMP_TLV_HEADER_SIZE);
    }
    if (status == STATUS_OK && plan->idle_s > LIMIT_PAIR_IDLE_S)
        status =
            fault_set(fault, STATUS_RANGE, "idle: %g s is not allowed between hosts: at most %g",
                      plan->idle_s, LIMIT_PAIR_IDLE_S);
    return status;
}

size_t plan_case_count(const struct plan *plan)
{
    return plan->payloads.count * plan->windows.count * plan->engines.count * (size_t)plan->repeats;
}

struct case_params plan_case(const struct plan *plan, size_t index)
{
    size_t windows = plan->windows.count;
    size_t cells = windows * plan->payloads.count;
    size_t repeats = (size_t)plan->repeats;

    assert(index < plan_case_count(plan));
    return (struct case_params){
        .window = item(&plan->windows, index % windows),
        .payload = item(&plan->payloads, index / windows % plan->payloads.count),
        .repeat = (int64_t)(index / cells % repeats) + 1,
        .engine = (enum engine_kind)((const int *)plan->engines.items)[index / (cells * repeats)],
        .common = plan->common,
    };
}

/* Not `==`: -Wfloat-equal is right elsewhere; these come from the same text. */
static bool same_real(double a, double b)
{
    return a <= b && a >= b;
}

bool case_params_equal(const struct case_params *a, const struct case_params *b)
{
    const struct case_common *x = &a->common, *y = &b->common;

    return a->payload == b->payload && a->window == b->window && a->repeat == b->repeat &&
           a->engine == b->engine && x->family == y->family && x->clients == y->clients &&
           x->io_model == y->io_model && x->io_threads == y->io_threads &&
           x->work_ns == y->work_ns && same_real(x->warmup_s, y->warmup_s) &&
           same_real(x->seconds, y->seconds) && x->interval_ns == y->interval_ns &&
           x->rcvbuf == y->rcvbuf && x->sndbuf == y->sndbuf;
}

static void copy_list(const struct list *list, size_t element_size, struct list *out_list)
{
    *out_list = (struct list){ 0 };
    for (size_t i = 0; i < list->count; i++)
        memcpy(list_append_sized(out_list, element_size),
               (const char *)list->items + i * element_size, element_size);
}

void plan_copy(const struct plan *plan, struct plan *out_plan)
{
    *out_plan = *plan;
    copy_list(&plan->payloads, sizeof(int64_t), &out_plan->payloads);
    copy_list(&plan->windows, sizeof(int64_t), &out_plan->windows);
    copy_list(&plan->engines, sizeof(int), &out_plan->engines);
}

double case_seconds(const struct case_params *params, double drain_s)
{
    const struct case_common *common = &params->common;
    double warmup = common->warmup_s > 0 ? common->warmup_s + drain_s : 0;

    return warmup + common->seconds + drain_s;
}
