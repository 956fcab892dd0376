/* Owns the life of one reading of the configuration that tasks share. */
#include "agent/agent_rules.h"

#include <assert.h>
#include <stdlib.h>

#include "proto/base/memory.h"

struct rules *rules_new(const struct agent_config *config)
{
    struct rules *rules = memory_new(1, sizeof *rules);

    rules->admission = admission_new(&config->admission);
    rules->echo = config->echo;
    rules->users = 1;
    return rules;
}

struct rules *rules_share(struct rules *rules)
{
    rules->users++;
    return rules;
}

void rules_drop(struct rules *rules)
{
    if (rules == NULL)
        return;
    assert(rules->users > 0);
    if (--rules->users > 0)
        return;
    admission_free(rules->admission);
    free(rules);
}
