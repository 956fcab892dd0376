#!/usr/bin/env python3
"""`sonde serve` as service managers, agents, operators and strangers meet it.

usage: test_serve.py PATH-OF-SONDE
"""

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
import unittest

try:
    import msgpack  # noqa: F401: fleet.py needs it
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import fleet

SONDE = ""


class Case(unittest.TestCase):
    """One authority for all; a controller for each test."""

    @classmethod
    def setUpClass(cls):
        cls.shared = fleet.Folder()
        cls.certs = fleet.Authority(os.path.join(cls.shared.__enter__(), "ca"))
        cls.certs.issue("controller", "c")
        cls.agent_files = cls.certs.issue("agent", "a")
        cls.operator_files = cls.certs.issue("operator", "olga")

    @classmethod
    def tearDownClass(cls):
        cls.shared.__exit__()

    def controller(self, **config):
        folder = fleet.Folder()
        path = folder.__enter__()
        made = fleet.Controller(SONDE, path, self.certs, **config)
        self.addCleanup(folder.__exit__)
        self.addCleanup(made.kill)
        return made

    def agent(self, controller):
        made = fleet.Agent(controller.port, self.agent_files)
        self.addCleanup(made.close)
        return made

    def operator(self, controller):
        made = fleet.Peer(controller.port, self.operator_files)
        self.addCleanup(made.close)
        return made

    def rows(self, controller):
        with contextlib.closing(sqlite3.connect(controller.store, timeout=10)) as store:
            return store.execute("SELECT agent, kind, body FROM results ORDER BY seq").fetchall()


class Configuration(Case):
    def ask(self, *words):
        done = subprocess.run([SONDE, "serve", *words], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=20)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_what_is_printed_is_the_configuration(self):
        code, text, complaint = self.ask("--print-config")
        self.assertEqual((0, ""), (code, complaint))
        printed = yaml.safe_load(text)
        self.assertEqual("0.0.0.0:7862", printed["listen"])
        self.assertEqual(90, printed["store"]["keep_days"])
        controller = self.controller(limits={"runs": 7})
        code, text, complaint = self.ask("--config", controller.path, "--print-config")
        self.assertEqual((0, ""), (code, complaint))
        mine = yaml.safe_load(text)
        self.assertEqual(7, mine["limits"]["runs"])
        self.assertEqual(controller.store, mine["store"]["path"])
        self.assertEqual(printed["limits"]["agents"], mine["limits"]["agents"])

    def test_a_wrong_file_is_2_at_once(self):
        controller = self.controller(lissten=1)
        for words in (["--check-config"], []):
            began = time.monotonic()
            code, _, complaint = self.ask("--config", controller.path, *words)
            self.assertLess(time.monotonic() - began, 5)
            self.assertEqual(2, code)
            self.assertEqual(1, complaint.count("\n"), complaint)
            for word in ("lissten", "listen", controller.path):
                self.assertIn(word, complaint)
        del controller.config["lissten"]
        controller.write()
        self.assertEqual((0, "", ""), self.ask("--config", controller.path, "--check-config"))
        self.assertEqual(2, self.ask("--config", controller.path + ".not", "--check-config")[0])
        self.assertEqual(2, self.ask("--confg", "x")[0])

    def test_what_is_not_there_is_1(self):
        for change, word in (({"tls": {"key": "/nowhere/key.pem"}}, "/nowhere/key.pem"),
                             ({"store": {"path": "/nowhere/s.sqlite"}}, "/nowhere/s.sqlite")):
            controller = self.controller()
            for section, values in change.items():
                controller.config[section].update(values)
            controller.write()
            controller.start(wait=False)
            self.assertEqual(1, controller.process.wait(20))
            self.assertIn(word, controller.log())

    def test_a_port_that_is_taken_is_1(self):
        first = self.controller().start()
        second = self.controller(port=first.port).start(wait=False)
        self.assertEqual(1, second.process.wait(20))
        self.assertIn(str(first.port), second.log())

    def test_a_store_in_use_is_1(self):
        first = self.controller().start()
        second = self.controller()
        second.config["store"]["path"] = first.store
        second.write()
        second.start(wait=False)
        self.assertEqual(1, second.process.wait(20))
        self.assertIn("another controller", second.log())
        self.assertEqual(0, first.stop())


class Manager:
    """A service manager's socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(20)
        self.path = "@" + path[1:] if path.startswith("\0") else path

    def next(self):
        """The next datagram as a dictionary."""
        lines = self.socket.recv(4096).decode().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def close(self):
        self.socket.close()


class Service(Case):
    def test_it_tells_a_service_manager(self):
        controller = self.controller()
        manager = Manager(os.path.join(controller.folder, "notify"))
        self.addCleanup(manager.close)
        controller.start(wait=False, NOTIFY_SOCKET=manager.path)
        self.assertEqual("1", manager.next()["READY"])
        fleet.Agent(controller.port, self.agent_files).close()  # ready means ready
        controller.process.send_signal(signal.SIGHUP)
        told = manager.next()
        self.assertEqual("1", told["RELOADING"])
        self.assertLess(abs(int(told["MONOTONIC_USEC"]) / 1e6 - time.monotonic()), 20)
        self.assertEqual("1", manager.next()["READY"])
        controller.process.send_signal(signal.SIGTERM)
        self.assertEqual("1", manager.next()["STOPPING"])
        self.assertEqual(0, controller.process.wait(20))

    def test_the_watchdog_hears_the_loop(self):
        controller = self.controller()
        manager = Manager("\0sonde-test-" + fleet.new_id())
        self.addCleanup(manager.close)
        controller.start(wait=False, NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="2000000")
        self.assertEqual("1", manager.next()["READY"])
        heard = []
        while len(heard) < 4:
            if "WATCHDOG" in manager.next():
                heard.append(time.monotonic())
        for before, after in zip(heard, heard[1:]):
            self.assertLess(after - before, 1.9)
        controller.process.send_signal(signal.SIGSTOP)  # a loop that hangs is not heard
        time.sleep(0.2)
        manager.socket.setblocking(False)
        try:
            while True:
                manager.socket.recv(4096)
        except BlockingIOError:
            pass
        time.sleep(1.5)
        self.assertRaises(BlockingIOError, manager.socket.recv, 4096)
        controller.process.send_signal(signal.SIGCONT)
        self.assertEqual(0, controller.stop())

    def test_it_says_bye_and_ends(self):
        controller = self.controller().start()
        agent = self.agent(controller)
        began = time.monotonic()
        controller.process.send_signal(signal.SIGTERM)
        bye = agent.receive("bye")
        self.assertEqual("bye", bye["type"])
        self.assertEqual(0, controller.process.wait(20))
        self.assertLess(time.monotonic() - began, 5)
        self.assertIsNone(agent.frame())

    def test_what_came_before_the_end_is_stored(self):
        controller = self.controller().start()
        agent = self.agent(controller)
        agent.result("x", b"body")
        time.sleep(0.005)
        self.assertEqual(0, controller.stop())
        committed = []
        try:
            committed = agent.committed(1)
        except (AssertionError, OSError):
            pass
        stored = self.rows(controller)
        self.assertLessEqual(len(committed), len(stored))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("nsenter"), "needs root and nsenter")
    def test_it_waits_for_its_address(self):
        controller = self.controller()
        controller.config["listen"] = "192.0.2.77:7862"
        controller.write()
        manager = Manager(os.path.join(controller.folder, "notify"))
        self.addCleanup(manager.close)
        alone = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
        controller.start(wait=False, prefix=alone, NOTIFY_SOCKET=manager.path)
        controller.wait_for("not ready yet")
        time.sleep(1.2)
        manager.socket.setblocking(False)
        self.assertRaises(BlockingIOError, manager.socket.recv, 4096)
        manager.socket.settimeout(20)
        enter = ["nsenter", "--net", "--target", str(controller.process.pid), "ip"]
        subprocess.run([*enter, "address", "add", "192.0.2.77/32", "dev", "lo"], check=True,
                       timeout=20)
        self.assertEqual("1", manager.next()["READY"])
        self.assertEqual(0, controller.stop())

    def test_told_to_stop_while_it_waits_it_stops(self):
        controller = self.controller()
        controller.config["listen"] = "192.0.2.77:7862"
        controller.write()
        controller.start(wait=False)
        controller.wait_for("not ready yet")
        self.assertEqual(0, controller.stop())


class Files(Case):
    def serial(self, port):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.agent_files[0])
        context.load_cert_chain(*self.agent_files[1:])
        context.set_alpn_protocols(["sonde/1"])
        with socket.create_connection(("127.0.0.1", port), 10) as raw:
            with context.wrap_socket(raw) as tls:
                return tls.getpeercert()["serialNumber"]

    def test_limits_and_level_change_while_it_serves(self):
        controller = self.controller().start()
        agent = self.agent(controller)
        controller.config.update(log_level="error", limits={"agents": 1},
                                 listen="127.0.0.1:1")
        controller.write()
        controller.process.send_signal(signal.SIGHUP)
        controller.wait_for("listen changes with the next start")
        fleet.until(lambda: self.is_refused(controller.port), 20, lambda: "not refused")
        agent.result("x", b"1")
        self.assertEqual(["x"], agent.committed(1))

    def is_refused(self, port):
        try:
            peer = fleet.Peer(port, self.operator_files)
        except OSError:
            return True
        try:
            return peer.frame() is None
        except OSError:
            return True
        finally:
            peer.close()

    def test_a_broken_file_changes_nothing(self):
        controller = self.controller().start()
        agent = self.agent(controller)
        with open(controller.path, "a", encoding="utf-8") as file:
            file.write("no: such key\n")
        controller.process.send_signal(signal.SIGHUP)
        controller.wait_for("the old configuration stays")
        agent.result("x", b"1")
        self.assertEqual(["x"], agent.committed(1))
        fleet.Agent(controller.port, self.certs.issue("agent", fleet.new_id())).close()

    def test_certificates_are_swapped_and_broken_ones_are_not(self):
        controller = self.controller()
        copies = []
        for key, path in zip(("ca", "certificate", "key"), self.certs.files("controller", "c")):
            copies.append(shutil.copy(path, controller.folder))
            controller.config["tls"][key] = copies[-1]
        controller.write()
        controller.start()
        agent = self.agent(controller)
        before = self.serial(controller.port)
        with open(copies[1], "w", encoding="ascii") as file:
            file.write("broken\n")
        controller.process.send_signal(signal.SIGHUP)
        controller.wait_for("the old ones stay")
        self.assertEqual(before, self.serial(controller.port))
        for copy, path in zip(copies, self.certs.issue("controller", "c", "--force")):
            shutil.copy(path, copy)
        controller.process.send_signal(signal.SIGHUP)
        controller.wait_for("certificates read anew")
        self.assertNotEqual(before, self.serial(controller.port))
        agent.result("x", b"1")
        self.assertEqual(["x"], agent.committed(1))


class Fleet(Case):
    def test_results_are_stored_once_and_acknowledged(self):
        controller = self.controller().start()
        agent = self.agent(controller)
        names = [fleet.new_id() for _ in range(100)]
        for name in names:
            agent.result(name, name.encode())
        self.assertEqual(names, agent.committed(100))
        agent.close()
        agent = self.agent(controller)
        for name in names[:3]:
            agent.result(name, b"again")
        self.assertEqual(names[:3], agent.committed(3))
        self.assertEqual([("a", "note", name.encode()) for name in names], self.rows(controller))

    def test_an_operator_sees_agents(self):
        controller = self.controller().start()
        self.agent(controller)
        operator = self.operator(controller)
        operator.send({"type": "list_agents", "request": 7})
        answer = operator.receive("agents")
        self.assertEqual(7, answer["request"])
        self.assertEqual([("a", True)], [(row["name"], row["connected"])
                                         for row in answer["agents"]])
        operator.send({"type": "list_results", "request": 8, "run": None, "from": None,
                       "to": None, "kind": "pair", "status": None, "since": None, "until": None,
                       "limit": 10, "before": None})
        self.assertEqual([], operator.receive("results")["rows"])
        operator.send({"type": "show", "request": 9, "run": "latest"})
        self.assertIn("no run", operator.receive("error")["reason"])

    def test_agents_are_remembered(self):
        controller = self.controller().start()
        self.agent(controller)
        with contextlib.closing(sqlite3.connect(controller.store)) as store:
            fleet.until(lambda: store.execute("SELECT count(*) FROM agents").fetchone()[0], 20,
                        lambda: "the agent is not in the store")
        self.assertEqual(0, controller.stop())
        controller.start(wait=False)
        controller.wait_for("listens on", count=2)
        operator = self.operator(controller)
        operator.send({"type": "list_agents", "request": 1})
        rows = operator.receive("agents")["agents"]
        self.assertEqual([("a", False, "6.1")], [(row["name"], row["connected"],
                                                 row["os_release"]) for row in rows])

    def test_a_locked_store_loses_nothing(self):
        controller = self.controller().start()
        agent = self.agent(controller)
        other = sqlite3.connect(controller.store, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        for name in ("x", "y"):
            agent.result(name, b"1")
        controller.wait_for("locked")
        time.sleep(1)
        operator = self.operator(controller)
        operator.send({"type": "list_agents", "request": 1})  # others are served meanwhile
        self.assertEqual(1, len(operator.receive("agents")["agents"]))
        self.assertEqual(0, other.execute("SELECT count(*) FROM results").fetchone()[0])
        other.execute("ROLLBACK")
        self.assertEqual(["x", "y"], agent.committed(2))
        self.assertEqual(2, len(self.rows(controller)))

    def test_a_kill_loses_nothing_that_was_acknowledged(self):
        controller = self.controller()
        seed = random.randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        chance, acknowledged, sent = random.Random(seed), set(), set()
        for round_number in range(1, 9):
            controller.start(wait=False)
            controller.wait_for("listens on", count=round_number)
            agent = self.agent(controller)
            agent.socket.settimeout(10)
            end = time.monotonic() + chance.uniform(0.02, 0.25)
            try:
                while time.monotonic() < end:
                    for _ in range(20):
                        name = fleet.new_id()
                        agent.result(name, name.encode())
                        sent.add(name)
                    acknowledged.update(agent.committed(1))
                controller.kill()
                acknowledged.update(agent.committed(1 << 30))
            except (OSError, ssl.SSLError):
                pass
            controller.kill()
        bodies = [body.decode() for _, _, body in self.rows(controller)]
        self.assertEqual(len(bodies), len(set(bodies)))
        self.assertLessEqual(acknowledged, set(bodies))
        self.assertLessEqual(set(bodies), sent)
        self.assertTrue(acknowledged)


class Strangers(Case):
    def drops(self, controller):
        return [line for line in controller.log().splitlines() if "dropped" in line]

    def expect_end(self, peer):
        """TLS 1.3: who is refused learns it after the handshake."""
        try:
            if peer.frame() is None:
                raise ConnectionError
        finally:
            peer.close()

    def test_each_is_dropped_with_a_reason(self):
        other = fleet.Authority(os.path.join(self.shared.path, fleet.new_id()))
        foreign = other.issue("agent", "a")
        controller = self.controller().start()
        with socket.create_connection(("127.0.0.1", controller.port), 10) as stranger:
            stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" + b"x" * 1000)
            self.assertLess(len(stranger.recv(1000)), 100)
        controller.wait_for("127.0.0.1: dropped: ")
        self.assertEqual(1, len(self.drops(controller)))
        for files in ((self.agent_files[0], None, None),
                      (self.agent_files[0], *foreign[1:])):
            with self.assertRaises((ssl.SSLError, ConnectionError, AssertionError)):
                self.expect_end(fleet.Peer(controller.port, files))
        fleet.Agent(controller.port, self.agent_files).close()

    def test_a_thousand_failures_are_a_few_lines(self):
        controller = self.controller().start()
        agent = self.agent(controller)
        for _ in range(1000):
            with socket.create_connection(("127.0.0.1", controller.port), 10) as stranger:
                stranger.sendall(b"garbage, and more of it\r\n\r\n")
        agent.result("x", b"1")
        self.assertEqual(["x"], agent.committed(1))
        controller.wait_for("more)", timeout=20)
        lines = self.drops(controller)
        self.assertLessEqual(len(lines), 5)
        counted = sum(int(number) for number in re.findall(r"last of (\d+) more", "".join(lines)))
        self.assertGreater(counted, 100)

    def test_few_descriptors_are_said_and_survived(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        controller = self.controller()
        with open(controller.log_path, "ab") as log:
            controller.process = subprocess.Popen(
                [SONDE, "serve", "--config", controller.path], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, preexec_fn=few)
        controller.wait_for("listens on")
        controller.wait_for("limits.agents")
        first = self.agent(controller)
        waiting = [socket.create_connection(("127.0.0.1", controller.port), 10)
                   for _ in range(100)]
        first.result("x", b"1")
        self.assertEqual(["x"], first.committed(1))
        for stranger in waiting:
            stranger.close()
        controller.wait_for("dropped")
        fleet.until(lambda: self.comes_in(controller), 20, lambda: "nobody is let in any more")

    def comes_in(self, controller):
        try:
            fleet.Agent(controller.port, self.certs.issue("agent", fleet.new_id())).close()
            return True
        except (OSError, AssertionError):
            return False


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
