#!/usr/bin/env python3
"""What docs/operations.md tells to type works: three hosts, each with files of its own, a user
without privileges, and a firewall that lets nothing in. Needs root.

A block fenced as ```sh on=HOST[,HOST...] is typed on these hosts, in the order of the page; one
fenced as ```sh skip is not. standins.py is what the hosts have for sudo, ssh and systemctl.

usage: test_operations.py PATH-OF-SONDE
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from network import ADDRESS, ROUTER, SKIPPED, Network, wait_for, why_impossible

SONDE = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "sonde"
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAGE = os.path.join(ROOT, "docs", "operations.md")
BLOCK = re.compile(r"^```(sh\b.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMESPACES = {"control": "r", "paris": "a", "oslo": "b"}
AGENTS = ("paris", "oslo")
USER, UID = "jane", 1000
SECONDS = 60

FIREWALL = """
table inet filter {
    chain input {
        type filter hook input priority 0; policy drop;
        iif lo accept
        ct state established,related accept
        meta l4proto { icmp, icmpv6 } accept
    }
}"""

# Process 1 of a host: mounts its folders, then reaps what nobody waits for.
INIT = """
import os, signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
for pair in sys.argv[1:]:
    subprocess.run(["mount", "--bind", *pair.split("=", 1)], check=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""


def blocks(text):
    """(line, words behind "sh", script) of each block of commands."""
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start()) + 2, match.group(1).split()[1:], match.group(2)


class Host:
    """One host: a network namespace with processes, a name and folders of its own."""

    def __init__(self, network, folder, name):
        self.network, self.lab, self.name = network, folder, name
        self.folder = os.path.join(folder, name)
        self.make_folders()
        mounts = {"etc": "/etc", "home": "/home", "lib": "/var/lib", "run": "/run",
                  "local": "/usr/local"}
        self.init = network.popen(
            NAMESPACES[name], "unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child",
            "--mount-proc", "sh", "-c", 'hostname "$0"; exec "$@"', name, sys.executable, "-c",
            INIT, *(f"{os.path.join(self.folder, mine)}={place}" for mine, place in mounts.items()),
            stdout=subprocess.PIPE, text=True)
        if self.init.stdout.readline().strip() != "up":
            raise RuntimeError(f"{name} did not come up")
        with open(f"/proc/{self.init.pid}/task/{self.init.pid}/children", encoding="ascii") as file:
            self.pid = file.read().split()[0]
        network.nft(NAMESPACES[name], FIREWALL)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make_folders(self):
        for mine in ("home", "lib", "run", "local"):
            os.makedirs(self.path(mine))
        subprocess.run(["cp", "-a", "/etc", self.path("etc")], check=True)
        for file, row in (("passwd", f"{USER}:x:{UID}:{UID}::/home/{USER}:/bin/sh\n"),
                          ("group", f"{USER}:x:{UID}:\n"), ("hosts", self.hosts())):
            with open(self.path("etc", file), "a", encoding="utf-8") as out:
                out.write(row)
        # The sources; what is built is built already.
        home = self.path("home", USER)
        os.makedirs(os.path.join(home, "sonde", "build"))
        with open(os.path.join(home, "sonde", "run"), "w", encoding="ascii") as file:
            file.write('#!/bin/sh\ntest "$*" = build\n')
        os.chmod(os.path.join(home, "sonde", "run"), 0o755)
        os.symlink(os.path.dirname(SONDE), os.path.join(home, "sonde", "build", "release"))
        for place, folders, files in os.walk(home):
            for path in [place, *(os.path.join(place, name) for name in folders + files)]:
                os.chown(path, UID, UID, follow_symlinks=False)

    def hosts(self):
        """control has an address on either side."""
        control = ROUTER["b" if self.name == "oslo" else "a", 4]
        return (f"{control} control\n{ADDRESS['a', 4]} paris\n{ADDRESS['b', 4]} oslo\n")

    def command(self, user, words, folder):
        """The words that run a command as a user of this host."""
        environment = {"HOME": "/root" if user == "root" else f"/home/{user}", "USER": user,
                       "PATH": f"{self.lab}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "SONDE_LAB_FOLDER": self.lab, "SONDE_LAB_HOST": self.name, "LANG": "C.UTF-8"}
        drop = [] if user == "root" else ["setpriv", f"--reuid={UID}", f"--regid={UID}",
                                          "--clear-groups"]
        # A relative name of env's --chdir would be looked up before the namespaces are entered.
        return ["nsenter", f"--target={self.pid}", "--mount", "--net", "--pid", "--uts", *drop,
                "env", "-i", f"--chdir={folder}", *(f"{k}={v}" for k, v in environment.items()),
                *words]

    def type(self, script):
        """What a user types, as a script that stops at the first command that fails."""
        words = self.command(USER, ["sh", "-eu", "-c", script], f"/home/{USER}")
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS)

    def log(self, unit):
        with open(self.path("run", f"{unit}.service.log"), encoding="utf-8") as file:
            return file.read()


class Lab:
    """The three hosts, and the socket at which stand-ins ask for root or another host."""

    def __init__(self, network):
        self.folder = tempfile.mkdtemp(prefix="sonde-operations-")
        os.chmod(self.folder, 0o755)
        self.make_programs()
        self.hosts = {name: Host(network, self.folder, name) for name in NAMESPACES}
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = os.path.join(self.folder, "lab.socket")
        self.socket.bind(path)
        os.chmod(path, 0o777)
        self.socket.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def make_programs(self):
        os.makedirs(os.path.join(self.folder, "bin"))
        names = ["sudo", "ssh", "scp", "systemctl", "journalctl"]
        if shutil.which("systemd-sysusers") is None:
            names.append("systemd-sysusers")
        for name in names:
            path = os.path.join(self.folder, "bin", name)
            with open(path, "w", encoding="utf-8") as file:
                with open(os.path.join(HERE, "standins.py"), encoding="utf-8") as source:
                    file.write(f"#!{sys.executable}\n" + source.read().split("\n", 1)[1])
            os.chmod(path, 0o755)

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection:
            request, fds, _, _ = socket.recv_fds(connection, 65536, 3)
            try:
                asked = json.loads(request)
                words = self.hosts[asked["host"]].command(asked["user"], asked["words"],
                                                          asked["folder"])
                code = subprocess.run(words, stdin=fds[0], stdout=fds[1],
                                      stderr=fds[2]).returncode
            finally:
                for fd in fds:
                    os.close(fd)
            connection.sendall(str(code).encode())

    def close(self):
        self.socket.close()
        for host in self.hosts.values():
            host.init.kill()  # and with it process 1 of the host, and everything there
            host.init.wait()
        shutil.rmtree(self.folder)


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PAGE, encoding="utf-8") as file:
            cls.page = file.read()
        cls.network = Network().__enter__()
        cls.addClassCleanup(cls.network.__exit__)
        cls.lab = Lab(cls.network)
        cls.addClassCleanup(cls.lab.close)

    def connected(self):
        """Names that the controller calls connected."""
        done = self.lab.hosts["control"].type("sonde agents --json")
        if done.returncode != 0:
            return set()
        rows = json.loads(done.stdout)["agents"]
        return {row["name"] for row in rows if row["connected"]}

    def run_block(self, line, hosts, script):
        for name in hosts:
            began = time.monotonic()
            done = self.lab.hosts[name].type(script)
            print(f"docs/operations.md:{line} on {name}: {time.monotonic() - began:.1f} s",
                  flush=True)
            self.assertEqual(0, done.returncode, f"docs/operations.md:{line} on {name}:\n{script}"
                                                 f"---\n{done.stdout}")
        return done.stdout

    def wait_connected(self, expected):
        """Whoever types is slower than agents are."""
        wait_for(lambda: self.connected() == expected, seconds=20, pause=0.2)

    def test_every_command_works(self):
        expected, said = set(AGENTS), {}
        self.check_firewall()
        for line, words, script in blocks(self.page):
            if words == ["skip"]:
                continue
            self.assertRegex(" ".join(words), r"^on=[a-z,]+$", f"docs/operations.md:{line}")
            if "sonde agents" in said:
                self.wait_connected(expected)
            hosts = words[0][len("on="):].split(",")
            said[script.strip().splitlines()[-1]] = self.run_block(line, hosts, script)
            if "revoke agent/oslo" in script:
                expected = {"paris"}
            elif hosts == ["oslo"] and "restart" in script:
                expected = set(AGENTS)
        self.check_what_was_said(said)

    def check_firewall(self):
        """There is something to open: nothing is refused, all is dropped."""
        probe = "import socket; socket.create_connection(('control', 7862), 0.5)"
        done = self.lab.hosts["paris"].type(f'{sys.executable} -c "{probe}"')
        self.assertIn("timed out", done.stdout)

    def check_what_was_said(self, said):
        control = self.lab.hosts["control"]
        account = said["sonde run --from paris --to oslo"]
        self.assertIn("UDP from paris", account)
        self.assertIn("to oslo", account)
        self.assertIn("paris", said["sonde results --limit 5"])
        self.assertIn("3 pass, 0 fail", said["sonde report sonde-runs/* fetched/*"])
        # The revoked one was refused, and the reason is in both logs.
        self.assertIn("revoked", control.log("sonde-controller"))
        self.assertIn("revoked", self.lab.hosts["oslo"].log("sonde-agent"))
        for host, unit in (("control", "sonde-controller"), ("paris", "sonde-agent"),
                           ("oslo", "sonde-agent")):
            self.assertIn("read anew", self.lab.hosts[host].log(unit))


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
