"""A TCP proxy between an agent and its controller, in threads of the test.

It notes when each connection came, and passes bytes on in pieces as a test wants them.
"""

import contextlib
import random
import select
import socket
import threading
import time

LARGEST = 65536


def whole(data):
    return [data]


def single(data):
    """One byte at a time."""
    return [data[at:at + 1] for at in range(len(data))]


class Split:
    """In pieces of random lengths."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def __call__(self, data):
        pieces = []
        while data:
            length = min(len(data), int(self.chance.paretovariate(0.5)))
            pieces.append(data[:length])
            data = data[length:]
        return pieces


class Proxy:
    """Use it as a context manager; `cut` says how bytes are cut, `gather` for how long they are
    gathered before, `source` where it connects from."""

    def __init__(self, target, cut=whole, gather=0.0, source="127.0.0.1"):
        self.target, self.cut, self.gather, self.source = target, cut, gather, source
        self.came = []  # when, on the monotonic clock
        self.sockets, self.over = [], False

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over = True
        for one in [self.listener, *self.sockets]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def gaps(self):
        """Seconds between one connection and the next."""
        return [after - before for before, after in zip(self.came, self.came[1:])]

    def _accept(self):
        with contextlib.suppress(OSError):
            while not self.over:
                near, _ = self.listener.accept()
                self.came.append(time.monotonic())
                self._begin(near)

    def _begin(self, near):
        try:
            far = socket.create_connection(self.target, 10, (self.source, 0))
        except OSError:
            near.close()
            return
        self.sockets += [near, far]
        for one in (near, far):
            one.settimeout(None)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for pair in ((near, far), (far, near)):
            threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source, target):
        with contextlib.suppress(OSError):
            while True:
                data = source.recv(LARGEST)
                if not data:
                    break
                if self.gather > 0:
                    data += self._more(source)
                for piece in self.cut(data):
                    target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _more(self, source):
        until, data = time.monotonic() + self.gather, b""
        while (left := until - time.monotonic()) > 0:
            if select.select([source], [], [], left)[0]:
                piece = source.recv(LARGEST)
                if not piece:
                    break
                data += piece
        return data
