/* Owns the table of encapsulations. Must not know paths, measurements or verdicts.
 *
 * Overheads are sums of header sizes: IPv4 20, IPv6 40, UDP 8, Ethernet inside 14, GRE 4 and its
 * key 4, VXLAN and Geneve 8, ESP 8 and its IV, ESP's ICV, PPP 2. An inner Ethernet frame is counted
 * where the tunnel carries frames, because the packet is what is measured.
 */
#include "proto/wire/tunnels.h"

#include <stdio.h>

#define BOTH                                                                                       \
    {                                                                                              \
        [FAMILY_IPV4] = true, [FAMILY_IPV6] = true                                                 \
    }
#define ONLY_IPV4                                                                                  \
    {                                                                                              \
        [FAMILY_IPV4] = true, [FAMILY_IPV6] = false                                                \
    }
#define ONLY_IPV6                                                                                  \
    {                                                                                              \
        [FAMILY_IPV4] = false, [FAMILY_IPV6] = true                                                \
    }

enum { ETHERNET_MTU = 1500, ESP_TRAILER = 2 };

/* What people meet most stands first: it is named first. */
static const struct tunnel table[] = {
    { "WireGuard over IPv6 (wg-quick's default)", "Linux drivers/net/wireguard/device.c:wg_setup",
      40 + 8 + 16 + 16, 1, 0, BOTH, false },
    { "WireGuard over IPv4", "Linux drivers/net/wireguard/messages.h:message_data",
      20 + 8 + 16 + 16, 1, 0, BOTH, false },
    { "VXLAN or Geneve over IPv4", "RFC 7348 section 5, RFC 8926 section 3", 20 + 8 + 8 + 14, 1, 0,
      BOTH, false },
    { "VXLAN or Geneve over IPv6", "RFC 7348 section 5, RFC 8926 section 3", 40 + 8 + 8 + 14, 1, 0,
      BOTH, false },
    { "PPPoE", "RFC 2516 section 7", 6 + 2, 1, 0, BOTH, true },
    { "6in4 (SIT)", "RFC 4213 section 3.2", 20, 1, 0, ONLY_IPV6, false },
    { "IPIP", "RFC 2003 section 3", 20, 1, 0, ONLY_IPV4, false },
    { "NAT64 or 464XLAT: IPv4 as IPv6", "RFC 7915 section 4, RFC 6877", 40 - 20, 1, 0, ONLY_IPV4,
      false },
    { "IPv4 or IPv6 in IPv6 (DS-Lite, ip6tnl)", "RFC 2473 section 7, RFC 6333 section 5.3", 40, 1,
      0, BOTH, false },
    { "GRE over IPv4", "RFC 2784 section 2", 20 + 4, 1, 0, BOTH, false },
    { "GRE with a key over IPv4", "RFC 2890 section 2", 20 + 4 + 4, 1, 0, BOTH, false },
    { "GRE over IPv6", "RFC 7676", 40 + 4, 1, 0, BOTH, false },
    { "GRE with a key over IPv6", "RFC 2890, RFC 7676", 40 + 4 + 4, 1, 0, BOTH, false },
    { "Ethernet in GRE (gretap) over IPv4", "RFC 2784, RFC 1701", 20 + 4 + 14, 1, 0, BOTH, false },
    { "NVGRE over IPv4", "RFC 7637 section 3.2", 20 + 4 + 4 + 14, 1, 0, BOTH, false },
    { "Ethernet in GRE (gretap) over IPv6", "RFC 2784, RFC 7676", 40 + 4 + 14, 1, 0, BOTH, false },
    { "NVGRE over IPv6", "RFC 7637 section 3.2", 40 + 4 + 4 + 14, 1, 0, BOTH, false },
    { "Geneve with 8 bytes of options over IPv4 (OVN)", "RFC 8926 section 3, ovn-architecture(7)",
      20 + 8 + 8 + 8 + 14, 1, 0, BOTH, false },
    { "IPsec ESP tunnel, AES-GCM, over IPv4", "RFC 4303, RFC 4106", 20 + 8 + 8 + 16, 4, ESP_TRAILER,
      BOTH, false },
    { "IPsec ESP tunnel, AES-GCM, NAT traversal, over IPv4", "RFC 4303, RFC 4106, RFC 3948",
      20 + 8 + 8 + 8 + 16, 4, ESP_TRAILER, BOTH, false },
    { "IPsec ESP tunnel, AES-GCM, over IPv6", "RFC 4303, RFC 4106", 40 + 8 + 8 + 16, 4, ESP_TRAILER,
      BOTH, false },
    { "IPsec ESP tunnel, AES-CBC with HMAC-SHA-1-96, over IPv4", "RFC 4303, RFC 3602, RFC 2404",
      20 + 8 + 16 + 12, 16, ESP_TRAILER, BOTH, false },
    { "IPsec ESP tunnel, AES-CBC with HMAC-SHA-256-128, over IPv4", "RFC 4303, RFC 3602, RFC 4868",
      20 + 8 + 16 + 16, 16, ESP_TRAILER, BOTH, false },
    { "IPsec ESP tunnel, AES-CBC with HMAC-SHA-256-128, NAT traversal, over IPv4",
      "RFC 4303, RFC 3602, RFC 4868, RFC 3948", 20 + 8 + 8 + 16 + 16, 16, ESP_TRAILER, BOTH,
      false },
    { "IPsec ESP tunnel, AES-CBC with HMAC-SHA-256-128, over IPv6", "RFC 4303, RFC 3602, RFC 4868",
      40 + 8 + 16 + 16, 16, ESP_TRAILER, BOTH, false },
    { "GTP-U over IPv4", "3GPP TS 29.281 section 5.1", 20 + 8 + 8, 1, 0, BOTH, false },
    { "GTP-U over IPv6", "3GPP TS 29.281 section 5.1", 40 + 8 + 8, 1, 0, BOTH, false },
    { "L2TP with PPP over IPv4", "RFC 2661 section 3.1", 20 + 8 + 8 + 4, 1, 0, BOTH, false },
    { "LISP over IPv4", "RFC 9300 section 5.1", 20 + 8 + 8, 1, 0, BOTH, false },
    { "a VLAN tag or an MPLS label", "IEEE 802.1Q, RFC 3032 section 3", 4, 1, 0, BOTH, true },
    { "two VLAN tags or MPLS labels", "IEEE 802.1ad, RFC 3032 section 3", 8, 1, 0, BOTH, true },
};

enum { TUNNELS = sizeof table / sizeof table[0] };

/* WireGuard and VXLAN stand at the head of the table, each over IPv6 and IPv4. */
enum { WIREGUARDS = 2, VXLANS_END = 4 };

const struct tunnel *tunnel_at(size_t index)
{
    return index < TUNNELS ? &table[index] : NULL;
}

int64_t tunnel_inside(const struct tunnel *tunnel, int64_t mtu)
{
    int64_t room = mtu - tunnel->overhead;

    return room < 0 ? 0 : room / tunnel->block * tunnel->block - tunnel->trailer;
}

/* The matches so far. */
struct finding {
    enum family family;
    int64_t path_mtu;
    struct tunnel_match *matches;
    size_t count, most;
};

static void try_one(struct finding *finding, const struct tunnel *tunnel,
                    const struct tunnel *under, int64_t mtu)
{
    int64_t room = under == NULL ? mtu : tunnel_inside(under, mtu);

    if (tunnel->carries[finding->family] && tunnel_inside(tunnel, room) == finding->path_mtu &&
        finding->count < finding->most)
        finding->matches[finding->count++] =
            (struct tunnel_match){ .tunnel = tunnel, .under = under, .mtu = mtu };
}

/* Whether people put the one into the other so often that it is worth a guess. */
static bool goes_into(size_t inside, size_t under)
{
    return (table[under].below_ip && !table[inside].below_ip) ||
           (under < WIREGUARDS && inside >= WIREGUARDS && inside < VXLANS_END);
}

static void try_pairs(struct finding *finding, int64_t mtu)
{
    for (size_t under = 0; under < TUNNELS; under++)
        for (size_t inside = 0; inside < TUNNELS; inside++)
            if (goes_into(inside, under))
                try_one(finding, &table[inside], &table[under], mtu);
}

size_t tunnel_explain(enum family family, int64_t link_mtu, int64_t path_mtu,
                      struct tunnel_match *out_matches, size_t most)
{
    struct finding finding = {
        .family = family, .path_mtu = path_mtu, .matches = out_matches, .most = most
    };
    bool jumbo = link_mtu > ETHERNET_MTU;

    if (path_mtu <= 0 || path_mtu >= link_mtu)
        return 0;
    for (size_t i = 0; i < TUNNELS; i++)
        try_one(&finding, &table[i], NULL, link_mtu);
    for (size_t i = 0; jumbo && i < TUNNELS; i++)
        try_one(&finding, &table[i], NULL, ETHERNET_MTU);
    if (finding.count == 0)
        try_pairs(&finding, link_mtu);
    if (finding.count == 0 && jumbo)
        try_pairs(&finding, ETHERNET_MTU);
    return finding.count;
}

void tunnel_format(const struct tunnel_match *match, char out_text[TUNNEL_TEXT_SIZE])
{
    snprintf(out_text, TUNNEL_TEXT_SIZE, "%s%s%s, on %lld bytes", match->tunnel->name,
             match->under != NULL ? " inside " : "", match->under != NULL ? match->under->name : "",
             (long long)match->mtu);
}

const char *tunnel_known_mtu(int64_t mtu)
{
    static const struct {
        int64_t mtu;
        const char *words;
    } known[] = {
        { MTU_MIN_IPV4, "the least that IPv4 needs (RFC 791)" },
        { 576, "what every IPv4 host can put together again (RFC 1122 section 3.3.2)" },
        { MTU_MIN_IPV6,
          "the least that IPv6 needs (RFC 8200 section 5), and many tunnels' setting" },
        { ETHERNET_MTU, "Ethernet without jumbo frames (RFC 894)" },
        { 9000, "Ethernet with jumbo frames, the usual setting" },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].mtu == mtu)
            return known[i].words;
    return NULL;
}
