#!/usr/bin/env python3
"""What is in deploy/ is what the programs are, and `cmake --install` puts it where it belongs.

usage: test_deploy.py PATH-OF-SONDE (sonde-agent and the build folder are beside it)
"""

import os
import plistlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy")
sys.path.insert(0, os.path.join(ROOT, "tests", "lint"))
SONDE = "sonde"

PROGRAMS = {"agent": ("sonde-agent", "sonde-agent"), "controller": ("sonde", "sonde serve")}
STATE = {"agent": "sonde-agent", "controller": "sonde"}
IS_MAC = sys.platform == "darwin"


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def program(name):
    return os.path.join(os.path.dirname(SONDE), name)


def unit(text):
    """{section: {key: value}} of a systemd unit; a key that stands twice is an error."""
    found, section = {}, None
    for line in text.splitlines():
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            section = found.setdefault(line[1:-1], {})
            continue
        key, value = line.split("=", 1)
        if key in section:
            raise ValueError(f"{key} stands twice")
        section[key] = value
    return found


class Configurations(unittest.TestCase):
    """The examples are what the programs print: each key with its default and its help."""

    maxDiff = None

    def test_examples_are_the_defaults(self):
        for name, words in (("agent", ["sonde-agent"]), ("controller", ["sonde", "serve"])):
            printed = subprocess.run([program(words[0]), *words[1:], "--print-config"],
                                     stdout=subprocess.PIPE, timeout=60, check=True)
            self.assertEqual(printed.stdout.decode(), read(DEPLOY, f"{name}.yaml"),
                             f"deploy/{name}.yaml: {' '.join(words)} --print-config differs")


class Units(unittest.TestCase):
    def test_what_both_say(self):
        for name, (program_name, command) in PROGRAMS.items():
            found = unit(read(DEPLOY, f"sonde-{name}.service"))
            self.assertEqual({"Unit", "Service", "Install"}, set(found))
            service = found["Service"]
            expected = {
                "Type": "notify",
                "ExecStart": f"\"@BIN@/{program_name}\"{command[len(program_name):]} --config "
                             f"/etc/sonde/{name}.yaml",
                "ExecReload": "/bin/kill -HUP $MAINPID",
                "User": "sonde",
                "StateDirectory": STATE[name],
                "StateDirectoryMode": "0700",
                "Restart": "on-failure",
                "RestartPreventExitStatus": "2",
                "WatchdogSec": "60",
                "LimitNOFILE": "65536",
                "CapabilityBoundingSet": "",
                "NoNewPrivileges": "yes",
                "ProtectSystem": "strict",
            }
            self.assertEqual(expected, {key: service.get(key) for key in expected})
            # Counters come from netlink too; sd_notify is a Unix socket.
            self.assertEqual({"AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"},
                             set(service["RestrictAddressFamilies"].split()))
            self.assertEqual("multi-user.target", found["Install"]["WantedBy"])

    def test_files_that_the_daemons_keep_are_in_their_state_directory(self):
        for name, folder in STATE.items():
            self.assertIn(f'path: "/var/lib/{folder}/', read(DEPLOY, f"{name}.yaml"))

    def test_the_user_is_made(self):
        rows = [line for line in read(DEPLOY, "sonde.sysusers").splitlines()
                if not line.startswith("#")]
        self.assertEqual([["u", "sonde", "-"]], [row.split()[:3] for row in rows])


class Plists(unittest.TestCase):
    def test_what_both_say(self):
        for name, (_, command) in PROGRAMS.items():
            with open(os.path.join(DEPLOY, f"org.sonde.{name}.plist"), "rb") as file:
                found = plistlib.load(file)
            words = [*f"@BIN@/{command}".split(), "--config", f"/etc/sonde/{name}.yaml"]
            self.assertEqual(f"org.sonde.{name}", found["Label"])
            self.assertEqual(words, found["ProgramArguments"])
            self.assertEqual("_sonde", found["UserName"])
            self.assertEqual(0o77, found["Umask"])
            self.assertIs(True, found["RunAtLoad"])
            # Exit code 0 is an end that was asked for.
            self.assertEqual({"SuccessfulExit": False}, found["KeepAlive"])
            self.assertEqual(30, found["ThrottleInterval"])
            for limit in ("SoftResourceLimits", "HardResourceLimits"):
                self.assertEqual({"NumberOfFiles": 65536}, found[limit])


class Install(unittest.TestCase):
    """One installation below a prefix of its own, one through DESTDIR."""

    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.realpath(tempfile.mkdtemp(prefix="sonde-install-"))
        cls.prefix = os.path.join(cls.folder, "a b", "sonde")  # what units must quote
        cls.install("--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def install(cls, *words, **environment):
        subprocess.run(["cmake", "--install", os.path.dirname(SONDE), *words], check=True,
                       stdout=subprocess.PIPE, timeout=120, env={**os.environ, **environment})

    @staticmethod
    def listing(folder):
        return {os.path.relpath(os.path.join(place, file), folder)
                for place, _, files in os.walk(folder) for file in files}

    @staticmethod
    def expected():
        pages = {f"docs/{file}" for file in os.listdir(os.path.join(ROOT, "docs"))
                 if file.endswith((".md", ".svg", ".json"))}
        documents = {"README.md", "CHANGELOG.md", "LICENSE", "examples/agent.yaml",
                     "examples/controller.yaml", *pages}
        services = ({"share/sonde/org.sonde.agent.plist", "share/sonde/org.sonde.controller.plist"}
                    if IS_MAC else
                    {"lib/systemd/system/sonde-agent.service",
                     "lib/systemd/system/sonde-controller.service", "lib/sysusers.d/sonde.conf"})
        return {"bin/sonde", "bin/sonde-agent", "bin/sonde-certs", "share/man/man1/sonde.1",
                "share/man/man1/sonde-agent.1", "share/man/man1/sonde-certs.1",
                *(f"share/doc/sonde/{file}" for file in documents)} | services

    def test_every_file_is_where_it_belongs(self):
        self.assertEqual(self.expected(), self.listing(self.prefix))

    def test_programs_run_from_there(self):
        for words in (("sonde", "--version"), ("sonde-agent", "--version"),
                      ("sonde-certs", "--help")):
            subprocess.run([os.path.join(self.prefix, "bin", words[0]), words[1]], check=True,
                           stdout=subprocess.DEVNULL, timeout=60)

    def test_destdir_is_in_no_path(self):
        place = os.path.join(self.folder, "dest")
        self.install("--prefix", "/opt/sonde", DESTDIR=place)
        self.assertEqual(self.expected(), self.listing(os.path.join(place, "opt", "sonde")))
        self.check_programs(os.path.join(place, "opt", "sonde"), "/opt/sonde/bin")

    def check_programs(self, folder, bin_folder):
        """The services name programs of this folder."""
        services = [path for path in self.listing(folder)
                    if path.endswith((".service", ".plist"))]
        self.assertEqual(2, len(services))
        for path in services:
            text = read(folder, path)
            name = "agent" if "agent" in os.path.basename(path) else "controller"
            self.assertNotIn("@", re.sub("@system-service", "", text), path)
            self.assertIn(f"{bin_folder}/{PROGRAMS[name][0]}", text, path)

    def test_services_start_the_programs_that_were_installed(self):
        self.check_programs(self.prefix, os.path.join(self.prefix, "bin"))

    def test_systemd_has_nothing_to_say(self):
        if IS_MAC or shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed")
        units = [os.path.join(self.prefix, path) for path in self.listing(self.prefix)
                 if path.endswith(".service")]
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units],
                              capture_output=True, text=True, timeout=60)
        # It reads what else is installed too, and speaks of that.
        self.assertEqual([], [line for line in done.stderr.splitlines() if "sonde" in line])

    def test_documents_lead_somewhere(self):
        import tree  # the lint of the documents' links
        base = os.path.join(self.prefix, "share", "doc", "sonde")
        for path in self.listing(base):
            if not path.endswith(".md"):
                continue
            problems = list(tree.check_links(
                path, read(base, path), lambda file: os.path.exists(os.path.join(base, file)),
                lambda file: read(base, file)))
            self.assertEqual([], problems)


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
