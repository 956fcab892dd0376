#!/usr/bin/python3
"""`sonde buffers slow-reader`: what is lost is what the model says, both ends' counts add up, and a
reader that is killed is a case's error, not the run's end.

usage: test_slow_reader.py PATH-OF-SONDE
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SONDE = ""
LINUX = sys.platform.startswith("linux")
PAYLOAD = 1000
SENDS = 5000
POINTS = 0.03  # what a loss may be off the model
TRIES = 3  # this machine may not be quiet
RELEASED = 0.25 if LINUX else 0  # of a buffer that the kernel gives back late at most


def command(folder, *words):
    return [SONDE, "buffers", *words, "--json", "--output", folder]


def run(*words, code=0):
    folder = tempfile.mkdtemp(prefix="sonde-test-")
    try:
        done = subprocess.run(command(folder, *map(str, words)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=200)
    finally:
        shutil.rmtree(folder)
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)["cases"]


def slow_reader(reads, intervals, rcvbufs, sends=SENDS, **options):
    def listed(numbers):
        return ",".join(map(str, numbers))

    return run("slow-reader", "--slow-payload", PAYLOAD, "--slow-sends", sends, "--read-ns",
               listed(reads), "--interval", listed(intervals), "--slow-rcvbuf", listed(rcvbufs),
               **options)


def held_by(rcvbuf):
    """What a socket holds that nobody reads: an experiment of its own."""
    return run("hold", "--payload", PAYLOAD, "--rcvbuf", rcvbuf, "--sends", 8000)[0]["held"]


def formula(case, held):
    """The model without what the kernel does late."""
    read = case["sending_s"] / (case["achieved_read_ns"] / 1e9)
    return max(0, 1 - (held + read) / case["sent"])


def children(pid):
    """(process id, state) of a process's children; a zombie's state begins with Z."""
    out = subprocess.run(["ps", "-Ao", "ppid=,pid=,stat="], stdout=subprocess.PIPE,
                         check=True).stdout
    rows = [line.split() for line in out.decode().splitlines()]
    return [(int(row[1]), row[2]) for row in rows if len(row) >= 3 and int(row[0]) == pid]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    out = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], stdout=subprocess.PIPE,
                         check=False).stdout
    return bool(out.strip()) and not out.strip().startswith(b"Z")


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("waited in vain")


class Account(unittest.TestCase):
    def check(self, case):
        self.assertIsNone(case["error"])
        self.assertEqual(case["sent"] - case["processed"], case["lost"])
        self.assertAlmostEqual(case["lost"] / case["sent"], case["loss_ratio"], places=9)
        self.assertGreaterEqual(case["achieved_read_ns"], case["read_ns"])
        self.assertGreaterEqual(case["achieved_interval_ns"], 0.99 * case["interval_ns"])
        self.assertAlmostEqual(case["sending_s"] * 1e9 / (case["sent"] - 1),
                               case["achieved_interval_ns"], delta=1)
        if not LINUX:
            return
        self.assertEqual(case["dropped"]["socket"], case["lost"])
        self.assertGreaterEqual(case["dropped"]["system"], case["lost"])
        self.check_time(case)

    def check_time(self, case):
        queue, drops = case["queue"], case["drops"]
        for points in queue, drops:
            self.assertTrue(2 <= len(points) <= 400, len(points))
            self.assertEqual(points, sorted(points, key=lambda point: point[0]))
        self.assertEqual(drops[-1][1], case["lost"])
        self.assertEqual([point[1] for point in drops], sorted(point[1] for point in drops))
        self.assertLessEqual(max(point[1] for point in queue), case["rcvbuf"]["granted"])
        if case["lost"] == 0:
            self.assertIsNone(case["first_drop_s"])
            return
        # A full queue is what drops, and the point where that began is kept.
        self.assertGreater(max(point[1] for point in queue), 0.9 * case["rcvbuf"]["granted"])
        first = min(point[0] for point in drops if point[1] > 0)
        self.assertAlmostEqual(first, case["first_drop_s"], places=8)

    def check_model(self, case, held):
        """Off by how much: of the case's own model, and beyond what the plain formula allows."""
        self.check(case)
        plain = formula(case, held)
        late = RELEASED * held / case["sent"]
        self.assertTrue(plain - 1e-9 <= case["model_loss_ratio"] <= plain + late + 1e-9, case)
        beyond = max(plain - case["loss_ratio"], case["loss_ratio"] - plain - late, 0)
        return max(abs(case["loss_ratio"] - case["model_loss_ratio"]), beyond)

    def test_loss_is_what_the_model_says(self):
        """3 read times x 3 paces x 3 buffers; a case that is off is measured again."""
        held = {rcvbuf: held_by(rcvbuf) for rcvbuf in (0, 262144, 524288)}
        seen = {}
        for case in slow_reader((100000, 200000, 400000), (0, 50000, 150000), held):
            which = case["read_ns"], case["interval_ns"], case["rcvbuf"]["asked"]
            off = self.check_model(case, held[which[2]])
            for _ in range(TRIES - 1):
                if off <= POINTS:
                    break
                again = slow_reader(which[0:1], which[1:2], which[2:3])[0]
                off = self.check_model(again, held[which[2]])
            seen[which] = off
        print("off the model:", " ".join(f"{100 * off:.1f}" for off in seen.values()), "points")
        self.assertEqual(27, len(seen))
        self.assertEqual({}, {which: off for which, off in seen.items() if off > POINTS})

    def test_a_large_buffer_gives_room_back_late(self):
        """Where a quarter of the buffer is many datagrams the model still holds."""
        held = held_by(8388608)
        off = 1
        for _ in range(TRIES):
            case = slow_reader([300000], [100000], [8388608], sends=20000)[0]
            off = min(off, self.check_model(case, held))
            if off <= POINTS:
                return
        self.fail(f"{100 * off:.1f} points off the model")

    def test_below_the_read_rate_nothing_is_lost(self):
        for case in slow_reader([100000], [300000, 500000], [1 << 20], sends=2000):
            self.check(case)
            self.assertEqual(0, case["lost"])
            self.assertEqual(0, case["model_loss_ratio"])

    def test_ipv6_adds_up_too(self):
        case = run("slow-reader", "--family", "ipv6", "--slow-sends", 3000, "--read-ns", 200000,
                   "--interval", 50000, "--slow-rcvbuf", 65536)[0]
        self.check(case)
        self.assertGreater(case["lost"], 0)


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-test-")
        self.sonde = None

    def tearDown(self):
        if self.sonde and self.sonde.poll() is None:
            self.sonde.kill()
            self.sonde.communicate()
        shutil.rmtree(self.folder)

    def begin(self, *words):
        """A run of two cases, and its reader's process id."""
        self.sonde = subprocess.Popen(
            command(self.folder, "slow-reader", "--read-ns", "1000000", "--slow-rcvbuf", "0,65536",
                    *words),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        return wait_until(lambda: children(self.sonde.pid))[0][0]

    def test_a_killed_reader_is_its_case_error(self):
        reader = self.begin("--slow-sends", "800", "--interval", "1000000")
        time.sleep(0.3)
        os.kill(reader, signal.SIGKILL)
        killed = time.monotonic()
        second = wait_until(lambda: [pid for pid, state in children(self.sonde.pid)
                                     if pid != reader])[0]
        self.assertLess(time.monotonic() - killed, 1)
        self.assertEqual([second], [pid for pid, state in children(self.sonde.pid)])
        out, err = self.sonde.communicate(timeout=60)
        cases = json.loads(out)["cases"]
        self.assertEqual(2, len(cases), err)
        self.assertRegex(cases[0]["error"],
                         rf"the reader process {reader} ended by signal 9 after \d+ datagrams")
        self.assertIsNone(cases[1]["error"])
        self.assertEqual(800, cases[1]["sent"])
        self.assertFalse(alive(second))

    def test_a_reader_that_stands_still_is_its_case_error(self):
        reader = self.begin("--slow-sends", "500", "--interval", "1000000")
        time.sleep(0.2)
        os.kill(reader, signal.SIGSTOP)
        out, err = self.sonde.communicate(timeout=60)
        cases = json.loads(out)["cases"]
        self.assertRegex(cases[0]["error"],
                         rf"the reader process {reader} stopped reading after \d+ datagrams", err)
        self.assertIsNone(cases[1]["error"])
        self.assertFalse(alive(reader))

    def test_the_reader_does_not_outlive_a_killed_sonde(self):
        reader = self.begin("--slow-sends", "20000", "--interval", "1000000")
        self.assertTrue(alive(reader))
        self.sonde.kill()
        self.sonde.communicate()
        wait_until(lambda: not alive(reader), 5)

    def test_what_a_terminal_sends_ends_both(self):
        reader = self.begin("--slow-sends", "20000", "--interval", "1000000")
        os.killpg(self.sonde.pid, signal.SIGINT)  # finish the running case
        time.sleep(0.3)
        self.assertTrue(alive(reader))
        os.killpg(self.sonde.pid, signal.SIGINT)  # end at once
        self.sonde.communicate(timeout=5)
        self.assertFalse(alive(reader))


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
