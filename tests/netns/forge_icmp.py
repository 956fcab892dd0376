"""A liar in the router: answers each large UDP datagram that comes in on an interface with ICMP "too
big" of every wrong kind. Says "ready". Usage: forge_icmp.py INTERFACE."""

import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.all import (ICMP, IP, UDP, AsyncSniffer, Ether, ICMPv6PacketTooBig, IPv6, Raw, conf,  # noqa: E402
                       raw)

INTERFACE = sys.argv[1]
LARGE = 1300
# MTUs that are lies about a datagram that was sent; the last is plausible, and wrong.
MTUS = {4: (68, 0, 67, 65000, 1350), 6: (68, 0, 1279, 65000, 1350)}
OTHER_PAYLOAD, OTHER_FLOW = 1310, 1290


def lie(packet, mtu, quote):
    if IP in packet:
        return (IP(src="10.9.1.254", dst=packet[IP].src) / ICMP(type=3, code=4, nexthopmtu=mtu) /
                Raw(quote[:520]))
    return (IPv6(src="fd00:9:1::fe", dst=packet[IPv6].src) / ICMPv6PacketTooBig(mtu=mtu) /
            Raw(quote[:1100]))


def lies(packet):
    layer = IP if IP in packet else IPv6
    quote = raw(packet[layer])
    start = (20 if layer is IP else 40) + 8
    for mtu in MTUS[4 if layer is IP else 6]:
        yield lie(packet, mtu, quote)
    # ports are known, what was sent is not
    yield lie(packet, OTHER_PAYLOAD, quote[:start] + bytes(len(quote) - start))
    port = (packet[UDP].sport ^ 1).to_bytes(2, "big")
    yield lie(packet, OTHER_FLOW, quote[:start - 8] + port + quote[start - 6:])


def answer(packet):
    if UDP not in packet or len(packet) < LARGE or packet[Ether].src == own:
        return
    for forged in lies(packet):
        socket.send(Ether(src=own, dst=packet[Ether].src) / forged)


socket = conf.L2socket(iface=INTERFACE)
with open(f"/sys/class/net/{INTERFACE}/address", encoding="ascii") as file:
    own = file.read().strip()
sniffer = AsyncSniffer(iface=INTERFACE, prn=answer, store=False,
                       started_callback=lambda: print("ready", flush=True))
sniffer.start()
sniffer.join()
