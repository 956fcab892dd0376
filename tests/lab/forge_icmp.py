"""Somebody in the router who sends ICMP "too big" for each large UDP datagram that comes in on an
interface. Says "ready". Usage: forge_icmp.py INTERFACE lies|terse.

    lies    everything wrong that can be said
    terse   the truth, for a path of 1400, with no more of a quote than RFC 792 asks for
"""

import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.all import (ICMP, IP, UDP, AsyncSniffer, Ether, ICMPv6PacketTooBig, IPv6,  # noqa: E402
                       Raw, conf, raw)

INTERFACE, MODE = sys.argv[1:]
LARGE, PATH_MTU = 1300, 1400
# MTUs that are lies about a datagram that was sent; the last is plausible, and wrong.
MTUS = {4: (68, 0, 67, 65000, 1350), 6: (68, 0, 1279, 65000, 1350)}
OTHER_PAYLOAD, OTHER_FLOW = 1310, 1290


def too_big(packet, mtu, quote):
    if IP in packet:
        return (IP(src="10.9.1.254", dst=packet[IP].src) / ICMP(type=3, code=4, nexthopmtu=mtu) /
                Raw(quote[:520]))
    return (IPv6(src="fd00:9:1::fe", dst=packet[IPv6].src) / ICMPv6PacketTooBig(mtu=mtu) /
            Raw(quote[:1100]))


def lies(packet, quote, start):
    for mtu in MTUS[4 if IP in packet else 6]:
        yield too_big(packet, mtu, quote)
    # ports are known, what was sent is not
    yield too_big(packet, OTHER_PAYLOAD, quote[:start] + bytes(len(quote) - start))
    port = (packet[UDP].sport ^ 1).to_bytes(2, "big")
    yield too_big(packet, OTHER_FLOW, quote[:start - 8] + port + quote[start - 6:])


def terse(packet, quote, start):
    if len(quote) > PATH_MTU:
        yield too_big(packet, PATH_MTU, quote[:start])


def answer(packet):
    if UDP not in packet or len(packet) < LARGE or packet[Ether].src == own:
        return
    layer = IP if IP in packet else IPv6
    start = (20 if layer is IP else 40) + 8
    for forged in (lies if MODE == "lies" else terse)(packet, raw(packet[layer]), start):
        socket.send(Ether(src=own, dst=packet[Ether].src) / forged)


socket = conf.L2socket(iface=INTERFACE)
with open(f"/sys/class/net/{INTERFACE}/address", encoding="ascii") as file:
    own = file.read().strip()
sniffer = AsyncSniffer(iface=INTERFACE, prn=answer, store=False,
                       started_callback=lambda: print("ready", flush=True))
sniffer.start()
sniffer.join()
