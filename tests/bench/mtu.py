#!/usr/bin/env python3
"""How long the real path MTU takes to find: a path of 1,400 with a round trip of 1 ms behind links
of 9,000, with ICMP and in a black hole; one flow, one direction, one family, confirmation included.
tracepath is asked on the same path in the same run.

Real daemons in network namespaces of their own (needs root). The search's own seconds and the whole
command's stand side by side; the second has its start, its TLS handshake and its archive in it."""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lab"))

import network  # noqa: E402
from bench import machine, text, write_json  # noqa: E402
from fleet import PORT, Fleet  # noqa: E402
from mtu_network import TwoRouters  # noqa: E402

LOCAL, REAL, ONE_WAY_US = 9000, 1400, 500
PROMISES = {"with ICMP": 0.3, "black hole": 1.5}  # seconds of a search, at the median
FAMILIES = {"ipv4": 4, "ipv6": 6}


def arguments():
    parser = argparse.ArgumentParser(prog="./run bench mtu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sonde", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=21, help="times that each is measured (21)")
    parser.add_argument("--quick", action="store_true",
                        help="three rounds, and tracepath gives up after three hops")
    parser.add_argument("--json", metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--check", action="store_true",
                        help="exit 3 when a search finds another size, or its median takes longer "
                             "than 0.3 s with ICMP, 1.5 s in a black hole")
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds = min(asked.rounds, 3)
    if asked.rounds < 1:
        parser.error("rounds >= 1")
    return asked


# --- who is asked --------------------------------------------------------------------------------


def sonde(net, fleet, family, *flags):
    """One run of the command: its case, and the command's own seconds."""
    words = net.inside("r", fleet.programs.sonde, "mtu", "--from", "a", "--to", "b", "--family",
                       family, "--json", "--output", fleet.path("runs"), "--controller",
                       f"127.0.0.1:{PORT}", "--identity", fleet.operator, *flags)
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    wall = time.monotonic() - began
    if done.returncode != 0:
        raise RuntimeError(f"sonde mtu: {done.stderr}")
    return json.loads(done.stdout)["cases"][0], wall


def search(net, fleet, family):
    case, wall = sonde(net, fleet, family, "--direction", "forward", "--no-fragments", "--no-trace")
    return {"path_mtu": case["path_mtu"] if case["confirmed"] else None, "seconds": case["seconds"],
            "datagrams": case["probes"], "rtt_ms": (case["rtt_ns"] or 0) / 1e6,
            "verdict": case["verdict"], "command_s": wall}


def tracepath(net, family, hops):
    """Its answer, if it got to the other end, and its seconds."""
    net.flush()  # else it would ask this host's kernel
    words = net.inside("a", "tracepath", "-n", "-m", hops,
                       network.ADDRESS["b", FAMILIES[family]])
    began = time.monotonic()
    said = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False).stdout
    seconds = time.monotonic() - began
    found = re.search(r"Resume: pmtu (\d+)", said)
    reached = "reached" in said
    return {"path_mtu": int(found.group(1)) if found and reached else None, "seconds": seconds,
            "says": int(found.group(1)) if found else None, "reached": reached}


# --- a run ---------------------------------------------------------------------------------------


def measure(asked, net, fleet):
    """{(what, family): {"sonde": [each round], "tracepath": [...]}}"""
    results, there = {}, shutil.which("tracepath") is not None
    for what in PROMISES:
        if what == "black hole":
            net.filter_icmp("router")
        for family in FAMILIES:
            results[what, family] = {"sonde": [], "tracepath": []}
        for turn in range(asked.rounds):
            for family in FAMILIES:
                one = results[what, family]
                progress(f"{what}, {family}, round {turn + 1} of {asked.rounds}")
                one["sonde"].append(search(net, fleet, family))
                # it takes 3 s for each hop that does not answer: once is enough there
                if there and (what != "black hole" or turn == 0):
                    one["tracepath"].append(tracepath(net, family, 3 if asked.quick else 30))
    progress("")
    return results


def progress(words):
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


def summarize(rounds):
    seconds = sorted(one["seconds"] for one in rounds)
    return {"found": sorted({one["path_mtu"] or 0 for one in rounds}),
            "median_s": statistics.median(seconds), "slowest_s": seconds[-1],
            **{name: statistics.median(one[name] for one in rounds)
               for name in ("datagrams", "rtt_ms", "command_s") if name in rounds[0]}}


def found_words(rounds):
    answers = sorted({one["path_mtu"] or 0 for one in rounds})
    words = ", ".join(str(answer) if answer else "no answer" for answer in answers)
    says = {one["says"] for one in rounds if "says" in one and not one["path_mtu"]}
    return words + (f" (it stays at {', '.join(map(str, sorted(says)))})" if says else "")


def show(results):
    print(f"  {'':28} {'found':>36} {'median':>9} {'slowest':>9} {'datagrams':>10} "
          f"{'command':>9}")
    for (what, family), programs in results.items():
        for name, rounds in programs.items():
            if not rounds:
                print(f"  {what + ', ' + family + ', ' + name:28} {'not here':>36}")
                continue
            line = summarize(rounds)
            print(f"  {what + ', ' + family + ', ' + name:28} {found_words(rounds):>36} "
                  f"{line['median_s']:8.3f}s {line['slowest_s']:8.3f}s "
                  f"{text(line.get('datagrams'), '.0f'):>10} "
                  f"{text(line.get('command_s'), '.3f') + 's' if 'command_s' in line else '-':>9}")


def judge(results):
    for (what, family), programs in results.items():
        line = summarize(programs["sonde"])
        yield f"{what}, {family}: {REAL}, each time", line["found"] == [REAL]
        yield (f"{what}, {family}: at most {PROMISES[what]:g} s at the median",
               line["median_s"] <= PROMISES[what])


def whole_commands(net, fleet, rounds):
    """Seconds of the command as people type it: both families, both directions, fragments, hops."""
    return statistics.median(sonde(net, fleet, "both")[1] for _ in range(rounds))


def main():
    asked = arguments()
    reason = network.why_impossible()
    if reason:
        print(f"mtu: {reason}", file=sys.stderr)
        return 1
    here, date, load = machine(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), \
        os.getloadavg()[0]
    with TwoRouters() as net:
        net.edges(LOCAL)
        net.delay(ONE_WAY_US)
        net.narrow("near", REAL)
        for router in net.routers:  # what one program was told must not make the next one wait
            net.run(router, "sysctl", "-qw", "net.ipv4.icmp_ratelimit=0",
                    "net.ipv6.icmp.ratelimit=0")
        with Fleet(net, asked.sonde) as fleet:
            net.bring_up()
            results = measure(asked, net, fleet)
            whole = whole_commands(net, fleet, min(asked.rounds, 5))
    rtt = statistics.median(one["rtt_ms"] for programs in results.values()
                            for one in programs["sonde"])
    print(f"{here['cpu']}, {here['cpus']} CPUs, {here['system']} {here['kernel']}; {date}; load "
          f"average before {load:.1f}; {asked.rounds} round(s), medians; {LOCAL} local, {REAL} "
          f"real, round trip {rtt:.2f} ms")
    show(results)
    print(f"  the whole command in the black hole, both families and directions, fragments and "
          f"hops: {whole:.2f} s\n")
    verdicts = list(judge(results))
    for words, holds in verdicts:
        print(f"{'holds' if holds else 'FAILS'}: {words}")
    if asked.json:
        write_json(asked.json, {
            "schema": "sonde.bench_mtu/1", "machine": here, "date": date, "load": load,
            "local": LOCAL, "real": REAL, "rtt_ms": rtt, "whole_command_s": whole,
            "paths": [{"path": what, "family": family, "programs": programs}
                      for (what, family), programs in results.items()],
            "holds": [{"what": words, "holds": holds} for words, holds in verdicts]})
    return 3 if asked.check and not all(holds for _, holds in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
