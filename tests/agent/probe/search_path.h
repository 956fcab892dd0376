/* A path on virtual time for tests of the search: MTU, loss, delay, jitter (so that datagrams
 * overtake each other), duplicates, ICMP errors true and forged, EMSGSIZE, changes. */
#ifndef SONDE_TEST_PROBE_SEARCH_PATH_H
#define SONDE_TEST_PROBE_SEARCH_PATH_H

#include "agent/probe/search.h"
#include "tests/agent/probe/chance.h"

enum { PATH_EVENTS = 2048, PATH_SIZES = 65600 };

struct path_event {
    struct mono at;
    uint32_t id;
    int64_t ptb; /* -1: an acknowledgement */
};

struct path {
    struct chance *chance;
    /* set by the test; 0 means none of it */
    int64_t mtu, local;     /* local: larger ones get EMSGSIZE; 0: none do */
    bool local_limit_known; /* EMSGSIZE says what would fit */
    bool icmp;              /* the router says what would pass */
    int64_t forged;         /* ICMP for every datagram that names this; -1: none */
    double loss, ack_loss;  /* of all sizes; of acknowledgements */
    int64_t lossy_above;    /* with loss_above; 0: never */
    double loss_above;
    int lost_first; /* how often each size is lost before it may pass */
    int64_t rtt_ns, jitter_ns;
    double duplicates;
    int64_t no_answer_above; /* the far end cannot answer for larger ones; 0: it can */
    double soft_errors;      /* EMSGSIZE for nothing */
    bool dead;
    bool unsent;                        /* this host sends nothing (ENETUNREACH) */
    int64_t outage_ns, outage_every_ns; /* nothing passes for this long, that often */
    /* counted */
    struct mono now;
    int64_t sent;
    int64_t judged[SEARCH_PTB_COUNT];
    int lost_of_size[PATH_SIZES];
    size_t count;
    struct path_event events[PATH_EVENTS];
};

/* An ordinary path with an RTT of 1 ms, without loss; the caller's to free. */
struct path *path_new(struct chance *chance, int64_t mtu);

/* Lets the search work until it has ended, has an event to tell, or `until` is reached. */
void path_run(struct path *path, struct search *search, struct mono until);

/* The same for a fresh machine without end: asserts that it ends within `seconds`. */
struct search_result path_search(struct path *path, const struct search_config *config,
                                 double seconds);

#endif
