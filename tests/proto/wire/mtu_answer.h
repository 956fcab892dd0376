/* Answers of flows, for tests of what they mean. Include after cmocka.h. */
#ifndef SONDE_TESTS_MTU_ANSWER_H
#define SONDE_TESTS_MTU_ANSWER_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/wire/mtu_verdict.h"

/* Nothing is known. The caller's (answer_done), as all that follow. */
static inline struct mtu_case answer_of(enum family family, enum mtu_outcome outcome)
{
    struct mtu_case what;

    record_init(&mtu_case_record, &what);
    what.family = family;
    what.flow.outcome = outcome;
    return what;
}

/* On a path that ends at `path_mtu`, behind an interface of 1,500. */
static inline struct mtu_case found(enum family family, int64_t path_mtu)
{
    struct mtu_case what = answer_of(family, MTU_FOUND);

    what.flow.limit = MTU_LIMIT_PATH;
    what.flow.path_mtu = path_mtu;
    what.flow.next_size = path_mtu + 1;
    what.flow.confirmed = true;
    what.flow.local_mtu = 1500;
    return what;
}

static inline void add_icmp(struct mtu_case *what, const char *from, int64_t mtu, int64_t count,
                            const char *judged)
{
    struct mtu_icmp *icmp = list_append_sized(&what->flow.icmp, sizeof *icmp);

    icmp->mtu = mtu;
    icmp->count = count;
    icmp->accepted = judged == NULL;
    snprintf(icmp->from, sizeof icmp->from, "%s", from);
    snprintf(icmp->judged, sizeof icmp->judged, "%s", judged == NULL ? "accepted" : judged);
}

/* Loss above `threshold`: 1.1 %, below: none. */
static inline void add_size_effect(struct mtu_case *what, int64_t threshold)
{
    what->flow.size_effect = (struct mtu_size_effect){
        .present = true,
        .found = true,
        .threshold = threshold,
        .least = threshold - 2,
        .most = threshold + 3,
        .sent = 20000,
        .lost = 110,
        .sent_below = 10000,
        .sent_above = 10000,
        .lost_above = 110,
        .high_below = 0.0004,
        .low_above = 0.0091,
        .high_above = 0.0133,
        .seconds = 2.5,
    };
}

/* Judged as whoever joins reports does. */
static inline void judge(struct mtu_case *what)
{
    what->verdict = mtu_verdict_of(what->family, &what->flow);
    what->udp_payload = mtu_payload_of(what->family, what->flow.path_mtu);
}

static inline void answer_done(struct mtu_case *what)
{
    record_done(&mtu_case_record, what);
}

#endif
