#!/usr/bin/env python3
"""The path MTU over real sockets, between two hosts (network namespaces) with a router in between:
exact to the byte, whoever filters ICMP, loses or lies. Prints how long each search took and how
many datagrams it sent. Usage: test_path_mtu.py SONDE; needs root, and mtu_tool in SONDE_TOOLS.
With SONDE_SLOW=1 it does more of the same."""

import os
import statistics
import sys
import time
import unittest

from path_mtu import TOOL, Pair

import network
from mtu_network import WIDE, WIDEST, OneRouter

SLOW = os.environ.get("SONDE_SLOW") == "1"
SANITIZED = os.environ.get("SONDE_SANITIZE", "") != ""


class PathMtu(unittest.TestCase):
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

    def links(self, a, b):
        self.net.mtu("a", a)
        self.net.mtu("b", b)

    def search(self, direction, **plan):
        """Both families at once; the flow of each."""
        plan = {"fragments": 0, "trace": 0, **plan}
        for pair in self.pairs.values():
            pair.begin(direction, **plan)
        flows = {}
        for version, pair in self.pairs.items():
            found = pair.end(direction)
            self.assertEqual("no error", found["status"], found["fault"])
            flows[version] = found["flows"][0]
            flows[version]["answered"] = found["answered"]
        return flows

    def expect(self, size, direction, what, **plan):
        flows = self.search(direction, **plan)
        for version, flow in flows.items():
            say(f"{what}, {direction}, IPv{version}", flow)
            self.assertEqual(("found", size), (flow["outcome"], flow["path_mtu"]), flow)
            self.assertEqual(0, flow["answered"]["in_fragments"])
            self.assertEqual(0, flow["odd_answers"])
        return flows

    # --- exact --------------------------------------------------------------------------------

    def each_size(self, what):
        sizes = [1280, 1281, 1300, 1399, 1400, 1420, 1450, 1492, 1500, 1501, 8999, 9000, 16384]
        for size in sizes if SLOW else sizes[::2] + [1500]:
            wide = WIDE if size < WIDE else WIDEST
            self.links(wide, size)
            yield size, self.expect(size, "forward", f"{size} of {wide} {what}")
            self.links(size, wide)
            yield size, self.expect(size, "reverse", f"{size} of {wide} {what}")

    def test_exact_where_icmp_says_so(self):
        for size, flows in self.each_size("with ICMP"):
            for flow in flows.values():
                self.assertTrue(flow["hinted"], flow)
                self.assertEqual(("path", size + 1), (flow["limit"], flow["next_size"]))
                self.assertTrue(any(icmp["accepted"] and icmp["mtu"] == size and
                                    icmp["quote"] == "matched" for icmp in flow["icmp"]))

    def test_exact_in_a_black_hole(self):
        self.net.filter_icmp("router")
        for size, flows in self.each_size("in a black hole"):
            for flow in flows.values():
                self.assertEqual((False, []), (flow["hinted"], flow["icmp"]))
                self.assertEqual(("path", size + 1), (flow["limit"], flow["next_size"]))

    def test_exact_where_a_host_filters_icmp(self):
        self.links(WIDE, 1400)
        self.net.filter_icmp("host a")
        self.expect(1400, "forward", "1400, host A filters ICMP")
        self.links(1400, WIDE)
        self.net.filter_icmp("host b")
        self.expect(1400, "reverse", "1400, host B filters ICMP")

    def test_exact_where_one_family_filters_icmp(self):
        self.links(WIDE, 1450)
        for filtered in (4, 6):
            self.net.filter_icmp("router", (filtered,))
            flows = self.expect(1450, "forward", f"1450, IPv{filtered} filters ICMP")
            self.assertEqual(filtered != 4, flows[4]["hinted"])
            self.assertEqual(filtered != 6, flows[6]["hinted"])
            self.net.pass_icmp()

    def test_forward_and_reverse_differ(self):
        self.links(WIDE, WIDE)
        self.addCleanup(self.net.lock, "a", None)
        self.addCleanup(self.net.lock, "b", None)
        self.net.lock("b", 1400)
        self.net.lock("a", 1300)
        self.expect(1400, "forward", "1400 there, 1300 back")
        self.expect(1300, "reverse", "1400 there, 1300 back")
        self.net.filter_icmp("router")
        self.expect(1400, "forward", "1400 there, 1300 back, silent")
        self.expect(1300, "reverse", "1400 there, 1300 back, silent")

    def test_reply_direction_does_not_spoil_the_forward_result(self):
        self.links(1500, 1500)
        self.net.forward('oifname "ra" meta l4proto udp meta length > 1300 drop')
        flows = self.expect(1500, "forward", "1300 back by a filter")
        self.assertEqual({"ceiling"}, {flow["limit"] for flow in flows.values()})
        self.expect(1300, "reverse", "1300 back by a filter")

    def test_both_ways_at_once(self):
        self.links(1500, WIDE)
        self.net.filter_icmp("router")
        for pair in self.pairs.values():
            pair.caller.say("probe fragments=0 trace=0")
            pair.listener.say("probe fragments=0 trace=0")
        for pair in self.pairs.values():
            forward = pair.result("forward")["flows"][0]
            pair.caller.say("answer")
            self.assertEqual("ready", pair.caller.hear())
            reverse = pair.result("reverse")["flows"][0]
            pair.caller.say()
            pair.caller.hear()
            self.assertEqual((1500, 1500), (forward["path_mtu"], reverse["path_mtu"]))

    def test_this_hosts_refusal_is_an_answer(self):
        self.links(1420, 1500)
        flows = self.expect(1420, "forward", "asked for 9000 on 1420", ceiling=9000)
        for flow in flows.values():
            self.assertEqual(("local", 1421), (flow["limit"], flow["next_size"]))
            self.assertGreaterEqual(flow["refused"], 3)
            self.assertEqual(1420, flow["local_mtu"])

    def test_mapped_address_is_its_ipv4_address(self):
        self.links(WIDE, 1400)
        pair = Pair(self.net, 4, target=f"::ffff:{network.ADDRESS['b', 4]}")
        self.addCleanup(pair.close)
        flow = pair.probe(fragments=0, trace=0)["flows"][0]
        self.assertEqual((1400, f"{network.ADDRESS['b', 4]}:{pair.port}"),
                         (flow["path_mtu"], flow["peer"]))

    # --- loss, changes ------------------------------------------------------------------------

    def test_random_loss_does_not_move_it(self):
        self.links(WIDE, 1400)
        for percent in (1, 5, 10, 20) if not SLOW else (1, 5, 10, 20) * 5:
            self.net.lose_some(percent)
            self.expect(1400, "forward", f"1400, {percent} % loss, ICMP")
            self.net.filter_icmp("router")
            self.expect(1400, "forward", f"1400, {percent} % loss, silent")
            self.net.pass_icmp()
            self.net.forget_rules()

    def test_raised_again_at_once(self):
        self.links(WIDE, 1400)
        self.expect(1400, "forward", "1400 before it is raised")
        self.links(WIDE, 1500)
        flows = self.expect(1500, "forward", "raised to 1500 at once")
        # what programs get from the kernel is still the old value
        self.assertEqual(1400, flows[4]["kernel_before"])

    def test_watching_sees_one_change(self):
        self.links(1500, 1500)
        self.net.lose_some(15)
        seconds = 60 if SLOW else 5
        for pair in self.pairs.values():
            pair.begin(watch_s=seconds + 6, check_ns=500_000_000)
        time.sleep(seconds)
        self.net.mtu("b", 1400)
        for pair in self.pairs.values():
            found = pair.end()
            self.assertEqual("no error", found["status"], found["fault"])
            self.assertEqual([("known", 0, 1500), ("changed", 1500, 1400)],
                             [(e["event"], e["from"], e["to"]) for e in pair.events])

    # --- lies and fragments -------------------------------------------------------------------

    def forge(self, mode):
        self.addCleanup(self.net.flush)
        self.addCleanup(network.end, self.net.forge(mode))

    def test_quote_of_eight_bytes_is_a_hint(self):
        self.links(WIDE, 1400)
        self.net.filter_icmp("router")
        self.forge("terse")
        for flow in self.expect(1400, "forward", "1400 with a terse router").values():
            self.assertTrue(flow["hinted"], flow)
            self.assertEqual({"too short to tell"}, {icmp["quote"] for icmp in flow["icmp"]})

    def test_forged_icmp_is_not_believed(self):
        self.links(WIDE, 1400)
        self.net.filter_icmp("router")
        self.forge("lies")
        # its own ICMP is sent below the filter
        flows = self.expect(1400, "forward", "1400 with forged ICMP")
        self.assertLess(flows[4]["kernel"], 1400, "the kernel believes it")
        for version, flow in flows.items():
            self.assertFalse(flow["hinted"], flow)
            judged = {(icmp["quote"], icmp["judged"]): icmp["mtu"] for icmp in flow["icmp"]}
            say(f"   IPv{version} judged {judged}")
            self.assertIn(("matched", "not below what was sent"), judged)
            self.assertIn(("not sent by us", "unknown datagram"), judged)
            if version == 4:
                self.assertIn(("matched", "below the protocol's minimum"), judged)
            for icmp in flow["icmp"]:
                self.assertNotEqual(1290, icmp["mtu"], "that was for another flow")
                if icmp["mtu"] < (68 if version == 4 else 1280) or icmp["mtu"] == 65000:
                    self.assertFalse(icmp["accepted"])

    def test_size_that_comes_in_fragments_is_not_carried(self):
        self.links(WIDE, 1400)
        self.net.clear_df("r", "ra")
        self.addCleanup(self.net.forget, "r", "path_df")
        pair = Pair(self.net, 4)
        self.addCleanup(pair.close)
        found = pair.probe(fragments=0, trace=0)
        flow = found["flows"][0]
        say("1400, the router cuts in spite of DF, IPv4", flow)
        self.assertTrue(found["answered"]["fragments_told"])
        self.assertGreater(found["answered"]["in_fragments"], 5)
        self.assertEqual(1400, flow["path_mtu"])

    def test_fragments_pass_or_do_not(self):
        self.links(WIDE, 1400)
        for dropped in (False, True):
            if dropped:
                self.net.drop_fragments("b")
                self.addCleanup(self.net.forget, "b", "path_fragments")
            for version, flow in self.search("forward", fragments=1).items():
                fragments = flow["fragments"]
                say(f"   fragments of IPv{version}: {fragments}")
                self.assertEqual("dropped" if dropped else "pass", fragments["arrive"])
                self.assertEqual(2800 if version == 4 else WIDE + 1, fragments["size"])
                self.assertEqual(0 if dropped else 10, fragments["arrived"])
                self.assertEqual(fragments["small_sent"], fragments["small_arrived"])
        # DF is on again
        self.expect(1400, "forward", "1400 after fragments")

    def test_where_larger_datagrams_vanish(self):
        self.links(1500, 1400)
        self.net.filter_icmp("router")
        for direction, there, router in (("forward", "b", "a"), ("reverse", "a", "b")):
            if direction == "reverse":
                self.links(1400, 1500)
            for version, flow in self.search(direction, trace=1).items():
                trace = flow["trace"]
                self.assertEqual((True, 1400, 1401), (trace["traced"], trace["passing"],
                                                      trace["failing"]), trace)
                self.assertEqual((1, 2, True), (trace["last_hops"], trace["first_hops"],
                                                trace["first_is_peer"]), trace)
                self.assertIn(network.ROUTER[router, version], trace["last"])
                self.assertIn(network.ADDRESS[there, version], trace["first"])
                say(f"   {direction}, IPv{version}: larger ones vanish after {trace['last']}, "
                    f"{trace['sent']} datagrams")

    # --- flows --------------------------------------------------------------------------------

    def test_each_flow_has_its_own_answer(self):
        self.links(9000, 1500)
        for version, count in ((4, 16), (6, 3), *(((4, 256),) if SLOW else ((4, 40),))):
            pair = Pair(self.net, version, flows=count)
            self.addCleanup(pair.close)
            before = pair.probe(fragments=0, trace=0)["flows"]
            ports = [flow["source_port"] for flow in before]
            self.assertEqual(count, len(set(ports)))
            self.assertEqual({1500}, {flow["path_mtu"] for flow in before})
            narrow = set(ports[1::4])
            listed = ", ".join(map(str, narrow))
            self.net.forward(f"udp sport {{ {listed} }} meta length > 1400 drop",
                             f"udp dport {{ {listed} }} meta length > 1400 drop")
            for direction in ("forward", "reverse"):
                begun = time.monotonic()
                flows = pair.probe(direction, fragments=0, trace=0, ceiling=1500)["flows"]
                say(f"{count} flows, {direction}, IPv{version}: {time.monotonic() - begun:.2f} s, "
                    f"{sum(flow['datagrams'] for flow in flows)} datagrams")
                self.assertEqual({port: 1400 if port in narrow else 1500 for port in ports},
                                 {flow["source_port"]: flow["path_mtu"] for flow in flows})
            self.net.forget_rules()

    def test_one_dead_flow_leaves_the_others(self):
        self.links(1500, 1500)
        pair = Pair(self.net, 4, flows=3)
        self.addCleanup(pair.close)
        ports = [flow["source_port"] for flow in pair.probe(fragments=0, trace=0)["flows"]]
        self.net.forward(f"udp sport {ports[0]} drop")
        flows = pair.probe(fragments=0, trace=0)["flows"]
        self.assertEqual(["unreachable", "found", "found"], [flow["outcome"] for flow in flows])
        self.assertEqual([0, 1500, 1500], [flow["path_mtu"] for flow in flows])

    # --- errors -------------------------------------------------------------------------------

    def test_floor_above_ceiling_is_one_clear_line(self):
        self.links(1500, 1500)
        for plan in ({"floor": 1400, "ceiling": 1300}, {"floor": 2000}):
            found = self.pairs[4].probe(**plan)
            self.assertEqual("out of range", found["status"])
            self.assertIn(f"the floor must not be {plan['floor']}: 1 to "
                          f"{plan.get('ceiling', 1500)} are allowed", found["fault"])

    def test_below_the_floor(self):
        self.links(WIDE, 1300)
        for flow in self.search("forward", floor=1400).values():
            self.assertEqual(("below floor", 0), (flow["outcome"], flow["path_mtu"]))

    def test_cut_in_the_middle_tells_what_is_known(self):
        self.links(1500, 1500)
        found = self.pairs[4].probe(watch_s=30, stop_ms=1500)
        self.assertEqual("interrupted", found["status"])
        self.assertEqual(1500, found["flows"][0]["path_mtu"])

    def test_peer_that_goes_away_ends_the_search(self):
        self.links(WIDE, 1400)
        self.net.filter_icmp("router")
        pair = Pair(self.net, 4)
        self.addCleanup(pair.close)
        pair.listener.process.kill()
        pair.caller.say("probe fragments=0 trace=0")
        flow = pair.result()["flows"][0]
        say("the peer is away, IPv4", flow)
        self.assertEqual("unreachable", flow["outcome"])
        self.assertGreater(flow["unreachable"], 0)

    # --- time ---------------------------------------------------------------------------------

    def test_time(self):
        """Printed; no limit is tested, but that it ends."""
        self.links(9000, 1400)
        for what in ("with ICMP", "in a black hole"):
            for version, pair in self.pairs.items():
                flows = [pair.probe(fragments=0, trace=0)["flows"][0]
                         for _ in range(51 if SLOW else 7)]
                seconds = sorted(flow["seconds"] for flow in flows)
                say(f"9000 local, 1400 real {what}, IPv{version}: median "
                    f"{statistics.median(seconds):.3f} s, slowest {seconds[-1]:.3f} s, median "
                    f"{statistics.median(flow['datagrams'] for flow in flows):.0f} datagrams")
                self.assertEqual({1400}, {flow["path_mtu"] for flow in flows})
            self.net.filter_icmp("router")


class BelowIpv6(unittest.TestCase):
    def test_576(self):
        with OneRouter() as net:
            net.mtu("a", 1500)
            net.mtu("b", 576)
            pair = Pair(net, 4)
            self.addCleanup(pair.close)
            for silent in (False, True):
                if silent:
                    net.filter_icmp("router")
                for floor in (500, 576):
                    flow = pair.probe(floor=floor, fragments=0, trace=0)["flows"][0]
                    say(f"576 {'silent' if silent else 'with ICMP'}, floor {floor}, IPv4", flow)
                    self.assertEqual(("found", 576), (flow["outcome"], flow["path_mtu"]))


def say(what, flow=None):
    if flow is not None:
        what += (f": {flow['path_mtu']} in {flow['seconds']:.3f} s, {flow['datagrams']} datagrams, "
                 f"{flow['rounds']} rounds")
    print(what, flush=True)


if __name__ == "__main__":
    reason = network.why_impossible() or (None if os.path.exists(TOOL) else f"there is no {TOOL}")
    if reason:
        print("SKIPPED:", reason)
        sys.exit(network.SKIPPED)
    unittest.main(argv=sys.argv[:1])
