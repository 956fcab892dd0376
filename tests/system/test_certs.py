#!/usr/bin/env python3
"""sonde-certs: what it issues is what the daemons ask for, and nothing is overwritten or left half
done.

usage: test_certs.py [PATH-OF-SONDE] (which is not needed)
"""

import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

from certs_lab import CERTS, Case, extension, fact, moment, public_key, run, serial, tree

HOSTILE_NAMES = ["", ".", "..", ".a", "a/b", "../a", "a b", "a\nb", "a;b", "$(id)", "a,b", "a=b",
                 "ä", "a\tb", "*", "agent/a", "x" * 129, "a\x7f", "/CN=b", "a\\"]


class Authority(Case):
    def test_it_is_one_that_signs_and_nothing_else(self):
        said = self.call("init", "--domain", "lab.test")
        self.assertIn("spiffe://lab.test", said)
        ca = os.path.join(self.dir, "ca.pem")
        self.assertIn("CA:TRUE, pathlen:0", extension(ca, "basicConstraints"))
        self.assertIn("Certificate Sign, CRL Sign", extension(ca, "keyUsage"))
        self.assertEqual("URI:spiffe://lab.test", extension(ca, "subjectAltName"))
        self.assertEqual(0o600, stat.S_IMODE(os.stat(os.path.join(self.dir, "ca-key.pem")).st_mode))
        self.assertAlmostEqual(3650 * 86400 + 300, moment(ca, "notAfter") - moment(ca, "notBefore"),
                               delta=60)
        self.assert_good(ca)
        self.assert_nothing_begun()

    def test_it_is_never_overwritten(self):
        self.call("init", "--domain", "lab.test")
        before = tree(self.dir)
        self.assertIn("there already", self.call("init", "--domain", "other.test", code=1))
        self.assertEqual(before, tree(self.dir))
        self.assertIn("not for init", self.call("init", "--domain", "x", "--force", code=2))

    def test_domains_are_those_of_spiffe(self):
        for domain in ["", "Lab", "a/b", "a b", "a:1", "ä", "x" * 256, "$x", "a,URI:b"]:
            self.call("init", "--domain", domain, code=2)
            self.assertFalse(os.path.exists(self.dir))
        self.call("init", code=2)
        self.call("init", "--domain", "x" * 255)
        self.assert_good(self.issue("agent", "a"))

    def test_nothing_is_issued_without_it(self):
        for words in [("agent", "a"), ("renew", "a"), ("revoke", "a"), ("crl",), ("show",)]:
            self.assertIn("holds no authority", self.call(*words, code=1))

    def test_two_at_once_make_one(self):
        both = [subprocess.Popen([CERTS, "init", "--dir", self.dir, "--domain", f"{i}.test"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for i in range(2)]
        self.assertEqual([0, 1], sorted(process.wait(60) for process in both))
        self.assert_good(self.issue("agent", "a"))

    def test_folders_may_have_any_name(self):
        for name in ["a b", "-x", "$HOME", "it's", "a#b", 'q"q', "a\\b", "deep/er/ca"]:
            self.dir = name
            self.call("init", "--domain", "lab.test")
            self.dir = self.path(name)
            self.assert_good(self.issue("agent", "a", "--out", os.path.join(self.dir, "agent/a/")))

    def test_ed25519_and_p256_sign_each_other(self):
        for authority in ["p256", "ed25519"]:
            self.dir = self.path(authority)
            self.call("init", "--domain", "lab.test", "--key", authority)
            for key, said in [("p256", "prime256v1"), ("ed25519", "ED25519")]:
                path = self.issue("agent", key, "--key", key)
                self.assert_pair(os.path.dirname(path), "agent")
                self.assertIn(said, fact(path, "-text"))
            self.call("revoke", "p256")


class Issued(Case):
    def setUp(self):
        super().setUp()
        self.call("init", "--domain", "lab.test")

    def test_each_role_has_what_it_needs_and_no_more(self):
        more = {"controller": ["--dns", "ctl.lab.test,*.ctl.lab.test", "--ip", "10.9.0.1,fd00::1"]}
        serials = set()
        for role in ["agent", "controller", "operator"]:
            path = self.issue(role, "Name_1.x-y", *more.get(role, []))
            self.assert_pair(os.path.dirname(path), role)
            self.assert_good(path, "-purpose", "sslclient")
            self.assertEqual(role == "controller",
                             self.verify(path, "-purpose", "sslserver").returncode == 0)
            self.assertEqual("CA:FALSE", extension(path, "basicConstraints"))
            self.assertEqual("Digital Signature", extension(path, "keyUsage"))
            self.assertIn("critical", fact(path, "-ext", "basicConstraints,keyUsage"))
            names = extension(path, "subjectAltName").split(", ")
            self.assertEqual(f"URI:spiffe://lab.test/{role}/Name_1.x-y", names[0])
            self.assertEqual(role == "controller", len(names) > 1)
            self.assertEqual("subject=CN=Name_1.x-y", fact(path, "-subject").replace(" ", ""))
            self.assertAlmostEqual(time.time() - 300, moment(path, "notBefore"), delta=60)
            self.assertAlmostEqual(time.time() + 30 * 86400, moment(path, "notAfter"), delta=60)
            self.assertGreater(int(serial(path), 16), 1 << 64)
            serials.add(serial(path))
        self.assertEqual(3, len(serials))
        self.assert_nothing_begun()

    def test_a_controller_answers_to_its_names(self):
        path = self.issue("controller", "c", "--dns", "ctl.lab.test,b.test", "--ip", "10.9.0.1,::1")
        for more in [("-verify_hostname", "ctl.lab.test"), ("-verify_hostname", "b.test"),
                     ("-verify_ip", "10.9.0.1"), ("-verify_ip", "::1")]:
            self.assert_good(path, *more)
        self.assertNotEqual(0, self.verify(path, "-verify_hostname", "c").returncode)
        self.assertIn("--dns or --ip", self.call("controller", "d", code=2))
        self.assertIn("not for agent", self.call("agent", "d", "--dns", "x", code=2))
        for value in ["", ",", "a,", ",a", "a,,b", "a b", "a,URI:x", "$x", "ä", "a\nb"]:
            self.call("controller", "d", "--dns", value, code=2)
        for value in ["", "10.9.0.1,", "x", "10.9.0.1/8", "fe80::1%eth0"]:
            self.call("controller", "d", "--ip", value, code=2)
        before = tree(self.dir)
        self.assertIn("bad ip", self.call("controller", "d", "--ip", "10.9.0.256", code=1).lower())
        self.assertEqual(before, tree(self.dir))

    def test_hostile_names_are_refused_and_change_nothing(self):
        before = tree(self.folder)
        for name in HOSTILE_NAMES:
            for role in ["agent", "operator"]:
                said = self.call(role, "--", name, code=2)
                self.assertIn("A-Z a-z 0-9 . _ -", said)
        self.assertEqual(before, tree(self.folder))
        for name in HOSTILE_NAMES:
            if name:
                self.call("revoke", "--", name, code=1)
                self.call("renew", "--", name, code=1)
        self.assertEqual(before, tree(self.folder))

    def test_names_at_the_limits(self):
        for name in ["a", "-", "--force", "_", "0", "a..b", "x" * 128]:
            path = self.issue("agent", name)
            self.assertEqual(f"URI:spiffe://lab.test/agent/{name}",
                             extension(path, "subjectAltName"))
            self.assertEqual(f"subject=CN={name[:64]}", fact(path, "-subject").replace(" ", ""))
            self.call("renew", "--", name)

    def test_days_are_days_and_within_the_authority_s(self):
        path = self.issue("agent", "a", "--days", "1")
        self.assertAlmostEqual(time.time() + 86400, moment(path, "notAfter"), delta=60)
        self.assert_good(self.issue("agent", "b", "--days=3649"))
        self.assertIn("the authority has ended", self.call("agent", "c", "--days", "3651", code=1))
        for days in ["0", "-1", "1.5", "", "x", "100000", "07", "1 2"]:
            self.call("agent", "c", "--days", days, code=2)
        self.assert_nothing_begun()

    def test_files_are_overwritten_by_force_alone(self):
        path = self.issue("agent", "a")
        os.makedirs(self.path("out"))
        with open(self.path("out", "agent-key.pem"), "w", encoding="ascii") as file:
            file.write("mine\n")
        before = tree(self.folder)
        self.assertIn("--force", self.call("agent", "a", code=1))
        self.assertIn("--force", self.call("agent", "b", "--out", self.path("out"), code=1))
        self.assertEqual(before, tree(self.folder))
        old = serial(path), public_key(path)
        self.call("agent", "a", "--force")
        self.assertNotEqual(old, (serial(path), public_key(path)))
        self.assert_pair(os.path.dirname(path), "agent")
        self.call("agent", "b", "--out", self.path("out"), "--force")
        self.assert_pair(self.path("out"), "agent")
        self.assert_nothing_begun()

    def test_it_says_which_files_go_where(self):
        said = self.call("agent", "a", "--out", "out/a")
        self.assertIn("/etc/sonde/", said)
        self.assertEqual([f"  out/a/{name}" for name in ["ca.pem", "agent.pem", "agent-key.pem"]],
                         said.splitlines()[-3:])
        self.assertIn(".sonde/ in the home", self.call("operator", "a"))

    def test_runs_at_once_wait_for_each_other(self):
        names = ["a", "b", "c", "d", "same", "same"]
        runs = [subprocess.Popen([CERTS, "agent", name, "--dir", self.dir],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for name in names]
        codes = [process.wait(60) for process in runs]
        self.assertEqual([0, 0, 0, 0], codes[:4])
        self.assertEqual([0, 1], sorted(codes[4:]))
        for name in set(names):
            self.assert_pair(os.path.join(self.dir, "agent", name), "agent")
        with open(os.path.join(self.dir, "index.txt"), encoding="ascii") as file:
            self.assertEqual(6, len(file.readlines()))  # the authority's own too
        self.assert_nothing_begun()

    def test_a_lock_that_was_left_is_named(self):
        os.makedirs(os.path.join(self.dir, ".lock"))
        with open(os.path.join(self.dir, ".lock", "process"), "w", encoding="ascii") as file:
            file.write("4711\n")
        with open(self.path("sleep"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n")
        os.chmod(self.path("sleep"), 0o755)
        said = self.call("agent", "a", code=1,
                         env={**os.environ, "PATH": self.folder + ":" + os.environ["PATH"]})
        self.assertIn("process 4711", said)
        self.assertIn(f"remove {self.dir}/.lock", said)
        self.assertTrue(os.path.exists(os.path.join(self.dir, ".lock", "process")))

    def interrupt(self, words, number, after):
        process = subprocess.Popen([CERTS, *words, "--dir", self.dir], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(after)
        os.killpg(process.pid, number)
        process.wait(60)

    def test_an_interrupted_run_leaves_nothing_half_written(self):
        seed = os.getpid()
        print("seed", seed)
        dice = random.Random(seed)
        self.issue("agent", "old")
        kept = os.path.join(self.dir, "agent", "old")
        for i in range(30):
            number = dice.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
            words = dice.choice([["agent", f"n{i}"], ["renew", "old"], ["renew", "old", "--rekey"]])
            if number == signal.SIGKILL and "--rekey" in words:
                words.pop()  # two files cannot be moved at once: documented
            self.interrupt(words, number, dice.uniform(0, 0.15))
            if number == signal.SIGKILL:
                shutil.rmtree(os.path.join(self.dir, ".lock"), ignore_errors=True)
                for parent, folders, _ in os.walk(self.dir):
                    for name in folders:
                        if re.search(r"\.\d+$", name):
                            shutil.rmtree(os.path.join(parent, name))
            self.assert_nothing_begun()
            self.assert_pair(kept, "agent")
            if os.path.exists(os.path.join(self.dir, "agent", f"n{i}")):
                self.assert_pair(os.path.join(self.dir, "agent", f"n{i}"), "agent")
        self.issue("agent", "after")
        self.call("crl")
        self.assertNotIn("foreign", self.call("show"))


class Words(Case):
    def test_help_and_misuse(self):
        self.assertIn("Commands:", run(CERTS, "--help").stdout)
        self.assertEqual(run(CERTS, "--help").stdout, run(CERTS, "help").stdout)
        self.assertEqual(2, run(CERTS).returncode)
        for word, meant in [("agnet", "agent"), ("renw", "renew or revoke"), ("initialise", "init"),
                            ("shw", "show")]:
            self.assertIn(f"did you mean {meant}?", self.call(word, code=2))
        self.assertNotIn("mean", self.call("xyz", code=2))
        for words in [("--colour", "show"), ("agent", "a", "b"), ("agent",), ("crl", "a"),
                      ("init", "a"), ("agent", "a", "--days"), ("agent", "a", "--force=x"),
                      ("show", "--force"), ("renew", "a", "--force"), ("crl", "--out", "x"),
                      ("agent", "a", "--key", "rsa")]:
            done = run(CERTS, "--dir", self.dir, *words)
            self.assertEqual((2, ""), (done.returncode, done.stdout), words)
            self.assertTrue(done.stderr.startswith("sonde-certs: "), done.stderr)

    def test_other_programs_that_are_called_openssl_are_refused(self):
        for said in ["LibreSSL 3.3.6", "OpenSSL 1.1.1w  11 Sep 2023", ""]:
            fake = self.path("openssl")
            with open(fake, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\necho '{said}'\n")
            os.chmod(fake, 0o755)
            for openssl_path in [fake, "./openssl"]:
                words = self.call("init", "--domain", "x", code=1,
                                  env={**os.environ, "OPENSSL": openssl_path})
                self.assertIn("OpenSSL 3.0 or newer", words)
                self.assertIn(said, words)
        self.assertIn("not there", self.call("init", "--domain", "x", code=1,
                                             env={**os.environ, "OPENSSL": "/no/such"}))
        self.call("init", "--domain", "x", env={**os.environ, "OPENSSL": shutil.which("openssl")})

    def test_every_shell_does(self):
        for shell in ["dash", "bash", "busybox", "ksh", "zsh", "yash"]:
            if shutil.which(shell) is None:
                continue
            words = [shell, "sh"] if shell == "busybox" else [shell]
            for command in ["init --domain x", "agent a", "renew a", "revoke a"]:
                done = run(*words, CERTS, *command.split(), "--dir", self.path(shell))
                self.assertEqual(0, done.returncode, f"{shell}: {done.stderr}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
