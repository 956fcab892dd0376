/* What may explain that a path carries less than a link: tunnels and their overheads, by name. A
 * pure table; every answer is a guess from a number, and to be printed as one.
 */
#ifndef SONDE_WIRE_TUNNELS_H
#define SONDE_WIRE_TUNNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/addr.h"
#include "proto/wire/budget.h"

enum { TUNNEL_TEXT_SIZE = 160, TUNNEL_MATCHES_MAX = 16 };

/* One kind of encapsulation. A packet inside of a link of `mtu` bytes may have
 * (mtu - overhead) rounded down to a multiple of `block`, less `trailer`. */
struct tunnel {
    const char *name;
    const char *source; /* where the numbers stand */
    int overhead;       /* outer headers, all that has a fixed size */
    int block;          /* of a cipher; 1: none */
    int trailer;        /* inside of the block: ESP's pad length and next header */
    bool carries[2];    /* by enum family: packets of it go in */
    bool below_ip;      /* it stands on Ethernet itself, so another tunnel may be inside it */
};

/* The table; the index counts from 0, NULL behind the last. */
const struct tunnel *tunnel_at(size_t index);

/* The largest packet that fits into one packet of `mtu` bytes; 0 or less: none. */
int64_t tunnel_inside(const struct tunnel *tunnel, int64_t mtu);

/* One explanation: `tunnel`, inside of `under` unless that is NULL, over links of `mtu` bytes. */
struct tunnel_match {
    const struct tunnel *tunnel;
    const struct tunnel *under;
    int64_t mtu;
};

/* What explains a path MTU of `path_mtu` for packets of `family` behind links of `link_mtu`: first
 * a single tunnel over that link, then over Ethernet's 1,500 bytes if the link has more, and, only
 * if there is none of these, two, one inside the other (PPPoE, VLAN or MPLS below, or VXLAN inside
 * WireGuard). Returns how many, at most `most`; 0: nothing that this table knows, or the path
 * carries what the link does. */
size_t tunnel_explain(enum family family, int64_t link_mtu, int64_t path_mtu,
                      struct tunnel_match *out_matches, size_t most);

/* "VXLAN over IPv4 inside WireGuard over IPv6, on 1500 bytes". */
void tunnel_format(const struct tunnel_match *match, char out_text[TUNNEL_TEXT_SIZE]);

/* What a path MTU of exactly this size is known for without any tunnel ("the least that IPv6 needs
 * (RFC 8200)"); NULL: nothing. */
const char *tunnel_known_mtu(int64_t mtu);

#endif
