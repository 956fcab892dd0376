#!/usr/bin/python3
"""A witness that knows nothing of sonde writes and reads our messages: Python's msgpack.

    test_msgpack.py SONDE MESSAGE_TOOL
"""
import subprocess
import sys
import unittest

try:
    import msgpack
except ImportError:
    msgpack = None

SKIPPED = 77
TOOL = ""
CLOCK = {"sync": "synchronized", "max_error_ns": 12345}
SPOOL = {"waiting": 3, "bytes": 2 ** 40, "dropped": 0}
CASE = {"payload": 1472, "window": 16, "repeat": 1, "engine": "batch", "family": "ipv6",
        "clients": 16, "io_model": "shared", "io_threads": 1, "work_ns": 0, "warmup_s": 0.25,
        "seconds": 1.0, "interval_ns": 0, "rcvbuf": 262144, "sndbuf": 262144}
SESSION = {"family": "ipv4", "direction": "both", "flows": 256, "floor": 576, "ceiling": 0,
           "tries": 3, "budget": 3000, "pace": 12500000, "fragments": True, "trace": False,
           "sizes": 0, "watch_s": 0.5, "check_s": 0.25, "raise_s": 600.0}
MESSAGES = [
    ("agent", "controller", {"type": "ping"}),
    ("operator", "controller", {"type": "bye", "reason": "gr\u00fc\u00df dich \U0001f600"}),
    ("agent", "controller", {
        "type": "hello", "protocol": 1, "version": "0.1.0", "instance": "x" * 36, "os": "Linux",
        "os_release": "6.1", "arch": "x86_64", "clock": CLOCK, "spool": SPOOL,
        "addresses": ["192.0.2.1", "2001:db8::1"], "sessions_max": 2 ** 62}),
    ("agent", "controller", {
        "type": "status", "clock": {"sync": "unknown", "max_error_ns": None}, "spool": SPOOL,
        "sessions": 0}),
    ("agent", "controller", {
        "type": "progress", "session": "s", "phase": "measure", "elapsed_s": 0.5, "sent": 70000,
        "received": 69999, "low": None, "high": None, "flows_done": None}),
    ("agent", "controller", {
        "type": "moved", "session": "s", "phase": "reverse", "event": {
            "flow": 15, "change": "changed", "from": 1500, "to": 1400, "after_s": 12.25}}),
    ("agent", "controller", {
        "type": "result", "id": "r-1", "kind": "report", "body": bytes(range(256)) * 300}),
    ("controller", "agent", {
        "type": "open", "session": "s", "run": "r", "index": 0, "role": "sender",
        "key": bytes(range(32)), "ssid": 65532, "target": "[2001:db8::2]:7900", "kind": "pair",
        "idle_s": 1.5, "params": CASE}),
    ("controller", "agent", {
        "type": "open", "session": "s", "run": "r", "index": 1, "role": "echo",
        "key": bytes(range(32)), "ssid": 1, "target": None, "kind": "mtu", "params": SESSION}),
    ("controller", "agent", {"type": "committed", "ids": [f"id-{i}" for i in range(1000)]}),
    ("operator", "controller", {
        "type": "list_results", "request": 7, "run": None, "from": "a", "to": None, "kind": "mtu",
        "status": 2, "since": None, "until": None, "limit": 1000, "before": None}),
    ("controller", "operator", {
        "type": "part", "request": 7, "offset": 0, "total": 5, "data": b"{}\0\xff\n",
        "last": True}),
]


def first(kind):
    return next(message for _, _, message in MESSAGES if message["type"] == kind)


def tool(frame, way=("agent", "controller")):
    return subprocess.run([TOOL, *way], input=frame, capture_output=True, timeout=60)


class Witness(unittest.TestCase):
    def test_each_message_means_the_same_to_both(self):
        for sender, receiver, message in MESSAGES:
            with self.subTest(message["type"]):
                done = tool(msgpack.packb(message), (sender, receiver))
                self.assertEqual((0, b""), (done.returncode, done.stderr))
                self.assertEqual(message, msgpack.unpackb(done.stdout, strict_map_key=True))

    def test_both_write_the_same_bytes(self):
        for sender, receiver, message in MESSAGES:
            with self.subTest(message["type"]):
                frame = msgpack.packb(message)
                self.assertEqual(frame, tool(frame, (sender, receiver)).stdout)

    def test_single_floats_and_integers_are_reals_too(self):
        frame = msgpack.packb(first("progress"), use_single_float=True)
        self.assertEqual(0.5, msgpack.unpackb(tool(frame).stdout)["elapsed_s"])
        frame = msgpack.packb(dict(first("progress"), elapsed_s=2))
        self.assertEqual(2.0, msgpack.unpackb(tool(frame).stdout)["elapsed_s"])

    def test_what_packers_can_do_and_we_refuse(self):
        ping = {"type": "ping"}
        for extra, words in (
                ({1: 2}, "/: a key that is no text"),
                ({b"x": 2}, "/: a key that is no text"),
                ({"x": float("nan")}, "/x: not a finite number"),
                ({"x": float("-inf")}, "/x: not a finite number"),
                ({"x": 2 ** 63}, "/x: an integer above 9223372036854775807"),
                ({"x": msgpack.ExtType(5, b"abc")}, "/x: an extension type"),
                ({"x": msgpack.Timestamp(1, 2)}, "/x: an extension type"),
                ({"x": "a\0b"}, "/x: text with a zero byte")):
            with self.subTest(extra):
                done = tool(msgpack.packb({**ping, **extra}))
                self.assertEqual((1, words + "\n"), (done.returncode, done.stderr.decode()))

    def test_old_raw_strings_are_no_bytes(self):
        done = tool(msgpack.packb(dict(first("result"), body=b"abc"), use_bin_type=False))
        self.assertEqual(1, done.returncode)
        self.assertIn(b"/body: text", done.stderr)


if __name__ == "__main__":
    if msgpack is None:
        print("SKIPPED: this Python has no msgpack")
        sys.exit(SKIPPED)
    TOOL = sys.argv[2]
    unittest.main(argv=sys.argv[:1])
