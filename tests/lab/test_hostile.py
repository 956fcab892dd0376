#!/usr/bin/env python3
"""Whatever strangers and hostile agents do to a controller, an agent that delivers results
meanwhile notices nothing. Usage: test_hostile.py SONDE; needs root."""

import contextlib
import os
import random
import socket
import ssl
import struct
import sys
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import msgpack

import certificates
import spools
from fleet import PORT, Fleet
from network import SKIPPED, Alone, wait_for, why_impossible
from peers import Agent, Peer, new_id

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"
MEMORY_KIB = 16 << 10  # that the controller may take for all of them
ANSWER_S = 1
HANDSHAKE_S = 10


def text(words):
    return bytes([0xA0 + len(words)]) + words.encode()


def status(field, value):
    """A status message with one more field, whose value is these bytes."""
    return b"\x82" + text("type") + text("status") + text(field) + value


# What follows a good hello, and a word of why the connection is ended.
FRAMES = {
    "an array of 2^32-1": (status("x", b"\xdd\xff\xff\xff\xff"), "must follow"),
    "a map of 2^32-1": (status("x", b"\xdf\xff\xff\xff\xff"), "4294967295 entries"),
    "a text of 2^32-1": (status("x", b"\xdb\xff\xff\xff\xff"), "must follow"),
    "bytes of 2^32-1": (status("x", b"\xc6\xff\xff\xff\xff"), "must follow"),
    "a map of 2^32-1 at the top": (b"\xdf\xff\xff\xff\xff", "4294967295 entries"),
    "deep arrays": (status("x", b"\x91" * 500_000 + b"\xc0"), "deep"),
    "deep maps": (status("x", b"\x81\xa1x" * 200_000 + b"\xc0"), "deep"),
    "an array at the top": (b"\x91\xc0", "map"),
    "a number at the top": (b"\x05", "map"),
    "no type": (b"\x81" + text("x") + b"\x01", "type"),
    "a type that is a number": (b"\x81" + text("type") + b"\x05", "type"),
    "a type that is none": (b"\x81" + text("type") + text("nonsense"), "nonsense"),
    "a field of the wrong type": (status("clock", text("x")), "clock"),
    "a number that is none": (status("sessions", b"\xcb\x7f\xf8" + bytes(6)), "finite"),
    "an unknown NaN": (status("x", b"\xcb\x7f\xf8" + bytes(6)), "finite"),
    "an unknown infinity": (status("x", b"\xcb\x7f\xf0" + bytes(6)), "finite"),
    "a key twice": (status("type", text("status")), "type"),
    "an unknown key twice": (b"\x83" + text("type") + text("status") + (text("x") + b"\x01") * 2,
                             "x"),
    "a key that is a number": (b"\x82" + text("type") + text("status") + b"\x01\x02", "key"),
    "bytes behind it": (status("x", b"\x01") + b"\x00", "behind"),
    "half of a map": (status("x", b""), "must follow"),
    "an operator's message": (b"\x82" + text("type") + text("list_agents") + text("request") +
                              b"\x01", "list_agents"),
    "a controller's message": (b"\x81" + text("type") + text("welcome"), "welcome"),
}


class Watch:
    """An agent that delivers, an operator that asks, and what the controller takes meanwhile."""

    def __init__(self, fleet, files, operator):
        self.fleet, self.sent, self.answers_s, self.fault = fleet, [], [], None
        self.agent, self.operator = Agent(PORT, files), Peer(PORT, operator)
        self.before = self.most = self.memory()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(what,))
                        for what in (self.deliver, self.ask)]
        for thread in self.threads:
            thread.start()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.agent.close()
        self.operator.close()

    def memory(self):
        """Anonymous memory of the controller in KiB."""
        with open(f"/proc/{self.fleet.server.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))

    def run(self, what):
        try:
            while not self.over.wait(0.2):
                what()
        except Exception as error:  # noqa: BLE001: told by the test
            self.fault = error

    def deliver(self):
        self.sent.append(new_id())
        self.agent.result(self.sent[-1], b"x" * 500)
        if self.agent.committed(1) != [self.sent[-1]]:
            raise AssertionError("another result was committed")
        self.most = max(self.most, self.memory())

    def ask(self):
        began = time.monotonic()
        self.operator.send({"type": "list_agents", "request": len(self.answers_s)})
        if self.operator.receive("agents") is None:
            raise AssertionError("the operator was dropped")
        self.answers_s.append(time.monotonic() - began)


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.seed = random.randrange(1 << 32)
        print(f"seed {cls.seed}", file=sys.stderr)
        cls.host = Alone().__enter__()
        cls.addClassCleanup(cls.host.__exit__)
        cls.fleet = Fleet(cls.host, SONDE, agents=("real",)).__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.files = {name: cls.paths(cls.fleet.certificates.issue("agent", name), "agent")
                     for name in ("good", "sly")}
        cls.watch = Watch(cls.fleet, cls.files["good"], cls.paths(cls.fleet.operator, "operator"))
        cls.addClassCleanup(cls.watch.end)
        cls.sources = 0

    @staticmethod
    def paths(folder, role):
        files = certificates.files(folder, role)
        return files["ca"], files["certificate"], files["key"]

    def setUp(self):
        type(self).sources += 1
        self.source = f"127.0.2.{self.sources}"
        self.held = []

    def tearDown(self):
        """Nobody else has noticed anything, and it was not for ever."""
        for one in self.held:
            one.close()
        watch = self.watch
        sent, asked = len(watch.sent), len(watch.answers_s)
        wait_for(lambda: watch.fault or min(len(watch.sent) - sent,
                                            len(watch.answers_s) - asked) > 1, 20)
        self.assertIsNone(watch.fault)
        self.assertLess(max(watch.answers_s), ANSWER_S)
        if not os.environ.get("SONDE_SANITIZE"):
            self.assertLess(watch.most - watch.before, MEMORY_KIB)
            wait_for(lambda: watch.memory() - watch.before < MEMORY_KIB / 2, 20)
        stored = [one for one, _ in spools.stored(self.fleet.path("sonde.sqlite"), "good")]
        self.assertEqual(watch.sent[:sent], stored[:sent])
        self.assertEqual(1, self.fleet.log("real").count("connected to"))
        self.assertEqual(1, self.fleet.log("controller").count("agent good (127.0.0.1): connected"))
        self.assertIsNone(self.fleet.server.poll())

    def connect(self):
        made = socket.create_connection(("127.0.0.1", PORT), 10, (self.source, 0))
        self.held.append(made)
        return made

    def lines(self):
        """What the controller says of this test's address."""
        return [line for line in self.fleet.log("controller").splitlines() if self.source in line]

    def wait_lines(self, words, seconds=20):
        def are_there():
            return any(words in line for line in self.lines())
        try:
            wait_for(are_there, seconds)
        except TimeoutError:
            self.fail(f"{words!r} is not in {self.lines()}")

    def client_hello(self):
        """The first bytes of a good handshake."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.set_alpn_protocols(["sonde/1"])
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            context.wrap_bio(incoming, outgoing).do_handshake()
        return outgoing.read()

    def test_garbage(self):
        chance = random.Random(self.seed)
        for _ in range(50):
            with contextlib.suppress(OSError):
                self.connect().sendall(chance.randbytes(chance.randrange(1, 5000)))
        with contextlib.suppress(OSError):
            self.connect().sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        self.wait_lines("dropped: ")
        self.assertLess(len(self.lines()), 20)

    def test_half_handshakes_and_silence(self):
        hello = self.client_hello()
        for length in range(300):
            self.connect().sendall(hello[:length * len(hello) // 300])
        began = time.monotonic()
        self.wait_lines("no TLS handshake within 10 s")
        self.assertGreater(time.monotonic() - began, HANDSHAKE_S - 5)
        for one in self.held:
            one.settimeout(10)
            with contextlib.suppress(ConnectionError):
                while one.recv(4096):
                    pass
        self.assertLess(len(self.lines()), 20)

    def test_resets_and_a_port_scan(self):
        for number in range(500):
            one = self.connect()
            if number % 3 == 0:
                one.sendall(self.client_hello())
            if number % 2 == 0:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif number % 5 == 0:
                one.shutdown(socket.SHUT_WR)
                continue
            self.held.pop().close()
        self.wait_lines("dropped: ")
        self.assertLess(len(self.lines()), 20)

    def test_a_peer_that_never_reads(self):
        """Its results are stored, and what is to be said to it has a limit."""
        deaf = Agent(PORT, self.files["sly"], source=self.source, receive_buffer=4096)
        self.held.append(deaf)
        deaf.socket.settimeout(10)
        with contextlib.suppress(OSError):
            for _ in range(20_000):
                deaf.result(new_id(), b"x")
        time.sleep(1)

    def dropped(self, agent):
        """Why it says that it ends the connection."""
        reason = None
        with contextlib.suppress(OSError):
            while (frame := agent.frame()) is not None:
                if frame["type"] == "bye":
                    reason = frame["reason"]
        return reason

    def one_line_of(self, source, reason):
        lines = [line for line in self.fleet.log("controller").splitlines()
                 if source in line and "connected, version" not in line]
        self.assertEqual(1, len(lines), lines)
        self.assertIn(reason, lines[0])
        self.assertIn("agent sly", lines[0])

    def attack(self, name, bytes_, words, hello=True):
        type(self).sources += 1
        source = f"127.0.2.{self.sources}"
        with self.subTest(name):
            agent = (Agent if hello else Peer)(PORT, self.files["sly"], source=source)
            try:
                with contextlib.suppress(OSError):
                    agent.socket.sendall(bytes_)
                reason = self.dropped(agent)
                self.assertIsNotNone(reason)
                self.assertIn(words, reason)
                wait_for(lambda: any(source in line and reason[:40] in line
                                     for line in self.fleet.log("controller").splitlines()))
                time.sleep(0.05)
                self.one_line_of(source, reason)
            finally:
                agent.close()

    def test_messages_that_are_none(self):
        for name, (body, words) in FRAMES.items():
            self.attack(name, struct.pack(">I", len(body)) + body, words)

    def test_frames_that_are_none(self):
        for length in (0, (1 << 20) + 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
            self.attack(f"of {length} bytes", struct.pack(">I", length) + b"x" * 100, "bytes")

    def test_messages_at_the_wrong_time(self):
        result = msgpack.packb({"type": "result", "id": new_id(), "kind": "note", "body": b"x"})
        self.attack("before hello", struct.pack(">I", len(result)) + result, "hello", hello=False)

    def test_truncated_frames_and_then_silence(self):
        """They hold what they sent, and no more than that."""
        self.held.append(Agent(PORT, self.files["sly"], source=self.source))
        for _ in range(30):
            self.held.append(Peer(PORT, self.files["sly"], source=self.source))
        for agent in self.held:
            agent.socket.sendall(struct.pack(">I", 1 << 20) + b"\x81" + b"x" * 1000)


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
