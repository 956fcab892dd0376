"""What tests of receive buffers share: a neighbour who makes noise, and where this kernel's charge
for a datagram jumps, seen without sonde."""

import select
import socket
import subprocess
import sys

SO_MEMINFO = 55


class NoisyNeighbour:
    """Another process that overflows a UDP socket of its own until it is told to end."""

    SCRIPT = """
import socket, sys
full = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
full.bind(("127.0.0.1", 0))
full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(full.getsockname())
print(full.getsockname()[1], flush=True)
for _ in range(60 * 1000):
    for _ in range(50):
        sender.send(b"x" * 1000)
    if sys.stdin in __import__("select").select([sys.stdin], [], [], 0.001)[0]:
        break
"""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.SCRIPT],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.communicate(b"\n", timeout=20)


def charges(payloads, family=socket.AF_INET):
    """What one queued datagram of each size is charged on this kernel."""
    listener = socket.socket(family, socket.SOCK_DGRAM)
    sender = socket.socket(family, socket.SOCK_DGRAM)
    with listener, sender:
        listener.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        sender.connect(listener.getsockname())
        for payload in payloads:
            sender.send(bytes(payload))
            select.select([listener], [], [], 5)
            memory = listener.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36)
            listener.recv(65536)
            yield int.from_bytes(memory[:4], sys.byteorder)


def steps(low, high, family=socket.AF_INET):
    """Sizes at which the charge jumps by more than the payload grew, found by bisection in spans
    that are too small to hold jumps which make up for each other."""
    edges = [*range(low, high, 512), high]
    found, spans = [], list(zip(edges, edges[1:]))
    while spans:
        low, high = spans.pop()
        a, b = charges([low, high], family)
        if b - a in (0, high - low):
            continue
        if high - low == 1:
            found.append(high)
            continue
        middle = (low + high) // 2
        spans += [(low, middle), (middle, high)]
    return sorted(found)
