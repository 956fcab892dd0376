/* Owns the --engine flag. Knows no run. */
#include "controller/command/engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/probe/engine.h"
#include "proto/base/text.h"

bool engines_here(enum engine_kind kind, struct fault *fault)
{
    return engine_find(kind, fault) != NULL;
}

bool engines_anywhere(enum engine_kind kind, struct fault *fault)
{
    if (kind != ENGINE_URING)
        return true;
    fault_set(fault, STATUS_UNSUPPORTED, "no agent has io_uring");
    return false;
}

static void choose(struct plan *plan, enum engine_kind kind)
{
    *(int *)list_append_sized(&plan->engines, sizeof(int)) = (int)kind;
}

static bool has(const struct plan *plan, enum engine_kind kind)
{
    for (size_t i = 0; i < plan->engines.count; i++) {
        if (((const int *)plan->engines.items)[i] == (int)kind)
            return true;
    }
    return false;
}

static enum status choose_named(struct plan *plan, const char *name, engines_check *check,
                                struct fault *fault)
{
    static const char *const candidates[] = { "single", "batch", "uring", "all", NULL };
    const char *nearest = text_nearest(name, candidates);

    for (int kind = 0; kind < ENGINE_COUNT; kind++) {
        if (strcmp(name, engine_names[kind]) != 0)
            continue;
        if (!check((enum engine_kind)kind, fault))
            return STATUS_UNSUPPORTED;
        if (has(plan, (enum engine_kind)kind))
            return fault_set(fault, STATUS_RANGE, "engine %s is there twice", name);
        choose(plan, (enum engine_kind)kind);
        return STATUS_OK;
    }
    return fault_set(fault, STATUS_RANGE,
                     "\"%s\" is not allowed: a list of single, batch, uring, or all%s%s%s", name,
                     nearest == NULL ? "" : "; did you mean ", nearest == NULL ? "" : nearest,
                     nearest == NULL ? "" : "?");
}

static void choose_all(struct plan *plan, engines_check *check)
{
    for (int kind = 0; kind < ENGINE_COUNT; kind++) {
        if (check((enum engine_kind)kind, NULL))
            choose(plan, (enum engine_kind)kind);
    }
}

enum status engines_choose(struct plan *plan, const char *text, engines_check *check,
                           struct fault *fault)
{
    enum status status = STATUS_OK;

    free(plan->engines.items);
    plan->engines = (struct list){ 0 };
    if (strcmp(text, "all") == 0) {
        choose_all(plan, check);
        return STATUS_OK;
    }
    while (status == STATUS_OK) {
        size_t length = strcspn(text, ",");
        char name[32];

        snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), text);
        status = choose_named(plan, name, check, fault);
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    return status;
}
