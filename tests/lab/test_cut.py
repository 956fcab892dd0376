#!/usr/bin/env python3
"""The way to host B falls silent for 40 s: no packet of TCP gets through, and nobody is told.
Meanwhile two hosts have one identity, and an agent is killed again and again.
Usage: test_cut.py SONDE; needs root.

All of it happens once, at the same time; the tests look at what was written down.
"""

import subprocess
import sys
import threading
import time
import unittest

import spools
from fleet import PORT, Fleet
from network import ADDRESS, ROUTER, SKIPPED, Network, wait_for, why_impossible

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"
SILENCE_S = 40
IDLE_S = 30  # after which either side gives up
SLACK_S = 4
FLAP_S = 30
# a and b measure, c is idle beside b; a and r have the identity d; e is killed.
WAYS = {"a": ROUTER["a", 4], "b": ROUTER["b", 4], "c": ROUTER["b", 4], "d": ROUTER["a", 4],
        "e": ROUTER["a", 4]}


class Story:
    """What happens, and when each thing was first seen."""

    def __init__(self, network, fleet):
        self.network, self.fleet = network, fleet
        self.seen, self.rows, self.back = {}, [], []
        self.over = threading.Event()

    def tell(self):
        for name, host in (("c", "b"), ("e", "a")):
            self.fleet.start_agent(name, host)
        self.fleet.wait_connected("abce")
        self.before = self.held()
        run = threading.Thread(target=self.measure)
        run.start()
        wait_for(lambda: self.held()["udp"] > self.before["udp"], 20)
        time.sleep(2)
        self.network.cut("b", PORT)
        self.cut_at = time.monotonic()
        watch = threading.Thread(target=self.watch)
        watch.start()
        self.clone()
        self.kill_and_restart()
        time.sleep(max(0, self.cut_at + SILENCE_S - time.monotonic()))
        self.after = self.held()
        self.network.mend("b")
        self.fleet.wait_connected("abc", seconds=30)
        run.join()
        self.over.set()
        watch.join()

    def measure(self):
        words = self.fleet.programs.sonde, "run", "--from", "a", "--to", "b", "--payload", "200", \
            "--window", "1", "--clients", "1", "--interval", "10000000", "--warmup", "0", \
            "--seconds", "55", "--controller", f"127.0.0.1:{PORT}", \
            "--identity", self.fleet.operator
        self.run = subprocess.run(self.network.inside("r", *words), capture_output=True, text=True,
                                  timeout=120)
        self.seen["run"] = time.monotonic()

    def watch(self):
        """What an operator sees, and who says what when."""
        while not self.over.wait(0.3):
            rows = {row["name"]: row for row in self.fleet.rows()}
            self.rows.append((time.monotonic(), rows))
            for log, words in (("controller", "agent b"), ("controller", "agent c"),
                               ("b", ""), ("c", "")):
                if any(words in line and "nothing was heard for 30 s" in line
                       for line in self.fleet.log(log).splitlines()):
                    self.seen.setdefault(f"{log} {words}".strip(), time.monotonic())

    def clone(self):
        """The same certificate on two hosts, with a spool for each."""
        self.fleet.start_agent("d", "a")
        self.fleet.wait_connected("d")
        config = self.fleet.agent_config("d")
        config["spool"]["path"] = self.fleet.path("d2.sqlite")
        path = self.fleet.write_config("d2.yaml", config)
        self.fleet.agents["d2"] = self.fleet.start("r", "d2", self.fleet.programs.agent,
                                                   "--config", path)

    def kill_and_restart(self):
        for _ in range(4):
            process = self.fleet.agents["e"]
            process.kill()
            process.wait()
            began, count = time.monotonic(), self.fleet.log("e").count("connected to")
            self.fleet.start_agent("e", "a")
            wait_for(lambda before=count: self.fleet.log("e").count("connected to") > before, 20)
            self.back.append(time.monotonic() - began)

    def held(self):
        """Sockets on host B, and threads of its agents."""
        udp = self.network.run("b", "ss", "-Huan").stdout.count("\n")
        tcp = self.network.run("r", "ss", "-Htn", "state", "established", "sport", "=",
                               f":{PORT}").stdout
        threads = 0
        for name in "bc":
            with open(f"/proc/{self.fleet.agents[name].pid}/status", encoding="ascii") as file:
                threads += next(int(line.split()[1]) for line in file if line.startswith("Threads"))
        return {"udp": udp, "threads": threads,
                "tcp": sum(ADDRESS["b", 4] in line for line in tcp.splitlines())}


class Cut(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = Network().__enter__()
        cls.addClassCleanup(cls.network.__exit__)
        cls.fleet = Fleet(cls.network, SONDE, address=WAYS).__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.story = Story(cls.network, cls.fleet)
        cls.story.tell()

    def assert_in_time(self, who):
        self.assertIn(who, self.story.seen, self.fleet.log(who.split()[0]))
        after = self.story.seen[who] - self.story.cut_at
        self.assertGreater(after, IDLE_S - 11, who)  # it was heard at most 10 s before
        self.assertLess(after, IDLE_S + SLACK_S, who)

    def test_both_sides_give_up_when_idle(self):
        self.assert_in_time("c")
        self.assert_in_time("controller agent c")

    def test_both_sides_give_up_in_a_run(self):
        self.assert_in_time("b")
        self.assert_in_time("controller agent b")
        self.assertLess(self.story.seen["run"] - self.story.cut_at, IDLE_S + SLACK_S + 5)
        self.assertNotEqual(0, self.story.run.returncode)
        self.assertIn("the echo's end is away: nothing was heard for 30 s", self.story.run.stderr)

    def test_what_they_held_is_free(self):
        self.assertEqual(2, self.story.before["tcp"])
        self.assertEqual({**self.story.before, "tcp": 0}, self.story.after)

    def test_all_goes_on_afterwards(self):
        run = self.fleet.run("--payload", "200", "--window", "1", "--clients", "1", "--warmup", "0",
                             "--seconds", "0.2", "--idle", "0")
        self.assertEqual("pass", run["cases"][0]["status"])

    def test_who_did_not_measure_there_notices_nothing(self):
        self.assertEqual(1, self.fleet.log("a").count("connected to"))

    def test_two_hosts_of_one_identity_are_seen_and_do_not_flap(self):
        holders = [(at, rows["d"]["address"]) for at, rows in self.story.rows
                   if rows.get("d", {}).get("connected")]
        changes = [after[0] for before, after in zip(holders, holders[1:]) if before[1] != after[1]]
        for before, after in zip(changes, changes[1:]):
            self.assertGreater(after - before, FLAP_S - 1)
        taken = self.fleet.log("controller").count("agent d: its connection is taken over")
        self.assertIn(taken, (1, 2))  # at once, and again 30 s later at the earliest
        last = self.story.rows[-1][1]["d"]
        self.assertEqual({ADDRESS["a", 4], ROUTER["a", 4]},
                         {last["address"], last["duplicate_address"]})
        self.assertGreater(last["duplicates"], 1)
        text = self.fleet.sonde("agents").stdout
        for address in (ADDRESS["a", 4], ROUTER["a", 4]):
            self.assertIn(address, text)
        for log in ("d", "d2"):
            self.assertLess(self.fleet.log(log).count("\n"), 20)
        self.assertIn("duplicate: agent d", self.fleet.log("d") + self.fleet.log("d2"))

    def test_who_was_killed_is_back_within_seconds(self):
        self.assertEqual(4, len(self.story.back))
        self.assertLess(max(self.story.back), 5)
        self.assertEqual([], spools.listed(self.fleet.path("e.sqlite"))[0])


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
