#!/usr/bin/env python3
"""A loopback interface with a small MTU: what is larger travels in fragments and arrives, the
kernel's counters are what arithmetic says, and the terminal tells it. Usage:
test_loopback_fragments.py SONDE; needs root."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SONDE = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "sonde"
NAMESPACE = f"sonde-frag-{os.getpid()}"
SKIPPED = 77
UDP, FRAGMENT = 8, 8
IP = {"ipv4": 20, "ipv6": 40}
PREFIX = {"ipv4": "ip.", "ipv6": "ip6."}


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def pieces(family, payload, mtu):
    """Fragments of a datagram: each but the last has a multiple of 8 bytes, and IPv6's have a
    header more. Linux makes an IPv4 packet's last one as large as the MTU lets it be."""
    room = mtu - IP[family] - (FRAGMENT if family == "ipv6" else 0)
    step = room // 8 * 8
    last = room if family == "ipv4" else step
    if IP[family] + UDP + payload <= mtu:
        return 1
    return 1 + -(-(UDP + payload - last) // step)


def unfolded(text):
    return " ".join(text.split())


class LoopbackFragments(unittest.TestCase):
    def setUp(self):
        ip("netns", "add", NAMESPACE)
        self.addCleanup(ip, "netns", "delete", NAMESPACE)
        ip("-n", NAMESPACE, "link", "set", "lo", "up")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def sonde(self, *words):
        done = subprocess.run(["ip", "netns", "exec", NAMESPACE, SONDE, *words],
                              capture_output=True, timeout=100, check=False)
        self.assertEqual(0, done.returncode, done.stderr.decode())
        return done.stdout.decode()

    def measure(self, family, mtu, payloads):
        """A run on an lo of this MTU, as run.json and as text."""
        ip("-n", NAMESPACE, "link", "set", "lo", "mtu", str(mtu))
        run = json.loads(self.sonde(
            "loopback", "--family", family, "--payload", ",".join(map(str, payloads)), "--window",
            "2", "--clients", "2", "--repeat", "1", "--warmup", "0.1", "--seconds", "0.2",
            "--idle", "0.1", "--json", "--output", self.folder))
        folder = max((os.path.join(self.folder, name) for name in os.listdir(self.folder)),
                     key=os.path.getmtime)
        return run, unfolded(self.sonde("report", folder))

    def check_case(self, family, mtu, case):
        """Every echo came, and no fragment is missing or too many."""
        self.assertEqual("pass", case["status"], case["error"])
        each = pieces(family, case["payload"], mtu)
        for name, phase in case["phases"].items():
            where = f"lo {mtu}, {family}, {case['payload']} B, {name}"
            counted = {key[len(PREFIX[family]):]: value for key, value
                       in phase["counters"][0].items() if key.startswith(PREFIX[family])}
            sent = sum(phase[leg]["sent"] for leg in ("forward", "reverse"))
            self.assertEqual(sent, sum(phase[leg]["received"] for leg in ("forward", "reverse")),
                             where)
            cut = sent if each > 1 else 0
            self.assertEqual(cut, counted["fragmented"], where)
            self.assertEqual(cut * each, counted["fragments_created"], where)
            self.assertEqual(cut, counted["reassembled"], where)
            self.assertEqual(0, counted["reassembly_failures"], where)

    def check_text(self, family, mtu, run, text):
        limit = mtu - IP[family] - UDP
        totals = [0, 0]
        for case in run["cases"]:
            each = pieces(family, case["payload"], mtu)
            sent = sum(phase[leg]["sent"] for phase in case["phases"].values()
                       for leg in ("forward", "reverse"))
            if each == 1:
                continue
            totals[0] += sent
            totals[1] += sent * each
            self.assertRegex(text, f" {case['payload']:,} B {case['payload'] + mtu - limit:,} "
                             f"{sent:,} {each} {sent * each:,} {sent * each:,} {sent:,} 0 ")
        self.assertIn(f"The MTU of lo is {mtu:,}: payloads above {limit:,} B travel in fragments: "
                      f"{totals[0]:,} datagrams in {totals[1]:,} fragments, {totals[0]:,} "
                      "reassembled, 0 failures: the arithmetic limit is no threshold on loopback.",
                      text)

    def test_what_is_larger_than_the_mtu_arrives_in_fragments(self):
        for mtu in (1500, 9000):
            for family in ("ipv4", "ipv6"):
                limit = mtu - IP[family] - UDP
                payloads = [limit - 1, limit, limit + 1, limit + 9, 2 * limit + 8, 32000, 65507]
                run, text = self.measure(family, mtu, payloads)
                self.assertEqual(mtu, run["hosts"][0]["interface"]["mtu"])
                self.assertEqual(payloads, [case["payload"] for case in run["cases"]])
                for case in run["cases"]:
                    with self.subTest(mtu=mtu, family=family, payload=case["payload"]):
                        self.check_case(family, mtu, case)
                with self.subTest(mtu=mtu, family=family):
                    self.check_text(family, mtu, run, text)

    def test_nothing_is_told_of_fragments_where_all_payloads_fit(self):
        run, text = self.measure("ipv4", 1500, [1000, 1472])
        self.assertEqual({"pass"}, {case["status"] for case in run["cases"]})
        self.assertIsNone(re.search("MTU of lo", text))


def why_impossible():
    """What keeps this machine from having network namespaces, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    made = subprocess.run(["ip", "netns", "add", NAMESPACE], capture_output=True, check=False)
    entered = subprocess.run(["ip", "netns", "exec", NAMESPACE, "true"], capture_output=True,
                             check=False)
    subprocess.run(["ip", "netns", "delete", NAMESPACE], capture_output=True, check=False)
    return (made.stderr + entered.stderr).decode().strip() if entered.returncode != 0 else None


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print("SKIPPED:", reason)
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
