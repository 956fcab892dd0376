#!/usr/bin/env python3
"""One controller against a simulated fleet: memory for each agent, time to be back after a restart,
results stored durably per second, and how long a command takes meanwhile. And what one idle agent
needs.

A bare control runs in the same go: a plain SQLite program that commits rows of the same size in
batches."""

import argparse
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

PORT = 17862
STEADY = 20500  # results per second while commands are timed


def arguments():
    parser = argparse.ArgumentParser(prog="./run bench fleet", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("--agents", type=int, default=5000, help="connections (5000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of delivering results (5)")
    parser.add_argument("--bytes", type=int, default=300, help="size of a result (300)")
    parser.add_argument("--rounds", type=int, default=3, help="of results and restarts (3)")
    parser.add_argument("--json", metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--check", action="store_true",
                        help="exit 3 when a figure is worse than what docs/benchmark.md promises")
    asked = parser.parse_args()
    if not (1 <= asked.agents <= 20000 and asked.seconds > 0 and 1 <= asked.bytes <= 1000000):
        parser.error("1 to 20000 agents, seconds > 0, 1 to 1000000 bytes")
    return asked


def memory(pid):
    """Resident and private (RssAnon) bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {name: int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon")}


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
                       "limits": {"agents": agents + 100, "strangers": agents + 100},
                       "log_level": "warning"}, file)
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.sonde, "serve", "--config", self.config],
                                        stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def command_times(sonde, folder, files, until):
    """Whole commands, process and handshake included, one after another until then; seconds."""
    identity = os.path.join(folder, "operator")
    if not os.path.isdir(identity):
        os.mkdir(identity, 0o700)
        for name, key in (("ca.pem", "ca"), ("operator.pem", "certificate"),
                          ("operator-key.pem", "key")):
            os.symlink(files[key], os.path.join(identity, name))
    times = []
    while time.monotonic() < until:
        began = time.monotonic()
        done = subprocess.run([sonde, "results", "--limit", "1", "--json", "--controller",
                               f"127.0.0.1:{PORT}", "--identity", identity],
                              capture_output=True, timeout=60)
        if done.returncode == 0:
            times.append(time.monotonic() - began)
        else:
            print(done.stderr.decode(), file=sys.stderr)
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
    base.execute("CREATE TABLE r(seq INTEGER PRIMARY KEY, id BLOB UNIQUE, body BLOB)")
    began, count = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        base.execute("BEGIN IMMEDIATE")
        base.executemany("INSERT INTO r(id, body) VALUES(?, ?)",
                         [(os.urandom(16), os.urandom(size)) for _ in range(batch)])
        base.execute("COMMIT")
        count += batch
    base.close()
    return count / (time.monotonic() - began)


def measure(asked, folder):
    found = {"agents": asked.agents, "bytes": asked.bytes}
    simulation = Simulation(os.path.join(asked.folder, "tests/bin/fleet_sim"), asked.agents)
    files = simulation.certificates
    sonde = os.path.join(asked.folder, "sonde")
    controller = Controller(sonde, folder, files["controller"], asked.agents)
    try:
        controller.start()
        time.sleep(1)
        empty = memory(controller.process.pid)
        simulation.tell("connect", f"127.0.0.1:{PORT}")
        found["connect_s"] = simulation.event("connected")["seconds"]
        time.sleep(12)  # a round of pings: what a connection needs in the long run
        full = memory(controller.process.pid)
        found["kb_per_agent"] = (full["VmRSS"] - empty["VmRSS"]) / asked.agents / 1024
        found["idle_agent"] = idle_agent(os.path.join(asked.folder, "sonde-agent"), folder,
                                         files["agent"])
        rates, steady, times, backs = [], [], [], []
        for _ in range(asked.rounds):
            simulation.tell("results", asked.seconds, asked.bytes, 0)
            event = simulation.event("results")
            rates.append(event["committed"] / event["seconds"])
            time.sleep(1)
            simulation.tell("results", asked.seconds, asked.bytes, STEADY)
            times += command_times(sonde, folder, files["operator"],
                                   time.monotonic() + asked.seconds - 0.3)
            event = simulation.event("results")
            steady.append(event["committed"] / event["seconds"])
            time.sleep(1)
        for _ in range(asked.rounds):
            controller.kill()
            controller.start()
            backs.append(simulation.event("connected")["seconds"])
            time.sleep(2)
        found.update(results_per_second=rates, steady_per_second=steady, command_s=times,
                     back_s=backs, sqlite_rows_per_second=bare_sqlite(folder, asked.bytes))
        return found
    finally:
        simulation.process.kill()
        simulation.process.wait()
        if controller.process is not None:
            controller.kill()


PROMISES = (  # name, limit, whether more is better
    ("memory per agent, KB", 80, False), ("all back after a restart, s", 10, False),
    ("results stored durably per second", 20000, True),
    ("the same while commands are timed", 20000, True), ("a command meanwhile, ms", 100, False),
    ("idle agent, private MiB", 4, False), ("idle agent, resident MiB", 16, False),
    ("idle agent, wake-ups per second", 2, False))


def main():
    asked = arguments()
    folder = tempfile.mkdtemp(prefix="sonde-bench-")
    try:
        found = measure(asked, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    median = statistics.median
    values = (found["kb_per_agent"], median(found["back_s"]), median(found["results_per_second"]),
              median(found["steady_per_second"]), median(found["command_s"]) * 1000,
              found["idle_agent"]["RssAnon"] / 2**20, found["idle_agent"]["VmRSS"] / 2**20,
              found["idle_agent"]["wakes_per_second"])
    print(f"{asked.agents} agents connected in {found['connect_s']:.1f} s; "
          f"medians of {asked.rounds} rounds")
    short = False
    for (name, limit, more), value in zip(PROMISES, values):
        good = value >= limit if more else value <= limit
        short |= not good
        print(f"  {name:36} {value:10.1f}   {'at least' if more else 'at most':8} {limit:6}   "
              f"{'reached' if good else 'NOT REACHED'}")
    bare = found["sqlite_rows_per_second"]
    print(f"  control: a bare SQLite program stores {bare:.0f} such rows per second here; "
          f"sonde / control {median(found['results_per_second']) / bare:.2f}")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 3 if asked.check and short else 0


if __name__ == "__main__":
    sys.exit(main())
