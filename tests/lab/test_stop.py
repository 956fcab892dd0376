#!/usr/bin/env python3
"""Both ends stop by themselves when the controller or the other end is gone, and at Ctrl-C.
Usage: test_stop.py SONDE; needs root."""

import json
import signal
import subprocess
import time

from fleet import PORT
from hosts import Hosts, closed, main, paced
from network import wait_for

SOON_S = 2  # in which the traffic of a run that is over has ended


class Stop(Hosts):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network.count_udp()

    def setUp(self):
        if self.fleet.server.poll() is not None:
            self.fleet.start_controller()
        for name, process in list(self.fleet.agents.items()):
            if process.poll() is not None:
                self.fleet.start_agent(name)
        self.fleet.wait_connected()
        self.began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def start_run(self, *flags):
        """A run that is under way; it has been sent 100 datagrams for."""
        before = self.network.udp_from("a")
        run = subprocess.Popen(
            self.network.inside("r", self.fleet.programs.sonde, "run", "--from", "a", "--to", "b",
                                *flags, "--controller", f"127.0.0.1:{PORT}", "--identity",
                                self.fleet.operator, "--output", self.fleet.path("runs"), "--json"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        wait_for(lambda: self.network.udp_from("a") - before > 100)
        return run

    def assert_silence(self):
        """No datagram comes from either host any more, soon."""
        time.sleep(SOON_S)
        before = [self.network.udp_from(side) for side in "ab"]
        time.sleep(0.5)
        self.assertEqual(before, [self.network.udp_from(side) for side in "ab"])

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def show(self, run):
        return json.loads(self.fleet.sonde("show", run, "--json").stdout)

    def latest(self):
        """The newest case of a run that has begun since this test did, when there is one."""
        rows = json.loads(self.fleet.sonde("results", "--json", "--since",
                                           self.began).stdout)["cases"]
        return rows[0] if rows else None

    def assert_works(self):
        """The next run is as if nothing had been."""
        run, *_ = self.measure(*closed(seconds=0.1))
        self.assertEqual("pass", run["cases"][0]["status"])

    def test_controller_is_killed_in_a_measure_phase(self):
        run = self.start_run(*paced(seconds=10))
        self.kill(self.fleet.server)
        self.assert_silence()
        _, complaint = run.communicate(timeout=20)
        self.assertEqual(1, run.returncode, complaint)
        # The reports wait in the spools until there is a controller again.
        for name in "ab":
            self.assertIn("the connection broke; trying again", self.fleet.log(name))
        self.fleet.start_controller()
        self.fleet.wait_connected()
        row = wait_for(self.latest, pause=0.2)
        self.assertEqual("error", row["status"])
        shown = self.show(row["run"])
        self.assertTrue(shown["interrupted"])
        case = shown["cases"][0]
        self.assertIn("sender: closed: the connection to the controller is gone; "
                      "echo: closed: the connection to the controller is gone", case["error"])
        # What was measured until then is there.
        measure = case["phases"]["measure"]
        self.assertGreater(measure["forward"]["sent"], 100)
        self.assertEqual(measure["forward"]["attempted"],
                         measure["forward"]["sent"] + sum(measure["forward"]["refused"].values()))
        self.assertGreater(measure["forward"]["received"], 50)
        self.assert_works()

    def agent_is_killed(self, name, end):
        run = self.start_run(*paced(seconds=10))
        self.kill(self.fleet.agents[name])
        self.assert_silence()
        output, complaint = run.communicate(timeout=30)
        self.assertEqual(1, run.returncode, complaint)
        self.assertIn(f"the {end}'s end is away", complaint)
        # The other end's report is there.
        archive = json.loads(output) if end == "echo" else self.show(self.latest()["run"])
        case = archive["cases"][0]
        self.assertEqual("error", case["status"])
        self.assertIn(f"the {end}'s end is away", case["error"])
        self.fleet.start_agent(name)
        self.fleet.wait_connected()
        self.assert_works()

    def test_echo_agent_is_killed(self):
        self.agent_is_killed("b", "echo")

    def test_sender_agent_is_killed(self):
        self.agent_is_killed("a", "sender")

    def test_interrupt_stops_both_hosts(self):
        run = self.start_run(*paced(seconds=10), "--repeat", "3")
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        output, complaint = run.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, SOON_S + 2)
        self.assert_silence()
        archive = json.loads(output)
        self.assertTrue(archive["interrupted"])
        self.assertEqual(1, len(archive["cases"]))
        self.assertIn("closed: ", archive["cases"][0]["error"])
        self.assertGreater(archive["cases"][0]["phases"]["measure"]["forward"]["sent"], 100)
        self.assertEqual(archive, self.show(archive["id"]))
        self.assertEqual({0}, {row["sessions"] for row in self.fleet.rows()})
        self.assert_works()

    def test_interrupt_keeps_the_cases_that_were_over(self):
        before = self.network.udp_from("a")
        run = self.start_run(*paced(seconds=0.5), "--repeat", "20")
        wait_for(lambda: self.network.udp_from("a") - before > 900)
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=20)
        archive = json.loads(output)
        self.assertTrue(archive["interrupted"])
        self.assertEqual("pass", archive["cases"][0]["status"])
        self.assertLess(len(archive["cases"]), 6)


if __name__ == "__main__":
    main()
