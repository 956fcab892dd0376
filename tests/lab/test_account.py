#!/usr/bin/env python3
"""Between two hosts every lost datagram gets its place. Needs root.

usage: test_account.py PATH-OF-SONDE
"""

import sys
import unittest

from fleet import Fleet, check_account, measured
from network import ADDRESS, SKIPPED, Network, why_impossible

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"
PLACES = ("receive_buffer", "sender_host", "receiver_host", "network", "unattributed")
# One case, its measure phase alone; one datagram of 800 B per client and ms: 4,000/s.
PACED = ("--payload", "800", "--window", "4", "--clients", "1", "--warmup", "0", "--seconds", "1",
         "--interval", "1000000", "--idle", "0")


class Account(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = Network().__enter__()
        cls.fleet = Fleet(cls.network, SONDE).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__()
        cls.network.__exit__()

    def places(self, leg, **expected):
        self.assertEqual({place: expected.get(place, 0) for place in PLACES}, leg["lost_to"])

    def test_clean_path_has_nothing_without_a_place(self):
        for family in ("ipv4", "ipv6"):
            run = self.fleet.run("--payload", "200,1200", "--window", "1,8", "--clients", "2",
                                 "--seconds", "0.3", "--warmup", "0.1", "--family", family)
            check_account(self, run)
            self.assertEqual("pair", run["kind"])
            self.assertEqual(["sender", "echo"], [host["role"] for host in run["hosts"]])
            for host in run["hosts"]:
                self.assertLessEqual({"zeromq", "openssl", "msgpack"}, set(host["libraries"]))
            for case in run["cases"]:
                self.assertEqual("pass", case["status"])
                phase = case["phases"]["measure"]
                self.places(phase["forward"])
                self.places(phase["reverse"])
                self.assertGreater(phase["forward"]["received"], 100)

    def test_lost_in_the_router_towards_b(self):
        counter = self.network.lose("b", every=10, above=600)
        self.addCleanup(self.network.no_loss, "b")
        run = self.fleet.run(*PACED)
        check_account(self, run)
        dropped = self.network.lost("b", counter)
        self.assertGreater(dropped, 100)
        self.places(measured(run)["forward"], network=dropped)
        self.places(measured(run)["reverse"])
        self.assertEqual("per-socket", measured(run)["forward"]["evidence"])

    def test_lost_in_the_router_towards_a(self):
        counter = self.network.lose("a", every=7, above=600)
        self.addCleanup(self.network.no_loss, "a")
        run = self.fleet.run(*PACED)
        check_account(self, run)
        self.places(measured(run)["forward"])
        self.places(measured(run)["reverse"], network=self.network.lost("a", counter))
        self.assertGreater(measured(run)["reverse"]["lost"], 100)

    def test_lost_in_the_receive_buffer_of_b(self):
        run = self.fleet.run("--payload", "800", "--window", "64", "--clients", "8",
                             "--warmup", "0", "--seconds", "0.5", "--rcvbuf", "4096",
                             "--work", "50000", "--idle", "0")
        check_account(self, run)
        forward = measured(run)["forward"]
        self.assertGreater(forward["lost"], 10)
        self.places(forward, receive_buffer=forward["lost"])
        kernel = measured(run)["counters"][1]
        self.assertEqual(kernel["udp.receive_buffer_full"], forward["lost"])

    def test_lost_in_the_queue_of_a(self):
        self.network.throttle("a", rate="2mbit", burst="8k", latency="20ms")
        self.addCleanup(self.network.no_throttle, "a")
        before = self.network.throttled("a")
        run = self.fleet.run(*PACED)
        check_account(self, run)
        dropped = self.network.throttled("a") - before
        self.assertGreater(dropped, 100)
        forward = measured(run)["forward"]
        self.assertEqual(dropped, forward["lost_to"]["sender_host"])
        self.places(forward, sender_host=dropped)
        self.assertEqual("system-wide", forward["evidence"])

    def test_all_four_at_once(self):
        towards_b = self.network.lose("b", every=9, above=600)
        towards_a = self.network.lose("a", every=11, above=600)
        self.network.throttle("a", rate="20mbit", burst="16k", latency="5ms")
        self.addCleanup(self.network.no_loss, "a")
        self.addCleanup(self.network.no_loss, "b")
        self.addCleanup(self.network.no_throttle, "a")
        before = self.network.throttled("a")
        run = self.fleet.run("--payload", "800", "--window", "64", "--clients", "8",
                             "--warmup", "0", "--seconds", "1", "--interval", "100000000",
                             "--rcvbuf", "4096", "--work", "100000", "--idle", "0")
        check_account(self, run)
        forward, reverse = measured(run)["forward"], measured(run)["reverse"]
        full = measured(run)["counters"][1]["udp.receive_buffer_full"]
        self.assertGreater(full, 0)
        self.places(forward, network=self.network.lost("b", towards_b), receive_buffer=full,
                    sender_host=self.network.throttled("a") - before)
        # The clients asked for the same small buffer.
        self.places(reverse, network=self.network.lost("a", towards_a),
                    receive_buffer=measured(run)["counters"][0]["udp.receive_buffer_full"])

    def test_each_address_of_a_host_answers_for_itself(self):
        self.network.ip("b", "address", "add", "10.9.2.77/24", "dev", "b0")
        self.addCleanup(self.network.ip, "b", "address", "delete", "10.9.2.77/24", "dev", "b0")
        for address in ("10.9.2.77", ADDRESS["b", 4]):
            run = self.fleet.run(*PACED, "--address", address)
            check_account(self, run)
            self.assertEqual("pass", run["cases"][0]["status"])

    def test_larger_than_the_mtu_is_refused_and_not_lost(self):
        self.network.mtu("a", 1300)
        self.addCleanup(self.network.mtu, "a", 1500)
        run = self.fleet.run("--payload", "1400", "--window", "1", "--clients", "1",
                             "--warmup", "0", "--seconds", "0.3", "--idle", "0")
        check_account(self, run)


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
