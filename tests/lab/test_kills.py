#!/usr/bin/env python3
"""Whoever is killed at whatever moment: every result is stored exactly once, in order.
Usage: test_kills.py SONDE [SEED]; needs root."""

import os
import random
import sys
import tempfile
import time
import unittest

import spools
from fleet import Fleet
from network import SKIPPED, Alone, wait_for, why_impossible

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
KILLS = 200
AGENTS = ("a", "b", "c")
LIVES_S = {"controller": (0.3, 2.0), **dict.fromkeys(AGENTS, (0.02, 0.2))}
RESULTS = 1000  # in a spool that is filled up, which it is below a third of them


class Kills(unittest.TestCase):
    def setUp(self):
        if os.path.isdir("/dev/shm"):
            tempfile.tempdir = "/dev/shm"  # it is processes that die here, no disks
            self.addCleanup(setattr, tempfile, "tempdir", None)
        print(f"seed {SEED}", file=sys.stderr)
        self.chance = random.Random(SEED)
        self.host = Alone().__enter__()
        self.addCleanup(self.host.__exit__)
        self.fleet = Fleet(self.host, SONDE, agents=()).__enter__()
        self.addCleanup(self.fleet.__exit__)
        self.put = {name: [] for name in AGENTS}
        self.ends = {}  # when whoever lives is to be killed

    def waiting(self, name):
        return len(spools.listed(self.fleet.path(f"{name}.sqlite"))[0])

    def start(self, name):
        if name == "controller":
            self.fleet.start_controller()
        else:
            waiting = self.waiting(name)
            self.fill(name, RESULTS - waiting if waiting < RESULTS / 3 else 0)
            self.fleet.start_agent(name)
        self.ends[name] = time.monotonic() + self.chance.uniform(*LIVES_S[name])

    def fill(self, name, count):
        sizes = [self.chance.choice((10, 10, 300, 3000)) for _ in range(count)]
        self.put[name] += zip(spools.put(self.fleet.path(f"{name}.sqlite"), sizes), sizes)

    def kill_next(self):
        """Kills whose time has come, and starts it again; true when results were under way."""
        name = min(self.ends, key=self.ends.get)
        time.sleep(max(0, self.ends[name] - time.monotonic()))
        process = self.fleet.server if name == "controller" else self.fleet.agents[name]
        process.kill()
        process.wait()
        self.host.processes.remove(process)
        were = max(map(self.waiting, AGENTS if name == "controller" else (name,)))
        self.start(name)
        return were > 0

    def are_empty(self):
        """Whether the controller has acknowledged all that there is."""
        return not any(map(self.waiting, AGENTS))

    def test_at_random_moments(self):
        self.ends["controller"] = time.monotonic() + 1
        for name in AGENTS:
            self.start(name)
        done = tried = 0
        while done < KILLS and tried < 3 * KILLS:
            done += self.kill_next()
            tried += 1
        self.assertGreaterEqual(done, KILLS, "results did not flow")
        wait_for(self.are_empty, 60, pause=0.3)
        store = self.fleet.path("sonde.sqlite")
        for name in AGENTS:
            expected = [(one, spools.body(one, size)) for one, size in self.put[name]]
            found = spools.stored(store, name)
            self.assertEqual([one for one, _ in expected], [one for one, _ in found])
            self.assertEqual(expected, found)
            self.assertEqual(0, spools.listed(self.fleet.path(f"{name}.sqlite"))[1])
        print(f"{tried} kills, {spools.count(store)} results", file=sys.stderr)


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
