#!/usr/bin/env python3
"""The demo (deploy/demo.sh, ./run demo) shows a first result and leaves nothing behind: no process
and no file, whenever and however it is ended.

usage: test_demo.py PATH-OF-SONDE (sonde-agent is beside it)
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SONDE = "sonde"
WAIT_S = 90


def processes(folder):
    """Command lines of processes that name this folder."""
    done = subprocess.run(["ps", "-A", "-o", "args="], stdout=subprocess.PIPE, timeout=30,
                          check=True)
    return [line for line in done.stdout.decode(errors="replace").splitlines() if folder in line]


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-test-demo-")
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *words):
        """In a process group of its own, as a terminal's foreground job."""
        self.log = os.path.join(self.folder, "err")
        self.place = os.path.join(self.folder, "tmp")
        os.mkdir(self.place)
        with open(self.log, "wb") as err:
            demo = subprocess.Popen(
                [os.path.join(ROOT, "deploy", "demo.sh"), os.path.dirname(SONDE), *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                start_new_session=True, env={**os.environ, "TMPDIR": self.place})
        self.addCleanup(demo.stdout.close)
        self.addCleanup(self.put_away, demo)
        return demo

    @staticmethod
    def put_away(demo):
        """A test that has failed leaves nothing either."""
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.wait()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for(self, words, demo):
        until = time.monotonic() + WAIT_S
        while words not in self.said():
            self.assertIsNone(demo.poll(), self.said())
            self.assertLess(time.monotonic(), until, self.said())
            time.sleep(0.05)

    def assert_nothing_is_left(self):
        self.assertEqual([], processes(self.place))
        self.assertEqual([], os.listdir(self.place))

    def test_once(self):
        demo = self.start("--once")
        account = demo.communicate(timeout=WAIT_S)[0].decode()
        self.assertEqual(0, demo.returncode, self.said())
        for name in ("paris", "oslo", "rome"):
            self.assertRegex(account, rf"(?m)^{name} +connected ")
        # The small buffer cannot hold 1,024 datagrams, and that is where they are lost.
        self.assertRegex(account, r"8,192 B x 64  forward .* receive buffer [0-9,]+\n")
        self.assert_nothing_is_left()

    def test_interrupt_ends_all_of_it(self):
        demo = self.start()
        self.wait_for("Ctrl-C ends", demo)
        self.assertEqual(4, len([row for row in processes(self.place) if "--config" in row]))
        # What it says to type works.
        port = re.search(r"export SONDE_CONTROLLER=(\S+) SONDE_IDENTITY=(\S+)", self.said())
        done = subprocess.run([SONDE, "results"], stdout=subprocess.PIPE, timeout=60, check=True,
                              env={**os.environ, "SONDE_CONTROLLER": port.group(1),
                                   "SONDE_IDENTITY": port.group(2)})
        self.assertIn(b"paris > oslo", done.stdout)
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(130, demo.wait(30), self.said())
        self.assert_nothing_is_left()

    def test_interrupt_at_any_step(self):
        for words in ("certificates, in", "three agents", "bursts from", "[1/4]"):
            with self.subTest(words):
                demo = self.start()
                self.wait_for(words, demo)
                os.killpg(demo.pid, signal.SIGINT)
                self.assertEqual(130, demo.wait(60), self.said())
                self.assert_nothing_is_left()
                os.rmdir(self.place)

    def test_termination_of_the_script_alone(self):
        demo = self.start()
        self.wait_for("Ctrl-C ends", demo)
        demo.terminate()
        self.assertEqual(130, demo.wait(30), self.said())
        self.assert_nothing_is_left()

    def test_a_flag_that_does_not_exist(self):
        demo = self.start("--onec")
        self.assertEqual(2, demo.wait(10))
        self.assertIn("usage: ./run demo [--once]", self.said())
        self.assert_nothing_is_left()


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
