/* Private to hub.c and its parts: what a hub is made of. */
#ifndef SONDE_FLEET_HUB_PART_H
#define SONDE_FLEET_HUB_PART_H

#include "controller/fleet/hub.h"
#include "controller/fleet/measure.h"
#include "controller/fleet/peermap.h"

/* Jobs for the store, each a transaction, that are done in one go; others wait for their turn. */
enum { HUB_JOBS_AT_ONCE = 8 };
#define HUB_SOON_NS (5 * NS_PER_MS)

enum { HUB_ANSWERS_MAX = 8 }; /* answers in parts that one operator may have under way */

/* An answer that comes in parts, as fast as the operator reads. */
struct answer {
    struct answer *next;
    int64_t request;
    bool archive;         /* else: agents */
    size_t at;            /* place in the fleet, or byte of the text */
    struct buf text;      /* run.json */
    struct mono progress; /* when a part of it was last sent */
};

struct connection {
    uint64_t peer;
    enum identity_role role;
    char name[NAME_SIZE];
    char address[ADDR_TEXT_SIZE];
    bool greeted;               /* an agent that has said hello */
    bool refused;               /* and why was logged */
    bool turned_away;           /* a result of it could not be taken in */
    bool unreadable;            /* a report of it could not be read, and that was logged */
    char reason[REASON_SIZE];   /* why it went down */
    struct connection *buried;  /* the next one to be buried */
    struct answer *answers;     /* the first is being sent */
    struct connection *reading; /* the next one that an answer is sent to */
};

enum hub_run_state { HUB_RUN_WAITS, HUB_RUN_MEASURES, HUB_RUN_ENDS };

struct hub_run {
    struct hub *hub;
    enum hub_run_state state;
    struct run_entry entry;
    struct measure_addresses addresses;
    bool held;
    uint64_t watchers[2]; /* operators: who started it, and who stopped it; 0: none */
    struct measure *measure;
    bool *told; /* by index of the row: whoever watches has it */
};

/* Work for the store that a case or session needs: to join its reports, or to say that it has none.
 */
struct case_job {
    struct case_job *next;
    char run[UUID_SIZE];
    int64_t index;
    char reason[REASON_SIZE]; /* "": join */
};

struct hub {
    struct hub_rules rules;
    struct hub_port port;
    struct store *store;
    struct fleet *fleet;
    struct mono now; /* of the running call */
    unsigned depth;  /* of calls: a port may call back */

    struct peermap connections; /* of struct connection */
    struct connection *buried, *reading;

    struct hub_run **runs; /* in the order of their coming */
    size_t run_count;
    bool runs_changed; /* one may start or end */
    uint16_t next_ssid;
    bool stopping;

    struct case_job *jobs, **jobs_end;
    struct list acks;        /* of struct store_id: committed, told once their jobs are done */
    struct list turned_away; /* of uint64_t: connections */
    struct mono commit_at, retry_at, retain_at; /* INT64_MAX: not due */
    bool trouble;                               /* the store's, logged already */

    int64_t results; /* committed since `rate_from` */
    double rate;     /* of the interval before */
    struct mono rate_from;
};

/* --- hub.c ---------------------------------------------------------------------------------- */

struct connection *hub_connection(const struct hub *hub, uint64_t peer);

/* Sends; a connection that is gone is told of by its own event. */
void hub_send(struct hub *hub, uint64_t peer, const void *message);

/* The store could not do something now: logs it once, and looks again in HUB_RETRY_NS. False when
 * it will not help to try again; then it has been logged. */
bool hub_trouble(struct hub *hub, enum status status, const char *what, const struct fault *fault);

/* --- hub_results.c -------------------------------------------------------------------------- */

void hub_take_result(struct hub *hub, struct connection *connection,
                     const struct message_result *result);

/* Commits what is due, does jobs, tells agents. */
void hub_work_results(struct hub *hub);

/* --- hub_join.c ----------------------------------------------------------------------------- */

/* A job for a case, behind the others; `reason` "" to join. */
void hub_add_job(struct hub *hub, const char *run, int64_t index, const char *reason);

/* Does the first of them. False when the store is to be left alone for a while. */
bool hub_do_jobs(struct hub *hub, size_t at_once);

/* --- hub_runs.c ----------------------------------------------------------------------------- */

/* Takes over plan and command of a message that has been checked. */
enum status hub_add_run(struct hub *hub, struct message_run *order,
                        const struct measure_addresses *addresses, const struct connection *by,
                        struct fault *fault) must_check;

/* What the run that was just added waits for: another run, or "" when its hosts are its own now. */
const char *hub_waits_for(struct hub *hub);

struct hub_run *hub_find_run(const struct hub *hub, const char *run);

/* Both reports of a case are joined, and its rows stored. */
void hub_case_joined(struct hub *hub, const char *run, int64_t index);

/* The report of this end of a case is stored. */
void hub_case_reported(struct hub *hub, const char *run, enum end_role role, int64_t index);

void hub_stop_run(struct hub *hub, struct hub_run *run, const char *reason);
void hub_agent_message(struct hub *hub, const struct connection *agent,
                       const union message *message);
void hub_agent_away(struct hub *hub, const char *name, const char *reason);

/* Starts what can start, ends what is over. */
void hub_work_runs(struct hub *hub);
void hub_tick_runs(struct hub *hub);
struct mono hub_runs_deadline(const struct hub *hub);
void hub_free_runs(struct hub *hub);

/* --- hub_tell.c ----------------------------------------------------------------------------- */

/* A message to whoever watches the run; progress only to those who can keep up. */
void hub_tell(const struct hub_run *run, const void *message);
void hub_tell_progress(const struct hub_run *run, const struct message_run_progress *progress);
void hub_tell_moved(const struct hub_run *run, const struct message_run_moved *moved);

/* A case, or a direction of a session, has its row now: of two reports, or of what was seen here.
 * Told once, as what it first was. */
void hub_case_done(struct hub *hub, const struct case_row *row);
void hub_mtu_done(struct hub *hub, const struct mtu_row *row);

/* --- hub_order.c ---------------------------------------------------------------------------- */

/* Every reason to refuse a run. Fills in what it leaves open: families, and the addresses that are
 * asked. */
enum status hub_check_order(const struct hub *hub, struct message_run *order,
                            struct measure_addresses *out_addresses,
                            struct fault *fault) must_check;

/* --- hub_agent.c, hub_operator.c, hub_answers.c --------------------------------------------- */

void hub_agent_frame(struct hub *hub, struct connection *agent, const void *bytes, size_t length);
void hub_operator_frame(struct hub *hub, struct connection *operator_, const void *bytes,
                        size_t length);

void hub_answer_error(struct hub *hub, const struct connection *operator_, int64_t request,
                      const char *reason);
void hub_answer_agents(struct hub *hub, struct connection *operator_, int64_t request);
/* Takes what is in `text`. */
void hub_answer_archive(struct hub *hub, struct connection *operator_, int64_t request,
                        struct buf *text);
/* May this operator ask for one more answer in parts? Answers an error when not. */
bool hub_may_answer(struct hub *hub, const struct connection *operator_, int64_t request);
void hub_work_answers(struct hub *hub);
void hub_drop_answers(struct hub *hub, struct connection *operator_);

#endif
