"""Certificates that sonde-certs would not issue: any names, any times, any role. The openssl
program signs them with the authority of a sonde-certs folder."""

import os
import shutil
import time

from network import sh

EXTENSIONS = """basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=clientAuth,serverAuth
"""
CONFIG = """[default]
database=index.txt
new_certs_dir=.
default_md=default
policy=any
unique_subject=no
rand_serial=yes
[any]
commonName=optional
"""


def _time(seconds):
    """In how many seconds from now, as openssl reads it."""
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))


def sign(authority, out, role, uris, begins=-3600, ends=86400, ips=("127.0.0.1",)):
    """Makes ca.pem, ROLE.pem and ROLE-key.pem in `out`, replacing what is there at once; returns
    `out`. `authority` is the folder of sonde-certs; times are seconds from now."""
    work = f"{out}.work"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    files = {"index.txt": "", "openssl.cnf": CONFIG, "extensions.cnf": EXTENSIONS + (
        "subjectAltName=" + ",".join([f"URI:{uri}" for uri in uris] + [f"IP:{ip}" for ip in ips]))}
    for name, text in files.items():
        with open(os.path.join(work, name), "w", encoding="ascii") as file:
            file.write(text)
    sh("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
       "-subj", "/CN=test", "-keyout", f"{role}-key.pem", "-out", "request.pem", cwd=work)
    sh("openssl", "ca", "-config", "openssl.cnf", "-name", "default", "-batch", "-notext", "-cert",
       os.path.join(authority, "ca.pem"), "-keyfile", os.path.join(authority, "ca-key.pem"), "-in",
       "request.pem", "-extfile", "extensions.cnf", "-startdate", _time(begins), "-enddate",
       _time(ends), "-out", f"{role}.pem", cwd=work)
    os.makedirs(out, exist_ok=True)
    os.chmod(os.path.join(work, f"{role}-key.pem"), 0o600)
    shutil.copy(os.path.join(authority, "ca.pem"), work)
    for name in (f"{role}-key.pem", f"{role}.pem", "ca.pem"):
        os.replace(os.path.join(work, name), os.path.join(out, name))
    shutil.rmtree(work)
    return out


def files(folder, role):
    """Its paths as a configuration's tls section."""
    return {"ca": f"{folder}/ca.pem", "certificate": f"{folder}/{role}.pem",
            "key": f"{folder}/{role}-key.pem"}
