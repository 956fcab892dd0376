/* What this host allows and where its echo role listens, as one reading of the configuration has
 * it: tasks keep theirs when a newer one comes. A part of agent. */
#ifndef SONDE_AGENT_AGENT_RULES_H
#define SONDE_AGENT_AGENT_RULES_H

#include "agent/admission.h"
#include "agent/config.h"

struct rules {
    struct admission *admission;
    struct echo_config echo;
    size_t users;
};

/* One user: the caller. */
struct rules *rules_new(const struct agent_config *config);

/* One user more; one less, and the last frees it. In the loop's thread. */
struct rules *rules_share(struct rules *rules);
void rules_drop(struct rules *rules);

#endif
