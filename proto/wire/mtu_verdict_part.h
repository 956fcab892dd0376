/* What the parts of mtu_verdict share; for mtu_verdict*.c alone. */
#ifndef SONDE_WIRE_MTU_VERDICT_PART_H
#define SONDE_WIRE_MTU_VERDICT_PART_H

#include "proto/wire/mtu_verdict.h"

/* What ended the sizes of a path that was found, whatever else is known of it: MTU_CLEAN,
 * MTU_SIGNALLED or MTU_BLACK_HOLE. */
enum mtu_verdict mtu_end_of(const struct mtu_flow *flow);

/* A message that was accepted, and named what then passed (or a size that no datagram has, between
 * it and the next one). */
bool mtu_icmp_names(const struct mtu_flow *flow, const struct mtu_icmp *icmp);

/* MTU_BASE_... of the family. */
int64_t mtu_base_of(enum family family);

/* Why the sizes end where they do. Appends. */
void mtu_end_words(const struct mtu_case *what, struct buf *out);

/* "1,400" ("an unknown number" of NONE_INT); " (ICMP)" or " (ICMP, 3 times)"; "0.9 %" of a share
 * 0..1. Each appends. */
void mtu_put_number(struct buf *out, int64_t number);
void mtu_put_times(struct buf *out, int64_t count);
void mtu_put_percent(struct buf *out, double share);

#endif
