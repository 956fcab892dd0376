#!/usr/bin/env python3
"""sonde-certs: what is renewed keeps its key and its names, and what is revoked is so.

usage: test_certs_renew.py [PATH-OF-SONDE] (which is not needed)
"""

import os
import re
import shutil
import stat
import sys
import time
import unittest

from certs_lab import CERTS, Case, extension, moment, openssl, public_key, serial, tree


class Renewed(Case):
    def setUp(self):
        super().setUp()
        self.call("init", "--domain", "lab.test")
        self.certificate = self.issue("controller", "c", "--dns", "c.test", "--ip", "10.9.0.1",
                                      "--days", "1")
        self.key = self.certificate.replace(".pem", "-key.pem")

    def test_key_and_names_stay_and_the_file_is_replaced_whole(self):
        key, names = public_key(self.certificate), extension(self.certificate, "subjectAltName")
        old = serial(self.certificate)
        with open(self.certificate, encoding="ascii") as before:
            self.call("renew", "c")
            self.assertTrue(before.read().endswith("-----END CERTIFICATE-----\n"))
        self.assertEqual((key, names), (public_key(self.certificate),
                                        extension(self.certificate, "subjectAltName")))
        self.assertNotEqual(old, serial(self.certificate))
        self.assertAlmostEqual(time.time() + 30 * 86400, moment(self.certificate, "notAfter"),
                               delta=60)
        self.assert_pair(os.path.dirname(self.certificate), "controller")
        self.assert_good(self.certificate, "-purpose", "sslserver", "-verify_hostname", "c.test")

    def test_the_private_key_is_not_needed(self):
        shutil.rmtree(os.path.join(self.dir, "controller"))
        self.call("renew", "controller/c")
        self.assert_good(self.certificate)
        self.assertFalse(os.path.exists(self.key))

    def test_a_file_is_renewed_where_it_is(self):
        os.makedirs(self.path("host"))
        for path in [self.certificate, self.key]:
            shutil.copy(path, self.path("host"))
        here, old = self.path("host", "controller.pem"), serial(self.certificate)
        self.call("renew", "host/controller.pem")
        self.assertNotEqual(old, serial(here))
        self.assertEqual(old, serial(self.certificate))
        self.assertEqual(public_key(self.path("host", "controller-key.pem"), "pkey"),
                         public_key(here))
        self.assertEqual(["controller-key.pem", "controller.pem"],
                         sorted(os.listdir(self.path("host"))))

    def test_a_new_key_by_rekey_alone(self):
        old = public_key(self.certificate)
        self.call("renew", "c", "--rekey", "--key", "ed25519")
        self.assertNotEqual(old, public_key(self.certificate))
        self.assert_pair(os.path.dirname(self.certificate), "controller")
        self.assertIn("c.test", extension(self.certificate, "subjectAltName"))

    def test_a_certificate_for_another_key_is_not_replaced(self):
        shutil.copy(self.certificate, self.path("old.pem"))
        self.call("controller", "c", "--dns", "c.test", "--force")
        self.assertIn("another key", self.call("renew", "old.pem", code=1))
        self.assert_nothing_begun()

    def test_what_is_not_ours_is_refused(self):
        ours, self.dir = self.dir, self.path("other")
        self.call("init", "--domain", "lab.test")
        foreign = self.issue("controller", "c", "--dns", "c.test")
        self.dir = ours
        for command in ["renew", "revoke"]:
            self.assertIn("not issued by", self.call(command, foreign, code=1))
            self.assertIn("no certificate", self.call(command, CERTS, code=1))
            self.assertIn("issued nothing", self.call(command, "nobody", code=1))
        self.assertIn("issued nothing",
                      self.call("revoke", os.path.join(self.dir, "ca.pem"), code=1))
        self.assertIn("foreign", self.call("show", foreign))

    def test_names_of_several_roles_need_the_role(self):
        self.issue("agent", "c")
        self.assertIn("agent controller", self.call("renew", "c", code=1))
        self.call("renew", "agent/c")
        self.call("revoke", "controller/c")
        self.assertRegex(self.call("show", "agent/c"), "valid")
        self.assertRegex(self.call("show", "controller/c"), "revoked")


class Revoked(Case):
    def setUp(self):
        super().setUp()
        self.call("init", "--domain", "lab.test")
        self.crl = os.path.join(self.dir, "crl.pem")

    def is_revoked(self, path):
        done = self.verify(path, "-crl_check", "-CRLfile", self.crl)
        self.assertIn(done.returncode, (0, 2))
        if done.returncode != 0:
            self.assertIn("revoked", done.stderr)
        return done.returncode != 0

    def test_all_that_a_name_has_is_revoked_and_nothing_else(self):
        bad, good = self.issue("agent", "bad"), self.issue("agent", "good")
        shutil.copy(bad, self.path("first.pem"))
        self.call("renew", "bad")
        self.assertFalse(self.is_revoked(bad) or self.is_revoked(good))
        self.assertIn("revoked: 2", self.call("revoke", "bad"))
        self.assertTrue(self.is_revoked(bad) and self.is_revoked(self.path("first.pem")))
        self.assertFalse(self.is_revoked(good))
        self.assertIn("revoked: 0", self.call("revoke", "bad"))
        self.assertIn("--force", self.call("renew", "bad", code=1))
        self.call("agent", "bad", "--force")
        self.assertFalse(self.is_revoked(bad))
        self.assertTrue(self.is_revoked(self.path("first.pem")))

    def test_the_list_is_issued_again_with_what_it_has(self):
        bad = self.issue("agent", "bad")
        self.call("revoke", bad)
        numbers = []
        for days in ["7", "30"]:
            self.assertIn(f"for {days} days", self.call("crl", "--days", days))
            text = openssl("crl", "-in", self.crl, "-noout", "-text")
            numbers.append(int(re.search(r"CRL Number: *\n *(\d+)", text).group(1)))
            self.assertIn(serial(bad), text)
            self.assertTrue(self.is_revoked(bad))
        self.assertEqual([3, 4], numbers)
        self.assertEqual(0o644, stat.S_IMODE(os.stat(self.crl).st_mode))

    def test_show_tells_identity_dates_and_state(self):
        self.issue("agent", "a")
        self.issue("agent", "b", "--days", "2")
        controller = self.issue("controller", "c", "--dns", "c.test")
        old = self.issue("agent", "old")
        kept = os.path.join(self.dir, "issued", "agent", "old", serial(old))
        openssl("x509", "-req", "-in", os.path.join(kept, "request.pem"), "-CA",
                os.path.join(self.dir, "ca.pem"), "-CAkey", os.path.join(self.dir, "ca-key.pem"),
                "-set_serial", "0x" + serial(old), "-subj", "/CN=old", "-days", "-1", "-extfile",
                os.path.join(kept, "extensions.cnf"), "-out", os.path.join(kept, "certificate.pem"))
        self.call("revoke", "b")
        rows = [line.split() for line in self.call("show").splitlines()]
        self.assertEqual(["IDENTITY", "FROM", "UNTIL"], rows[0][:3])
        states = {row[0]: (int(row[5]), row[6]) for row in rows[1:]}
        for name, left, state in [("agent/a", 30, "valid"), ("agent/b", 2, "revoked"),
                                  ("controller/c", 30, "valid"), ("agent/old", -1, "expired")]:
            self.assertIn(states.pop(name), [(left, state), (left - 1, state)])  # a second may pass
        self.assertEqual({}, states)
        for target in ["c", "controller/c", controller]:
            row = self.call("show", target).splitlines()[1]
            self.assertIn(serial(controller), row)
            self.assertTrue(row.endswith("DNS:c.test"), row)
        before = tree(self.dir)
        self.assertIn("revoked: 1", self.call("revoke", "old"))  # or it could be renewed
        self.assertNotEqual(before, tree(self.dir))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
