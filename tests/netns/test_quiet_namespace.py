#!/usr/bin/env python3
"""In a network namespace of its own nobody else sends: there the kernel's counters must agree with
sonde's account to the datagram. Usage: test_quiet_namespace.py SONDE; needs root."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SONDE = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "sonde"
NAMESPACE = f"sonde-test-{os.getpid()}"
SKIPPED = 77


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def loopback(folder, *flags):
    """Runs one measurement in the namespace and returns its run.json."""
    command = ["ip", "netns", "exec", NAMESPACE, SONDE, "loopback", "--repeat", "1", "--warmup",
               "0.1", "--seconds", "0.3", "--json", "--output", folder, *flags]
    done = subprocess.run(command, capture_output=True, timeout=100)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


class QuietNamespace(unittest.TestCase):
    def setUp(self):
        ip("netns", "add", NAMESPACE)
        self.addCleanup(ip, "netns", "delete", NAMESPACE)
        ip("-n", NAMESPACE, "link", "set", "lo", "up")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def assert_counters_agree(self, run):
        counters = run["hosts"][0]["counters"]
        for name in ("udp.sent", "udp.delivered", "udp.receive_buffer_full", "udp.no_socket"):
            self.assertEqual(0, counters["idle"]["delta"][name], name)
        for case in run["cases"]:
            self.assertNotEqual("error", case["status"], case["error"])
            for name, phase in case["phases"].items():
                legs = [phase["forward"], phase["reverse"]]
                kernel = phase["counters"][0]
                where = f"case {case['index']}, {name}"
                self.assertEqual(kernel["udp.sent"], sum(leg["sent"] for leg in legs), where)
                self.assertEqual(kernel["udp.receive_buffer_full"],
                                 sum(leg["lost_to"]["receive_buffer"] for leg in legs), where)
                self.assertEqual(kernel["udp.delivered"],
                                 sum(leg["received"] + leg["late"] + leg["duplicates"]
                                     for leg in legs), where)

    def test_case_that_passes_is_counted_to_the_datagram(self):
        run = loopback(self.folder, "--payload", "64", "--window", "1", "--clients", "3")
        self.assertEqual({"pass"}, {case["status"] for case in run["cases"]})
        self.assert_counters_agree(run)

    def test_lost_datagrams_are_the_kernels_drops(self):
        run = loopback(self.folder, "--payload", "8192", "--window", "64", "--clients", "16",
                       "--io-model", "shared")
        self.assertEqual({"fail"}, {case["status"] for case in run["cases"]})
        self.assert_counters_agree(run)

    def test_fragments_of_a_small_interface_are_counted(self):
        ip("-n", NAMESPACE, "link", "set", "lo", "mtu", "1500")
        run = loopback(self.folder, "--payload", "1472,1473", "--window", "1", "--clients", "1")
        self.assertEqual(1500, run["hosts"][0]["interface"]["mtu"])
        self.assert_counters_agree(run)
        whole, cut = [case["phases"]["measure"] for case in run["cases"]]
        self.assertEqual(0, whole["counters"][0]["ip.fragments_created"])
        self.assertEqual(2 * sum(cut[leg]["sent"] for leg in ("forward", "reverse")),
                         cut["counters"][0]["ip.fragments_created"])


def why_impossible():
    """What keeps this machine from having network namespaces, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    made = subprocess.run(["ip", "netns", "add", NAMESPACE], capture_output=True)
    entered = subprocess.run(["ip", "netns", "exec", NAMESPACE, "true"], capture_output=True)
    subprocess.run(["ip", "netns", "delete", NAMESPACE], capture_output=True)
    return (made.stderr + entered.stderr).decode().strip() if entered.returncode != 0 else None


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print("SKIPPED:", reason)
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
