/* A whole cluster in one process on virtual time: one hub on a real store, several agents' sessions
 * with tasks and spools of this harness, and operators, joined by queues of encoded messages. */
#ifndef SONDE_TESTS_CLUSTER_H
#define SONDE_TESTS_CLUSTER_H

#include "agent/sessions.h"
#include "controller/fleet/hub.h"
#include "tests/controller/fleet/temp_store.h"

enum { CLUSTER_AGENTS = 4, CLUSTER_CONNECTIONS = 512, CLUSTER_LOG = 1 << 18 };

#define CLUSTER_DELAY_NS NS_PER_MS /* of every message */

enum event_kind { EVENT_TO_HUB, EVENT_TO_CLIENT, EVENT_TASK, EVENT_DOWN, EVENT_CONNECT };

/* Bytes or a moment that something waits for. */
struct event {
    struct event *next;
    struct mono at;
    uint64_t order; /* of what is due at once, the first made is the first done */
    enum event_kind kind;
    uint64_t peer;           /* connection; of an EVENT_TASK its agent's number */
    char session[UUID_SIZE]; /* of a task */
    struct buf bytes;
};

struct spooled {
    char id[UUID_SIZE];
    char kind[32];
    struct bytes body;
    bool forgotten;
};

/* One end of a case or session, as a task has it. */
struct cluster_task {
    struct message_open open;     /* without its key */
    bool probes, answers, probed; /* in a path MTU session: has begun to, and has done it */
};

struct cluster_agent {
    struct cluster *cluster;
    size_t number;
    char name[NAME_SIZE], instance[UUID_SIZE];
    struct sessions *sessions;
    uint64_t peer;                   /* 0: not connected */
    bool dead;                       /* killed, and not started again */
    struct list tasks;               /* of struct cluster_task */
    struct list spool;               /* of struct spooled: what was ever put, in order */
    char refuse[64];                 /* a task refuses with this; "": it does not */
    bool refuse_v4;                  /* but of path MTU sessions those over IPv4 only */
    bool mute;                       /* its tasks answer nothing */
    char address_v6[ADDR_TEXT_SIZE]; /* that it tells beside its IPv4 one; "": none */
    bool no_v4;                      /* it tells none */
    int64_t path_mtu;                /* what it finds when it probes */
};

struct client {
    bool up, cut; /* cut: bytes go nowhere, and nobody is told for 30 s */
    bool reads;   /* an operator that takes what is sent to it */
    size_t agent; /* SIZE_MAX: an operator */
    struct identity identity;
    struct list received; /* of union message: an operator's */
    size_t pending;       /* bytes on their way to it */
};

struct cluster {
    struct temp_store store;
    struct hub *hub; /* NULL: killed */
    struct hub_rules rules;
    struct mono now;
    struct wall wall;
    struct event *events;
    uint64_t orders;
    uint32_t seed;
    struct admission *admission;
    struct cluster_agent agents[CLUSTER_AGENTS];
    size_t agent_count;
    struct client clients[CLUSTER_CONNECTIONS];
    uint64_t next_peer;
    int64_t results_made;
    char *log; /* a line for each message that was delivered */
    size_t logged;
};

/* Agents a, b, c, d, connected. */
struct cluster *cluster_new(size_t agents);
void cluster_free(struct cluster *cluster);

/* Lets time pass. */
void cluster_run(struct cluster *cluster, int64_t ns);

/* An operator's connection; what it sends; and the `nth` message of a type that it has received,
 * NULL when there are not that many. */
uint64_t cluster_operator(struct cluster *cluster, const char *name);
void cluster_send(struct cluster *cluster, uint64_t peer, const void *message);
const union message *cluster_received(const struct cluster *cluster, uint64_t peer,
                                      enum message_type type, size_t nth);
size_t cluster_count(const struct cluster *cluster, uint64_t peer, enum message_type type);

/* Asks for a run of `cases` cases (1 s, closed loop) from one agent to another. */
void cluster_ask(struct cluster *cluster, uint64_t peer, const char *from, const char *to,
                 size_t cases);

/* Asks for a run of path MTU, one flow, with this plan; it is freed. cluster_mtu_plan: both ways,
 * of the families that both hosts have. */
void cluster_ask_mtu(struct cluster *cluster, uint64_t peer, const char *from, const char *to,
                     struct mtu_plan *plan);
struct mtu_plan cluster_mtu_plan(void);

/* A frame of an agent that its sessions did not make. */
void cluster_say(struct cluster *cluster, size_t agent, const void *message);

/* Puts a result of the test's own into an agent's spool: this one, or one of `length` bytes; and
 * sends all that is there (again). */
void cluster_put(struct cluster *cluster, size_t agent, const struct message_result *result);
void cluster_result(struct cluster *cluster, size_t agent, const char *kind, size_t length);
void cluster_resend(struct cluster *cluster, size_t agent);

/* Faults. A cut is noticed by both sides after 30 s; a killed side loses what is not on disk. */
void cluster_cut(struct cluster *cluster, size_t agent);
void cluster_kill_agent(struct cluster *cluster, size_t agent);
void cluster_start_agent(struct cluster *cluster, size_t agent);
void cluster_kill_hub(struct cluster *cluster);
void cluster_start_hub(struct cluster *cluster);

/* The lines since the last call; borrowed until the next. */
const char *cluster_log(struct cluster *cluster);

/* Rows that a query of one number counts in the store. */
int64_t cluster_query(struct cluster *cluster, const char *sql);

/* Results in an agent's spool that are not yet forgotten. */
size_t cluster_spooled(const struct cluster *cluster, size_t agent);

/* --- between cluster.c and cluster_agent.c -------------------------------------------------- */

struct event *cluster_event(struct cluster *cluster, enum event_kind kind, uint64_t peer,
                            int64_t delay_ns);
void cluster_note(struct cluster *cluster, const char *who, const char *way, const void *message);
uint32_t cluster_random(struct cluster *cluster);
bool cluster_to_hub(struct cluster *cluster, uint64_t peer, const void *message);

void agent_new_life(struct cluster_agent *agent);
void agent_free(struct cluster_agent *agent);
void agent_end_life(struct cluster_agent *agent);
void agent_hello(struct cluster_agent *agent);
void agent_message(struct cluster_agent *agent, const union message *message);
void agent_task_event(struct cluster_agent *agent, const struct event *event);

/* --- between cluster_agent.c and cluster_mtu.c ---------------------------------------------- */

/* What a task will say after a while. */
void agent_later(struct cluster_agent *agent, const char *session, const void *message,
                 int64_t delay_ns);
void agent_say_phase(struct cluster_agent *agent, const char *session, enum message_type type,
                     enum phase_kind phase, int64_t delay_ns);

/* A report of this name as a result, and closed behind it. `report` has its id at `id`. */
void agent_say_report(struct cluster_agent *agent, const struct message_open *task,
                      const struct record *record, const void *report, const char *id);

/* Begin, end and close of a path MTU session. */
void agent_mtu_begin(struct cluster_agent *agent, struct cluster_task *task, enum phase_kind phase);
void agent_mtu_close(struct cluster_agent *agent, const struct cluster_task *task,
                     const char *reason);

#endif
