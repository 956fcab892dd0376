#!/usr/bin/env python3
"""Daemons as a service manager starts them, and as a host is while it boots: too few descriptors,
addresses and names that come later, a controller that comes later.
Usage: test_service.py SONDE; needs root."""

import os
import resource
import signal
import socket
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import certificates
import spools
from fleet import PORT, Fleet
from network import SKIPPED, Alone, end, sh, wait_for, why_impossible
from peers import Agent

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"
FEW, MANY = 64, 100
WATCHDOG_S = 1


class Manager:
    """A service manager's socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.path = path

    def environment(self):
        return {**os.environ, "NOTIFY_SOCKET": self.path,
                "WATCHDOG_USEC": str(WATCHDOG_S * 1_000_000)}

    def wait(self, word, seconds=20):
        """The datagram with this word; others are passed over."""
        self.socket.settimeout(seconds)
        while True:
            told = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())
            if word in told:
                return told

    def is_silent(self):
        self.socket.setblocking(False)
        try:
            self.socket.recv(4096)
        except BlockingIOError:
            return True
        return False


class Case(unittest.TestCase):
    def setUp(self):
        self.host = Alone().__enter__()
        self.addCleanup(self.host.__exit__)
        self.fleet = Fleet(self.host, SONDE, agents=()).__enter__()
        self.addCleanup(self.fleet.__exit__)

    def wait_logged(self, name, words, seconds=20, count=1):
        try:
            wait_for(lambda: self.fleet.log(name).count(words) >= count, seconds)
        except TimeoutError:
            self.fail(f"{name} did not log {words!r}:\n{self.fleet.log(name)}")

    def manager(self):
        made = Manager(self.fleet.path("notify"))
        self.addCleanup(made.socket.close)
        return made

    def stop_controller(self):
        self.assertEqual(0, end(self.fleet.server))


class Descriptors(Case):
    def cpu_s(self):
        """What the controller has used of the processor."""
        with open(f"/proc/{self.fleet.server.pid}/stat", encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def agent(self, name):
        files = certificates.files(self.fleet.certificates.issue("agent", name), "agent")
        made = Agent(PORT, (files["ca"], files["certificate"], files["key"]))
        self.addCleanup(made.close)
        return made

    def test_too_few_refuse_who_comes_and_keep_who_is_there(self):
        self.stop_controller()
        self.fleet.start_controller(
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW)))
        self.wait_logged("controller", "leaves room for")
        first = [self.agent(name) for name in ("first", "second")]
        waiting = [socket.create_connection(("127.0.0.1", PORT), 10) for _ in range(MANY)]
        self.wait_logged("controller", "refused: ")
        for number, agent in enumerate(first):
            name = f"00000000-0000-4000-8000-00000000000{number}"
            agent.result(name, b"x")
            self.assertEqual([name], agent.committed(1))
        before = self.cpu_s()
        time.sleep(2)
        self.assertLess(self.cpu_s() - before, 0.5)
        self.assertLess(self.fleet.log("controller").count("\n"), 30)
        self.assertIsNone(self.fleet.server.poll())
        for stranger in waiting:
            stranger.close()
        wait_for(self.lets_in, 20, pause=0.5)
        self.assertEqual(0, end(self.fleet.server))

    def lets_in(self):
        """A new agent is welcome again."""
        try:
            self.agent(f"late-{time.monotonic_ns()}")
            return True
        except (OSError, AssertionError):
            return False


class ServiceManager(Case):
    def follow(self, manager, process):
        self.assertEqual("1", manager.wait("READY")["READY"])
        heard = []
        while len(heard) < 4:
            manager.wait("WATCHDOG")
            heard.append(time.monotonic())
        for before, after in zip(heard, heard[1:]):
            self.assertLess(after - before, WATCHDOG_S * 0.9)
        process.send_signal(signal.SIGHUP)
        told = manager.wait("RELOADING")
        self.assertLess(abs(int(told["MONOTONIC_USEC"]) / 1e6 - time.monotonic()), 20)
        self.assertEqual("1", manager.wait("READY")["READY"])
        process.send_signal(signal.SIGTERM)
        self.assertEqual("1", manager.wait("STOPPING")["STOPPING"])
        self.assertEqual(0, process.wait(20))

    def test_of_an_agent(self):
        manager = self.manager()
        self.follow(manager, self.fleet.start_agent("a", env=manager.environment()))

    def test_of_a_controller(self):
        self.stop_controller()
        manager = self.manager()
        self.fleet.start_controller(env=manager.environment())
        self.follow(manager, self.fleet.server)


class Boot(Case):
    def test_an_address_whose_uniqueness_is_being_proved(self):
        """Linux lets nobody use an IPv6 address before that, which takes a second or two."""
        self.stop_controller()
        sh("ip", "link", "add", "left", "type", "veth", "peer", "name", "right")
        sh("sysctl", "-qw", "net.ipv6.conf.left.accept_dad=1", "net.ipv6.conf.left.dad_transmits=2")
        for link in ("right", "left"):
            sh("ip", "link", "set", link, "up")
        sh("ip", "address", "add", "fd00:9:3::1/64", "dev", "left")
        shown = sh("ip", "-6", "address", "show", "dev", "left").stdout
        self.assertRegex(shown, r"fd00:9:3::1/64 .*tentative")
        manager = self.manager()
        self.fleet.controller_config = {"listen": f"[fd00:9:3::1]:{PORT}"}
        self.fleet.start_controller(env=manager.environment())
        self.wait_logged("controller", "not ready yet")
        self.assertTrue(manager.is_silent())
        manager.wait("READY")
        socket.create_connection(("fd00:9:3::1", PORT), 5).close()

    def test_a_controller_and_a_name_that_come_later(self):
        """One agent is there before its controller, another before its controller's name."""
        self.hide_names()
        self.stop_controller()
        ids = {name: spools.put(self.fleet.path(f"{name}.sqlite"), [100] * 10) for name in "ab"}
        self.fleet.overrides["b"] = {"controller": {"address": f"controller.lab.test:{PORT}"}}
        for name in "ab":
            self.fleet.start_agent(name)
        self.wait_logged("a", "refused, or no way there; trying again")
        time.sleep(2)
        self.fleet.start_controller()
        self.wait_logged("a", "connected to", 10)
        self.wait_logged("b", "no connection to controller.lab.test:7862; trying again", 30)
        with open(self.fleet.path("hosts"), "a", encoding="ascii") as file:
            file.write("127.0.0.1 controller.lab.test\n")
        self.wait_logged("b", "connected to", 30)
        for name in "ab":
            wait_for(lambda who=name: len(self.stored(who)) == 10)
            self.assertEqual(ids[name], self.stored(name))

    def stored(self, name):
        return [one for one, _ in spools.stored(self.fleet.path("sonde.sqlite"), name)]

    def hide_names(self):
        """No name but localhost is known here, and there is nobody to ask."""
        for path, text in (("/etc/hosts", "127.0.0.1 localhost\n"),
                           ("/etc/resolv.conf", "nameserver 127.0.0.1\n")):
            own = self.fleet.path(os.path.basename(path))
            with open(own, "w", encoding="ascii") as file:
                file.write(text)
            sh("mount", "--bind", own, path)
            self.addCleanup(sh, "umount", path)


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
