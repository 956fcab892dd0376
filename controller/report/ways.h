/* A path MTU run as people ask for it: by family and direction, the flows of each together. Pure.
 *
 * It trusts a run that validate_run accepts, so that cases stand in order. */
#ifndef SONDE_REPORT_WAYS_H
#define SONDE_REPORT_WAYS_H

#include "proto/wire/run.h"

/* The flows of one family in one direction; borrowed from the run. */
struct way {
    enum family family;
    enum mtu_direction direction;
    const struct mtu_session *session;
    const struct mtu_case *flows[MTU_FLOWS_MAX];
    size_t count;
};

/* Walks them in the run's order; *position starts at 0. False at the end. */
bool way_next(const struct run *run, size_t *position, struct way *out_way);

/* "IPv4", "IPv6". */
const char *family_word(enum family family);

/* "IPv4 forward". */
enum { WAY_NAME_SIZE = 32 };
void way_name(const struct way *way, char out_text[WAY_NAME_SIZE]);

/* What an application may send: the payload that every flow carries in every direction that was
 * asked for. */
struct fit {
    bool known;      /* each of them has an answer */
    int64_t payload; /* what gets through */
    int64_t even;    /* what gets through without the loss that larger ones have; the same without
                        such a loss */
};
struct fit fit_of(const struct run *run, enum family family);

#endif
