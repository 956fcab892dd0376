#!/usr/bin/env python3
"""Full disks, full spools and locked files lose nothing that they need not, and end no daemon.
Usage: test_disks.py SONDE; needs root."""

import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
import unittest

import spools
from fleet import Fleet
from network import SKIPPED, Alone, wait_for, why_impossible

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"
LOCKED_S = 3
SMALLEST_SPOOL = 4 * ((1 << 20) - 4096)  # bytes


class Disks(unittest.TestCase):
    def setUp(self):
        self.host = Alone().__enter__()
        self.addCleanup(self.host.__exit__)

    def fleet(self, **more):
        made = Fleet(self.host, SONDE, agents=(), **more)
        made.__enter__()
        self.addCleanup(made.__exit__)
        self.store = made.path("sonde.sqlite")
        return made

    def disk(self, size):
        """A small one, empty."""
        folder = os.path.join(tempfile.gettempdir(), f"sonde-disk-{os.getpid()}")
        self.host.disk(folder, size)
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.addCleanup(self.host.__exit__)
        return folder

    def assert_stored(self, name, ids):
        wait_for(lambda: len(spools.stored(self.store, name)) >= len(ids), 40, pause=0.2)
        self.assertEqual(ids, [one for one, _ in spools.stored(self.store, name)])

    def assert_empty(self, fleet, name):
        """The controller has acknowledged all that was in this spool."""
        wait_for(lambda: not spools.listed(fleet.path(f"{name}.sqlite"))[0], 20, pause=0.3)

    def assert_alive(self, fleet):
        for process in (fleet.server, *fleet.agents.values()):
            self.assertIsNone(process.poll(), fleet.log("controller"))

    def wait_logged(self, fleet, name, words, seconds=20):
        try:
            wait_for(lambda: words in fleet.log(name), seconds)
        except TimeoutError:
            self.fail(f"{name} did not log {words!r}:\n{fleet.log(name)}")

    def test_the_controllers_disk_is_full(self):
        folder = self.disk("6m")
        fleet = self.fleet(controller={"store": {"path": os.path.join(folder, "sonde.sqlite")}})
        self.store = os.path.join(folder, "sonde.sqlite")
        ids = {name: spools.put(fleet.path(f"{name}.sqlite"), [100_000] * 60) for name in "ab"}
        for name in ids:
            fleet.start_agent(name)
        self.wait_logged(fleet, "controller", "agents keep their results")
        time.sleep(1)
        self.assert_alive(fleet)
        self.assertEqual({"a", "b"}, {row["name"] for row in fleet.rows()})
        kept = {name: spools.listed(fleet.path(f"{name}.sqlite")) for name in ids}
        for name, (waiting, dropped) in kept.items():
            self.assertEqual(0, dropped)
            self.assertEqual(ids[name][len(ids[name]) - len(waiting):], waiting)
            stored = [one for one, _ in spools.stored(self.store, name)]
            self.assertEqual(set(ids[name]), {*waiting, *stored})
        self.assertGreater(sum(len(waiting) for waiting, _ in kept.values()), 40)
        self.assertLess(fleet.log("controller").count("\n"), 30)
        self.host.disk(folder, "100m")
        for name in ids:
            self.assert_stored(name, ids[name])
        self.wait_logged(fleet, "controller", "store: works again")
        self.assert_alive(fleet)
        for name in ids:
            self.assert_empty(fleet, name)

    def test_an_agents_disk_is_full(self):
        folder = self.disk("1m")
        fleet = self.fleet()
        fleet.overrides["a"] = {"spool": {"path": os.path.join(folder, "spool.sqlite")}}
        for name in "ab":
            fleet.start_agent(name)
        fleet.wait_connected("ab")
        ballast = os.path.join(folder, "ballast")
        with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        results = []
        run = threading.Thread(target=lambda: results.append(fleet.run(
            "--payload", "200", "--window", "1", "--clients", "1", "--warmup", "0", "--idle", "0",
            "--seconds", "0.2", "--address", "127.0.0.1", check=False)))
        run.start()
        self.wait_logged(fleet, "a", "the spool takes no result, they wait in memory")
        self.assert_alive(fleet)
        os.unlink(ballast)
        run.join()
        self.assertEqual("pass", results[0]["cases"][0]["status"])
        self.wait_logged(fleet, "a", "the spool takes results again")

    def test_a_spool_is_full(self):
        fleet = self.fleet()
        fleet.overrides["a"] = {"spool": {"path": fleet.path("a.sqlite"),
                                          "max_bytes": SMALLEST_SPOOL}}
        ids = spools.put(fleet.path("a.sqlite"), [SMALLEST_SPOOL // 20] * 30)
        fleet.start_agent("a")
        fleet.wait_connected("a")
        self.assert_stored("a", ids[-20:])
        self.assertEqual([10], [row["spool"]["dropped"] for row in fleet.rows()])
        self.assertIn("10 results were dropped", fleet.sonde("agents").stdout)

    def hold(self, path, seconds):
        """Another process has locked the file."""
        other = sqlite3.connect(path, isolation_level=None, timeout=10)
        with contextlib.closing(other) as database:
            database.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            database.execute("ROLLBACK")

    def test_the_store_is_locked(self):
        fleet = self.fleet()
        ids = spools.put(fleet.path("a.sqlite"), [1000] * 3000)
        holder = threading.Thread(target=self.hold, args=(self.store, LOCKED_S))
        holder.start()
        time.sleep(0.3)
        fleet.start_agent("a")
        self.wait_logged(fleet, "controller", "locked")
        self.assertEqual(["a"], [row["name"] for row in fleet.rows()])
        holder.join()
        self.assert_stored("a", ids)
        self.assert_alive(fleet)

    def test_a_spool_is_locked(self):
        fleet = self.fleet()
        ids = spools.put(fleet.path("a.sqlite"), [1000] * 3000)
        fleet.start_agent("a")
        wait_for(lambda: spools.count(self.store) > 0, 20)
        self.hold(fleet.path("a.sqlite"), LOCKED_S)
        self.assert_stored("a", ids)
        self.assert_empty(fleet, "a")
        self.assert_alive(fleet)
        self.assertEqual(1, fleet.log("a").count("connected to"), fleet.log("a"))


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
