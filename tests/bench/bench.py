#!/usr/bin/env python3
"""Round trips per second on loopback: sonde beside a bare loop and other tools, in one go.

The programs take turns within each round, so that what else the machine does meets all of them.
A ratio is the median over the rounds of this program's rate divided by the control's of that
round."""

import argparse
import json
import os
import platform
import statistics
import sys
import time

import peers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SIZES = [64, 1472, 8192, 65507]


class Plan:
    def __init__(self, asked):
        self.seconds, self.rcvbuf, self.rounds = asked.seconds, asked.rcvbuf, asked.rounds

    @staticmethod
    def window(size):
        return 16 if size > 32768 else 64


def arguments():
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sonde", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, help="times that each is measured (5)")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement (1)")
    parser.add_argument("--payload", type=lambda text: [int(one) for one in text.split(",")],
                        default=SIZES, metavar="BYTES,...", help="UDP payloads (%s)" %
                        ",".join(map(str, SIZES)))
    parser.add_argument("--rcvbuf", type=int, default=4194304, metavar="BYTES",
                        help="receive buffer that control and sonde ask for (4194304)")
    parser.add_argument("--ping-pong", action="store_true",
                        help="also sockperf with one message at a time (a minute more)")
    parser.add_argument("--json", metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--check", action="store_true",
                        help="exit 3 when sonde's batch engine loses echoes, is below 0.8 of the "
                             "control, or at 64 bytes below 3 times sockperf")
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds = 1
    if asked.rounds < 1 or asked.seconds <= 0 or not all(44 <= one <= 65507
                                                          for one in asked.payload):
        parser.error("rounds >= 1, seconds > 0, payloads from 44 to 65507")
    return asked


def machine():
    cpu = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("model name", "CPU implementer")):
                cpu = line.split(":", 1)[1].strip()
                break
    with open("/proc/sys/net/core/rmem_max", encoding="ascii") as file:
        rmem_max = int(file.read())
    return {"cpu": cpu, "cpus": os.cpu_count(), "system": platform.system(),
            "kernel": platform.release(), "rmem_max": rmem_max}


def measure(plan, sizes, contestants):
    """{size: {name: [Result of each round]}}"""
    results = {size: {name: [] for name, *_ in contestants} for size in sizes}
    total, done = plan.rounds * len(sizes) * len(contestants), 0
    for turn in range(plan.rounds):
        for size in sizes:
            for name, _, lacking, function in contestants:
                done += 1
                print(f"\r\033[K{done}/{total} round {turn + 1}, {size} B, {name}" if
                      sys.stderr.isatty() else "", end="", file=sys.stderr, flush=True)
                try:
                    result = peers.failed(lacking) if lacking else function(plan, size)
                except (OSError, ValueError, KeyError) as error:
                    result = peers.failed(f"{type(error).__name__}: {error}")
                results[size][name].append(result)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return results


def median(values):
    return statistics.median(values) if values else None


def summarize(rounds, control):
    """The medians of one program at one size."""
    ratios = [one.rate / base.rate for one, base in zip(rounds, control) if one.rate and base.rate]
    rates = [one.rate for one in rounds if one.rate]
    whys = [one.why for one in rounds if one.why]
    return {"rate": median(rates), "lowest": min(rates, default=None),
            "highest": max(rates, default=None), "ratio": median(ratios),
            "lost": median([one.lost for one in rounds if one.lost is not None]),
            "most_lost": max((one.lost for one in rounds if one.lost is not None), default=None),
            "p50_us": median([one.p50_us for one in rounds if one.p50_us]),
            "measured": len(rates), "why": whys[0] if whys else None}


def text(value, form):
    return "-" if value is None else format(value, form)


def print_table(size, window, lines):
    print(f"\n{size} B, window {window}")
    print(f"  {'':20} {'per second':>12} {'lowest':>10} {'highest':>10} {'to control':>11} "
          f"{'lost':>8} {'RTT p50':>9}  counts")
    for name, counts, line in lines:
        p50 = text(line["p50_us"], ",.1f") + (" us" if line["p50_us"] else "")
        print(f"  {name:20} {text(line['rate'], ',.0f'):>12} {text(line['lowest'], ',.0f'):>10} "
              f"{text(line['highest'], ',.0f'):>10} {text(line['ratio'], '.2f'):>11} "
              f"{text(line['lost'], '.2%'):>8} {p50:>9}  {counts}"
              + (f"  ({line['why']})" if line["why"] else ""))


def judge(summary):
    """What ./run bench --check demands, as (words, holds)."""
    for size, lines in summary.items():
        batch = lines["sonde batch"]
        yield (f"{size} B: sonde batch loses nothing", batch["most_lost"] == 0)
        yield (f"{size} B: sonde batch is at least 0.8 of the control",
               (batch["ratio"] or 0) >= 0.8)
        other = lines["sockperf under-load"]["rate"]
        if size == 64 and other:
            yield (f"{size} B: sonde batch is at least 3 times sockperf under load",
                   (batch["rate"] or 0) >= 3 * other)


def main():
    asked = arguments()
    if not sys.platform.startswith("linux"):
        print("bench: the control needs recvmmsg, which only Linux has", file=sys.stderr)
        return 1
    plan = Plan(asked)
    program = os.path.join(ROOT, "build", "bench", "control")
    peers.compile_control(os.path.join(HERE, "control.c"), program)
    contestants = [one for one in peers.all_peers(os.path.abspath(asked.sonde), program)
                   if asked.ping_pong or "ping-pong" not in one[0]]
    here, date = machine(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    print(f"{here['cpu']}, {here['cpus']} CPUs, {here['system']} {here['kernel']}; {date}; "
          f"{plan.rounds} round(s) of {plan.seconds:g} s, medians; receive buffer asked "
          f"{plan.rcvbuf} (rmem_max {here['rmem_max']}) for control and sonde")
    results = measure(plan, asked.payload, contestants)
    summary = {size: {name: summarize(rounds, of["control"]) for name, rounds in of.items()}
               for size, of in results.items()}
    for size, lines in summary.items():
        print_table(size, plan.window(size),
                    [(name, counts, lines[name]) for name, counts, *_ in contestants])
    print()
    verdicts = list(judge(summary))
    for words, holds in verdicts:
        print(f"{'holds' if holds else 'FAILS'}: {words}")
    if asked.json:
        write_json(asked.json, {
            "schema": "sonde.bench/1", "machine": here, "date": date, "rounds": plan.rounds,
            "seconds": plan.seconds, "rcvbuf": plan.rcvbuf,
            "sizes": [{"payload": size, "window": plan.window(size), "programs": [
                {"name": name, "counts": counts, **summary[size][name],
                 "rounds": [vars(one) for one in results[size][name]]}
                for name, counts, *_ in contestants]} for size in summary],
            "holds": [{"what": words, "holds": holds} for words, holds in verdicts]})
    return 3 if asked.check and not all(holds for _, holds in verdicts) else 0


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
