"""The programs that the benchmark compares, each behind one function: bytes and seconds in, a
Result out. Everything runs on 127.0.0.1, on ports that were free a moment before; every program
that is started here is ended here, by its process id."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

HOST = "127.0.0.1"
PATIENCE = 30  # seconds that a program gets beyond what it is to measure


class Result:
    """What one program reached once: events per second and the part of datagrams that were lost; or
    no rate, and why."""

    def __init__(self, rate, lost=None, why=None, p50_us=None):
        self.rate, self.lost, self.why, self.p50_us = rate, lost, why, p50_us


def failed(why):
    return Result(None, why=why)


def free_port():
    """A port that is free for UDP and TCP."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind((HOST, 0))
            try:
                tcp.bind((HOST, udp.getsockname()[1]))
            except OSError:
                continue
            return udp.getsockname()[1]


def is_bound(kind, port):
    """Does a socket of /proc/net/KIND have this local port?"""
    for table in (kind, kind + "6"):
        with open("/proc/net/" + table, encoding="ascii") as file:
            if any(f":{port:04X} " in line[:40] for line in file):
                return True
    return False


class Server:
    """A peer's server while a `with` block runs."""

    def __init__(self, kind, command):
        self.port = free_port()
        self.kind, self.command = kind, [word.format(port=self.port) for word in command]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 5
        while not is_bound(self.kind, self.port):
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise OSError(f"{self.command[0]}: its server does not listen")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.kill()  # it has nothing to save, and sockperf would take seconds to end
        self.process.wait()


def run(command, seconds):
    """Runs a command; its output, or an OSError with its last words."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=seconds + PATIENCE)
    except subprocess.TimeoutExpired:
        raise OSError(f"not done after {seconds + PATIENCE:.0f} s") from None
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0 and not output.strip():
        words = done.stderr.decode(errors="replace").strip().splitlines() or ["no words"]
        raise OSError(f"exit code {done.returncode}: {words[-1]}")
    return output


def lacking(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    return f"{missing[0]} is not installed" if missing else None


def control(program, plan, size):
    words = json.loads(run([program, str(size), str(plan.window(size)), str(plan.seconds),
                            str(plan.rcvbuf)], plan.seconds))
    return Result(words["round_trips_per_second"], words["lost"] / words["sent"])


def sonde(program, engine, plan, size):
    with tempfile.TemporaryDirectory() as folder:
        output = run([program, "loopback", "--io-model", "split", "--io-threads", "1",
                      "--clients", "1", "--window", str(plan.window(size)), "--payload", str(size),
                      "--repeat", "1", "--warmup", "0.25", "--seconds", str(plan.seconds),
                      "--rcvbuf", str(plan.rcvbuf), "--engine", engine, "--idle", "0", "--json",
                      "--output", folder], plan.seconds)
    case = json.loads(output)["cases"][0]
    if case["status"] == "error":
        return failed(case["error"])
    phase = case["phases"]["measure"]
    lost = phase["lost_echoes"] / max(1, phase["forward"]["attempted"])
    rate = phase["echoes_per_second"]
    p50 = case["rtt_ns"] and case["rtt_ns"]["p50"]
    return Result(rate, lost, p50_us=p50 and p50 / 1000,
                  why=None if rate else f"{phase['lost_echoes']} echoes lost")


def sockperf(mode, plan, size):
    """under-load: as fast as it can, every message answered; ping-pong: one at a time."""
    flags = ["--mps=max", "--reply-every=1"] if mode == "under-load" else []
    with Server("udp", ["sockperf", "server", "-i", HOST, "-p", "{port}"]) as server:
        output = run(["sockperf", mode, "-i", HOST, "-p", str(server.port), "-t",
                      str(max(1, round(plan.seconds))), "-m", str(size)] + flags, plan.seconds)
    valid = re.search(r"\[Valid Duration\] RunTime=([\d.]+) sec; SentMessages=(\d+); "
                      r"ReceivedMessages=(\d+)", output)
    if not valid:
        return failed((output.strip().splitlines() or ["no result"])[-1])
    seconds, sent, received = float(valid[1]), int(valid[2]), int(valid[3])
    return Result(received / seconds, (sent - received) / max(1, sent))


def iperf3(plan, size):
    """One way only: datagrams that arrived per second."""
    with Server("tcp", ["iperf3", "-s", "-B", HOST, "-p", "{port}"]) as server:
        output = run(["iperf3", "-u", "-c", HOST, "-p", str(server.port), "-b", "0", "-l",
                      str(size), "-t", str(max(1, round(plan.seconds))), "-J"], plan.seconds)
    words = json.loads(output)
    if "error" in words:
        return failed(words["error"])
    total = words["end"]["sum"]
    return Result((total["packets"] - total["lost_packets"]) / total["seconds"],
                  total["lost_packets"] / max(1, total["packets"]))


def irtt(plan, size):
    """Asked for far more than it can send, so that it sends what it can."""
    with Server("udp", ["irtt", "server", "-b", HOST + ":{port}", "-i", "0", "-d", "0", "-l",
                        str(size)]) as server:
        output = run(["irtt", "client", "-d", f"{plan.seconds}s", "-i", "10us", "-l", str(size),
                      "--wait=250ms", "-Q", "-o", "-", f"{HOST}:{server.port}"], plan.seconds)
    stats = json.loads(output)["stats"]
    return Result(stats["packets_received"] / plan.seconds,
                  1 - stats["packets_received"] / max(1, stats["packets_sent"]))


def all_peers(sonde_path, control_path):
    """(name, what its rate counts, why it cannot run or None, function of plan and size)."""
    return [
        ("control", "echoes", None, lambda plan, size: control(control_path, plan, size)),
        ("sonde batch", "echoes", None, lambda plan, size: sonde(sonde_path, "batch", plan, size)),
        ("sonde single", "echoes", None,
         lambda plan, size: sonde(sonde_path, "single", plan, size)),
        ("sockperf under-load", "echoes", lacking("sockperf"),
         lambda plan, size: sockperf("under-load", plan, size)),
        ("sockperf ping-pong", "echoes", lacking("sockperf"),
         lambda plan, size: sockperf("ping-pong", plan, size)),
        ("irtt", "echoes", lacking("irtt"), irtt),
        ("iperf3", "one way", lacking("iperf3"), iperf3),
    ]


def compile_control(source, program):
    os.makedirs(os.path.dirname(program), exist_ok=True)
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2", "-pthread",
                    source, "-o", program], check=True)
