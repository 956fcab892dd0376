#!/usr/bin/env python3
"""sonde-agent as a program: its command line, its exit codes, its signals, its descriptors, and
what it takes while nothing is asked of it.

usage: test_agent.py PATH-OF-SONDE (sonde-agent is beside it)
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

AGENT = "sonde-agent"
WAIT_S = 20


def run(*words, **more):
    done = subprocess.run([AGENT, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=WAIT_S, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class CommandLine(unittest.TestCase):
    def refused(self, code, *words):
        """One line on standard error, nothing on standard output."""
        found, out, err = run(*words)
        self.assertEqual((code, "", 1), (found, out, err.count("\n")), err)
        self.assertTrue(err.startswith("sonde-agent: "), err)
        return err

    def test_help_and_version(self):
        code, out, err = run("--help")
        self.assertEqual((0, ""), (code, err))
        self.assertIn("--check-config", out)
        code, out, err = run("--version")
        self.assertEqual((0, ""), (code, err))
        self.assertRegex(out, r"^sonde-agent \d+\.\d+\.\d+\n$")

    def test_wrong_usage(self):
        self.assertIn("did you mean '--config'", self.refused(2, "--confg"))
        self.assertIn("a file is missing", self.refused(2, "--config"))
        self.assertIn("a file is missing", self.refused(2, "--config="))
        self.assertIn("'start'", self.refused(2, "start"))

    def test_a_configuration_that_is_not_there(self):
        self.assertIn("/nowhere/agent.yaml", self.refused(2, "--config", "/nowhere/agent.yaml"))
        self.assertIn("/nowhere/a", self.refused(2, "--check-config", "--config=/nowhere/a"))

    def test_the_defaults_are_a_configuration_but_for_the_address(self):
        code, out, err = run("--print-config")
        self.assertEqual((0, ""), (code, err))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(out)
            file.flush()
            self.assertIn("controller.address", self.refused(2, "--check-config", "--config",
                                                             file.name))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("controller:\n  address: localhost:7862\n")
            file.flush()
            self.assertEqual((0, "", ""), run("--check-config", "--config", file.name))
            code, out, err = run("--print-config", "--config", file.name)
            self.assertEqual((0, ""), (code, err))
            self.assertIn("localhost:7862", out)

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([AGENT, "--print-config"], stdout=full, stderr=subprocess.PIPE,
                                  timeout=WAIT_S)
        self.assertEqual(1, done.returncode)
        self.assertIn(b"sonde-agent: standard output could not be written", done.stderr)

    def test_closed_descriptors_stay_what_they_are(self):
        """Without standard descriptors the spool must not become standard error."""
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = subprocess.run(["sh", "-c", f'exec "$0" --print-config {closed}', AGENT],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S)
            self.assertEqual(1 if ">&-" in closed.split() else 0, done.returncode, closed)


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, timeout=WAIT_S, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Daemon(unittest.TestCase):
    def setUp(self):
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed")
        self.folder = tempfile.TemporaryDirectory(prefix="sonde-agent-")
        self.addCleanup(self.folder.cleanup)
        key, curve = ("-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"), ()
        openssl("req", "-x509", *key, *curve, "-keyout", self.path("ca-key.pem"), "-out",
                self.path("ca.pem"), "-subj", "/CN=ca", "-days", "30")
        openssl("req", *key, "-keyout", self.path("key.pem"), "-out", self.path("csr.pem"),
                "-subj", "/CN=a")
        with open(self.path("ext"), "w", encoding="ascii") as file:
            file.write("subjectAltName=URI:spiffe://test/agent/a\n"
                       "extendedKeyUsage=clientAuth,serverAuth\nkeyUsage=digitalSignature\n")
        openssl("x509", "-req", "-in", self.path("csr.pem"), "-CA", self.path("ca.pem"),
                "-CAkey", self.path("ca-key.pem"), "-CAcreateserial", "-days", "30", "-extfile",
                self.path("ext"), "-out", self.path("agent.pem"))
        os.chmod(self.path("key.pem"), 0o600)
        self.write_config()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write_config(self, more="", certificate="agent.pem"):
        with open(self.path("agent.yaml"), "w", encoding="ascii") as file:
            file.write("controller:\n  address: 127.0.0.1:9\n"
                       f"tls:\n  ca: {self.path('ca.pem')}\n  key: {self.path('key.pem')}\n"
                       f"  certificate: {self.path(certificate)}\n"
                       f"spool:\n  path: {self.path('spool.sqlite')}\n{more}")

    def start(self, **more):
        """The daemon, once it has said what it is; its standard error goes into a file."""
        self.log = open(self.path("log"), "w+b")
        self.addCleanup(self.log.close)
        daemon = subprocess.Popen([AGENT, "--config", self.path("agent.yaml")],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=self.log, **more)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.wait_for("trying again", daemon)
        return daemon

    def logged(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read()

    def wait_for(self, words, daemon):
        until = time.monotonic() + WAIT_S
        while words not in self.logged():
            self.assertIsNone(daemon.poll(), self.logged())
            self.assertLess(time.monotonic(), until, self.logged())
            time.sleep(0.05)

    def test_a_controller_that_is_away_is_no_error(self):
        daemon = self.start()
        self.assertIn("agent a of test", self.logged())
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(0, daemon.wait(WAIT_S))

    def test_sigint_ends_it_too(self):
        daemon = self.start()
        daemon.send_signal(signal.SIGINT)
        self.assertEqual(0, daemon.wait(WAIT_S))

    def test_sighup_reads_its_files_again(self):
        daemon = self.start()
        self.write_config("admission:\n  max_sessions: 0\n")
        daemon.send_signal(signal.SIGHUP)
        self.wait_for("the old configuration stays", daemon)
        self.write_config("admission:\n  max_sessions: 2\n")
        daemon.send_signal(signal.SIGHUP)
        self.wait_for("agent.yaml: read anew", daemon)
        self.assertEqual(1, self.logged().count("the old configuration stays"))
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(0, daemon.wait(WAIT_S))

    def test_what_it_cannot_start_without(self):
        self.write_config(certificate="nowhere.pem")
        code, out, err = run("--config", self.path("agent.yaml"))
        self.assertEqual((1, "", 1), (code, out, err.count("\n")), err)
        self.assertIn("nowhere.pem", err)

    def test_without_standard_descriptors(self):
        """Nothing of the daemon's may have number 0, 1 or 2."""
        daemon = subprocess.Popen(
            ["sh", "-c", 'exec "$0" --config "$1" <&- >&- 2>&-', AGENT, self.path("agent.yaml")])
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        until = time.monotonic() + WAIT_S
        while not os.path.exists(self.path("spool.sqlite")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.3)
        self.assertEqual(["/dev/null"] * 3,
                         [os.readlink(f"/proc/{daemon.pid}/fd/{number}") for number in range(3)])
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(0, daemon.wait(WAIT_S))

    @unittest.skipUnless(sys.platform == "linux", "reads /proc")
    def test_it_takes_little_while_it_waits(self):
        if os.environ.get("SONDE_SANITIZE"):
            self.skipTest("a sanitizer takes memory of its own")
        daemon = self.start()
        time.sleep(1)
        with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        anon, rss = (int(status[name].split()[0]) for name in ("RssAnon", "VmRSS"))
        print(f"RssAnon {anon} kB, VmRSS {rss} kB, threads {status['Threads'].strip()}",
              file=sys.stderr)
        self.assertLessEqual(anon, 4096)
        self.assertLessEqual(rss, 16384)

    def test_few_descriptors(self):
        daemon = self.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(0, daemon.wait(WAIT_S))


if __name__ == "__main__":
    AGENT = os.path.join(os.path.dirname(os.path.abspath(sys.argv.pop(1))), "sonde-agent")
    unittest.main()
