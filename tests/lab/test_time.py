#!/usr/bin/env python3
"""Processes that stand still, a wall clock that is set, a monotonic clock that has just begun.
Usage: test_time.py SONDE; needs root."""

import os
import signal
import struct
import sys
import threading
import time

from fleet import Fleet, measured
from hosts import Hosts, closed, main, paced
from network import wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.environ.get("SONDE_TOOLS") or os.path.join(os.path.dirname(Hosts.sonde), "tests", "bin")
STOPPED_S = 5


class Stepped(Fleet):
    """A fleet whose agents' wall clocks can be set."""

    def __enter__(self):
        for name in self.names:
            self.step(name, 0)
            self.around[name] = ("env", f"LD_PRELOAD={os.path.abspath(TOOLS)}/clock_shim.so",
                                 f"CLOCK_SHIM_FILE={self.path(name + '.step')}")
        return super().__enter__()

    def step(self, name, seconds):
        path = self.path(name + ".step")
        # Written in place: the daemon has it mapped.
        with open(path, "r+b" if os.path.exists(path) else "wb") as file:
            file.write(struct.pack("=q", seconds))


class Time(Hosts):
    @classmethod
    def make_fleet(cls):
        return Stepped(cls.network, cls.sonde)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network.count_udp()

    def meanwhile(self, after, what):
        """Calls `what` so many datagrams of A after now."""
        before = self.network.udp_from("a")

        def run():
            wait_for(lambda: self.network.udp_from("a") - before >= after, pause=0.02)
            what()
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)

    # --- processes that stand still ------------------------------------------------------------

    def stand_still(self, name):
        process = self.fleet.agents[name]
        process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        process.send_signal(signal.SIGCONT)

    def stopped(self, name, *flags):
        """A run in which an agent stands still for 5 s; its legs, and how many datagrams A sent."""
        before = self.network.udp_from("a")
        began = time.monotonic()
        self.meanwhile(100, lambda: self.stand_still(name))
        run, forward, reverse = self.measure(*flags)
        stalls = measured(run)["stalls_ns"]
        other, own = (1, 0) if name == "a" else (0, 1)
        self.assertGreater(stalls[own], (STOPPED_S - 0.5) * 1e9)
        self.assertLess(stalls[own], (STOPPED_S + 1) * 1e9)
        self.assertLess(stalls[other], 1e9)
        self.assertLess(time.monotonic() - began, STOPPED_S + 12)
        self.assertEqual(self.network.udp_from("a") - before,
                         forward["sent"] + run["cases"][0]["agreement"]["hellos_sent"])
        self.assert_counts(reverse)
        return run, forward, reverse

    def test_sender_stands_still_in_a_closed_loop(self):
        run, forward, _ = self.stopped("a", *closed(seconds=3, window=8))
        self.assert_counts(forward)
        # No more than a window came back all at once.
        self.assertLessEqual(self.slow(run), 8)

    def test_echo_stands_still_in_a_closed_loop(self):
        run, forward, _ = self.stopped("b", *closed(seconds=7, window=8))
        self.assert_counts(forward)
        self.assertLessEqual(self.slow(run), 8)

    def assert_pace(self, run, bursts):
        """As many bursts went out or were left out as were due."""
        phase = measured(run)
        due = phase["forward"]["attempted"] // run["plan"]["windows"][0] + phase["skipped_bursts"]
        self.assertEqual(bursts, due)

    def slow(self, run):
        """Round trips of more than a second."""
        return sum(count for low, count in run["cases"][0]["rtt_ns"]["histogram"] if low > 1e9)

    def test_sender_stands_still_in_an_open_loop(self):
        run, forward, _ = self.stopped("a", *paced(interval_ms=5, seconds=7, window=2))
        self.assert_counts(forward)
        phase = measured(run)
        # 2 s of bursts of 2 went out; the others were left out, not made up for.
        self.assertGreater(phase["skipped_bursts"], 900)
        self.assertGreater(phase["slip_ns"], 4.5e9)
        self.assert_pace(run, 1400)

    def test_echo_stands_still_in_an_open_loop(self):
        run, forward, _ = self.stopped("b", *paced(interval_ms=5, seconds=7, window=1))
        self.assert_counts(forward)
        self.assert_pace(run, 1400)

    # --- a wall clock that is set ----------------------------------------------------------------

    def test_wall_clock_is_set_in_a_run(self):
        for name, host in (("a", 0), ("b", 1)):
            plain, *_ = self.measure(*paced(interval_ms=5, seconds=1))
            self.assertEqual([0, 0], [one["clock_step_ns"] for one in plain["hosts"]])
            for hours in (-1, 2):
                began = time.monotonic()
                before = self.network.udp_from("a")
                self.meanwhile(100, lambda: self.fleet.step(name, hours * 3600))
                run, forward, reverse = self.measure(*paced(interval_ms=5, seconds=1, warmup=0.2))
                self.assert_counts(forward)
                self.assert_counts(reverse)
                self.assertLess(time.monotonic() - began, 6)
                self.assertLess(run["cases"][0]["rtt_ns"]["max"], 1e9)
                self.assert_pace(run, 200)
                self.assertLessEqual(self.network.udp_from("a") - before, 201 + 42 + 4)
                steps = [one["clock_step_ns"] for one in run["hosts"]]
                self.assertAlmostEqual(hours * 3600e9, steps[host], delta=1e9)
                self.assertEqual(0, steps[1 - host])
                one_way = run["cases"][0]["one_way_ns"]
                self.assertEqual([None, None], [one_way["forward"], one_way["reverse"]])
                self.assertIn(f"{('sender', 'echo')[host]}'s host was stepped", one_way["withheld"])
                self.assertIn("set back by 3600 s" if hours < 0 else "set ahead by 7200 s",
                              self.fleet.sonde("show", run["id"]).stdout.replace("\n", " "))
                self.fleet.step(name, 0)
        self.assertTrue(all(row["connected"] for row in self.fleet.rows()))


class Near(Fleet):
    def __enter__(self):
        for name in ("controller", *self.names):
            self.around[name] = (sys.executable, os.path.join(HERE, "near_zero.py"))
        return super().__enter__()


class NearZero(Hosts):
    """All three daemons have just been born, as on a machine that has just booted."""

    @classmethod
    def make_fleet(cls):
        return Near(cls.network, cls.sonde)

    def test_runs_are_as_ever(self):
        for process in self.fleet.agents.values():
            with open(f"/proc/{process.pid}/timens_offsets", encoding="ascii") as file:
                self.assertIn("-", file.read())
        for flags in (closed(seconds=0.3, clients=3, warmup=0.1),
                      paced(interval_ms=2, seconds=0.3)):
            for engine in ("single", "batch"):
                run, forward, reverse = self.measure(*flags, "--engine", engine)
                self.assert_counts(forward)
                self.assert_counts(reverse)
                self.assertEqual("pass", run["cases"][0]["status"])
                self.assertLess(run["cases"][0]["rtt_ns"]["max"], 1e9)
        self.assertTrue(all(0 <= row["last_seen_s"] < 60 for row in self.fleet.rows()))


if __name__ == "__main__":
    main()
