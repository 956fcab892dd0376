#!/usr/bin/env python3
"""One controller against a simulated fleet: memory for each agent, time to be back after a restart,
results stored durably per second, and how long a command takes meanwhile. And what one idle agent
needs.

Bare controls run in the same go: a plain SQLite program that commits rows of the same size in
batches, and OpenSSL's own server, which shakes hands with OpenSSL's own client. Processor time is
measured beside time, because it says more on a machine that is not quiet."""

import argparse
import json
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

PORT = 17862
BARE_PORT = 17863
STEADY = 20500  # results per second while commands are timed
BUSY = 0.7  # load average of a machine that is not quiet


def arguments():
    parser = argparse.ArgumentParser(prog="./run bench fleet", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--agents", type=int, default=5000, help="connections (5000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of delivering results (5)")
    parser.add_argument("--bytes", type=int, default=300, help="size of a result (300)")
    parser.add_argument("--rounds", type=int, default=3, help="of results and restarts (3)")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS",
                        help="wait so long for a quiet machine (0)")
    parser.add_argument("--profile", action="store_true",
                        help="say by perf where the controller spends its time; costs a little")
    parser.add_argument("--json", metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--check", action="store_true",
                        help="exit 3 when a figure is worse than what docs/benchmark.md promises")
    asked = parser.parse_args()
    if not (1 <= asked.agents <= 20000 and asked.seconds > 0 and asked.rounds > 0
            and 1 <= asked.bytes <= 1000000):
        parser.error("1 to 20000 agents, seconds > 0, rounds > 0, 1 to 1000000 bytes")
    if asked.profile and shutil.which("perf") is None:
        parser.error("--profile needs perf (Debian: linux-perf)")
    return asked


def memory(pid):
    """Resident and private (RssAnon) bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {name: int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon")}


def cpu_seconds(pid):
    """Of all threads, user and system."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Simulation:
    def __init__(self, program, agents):
        self.process = subprocess.Popen([program, str(agents)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.certificates = self.event("certificates")
        self.event("ready")

    def event(self, kind):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == kind:
                return event
        raise RuntimeError(f"the simulation ended before \"{kind}\"")

    def end(self):
        """Killed, it leaves its certificates."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(os.path.dirname(self.certificates["controller"]["ca"]), ignore_errors=True)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()


class Controller:
    def __init__(self, sonde, folder, files, agents):
        self.sonde, self.config = sonde, os.path.join(folder, "controller.yaml")
        self.log = open(os.path.join(folder, "controller.log"), "a", encoding="utf-8")
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump({"listen": f"127.0.0.1:{PORT}", "tls": files,
                       "store": {"path": os.path.join(folder, "sonde.sqlite")},
                       "limits": {"agents": agents + 100}, "log_level": "warning"}, file)
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.sonde, "serve", "--config", self.config],
                                        stdout=self.log, stderr=self.log)
        wait_for_port(PORT)

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def cpu(self):
        return cpu_seconds(self.process.pid)


def wait_for_port(port, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"nobody listens on port {port}")


class Profile:
    """Where a process spends its time, by perf; nothing when it was not asked for."""

    def __init__(self, asked, folder, name, pid):
        self.name, self.file, self.process = name, os.path.join(folder, "perf.data"), None
        if asked.profile:
            self.process = subprocess.Popen(
                ["perf", "record", "-q", "-F", "499", "-o", self.file, "-p", str(pid)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        for title, keys, count in (("thread and library", "comm,dso", 12),
                                   ("function", "dso,symbol", 25)):
            shown = subprocess.run(["perf", "report", "-i", self.file, "--stdio", "-s", keys],
                                   capture_output=True, text=True, check=False).stdout
            rows = [row.rstrip(" -") for row in shown.splitlines()
                    if row.strip() and not row.startswith("#")]
            print(f"profile of the controller, {self.name}, by {title}:", *rows[:count],
                  sep="\n  ", file=sys.stderr)


def command_times(sonde, folder, files, until):
    """Whole commands, their process and handshake included, one after another until then; seconds.
    """
    identity = os.path.join(folder, "operator")
    if not os.path.isdir(identity):
        os.mkdir(identity, 0o700)
        for name, key in (("ca.pem", "ca"), ("operator.pem", "certificate"),
                          ("operator-key.pem", "key")):
            os.symlink(files[key], os.path.join(identity, name))
    command = [sonde, "results", "--limit", "1", "--json", "--controller", f"127.0.0.1:{PORT}",
               "--identity", identity]
    times = []
    while time.monotonic() < until:
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"a command failed: {done.stderr.decode()}")
        times.append(time.monotonic() - began)
        time.sleep(0.05)
    return times


def idle_agent(program, folder, files, seconds=5):
    config = os.path.join(folder, "agent.yaml")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"controller": {"address": f"127.0.0.1:{PORT}"}, "tls": files,
                   "spool": {"path": os.path.join(folder, "spool.sqlite")}}, file)
    process = subprocess.Popen([program, "--config", config], stderr=subprocess.DEVNULL)
    try:
        time.sleep(seconds)
        before = switches(process.pid)
        time.sleep(seconds)
        wakes = (switches(process.pid) - before) / seconds
        return {**memory(process.pid), "wakes_per_second": wakes}
    finally:
        process.terminate()
        process.wait()


def switches(pid):
    """Voluntary context switches of the thread that runs the loop."""
    with open(f"/proc/{pid}/task/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("voluntary")).split()[1])


def bare_sqlite(folder, size, seconds=2.0, batch=400):
    """Rows of the same size, durable in batches, from one plain program: what the disk gives."""
    base = sqlite3.connect(os.path.join(folder, "control.sqlite"), isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE IF NOT EXISTS r(seq INTEGER PRIMARY KEY, id BLOB UNIQUE, body BLOB)")
    began, count = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        base.execute("BEGIN IMMEDIATE")
        base.executemany("INSERT INTO r(id, body) VALUES(?, ?)",
                         [(os.urandom(16), os.urandom(size)) for _ in range(batch)])
        base.execute("COMMIT")
        count += batch
    base.close()
    return count / (time.monotonic() - began)


def bare_handshake(certificates, seconds=2):
    """Processor milliseconds that `openssl s_server` needs for one new connection: TLS 1.3, both
    sides with certificates of the same kind, one after another from `openssl s_time`."""
    mine, other = certificates["controller"], certificates["agent"]
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", str(BARE_PORT), "-cert", mine["certificate"], "-key",
         mine["key"], "-CAfile", mine["ca"], "-Verify", "1", "-tls1_3", "-num_tickets", "0",
         "-no_cache", "-quiet"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        wait_for_port(BARE_PORT)
        before = cpu_seconds(server.pid)
        said = subprocess.run(
            ["openssl", "s_time", "-connect", f"127.0.0.1:{BARE_PORT}", "-new", "-time",
             str(seconds), "-tls1_3", "-cert", other["certificate"], "-key", other["key"],
             "-CAfile", other["ca"]], capture_output=True, text=True, check=False).stdout
        count = int(said[said.index("\n\n"):].split()[0])
        return (cpu_seconds(server.pid) - before) / count * 1000
    finally:
        server.kill()
        server.wait()


def connect(asked, controller, simulation):
    """All connect, and stay for a round of pings: what a connection needs in the long run."""
    empty = memory(controller.process.pid)
    cpu = controller.cpu(), cpu_seconds(simulation.process.pid)
    simulation.tell("connect", f"127.0.0.1:{PORT}")
    event = simulation.event("connected")
    used = (controller.cpu() - cpu[0], cpu_seconds(simulation.process.pid) - cpu[1])
    time.sleep(12)
    full = memory(controller.process.pid)
    return {"empty": empty["VmRSS"], "connect_s": event["seconds"], "connect_cpu_s": used[0],
            "connect_sim_cpu_s": used[1],
            "kb_per_agent": (full["VmRSS"] - empty["VmRSS"]) / asked.agents / 1024}


def deliver(asked, folder, controller, simulation, rate):
    """Results at a rate, or as fast as they are committed, while commands are timed."""
    profile = Profile(asked, folder, "saturated" if rate == 0 else "at a steady rate",
                      controller.process.pid)
    simulation.tell("results", asked.seconds, asked.bytes, rate)
    times = command_times(controller.sonde, folder, simulation.certificates["operator"],
                          time.monotonic() + asked.seconds - 0.3)
    event = simulation.event("results")
    profile.end()
    time.sleep(2)
    return event["committed"] / event["seconds"], times


def restart(asked, folder, controller, simulation):
    controller.kill()
    sim = cpu_seconds(simulation.process.pid)
    controller.start()
    profile = Profile(asked, folder, "while all come back", controller.process.pid)
    event = simulation.event("connected")
    back = {"back_s": event["seconds"], "back_cpu_s": controller.cpu(),
            "back_attempts": event["attempts"],
            "back_sim_cpu_s": cpu_seconds(simulation.process.pid) - sim}
    profile.end()
    time.sleep(2)
    return back


def measure(asked, folder):
    found = {"agents": asked.agents, "bytes": asked.bytes, "load": os.getloadavg()[0],
             "results_per_second": [], "saturated_command_s": [], "steady_per_second": [],
             "command_s": [], "back": [], "sqlite_rows_per_second": [], "bare_handshake_ms": []}
    simulation = Simulation(os.path.join(asked.folder, "tests/bin/fleet_sim"), asked.agents)
    files = simulation.certificates
    controller = Controller(os.path.join(asked.folder, "sonde"), folder, files["controller"],
                            asked.agents)
    try:
        controller.start()
        found.update(connect(asked, controller, simulation))
        found["idle_agent"] = idle_agent(os.path.join(asked.folder, "sonde-agent"), folder,
                                         files["agent"])
        for _ in range(asked.rounds):
            found["sqlite_rows_per_second"].append(bare_sqlite(folder, asked.bytes))
            for rate, per_second, commands in (
                    (0, "results_per_second", "saturated_command_s"),
                    (STEADY, "steady_per_second", "command_s")):
                stored, times = deliver(asked, folder, controller, simulation, rate)
                found[per_second].append(stored)
                found[commands] += times
        found["kb_per_agent_after"] = ((memory(controller.process.pid)["VmRSS"] - found["empty"])
                                       / asked.agents / 1024)
        for _ in range(asked.rounds):
            found["bare_handshake_ms"].append(bare_handshake(files))
            found["back"].append(restart(asked, folder, controller, simulation))
        return found
    finally:
        controller.kill()
        simulation.end()


PROMISES = (  # name, limit, whether more is better
    ("memory per agent, KB", 80, False), ("all back after a restart, s", 10, False),
    ("results stored durably per second", 20000, True),
    ("a command meanwhile, ms", 250, False),
    ("the same at a steady rate", 20000, True), ("a command meanwhile, ms", 100, False),
    ("idle agent, private MiB", 4, False), ("idle agent, resident MiB", 16, False),
    ("idle agent, wake-ups per second", 2, False))


def show(asked, found):
    """The promises and the controls; true when one is not reached."""
    median, idle, short = statistics.median, found["idle_agent"], False
    back = {name: median(one[name] for one in found["back"]) for name in found["back"][0]}
    stored, bare = median(found["results_per_second"]), median(found["bare_handshake_ms"])
    values = (found["kb_per_agent"], back["back_s"], stored,
              median(found["saturated_command_s"]) * 1000, median(found["steady_per_second"]),
              median(found["command_s"]) * 1000, idle["RssAnon"] / 2**20, idle["VmRSS"] / 2**20,
              idle["wakes_per_second"])
    print(f"{asked.agents} agents connected in {found['connect_s']:.1f} s; medians of "
          f"{asked.rounds} rounds; load average before {found['load']:.1f}")
    for (name, limit, more), value in zip(PROMISES, values):
        good = value >= limit if more else value <= limit
        short |= not good
        print(f"  {name:36} {value:10.1f}   {'at least' if more else 'at most':8} {limit:6}   "
              f"{'reached' if good else 'NOT REACHED'}")
    print(f"  {'memory per agent after results, KB':36} {found['kb_per_agent_after']:10.1f}")
    each = back["back_cpu_s"] / asked.agents * 1000
    sqlite = median(found["sqlite_rows_per_second"])
    print(f"  control: a bare SQLite program stores {sqlite:.0f} such rows per second here; "
          f"sonde / control {stored / sqlite:.2f}\n"
          f"  control: openssl s_server needs {bare:.2f} ms of a processor for a handshake; the "
          f"controller {each:.2f} ms for an agent that comes back, all included ({each / bare:.2f})"
          f"\n  the restart took {back['back_cpu_s']:.1f} s of a processor in the controller, "
          f"{back['back_sim_cpu_s']:.1f} s in the simulation, and {back['back_attempts']:.0f} "
          "connections")
    return short


def wait_for_quiet(seconds):
    end = time.monotonic() + seconds
    while os.getloadavg()[0] > BUSY and time.monotonic() < end:
        time.sleep(5)
    if os.getloadavg()[0] > BUSY:
        print(f"fleet: this machine is busy (load average {os.getloadavg()[0]:.1f}): times are "
              "longer than they need be", file=sys.stderr)


def main():
    asked = arguments()
    wait_for_quiet(asked.wait)
    folder = tempfile.mkdtemp(prefix="sonde-bench-")
    try:
        found = measure(asked, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    short = show(asked, found)
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 3 if asked.check and short else 0


if __name__ == "__main__":
    sys.exit(main())
