"""An authority of sonde-certs in a folder of a test's own, and looks at what it issues."""

import datetime
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CERTS = os.path.join(ROOT, "certs", "sonde-certs")

def run(*words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, errors="surrogateescape", **more)


def openssl(*words):
    done = run("openssl", *words)
    if done.returncode != 0:
        raise AssertionError(f"openssl {' '.join(words)}: {done.stderr}")
    return done.stdout


def fact(path, *what):
    return openssl("x509", "-in", path, "-noout", *what).strip()


def serial(path):
    return fact(path, "-serial").split("=")[1]


def moment(path, which):
    """notBefore or notAfter, in seconds of 1970."""
    text = fact(path, "-startdate" if which == "notBefore" else "-enddate", "-dateopt", "iso_8601")
    return datetime.datetime.strptime(text, f"{which}=%Y-%m-%d %H:%M:%SZ").replace(
        tzinfo=datetime.timezone.utc).timestamp()


def extension(path, name):
    return fact(path, "-ext", name).split("\n", 1)[1].strip()


def public_key(path, kind="x509"):
    return openssl(*([kind, "-noout"] if kind == "x509" else [kind]), "-in", path,
                   "-pubkey" if kind == "x509" else "-pubout")


def tree(folder):
    """{path: bytes} of a folder."""
    found = {}
    for parent, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-certs-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.dir = self.path("ca")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def call(self, *words, code=0, **more):
        """Runs a command on this test's authority; returns what it said."""
        done = run(CERTS, "--dir", self.dir, *words, cwd=self.folder, **more)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def issue(self, role, name, *more):
        """The path of the certificate."""
        self.call(role, *more, "--", name)
        return os.path.join(self.dir, role, name, f"{role}.pem")

    def verify(self, path, *more):
        return run("openssl", "verify", "-x509_strict", "-CAfile", os.path.join(self.dir, "ca.pem"),
                   *more, path)

    def assert_good(self, path, *more):
        done = self.verify(path, *more)
        self.assertEqual(0, done.returncode, done.stderr)

    def assert_pair(self, folder, role):
        """The three files are there, whole, for their owner alone, and fit."""
        key, certificate = f"{role}-key.pem", f"{role}.pem"
        self.assertEqual({"ca.pem", key, certificate}, set(os.listdir(folder)))
        key, certificate = os.path.join(folder, key), os.path.join(folder, certificate)
        self.assertEqual(0o600, stat.S_IMODE(os.stat(key).st_mode))
        self.assertEqual(public_key(key, "pkey"), public_key(certificate))
        self.assert_good(certificate)
        with open(os.path.join(folder, "ca.pem"), "rb") as own, \
                open(os.path.join(self.dir, "ca.pem"), "rb") as other:
            self.assertEqual(own.read(), other.read())

    def assert_nothing_begun(self):
        self.assertEqual([], [path for path in tree(self.folder) if re.search(r"\.\d+/", path)])
        self.assertFalse(os.path.exists(os.path.join(self.dir, ".lock")))
