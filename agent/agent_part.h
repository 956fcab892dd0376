/* The agent as its parts share it. */
#ifndef SONDE_AGENT_AGENT_PART_H
#define SONDE_AGENT_AGENT_PART_H

#include "agent/agent.h"
#include "agent/agent_tasks.h"
#include "agent/sessions.h"
#include "agent/spool.h"
#include "agent/uplink.h"
#include "proto/link/credentials.h"
#include "proto/link/notify.h"

struct agent {
    struct loop *loop;
    char config_path[4096];
    struct agent_config config;
    struct rules *rules;
    struct spool *spool;
    struct credentials credentials;
    struct uplink *uplink;
    struct sessions *sessions;
    struct tasks *tasks;
    struct notify notify;

    struct loop_timer retry;        /* of the sessions */
    struct loop_timer watchdog;     /* of systemd; not set when it asks for none */
    struct loop_timer certificates; /* whether the files have changed */
    struct loop_timer stopping;     /* until the tasks are ended by force */
    bool is_stopping;

    struct message_hello self;         /* what of it stays the same */
    char spool_fault[FAULT_TEXT_SIZE]; /* what was logged last, so that it is logged once */
};

/* --- agent_world.c: what sessions and uplink do to each other and to the spool --- */

struct sessions_port agent_sessions_port(struct agent *agent);
struct uplink_events agent_uplink_events(struct agent *agent);
tasks_handler agent_task_says;

/* After whatever may have changed what is due: sets the timers. */
void agent_settle(struct agent *agent, struct mono now);

/* Who this process is and where it runs. */
void agent_describe_self(struct agent *agent);

/* --- agent_files.c: certificates --- */

/* Reads the certificates anew; what is broken is logged and the old stay. */
void agent_read_certificates(struct agent *agent);

/* Reads them when they have changed; says when they are about to end. */
void agent_check_certificates(struct agent *agent);

#endif
