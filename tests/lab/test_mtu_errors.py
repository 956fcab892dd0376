#!/usr/bin/env python3
"""What `sonde mtu` says when it cannot: one clear line, the exit code that belongs to it, and an
archive with what was known by then. Usage: test_mtu_errors.py SONDE; needs root."""

import signal
import time

from fleet import Fleet
from hosts import main
from mtu_hosts import QUICK, MtuHosts
from network import ADDRESS, wait_for

FORWARD = ("--direction", "forward")
ONE = (*QUICK, "--family", "ipv4", *FORWARD)
# So slow that there is time to cut it.
SLOWLY = (*QUICK, "--family", "ipv4", "--ceiling", "2000", "--json", "--pace")


class Errors(MtuHosts):
    @classmethod
    def make_fleet(cls):
        fleet = Fleet(cls.network, cls.sonde)
        fleet.overrides = {"b": {"admission": {"max_clients": 20, "max_seconds": 30}}}
        return fleet

    def setUp(self):
        super().setUp()
        self.addCleanup(self.bring_back)

    def bring_back(self):
        """Who is not there any more after a test."""
        gone = [name for name in "ab" if self.fleet.agents[name].poll() is not None]
        for name in gone:
            self.fleet.start_agent(name)
        if gone:
            self.fleet.wait_connected()

    def refusal(self, *flags, what="mtu", code=1, **more):
        """One line on stderr beside what is told of progress, and nothing on stdout."""
        process = self.start(what, *flags, **more)
        out, err = process.communicate(timeout=60)
        self.assertEqual((code, ""), (process.returncode, out), err)
        return err.strip().splitlines()[-1]

    def restart(self, name, **overrides):
        agent = self.fleet.agents[name]
        agent.terminate()
        agent.wait()
        before = dict(self.fleet.overrides)
        if overrides:
            self.fleet.overrides = {**before, name: overrides}
        self.fleet.start_agent(name)
        self.fleet.overrides = before
        self.fleet.wait_connected()

    # --- what was asked ------------------------------------------------------------------------

    def test_who_is_not_known(self):
        self.assertEqual("sonde mtu: to: no agent is called bb; 2 are known",
                         self.refusal(*ONE, target="bb"))
        self.assertIn("from: no agent is called nobody", self.refusal(*ONE, source="nobody"))
        self.assertIn("from and to", self.refusal(*ONE, target="a"))

    def test_what_is_wrong_usage(self):
        for flags, words in (
                (("--floor", "1400", "--ceiling", "1300"), ("--floor", "1400", "1300")),
                (("--floor", "9000", "--ceiling", "9000", "--family", "ipv9"), ("--family",)),
                (("--flows", "257"), ("--flows", "256")),
                (("--flows", "0"), ("--flows", "256")),
                (("--direction", "sideways"), ("--direction", "forward, reverse")),
                (("--tries", "x"), ("--tries",)),
                (("--watch", "10", "--sizes", "1000"), ("watch", "sizes")),
                (("--address", ADDRESS["b", 6], "--family", "ipv4"), ("--family", "ipv6")),
                (("--ceiling", "70000"), ("--ceiling",)),
                (("--floww", "3"), ("--floww", "--flows"))):
            line = self.refusal(*flags, code=2)
            for word in words:
                self.assertIn(word, line)

    # --- who cannot ----------------------------------------------------------------------------

    def test_who_does_not_allow_it(self):
        line = self.refusal(*ONE, "--flows", "21")
        self.assertIn("the echo's end refused: admission.max_clients allows 20 flows, 21 were "
                      "asked for", line)
        self.assertIn("admission.max_seconds allows 30 seconds",
                      self.refusal("--direction", "forward", "--watch", "31"))
        self.restart("a", admission={"peers": ["192.0.2.0/24"]})
        self.assertIn(f"the sender's end refused: admission.peers allows 1 range of hosts, "
                      f"{ADDRESS['b', 4]}", self.refusal(*ONE))
        self.restart("a", admission={"allow_sender": False})
        self.assertIn("admission.allow_sender is false", self.refusal(*ONE))
        self.restart("a")

    def test_y_family_that_is_not_there(self):
        self.network.ip("b", "-6", "address", "flush", "dev", "b0", "scope", "global")
        self.restart("b")
        self.assertIn("agent b has told of no ipv6 address",
                      self.refusal(*QUICK, "--family", "ipv6"))
        self.assertIn("ipv6", self.refusal(*QUICK, "--family", "both"))
        run = self.mtu(*QUICK)  # those that both have
        self.assert_parts(run, ["ipv4"])
        self.network.ip("b", "address", "add", f"{ADDRESS['b', 6]}/64", "dev", "b0", "nodad")
        self.network.ip("b", "-6", "route", "replace", "default", "via", "fd00:9:2::fe")
        self.restart("b")
        self.network.bring_up()
        self.assert_parts(self.mtu(*QUICK))

    def test_z_agent_that_is_away(self):
        agent = self.fleet.agents["b"]
        agent.terminate()
        agent.wait()
        self.assertIn("agent b is not connected", self.refusal(*ONE))

    def test_nobody_says_hello(self):
        self.network.forward("meta l4proto udp drop")
        process = self.start("mtu", *ONE)
        _, err = process.communicate(timeout=60)
        self.assertEqual(1, process.returncode, err)
        last = err.splitlines()[-1]
        self.assertEqual((1, 1), (last.count("20 hellos"), last.count("0 answered")), last)

    # --- cut in the middle ---------------------------------------------------------------------

    def begun(self, *flags):
        """A slow search, just after its first datagrams."""
        self.network.count_udp()
        self.addCleanup(self.network.forget, "r", "lab_count")
        process = self.start("mtu", *flags)
        wait_for(lambda: self.network.udp_from("a") + self.network.udp_from("b") > 12)
        time.sleep(0.3)
        return process

    def test_interrupt_tells_what_is_known(self):
        self.network.filter_icmp("router")
        process = self.begun(*SLOWLY, "20000", *FORWARD)
        process.send_signal(signal.SIGINT)
        run, err = self.finish(process, code=1)
        self.assertTrue(run["interrupted"])
        self.assertIn("interrupted", err)
        for case in run["cases"]:
            self.assertEqual("undecided", case["verdict"], case)
            self.assertFalse(case["confirmed"])
            self.assertTrue(case["path_mtu"] is None or case["path_mtu"] <= 1500, case)
        self.assert_parts(run, ["ipv4"], ["forward"])

    def assert_unreachable(self, process):
        """That is an answer, with what got through before."""
        case = self.finish(process)[0].one("ipv4", "forward")
        self.assertEqual(("unreachable", False), (case["verdict"], case["confirmed"]), case)
        self.assertGreater(case["controls_lost"], 3)

    def test_path_that_falls_silent(self):
        self.network.filter_icmp("router")
        process = self.begun(*SLOWLY, "60000", *FORWARD)
        self.network.forward("meta l4proto udp drop")
        self.assert_unreachable(process)

    def test_link_that_goes_down(self):
        self.network.filter_icmp("router")
        process = self.begun(*SLOWLY, "60000", *FORWARD)
        self.network.cut_link("near")
        self.addCleanup(self.network.bring_up)
        self.addCleanup(self.network.mend_link, "near")
        self.assert_unreachable(process)

    def test_agent_that_is_killed(self):
        self.network.filter_icmp("router")
        for name, end, direction in (("b", "echo", "forward"), ("a", "sender", "reverse")):
            process = self.begun(*SLOWLY, "20000", "--direction", direction)
            agent = self.fleet.agents[name]
            agent.kill()
            agent.wait()
            out, err = process.communicate(timeout=60)
            self.assertEqual(1, process.returncode, err)
            self.assertIn(f"the {end}'s end is away", err)
            self.assertNotEqual("", out, err)
            run = self.checked(out)
            self.assertIn(f"the {end}'s end is away", run.session("ipv4")["error"])
            for case in run["cases"]:
                self.assertNotIn(case["verdict"], ("clean", "signalled", "black_hole"), case)
            self.network.forget("r", "lab_count")
            self.bring_back()

    def test_controller_that_is_killed(self):
        self.network.filter_icmp("router")
        process = self.begun(*SLOWLY, "20000", *FORWARD)
        self.fleet.server.kill()
        self.fleet.server.wait()
        _, err = process.communicate(timeout=60)
        self.assertEqual(1, process.returncode, err)
        self.fleet.start_controller()
        self.fleet.wait_connected()
        self.mtu(*ONE)


if __name__ == "__main__":
    main()
