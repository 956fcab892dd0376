#!/usr/bin/python3
"""`sonde advise` and `sonde charge`: what they say is what sockets of this program's own see.

usage: test_advise.py PATH-OF-SONDE
"""
import contextlib
import json
import math
import os
import pwd
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SONDE = ""
SEED = int(os.environ.get("SONDE_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
FAMILIES = {"ipv4": (socket.AF_INET, "127.0.0.1", 65507), "ipv6": (socket.AF_INET6, "::1", 65527)}
SO_MEMINFO = 55


def run(*words, **options):
    done = subprocess.run([SONDE, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr


def meminfo(receiver):
    """(bytes charged, buffer, drops)"""
    words = struct.unpack("9I", receiver.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
    return words[0], words[1], words[8]


@contextlib.contextmanager
def pair(family="ipv4", rcvbuf=None):
    """A receiver, with SO_RCVBUF when that is given, and a sender connected to it."""
    domain, address, _ = FAMILIES[family]
    with socket.socket(domain, socket.SOCK_DGRAM) as receiver, \
            socket.socket(domain, socket.SOCK_DGRAM) as sender:
        receiver.bind((address, 0))
        if rcvbuf is not None:
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        sender.connect(receiver.getsockname())
        receiver.settimeout(0.5)
        yield receiver, sender


def burst(family, payload, count, rcvbuf):
    """Sends that many to a socket that is not read; (lost by its own count, read afterwards)."""
    with pair(family, rcvbuf) as (receiver, sender):
        block = bytes(payload)
        for _ in range(count):
            sender.send(block)
        held = 0
        deadline = time.monotonic() + 2
        while held + meminfo(receiver)[2] < count and time.monotonic() < deadline:
            try:
                receiver.recv(payload)
            except TimeoutError:
                break
            held += 1
        return meminfo(receiver)[2], held


def charge(receiver, sender, payload):
    """What one datagram alone is charged."""
    for _ in range(5):
        sender.send(bytes(payload))
        receiver.recv(1, socket.MSG_PEEK)
        found = meminfo(receiver)[0]
        if len(receiver.recv(70000)) == payload and meminfo(receiver)[0] == 0:
            return found
    raise AssertionError(f"{payload} bytes are never alone")


class Case(unittest.TestCase):
    def assert_one_error(self, words, *needles):
        code, out, err = run(*words)
        self.assertEqual((code, out), (2, ""), words)
        self.assertEqual(err.count("\n"), 1, err)
        for needle in (f"sonde {words[0]}: ", *needles):
            self.assertIn(needle, err)

    def advice(self, *words, code=0, **options):
        found, out, err = run("advise", "--json", *words, **options)
        self.assertEqual((found, err), (code, ""), words)
        self.assertEqual(out.count("\n"), 1)
        return json.loads(out)


class Bursts(Case):
    def pairs(self, chance, limit):
        """20 questions whose answer this host grants: payload, burst, family."""
        for i in range(20):
            family = "ipv6" if i % 4 == 3 else "ipv4"
            payload = int(math.exp(chance.uniform(0, math.log(FAMILIES[family][2]))))
            # the charge is about twice the payload at most, or some hundred bytes
            most = limit // (2 * payload + 1300)
            count = int(math.exp(chance.uniform(math.log(4), math.log(max(most, 5)))))
            yield payload, count, family

    def test_the_advised_buffer_holds_and_ten_percent_less_does_not(self):
        chance = random.Random(SEED)
        print(f"SONDE_TEST_SEED={SEED}", flush=True)
        limit = self.advice("--payload", "1", "--burst", "1")["most_granted"]
        for payload, count, family in self.pairs(chance, min(limit, 8 << 20)):
            told = self.advice("--payload", str(payload), "--burst", str(count),
                               "--family", family)
            what = (family, payload, count, told)
            self.assertTrue(told["curable"] and told["limit_is_enough"], what)
            self.assertTrue(told["proof"]["agrees"] and not told["proof"]["at_limit"], what)
            self.assertEqual(told["proof"]["advised"]["held"], count, what)
            self.assertLess(told["proof"]["smaller"]["held"], count, what)
            less = told["ask"] * 9 // 10
            for _ in range(5):
                self.assertEqual(burst(family, payload, count, told["ask"]), (0, count), what)
                lost, held = burst(family, payload, count, less)
                self.assertGreater(lost, 0, what)
                self.assertEqual(lost + held, count, what)

    def test_what_a_plain_socket_holds_is_told(self):
        for family in FAMILIES:
            told = self.advice("--payload", "1000", "--burst", "10", "--family", family)
            with pair(family) as (receiver, _):
                self.assertEqual(meminfo(receiver)[1], told["default_granted"])
            holds = told["default_holds"]
            self.assertEqual(burst(family, 1000, holds, None)[0], 0)
            self.assertEqual(burst(family, 1000, holds + 3, None)[0], 3)
            for count, enough in ((holds, True), (holds + 1, False)):
                told = self.advice("--payload", "1000", "--burst", str(count), "--family", family)
                self.assertEqual(told["default_is_enough"], enough)

    def test_a_stream_that_goes_on_during_a_pause_is_held(self):
        """Nobody reads for a while; then the queue is read off as fast as new ones come in."""
        told = self.advice("--payload", "1000", "--burst", "8", "--rate", "10000", "--pause", "5")
        self.assertEqual(told["datagrams"], 58)
        for rcvbuf, lossless in ((told["ask"], True), (told["taken"] // 2, False)):
            with pair("ipv4", rcvbuf) as (receiver, sender):
                for _ in range(58):
                    sender.send(bytes(1000))
                self.assertEqual(meminfo(receiver)[2], 0)
                for _ in range(3000):
                    receiver.recv(1000)
                    sender.send(bytes(1000))
                # what freed room comes back late for is what the advice adds a third for
                self.assertEqual(meminfo(receiver)[2] == 0, lossless, rcvbuf)


class Words(Case):
    def test_text_has_the_numbers_and_the_lines(self):
        code, out, err = run("advise", "--payload", "1472", "--burst", "100")
        told = self.advice("--payload", "1472", "--burst", "100")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"int bytes = {told['ask']};", out)
        self.assertIn("setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);", out)
        self.assertIn(f"must be {told['needed']} or more", out)
        self.assertIn("sent 100, held 100 (predicted 100), lost 0", out)
        self.assertRegex(out, r"sent 100, held 99 \(predicted 99\), lost 1\n")
        self.assertNotIn("sysctl", out)
        self.assertTrue(all(len(line) <= 100 for line in out.splitlines()))

    def test_above_the_limit_it_says_how_to_raise_it(self):
        limit = int(read_file("/proc/sys/net/core/rmem_max"))
        holds = self.advice("--payload", "8192", "--burst", "1")["most_holds"]
        words = ["--payload", "8192", "--burst", str(holds + 1)]
        told = self.advice(*words)
        self.assertFalse(told["limit_is_enough"])
        self.assertGreater(told["ask"], limit)
        self.assertEqual(told["sysctl"], [f"sysctl -w net.core.rmem_max={told['ask']}",
                                          f"net.core.rmem_max = {told['ask']}"])
        proof = told["proof"]
        self.assertTrue(proof["at_limit"] and proof["agrees"] and proof["smaller"] is None)
        self.assertEqual(proof["advised"]["held"], holds)
        out = run("advise", *words)[1]
        for needle in (*told["sysctl"], "/etc/sysctl.d/", "more than this system grants"):
            self.assertIn(needle, out)

    def test_too_slow_a_reader_is_not_cured(self):
        told = self.advice("--payload", "1000", "--burst", "1", "--rate", "10000",
                           "--read-ns", "300000")
        self.assertFalse(told["curable"] or told["default_is_enough"] or told["limit_is_enough"])
        self.assertAlmostEqual(told["first_drop_s"],
                               (told["most_holds"] - 1) / (10000 - 1e9 / 300000))
        self.assertEqual(told["sysctl"], [])
        out = run("advise", "--payload", "1000", "--burst", "1", "--rate", "10000", "--read-ns",
                  "300000")[1]
        self.assertIn("cures this: 10,000 datagrams a second come and 3,333 are read", out)
        self.assertIn("66.7 % are lost", out)
        self.assertNotIn("setsockopt", out)
        self.assertTrue(self.advice("--payload", "1000", "--burst", "1", "--rate", "3000",
                                    "--read-ns", "300000")["curable"])

    def test_what_no_socket_can_have(self):
        told = self.advice("--payload", "1000", "--burst", "1000000000")
        self.assertFalse(told["possible"])
        self.assertEqual(told["sysctl"], [])
        self.assertIn("No socket buffer can be that large",
                      run("advise", "--payload", "1000", "--burst", "1000000000")[1])

    def test_no_proof_sends_nothing_to_prove(self):
        told = self.advice("--payload", "1000", "--burst", "100", "--no-proof")
        self.assertIsNone(told["proof"])
        self.assertEqual(told["no_proof"], "it was not asked for")
        self.assertIn("Not proved", run("advise", "--payload", "1000", "--burst", "100",
                                        "--no-proof")[1])

    def test_bad_input(self):
        for words, needle in (
                (["--burst", "5"], "--payload is needed"),
                (["--payload", "5"], "--burst is needed"),
                (["--payload", "0", "--burst", "5"], "--payload: \"0\" is not allowed"),
                (["--payload", "65508", "--burst", "5"], "65507"),
                (["--payload", "65528", "--burst", "5", "--family", "ipv6"], "1 to 65527"),
                (["--payload", "5", "--burst", "0"], "--burst"),
                (["--payload", "5", "--burst", "x"], "\"x\""),
                (["--payload", "5", "--burst", "5", "--pause", "5"], "only with --rate"),
                (["--payload", "5", "--burst", "5", "--rate", "-1"], "--rate"),
                (["--payload", "5", "--burst", "5", "--rate", "1e9"], "--rate"),
                (["--payload", "5", "--burst", "5", "--read-ns", "1.5"], "--read-ns"),
                (["--payload", "5", "--burst", "5", "--family", "ipv5"], "ipv4"),
                (["--payload", "5", "--burst", "5", "--brust", "5"], "did you mean --burst?"),
                (["--payload", "5", "--burst", "5", "more"], "\"more\"")):
            self.assert_one_error(["advise", *words], needle)
        for words, needle in (
                (["--from", "9", "--to", "8"], "it is below --from, 9"),
                (["--to", "65508"], "above 65507 is not allowed over ipv4"),
                (["--from", "65528", "--family", "ipv6"], "0 to 65527"),
                (["--from", "-1"], "--from"),
                (["--form", "1"], "did you mean --from?")):
            self.assert_one_error(["charge", *words], needle)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become nobody")
    def test_nobody_can_run_both(self):
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = shutil.copy(SONDE, folder)
            os.chmod(copy, 0o755)
            for words in (["advise", "--payload", "1000", "--burst", "100"], ["charge"]):
                done = subprocess.run([copy, *words], capture_output=True, text=True, timeout=60,
                                      user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertNotIn("not measured", done.stdout)


def read_file(path):
    with open(path, encoding="ascii") as file:
        return file.read()


class Charge(Case):
    def measured(self, *words, **options):
        code, out, err = run("charge", "--json", *words, **options)
        self.assertEqual((code, err), (0, ""))
        whole = json.loads(out)
        self.assertEqual([way["way"] for way in whole["ways"]],
                         ["plain", "connected", "other-cpu", "gro"])
        return whole

    def bounds(self, family, low, high):
        """Every payload whose charge is neither that of the one before nor one byte more."""
        with pair(family) as (receiver, sender):
            known = {}

            def at(payload):
                if payload not in known:
                    known[payload] = charge(receiver, sender, payload)
                return known[payload]

            def search(left, right):
                if at(right) - at(left) in (0, right - left):
                    return []
                if right - left == 1:
                    return [right]
                middle = (left + right) // 2
                return search(left, middle) + search(middle, right)

            # in pieces: far apart, two charges may differ by their distance by chance
            marks = [*range(low, high, 64), high]
            found = [step for piece in zip(marks, marks[1:]) for step in search(*piece)]
            return found, known

    def test_steps_are_those_of_an_independent_search(self):
        for family, (_, _, most) in FAMILIES.items():
            steps = self.measured("--family", family)["ways"][0]["steps"]
            found, known = self.bounds(family, 0, most)
            self.assertEqual([step["from"] for step in steps], [0, *found])
            self.assertEqual([step["to"] for step in steps], [n - 1 for n in found] + [most])
            for step in steps:
                for payload in known:
                    if step["from"] <= payload <= step["to"]:
                        self.assertEqual(
                            known[payload],
                            step["charge"] + (payload - step["from"]) * step["slope"])

    def test_every_way_covers_the_range(self):
        whole = self.measured("--from", "1000", "--to", "1500")
        for way in whole["ways"]:
            if way["reason"] is not None:
                self.assertEqual(way["steps"], [])
                continue
            self.assertEqual((way["steps"][0]["from"], way["steps"][-1]["to"]), (1000, 1500))
        plain, connected = whole["ways"][:2]
        self.assertTrue(plain["same_as_plain"])
        self.assertEqual(connected["same_as_plain"], connected["steps"] == plain["steps"])

    def test_one_cpu_is_not_enough_for_two(self):
        one = min(os.sched_getaffinity(0))
        way = self.measured("--from", "100", "--to", "200",
                            preexec_fn=lambda: os.sched_setaffinity(0, {one}))["ways"][2]
        self.assertEqual((way["steps"], way["reason"]), ([], "this process may use one CPU only"))

    def test_other_traffic_changes_nothing(self):
        quiet = self.measured()
        noise = subprocess.Popen([sys.executable, "-c", """
import socket
full = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
full.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(full.getsockname())
print("ready", flush=True)
while True:
    sender.send(bytes(3000))
"""], stdout=subprocess.PIPE)
        try:
            noise.stdout.readline()
            self.assertEqual(self.measured(), quiet)
        finally:
            noise.kill()
            noise.communicate()

    def test_text_has_every_step_of_the_plain_way(self):
        whole = self.measured()
        code, out, err = run("charge")
        self.assertEqual((code, err), (0, ""))
        table = out.split("\nplain: ", 1)[1].split("\nconnected: ", 1)[0]
        numbers = [re.sub(",", "", line).split() for line in table.splitlines() if " to " in line]
        self.assertEqual([(int(n[0]), int(n[2]), int(n[3])) for n in numbers],
                         [(s["from"], s["to"], s["charge"]) for s in whole["ways"][0]["steps"]])
        self.assertTrue(all(len(line) <= 100 for line in out.splitlines()))


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
