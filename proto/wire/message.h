/* Messages of the control channel: one map per frame, its `type` first. docs/protocol.md is made
 * from these tables; when which of them may come is said at `message_kinds` and in the state
 * machines (agent/session.h, controller/fleet/measure.h).
 */
#ifndef SONDE_WIRE_MESSAGE_H
#define SONDE_WIRE_MESSAGE_H

#include "proto/base/buf.h"
#include "proto/wire/identity.h"
#include "proto/wire/mtu_report.h"

enum { PROTOCOL_VERSION = 1, REASON_SIZE = 512, SESSION_KEY_SIZE = 32, UUID_SIZE = 40 };

enum message_type {
    /* either side */
    MESSAGE_PING, /* proto/link sends and takes these two itself */
    MESSAGE_BYE,
    /* agent to controller */
    MESSAGE_HELLO,
    MESSAGE_STATUS,
    MESSAGE_OPENED,
    MESSAGE_REFUSED,
    MESSAGE_BEGUN,
    MESSAGE_PROGRESS,
    MESSAGE_MOVED,
    MESSAGE_ENDED,
    MESSAGE_CLOSED,
    MESSAGE_FAILED,
    MESSAGE_RESULT,
    /* controller to agent */
    MESSAGE_WELCOME,
    MESSAGE_OPEN,
    MESSAGE_BEGIN,
    MESSAGE_END,
    MESSAGE_CLOSE,
    MESSAGE_COMMITTED,
    /* operator to controller */
    MESSAGE_LIST_AGENTS,
    MESSAGE_RUN,
    MESSAGE_STOP,
    MESSAGE_LIST_RESULTS,
    MESSAGE_SHOW,
    /* controller to operator */
    MESSAGE_AGENTS,
    MESSAGE_ACCEPTED,
    MESSAGE_RUN_PROGRESS,
    MESSAGE_RUN_MOVED,
    MESSAGE_CASE_DONE,
    MESSAGE_MTU_DONE,
    MESSAGE_RUN_DONE,
    MESSAGE_RESULTS,
    MESSAGE_PART,
    MESSAGE_ERROR,
    MESSAGE_COUNT
};

extern const char *const message_names[]; /* "ping", "bye", "hello", ... */

/* What a session, and a run of them, measures. */
enum work_kind { WORK_CASES, WORK_MTU, WORK_KIND_COUNT };
extern const char *const work_kind_names[]; /* "pair", "mtu": as run_kind_names has them */

struct message_ping {
    enum message_type type;
};

/* The last frame before a side closes on purpose. */
struct message_bye {
    enum message_type type;
    char reason[REASON_SIZE];
};

/* --- agent to controller -------------------------------------------------------------------- */

struct spool_report {
    int64_t waiting; /* results not yet acknowledged */
    int64_t bytes;
    int64_t dropped; /* oldest ones dropped because the spool was full, ever */
};

/* The first message of an agent. Its name is its certificate's. */
struct message_hello {
    enum message_type type;
    int64_t protocol; /* PROTOCOL_VERSION */
    char version[32];
    char instance[UUID_SIZE]; /* of this process: tells a restart from a second host */
    char os[64], os_release[128], arch[64];
    struct clock_report clock;
    struct spool_report spool;
    struct list addresses; /* of char *: this host's global addresses, without ports */
    int64_t sessions_max;
};

/* Every 30 s. */
struct message_status {
    enum message_type type;
    struct clock_report clock;
    struct spool_report spool;
    int64_t sessions; /* open now */
};

/* The session stands. From the sender's end: the echo role has agreed. */
struct message_opened {
    enum message_type type;
    char session[UUID_SIZE];
    int64_t port; /* echo: UDP port; sender: 0 */
};

/* This host will not; nothing of the session is left here. */
struct message_refused {
    enum message_type type;
    char session[UUID_SIZE];
    char reason[REASON_SIZE]; /* which limit, what it is, what was asked for */
};

/* The end that answers is ready for the phase. */
struct message_begun {
    enum message_type type;
    char session[UUID_SIZE];
    enum phase_kind phase;
};

/* From the end that sends or probes, about twice a second. */
struct message_progress {
    enum message_type type;
    char session[UUID_SIZE];
    enum phase_kind phase;
    double elapsed_s;
    int64_t sent, received;
    /* Path MTU: the smallest answer so far (largest acknowledged size) and the smallest size that
     * is suspected or proven not to pass, over all flows; flows whose search has ended. NONE_INT
     * for none, and for cases. */
    int64_t low, high, flows_done;
};

/* Watching has noticed this, at the end that probes; told at once. */
struct message_moved {
    enum message_type type;
    char session[UUID_SIZE];
    enum phase_kind phase;
    struct mtu_event event;
};

/* The phase is over at this end. */
struct message_ended {
    enum message_type type;
    char session[UUID_SIZE];
    enum phase_kind phase;
};

/* Sockets are closed; the report is in the spool under this id (and follows as a result). */
struct message_closed {
    enum message_type type;
    char session[UUID_SIZE];
    char result[UUID_SIZE];
};

/* The session broke at this end and is closed; what it knows is in the spool under `result`, ""
 * when there is nothing. */
struct message_failed {
    enum message_type type;
    char session[UUID_SIZE];
    char result[UUID_SIZE];
    char reason[REASON_SIZE];
};

/* From the spool, oldest first. `body` is a report (report.h, mtu_report.h) as msgpack; the
 * controller stores what it is given and answers committed once it is durable. */
struct message_result {
    enum message_type type;
    char id[UUID_SIZE]; /* unique for ever: what makes a repeat change nothing */
    char kind[32];      /* "report" or "mtu_report" */
    struct bytes body;
};

/* --- controller to agent -------------------------------------------------------------------- */

struct message_welcome {
    enum message_type type;
    int64_t protocol;
    char version[32];
};

struct open_case {
    double idle_s; /* idle interval to listen to before the case, 0: none */
    struct case_params params;
};

struct open_mtu {
    struct mtu_params params;
};

/* Asks for one end of a case, or of a path MTU session. The echo's end answers once its socket is
 * open; the sender's end once the echo role has agreed. */
struct message_open {
    enum message_type type;
    char session[UUID_SIZE]; /* fresh */
    char run[UUID_SIZE];
    int64_t index; /* of the case in the run */
    enum end_role role;
    struct bytes key; /* SESSION_KEY_SIZE random bytes, fresh */
    int64_t ssid; /* hello: ssid; its confirmation: + 1; warm-up or forward: + 2; measure: + 3 */
    char target[ADDR_TEXT_SIZE]; /* sender: "10.9.2.2:7900", "[fe80::1%eth0]:7900"; echo: "" */
    enum work_kind kind;
    struct open_case of_case; /* inline, of WORK_CASES */
    struct open_mtu of_mtu;   /* inline, of WORK_MTU */
};

/* To the end that answers in this phase: be ready. To the other: send. */
struct message_begin {
    enum message_type type;
    char session[UUID_SIZE];
    enum phase_kind phase;
};

/* To the end that answers: the other has ended and drained. */
struct message_end {
    enum message_type type;
    char session[UUID_SIZE];
    enum phase_kind phase;
};

/* In any state: stop, report what there is. */
struct message_close {
    enum message_type type;
    char session[UUID_SIZE];
    char reason[REASON_SIZE]; /* "" at the regular end */
};

/* These results are durable here; the spool may forget them. */
struct message_committed {
    enum message_type type;
    struct list ids; /* of char * */
};

/* --- operator to controller; each answer carries the request's number ------------------------ */

struct message_list_agents {
    enum message_type type;
    int64_t request;
};

struct run_cases {
    struct plan plan;
};

struct run_mtu {
    struct mtu_plan plan;
};

struct message_run {
    enum message_type type;
    int64_t request;
    char from[NAME_SIZE], to[NAME_SIZE];
    char
        address[ADDR_TEXT_SIZE]; /* of `to`, without a port, with a zone of `from`; "": its first */
    enum work_kind kind;
    struct run_cases of_cases; /* inline, of WORK_CASES */
    struct run_mtu of_mtu;     /* inline, of WORK_MTU */
    struct list command;       /* of char *: argv, kept in the archive */
};

struct message_stop {
    enum message_type type;
    int64_t request;
    char run[UUID_SIZE];
};

/* Newest first; every filter may be absent. */
struct message_list_results {
    enum message_type type;
    int64_t request;
    char run[UUID_SIZE]; /* a prefix */
    char from[NAME_SIZE], to[NAME_SIZE];
    enum work_kind kind;
    int64_t status; /* enum case_status or NONE_INT */
    char since[32]; /* RFC 3339, run started at or after */
    char until[32];
    int64_t limit;  /* 1 to LIMIT_ROWS */
    int64_t before; /* rows older than this row number; NONE_INT: from the newest */
};

struct message_show {
    enum message_type type;
    int64_t request;
    char run[UUID_SIZE]; /* a prefix of at least 4 letters that names one run, or "latest" */
};

/* --- controller to operator ------------------------------------------------------------------ */

struct agent_row {
    char name[NAME_SIZE];
    bool connected;
    double last_seen_s;           /* how long ago */
    char address[ADDR_TEXT_SIZE]; /* where its connection comes from */
    char version[32];
    char os[64], os_release[128], arch[64];
    struct clock_report clock;
    struct spool_report spool;
    int64_t sessions;
    char busy_with[UUID_SIZE];              /* run */
    int64_t duplicates;                     /* other hosts that came with this identity */
    char duplicate_address[ADDR_TEXT_SIZE]; /* where the last of them came from */
    struct list addresses;
};

struct message_agents {
    enum message_type type;
    int64_t request;
    struct list agents; /* of struct agent_row */
    bool more;          /* further parts of the answer follow */
};

struct message_accepted {
    enum message_type type;
    int64_t request;
    char run[UUID_SIZE];
    int64_t cases;
    char waits_for[UUID_SIZE]; /* a run that holds one of the hosts; "" when it starts at once */
};

struct message_run_progress {
    enum message_type type;
    char run[UUID_SIZE];
    int64_t index;
    char state[32]; /* of controller/fleet/measure.h */
    enum phase_kind phase;
    double elapsed_s;
    int64_t sent, received;
    int64_t low, high, flows_done; /* as in struct message_progress */
};

/* One case, joined, and stored. */
struct case_row {
    int64_t row; /* number in the store, for `before` */
    char run[UUID_SIZE];
    char started[32];
    char from[NAME_SIZE], to[NAME_SIZE];
    struct case_params params;
    int64_t index;
    enum case_status status;
    char error[REASON_SIZE];
    int64_t sent, received; /* datagrams forward, echoes back; of the measure phase */
    int64_t forward_lost, reverse_lost;
    struct lost_to forward_lost_to, reverse_lost_to;
    double echoes_per_second;       /* NAN when the case failed */
    int64_t rtt_p50_ns, rtt_p99_ns; /* NONE_INT when unknown */
};

struct message_case_done {
    enum message_type type;
    struct case_row row;
};

/* One direction of one family, joined, and stored: all flows of it. */
struct mtu_row {
    int64_t row; /* number in the store, for `before` */
    char run[UUID_SIZE];
    char started[32];
    char from[NAME_SIZE], to[NAME_SIZE];
    int64_t index; /* 2 x session + direction */
    enum family family;
    enum mtu_direction direction;
    enum case_status status; /* pass: clean or signalled; fail: other verdicts; error: undecided */
    char error[REASON_SIZE];
    enum mtu_verdict verdict; /* of the flow with the smallest path MTU */
    int64_t flows;
    int64_t path_mtu;         /* the smallest; NONE_INT: none */
    int64_t largest;          /* the largest of the flows; NONE_INT: none */
    int64_t udp_payload;      /* of the smallest */
    int64_t local_mtu;        /* NONE_INT: not known */
    int64_t previous;         /* the smallest of the run before between these hosts, this family and
                                 direction, that had one; NONE_INT: there is none */
    int64_t threshold;        /* of verdict lossy; else NONE_INT */
    char groups[REASON_SIZE]; /* "1500", or "ports 40001-40012: 1500, port 40013: 1400" */
    char words[REASON_SIZE];  /* why (mtu_verdict.h) */
    int64_t probes;           /* of all flows */
    double seconds;           /* of the longest search */
    int64_t changes;          /* while watching */
};

struct message_mtu_done {
    enum message_type type;
    struct mtu_row row;
};

/* A change that watching has noticed. */
struct message_run_moved {
    enum message_type type;
    char run[UUID_SIZE];
    enum family family;
    enum mtu_direction direction;
    struct mtu_event event;
};

enum run_outcome { RUN_COMPLETE, RUN_STOPPED, RUN_FAILED, RUN_OUTCOME_COUNT };
extern const char *const run_outcome_names[]; /* "complete", "stopped", "failed" */

extern const struct record agent_row_record;
extern const struct record case_row_record;
extern const struct record mtu_row_record;

struct message_run_done {
    enum message_type type;
    char run[UUID_SIZE];
    enum run_outcome outcome;
    char reason[REASON_SIZE]; /* "" when complete */
};

struct message_results {
    enum message_type type;
    int64_t request;
    struct list rows;     /* of struct case_row; kind pair */
    struct list mtu_rows; /* of struct mtu_row; kind mtu */
    bool more;            /* there are older ones */
};

/* A piece of run.json (docs/archive.md), in order; the last has last = true. */
struct message_part {
    enum message_type type;
    int64_t request;
    int64_t offset, total;
    struct bytes data;
    bool last;
};

struct message_error {
    enum message_type type;
    int64_t request;
    char reason[REASON_SIZE];
};

/* ------------------------------------------------------------------------------------------- */

union message {
    enum message_type type; /* the first member of each */
    struct message_bye bye;
    struct message_hello hello;
    struct message_status status;
    struct message_opened opened;
    struct message_refused refused;
    struct message_begun begun;
    struct message_progress progress;
    struct message_moved moved;
    struct message_ended ended;
    struct message_closed closed;
    struct message_failed failed;
    struct message_result result;
    struct message_welcome welcome;
    struct message_open open;
    struct message_begin begin;
    struct message_end end;
    struct message_close close;
    struct message_committed committed;
    struct message_list_agents list_agents;
    struct message_run run;
    struct message_stop stop;
    struct message_list_results list_results;
    struct message_show show;
    struct message_agents agents;
    struct message_accepted accepted;
    struct message_run_progress run_progress;
    struct message_run_moved run_moved;
    struct message_case_done case_done;
    struct message_mtu_done mtu_done;
    struct message_run_done run_done;
    struct message_results results;
    struct message_part part;
    struct message_error error;
};

/* Who may send it to whom; ROLE_COUNT stands for either side. */
struct message_kind {
    const struct record *record;
    enum identity_role from, to;
    const char *help;
};

extern const struct message_kind message_kinds[MESSAGE_COUNT];

/* An empty message of this type: record_init and `type`. message_done frees what it holds. */
void message_init(void *out_message, enum message_type type);
void message_done(void *message);

/* Appends the msgpack form of any struct message_*. It must pass record_check. */
enum status message_put(const void *message, struct buf *out_bytes) must_check;

/* Who sent a frame to whom. */
struct message_way {
    enum identity_role from, to;
};

/* Reads one frame: form, type, the right of that role to send it, every field. On failure there is
 * nothing to free. */
enum status message_get(const void *bytes, size_t length, struct message_way way,
                        union message *out_message, struct fault *fault) must_check;

#endif
