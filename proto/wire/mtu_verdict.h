/* What the answers of flows mean: verdicts, groups of flows that differ, and the words for people.
 * Pure; whoever prints an answer takes its words from here, so that terminal, figure, store and log
 * say the same.
 */
#ifndef SONDE_WIRE_MTU_VERDICT_H
#define SONDE_WIRE_MTU_VERDICT_H

#include "proto/base/buf.h"
#include "proto/wire/mtu.h"

/* Of one flow's answer (measurement's definition; lossy before clean, signalled and black_hole). */
enum mtu_verdict mtu_verdict_of(enum family family, const struct mtu_flow *flow);

/* UDP payload of an IP packet: -28 (IPv4), -48 (IPv6); NONE_INT of NONE_INT. */
int64_t mtu_payload_of(enum family family, int64_t path_mtu);

/* Cases of one family and direction whose path_mtu and verdict are alike. */
struct mtu_group {
    const struct mtu_case *first;
    size_t count;
};

/* Groups among `cases` (all of one family and direction), the largest path MTU first; at most
 * MTU_FLOWS_MAX. *out_groups is the caller's to free; NULL and 0 of none. */
size_t mtu_groups(const struct mtu_case *const *cases, size_t count,
                  struct mtu_group **out_groups) must_check;

/* "ports 40001-40012, 40020: 1500"; without ports when there is one group only ("1500"), with
 * "none" for no path MTU. Appends. */
void mtu_group_words(const struct mtu_case *const *cases, size_t count,
                     const struct mtu_group *group, bool alone, struct buf *out);

/* Why it is what it is, in one line without its number, e.g. "10.9.2.254 said so (ICMP)"; "larger
 * datagrams vanish without a word between hop 1 (10.9.1.254) and hop 2 (10.9.2.2): tell the owner
 * of what is between them"; "this is the interface's MTU". Appends. */
void mtu_evidence_words(const struct mtu_case *what, struct buf *out);

/* What may explain the number (tunnels.h), "" where nothing is known: "1420 is what WireGuard over
 * IPv6 leaves of 1500". Appends. */
void mtu_tunnel_words(const struct mtu_case *what, struct buf *out);

/* Fragments, kernel cache, size effect, refused hints...: further lines worth telling, one at a
 * time; false when there is no such line. Appends. */
bool mtu_note_words(const struct mtu_case *what, size_t line, struct buf *out);

#endif
