/* The inside of an end that probes a path: for path_mtu.c and its parts alone. */
#ifndef SONDE_PROBE_PATH_MTU_PART_H
#define SONDE_PROBE_PATH_MTU_PART_H

#include "agent/probe/mtu_came.h"
#include "agent/probe/path_mtu.h"

/* --- what a flow does: one stage after the other ---------------------------------------------- */

struct lane;

/* A datagram that a stage wants to be sent. */
struct mtu_ask {
    uint32_t number; /* within the stage's class */
    int64_t size;    /* of the IP packet */
    int hops;        /* 0: as the system likes */
};

/* An ICMP error, matched to what was sent; `sent` is NULL when it cannot be told. */
struct icmp_seen {
    enum error_kind kind;
    const struct addr *from;
    int64_t mtu;
    enum mtu_quote quote;
    const struct mtu_sent *sent;
};

/* One way to use a flow; all its state is in the flow. */
struct mtu_stage {
    enum mtu_class class;
    /* As search_next, search_deadline; and whether nothing is left to do or to wait for. */
    enum status (*next)(struct lane *flow, struct mono now, struct mtu_ask *out_ask);
    struct mono (*deadline)(const struct lane *flow);
    bool (*over)(const struct lane *flow);
    void (*answered)(struct lane *flow, uint32_t number, struct mono now);
    /* An answer to `number` says that it has come; may be NULL. */
    void (*told)(struct lane *flow, uint32_t number);
    /* It was not sent; `limit`: EMSGSIZE, and what would fit (0: not said); -1: another reason. */
    void (*refused)(struct lane *flow, uint32_t number, int64_t limit);
    void (*icmp)(struct lane *flow, const struct icmp_seen *icmp); /* may be NULL */
};

/* Repeats of what opens a flow. */
struct mtu_opening {
    int sent;
    struct mono next;
    int64_t pause_ns;
};

struct lane_fragments {
    struct path_mtu_fragments *result;
    bool over;
    int sent, small_sent; /* of this round; numbers count on */
    int rounds;
    uint32_t next;
    struct mono until; /* the answers are waited for */
};

struct mtu_tracer {
    struct path_mtu_trace *result;
    bool wanted, over;
    int hops;            /* that are asked about */
    bool large;          /* the larger size is */
    int tries;           /* of it */
    bool out;            /* one is under way: number - 1 */
    bool small_answered; /* at this hop */
    int silent, unheard; /* hops in a row: that answered the smaller size alone; not at all */
    uint32_t number;
    struct mono until;
};

struct lane_sizes; /* path_mtu_sizes.c */

struct lane {
    size_t index;
    int fd;                  /* the caller's own, or the listener's one */
    struct addr peer, local; /* local: of length 0 on a connected socket */
    enum family family;
    bool opened;
    struct mtu_ring ring;
    struct mtu_came came; /* of the other end's probes */
    struct mono due;      /* when its stage is to be asked again */
    int64_t local_limit;  /* what the system's own EMSGSIZE said last; 0: nothing */
    struct mtu_opening opening;
    struct search *search;
    struct mono began;
    int64_t received;             /* answers that count, of the search and of loss by size */
    struct path_mtu_flow *result; /* while it is probed */
    int64_t wait_ns;              /* for an answer, after the search */
    struct lane_fragments fragments;
    struct mtu_tracer tracer;
    struct lane_sizes *sizes; /* while loss by size is measured; NULL: not on this flow */
    uint32_t sizes_next;      /* its first number that was not used yet; 0: none was */
};

/* --- the end --------------------------------------------------------------------------------- */

struct path_mtu {
    struct path_mtu_order order;
    bool is_listener, icmp_told;
    enum family family;
    struct digest_key key;
    struct pattern pattern;
    struct mtu_speech speech;
    struct addr target; /* the caller's */
    int fd;             /* the listener's; -1 */
    uint16_t port;
    struct echo_end_place place;
    struct greeting greeting;
    struct hello hello;
    size_t hello_flow; /* that says the next one */
    int64_t no_port;   /* "port unreachable" while it said hello */
    struct lane *flows;
    size_t count;
    const struct mtu_stage *stage; /* NULL: flows do nothing */
    struct mono next_send;         /* the pace of all flows */
    int64_t pace;
    size_t turn; /* the flow whose turn it is to send */
    const struct path_mtu_plan *plan;
    struct path_mtu_answered answered;
    struct host host;
    uint8_t *room; /* for one datagram */
};

/* Bytes of IP and UDP header. */
int64_t mtu_headers(enum family family);

/* The largest IP packet that the protocol has, and that this end may send. */
int64_t mtu_largest(enum family family, const struct path_mtu_plan *plan);

/* --- path_mtu_io.c: datagrams in and out ------------------------------------------------------ */

/* Prepares a socket that is open: DF, errors, local addresses, word of fragments. */
enum status mtu_socket_prepare(struct path_mtu *end, int fd, struct fault *fault);

/* Sends what the end's stage asks of a flow. */
void mtu_send(struct path_mtu *end, struct lane *flow, const struct mtu_ask *ask, struct mono now);

/* Sends bytes of another kind on a flow (hellos); once more when an old error came in between. */
void mtu_send_bytes(struct path_mtu *end, struct lane *flow, const uint8_t *bytes, size_t length);

/* Takes all errors and datagrams that wait on a socket; `flow`: whose it is, NULL: the listener's.
 */
void mtu_hear(struct path_mtu *end, int fd, struct lane *flow);

/* --- path_mtu_loop.c ----------------------------------------------------------------------------
 */

/* What a loop is for, besides hearing and answering. */
struct mtu_loop {
    /* Sends what is due; returns when there is more. NULL: nothing. */
    struct mono (*turn)(struct path_mtu *end, struct mono now);
    bool (*over)(const struct path_mtu *end); /* NULL: never */
    struct mono until;                        /* the end in any case */
    bool until_woken;                         /* or until watch->wake_fd can be read */
};

/* STATUS_INTERRUPTED when watch->stop was set; STATUS_OK when over, woken, in time or
 * watch->finish. */
enum status mtu_loop_run(struct path_mtu *end, const struct mtu_loop *loop,
                         const struct phase_watch *watch, struct fault *fault);

/* Has all flows go through a stage. */
enum status mtu_stage_run(struct path_mtu *end, const struct mtu_stage *stage, struct mono until,
                          const struct phase_watch *watch, struct fault *fault);

/* Something happened to a flow: it is asked at once. */
void mtu_flow_wake(struct lane *flow);

/* --- stages ----------------------------------------------------------------------------------- */

extern const struct mtu_stage mtu_stage_open, mtu_stage_search, mtu_stage_fragments,
    mtu_stage_trace, mtu_stage_sizes;

/* Makes a flow's stage ready, when its search is over and its result filled; no packet is larger
 * than `largest`. */
void mtu_fragments_begin(struct lane *flow, int64_t largest);
void mtu_trace_begin(struct lane *flow);
void mtu_sizes_begin(struct lane *flow, const struct path_mtu_plan *plan);

/* When loss by size ends in any case. */
struct mono mtu_sizes_until(const struct lane *flow, const struct path_mtu_plan *plan);

/* Datagrams of loss by size, while it is measured. */
int64_t mtu_sizes_sent(const struct lane *flow);

/* Fills the result with what is known by now. */
void mtu_sizes_end(struct lane *flow);

#endif
