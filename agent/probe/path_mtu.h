/* The real path MTU between two hosts, as one thread of each drives it: two ends, each of which can
 * probe the way to the other, and answers the other's probes.
 *
 * A session: one end listens, the other calls it; they agree (agreement.h) and the caller's flows,
 * one socket and source port each, are made known. Then
 *
 *     forward   path_mtu_probe by the caller, path_mtu_answer by the listener
 *     reverse   the other way round, on the same flows
 *
 * in any order, or both at once (an end that probes answers too; the one that is done first goes on
 * with path_mtu_answer). Each flow has a search of its own (search.h), all in one thread.
 *
 * What is on the wire: mtu_datagram.h. DF is set and read back before anything is sent. A size that
 * this host refuses (EMSGSIZE) is an answer. ICMP errors come from the error queue (error_queue.h),
 * are matched to a datagram by what they quote, judged by the search, and never believed without a
 * proof. The kernel's cached path MTU is not used, only told. Where the system says which datagrams
 * came in fragments (Linux), those are not answered; elsewhere the counters of reassembly tell.
 */
#ifndef SONDE_PROBE_PATH_MTU_H
#define SONDE_PROBE_PATH_MTU_H

#include "agent/host/error_queue.h"
#include "agent/probe/end.h"
#include "agent/probe/mtu_datagram.h"
#include "agent/probe/search.h"
#include "proto/wire/mtu.h"

enum { PATH_MTU_FLOWS = 256, PATH_MTU_ICMP = 16, PATH_MTU_HOPS = 30 };

/* A round of a search is up to 24 datagrams of up to 64 KiB; the system may grant less. */
enum { PATH_MTU_BUFFER = 4 << 20 };

/* What both ends are given; copied. */
struct path_mtu_order {
    uint8_t key[STAMP_KEY_SIZE];
    uint16_t ssid;  /* of PART_HELLO; three more follow */
    int64_t flows;  /* 1 to PATH_MTU_FLOWS */
    int64_t buffer; /* of each socket, either way, bytes to ask for; 0: PATH_MTU_BUFFER */
};

struct path_mtu;

/* --- the session ---------------------------------------------------------------------------- */

/* The caller's end: opens a socket for each flow, connected to `target`. Nothing is sent.
 * STATUS_UNSUPPORTED: DF cannot be set here. */
enum status path_mtu_call(const struct path_mtu_order *order, const struct addr *target,
                          struct path_mtu **out_end, struct fault *fault) must_check;

/* The listener's end: one socket; answers leave from the address that was asked. */
enum status path_mtu_listen(const struct path_mtu_order *order, const struct echo_end_place *place,
                            struct path_mtu **out_end, struct fault *fault) must_check;

void path_mtu_free(struct path_mtu *end);

/* The listener's. */
uint16_t path_mtu_port(const struct path_mtu *end);

/* The listener's: agrees with callers until wake_fd can be read or timeout_ns has passed. */
enum status path_mtu_wait(struct path_mtu *end, int wake_fd, int64_t timeout_ns,
                          struct fault *fault) must_check;

/* The caller's: says hello on one flow after the other until the listener has agreed, then makes
 * every flow known. A flow without an answer is no failure: its result says so.
 * STATUS_NOT_FOUND: nobody agreed; STATUS_INTERRUPTED: watch->stop was set. */
enum status path_mtu_agree(struct path_mtu *end, const struct phase_watch *watch,
                           struct fault *fault) must_check;

/* What came of the hellos so far. */
struct agreement path_mtu_agreement(const struct path_mtu *end);

/* Both addresses of the first flow that this end knows; of length 0 while they are unknown. */
void path_mtu_addresses(const struct path_mtu *end, struct addr *out_local, struct addr *out_peer);

/* --- probing -------------------------------------------------------------------------------- */

/* What is to be found out. */
struct path_mtu_plan {
    int64_t floor, ceiling; /* IP packet sizes; ceiling 0: the MTU of the local interface */
    int64_t most;           /* nothing larger is sent, whatever else is asked; 0: no such limit */
    int64_t guess;          /* asked first: what was found before; 0: none */
    int64_t tries, budget;  /* of search_config, for each flow */
    int64_t pace;           /* bytes per second, of all flows together */
    bool fragments;         /* then: do datagrams above the path MTU arrive without DF? */
    bool trace;             /* then: after which hop do larger ones vanish, if nobody says so? */
    int64_t sizes;          /* then: loss by size on the first flow, from the floor to what was
                               found, with so many datagrams (size_loss.h); 0: none. It ends
                               when nobody answers for 3 s, and at the latest after twice the time
                               that the pace takes and a minute */

    /* Watching: go on for so long when the answers are known (search.h); 0: do not. Nothing but
     * searching is done then. */
    double watch_s;
    int64_t check_ns, raise_ns;
    void (*changed)(void *context, size_t flow, const struct search_event *event); /* may be NULL */
    void *context;
};

/* Defaults: search_config_of(family) with ceiling 0; fragments and trace; not watching. */
struct path_mtu_plan path_mtu_plan_of(enum family family);

/* STATUS_RANGE: says which member and what is allowed. `local_mtu` stands in for a ceiling of 0. */
enum status path_mtu_check(const struct path_mtu_plan *plan, enum family family, int64_t local_mtu,
                           struct fault *fault) must_check;

/* An ICMP "too big" for a flow; the same again is counted. */
struct path_mtu_icmp {
    struct addr from;
    int64_t mtu;
    enum mtu_quote quote;
    enum search_ptb judged; /* SEARCH_PTB_UNKNOWN when the quote is foreign */
    int64_t count;
};

/* True when the search took it as a hint. */
bool path_mtu_icmp_accepted(const struct path_mtu_icmp *icmp);

enum path_mtu_arrive { PATH_MTU_UNTESTED, PATH_MTU_PASS, PATH_MTU_DROPPED };

/* Datagrams larger than the path MTU that may be cut, by routers (IPv4) or by this host (IPv6: to
 * the path MTU); and small ones between them. */
struct path_mtu_fragments {
    enum path_mtu_arrive arrive; /* DROPPED: none did, and not by the loss of small ones */
    int64_t size;                /* of the IP packet before it is cut; 0: there is no such size */
    int64_t sent, arrived, small_sent, small_arrived;
};

/* Between which hops larger datagrams vanish, as far as hops answer at all (they may not). */
struct path_mtu_trace {
    bool traced;
    int64_t passing, failing; /* the two sizes */
    int last_hops;            /* how far the larger one was heard of, 0: from nowhere */
    struct addr last;         /* who answered there */
    int first_hops;           /* the nearest hop that answered the smaller one alone; 0: none did */
    struct addr first;        /* who; the other end, port included, when it got there */
    bool first_is_peer;
    int64_t sent, answered;
};

/* The answer of one flow. */
struct path_mtu_flow {
    bool opened;         /* the listener knows it */
    int64_t source_port; /* the caller's, as this end sees it; NONE_INT: not known */
    struct addr local, peer;
    struct search_result search;
    double seconds;                /* of the search */
    int64_t local_mtu;             /* of the interface with `local`, or of the kernel's route where
                                      that has more; NONE_INT: not known */
    int64_t kernel_before, kernel; /* the kernel's own path MTU before, and after; NONE_INT */
    struct path_mtu_icmp icmp[PATH_MTU_ICMP];
    int64_t icmp_count, icmp_missed; /* entries; messages that found no place */
    int64_t unreachable;             /* "destination unreachable" of other kinds, and the last: */
    enum error_kind unreachable_kind;
    struct addr unreachable_from;
    int64_t odd_answers; /* authentic ones to nothing that was sent, or of another size */
    struct path_mtu_fragments fragments;
    struct path_mtu_trace trace;
    /* Not present: loss by size was not asked of this flow, or not begun. `sent` 0: there was
     * nothing to compare, as no path MTU was found or it is the floor. */
    struct mtu_size_effect size_effect;
    struct list loss_by_size; /* of struct mtu_size, the caller's to free (path_mtu_flows_done) */
};

/* Frees what the flows hold. */
void path_mtu_flows_done(struct path_mtu_flow *flows, size_t count);

/* Probes all flows; out_flows has room for order.flows. Only after an agreement. STATUS_INTERRUPTED
 * when watch->stop was set: then *out_flows is what is known so far. watch->finish ends watching.
 */
enum status path_mtu_probe(struct path_mtu *end, const struct path_mtu_plan *plan,
                           const struct phase_watch *watch, struct path_mtu_flow *out_flows,
                           struct fault *fault) must_check;

/* Of a flow that is being probed; from watch->tick. */
void path_mtu_progress(const struct path_mtu *end, size_t flow, struct search_result *out_result);

/* All flows together, from watch->tick: what a message "progress" tells. */
struct path_mtu_summary {
    int64_t sent, received; /* datagrams, of searches and of loss by size */
    int64_t low, high;      /* smallest answer so far, smallest size that does not pass; NONE_INT */
    int64_t flows_done;
};
void path_mtu_summarize(const struct path_mtu *end, struct path_mtu_summary *out_summary);

/* --- answering ------------------------------------------------------------------------------ */

/* Answers until watch->finish is set; watch->ready is called at the beginning. STATUS_INTERRUPTED
 * when watch->stop was set. */
enum status path_mtu_answer(struct path_mtu *end, const struct phase_watch *watch,
                            struct fault *fault) must_check;

/* What came to be answered, since the end was made. */
struct path_mtu_answered {
    bool fragments_told;     /* the system says which datagrams came in fragments */
    int64_t answered;        /* of all classes */
    int64_t in_fragments;    /* probes that were not answered for this */
    int64_t reassembled;     /* of the datagrams that may be cut: those that came in fragments */
    int64_t cut;             /* not as they were made */
    int64_t foreign;         /* not of this session, or of a host that has not agreed */
    int64_t largest;         /* payload that was answered */
    int64_t answers_refused; /* by this host's kernel */
};

void path_mtu_answered(const struct path_mtu *end, struct path_mtu_answered *out_answered);

/* This host with its counters from the beginning of the session to now, as an archive has it; the
 * reassembly counters are evidence of fragments. Fresh from record_init; the caller's. Once. */
enum status path_mtu_host(struct path_mtu *end, struct host *out_host,
                          struct fault *fault) must_check;

#endif
