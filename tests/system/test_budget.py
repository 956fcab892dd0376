#!/usr/bin/python3
"""`sonde budget`: the documented table, other MTUs and header bytes, JSON, and what is refused.

usage: test_budget.py PATH-OF-SONDE
"""
import json
import os
import re
import subprocess
import sys
import unittest

SONDE = ""
TABLE = """\
                            IPv4                                  IPv6
protocol maximum            65,507 = 65,535 - 20 - 8              65,527 = 65,535 - 8
unfragmented at MTU 1,500   1,472 = 1,500 - 20 - 8                1,452 = 1,500 - 40 - 8
unfragmented at MTU 16,384  16,356 = 16,384 - 20 - 8              16,336 = 16,384 - 40 - 8
"""
TOO_SMALL = "no IPv6 link may be that small"
NONE_LEFT = "no payload byte is left"


def run(*words, **options):
    done = subprocess.run([SONDE, "budget", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=20, **options)
    return done.returncode, done.stdout, done.stderr


def once(pairs):
    """Refuses an object that has a key twice."""
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


class Case(unittest.TestCase):
    def answers(self, *words):
        """The JSON, and {mtu: (IPv4 payload or reason, IPv6 payload or reason)}."""
        code, out, err = run("--json", *words)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("\n"), 1)
        whole = json.loads(out, object_pairs_hook=once)
        self.assertEqual(list(whole), ["schema", "ip_options", "extension_headers", "payloads"])
        self.assertEqual(whole["schema"], "sonde.budget/1")
        found = {}
        for row in whole["payloads"]:
            self.assertEqual(list(row), ["mtu", "ipv4", "ipv6"])
            found[row["mtu"]] = tuple(self.answer(row[family]) for family in ("ipv4", "ipv6"))
        return whole, found

    def answer(self, answer):
        """Its payload, after doing the sum that stands beside it; or the reason for none."""
        self.assertEqual(list(answer), ["payload", "arithmetic", "reason"])
        if answer["payload"] is None:
            self.assertIsNone(answer["arithmetic"])
            return answer["reason"]
        self.assertIsNone(answer["reason"])
        left, right = answer["arithmetic"].replace(",", "").split(" = ")
        first, *rest = (int(number) for number in right.split(" - "))
        self.assertEqual(int(left), answer["payload"])
        self.assertEqual(first - sum(rest), answer["payload"])
        return answer["payload"]


class Numbers(Case):
    def test_the_documented_table(self):
        code, out, err = run()
        self.assertEqual((code, err), (0, ""))
        self.assertIn(TABLE, out)

    def test_the_documented_table_as_json(self):
        whole, found = self.answers()
        self.assertEqual(found, {None: (65507, 65527), 1500: (1472, 1452), 16384: (16356, 16336)})
        self.assertEqual((whole["ip_options"], whole["extension_headers"]), (0, 0))

    def test_another_mtu_stands_for_the_default_ones(self):
        self.assertEqual(self.answers("--mtu", "9000")[1],
                         {None: (65507, 65527), 9000: (8972, 8952)})
        self.assertEqual(self.answers("--mtu=1280")[1][1280], (1252, 1232))

    def test_options_and_extension_headers_reduce_it(self):
        whole, found = self.answers("--ip-options", "40", "--extension-headers", "16")
        self.assertEqual((whole["ip_options"], whole["extension_headers"]), (40, 16))
        self.assertEqual(found,
                         {None: (65467, 65511), 1500: (1432, 1436), 16384: (16316, 16320)})
        out = run("--ip-options", "40", "--extension-headers", "16", "--mtu", "1500")[1]
        self.assertIn("1,432 = 1,500 - 20 - 40 - 8 ", out)
        self.assertIn("1,436 = 1,500 - 40 - 16 - 8\n", out)
        self.assertRegex(out, r"steps of 4, here 40\)")
        self.assertRegex(out, r"steps of 8, here 16\)")

    def test_ipv6_has_no_links_below_1280(self):
        self.assertEqual(self.answers("--mtu", "1279")[1][1279], (1251, TOO_SMALL))
        self.assertEqual(self.answers("--mtu", "68")[1][68], (40, TOO_SMALL))
        self.assertRegex(run("--mtu", "68")[1], f"MTU 68 .*40 = 68 - 20 - 8 .*{TOO_SMALL}\n")

    def test_headers_may_leave_nothing(self):
        found = self.answers("--mtu", "68", "--ip-options", "40")[1]
        self.assertEqual(found[68], (NONE_LEFT, TOO_SMALL))
        self.assertEqual(self.answers("--extension-headers", "65528")[1][None],
                         (65507, NONE_LEFT))
        self.assertEqual(self.answers("--extension-headers", "65520", "--mtu", "65575")[1],
                         {None: (65507, 7), 65575: (65507, 7)})

    def test_a_link_larger_than_the_protocol_changes_nothing(self):
        self.assertEqual(self.answers("--mtu", "65535")[1][65535], (65507, 65487))
        self.assertEqual(self.answers("--mtu", "65536")[1][65536], (65507, 65488))
        self.assertEqual(self.answers("--mtu", "65575")[1][65575], (65507, 65527))

    def test_every_mtu_at_the_edges_of_its_family(self):
        for mtu in (68, 69, 576, 1279, 1280, 1281, 1499, 1501, 65534, 65535, 65575):
            ipv4, ipv6 = self.answers("--mtu", str(mtu))[1][mtu]
            self.assertEqual(ipv4, min(mtu, 65535) - 28)
            self.assertEqual(ipv6, mtu - 48 if mtu >= 1280 else TOO_SMALL)


class Words(Case):
    def test_it_says_what_it_is_not(self):
        out = run()[1]
        for words in ("Arithmetic only", "real path MTU", "loopback", "do not fragment",
                      "jumbograms"):
            self.assertIn(words, out)
        for line in out.splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_locale_and_time_zone_change_nothing(self):
        plain = run()
        for env in ({}, {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kathmandu"}):
            self.assertEqual(run(env=env), plain)
        self.assertFalse(re.search("[^\x00-\x7f]", plain[1]))


class Refusals(Case):
    def assert_refused(self, words, *named):
        code, out, err = run(*words)
        self.assertEqual((code, out), (2, ""), words)
        self.assertEqual(err.count("\n"), 1, err)
        for word in ("sonde budget: ", *named):
            self.assertIn(word, err)

    def test_mtus_that_no_link_has(self):
        for value in ("0", "67", "-1", "65576", "99999999999999999999", "abc", "1e3", "1500.0",
                      "1,500", "", " 1500", "0x5dc", "+1500"):
            with self.subTest(value):
                self.assert_refused([f"--mtu={value}"], "--mtu", "68 to 65575")

    def test_options_that_no_header_has(self):
        for value in ("-4", "44", "abc", "1e1", ""):
            self.assert_refused([f"--ip-options={value}"], "--ip-options", "0 to 40")
        for value in ("1", "2", "3", "39"):
            self.assert_refused(["--ip-options", value], "--ip-options", "0 to 40 in steps of 4")

    def test_extension_headers_that_cannot_be(self):
        for value in ("-8", "65536", "abc", ""):
            self.assert_refused([f"--extension-headers={value}"], "--extension-headers",
                                "0 to 65528")
        for value in ("1", "4", "65527"):
            self.assert_refused(["--extension-headers", value], "--extension-headers",
                                "0 to 65528 in steps of 8")

    def test_words_and_flags_that_are_not_its(self):
        self.assert_refused(["1500"], '"1500"')
        self.assert_refused(["--mtuu", "1500"], "--mtuu", "did you mean --mtu?")
        self.assert_refused(["--mtu"], "--mtu", "needs a value")
        self.assert_refused(["--mtu", "1500", "--mtu", "1500"], "--mtu", "twice")
        self.assert_refused(["--json=yes"], "--json", "takes no value")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    SONDE = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
