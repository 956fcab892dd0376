#!/usr/bin/env python3
"""Every parameter of a case between hosts, and what refuses one.
Usage: test_cases.py SONDE; needs root."""

from fleet import Fleet, check_account, measured
from hosts import Hosts, closed, main, paced
from network import ADDRESS, ROUTER


class Cases(Hosts):
    @classmethod
    def make_fleet(cls):
        fleet = Fleet(cls.network, cls.sonde)
        fleet.overrides = {"a": {"admission": {"max_seconds": 20, "max_clients": 500}},
                           "b": {"admission": {"max_payload": 65507, "max_outstanding": 2000,
                                               "max_io_threads": 4}}}
        return fleet

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fleet.address["router"] = ROUTER["a", 4]
        cls.fleet.start_agent("router", host="r")
        cls.fleet.wait_connected(["router"])

    def assert_clean(self, run, turned_round=False):
        """Nothing but echoes may be out of order, where several threads make them."""
        check_account(self, run)
        for case in run["cases"]:
            self.assertEqual("pass", case["status"], case)
            for phase in filter(None, case["phases"].values()):
                self.assert_counts(phase["forward"])
                reordered = phase["reverse"]["reordered"] if turned_round else 0
                self.assert_counts(phase["reverse"], reordered=reordered)

    # --- parameters ----------------------------------------------------------------------------

    def test_clients_threads_engines_and_warm_up(self):
        run = self.fleet.run(*closed(payload="112,116,1200", window="1,8", clients=20, warmup=0.02,
                                     seconds=0.05), "--io-threads", "3", "--engine", "all",
                             "--repeat", "2")
        self.assert_clean(run, turned_round=True)
        self.assertEqual(3 * 2 * 2 * 2, len(run["cases"]))
        self.assertEqual({"single", "batch"}, {case["engine"] for case in run["cases"]})
        for case in run["cases"]:
            self.assertEqual(20 * case["window"], case["first_burst"]["sent"])
            self.assertGreater(case["phases"]["warmup"]["forward"]["received"], 0)

    def test_large_payloads_go_in_fragments(self):
        for family in ("ipv4", "ipv6"):
            run = self.fleet.run(*closed(payload="8192,65507", window=2, clients=2, seconds=0.1),
                                 "--family", family, "--sndbuf", "262144")
            self.assert_clean(run)
            prefix = "ip" if family == "ipv4" else "ip6"
            self.assertGreater(measured(run, 1)["counters"][0][f"{prefix}.fragments_created"], 40)
            self.assertGreater(measured(run, 1)["counters"][1][f"{prefix}.reassembled"], 1)

    def test_work_is_not_delay(self):
        run, forward, reverse = self.measure(*closed(seconds=0.5, window=1), "--work", "5000000")
        self.assert_counts(forward)
        self.assert_counts(reverse)
        # 5 ms for each: no more than 100 in half a second, and none of it in the round trip.
        self.assertLessEqual(forward["received"], 102)
        self.assertLess(run["cases"][0]["rtt_ns"]["p50"], 5e6)

    def test_pace_is_kept(self):
        for interval_ms, clients, window in ((10, 3, 4), (2, 8, 2)):
            bursts, size = 500 // interval_ms, clients * window
            flags = paced(interval_ms=interval_ms, seconds=0.5, clients=clients, window=window)
            run, forward, reverse = self.measure(*flags)
            self.assert_counts(forward)
            self.assert_counts(reverse)
            phase = measured(run)
            self.assertEqual(bursts * size, forward["sent"] + phase["skipped_bursts"] * size)
            self.assertGreater(forward["sent"], bursts * size / 4)

    def test_link_local_address_with_its_zone(self):
        """B is not on A's link, the router is."""
        words = self.network.run("r", "ip", "-6", "-o", "address", "show", "dev", "ra", "scope",
                                 "link").stdout.split()
        address = next(word.split("/")[0] for word in words if word.startswith("fe80"))
        run = self.fleet.run(*closed(seconds=0.1), "--family", "ipv6", "--address", f"{address}%a0",
                             target="router")
        self.assert_clean(run)
        for zone, reason in (("%nosuch", "nosuch"), ("", "zone")):
            done = self.fleet.sonde("run", "--from", "a", "--to", "router", *closed(seconds=0.1),
                                    "--family", "ipv6", "--address", address + zone, "--output",
                                    self.fleet.path("runs"), check=False)
            self.assertEqual(1, done.returncode)
            self.assertIn(reason, done.stderr)

    def test_what_the_kernel_does_not_send_is_refused_and_not_lost(self):
        # With a locked MTU the route does not let the kernel make fragments of what is larger.
        self.network.ip("a", "route", "replace", "10.9.2.0/24", "via", "10.9.1.254", "mtu", "lock",
                        "1000")
        self.addCleanup(self.network.ip, "a", "route", "delete", "10.9.2.0/24")
        run = self.fleet.run(*paced(interval_ms=10, seconds=0.2, payload=1200))
        check_account(self, run)
        forward = measured(run)["forward"]
        self.assertEqual(0, forward["lost"])
        self.assertEqual(forward["attempted"], forward["received"] + forward["refused"]["EMSGSIZE"])
        # The host's own filter.
        self.network.nft("a", """
            table inet lab_refuse {
                chain output {
                    type filter hook output priority 0;
                    meta l4proto udp meta length > 600 drop
                }
            }""")
        self.addCleanup(self.network.run, "a", "nft", "delete", "table", "inet", "lab_refuse")
        run = self.fleet.run(*paced(interval_ms=10, seconds=0.2, payload=800))
        check_account(self, run)
        forward = measured(run)["forward"]
        self.assertEqual((0, 0), (forward["lost"], forward["sent"]))
        self.assertEqual(forward["attempted"], forward["refused"]["EPERM"])
        self.assertEqual("fail", run["cases"][0]["status"])

    # --- refusals ------------------------------------------------------------------------------

    def refusal(self, *flags, source="a", target="b", code=1):
        done = self.fleet.sonde("run", "--from", source, "--to", target, "--output",
                                self.fleet.path("runs"), *flags, check=False)
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertEqual("", done.stdout)
        return done.stderr

    def test_refusals_name_the_limit(self):
        one = closed(seconds=0.1)
        self.assertIn("to: no agent is called ruoter; did you mean router?",
                      self.refusal(*one, target="ruoter"))
        self.assertIn("from and to", self.refusal(*one, target="a"))
        self.assertIn("payload: 113 is not allowed between hosts",
                      self.refusal("--payload", "113", code=2))
        self.assertIn("65507", self.refusal("--payload", "65508", code=2))
        self.assertIn("the echo's end refused: "
                      "admission.max_outstanding allows 2000 datagrams outstanding, 2001 were",
                      self.refusal("--window", "2001", "--clients", "1", "--idle", "0"))
        self.assertIn("the echo's end refused: "
                      "admission.max_io_threads allows 4 threads, 5 were asked for",
                      self.refusal("--io-threads", "5", "--idle", "0"))
        self.assertIn("the sender's end refused: "
                      "admission.max_clients allows 500 clients, 501 were asked for",
                      self.refusal("--clients", "501", "--window", "1", "--idle", "0"))
        self.assertIn("the sender's end refused: "
                      "admission.max_seconds allows 20 seconds, 20.25 were asked for",
                      self.refusal("--seconds", "20", "--idle", "0"))

    def restart_b(self):
        agent = self.fleet.agents["b"]
        agent.terminate()
        agent.wait()
        self.fleet.start_agent("b")
        self.fleet.wait_connected()

    def test_y_family_that_is_not_there(self):
        self.network.ip("b", "-6", "address", "flush", "dev", "b0", "scope", "global")
        self.addCleanup(self.restart_b)
        self.addCleanup(self.network.ip, "b", "address", "add", f"{ADDRESS['b', 6]}/64", "dev",
                        "b0", "nodad")
        self.restart_b()
        self.assertIn("agent b has told of no ipv6 address",
                      self.refusal(*closed(), "--family", "ipv6"))
        self.assertIn("is no ipv4 address", self.refusal(*closed(), "--address", "fd00:9:2::2"))

    def test_z_agent_that_is_away(self):
        agent = self.fleet.agents["b"]
        agent.terminate()
        agent.wait()
        self.assertIn("agent b is not connected", self.refusal(*closed()))
        self.fleet.start_agent("b")
        self.fleet.wait_connected()


if __name__ == "__main__":
    main()
