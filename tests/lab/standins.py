#!/usr/bin/env python3
"""Small stand-ins for what a host of test_operations.py has not got: sudo, ssh, scp, systemctl,
journalctl, systemd-sysusers. Called by the name of the link that leads here.

SONDE_LAB_FOLDER holds, for each host, the folder of what it has mounted; SONDE_LAB_HOST is this
one.
"""

import json
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

FOLDER, HOST = os.environ["SONDE_LAB_FOLDER"], os.environ["SONDE_LAB_HOST"]
UNIT_FOLDERS = ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
START_SECONDS = 20


def fail(words, code=1):
    print(f"{os.path.basename(sys.argv[0])}: {words}", file=sys.stderr)
    sys.exit(code)


# --- root, and other hosts: the test's own process runs it -----------------------------------


def ask_lab(host, user, words, folder):
    """Runs a command as this user of this host, with our descriptors; its exit code."""
    request = json.dumps({"host": host, "user": user, "words": words, "folder": folder}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lab:
        lab.connect(os.path.join(FOLDER, "lab.socket"))
        socket.send_fds(lab, [request], [0, 1, 2])
        return int(lab.recv(16) or b"1")


def sudo(words):
    return ask_lab(HOST, "root", words, os.getcwd())


def ssh(words):
    host, *command = words
    return ask_lab(host, "jane", ["sh", "-c", " ".join(command)], "/home/jane")


def scp(words):
    *sources, target = [word for word in words if word not in ("-q", "-r", "-qr")]
    host, path = target.split(":", 1)
    home = os.path.join(FOLDER, host, "home", "jane")
    for source in sources:
        place = os.path.join(home, path)
        if os.path.isdir(source):
            shutil.copytree(source, place)
        else:
            shutil.copy(source, place)
    return 0


# --- services ------------------------------------------------------------------------------------


class Unit:
    def __init__(self, name):
        self.name = name if name.endswith(".service") else f"{name}.service"
        paths = [os.path.join(folder, self.name) for folder in UNIT_FOLDERS]
        path = next(filter(os.path.isfile, paths), None) or fail(f"{self.name} not found", 5)
        with open(path, encoding="utf-8") as file:
            rows = [line.rstrip("\n") for line in file if line[0] not in "#[\n"]
        self.keys = dict(row.split("=", 1) for row in rows)
        self.pid_path = f"/run/{self.name}.pid"
        self.log_path = f"/run/{self.name}.log"

    def pid(self):
        """The process, or None when it does not run."""
        try:
            with open(self.pid_path, encoding="ascii") as file:
                pid = int(file.read())
            os.kill(pid, 0)
            return pid
        except (FileNotFoundError, ProcessLookupError):
            return None
        except PermissionError:
            return pid

    def start(self):
        """As its unit says, until it is ready."""
        if self.pid():
            return
        user = pwd.getpwnam(self.keys["User"])
        state = os.path.join("/var/lib", self.keys["StateDirectory"])
        os.makedirs(state, exist_ok=True)
        os.chmod(state, int(self.keys["StateDirectoryMode"], 8))
        os.chown(state, user.pw_uid, user.pw_gid)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(f"\0{HOST}-{self.name}-{os.getpid()}")
            notify.settimeout(START_SECONDS)
            with open(self.log_path, "a", encoding="utf-8") as log:
                process = subprocess.Popen(
                    shlex.split(self.keys["ExecStart"]), stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, cwd="/", start_new_session=True, user=user.pw_uid,
                    group=user.pw_gid, extra_groups=[], umask=int(self.keys["UMask"], 8),
                    env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET":
                         f"@{notify.getsockname()[1:].decode()}"})
            with open(self.pid_path, "w", encoding="ascii") as file:
                file.write(str(process.pid))
            self.wait_ready(process, notify)

    def wait_ready(self, process, notify):
        notify.settimeout(0.1)
        until = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < until:
            try:
                if b"READY=1" in notify.recv(4096):
                    return
            except TimeoutError:
                pass
        with open(self.log_path, encoding="utf-8") as log:
            fail(f"{self.name} is not ready (exit code {process.poll()}):\n{log.read()[-2000:]}")

    def stop(self):
        pid = self.pid()
        if pid is None:
            return
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + START_SECONDS
        while self.pid():
            if time.monotonic() > until:
                fail(f"{self.name} does not end")
            time.sleep(0.02)

    def reload(self):
        command = self.keys["ExecReload"].replace("$MAINPID", str(self.pid()))
        subprocess.run(shlex.split(command), check=True)

    def status(self):
        print(f"{self.name}: {'active (running)' if self.pid() else 'inactive (dead)'}")
        return 0 if self.pid() else 3


def systemctl(words):
    verb, *names = [word for word in words if word != "--now"]
    if verb == "daemon-reload":
        return 0
    actions = {"enable": ["start"], "start": ["start"], "stop": ["stop"],
               "restart": ["stop", "start"], "reload": ["reload"], "status": ["status"]}
    if verb == "enable" and "--now" not in words or verb not in actions:
        fail(f"no stand-in for {' '.join(words)}")
    code = 0
    for unit in map(Unit, names):
        for action in actions[verb]:
            code = getattr(unit, action)() or 0
    return code


def journalctl(words):
    unit, lines = Unit(words[words.index("-u") + 1]), int(words[words.index("-n") + 1])
    with open(unit.log_path, encoding="utf-8") as file:
        sys.stdout.writelines(file.readlines()[-lines:])
    return 0


def sysusers(words):
    """What systemd-sysusers does with `u NAME - "TEXT" HOME`, where it is not installed."""
    with open(words[0], encoding="utf-8") as file:
        rows = [shlex.split(line) for line in file if line.startswith("u ")]
    for _, name, _, _, home in rows:
        subprocess.run(["useradd", "--system", "--home-dir", home, "--shell", "/usr/sbin/nologin",
                        name], check=True)
    return 0


ACTIONS = {"sudo": sudo, "ssh": ssh, "scp": scp, "systemctl": systemctl, "journalctl": journalctl,
           "systemd-sysusers": sysusers}

if __name__ == "__main__":
    sys.exit(ACTIONS[os.path.basename(sys.argv[0])](sys.argv[1:]))
