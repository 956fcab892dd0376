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

/* 110 of 20,000 lost: all above `threshold`; NONE_INT: wherever. */
static inline void add_size_effect(struct mtu_case *what, int64_t threshold)
{
    bool is_found = threshold != NONE_INT;

    what->flow.size_effect = (struct mtu_size_effect){
        .present = true,
        .found = is_found,
        .threshold = threshold,
        .least = is_found ? threshold - 2 : NONE_INT,
        .most = is_found ? threshold + 3 : NONE_INT,
        .sent = 20000,
        .lost = 110,
        .sent_below = is_found ? 10000 : 20000,
        .lost_below = is_found ? 0 : 110,
        .sent_above = is_found ? 10000 : 0,
        .lost_above = is_found ? 110 : 0,
        .low_below = is_found ? 0 : 0.0046,
        .high_below = is_found ? 0.0004 : 0.0066,
        .low_above = is_found ? 0.0091 : (double)NAN,
        .high_above = is_found ? 0.0133 : (double)NAN,
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
