"""A controller with certificates of its own on a free port of this host, and who talks to it: what
system tests of `sonde serve` share."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import yaml

from peers import Agent, Peer, new_id  # noqa: F401: tests take them from here

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOMAIN = "test"


class Authority:
    """sonde-certs in a folder of its own."""

    def __init__(self, folder, domain=DOMAIN):
        self.folder = folder
        self.call("init", "--domain", domain)

    def call(self, *words):
        subprocess.run(["sh", os.path.join(ROOT, "certs", "sonde-certs"), *words, "--dir",
                        self.folder], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, timeout=60)

    def issue(self, role, name, *more):
        """Paths of (ca, certificate, key)."""
        extra = ("--ip", "127.0.0.1") if role == "controller" else ()
        self.call(role, name, *extra, *more)
        return self.files(role, name)

    def files(self, role, name):
        folder = os.path.join(self.folder, role, name)
        return tuple(os.path.join(folder, file)
                     for file in ("ca.pem", f"{role}.pem", f"{role}-key.pem"))


class Controller:
    """`sonde serve` in a folder of its own; what it logs is in self.log()."""

    def __init__(self, sonde, folder, authority, **config):
        self.sonde, self.folder, self.process = sonde, folder, None
        self.port = config.pop("port", None) or free_port()
        self.store = os.path.join(folder, "sonde.sqlite")
        self.log_path = os.path.join(folder, "log")
        ca, certificate, key = authority.files("controller", "c")
        self.config = {"listen": f"127.0.0.1:{self.port}",
                       "tls": {"ca": ca, "certificate": certificate, "key": key},
                       "store": {"path": self.store}, "log_level": "debug", **config}
        self.path = os.path.join(folder, "controller.yaml")
        self.write()

    def write(self):
        with open(self.path, "w", encoding="utf-8") as file:
            yaml.safe_dump(self.config, file)

    def start(self, wait=True, prefix=(), **environment):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*prefix, self.sonde, "serve", "--config", self.path], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env={**os.environ, **environment})
        if wait:
            self.wait_for("listens on")
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for(self, words, count=1, timeout=30):
        """Until the log has these words so often."""
        until(lambda: self.log().count(words) >= count, timeout,
              lambda: f"{words!r} is not in the log:\n{self.log()}", self.process)

    def stop(self, how=signal.SIGTERM, timeout=20):
        """Its exit code."""
        self.process.send_signal(how)
        code = self.process.wait(timeout)
        self.process = None
        return code

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(true, timeout, complaint, process=None):
    deadline = time.monotonic() + timeout
    while not true():
        if process is not None and process.poll() is not None and not true():
            raise AssertionError(f"it ended with {process.returncode}: {complaint()}")
        if time.monotonic() > deadline:
            raise AssertionError(complaint())
        time.sleep(0.02)


class Folder:
    """A folder that is removed at the end."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="sonde-serve-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


if __name__ == "__main__":
    sys.exit("this is for tests")
