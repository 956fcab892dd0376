"""A link between two network namespaces that takes its time, for kernels without netem: a TUN
device of the same name in each, and this process between them. Says "ready" when both are there.
Usage: delay.py NETNS NETNS DEVICE MICROSECONDS, which every packet takes on its way."""

import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET, PR_SET_TIMERSLACK = 0x40000000, 29
LARGEST, QUEUE = 65535 + 64, 10000

libc = ctypes.CDLL(None, use_errno=True)


def device(namespace, name):
    """A TUN device there, as a descriptor here."""
    with open(f"/var/run/netns/{namespace}", "rb") as place:
        if libc.setns(place.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), namespace)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def carry(ends, delay):
    """Packets of each end to the other, each so many seconds after it came; queues are bounded, as
    those of links are."""
    queues = {end: collections.deque() for end in ends}
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    while True:
        due = [queue[0][0] for queue in queues.values() if queue]
        wait = max(0, min(due) - time.monotonic()) if due else None
        for end in select.select(ends, [], [], wait)[0]:
            came = time.monotonic()
            while len(queues[end]) < QUEUE:
                try:
                    queues[end].append((came + delay, os.read(end, LARGEST)))
                except BlockingIOError:
                    break
        for end, queue in queues.items():
            while queue and queue[0][0] <= time.monotonic():
                try:
                    os.write(other[end], queue.popleft()[1])
                except OSError:
                    pass  # its interface is down: lost, as it would be on a link


def main():
    first, second, name, microseconds = sys.argv[1:]
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    ends = [device(namespace, name) for namespace in (first, second)]
    print("ready", flush=True)
    carry(ends, int(microseconds) / 1e6)


main()
