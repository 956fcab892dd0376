/* A path MTU measurement between two hosts: what is asked for, what is found out about a flow, and
 * what an archive of kind "mtu" has (docs/archive.md). Sizes are IP packets, `udp_payload` stands
 * beside them. What one end reports of a session: mtu_report.h.
 *
 * A run has one session per family. In a session the sender role calls, the echo role listens, and
 * on the same flows (source ports of the caller) the phases "forward" and "reverse" follow: in the
 * one the sender's end probes and the echo's end answers, in the other the other way round. A case
 * of an archive is one flow in one direction of one family.
 */
#ifndef SONDE_WIRE_MTU_H
#define SONDE_WIRE_MTU_H

#include "proto/wire/result.h"

enum {
    MTU_FLOWS_MAX = 256,   /* of a session */
    MTU_ICMP_MAX = 16,     /* different messages that a flow keeps */
    MTU_SIZES_MAX = 256,   /* different sizes of loss by size */
    MTU_EVENTS_MAX = 1024, /* changes that a phase of watching keeps */
    MTU_BASE_IPV4 = 1200,  /* below these: below_base (RFC 8899 section 5.1.2, RFC 8200) */
    MTU_BASE_IPV6 = 1280
};

/* --- what is asked for ---------------------------------------------------------------------- */

enum mtu_ways { MTU_WAYS_FORWARD, MTU_WAYS_REVERSE, MTU_WAYS_BOTH, MTU_WAYS_COUNT };
extern const char *const mtu_ways_names[]; /* "forward", "reverse", "both" */

struct mtu_common {
    enum mtu_ways direction;
    int64_t flows;         /* source ports, 1 to MTU_FLOWS_MAX */
    int64_t floor;         /* 0: 576 (IPv4), 1,280 (IPv6) */
    int64_t ceiling;       /* 0: the MTU of the probing host's interface */
    int64_t tries, budget; /* of each flow's search: losses in a row at least; datagrams at most */
    int64_t pace;          /* bytes per second that all flows together never exceed */
    bool fragments;        /* do datagrams above the path MTU arrive without DF? */
    bool trace;            /* after which hop do larger ones vanish, where nobody says so? */
    int64_t sizes;         /* datagrams of loss by size, on the first flow, behind its search, from
                              the floor to what it found; 0: none */
    double watch_s; /* > 0: go on for so long, for changes; then no fragments, trace, sizes */
    double check_s; /* watching: how often the answer is asked again */
    double raise_s; /* watching: how often larger sizes are tried */
};

struct mtu_plan {
    struct list families; /* of int (enum family), each once; empty: those that both hosts have */
    struct mtu_common common;
};

struct mtu_params {
    enum family family;
    struct mtu_common common;
};

extern const struct record mtu_common_record;
extern const struct record mtu_plan_record;
extern const struct record mtu_params_record;

/* All defaults: both directions, one flow, 3 tries, 3,000 datagrams, 12,500,000 bytes/s, fragments
 * and trace, no sizes, no watching (check 1 s, raise 600 s), no family named. */
void mtu_plan_init(struct mtu_plan *out_plan);
void mtu_plan_copy(const struct mtu_plan *plan, struct mtu_plan *out_plan);

/* What ranges alone cannot say: floor above ceiling (of each family), sizes that no datagram of the
 * family has, a family twice, watching together with sizes. The fault begins with the flag's name
 * and says what is allowed. The plan has passed record_check. Without families: what neither could
 * do is refused, so it is checked again when they are known. */
enum status mtu_plan_check(const struct mtu_plan *plan, struct fault *fault) must_check;

/* Sessions of the plan, one per family named in it; session `index` of them. */
size_t mtu_plan_sessions(const struct mtu_plan *plan);
struct mtu_params mtu_plan_session(const struct mtu_plan *plan, size_t index);
bool mtu_params_equal(const struct mtu_params *a, const struct mtu_params *b);

/* The longest that one phase of the session can take, seconds: for whoever waits for its end (it is
 * generous, minutes where a second is usual: no measure of what is asked for). */
double mtu_phase_seconds(const struct mtu_params *params);

/* --- what one end finds out about one flow --------------------------------------------------- */

enum mtu_outcome {
    MTU_UNDECIDED,   /* cut off: path_mtu and next_size are what was known by then */
    MTU_FOUND,       /* proven, or the ceiling passed */
    MTU_BELOW_FLOOR, /* small datagrams pass, the floor does not */
    MTU_UNREACHABLE, /* small datagrams are not answered */
    MTU_UNSTABLE,    /* what passed stopped to pass, again and again */
    MTU_EXHAUSTED,   /* the budget was used up before the proof */
    MTU_OUTCOME_COUNT
};
extern const char *const mtu_outcome_names[]; /* "undecided", "found", "below_floor", ... */

enum mtu_limit {
    MTU_LIMIT_CEILING, /* nothing ended the sizes: the ceiling passed */
    MTU_LIMIT_LOCAL,   /* the probing host refuses the next size (EMSGSIZE) */
    MTU_LIMIT_PATH,    /* the next size vanishes on the path */
    MTU_LIMIT_COUNT
};
extern const char *const mtu_limit_names[]; /* "ceiling", "local", "path" */

enum mtu_arrive { MTU_UNTESTED, MTU_PASS, MTU_DROPPED, MTU_ARRIVE_COUNT };
extern const char *const mtu_arrive_names[]; /* "untested", "pass", "dropped" */

/* An ICMP "too big"; the same again is counted. */
struct mtu_icmp {
    char from[ADDR_TEXT_SIZE];
    int64_t mtu;
    bool accepted;   /* as a hint; it was then asked, and proven or not */
    char judged[48]; /* "accepted", "unknown datagram", ... */
    int64_t count;
};

/* Datagrams above the path MTU that may be cut on the way, and small ones between them. */
struct mtu_fragments {
    bool present;
    int64_t size; /* of the IP packet before it is cut */
    int64_t sent, arrived, small_sent, small_arrived;
};

/* Between which hops larger datagrams vanish, as far as hops answer at all. */
struct mtu_hops {
    bool present;
    int64_t passing, failing;   /* the two sizes */
    int64_t last_hop;           /* how far the larger one was heard of; 0: from nowhere */
    char last[ADDR_TEXT_SIZE];  /* who answered there; "" */
    int64_t first_hop;          /* the nearest hop that answered the smaller one alone; 0: none */
    char first[ADDR_TEXT_SIZE]; /* who; "" */
    bool first_is_peer;         /* it is the other end itself */
    int64_t sent, answered;
};

/* Of one size. */
struct mtu_size {
    int64_t payload; /* UDP, bytes */
    int64_t sent, lost;
};

/* Does loss change above some size? */
struct mtu_size_effect {
    bool present;
    bool found;          /* it does, at an error of 1 in 10,000 runs */
    int64_t threshold;   /* the largest IP packet before the change; NONE_INT: not found */
    int64_t least, most; /* 99 % bounds of it; NONE_INT: not found */
    int64_t sent, lost;  /* of all sizes */
    int64_t sent_below, lost_below; /* up to the threshold (not found: of all) */
    int64_t sent_above, lost_above; /* above it (not found: 0) */
    double low_below, high_below;   /* Wilson's 95 % interval of the loss, 0..1 */
    double low_above, high_above;   /* NAN: not found */
    double seconds;
};

struct mtu_flow {
    int64_t flow;        /* from 0 */
    int64_t source_port; /* the caller's, as the probing end sees it; NONE_INT: not known */
    enum mtu_outcome outcome;
    enum mtu_limit limit; /* of a path that was found */
    int64_t path_mtu;     /* largest acknowledged IP packet; NONE_INT: none from the floor up */
    int64_t next_size;    /* the next possible one, proven not to pass; NONE_INT: not proven */
    bool confirmed;       /* found, and both proven as measurement's definition asks */
    int64_t local_mtu;    /* of the probing host's interface, or of its route where that has more;
                             NONE_INT: not known */
    int64_t kernel_path_mtu; /* the kernel's cached one, at the end; NONE_INT */
    int64_t kernel_before;   /* and before */
    struct list icmp;        /* of struct mtu_icmp */
    int64_t icmp_missed;     /* messages that found no place in it */
    int64_t probes;          /* datagrams of the search in all */
    int64_t retries;         /* of them: a size that had been asked before */
    int64_t refused;         /* of them: not taken by this host's kernel */
    int64_t controls;        /* of them: small ones that measure the loss meanwhile */
    int64_t controls_lost;
    int64_t rtt_ns;      /* smoothed; NONE_INT: nobody answered */
    double seconds;      /* of the search */
    int64_t unreachable; /* ICMP "destination unreachable" of other kinds; the last of them: */
    char unreachable_kind[48]; /* "" */
    char unreachable_from[ADDR_TEXT_SIZE];
    int64_t odd_answers; /* authentic ones to nothing that was sent, or of another size */
    enum mtu_arrive fragments;
    struct mtu_fragments fragment_probes; /* null: untested */
    struct mtu_hops hops;                 /* null: not traced */
    struct mtu_size_effect size_effect;   /* null: loss by size was not asked for here */
    struct list loss_by_size;             /* of struct mtu_size, by size; empty likewise */
};

/* What came to the end that answers, in one phase. */
struct mtu_answered {
    bool present;
    bool fragments_told;  /* its system says which datagrams came in fragments */
    int64_t answered;     /* datagrams of all classes */
    int64_t in_fragments; /* probes that came in fragments and so were not answered */
    int64_t reassembled;  /* of those that may be cut: came in fragments, whole */
    int64_t damaged;      /* not as they were made */
    int64_t foreign;      /* not of this session, or of a host that has not agreed */
    int64_t largest;      /* IP packet that was answered; NONE_INT: none */
    int64_t refused;      /* answers that its kernel did not take */
};

/* What watching has noticed. */
enum mtu_change { MTU_CHANGE_KNOWN, MTU_CHANGE_CHANGED, MTU_CHANGE_UNREACHABLE, MTU_CHANGE_COUNT };
extern const char *const mtu_change_names[]; /* "known", "changed", "unreachable" */

struct mtu_event {
    int64_t flow;
    enum mtu_change change;
    int64_t from, to; /* NONE_INT: nothing was told before; unreachable */
    double after_s;   /* since the phase began */
};

extern const struct record mtu_flow_record;
extern const struct record mtu_event_record;
extern const struct record mtu_answered_record;

/* --- what an archive has --------------------------------------------------------------------- */

enum mtu_direction { MTU_FORWARD, MTU_REVERSE, MTU_DIRECTION_COUNT };
extern const char *const mtu_direction_names[]; /* "forward", "reverse" */

enum mtu_verdict {
    MTU_CLEAN,      /* the local interface's MTU (or the ceiling that was asked for) passes */
    MTU_SIGNALLED,  /* smaller, and ICMP said so */
    MTU_BLACK_HOLE, /* smaller, and nobody said so */
    MTU_LOSSY,      /* carried, but loses more above some size */
    MTU_BELOW_BASE, /* less than MTU_BASE_... gets through */
    MTU_NO_ANSWER,  /* unreachable */
    MTU_NO_VERDICT, /* undecided: cut off, unstable, or the budget used up */
    MTU_VERDICT_COUNT
};
extern const char *const mtu_verdict_names[]; /* "clean", ..., "unreachable", "undecided" */

struct mtu_case {
    int64_t index; /* in the archive */
    enum family family;
    enum mtu_direction direction;
    enum mtu_verdict verdict;
    char error[512];      /* of its session, for want of an answer; "" */
    int64_t udp_payload;  /* of path_mtu; NONE_INT without one */
    struct mtu_flow flow; /* inline: its fields stand in this object */
};

/* What the flows of one family have in common. */
struct mtu_session {
    enum family family;
    char error[512]; /* "" when both ends did all that they were asked for */
    char local[ADDR_TEXT_SIZE], peer[ADDR_TEXT_SIZE];
    struct agreement agreement;                             /* the caller's; null without any */
    struct mtu_answered answered_forward, answered_reverse; /* by the end that answers; null */
    struct list events_forward, events_reverse;             /* of struct mtu_event */
};

extern const struct record mtu_case_record;
extern const struct record mtu_session_record;

#endif
