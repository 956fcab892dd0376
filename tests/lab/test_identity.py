#!/usr/bin/env python3
"""Who may not come is refused with the reason on both sides, tries again less and less often, keeps
its results, and is let in once its certificate is right. Usage: test_identity.py SONDE; needs root.

All who are refused are refused at the same time; each test looks at one of them.
"""

import os
import shutil
import signal
import socket
import ssl
import sys
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import certificates
import spools
from fleet import PORT, Certificates, Fleet
from network import SKIPPED, Alone, sh, wait_for, why_impossible
from peers import Agent, Peer
from proxy import Proxy

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"
RESULTS = 3
EARLY_S = 14  # until a certificate that is not yet valid is
BRIEF_S = 6  # until one that is valid is not


class FakeController:
    """Listens with a certificate and says what became of each handshake: an alert, a bye, or an
    end."""

    def __init__(self, files):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.load_cert_chain(files["certificate"], files["key"])
        self.context.load_verify_locations(files["ca"])
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.set_alpn_protocols(["sonde/1"])
        self.came, self.heard = [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    gaps = Proxy.gaps

    def __exit__(self, *_):
        self.listener.close()

    def _serve(self):
        try:
            while True:
                raw, _ = self.listener.accept()
                self.came.append(time.monotonic())
                self.heard.append(self._talk(raw))
        except OSError:
            pass

    def _talk(self, raw):
        raw.settimeout(10)
        try:
            with self.context.wrap_socket(raw, server_side=True) as tls:
                return tls.recv(65536).decode("latin-1")
        except OSError as error:
            return str(error)


class Case(unittest.TestCase):
    """What all share is made once, by setUpModule."""

    doors, put = {}, {}

    @classmethod
    def make(cls):
        cls.host = Alone().__enter__()
        cls.fleet = Fleet(cls.host, SONDE, agents=()).__enter__()
        cls.issue = cls.fleet.certificates.issue
        cls.authority = cls.fleet.certificates.folder
        cls.other = Certificates(cls.fleet.programs, cls.fleet.path("other"))

    @classmethod
    def remove(cls):
        for door in cls.doors.values():
            door.__exit__()
        cls.fleet.__exit__()
        cls.host.__exit__()

    @classmethod
    def sign(cls, name, role, *uris, **more):
        """A certificate of these names from the fleet's authority; its folder."""
        return certificates.sign(cls.authority, cls.fleet.path("issued", name), role, uris, **more)

    @classmethod
    def start(cls, name, files, door, **environment):
        """An agent with results in its spool, whose way to the controller is this door."""
        cls.doors[name] = door
        cls.put[name] = spools.put(cls.fleet.path(f"{name}.sqlite"), [100] * RESULTS)
        cls.fleet.overrides[name] = {"controller": {"address": f"127.0.0.1:{door.port}"},
                                     "tls": files}
        os.makedirs(cls.fleet.path("issued", f"agent-{name}"), exist_ok=True)
        cls.fleet.start_agent(name, env={**os.environ, **environment})

    def wait_logged(self, name, words, seconds=40):
        def is_logged():
            return words in self.fleet.log(name)
        try:
            wait_for(is_logged, seconds)
        except TimeoutError:
            self.fail(f"{name} did not log {words!r}:\n{self.fleet.log(name)}")

    def connected(self):
        """As an operator sees it."""
        return [row["name"] for row in self.fleet.rows() if row["connected"]]

    def assert_away(self, name):
        self.assertNotIn(name, self.connected())

    def assert_pauses_grow(self, name, since=0):
        """After a refusal the pause is 5 to 10 s, and then 10 to 20 s."""
        door = self.doors[name]
        wait_for(lambda: len(door.gaps()) >= since + 2, 40, pause=0.2)
        first, second = door.gaps()[since:since + 2]
        self.assertGreater(first, 4.9)
        self.assertLess(first, 12)
        self.assertGreater(second, 9.9)
        self.assertLess(second, 22)

    def assert_let_in(self, name):
        """Everything that was put before it was refused is stored."""
        def all_there():
            return len(spools.stored(self.fleet.path("sonde.sqlite"), name)) == RESULTS
        try:
            wait_for(all_there, 30, pause=0.2)
        except TimeoutError:
            self.fail(f"{name} was not let in:\n{self.fleet.log(name)}")
        self.assertEqual(self.put[name],
                         [one for one, _ in spools.stored(self.fleet.path("sonde.sqlite"), name)])

    def reload(self, process):
        process.send_signal(signal.SIGHUP)


class Agents(Case):
    """Agents that the controller, or who refuse it, and then a right certificate."""

    @classmethod
    def door(cls):
        """A proxy that connects from an address of its own, by which the controller's log knows
        it."""
        return Proxy(("127.0.0.1", PORT), source=f"127.0.1.{len(cls.doors) + 1}").__enter__()

    @classmethod
    def prepare(cls):
        cls.crl = cls.fleet.path("crl.pem")
        shutil.copy(os.path.join(cls.authority, "crl.pem"), cls.crl)
        issued = cls.fleet.path("issued", "controller-controller")
        cls.fleet.controller_config = {"tls": {**certificates.files(issued, "controller"),
                                               "crl": cls.crl}}
        cls.fleet.write_controller()
        cls.fleet.server.send_signal(signal.SIGHUP)
        wait_for(lambda: "certificates read anew" in cls.fleet.log("controller"))
        brief = cls.sign("brief", "agent", "spiffe://lab.test/agent/brief", ends=BRIEF_S)
        cls.start("brief", certificates.files(brief, "agent"), cls.door())
        cls.start("revoked", certificates.files(cls.issue("agent", "revoked"), "agent"), cls.door())
        foreign = cls.sign("foreign", "agent", "spiffe://other.test/agent/foreign")
        cls.start("foreign", certificates.files(foreign, "agent"), cls.door())
        cls.start_of_another_authority("stranger", both=True)
        cls.start_of_another_authority("distrust", both=False)
        early = cls.sign("early", "agent", "spiffe://lab.test/agent/early", begins=EARLY_S)
        if not os.environ.get("SONDE_SANITIZE"):
            cls.start("early", certificates.files(early, "agent"), cls.door(), SHIFT_S="3600",
                      LD_PRELOAD=os.path.join(spools.TOOLS, "shifted_clock.so"))
        cls.revoke()

    @classmethod
    def revoke(cls):
        """The one that is connected by now, and has delivered."""
        wait_for(lambda: len(spools.stored(cls.fleet.path("sonde.sqlite"), "revoked")) == RESULTS)
        cls.fleet.certificates.call("revoke", "agent/revoked")
        shutil.copy(os.path.join(cls.authority, "crl.pem"), cls.crl + ".new")
        os.replace(cls.crl + ".new", cls.crl)
        cls.fleet.server.send_signal(signal.SIGHUP)

    @classmethod
    def start_of_another_authority(cls, name, both):
        """It believes in its own authority, and perhaps in the controller's too."""
        folder = cls.other.issue("agent", name)
        if both:
            with open(f"{folder}/ca.pem", "a", encoding="ascii") as bundle, \
                    open(f"{cls.authority}/ca.pem", encoding="ascii") as ca:
                bundle.write(ca.read())
        cls.start(name, certificates.files(folder, "agent"), cls.door())

    def source(self, name):
        return self.doors[name].source

    def assert_refused(self, name, here, there):
        """By the controller in these words, which the agent hears as those."""
        self.wait_logged(name, there)
        self.wait_logged("controller", here)
        lines = [line for line in self.fleet.log("controller").splitlines()
                 if self.source(name) in line and here in line]
        self.assertTrue(lines, self.fleet.log("controller"))
        self.assert_away(name)

    def renew(self, name):
        """A right certificate in the places of the wrong one, and SIGHUP."""
        old = self.fleet.overrides[name]["tls"]
        fresh = certificates.files(
            self.sign(f"fresh-{name}", "agent", f"spiffe://lab.test/agent/{name}"), "agent")
        for which in ("ca", "key", "certificate"):
            shutil.copy(fresh[which], old[which] + ".new")
            os.replace(old[which] + ".new", old[which])
        self.reload(self.fleet.agents[name])
        self.assert_let_in(name)

    def test_of_an_unknown_authority(self):
        self.assert_refused("stranger", "certificate of an unknown CA",
                            "the other side says: unknown CA")
        self.assert_pauses_grow("stranger")
        self.assert_away("stranger")
        self.renew("stranger")

    def test_one_that_does_not_know_the_controllers_authority(self):
        self.assert_refused("distrust", "the other side says: unknown CA",
                            "certificate of an unknown CA")
        self.assert_pauses_grow("distrust")
        self.renew("distrust")

    def test_of_another_trust_domain(self):
        self.assert_refused("foreign", "certificate of another trust domain "
                            "(spiffe://other.test/agent/foreign)", "another trust domain")
        self.assert_pauses_grow("foreign")
        self.renew("foreign")

    def test_expired_while_it_was_connected(self):
        self.wait_logged("brief", "connected to")
        self.wait_logged("brief", "a certificate of this connection has expired")
        self.assert_refused("brief", "certificate expired at",
                            "the other side says: certificate (or its CRL) expired")
        self.assert_away("brief")
        self.assert_pauses_grow("brief", since=1)
        self.assertIn("this agent's certificate", self.fleet.log("brief"))
        self.renew("brief")

    @unittest.skipIf(os.environ.get("SONDE_SANITIZE"), "a sanitized program cannot be preloaded")
    def test_not_yet_valid(self):
        self.wait_logged("early", "the other side says: bad certificate: not yet valid")
        self.wait_logged("controller",
                         f"{self.source('early')}: dropped: certificate not yet valid")
        self.assert_pauses_grow("early")
        self.assert_let_in("early")

    def test_revoked_while_it_was_connected(self):
        self.wait_logged("revoked", "connected to")
        self.wait_logged("controller", "gone: certificate revoked")
        self.assert_refused("revoked", "certificate revoked (spiffe://lab.test/agent/revoked)",
                            "certificate revoked")
        self.assert_pauses_grow("revoked", since=1)
        self.renew("revoked")
        wait_for(lambda: "revoked" in self.connected(), 10)


class Controllers(Case):
    """What is no controller is told so, and no agent speaks to it."""

    @classmethod
    def prepare(cls):
        name = "spiffe://lab.test/controller/x"
        cls.fake("agents", "agent", "spiffe://lab.test/agent/x")
        cls.fake("operators", "operator", "spiffe://lab.test/operator/x")
        cls.fake("two", "controller", name, "spiffe://lab.test/controller/y")
        cls.fake("none", "controller")
        cls.fake("unknown", "controller", "spiffe://lab.test/king/x")
        cls.fake("domain", "controller", "spiffe://other.test/controller/x")
        cls.fake("past", "controller", name, ends=-60)
        cls.fake("future", "controller", name, begins=3600)

    @classmethod
    def fake(cls, name, role, *uris, **times):
        files = certificates.files(cls.sign(name, role, *uris, **times), role)
        cls.start(name, certificates.files(cls.issue("agent", name), "agent"),
                  FakeController(files))

    def assert_refused(self, name, here, there):
        self.wait_logged(name, here)
        door = self.doors[name]
        wait_for(lambda: door.heard)
        self.assertIn(there, door.heard[0])
        self.assertNotIn("hello", "".join(door.heard))
        self.assert_pauses_grow(name)
        self.assertEqual(self.put[name], spools.listed(self.fleet.path(f"{name}.sqlite"))[0])

    def test_an_agent(self):
        self.assert_refused("agents", "certificate of the role agent",
                            "the role controller is needed")

    def test_an_operator(self):
        self.assert_refused("operators", "certificate of the role operator",
                            "the role controller is needed")

    def test_one_with_two_names(self):
        self.assert_refused("two", "2 URI", "2 URI")

    def test_one_without_a_name(self):
        self.assert_refused("none", "no URI", "no URI")

    def test_one_of_an_unknown_role(self):
        self.assert_refused("unknown", "king", "king")

    def test_one_of_another_trust_domain(self):
        self.assert_refused("domain", "another trust domain", "another trust domain")

    def test_expired(self):
        self.assert_refused("past", "certificate expired at", "certificate expired")

    def test_not_yet_valid(self):
        self.assert_refused("future", "certificate not yet valid", "bad certificate")

    def test_z_the_right_one_is_found_when_it_comes(self):
        """The same agent, sent to the right controller, delivers."""
        self.assert_refused("agents", "role agent", "role")
        self.fleet.overrides["agents"]["controller"]["address"] = f"127.0.0.1:{PORT}"
        self.fleet.write_config("agents.yaml", self.fleet.agent_config("agents"))
        self.reload(self.fleet.agents["agents"])
        self.assert_let_in("agents")


class Others(Case):
    """Connections of the test's own, whose certificates no program of ours would start with."""

    def paths(self, folder, role):
        files = certificates.files(folder, role)
        return files["ca"], files["certificate"], files["key"]

    def assert_refused(self, files, there, here=None):
        """What the peer hears, and what the controller logs."""
        try:
            peer = Peer(PORT, files)
            try:
                frames = iter(peer.frame, None)
                heard = next((frame["reason"] for frame in frames if frame["type"] == "bye"),
                             "nothing")
            finally:
                peer.close()
        except OSError as error:
            heard = str(error)
        self.assertIn(there, heard)
        self.wait_logged("controller", here or there)

    def test_no_certificate(self):
        self.assert_refused((f"{self.authority}/ca.pem", None, None), "certificate required",
                            "no certificate")

    def test_certificates_of_no_good_name(self):
        for number, (uris, words) in enumerate((
                (("spiffe://lab.test/agent/x", "spiffe://lab.test/agent/y"), "2 URI"),
                ((), "no URI"), (("spiffe://lab.test/king/x",), "king"),
                (("spiffe://lab.test/agent",), 'name "" is not allowed'),
                (("spiffe://lab.test/controller/x",), "the role agent or operator is needed"))):
            folder = self.sign(f"bad-{number}", "agent", *uris)
            with self.subTest(uris=uris):
                self.assert_refused(self.paths(folder, "agent"), words)
        self.assert_away("x")

    def test_an_agent_is_no_operator(self):
        files = self.issue("agent", "sly")
        shutil.copy(f"{files}/agent.pem", f"{files}/operator.pem")
        shutil.copy(f"{files}/agent-key.pem", f"{files}/operator-key.pem")
        done = sh(self.fleet.programs.sonde, "agents", "--controller", f"127.0.0.1:{PORT}",
                  "--identity", files, check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("certificate of the role agent", done.stderr)
        for message in ({"type": "list_agents", "request": 1},
                        {"type": "stop", "request": 2, "run": "latest"}):
            agent = Agent(PORT, self.paths(files, "agent"))
            self.addCleanup(agent.close)
            agent.send(message)
            bye = next(frame for frame in iter(agent.frame, None) if frame["type"] == "bye")
            self.assertIn(message["type"], bye["reason"])
            self.wait_logged("controller", bye["reason"])

    def test_an_operator_is_no_agent(self):
        operator = Peer(PORT, self.paths(self.fleet.operator, "operator"))
        self.addCleanup(operator.close)
        operator.send({"type": "hello"})
        bye = next(frame for frame in iter(operator.frame, None) if frame["type"] == "bye")
        self.assertIn("hello", bye["reason"])
        self.wait_logged("controller", bye["reason"])

    def test_an_agent_is_whom_its_certificate_names(self):
        agent = Agent(PORT, self.paths(self.issue("agent", "honest"), "agent"))
        self.addCleanup(agent.close)
        agent.send({"type": "result", "id": "00000000-0000-4000-8000-000000000001", "kind": "note",
                    "body": b"x", "agent": "other", "name": "other"})
        agent.committed(1)
        self.assertIn("honest", self.connected())
        self.assert_away("other")
        self.assertEqual(1, len(spools.stored(self.fleet.path("sonde.sqlite"), "honest")))
        self.assertEqual([], spools.stored(self.fleet.path("sonde.sqlite"), "other"))

    def test_a_broken_renewal_keeps_the_old_certificate(self):
        folder = self.sign("renewed", "agent", "spiffe://lab.test/agent/renewed")
        files = certificates.files(folder, "agent")
        self.fleet.overrides["renewed"] = {"tls": files}
        os.makedirs(self.fleet.path("issued", "agent-renewed"))
        agent = self.fleet.start_agent("renewed")
        self.wait_logged("renewed", "connected to")
        with open(files["certificate"], "w", encoding="ascii") as file:
            file.write("broken\n")
        self.reload(agent)
        self.wait_logged("renewed", "new certificates cannot be used, the old ones stay")
        self.wait_logged("renewed", files["certificate"])
        self.assertIn("renewed", self.connected())
        self.sign("renewed", "agent", "spiffe://lab.test/agent/renewed")
        self.reload(agent)
        self.wait_logged("renewed", "certificates read anew")
        self.assertEqual(1, self.fleet.log("renewed").count("connected to"))
        self.assertIn("renewed", self.connected())

    def test_daemons_do_not_start_as_somebody_else(self):
        path = {"path": self.fleet.path("wrong.sqlite")}
        agent = [self.fleet.programs.agent], {"controller": {"address": "127.0.0.1:1"},
                                              "spool": path}
        serve = [self.fleet.programs.sonde, "serve"], {"listen": "127.0.0.1:1", "store": path}
        issued = {"controller": self.fleet.path("issued", "controller-controller"),
                  "operator": self.fleet.operator, "agent": self.issue("agent", "wrong")}
        for (words, config), role in ((agent, "controller"), (agent, "operator"),
                                      (serve, "agent"), (serve, "operator")):
            config = {**config, "tls": certificates.files(issued[role], role)}
            done = sh(*words, "--config", self.fleet.write_config("wrong.yaml", config),
                      check=False)
            self.assertEqual(1, done.returncode)
            self.assertIn(f"certificate of the role {role}", done.stderr)


def setUpModule():
    try:
        Case.make()
        Agents.prepare()
        Controllers.prepare()
    except BaseException:
        Case.remove()
        raise


def tearDownModule():
    Case.remove()


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
