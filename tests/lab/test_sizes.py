#!/usr/bin/env python3
"""`sonde sizes` between real daemons: loss that begins above a size is found, loss that does not
know sizes is not blamed on one. Usage: test_sizes.py SONDE; needs root. With SONDE_SLOW=1 twenty
runs without a threshold."""

import math

from hosts import main
from mtu_hosts import FAMILIES, SLOW, MtuHosts, say

EDGE, CLOSE = 1440, 8
HEADER = {"ipv4": 28, "ipv6": 48}


class Sizes(MtuHosts):
    def sizes(self, *flags, code=0):
        return self.mtu(*flags, what="sizes", code=code)

    def assert_threshold(self, case):
        effect = case["size_effect"]
        self.assertTrue(effect["found"], effect)
        self.assertLessEqual(abs(effect["threshold"] - EDGE), CLOSE, effect)
        self.assertLessEqual(effect["least"], effect["threshold"])
        self.assertLessEqual(effect["threshold"], effect["most"])
        self.assertEqual(0, sum(one["lost"] for one in case["loss_by_size"]
                                if one["payload"] + HEADER[case["family"]] <= EDGE), effect)
        sent = effect["sent_above"]
        self.assertLess(abs(effect["lost_above"] - 0.01 * sent), 5 * math.sqrt(0.0099 * sent))
        self.assertLess(effect["low_above"], effect["lost_above"] / sent)
        self.assertLess(effect["lost_above"] / sent, effect["high_above"])
        self.assertEqual(effect["sent"], effect["sent_below"] + effect["sent_above"])
        self.assertEqual(effect["sent"], sum(one["sent"] for one in case["loss_by_size"]))
        self.assertEqual(effect["lost"], sum(one["lost"] for one in case["loss_by_size"]))
        self.assertEqual("lossy", case["verdict"])
        say(f"{case['family']} {case['direction']}: above {effect['threshold']} "
            f"({effect['least']} to {effect['most']}), {effect['lost_above']} of "
            f"{effect['sent_above']} lost, {effect['sent']} sent in {effect['seconds']:.1f} s")

    def test_loss_above_a_size_is_found(self):
        self.network.lose_some(1, above=EDGE)
        for family in FAMILIES:
            run = self.sizes("--family", family)
            self.assert_parts(run, [family])
            for case in run["cases"]:
                self.assertEqual(1500, case["path_mtu"])
                self.assert_threshold(case)
            self.assertRegex(self.report, r"loss changes above 1,4\d\d")

    def test_loss_above_a_size_one_way_is_that_ways(self):
        self.network.forward(f'oifname "near" meta l4proto udp meta length > {EDGE} '
                             "numgen random mod 100 < 1 drop")
        run = self.sizes("--family", "ipv4", "--check", code=3)
        self.assert_threshold(run.one("ipv4", "forward"))
        reverse = run.one("ipv4", "reverse")
        self.assertFalse(reverse["size_effect"]["found"])
        self.assertEqual((0, "signalled"), (reverse["size_effect"]["lost"], reverse["verdict"]))

    def test_loss_at_all_sizes_has_no_threshold(self):
        self.network.lose_some(1)
        for _ in range(20 if SLOW else 2):
            run = self.sizes("--family", "ipv4", "--direction", "forward")
            case = run.one("ipv4", "forward")
            effect = case["size_effect"]
            self.assertEqual((False, None, None, None),
                             tuple(effect[name] for name in ("found", "threshold", "least",
                                                             "most")), effect)
            # an answer that was lost is told by others
            self.assertLess(abs(effect["lost"] - 0.01 * effect["sent"]), 75, effect)
            self.assertEqual("signalled", case["verdict"])
            say(f"1 % at all sizes: {effect['lost']} of {effect['sent']} lost, no threshold")

    def test_budget_is_kept(self):
        run = self.sizes("--family", "ipv6", "--budget", "1000", "--direction", "reverse")
        effect = run.one("ipv6", "reverse")["size_effect"]
        self.assertTrue(1000 <= effect["sent"] <= 1032, effect)
        self.assertEqual(0, effect["lost"])

    def test_mtu_measures_sizes_behind_its_search(self):
        self.network.narrow("near", 1400)
        self.network.lose_some(4, above=1350)
        run = self.mtu("--family", "ipv4", "--direction", "forward", "--flows", "3", "--sizes",
                       "20000", "--no-trace")
        first, *others = run.flows("ipv4", "forward")
        self.assertLessEqual(abs(first["size_effect"]["threshold"] - 1350), CLOSE)
        self.assertEqual("lossy", first["verdict"])
        for case in others:
            self.assertEqual((None, 1400, "signalled"),
                             (case["size_effect"], case["path_mtu"], case["verdict"]))


if __name__ == "__main__":
    main()
