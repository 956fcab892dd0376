#!/usr/bin/python3
"""`sonde buffers` as its users run it: what a buffer holds, against what was predicted and what the
kernel says itself.

usage: test_buffers.py PATH-OF-SONDE
"""
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import udp_lab

SONDE = ""
SANITIZED = bool(os.environ.get("SONDE_SANITIZE"))
FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


def limit(name):
    return int(pathlib.Path("/proc/sys/net/core", name).read_text())


class Run:
    """One call: its exit code, output and, with --json, the run."""

    def __init__(self, *words, output=None, program=None, **options):
        folder = output or tempfile.mkdtemp(prefix="sonde-test-")
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("timeout", 100)
        done = subprocess.run([program or SONDE, "buffers", "--output", folder, *words],
                              stderr=subprocess.PIPE, check=False, **options)
        self.code = done.returncode
        self.out = (done.stdout or b"").decode()
        self.err = done.stderr.decode()
        if output is None:
            self.archives = sorted(os.listdir(folder))
            shutil.rmtree(folder)

    @property
    def run(self):
        return json.loads(self.out)


def measure(*words, **options):
    done = Run("--json", *words, **options)
    assert done.code == 0, done.err
    run = done.run
    for case in run["cases"]:
        assert case["error"] is None, case
    return run


def listed(values):
    return ",".join(map(str, values))


class Case(unittest.TestCase):
    def assert_reconciled(self, case, overflows=True):
        """Held is as predicted, and every datagram is in the buffer or among the socket's drops."""
        self.assertEqual(case["held"] + case["dropped"]["socket"], case["sent"], case)
        self.assertAlmostEqual(case["predicted_held"], case["held"], delta=1, msg=case)
        if overflows:
            self.assertGreater(case["dropped"]["socket"], 0, "a burst that fits shows nothing")

    def assert_one_error(self, done, code, *words):
        self.assertEqual(done.code, code, done.err)
        self.assertEqual(done.out, "")
        self.assertEqual(done.err.count("\n"), 1, done.err)
        for word in words:
            self.assertIn(word, done.err)


class Ladder(Case):
    ASKED = [1, 4096, 65536, 262144, 1048576, 4194304, 8388608, 16777216, 67108864, 2**31 - 1]

    def granted(self, option, asked):
        """What the kernel grants without sonde."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
            if asked is not None:
                plain.setsockopt(socket.SOL_SOCKET, option, asked)
            return plain.getsockopt(socket.SOL_SOCKET, option)

    def test_each_rung_is_what_the_kernel_grants(self):
        cases = measure("ladder", "--asked", listed(self.ASKED))["cases"]
        self.assertEqual(len(cases), 2 * (1 + len(self.ASKED)))
        for case in cases:
            rcvbuf = case["buffer"] == "rcvbuf"
            option = socket.SO_RCVBUF if rcvbuf else socket.SO_SNDBUF
            name = "rmem_max" if rcvbuf else "wmem_max"
            self.assertEqual(case["granted"], self.granted(option, case["asked"]), case)
            capped = case["asked"] is not None and case["asked"] > limit(name)
            self.assertEqual(case["limit"], "net.core." + name if capped else None, case)


class Hold(Case):
    def payloads(self, family):
        steps = udp_lab.steps(44, 20000, FAMILIES[family])
        self.assertGreaterEqual(len(steps), 4, steps)
        plain = {44, 45, 48, 64, 100, 256, 500, 512, 1000, 1024, 1472, 2048, 3000, 4096, 6000, 8000,
                 8192, 12000, 16356, 16384, 20000, 32768, 40000, 50000, 65506, 65507}
        return sorted(plain | {size + d for size in steps for d in (-1, 0, 1)})

    def assert_held_as_predicted(self, family, rcvbuf, payloads):
        """In groups of one magnitude, so that each burst overflows and none is far too long."""
        granted = 2 * (rcvbuf or limit("rmem_default") // 2)
        groups = {}
        for payload in payloads:
            groups.setdefault(payload.bit_length() // 2, []).append(payload)
        for group in groups.values():
            sends = granted // max(group[0], 600) + 20
            run = measure("hold", "--family", family, "--rcvbuf", str(rcvbuf), "--payload",
                          listed(group), "--sends", str(sends))
            self.assertEqual([c["payload"] for c in run["cases"]], group)
            for case in run["cases"]:
                self.assert_reconciled(case)
                self.assertEqual(case["rcvbuf"]["granted"], max(granted, 2304), case)
                self.assertAlmostEqual(case["bytes_per_datagram"] * case["held"],
                                       case["queued_bytes"], delta=1)

    def test_every_step_in_every_buffer_over_both_families(self):
        for family in FAMILIES:
            payloads = self.payloads(family)
            self.assertGreaterEqual(len(payloads), 40)
            for rcvbuf in (4096, 65536, 0, 1 << 20, limit("rmem_max")):
                with self.subTest(family=family, rcvbuf=rcvbuf):
                    self.assert_held_as_predicted(family, rcvbuf, payloads)

    def test_the_charge_is_what_the_kernel_says_itself(self):
        for family, domain in FAMILIES.items():
            payloads = [0, 1, 44, 1472, 8192, 40000]
            run = measure("hold", "--family", family, "--payload", listed(payloads), "--sends",
                          "400")
            told = [case["bytes_per_datagram"] for case in run["cases"]]
            self.assertEqual(told, list(udp_lab.charges(payloads, domain)))

    def test_a_burst_that_fits_loses_nothing(self):
        case, = measure("hold", "--payload", "100", "--sends", "10")["cases"]
        self.assert_reconciled(case, overflows=False)
        self.assertEqual((case["held"], case["predicted_held"]), (10, 10))

    def test_a_noisy_neighbour_changes_nothing(self):
        with udp_lab.NoisyNeighbour() as neighbour:
            for family in FAMILIES:
                self.assert_held_as_predicted(family, 65536, self.payloads(family))
            run = measure("idle", "--idle", "0.5")
        noise = run["cases"][0]["delta"]["udp.receive_buffer_full"]
        self.assertGreater(noise, 0, "the neighbour must be visible, or this test shows nothing")
        self.assertIn(neighbour.port, [owner["port"] for owner in run["cases"][0]["owners"]])


class Sweep(Case):
    def test_each_buffer_holds_what_was_predicted(self):
        top = limit("rmem_max")
        sizes = [4096, 16384, 65536, 262144, 0, 1 << 20, top, 2 * top]
        for family in FAMILIES:
            run = measure("sweep", "--family", family, "--sweep-payload", "1000", "--sweep-rcvbuf",
                          listed(sizes), "--sends", str(2 * top // 2304 + 50))
            held = {}
            for case in run["cases"]:
                self.assert_reconciled(case)
                held[case["rcvbuf"]["asked"]] = case["held"]
            self.assertEqual([c["rcvbuf"]["asked"] for c in run["cases"]], sizes)
            self.assertEqual(held[top], held[2 * top])
            self.assertGreater(held[top], held[65536])
            self.assertEqual(run["cases"][-1]["rcvbuf"]["limit"], "net.core.rmem_max")


class ClosedPort(Case):
    def test_nobody_listening_is_another_count_than_a_full_buffer(self):
        for family in FAMILIES:
            run = measure("closed-port", "--family", family)
            case, = run["cases"]
            self.assertEqual(case["sent"], 100)
            self.assertGreaterEqual(case["no_socket"]["system"], 100)
            self.assertGreaterEqual(case["receive_buffer"]["system"], 0)
            self.assertGreater(case["refused"]["ECONNREFUSED"], 0)
            self.assertLessEqual(case["refused"]["ECONNREFUSED"], 100)
            self.assertIn("net.ipv4.icmp_ratelimit", run["hosts"][0]["limits"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a network namespace")
    def test_in_a_quiet_namespace_each_is_counted_once(self):
        script = ('ip link set lo up 2>/dev/null || exit 77; exec "$@"')
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["unshare", "--net", "sh", "-c", script, "sh", SONDE, "buffers",
                                   "closed-port", "--json", "--output", folder], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if done.returncode == 77 or b"unshare" in done.stderr:
            self.skipTest("no network namespaces here")
        self.assertEqual(done.returncode, 0, done.stderr)
        case, = json.loads(done.stdout)["cases"]
        self.assertEqual(case["no_socket"]["system"], 100)
        self.assertEqual(case["receive_buffer"]["system"], 0)


class Idle(Case):
    def owner_of(self, run, port):
        found = [o for o in run["cases"][0]["owners"] if o["port"] == port]
        self.assertEqual(len(found), 1, run["cases"][0]["owners"])
        return found[0]

    @unittest.skipUnless(os.geteuid() == 0, "only root sees every process's descriptors")
    def test_who_drops_is_named(self):
        with udp_lab.NoisyNeighbour() as neighbour:
            run = measure("idle", "--idle", "0.5")
            owner = self.owner_of(run, neighbour.port)
            self.assertTrue(owner["process"].endswith(f"({neighbour.process.pid})"), owner)
            self.assertTrue(owner["process"].startswith("python3"), owner)
        case = run["cases"][0]
        self.assertGreater(owner["drops"], 0)
        self.assertLessEqual(owner["drops"], case["delta"]["udp.receive_buffer_full"] + 1000)
        self.assertGreaterEqual(case["seconds"], 0.5)
        drops = [o["drops"] for o in case["owners"]]
        self.assertEqual(drops, sorted(drops, reverse=True))

    def test_the_interval_is_the_run_s_noise(self):
        run = measure("idle", "--idle", "0.4")
        noise = run["hosts"][0]["counters"]["idle"]
        self.assertEqual(noise["seconds"], run["cases"][0]["seconds"])
        self.assertEqual(noise["delta"], run["cases"][0]["delta"])


class Everything(Case):
    SHORT = ["--asked", "4096,67108864", "--payload", "100,8000", "--sends", "500",
             "--sweep-rcvbuf", "65536,0", "--slow-sends", "400", "--read-ns", "100000",
             "--interval", "0,200000", "--slow-rcvbuf", "0", "--closed-port-sends", "20",
             "--idle", "0.2"]
    KINDS = ["ladder"] * 6 + ["hold"] * 2 + ["sweep"] * 2 + ["slow_reader"] * 2 + [
        "closed_port", "idle"]

    def test_all_experiments_in_order_and_nothing_else_in_a_case(self):
        done = Run("--json", *self.SHORT)
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out.count("\n"), 1)
        run = done.run
        self.assertEqual((run["schema"], run["kind"]), ("sonde.run/1", "buffers"))
        self.assertFalse(run["interrupted"])
        self.assertEqual([c["experiment"] for c in run["cases"]], self.KINDS)
        self.assertEqual([c["index"] for c in run["cases"]], list(range(len(self.KINDS))))
        for case in run["cases"]:
            self.assertEqual("held" in case, case["experiment"] in ("hold", "sweep"), case)
            self.assertEqual("owners" in case, case["experiment"] == "idle", case)
            self.assertEqual("queue" in case, case["experiment"] == "slow_reader", case)
        self.assertEqual(run["command"][:2], ["sonde", "buffers"])
        self.assertEqual(len(done.archives), 1)
        self.assertIn("-buffers-", done.archives[0])

    def test_words_and_an_archive_that_checks(self):
        with tempfile.TemporaryDirectory() as folder:
            done = Run(*self.SHORT, output=folder)
            self.assertEqual(done.code, 0, done.err)
            archive = os.path.join(folder, os.listdir(folder)[0])
            subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=archive, check=True)
            report = subprocess.run([SONDE, "report", archive], stdout=subprocess.PIPE, check=True)
        self.assertIn("Archive: " + archive, done.out)
        self.assertIn("8,192", done.out)
        self.assertEqual(report.stdout.decode(), done.out.split("\nArchive: ")[0])
        self.assertEqual(done.err.count("\n"), 1 + len(self.KINDS))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become nobody")
    def test_nobody_can_run_it(self):
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryDirectory() as folder, udp_lab.NoisyNeighbour() as neighbour:
            os.chmod(folder, 0o777)
            copy = os.path.join(folder, "sonde")
            shutil.copy(SONDE, copy)
            os.chmod(copy, 0o755)
            run = measure(*self.SHORT, output=folder + "/runs", program=copy,
                          user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        owner, = [o for o in run["cases"][-1]["owners"] if o["port"] == neighbour.port]
        self.assertIsNone(owner["process"], "a process of root's, and nobody cannot read whose")
        for case in run["cases"]:
            if case["experiment"] in ("hold", "sweep"):
                self.assert_reconciled(case)


class Reader(Case):
    def child_of(self, pid):
        """The process that reads; sonde has no other child."""
        path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        for _ in range(500):
            children = path.read_text().split()
            if children:
                return int(children[0])
            time.sleep(0.01)
        raise AssertionError("no reader")

    def test_a_reader_that_is_killed_costs_its_case_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [SONDE, "buffers", "slow-reader", "--json", "--output", folder, "--slow-sends",
                 "1000", "--interval", "1000000", "--read-ns", "1000", "--slow-rcvbuf", "0,65536"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            reader = self.child_of(process.pid)
            time.sleep(0.2)
            os.kill(reader, signal.SIGKILL)
            out, err = process.communicate(timeout=60)
            self.assertEqual(len(os.listdir(folder)), 1)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn(b"case 1 could not be measured", err)
        first, second = json.loads(out)["cases"]
        self.assertIn("9", first["error"])
        self.assertIsNone(second["error"])
        self.assertEqual(second["processed"], 1000)


class Signals(Case):
    def test_an_interrupt_finishes_the_case_and_archives(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [SONDE, "buffers", "slow-reader", "--json", "--output", folder, "--slow-sends",
                 "1000", "--interval", "1000000", "--read-ns", "1000,2000,3000", "--slow-rcvbuf",
                 "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(0.7)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, err)
            run = json.loads(out)
            self.assertTrue(run["interrupted"])
            self.assertEqual([c["processed"] for c in run["cases"]], [1000])
            self.assertEqual(len(os.listdir(folder)), 1)

    def test_a_second_interrupt_stops_at_once_and_leaves_no_reader(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [SONDE, "buffers", "slow-reader", "--json", "--output", folder, "--slow-sends",
                 "100000", "--interval", "1000000", "--read-ns", "1000"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            reader = Reader.child_of(self, process.pid)
            for _ in range(2):
                time.sleep(0.2)
                process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 1, err)
            self.assertEqual(json.loads(out)["cases"], [])
            self.assertFalse(os.path.exists(f"/proc/{reader}"))


class Usage(Case):
    REFUSED = [
        (["hodl"], "hold"), (["slow_reader"], "slow-reader"), (["closed"], "closed"),
        (["hold", "sweep"], "one experiment"), (["--asked", "0"], "from 1"),
        (["--asked", "-1"], "from 1"), (["--asked", "2147483648"], "2147483647"),
        (["--payload", "65508"], "65507"), (["--family", "ipv6", "--payload", "65528"], "65527"),
        (["--payload", "-1"], "from 0"), (["--payload", "100,,200"], "empty"),
        (["--payload", "100,100"], "twice"), (["--payload", "1e3"], "integer"),
        (["--sends", "0"], "from 1"), (["--slow-sends", "1"], "from 2"),
        (["--sweep-payload", "65508"], "65507"), (["--slow-payload", "65508"], "65507"),
        (["--rcvbuf", "1.5"], "integer"), (["--sweep-rcvbuf", ""], "empty"),
        (["--slow-rcvbuf", "x"], "integer"), (["--read-ns", "2000000000"], "1000000000"),
        (["--interval", "0,0"], "twice"), (["--closed-port-sends", "0"], "from 1"),
        (["--idle", "0"], "0.01"), (["--idle", "nan"], "number"), (["--family", "ipv5"], "ipv4"),
        (["--paylod", "100"], "--payload"), (["--json", "--json"], "twice"),
        (["--read-ns", listed(range(1, 101)), "--interval", listed(range(1, 102))], "10000"),
    ]

    def test_each_bad_value_gets_one_line_and_exit_2(self):
        for words, allowed in self.REFUSED:
            with self.subTest(words=words):
                done = Run(*words)
                self.assert_one_error(done, 2, allowed)
                self.assertEqual(done.archives, [])

    def test_an_output_folder_that_cannot_be_made_is_refused_before_measuring(self):
        began = time.monotonic()
        self.assert_one_error(Run(output="/dev/null/runs"), 2, "/dev/null")
        self.assertLess(time.monotonic() - began, 5)

    def test_a_full_stdout_is_an_error_and_the_archive_is_there(self):
        with open("/dev/full", "wb") as full:
            done = Run("ladder", stdout=full)
        self.assertEqual(done.code, 1)
        self.assertIn("standard output", done.err)
        self.assertEqual(len(done.archives), 1)


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
