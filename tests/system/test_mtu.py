#!/usr/bin/env python3
"""sonde mtu, sonde sizes and the path MTUs in sonde results, against a controller that says what
the test wants: what is asked for, what is told meanwhile, what is kept, and how it ends.

    test_mtu.py SONDE
"""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

import fleet
from stage import Stage

SONDE = "sonde"
RUN = "01a22f6c-1ad0-7d73-9f2d-a659c8e511c8"
AGREEMENT = {"hellos_sent": 1, "hellos_answered": 1, "rtt_ns": 100000, "strangers": None}


def row(number=1, direction="forward", **more):
    """A row of the store."""
    return {"row": number, "run": RUN, "started": "2026-12-01T10:00:00Z", "from": "paris",
            "to": "oslo", "index": ["forward", "reverse"].index(direction), "family": "ipv4",
            "direction": direction, "status": "pass", "error": None, "verdict": "signalled",
            "flows": 1, "path_mtu": 1400, "largest": 1400, "udp_payload": 1372, "local_mtu": 1500,
            "previous": None, "threshold": None, "groups": "1400",
            "words": "10.9.1.254 said so (ICMP)", "probes": 40, "seconds": 0.2, "changes": 0,
            **more}


def progress(**more):
    return {"type": "run_progress", "run": RUN, "index": 0, "state": "send", "phase": "forward",
            "elapsed_s": 0.5, "sent": 20, "received": 15, "low": 1280, "high": 1500,
            "flows_done": 0, **more}


def moved(before, now, after_s, change="changed"):
    return {"type": "run_moved", "run": RUN, "family": "ipv4", "direction": "forward",
            "event": {"flow": 0, "change": change, "from": before, "to": now,
                      "after_s": after_s}}


def flow(**more):
    return {"flow": 0, "source_port": 40001, "outcome": "found", "limit": "path",
            "path_mtu": 1400, "next_size": 1401, "confirmed": True, "local_mtu": 1500,
            "kernel_path_mtu": 1400, "kernel_before": 1500,
            "icmp": [{"from": "10.9.1.254", "mtu": 1400, "accepted": True, "judged": "accepted",
                      "count": 1}],
            "icmp_missed": 0, "probes": 40, "retries": 3, "refused": 0, "controls": 8,
            "controls_lost": 0, "rtt_ns": 200000, "seconds": 0.02, "unreachable": 0,
            "unreachable_kind": None, "unreachable_from": None, "odd_answers": 0,
            "fragments": "untested", "fragment_probes": None, "hops": None, "size_effect": None,
            "loss_by_size": [], **more}


def case(index, direction, verdict="signalled", **more):
    found = flow(**more)
    return {"index": index, "family": "ipv4", "direction": direction, "verdict": verdict,
            "error": None,
            "udp_payload": found["path_mtu"] and found["path_mtu"] - 28, **found}


def session(**more):
    answered = {"fragments_told": True, "answered": 37, "in_fragments": 0, "reassembled": 0,
                "damaged": 0, "foreign": 0, "largest": 1400, "refused": 0}
    return {"family": "ipv4", "error": None, "local": "10.9.1.1:40001", "peer": "10.9.2.2:7870",
            "agreement": AGREEMENT, "answered_forward": answered, "answered_reverse": answered,
            "events_forward": [], "events_reverse": [], **more}


def say(*messages):
    """A run in which these things happen."""
    def run(operator, _order):
        for message in messages:
            operator.send(message)
    return run


def done(outcome="complete", reason=None):
    return {"type": "run_done", "run": RUN, "outcome": outcome, "reason": reason}


def mtu_done(**more):
    return {"type": "mtu_done", "row": row(**more)}


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = fleet.Folder()
        folder = cls.shared.__enter__()
        cls.certs = fleet.Authority(os.path.join(folder, "ca"))
        cls.controller = cls.certs.issue("controller", "c")
        cls.identity = os.path.dirname(cls.certs.issue("operator", "o")[0])
        # Hosts as an archive has them, from a real one.
        found = subprocess.run(
            [SONDE, "loopback", "--json", "--payload", "1472", "--window", "1", "--clients", "1",
             "--repeat", "1", "--warmup", "0", "--seconds", "0.05", "--idle", "0", "--output",
             folder], check=True, capture_output=True, timeout=60)
        cls.loopback = json.loads(found.stdout)

    @classmethod
    def tearDownClass(cls):
        cls.shared.__exit__()

    def setUp(self):
        folder = fleet.Folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__)

    def archive(self, cases=None, sessions=None, interrupted=False, **common):
        host = {**self.loopback["hosts"][0], "clock_step_ns": 0}
        plan = {"families": ["ipv4"], "direction": "both", "flows": 1, "floor": 0, "ceiling": 0,
                "tries": 3, "budget": 3000, "pace": 12500000, "fragments": False, "trace": False,
                "sizes": 0, "watch_s": 0, "check_s": 1, "raise_s": 600, **common}
        return {**{key: self.loopback[key] for key in ("schema", "tool", "started", "finished")},
                "id": RUN, "kind": "mtu", "command": ["sonde", "mtu"], "interrupted": interrupted,
                "hosts": [{**host, "name": "paris", "role": "sender"},
                          {**host, "name": "oslo", "role": "echo"}],
                "plan": plan, "sessions": sessions or [session()],
                "cases": cases or [case(0, "forward"), case(1, "reverse")]}

    def stage(self, **more):
        stage = Stage(self.controller, accepts={"run": RUN, "cases": 1}, **more)
        stage.__enter__()
        self.addCleanup(stage.__exit__)
        return stage

    def words(self, stage, command, *flags):
        between = ("--from", "paris", "--to", "oslo") if command != "results" else ()
        output = ("--output", os.path.join(self.folder, "runs")) if command != "results" else ()
        return [SONDE, command, *between, *flags, *output, "--controller",
                f"127.0.0.1:{stage.port}", "--identity", self.identity]

    def sonde(self, stage, command, *flags, code=0):
        done_ = subprocess.run(self.words(stage, command, *flags), capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=60, cwd=self.folder,
                               env={**os.environ, "TMPDIR": self.folder})
        self.assertEqual(code, done_.returncode, done_.stdout + done_.stderr)
        self.assertEqual([], stage.wrong)
        return done_

    def archives(self):
        folder = os.path.join(self.folder, "runs")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


class Asking(Commands):
    def plan_of(self, command, *flags):
        """What the controller is asked for; the run is refused there."""
        stage = self.stage(run=say(done("failed", "that is all")))
        told = self.sonde(stage, command, *flags, code=1)
        self.assertIn(f"sonde {command}: that is all\n", told.stderr)
        order = stage.of("run")[0]
        self.assertEqual(("mtu", "paris", "oslo"), (order["kind"], order["from"], order["to"]))
        self.assertEqual(["sonde", command], order["command"][:2])
        return order["plan"], order

    def test_without_flags(self):
        plan, order = self.plan_of("mtu")
        self.assertEqual({"families": [], "direction": "both", "flows": 1, "floor": 0,
                          "ceiling": 0, "tries": 3, "budget": 3000, "pace": 12500000,
                          "fragments": True, "trace": True, "sizes": 0, "watch_s": 0,
                          "check_s": 1, "raise_s": 600}, plan)
        self.assertIsNone(order["address"])

    def test_flags_fill_the_plan(self):
        plan, _ = self.plan_of(
            "mtu", "--family", "both", "--direction", "reverse", "--flows", "16", "--floor",
            "1300", "--ceiling", "9000", "--tries", "5", "--budget", "500", "--pace", "1000000",
            "--no-fragments", "--no-trace", "--sizes", "1000")
        self.assertEqual({"families": ["ipv4", "ipv6"], "direction": "reverse", "flows": 16,
                          "floor": 1300, "ceiling": 9000, "tries": 5, "budget": 500,
                          "pace": 1000000, "fragments": False, "trace": False, "sizes": 1000,
                          "watch_s": 0, "check_s": 1, "raise_s": 600}, plan)

    def test_watching_does_nothing_else(self):
        plan, _ = self.plan_of("mtu", "--watch", "60", "--check-every", "0.5", "--raise-every",
                               "10")
        self.assertEqual((60, 0.5, 10, False, False),
                         tuple(plan[key] for key in ("watch_s", "check_s", "raise_s", "fragments",
                                                     "trace")))

    def test_an_address_decides_the_family(self):
        for address, family in (("10.9.2.2", "ipv4"), ("fe80::2%eth0", "ipv6")):
            plan, order = self.plan_of("mtu", "--address", address)
            self.assertEqual(([family], address), (plan["families"], order["address"]))
        plan, _ = self.plan_of("mtu", "--address", "10.9.2.2", "--family", "ipv4")
        self.assertEqual(["ipv4"], plan["families"])

    def test_sizes(self):
        plan, _ = self.plan_of("sizes")
        self.assertEqual((1, 20000, 3000, False, False),
                         tuple(plan[key] for key in ("flows", "sizes", "budget", "fragments",
                                                     "trace")))
        plan, _ = self.plan_of("sizes", "--budget", "500", "--family", "ipv6")
        self.assertEqual((500, 3000, ["ipv6"]),
                         tuple(plan[key] for key in ("sizes", "budget", "families")))

    def test_what_is_wrong_is_one_line_and_nothing_is_sent(self):
        stage = self.stage()
        for words, told in (
                (("mtu", "--floor", "1500", "--ceiling", "1400"), "--floor"),
                (("mtu", "--family", "ipv5"), "--family: \"ipv5\" is not allowed: one of ipv4, "),
                (("mtu", "--family", "\x1b[31m"), "--family: \"?[31m\" is not allowed"),
                (("mtu", "--address", "10.9.2.2", "--family", "both"), "--family: both is not "),
                (("mtu", "--address", "::1", "--family", "ipv4"), "--family: ipv4 is not "),
                (("mtu", "--flows", "257"), "--flows: \"257\" is not allowed: an integer from 1"),
                (("mtu", "--watch", "-1"), "--watch: "),
                (("mtu", "--watch", "10", "--sizes", "1000"), "--"),
                (("sizes", "--budget", "0"), "--budget: \"0\" is not allowed: an integer from "),
                (("sizes", "--flows", "2"), "unknown flag \"--flows\""),
                (("results", "--kind", "sizes"), "--kind: \"sizes\" is not allowed: one of pair, "),
        ):
            with self.subTest(words):
                found = self.sonde(stage, *words, code=2)
                self.assertEqual("", found.stdout)
                self.assertEqual(1, found.stderr.count("\n"), found.stderr)
                self.assertTrue(found.stderr.startswith(f"sonde {words[0]}: {told}"),
                                found.stderr)
        self.assertEqual([], stage.heard)
        self.assertEqual([], self.archives())

    def test_agents_are_needed(self):
        found = subprocess.run([SONDE, "mtu", "--to", "oslo"], capture_output=True, text=True,
                               timeout=60)
        self.assertEqual(2, found.returncode)
        self.assertIn("sonde mtu: --from: an agent's name is needed", found.stderr)

    def test_detached_it_prints_the_id_alone(self):
        stage = self.stage()
        found = self.sonde(stage, "mtu", "--detach")
        self.assertEqual(RUN + "\n", found.stdout)
        self.assertEqual([], stage.of("show"))


class Following(Commands):
    def test_each_direction_is_told_when_it_is_done(self):
        stage = self.stage(archive=self.archive(), run=say(
            progress(), mtu_done(), progress(phase="reverse"),
            mtu_done(direction="reverse", previous=1500), done()))
        found = self.sonde(stage, "mtu")
        self.assertEqual(
            [f"sonde mtu: run {RUN}, path MTU between paris and oslo, forward and reverse",
             "IPv4 forward: 1400 (UDP payload 1372), signalled: 10.9.1.254 said so (ICMP)",
             "IPv4 reverse: 1400 (UDP payload 1372), signalled: 10.9.1.254 said so (ICMP); was "
             "1500"], found.stderr.splitlines())
        self.assertEqual(1, len(self.archives()))
        self.assertIn("-mtu-", self.archives()[0])
        self.assertRegex(found.stdout, "IPv4 +forward +1,400 +1,372 +signalled ")
        self.assertRegex(found.stdout, r"\nArchive: \S+-mtu-\w+\n$")

    def test_json_is_all_there_is_on_stdout(self):
        stage = self.stage(archive=self.archive(), run=say(mtu_done(), done()))
        found = self.sonde(stage, "mtu", "--json")
        run = json.loads(found.stdout)
        self.assertEqual(("mtu", RUN), (run["kind"], run["id"]))
        self.assertEqual([1400, 1400], [case_["path_mtu"] for case_ in run["cases"]])
        self.assertIn("archive: ", found.stderr)

    def test_what_others_measure_is_not_told(self):
        other = mtu_done()
        other["row"]["run"] = "another"
        stage = self.stage(archive=self.archive(), run=say(
            {**moved(1500, 1400, 1), "run": "another"}, other, {**done(), "run": "another"},
            done()))
        self.assertEqual(1, self.sonde(stage, "mtu").stderr.count("\n"))

    def test_check(self):
        for verdict, code in (("signalled", 0), ("black_hole", 3)):
            more = {} if verdict == "signalled" else {"icmp": [], "kernel_path_mtu": 1500}
            archive = self.archive(cases=[case(0, "forward", verdict, **more), case(1, "reverse")])
            stage = self.stage(archive=archive, run=say(done()))
            with self.subTest(verdict):
                self.sonde(stage, "mtu", "--check", code=code)
                self.sonde(stage, "mtu")
            shutil.rmtree(os.path.join(self.folder, "runs"))

    def test_a_failure_is_its_reason(self):
        reason = "family: paris and oslo have none in common"
        stage = self.stage(run=say(done("failed", reason)))
        found = self.sonde(stage, "mtu", code=1)
        self.assertEqual(("", f"sonde mtu: {reason}"),
                         (found.stdout, found.stderr.splitlines()[-1]))
        self.assertEqual([], self.archives())

    def test_a_part_without_an_answer_is_told_at_the_end(self):
        nothing = case(1, "reverse", "undecided", path_mtu=None, next_size=None, confirmed=False,
                       outcome="undecided", icmp=[])
        nothing["error"] = "agent oslo is away"
        archive = self.archive(cases=[case(0, "forward"), nothing],
                               sessions=[session(error="agent oslo is away")])
        stage = self.stage(archive=archive, run=say(done()))
        found = self.sonde(stage, "mtu", code=1)
        self.assertIn("agent oslo is away", found.stderr.splitlines()[-1])
        self.assertEqual(1, len(self.archives()))


class Watching(Commands):
    EVENTS = [{"flow": 0, "change": "known", "from": None, "to": 1500, "after_s": 0.4},
              {"flow": 0, "change": "changed", "from": 1500, "to": 1400, "after_s": 12.3}]

    def watched(self, **more):
        return self.archive(watch_s=3600, direction="forward", cases=[case(0, "forward")],
                            sessions=[session(events_forward=self.EVENTS, answered_reverse=None)],
                            **more)

    def start(self, stage, *flags):
        process = subprocess.Popen(
            self.words(stage, "mtu", "--direction", "forward", "--watch", "3600", *flags),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def until_change(self, process):
        """The lines until the change to 1400, which the command tells while it goes on."""
        lines = []
        while not lines or "1400" not in lines[-1]:
            lines.append(process.stderr.readline())
            self.assertTrue(lines[-1], lines)
        return "".join(lines)

    def changes(self, archive):
        return self.stage(archive=archive, run=say(
            progress(flows_done=1), moved(None, 1500, 0.4, "known"), moved(1500, 1400, 12.3)))

    def test_changes_are_told_at_once_and_an_interrupt_is_the_end(self):
        stage = self.changes(self.watched(interrupted=True))
        process = self.start(stage)
        told = self.until_change(process)
        self.assertIn("0.4 s: IPv4 forward: 1500\n12.3 s: IPv4 forward: 1400, was 1500\n", told)
        process.send_signal(signal.SIGINT)
        printed, complained = process.communicate(timeout=30)
        self.assertEqual((0, ""), (process.returncode, complained))
        self.assertEqual([RUN], [message["run"] for message in stage.of("stop")])
        self.assertIn("1,500 -> 1,400", printed)
        self.assertEqual(1, len(self.archives()))

    def test_an_interrupt_before_any_answer_is_a_failure(self):
        nothing = case(0, "forward", "undecided", path_mtu=None, next_size=None, confirmed=False,
                       outcome="undecided", icmp=[])
        archive = self.watched(interrupted=True)
        archive["cases"] = [nothing]
        archive["sessions"][0]["events_forward"] = []
        process = self.start(self.changes(archive))
        self.until_change(process)
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=30)
        self.assertEqual(1, process.returncode)
        self.assertIn("sonde mtu: interrupted; not every path has its answer\n", complained)

    def test_a_run_that_others_stop_is_a_failure(self):
        archive = self.watched(interrupted=True)
        stage = self.stage(archive=archive, run=say(done("stopped", "stopped by somebody")))
        found = self.sonde(stage, "mtu", "--direction", "forward", "--watch", "3600", code=1)
        self.assertIn("interrupted", found.stderr)
        self.assertEqual(1, len(self.archives()))


class Results(Commands):
    ROWS = [row(9, previous=1500), row(8, direction="reverse", path_mtu=1400, largest=1500,
                                       verdict="black_hole", status="fail",
                                       words="larger datagrams vanish without a word between hop "
                                             "1 (10.9.1.254) and hop 2 (10.9.2.2): tell the "
                                             "owner"),
            row(7, status="error", verdict="undecided", path_mtu=None, largest=None,
                udp_payload=None, groups=None, words=None, error="agent oslo\x1b[31m is away")]

    def test_path_mtus_have_a_table_of_their_own(self):
        found = self.sonde(self.stage(rows={"mtu": self.ROWS}), "results").stdout
        lines = found.splitlines()
        self.assertEqual(4, len(lines))
        self.assertEqual(["RUN", "STARTED", "FROM > TO", "IP", "WAY", "PATH MTU", "PAYLOAD",
                          "VERDICT", "WHY"], re.split(r"  +", lines[0]))
        self.assertRegex(lines[1], r"paris > oslo +IPv4  forward +1400 +1372  signalled +was 1500; "
                                   r"10\.9\.1\.254 said so \(ICMP\)$")
        self.assertRegex(lines[2], r"reverse +1400\.\.1500 +1372  black_hole +larger .*\.\.\.$")
        self.assertRegex(lines[3], r"none +-  error +agent oslo\?\[31m is away$")

    def test_kind_chooses(self):
        stage = self.stage(rows={"mtu": self.ROWS})
        self.assertEqual("No case matches.\n",
                         self.sonde(stage, "results", "--kind", "pair").stdout)
        self.assertEqual(["pair"], [message["kind"] for message in stage.of("list_results")])
        self.sonde(stage, "results", "--kind", "mtu", "--status", "error", "--from", "paris")
        self.assertEqual(("mtu", 2, "paris"), tuple(stage.heard[-1][key] for key in
                                                    ("kind", "status", "from")))
        self.sonde(stage, "results")
        self.assertEqual(["pair", "mtu"], [message["kind"] for message in stage.heard[-2:]])

    def test_json_has_both(self):
        stage = self.stage(rows={"mtu": self.ROWS})
        listing = json.loads(self.sonde(stage, "results", "--json").stdout)
        self.assertEqual(("sonde.results/1", [], False, False),
                         tuple(listing[key] for key in ("schema", "cases", "more", "more_mtu")))
        self.assertEqual([9, 8, 7], [each["row"] for each in listing["mtu"]])

    def test_csv_has_one(self):
        stage = self.stage(rows={"mtu": self.ROWS})
        text = self.sonde(stage, "results", "--csv", "--kind", "mtu").stdout
        found = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(["1400", "1400", ""], [each["path_mtu"] for each in found])
        self.assertEqual(self.ROWS[1]["words"], found[1]["words"])
        self.assertTrue(self.sonde(stage, "results", "--csv").stdout.startswith("row,run,"))
        self.assertEqual("pair", stage.heard[-1]["kind"])

    def test_as_many_pages_as_it_takes(self):
        stage = self.stage(rows={"mtu": [row(number) for number in range(2500, 0, -1)]})
        listing = json.loads(self.sonde(stage, "results", "--kind", "mtu", "--json", "--limit",
                                        "2400").stdout)
        self.assertEqual(list(range(2500, 100, -1)), [each["row"] for each in listing["mtu"]])
        self.assertTrue(listing["more_mtu"])
        self.assertGreater(len(stage.of("list_results")), 1)

    def test_show(self):
        stage = self.stage(archive=self.archive())
        found = subprocess.run(
            [SONDE, "show", "latest", "--controller", f"127.0.0.1:{stage.port}", "--identity",
             self.identity, "--output", os.path.join(self.folder, "runs")], capture_output=True,
            text=True, timeout=60)
        self.assertEqual((0, ""), (found.returncode, found.stderr))
        self.assertRegex(found.stdout, "IPv4 +forward +1,400 +1,372 +signalled ")
        self.assertIn("-mtu-", self.archives()[0])

    def test_a_run_of_another_kind_is_refused(self):
        stage = self.stage(archive=self.loopback, run=say(done()))
        found = self.sonde(stage, "mtu", code=1)
        self.assertIn("kind loopback", found.stderr.splitlines()[-1])


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
