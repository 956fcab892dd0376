#!/usr/bin/env python3
"""Passes IP packets on, as a router would, but late, twice, out of order, changed, or not at all.

Reads packets from a TUN device that it makes (relay0) and writes them back to it, where the kernel
routes them on. Commands come as JSON lines on stdin, each is answered by a line:

    {"do": "delay", "ms": 200}          every packet
    {"do": "reorder", "every": 10, "by": 3}   every N-th packet goes out behind the next `by`
    {"do": "duplicate", "every": 10}
    {"do": "rewrite", "every": 10, "edits": [[16, "ffff"], [0, "00"]]}
                                        bytes at an offset of the payload, each edit in turn; the
                                        checksum is mended; "edits" in the answer counts each
    {"do": "hold", "count": 50}         keeps the next packets; "release" lets them go
    {"do": "clear"}                     back to plain passing on
    {"do": "counts"}

Packets whose UDP payload is shorter than "above" (0) or longer than "below", or that do not go to
"towards" (in any command but delay) are left alone.
"""

import fcntl
import heapq
import json
import os
import select
import socket
import struct
import sys
import time

LATE_S = 0.05  # a packet that waits to be overtaken goes out at last
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
PACKETS_MAX = 200000


def open_tun(name):
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def udp_offset(packet):
    """Where the UDP header begins; None for what is no UDP or a later fragment."""
    if packet[0] >> 4 == 4:
        fragment = struct.unpack_from("!H", packet, 6)[0] & 0x1FFF
        return (packet[0] & 15) * 4 if packet[9] == 17 and fragment == 0 else None
    return 40 if packet[6] == 17 else None


def destination(packet):
    if packet[0] >> 4 == 4:
        return socket.inet_ntop(socket.AF_INET, packet[16:20])
    return socket.inet_ntop(socket.AF_INET6, packet[24:40])


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[:len(data) & ~1]))
    total += data[-1] << 8 if len(data) & 1 else 0
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mend(packet, at):
    """Puts the right UDP checksum in."""
    length = len(packet) - at
    addresses = packet[12:20] if packet[0] >> 4 == 4 else packet[8:40]
    packet[at + 6:at + 8] = b"\0\0"
    pseudo = bytes(addresses) + struct.pack("!HH", 17, length)
    packet[at + 6:at + 8] = struct.pack("!H", checksum(pseudo + bytes(packet[at:])) or 0xFFFF)


class Relay:
    def __init__(self, tun):
        self.tun = tun
        self.rules = {}
        self.queue = []  # (when, order, packet)
        self.late = []   # [packets still to pass, packet, since when]
        self.held = []
        self.order = 0
        self.seen = {}
        self.counts = dict.fromkeys(("passed", "duplicated", "reordered", "rewritten", "held",
                                     "full"), 0)

    def due(self, kind, payload, to):
        """Is it this packet's turn for a rule that works on every N-th?"""
        rule = self.rules.get(kind)
        if rule is None or not rule.get("above", 0) <= payload <= rule.get("below", 65535) or \
                rule.get("towards", to) != to:
            return None
        self.seen[kind] = self.seen.get(kind, 0) + 1
        return rule if self.seen[kind] % rule.get("every", 1) == 0 else None

    def rewrite(self, packet, at, rule):
        packet = bytearray(packet)
        turn = self.counts["rewritten"] % len(rule["edits"])
        offset, new = rule["edits"][turn][0], bytes.fromhex(rule["edits"][turn][1])
        packet[at + 8 + offset:at + 8 + offset + len(new)] = new
        mend(packet, at)
        self.counts["rewritten"] += 1
        self.counts["edits"][turn] += 1
        return bytes(packet)

    def take(self, packet):
        at = udp_offset(packet)
        payload = len(packet) - at - 8 if at is not None else 0
        to = destination(packet)
        if self.due("hold", payload, to) and len(self.held) < self.rules["hold"]["count"]:
            self.held.append(packet)
            self.counts["held"] += 1
            return
        rule = self.due("rewrite", payload, to) if at is not None else None
        if rule:
            packet = self.rewrite(packet, at, rule)
        rule = self.due("reorder", payload, to)
        if rule:
            self.late.append([rule["by"], packet, time.monotonic()])
            self.counts["reordered"] += 1
            return
        self.send(packet)
        if self.due("duplicate", payload, to):
            self.send(packet)
            self.counts["duplicated"] += 1
        for waiting in self.late:
            waiting[0] -= destination(waiting[1]) == to
        for waiting in [one for one in self.late if one[0] <= 0]:
            self.late.remove(waiting)
            self.send(waiting[1])

    def send(self, packet):
        wait = self.rules.get("delay", {}).get("ms", 0) / 1000
        if len(self.queue) >= PACKETS_MAX:
            self.counts["full"] += 1
            return
        self.order += 1
        heapq.heappush(self.queue, (time.monotonic() + wait, self.order, packet))

    def flush(self):
        """Writes what is due; seconds until the next, None when nothing waits."""
        while self.late and time.monotonic() - self.late[0][2] > LATE_S:
            self.send(self.late.pop(0)[1])
        while self.queue:
            left = self.queue[0][0] - time.monotonic()
            if left > 0:
                return left
            try:
                os.write(self.tun, self.queue[0][2])
            except BlockingIOError:
                return 0.001
            heapq.heappop(self.queue)
            self.counts["passed"] += 1
        return LATE_S if self.late else None

    def command(self, line):
        command = json.loads(line)
        kind = command.pop("do")
        if kind == "release":
            for packet in self.held:
                self.send(packet)
            self.counts["released"] = len(self.held)
            self.held = []
            self.rules.pop("hold", None)
        elif kind == "clear":
            self.rules = {}
            for _, packet, _ in self.late:
                self.send(packet)
            self.late = []
        elif kind != "counts":
            self.rules[kind] = command
            self.seen[kind] = 0
            if kind == "rewrite":
                self.counts["rewritten"], self.counts["edits"] = 0, [0] * len(command["edits"])
        print(json.dumps(self.counts), flush=True)


def main():
    relay = Relay(open_tun("relay0"))
    print("ready", flush=True)
    os.set_blocking(0, False)
    pending = b""
    while True:
        readable, _, _ = select.select([relay.tun, 0], [], [], relay.flush())
        if relay.tun in readable:
            for _ in range(64):
                try:
                    relay.take(os.read(relay.tun, 65600))
                except BlockingIOError:
                    break
        if 0 in readable:
            read = os.read(0, 65536)
            if not read:
                return
            *lines, pending = (pending + read).split(b"\n")
            for line in lines:
                relay.command(line)


if __name__ == "__main__":
    sys.exit(main())
