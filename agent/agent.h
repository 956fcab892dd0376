/* sonde-agent: joins uplink, sessions, tasks and spool on one loop. */
#ifndef SONDE_AGENT_AGENT_H
#define SONDE_AGENT_AGENT_H

#include "agent/config.h"
#include "proto/link/loop.h"

struct agent;

/* What was wrong at the start decides the exit code: configuration (2) or the rest (1). */
enum status agent_new(struct loop *loop, const char *config_path, struct agent **out_agent,
                      struct fault *fault) must_check;

/* Tells systemd, connects, serves. loop_run is the caller's. */
void agent_start(struct agent *agent, struct mono now);

/* Re-reads configuration and certificates; what is broken is logged and the old stays. */
void agent_reload(struct agent *agent, struct mono now);

/* Ends sessions, says bye, then stops the loop. */
void agent_stop(struct agent *agent, struct mono now);

void agent_free(struct agent *agent);

#endif
