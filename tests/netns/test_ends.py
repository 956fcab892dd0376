#!/usr/bin/env python3
"""Two ends of a case on two hosts (network namespaces): on addresses of a link alone, with their
zones, and on the second of a host's addresses. Usage: test_ends.py SONDE; needs root, and end_tool
in SONDE_TOOLS."""

import json
import os
import subprocess
import sys
import unittest

TOOL = os.path.join(os.environ.get("SONDE_TOOLS", ""), "end_tool")
HOSTS = [f"sonde-ends-{os.getpid()}-{letter}" for letter in "ab"]
SKIPPED = 77


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class End:
    """An end_tool in a namespace."""

    def __init__(self, test, host, *words):
        self.process = subprocess.Popen(["ip", "netns", "exec", host, TOOL, *words], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        test.addCleanup(self.end)

    def end(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        return line.strip()

    def say(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def report(self):
        local, peer, interface = self.hear().split(" ")
        return local, peer, interface, json.loads(self.hear())


class Ends(unittest.TestCase):
    def setUp(self):
        for host in HOSTS:
            ip("netns", "add", host)
            self.addCleanup(ip, "netns", "delete", host)
        ip("link", "add", "va", "netns", HOSTS[0], "type", "veth", "peer", "name", "vb", "netns",
           HOSTS[1])
        for host, link, number in ((HOSTS[0], "va", 1), (HOSTS[1], "vb", 2)):
            ip("-n", host, "link", "set", link, "addrgenmode", "none")
            ip("-n", host, "link", "set", link, "up")
            ip("-n", host, "link", "set", "lo", "up")
            ip("-n", host, "addr", "add", f"fe80::{number}/64", "dev", link, "nodad")
            ip("-n", host, "addr", "add", f"fd00:9::{number}/64", "dev", link, "nodad")
            ip("-n", host, "addr", "add", f"fd00:9::{number}1/64", "dev", link, "nodad")
            ip("-n", host, "addr", "add", f"10.9.7.{number}/24", "dev", link)
            ip("-n", host, "addr", "add", f"10.9.7.{number}1/24", "dev", link)

    def measure(self, bind_to, target):
        """Runs both ends; they must say the same of who talked to whom, and lose nothing. Returns
        where each was."""
        echo = End(self, HOSTS[1], "echo", bind_to, "the key")
        port = echo.hear()
        sender = End(self, HOSTS[0], "sender", f"{target}:{port}", "the key")
        self.assertEqual("agreed", sender.hear())
        echo.say()
        self.assertEqual("ready", echo.hear())
        sender.say()
        sender_local, sender_peer, sender_link, sent = sender.report()
        echo.say()
        echo_local, echo_peer, echo_link, echoed = echo.report()
        self.assertEqual(f"{target}:{port}", sender_peer)
        self.assertEqual(("va", "vb"), (sender_link, echo_link))
        self.assertGreater(sent["forward"]["sent"], 0)
        self.assertEqual(sent["forward"]["sent"], echoed["forward"]["received"])
        self.assertEqual(echoed["reverse"]["sent"], sent["reverse"]["received"])
        self.assertEqual(0, sent["reverse"]["foreign"] + echoed["forward"]["foreign"])
        return sender_local, echo_local, echo_peer, port

    def test_addresses_of_a_link_keep_their_zone(self):
        sender_local, echo_local, echo_peer, port = self.measure("[::]:0", "[fe80::2%va]")
        # each end has its own name for the link
        self.assertEqual(f"[fe80::2%vb]:{port}", echo_local)
        self.assertTrue(sender_local.startswith("[fe80::1%va]:"), sender_local)
        self.assertEqual(sender_local.replace("%va", "%vb"), echo_peer)

    def test_second_address_answers_for_itself(self):
        for wildcard, target in (("0.0.0.0:0", "10.9.7.21"), ("[::]:0", "[fd00:9::21]"),
                                 ("0.0.0.0:0", "10.9.7.2"), ("[::]:0", "[fd00:9::2]")):
            sender_local, echo_local, echo_peer, port = self.measure(wildcard, target)
            self.assertEqual(f"{target}:{port}", echo_local)
            self.assertEqual(sender_local, echo_peer)

    def test_wrong_key_finds_nobody(self):
        echo = End(self, HOSTS[1], "echo", "0.0.0.0:0", "the key")
        sender = End(self, HOSTS[0], "sender", f"10.9.7.2:{echo.hear()}", "another key")
        self.assertEqual("", sender.process.stdout.read())
        self.assertIn("20 hellos to 10.9.7.2", sender.process.stderr.read())


def why_impossible():
    if not os.path.exists(TOOL):
        return f"there is no {TOOL}"
    made = subprocess.run(["ip", "netns", "add", HOSTS[0]], capture_output=True)
    entered = subprocess.run(["ip", "netns", "exec", HOSTS[0], "true"], capture_output=True)
    subprocess.run(["ip", "netns", "delete", HOSTS[0]], capture_output=True)
    return (made.stderr + entered.stderr).decode().strip() if entered.returncode != 0 else None


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print("SKIPPED:", reason)
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
