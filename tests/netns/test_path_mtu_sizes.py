#!/usr/bin/env python3
"""Loss by size over real sockets, between two hosts (network namespaces) with a router in between
that loses datagrams: where size matters the threshold is found, and nowhere else. Prints how long
it took. Usage: test_path_mtu_sizes.py SONDE; needs root, and mtu_tool in SONDE_TOOLS. With
SONDE_SLOW=1 it does more of the same."""

import os
import sys
import threading
import time
import unittest

from path_mtu import TOOL, Pair

import network
from mtu_network import OneRouter

SLOW = os.environ.get("SONDE_SLOW") == "1"
RUNS = 20 if SLOW else 1
BUDGET = 20000
FLOOR = {4: 576, 6: 1280}
HEADERS = {4: 28, 6: 48}


class PathMtuSizes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = OneRouter()
        cls.net.__enter__()
        cls.addClassCleanup(cls.net.__exit__)
        cls.pairs = {}
        for version in (4, 6):
            cls.pairs[version] = Pair(cls.net, version)
            cls.addClassCleanup(cls.pairs[version].close)

    def setUp(self):
        self.addCleanup(self.net.pass_icmp)
        self.addCleanup(self.net.forget_rules)
        self.links(1500, 1500)

    def links(self, a, b):
        self.net.mtu("a", a)
        self.net.mtu("b", b)

    def begin(self, direction, **plan):
        plan = {"fragments": 0, "trace": 0, "sizes": BUDGET, **plan}
        for pair in self.pairs.values():
            pair.begin(direction, **plan)

    def end(self, direction, what, status="no error"):
        """The flow of each family."""
        flows = {}
        all_found = {version: pair.end(direction) for version, pair in self.pairs.items()}
        for version, found in all_found.items():
            self.assertEqual(status, found["status"], found["fault"])
            flow = flows[version] = found["flows"][0]
            self.consistent(version, flow, found["answered"])
            say(f"{what}, {direction}, IPv{version}", flow)
        return flows

    def measure(self, direction, what, **plan):
        """Both families at once."""
        self.begin(direction, **plan)
        return self.end(direction, what)

    def consistent(self, version, flow, answered):
        effect = flow["size_effect"]
        self.assertTrue(effect["present"])
        self.assertEqual(effect["sent"], sum(sent for _, sent, _ in flow["loss_by_size"]))
        self.assertEqual(effect["lost"], sum(lost for _, _, lost in flow["loss_by_size"]))
        for payload, sent, lost in flow["loss_by_size"]:
            self.assertLessEqual(lost, sent)
            self.assertLessEqual(payload + HEADERS[version], flow["path_mtu"])
        self.assertEqual(0, answered["in_fragments"])

    def lose_above(self, size, percent=1):
        self.net.forward(f"meta l4proto udp meta length > {size} "
                         f"numgen random mod 100 < {percent} drop")

    def found_at(self, size, flows, within=8):
        for flow in flows.values():
            effect = flow["size_effect"]
            self.assertTrue(effect["found"], effect)
            self.assertLessEqual(abs(effect["threshold"] - size), within, effect)
            self.assertLessEqual(effect["least"], effect["threshold"])
            self.assertLessEqual(effect["threshold"], effect["most"])
            self.assertGreater(effect["lost_above"] / effect["sent_above"],
                               effect["lost_below"] / effect["sent_below"])

    def not_found(self, flows, budget=BUDGET):
        for flow in flows.values():
            effect = flow["size_effect"]
            self.assertEqual((False, None, None, None), (effect["found"], effect["threshold"],
                                                         effect["least"], effect["most"]), effect)
            self.assertGreaterEqual(effect["sent"] + 100, budget, "all is asked")

    # --- size matters -------------------------------------------------------------------------

    def test_one_percent_above_1440_is_found(self):
        self.lose_above(1440)
        for _ in range(RUNS):
            for direction in ("forward", "reverse"):
                flows = self.measure(direction, "1 % above 1440")
                self.found_at(1440, flows)
                for version, flow in flows.items():
                    self.assertEqual(1500, flow["path_mtu"])
                    self.assertEqual(FLOOR[version] - HEADERS[version], flow["loss_by_size"][0][0])

    def test_it_goes_up_to_the_path_mtu_that_was_found(self):
        self.links(9000, 1400)
        self.net.filter_icmp("router")
        self.lose_above(1340, 10)
        flows = self.measure("forward", "10 % above 1340 of 1400", fragments=1, trace=1)
        self.found_at(1340, flows)
        for version, flow in flows.items():
            self.assertEqual(1400, flow["path_mtu"])
            self.assertEqual(1400 - HEADERS[version], flow["loss_by_size"][-1][0])
            self.assertEqual(("pass", True), (flow["fragments"]["arrive"], flow["trace"]["traced"]))

    @unittest.skipUnless(SLOW, "SONDE_SLOW=1 does it")
    def test_large_frames(self):
        self.links(9000, 9000)
        self.lose_above(1500, 2)
        flows = self.measure("forward", "2 % above 1500 of 9000", pace=125_000_000)
        self.found_at(1500, flows, within=64)

    # --- it does not --------------------------------------------------------------------------

    def test_one_percent_of_all_sizes_is_no_threshold(self):
        self.net.lose_some(1)
        for _ in range(RUNS):
            for direction in ("forward", "reverse") if SLOW else ("forward",):
                flows = self.measure(direction, "1 % of all sizes")
                self.not_found(flows)
                for flow in flows.values():  # the answers that are lost are told by others
                    self.assertLess(abs(flow["size_effect"]["lost"] - BUDGET * 0.01), 75)

    def test_lost_answers_are_no_lost_datagrams(self):
        self.net.forward('iifname "rb" meta l4proto udp numgen random mod 100 < 10 drop')
        for _ in range(RUNS):
            flows = self.measure("forward", "10 % of the answers", sizes=BUDGET // 4)
            self.not_found(flows, BUDGET // 4)
            for flow in flows.values():
                # the last ones, behind which no answer came
                self.assertLessEqual(flow["size_effect"]["lost"], 5)

    def test_loss_that_changes_in_time_is_no_threshold(self):
        """Half of the time 10 % are lost, and 30 in a row now and then."""
        budget = BUDGET if SLOW else BUDGET // 2
        over = threading.Event()

        def change():
            while not over.is_set():
                self.net.forget_rules()
                over.wait(0.3)
                self.net.forward("meta l4proto udp numgen inc mod 1000 >= 970 drop",
                                 "meta l4proto udp numgen random mod 100 < 10 drop")
                over.wait(0.3)

        for _ in range(RUNS):
            changer = threading.Thread(target=change)
            self.begin("forward", sizes=budget)
            over.clear()
            time.sleep(0.3)  # the search is over
            changer.start()
            try:
                flows = self.end("forward", "loss that comes and goes")
            finally:
                over.set()
                changer.join()
                self.net.forget_rules()
            self.not_found(flows, budget)
            for flow in flows.values():
                self.assertGreater(flow["size_effect"]["lost"], 100)

    def test_what_this_host_refuses_is_not_lost(self):
        self.net.nft("a", """
            table inet path_refuse {
                chain refuse {
                    type filter hook output priority 0;
                    meta l4proto udp meta length > 1000 numgen random mod 100 < 30 drop
                }
            }""")
        self.addCleanup(self.net.run, "a", "nft", "delete", "table", "inet", "path_refuse")
        for flow in self.measure("forward", "30 % above 1000 are refused", sizes=3200).values():
            effect = flow["size_effect"]
            self.assertEqual((False, 0), (effect["found"], effect["lost"]))
            self.assertLess(effect["sent"], 3000)

    # --- ends ---------------------------------------------------------------------------------

    def test_one_size_alone_is_not_measured(self):
        for flow in self.measure("forward", "the floor is the path MTU", floor=1500).values():
            self.assertEqual((1500, 0, []), (flow["path_mtu"], flow["size_effect"]["sent"],
                                             flow["loss_by_size"]))

    def test_cut_in_the_middle_tells_what_is_known(self):
        self.net.lose_some(5)
        self.begin("forward", pace=1_000_000, stop_ms=800, sizes=10_000_000)
        for flow in self.end("forward", "cut after 0.8 s", "interrupted").values():
            self.assertEqual(1500, flow["path_mtu"])
            self.assertGreater(flow["size_effect"]["sent"], 100)

    def test_pace_is_kept(self):
        pace = 2_500_000
        flows = self.measure("forward", "at 2.5 MB/s", pace=pace, sizes=1024)
        for version, flow in flows.items():
            carried = sum((payload + HEADERS[version]) * sent
                          for payload, sent, _ in flow["loss_by_size"])
            self.assertLess(carried / flow["size_effect"]["seconds"], 1.05 * pace)


def say(what, flow):
    effect = flow["size_effect"]
    found = (f"above {effect['threshold']} ({effect['least']} to {effect['most']})"
             if effect["found"] else "no threshold")
    print(f"{what}: {found}, {effect['lost']} of {effect['sent']} lost in "
          f"{effect['seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    reason = network.why_impossible() or (None if os.path.exists(TOOL) else f"there is no {TOOL}")
    if reason:
        print("SKIPPED:", reason)
        sys.exit(network.SKIPPED)
    unittest.main(argv=sys.argv[:1])
