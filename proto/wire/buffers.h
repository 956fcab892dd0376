/* Experiments on a receive buffer: what to try, and what came out. The cases of runs of kind
 * "buffers" (docs/archive.md, docs/buffers.md). */
#ifndef SONDE_WIRE_BUFFERS_H
#define SONDE_WIRE_BUFFERS_H

#include "proto/wire/result.h"

enum experiment {
    EXPERIMENT_LADDER,      /* asked against granted */
    EXPERIMENT_HOLD,        /* what a socket holds that nobody reads, by payload */
    EXPERIMENT_SWEEP,       /* the same, by buffer */
    EXPERIMENT_SLOW_READER, /* a reader in another process that takes its time */
    EXPERIMENT_CLOSED_PORT, /* a port where nobody listens */
    EXPERIMENT_IDLE,        /* the machine's own noise */
    EXPERIMENT_COUNT
};

extern const char *const experiment_names[];

/* The parameters of all experiments; each uses what it needs. A buffer of 0 is the default of a
 * plain socket: it is not asked for. */
struct buffers_plan {
    struct list experiments; /* of int (enum experiment) */
    enum family family;
    struct list asked;         /* ladder: of int64_t, bytes */
    struct list payloads;      /* hold: of int64_t, bytes */
    int64_t hold_rcvbuf;       /* hold: bytes */
    int64_t sends;             /* hold, sweep: datagrams */
    int64_t sweep_payload;     /* sweep: bytes */
    struct list sweep_rcvbufs; /* sweep: of int64_t, bytes */
    int64_t slow_payload;      /* slow reader: bytes */
    int64_t slow_sends;        /* slow reader: datagrams */
    struct list read_ns;       /* slow reader: of int64_t, time for each datagram */
    struct list intervals_ns;  /* slow reader: of int64_t, 0 is full speed */
    struct list slow_rcvbufs;  /* slow reader: of int64_t, bytes */
    int64_t closed_port_sends; /* closed port: datagrams */
    double idle_s;             /* idle: seconds */
};

/* What the kernel counted as dropped for a full receive buffer meanwhile. */
struct dropped {
    int64_t socket; /* by this socket; NONE_INT where sockets do not count */
    int64_t system; /* by the whole system, other programs included; NONE_INT when not available */
};

struct system_count {
    int64_t system; /* by the whole system; NONE_INT when not available */
};

enum buffer_side { BUFFER_RCVBUF, BUFFER_SNDBUF, BUFFER_SIDE_COUNT };

struct ladder_result {
    enum buffer_side buffer;
    int64_t asked;            /* NONE_INT: the default, not asked */
    int64_t granted;          /* NONE_INT when the kernel refused */
    char limit[MAP_KEY_SIZE]; /* that capped it, "" when none did */
};

/* Of hold and sweep. held + dropped.socket = sent, exactly, where sockets count. */
struct hold_result {
    int64_t payload;
    struct grant rcvbuf; /* asked is 0 for the default */
    int64_t sent;
    struct refused refused;
    int64_t held;         /* datagrams that could be read afterwards */
    int64_t queued_bytes; /* charged for them; NONE_INT when not available */
    double
        bytes_per_datagram; /* queued_bytes / held, or granted / held; NAN when nothing is held */
    struct dropped dropped;
    int64_t predicted_held; /* by charge and rule, before anything was sent */
};

struct slow_reader_result {
    int64_t payload;
    struct grant rcvbuf;
    int64_t read_ns;
    int64_t interval_ns;
    double achieved_interval_ns; /* the sender's real pace: time of sending / (sent - 1) */
    double achieved_read_ns;     /* the reader's real time for each datagram */
    double sending_s;
    int64_t sent;
    struct refused refused;
    int64_t processed;       /* the reader's own count */
    int64_t lost;            /* sent - processed */
    double loss_ratio;       /* lost / sent */
    double model_loss_ratio; /* max(0, 1 - (held + read during sending) / sent) */
    struct dropped dropped;
    double first_drop_s; /* after the first send; NAN when nothing was dropped or nobody counts */
    struct list queue;   /* of double[2]: seconds after the first send, queued bytes */
    struct list drops;   /* of double[2]: seconds after the first send, drops of the socket */
};

struct closed_port_result {
    int64_t sent;
    struct refused refused;
    struct system_count no_socket;
    struct system_count receive_buffer;
};

/* A socket of this machine that dropped datagrams during the idle interval. */
struct drop_owner {
    int64_t port;
    int64_t drops;
    int64_t inode;
    char process[128]; /* "name (pid)", "" where it cannot be read */
};

struct idle_result {
    double seconds;
    struct counters delta;
    struct list owners; /* of struct drop_owner; largest first */
};

struct experiment_result {
    int64_t index;
    enum experiment experiment;
    char error[512]; /* "" when it was measured; else parts may be absent */
    struct ladder_result ladder;
    struct hold_result hold; /* of EXPERIMENT_HOLD and EXPERIMENT_SWEEP */
    struct slow_reader_result slow_reader;
    struct closed_port_result closed_port;
    struct idle_result idle;
};

extern const struct record buffers_plan_record;
extern const struct record experiment_result_record;

/* Checks what ranges alone cannot say: an experiment without its list, payloads above the
 * family's maximum, what is there twice, too many cases. The fault starts with the flag that asked
 * for it ("payload: ..."). The plan has passed record_check. */
enum status buffers_plan_check(const struct buffers_plan *plan, struct fault *fault) must_check;

/* How many cases a plan that has passed record_check unfolds to. */
size_t buffers_plan_case_count(const struct buffers_plan *plan);

/* Case `index` (0-based) of the plan, with its parameters and nothing measured: experiments in the
 * plan's order; ladder: SO_RCVBUF default and each asked, then SO_SNDBUF the same; hold: each
 * payload; sweep: each rcvbuf; slow reader: read times outermost, then intervals, then rcvbufs. The
 * caller's; record_done of experiment_result_record frees it. */
void buffers_plan_case(const struct buffers_plan *plan, size_t index,
                       struct experiment_result *out_result);

/* How many cases one experiment of the plan has, whether the plan wants it or not. */
size_t buffers_plan_experiment_count(const struct buffers_plan *plan, enum experiment experiment);

#endif
