/* sonde-agent: joins uplink, sessions, tasks and spool on one loop. */
#ifndef SONDE_AGENT_AGENT_H
#define SONDE_AGENT_AGENT_H

#include "agent/config.h"
#include "proto/link/loop.h"

struct agent;

/* Reads the files and opens the spool; a controller that is away is no error. The caller frees it
 * before the loop. The log's level becomes the file's. */
enum status agent_new(struct loop *loop, const char *config_path, struct agent **out_agent,
                      struct fault *fault) must_check;

/* Tells systemd, connects, serves. loop_run is the caller's. */
void agent_start(struct agent *agent, struct mono now);

/* Re-reads configuration and certificates; what is broken is logged and the old stays. */
void agent_reload(struct agent *agent, struct mono now);

/* Ends sessions, says bye, then stops the loop; asked twice, sessions get no time for it. */
void agent_stop(struct agent *agent, struct mono now);

/* Also without agent_stop: tasks are then ended by force. NULL is allowed. */
void agent_free(struct agent *agent);

#endif
