/* The search for a path MTU (RFC 8899) as a pure machine: one flow, one direction, one family.
 * Times and events go in; datagrams to send and the next deadline come out. No I/O, no clock.
 *
 * The caller's protocol, for one machine:
 *
 *     search_new
 *     loop:  while (search_next(...) == STATUS_OK)  send a datagram of ask.size, DF set, that
 *                carries ask.id
 *            wait until search_deadline or for an event, hand in each event, and again
 *     until search_state is SEARCH_ENDED (or, watching, for ever); search_event after each turn
 *
 * Events: search_acked (the far end says that it received that id, whole and in that size: the
 * caller checks both, and that no fragment was involved), search_too_big (EMSGSIZE here),
 * search_unsent (any other refusal), search_ptb (an ICMP error). All acknowledgements that have
 * come are handed in before search_next is called with a later time; one that comes when its
 * datagram was given up already still counts as the proof that it is.
 *
 * Sizes are those of IP packets. Sizes that no datagram can have (payloads of 113..115 bytes in
 * authenticated STAMP) are named in the configuration and stepped over; between the others the
 * answer is exact.
 *
 * How it searches. A few small datagrams find whether anybody answers and how fast. Then each
 * round asks about SEARCH_ROUND_SIZES sizes between what is proven and what is suspected not to
 * pass: what a hint says, the MTUs that people have, and even steps. A size that was not
 * acknowledged (once; more often, when such suspicions have been wrong on this path) is suspected:
 * the lowest suspect is asked again in every round, the others until each has had its tries. When
 * nothing is left between the largest proven size and the lowest suspect, rounds of confirmation
 * ask both, and small datagrams between them.
 *
 * When a size is lost. Never by a count alone: n tries in a row must be lost while, of m small
 * datagrams sent in between, only k were lost, such that for a size which suffers the loss of small
 * datagrams, whatever it is, this has a chance below SEARCH_CHANCE (Fisher's exact test, which for
 * n of n lost is the product over i = 1..n of (k + i) / (m + i)): 12 tries and 12 small ones
 * without loss, about 20 and 20 at a loss of 36 %. SEARCH_CHANCE is a hundredth of the 1 in 10,000
 * that is promised, because the rule is asked after each round. What EMSGSIZE refuses three
 * times in a row is lost at once (once may be the late error of an earlier datagram).
 *
 * RFC 8899's states: DISABLED is SEARCH_HELLO, BASE and SEARCHING are SEARCH_NARROWING and
 * SEARCH_CONFIRMING, SEARCH_COMPLETE is SEARCH_WATCHING, ERROR is an outcome below what the caller
 * takes as base. Its PROBE_TIMER of a second and more is replaced by max(SEARCH_TIMER_MIN_NS,
 * srtt + 4 rttvar, 2 x the largest recent RTT), at most SEARCH_TIMER_MAX_NS.
 *
 * Bounds. A search sends at most `budget` datagrams, in rounds of at most SEARCH_ROUND_MAX;
 * a machine has a fixed size (about 16 KiB) and at most 512 datagrams outstanding (SEARCH_ROUND_MAX
 * unless hints cut rounds short). Rounds that nobody answers are spaced by up to SEARCH_SILENCE_NS.
 * A path that stops answering ends the search after SEARCH_DEAD_TRIES small datagrams,
 * SEARCH_DEAD_ROUNDS rounds and SEARCH_DEAD_NS without any.
 */
#ifndef SONDE_PROBE_SEARCH_H
#define SONDE_PROBE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/addr.h"
#include "proto/base/clock.h"

#define SEARCH_CHANCE       1e-6
#define SEARCH_TIMER_MIN_NS (30 * NS_PER_MS)
#define SEARCH_TIMER_MAX_NS (10 * NS_PER_S)
#define SEARCH_HELLO_NS     (250 * NS_PER_MS) /* between hellos that nobody answers */
#define SEARCH_SILENCE_NS   (500 * NS_PER_MS)
#define SEARCH_DEAD_NS      (3 * NS_PER_S)

enum {
    SEARCH_TRIES_MIN = 3, /* RFC 8899's MAX_PROBES */
    SEARCH_ROUND_SIZES = 8,
    SEARCH_ROUND_MAX = 24,
    SEARCH_DEAD_TRIES = 20,
    SEARCH_DEAD_ROUNDS = 12,
    SEARCH_HURRIES = 8,         /* hints that cut a round short, in one search */
    SEARCH_RESTARTS = 3,        /* how often a path may change under a search */
    SEARCH_BUDGET_MIN = 100,    /* datagrams of one search */
    SEARCH_BUDGET = 3000,       /* the default */
    SEARCH_PACE = 12500 * 1000, /* the default: bytes per second, 100 Mbit/s */
    SEARCH_EVENTS = 8           /* that wait to be read; the oldest is dropped */
};

struct search_config {
    enum family family;          /* for the smallest MTU that an ICMP error may name */
    int64_t floor, ceiling;      /* the answer is looked for from .. to; floor <= ceiling */
    int64_t control;             /* the size of small datagrams, at most `floor` */
    int64_t gap_first, gap_last; /* no datagram has one of these sizes; 0, 0: no gap */
    int64_t guess;               /* as a hint: asked first; 0: none */
    int64_t tries;               /* in a row that must be lost at least */
    int64_t budget;              /* datagrams of one search */
    int64_t pace;                /* bytes per second that are never exceeded */
    uint64_t seed;               /* of the order in a round, and of waits */
    bool watch;                  /* go on when the answer is known; what ends without one begins
                                  * anew after check_ns */
    int64_t check_ns;            /* watching: how often the answer is asked again */
    int64_t raise_ns;            /* watching: how often larger sizes are tried (RFC 8899: 600 s) */
};

/* Defaults: from 576 (IPv4) or 1280 (IPv6) to 1500, small datagrams and gap of authenticated STAMP,
 * SEARCH_TRIES_MIN, SEARCH_BUDGET, SEARCH_PACE, no watch (1 s, 600 s). */
struct search_config search_config_of(enum family family);

/* STATUS_RANGE: says which member and what is allowed. */
enum status search_check(const struct search_config *config, struct fault *fault) must_check;

struct search;

/* Starts at `now`. The configuration was checked (asserted); copied. Never NULL. */
struct search *search_new(const struct search_config *config, struct mono now);
void search_free(struct search *search);

enum search_state {
    SEARCH_HELLO,      /* does anybody answer? */
    SEARCH_NARROWING,  /* sizes are left between the proven and the suspected */
    SEARCH_CONFIRMING, /* none are: proving both */
    SEARCH_WATCHING,   /* the answer is known and looked after */
    SEARCH_ENDED       /* nothing more is asked; the deadline is never */
};

/* A word for people: "hello", "narrowing", ... */
const char *search_state_name(enum search_state state);
enum search_state search_state(const struct search *search);

struct search_ask {
    uint32_t id;  /* counts up from 0 over the machine's life */
    int64_t size; /* of the IP packet */
    bool control; /* a small one that measures the loss meanwhile */
};

/* The next datagram to send now; STATUS_AGAIN: none before search_deadline or another event. It
 * counts as sent at `now`. */
enum status search_next(struct search *search, struct mono now,
                        struct search_ask *out_ask) must_check;

/* When search_next is to be called at the latest. Valid after search_next returned STATUS_AGAIN and
 * until the next event. */
struct mono search_deadline(const struct search *search);

/* The acknowledgement of `id` was received at `now` (the kernel's receive time, if there is one).
 * Repeated ones and those of unknown ids are ignored; false then. */
bool search_acked(struct search *search, uint32_t id, struct mono now);

/* `id` was refused with EMSGSIZE; said before the next search_next. `limit`: what the system said
 * would fit (a hint); 0: nothing. */
void search_too_big(struct search *search, uint32_t id, int64_t limit);

/* `id` was not sent for another reason (EAGAIN, ENOBUFS, EPERM...): it is no try. */
void search_unsent(struct search *search, uint32_t id);

/* What is made of an ICMP "too big" (RFC 8899 section 4.6.1). */
enum search_ptb {
    SEARCH_PTB_HINT,         /* plausible: what it names is asked next, and proven or not */
    SEARCH_PTB_UNKNOWN,      /* no such datagram was sent lately */
    SEARCH_PTB_TOO_SMALL,    /* below 68 (IPv4; 0 is an old router's) or 1280 (IPv6) */
    SEARCH_PTB_NOT_SMALLER,  /* not below the size of that datagram */
    SEARCH_PTB_CONTRADICTED, /* that or more was acknowledged in this search */
    SEARCH_PTB_COUNT
};

/* "accepted", "unknown datagram", ... */
const char *search_ptb_name(enum search_ptb ptb);

/* An ICMP error that quotes datagram `id` (the caller has matched addresses, ports and, when enough
 * is quoted, the payload) says that `mtu` would pass. It never proves anything: the datagram that
 * it quotes may still be acknowledged. */
enum search_ptb search_ptb(struct search *search, uint32_t id, int64_t mtu);

enum search_outcome {
    SEARCH_UNDECIDED,   /* not yet, or cut off: path_mtu and next_size are what is known so far */
    SEARCH_FOUND,       /* proven as described above, or the ceiling passed */
    SEARCH_BELOW_FLOOR, /* small datagrams pass, the floor does not (proven): path_mtu is 0 */
    SEARCH_UNREACHABLE, /* small datagrams are not answered (any more) */
    SEARCH_UNSTABLE,    /* what passed stopped to pass, SEARCH_RESTARTS times */
    SEARCH_EXHAUSTED,   /* the budget was used up before the proof */
    SEARCH_OUTCOME_COUNT
};

/* "undecided", "found", ... */
const char *search_outcome_name(enum search_outcome outcome);

/* What ends the sizes that pass; of a path that was found. */
enum search_limit {
    SEARCH_LIMIT_CEILING, /* nothing did: the ceiling passed */
    SEARCH_LIMIT_LOCAL,   /* this host refuses the next size (EMSGSIZE) */
    SEARCH_LIMIT_PATH     /* the next size vanishes on the path */
};

struct search_result {
    enum search_outcome outcome;
    enum search_limit limit;
    int64_t path_mtu;  /* the largest acknowledged size; 0: none from the floor up */
    int64_t next_size; /* the next possible size above, proven not to pass; 0: not proven */
    bool hinted;       /* an accepted ICMP error named path_mtu (or a size in the gap above it) */
    /* Of this search (in SEARCH_WATCHING: of the last, and what watching has sent since): */
    int64_t datagrams;               /* asked for in all; refused ones too */
    int64_t controls, controls_lost; /* of them: small ones; and how many had no answer */
    int64_t retries;                 /* of them: a size that had been asked before */
    int64_t refused;                 /* of them: EMSGSIZE and unsent */
    int64_t rounds;
    int64_t rtt_ns; /* smoothed; 0: nobody answered */
};

/* At any time. */
void search_result(const struct search *search, struct search_result *out_result);

/* What watching has noticed. A change is told once, when the new value is proven: at the latest
 * check_ns plus one second after it happened, at an RTT of 10 ms and without random loss; loss
 * makes it later, and never makes up a change. Greater: at the next raise_ns. */
enum search_event_kind {
    SEARCH_EVENT_KNOWN,      /* the first answer, or the first since it was unreachable */
    SEARCH_EVENT_CHANGED,    /* from one size to another; 0: below the floor */
    SEARCH_EVENT_UNREACHABLE /* to is 0 */
};

struct search_event {
    enum search_event_kind kind;
    int64_t from, to; /* from: what was told before; 0: nothing, or below the floor */
    struct mono at;   /* when it was noticed */
};

/* The oldest event that was not read yet; false: none. Only with `watch`. */
bool search_event(struct search *search, struct search_event *out_event);

#endif
