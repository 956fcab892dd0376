"""Two ends of a path MTU session in a network of three hosts (tests/lab/network.py)."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab"))

import network  # noqa: E402

TOOL = os.path.join(os.environ.get("SONDE_TOOLS", ""), "mtu_tool")


class End:
    """An mtu_tool on a host."""

    def __init__(self, net, host, *words):
        self.process = net.popen(host, TOOL, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        return line.strip()

    def say(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class Pair:
    """A caller on A and a listener on B, agreed."""

    def __init__(self, net, version, flows=1, target=None):
        anybody = "0.0.0.0:0" if version == 4 else "[::]:0"
        self.version, self.flows = version, flows
        self.listener = End(net, "b", "listen", anybody, "a key", flows)
        self.port = int(self.listener.hear())
        target = target or network.ADDRESS["b", version]
        target = f"[{target}]" if ":" in target else target
        self.caller = End(net, "a", "call", f"{target}:{self.port}", "a key", flows)
        assert self.caller.hear() == "agreed"
        self.events = []

    def close(self):
        self.caller.close()
        self.listener.close()

    def ends(self, direction):
        """The end that probes, and the end that answers."""
        both = (self.caller, self.listener)
        return both if direction == "forward" else both[::-1]

    def begin(self, direction="forward", **plan):
        prober, answerer = self.ends(direction)
        answerer.say("answer")
        assert answerer.hear() == "ready"
        prober.say(" ".join(["probe", *(f"{name}={value}" for name, value in plan.items())]))
        self.events = []

    def result(self, direction="forward"):
        """Of the end that probes; events that come before it are kept."""
        while True:
            line = json.loads(self.ends(direction)[0].hear())
            if "event" not in line:
                return line
            self.events.append(line)

    def end(self, direction="forward"):
        """The result, with what the answering end says."""
        found = self.result(direction)
        answerer = self.ends(direction)[1]
        answerer.say()
        return {**found, "answered": json.loads(answerer.hear())}

    def probe(self, direction="forward", **plan):
        self.begin(direction, **plan)
        return self.end(direction)


class Path(network.Network):
    """The network, with what makes a path narrow, silent and lossy."""

    RULES = {
        "router": ("r", "output"),
        "host a": ("a", "input"),
        "host b": ("b", "input"),
    }
    TOO_BIG = {4: "icmp type destination-unreachable icmp code frag-needed drop",
               6: "icmpv6 type packet-too-big drop"}

    def filter_icmp(self, where, versions=(4, 6)):
        host, hook = self.RULES[where]
        rules = "\n".join(self.TOO_BIG[version] for version in versions)
        self.nft(host, f"""
            table inet path_icmp {{
                chain filter_icmp {{
                    type filter hook {hook} priority 0;
                    {rules}
                }}
            }}""")

    def pass_icmp(self):
        for host in ("a", "r", "b"):
            self.run(host, "nft", "delete", "table", "inet", "path_icmp", check=False)

    def forward(self, *rules):
        """Rules of the router for what it forwards; before routing where they change packets."""
        body = "\n".join(rules)
        self.nft("r", f"""
            table inet path_rules {{
                chain rules {{
                    type filter hook forward priority 0;
                    {body}
                }}
            }}""")

    def forget_rules(self):
        self.run("r", "nft", "delete", "table", "inet", "path_rules", check=False)

    def lose_some(self, percent):
        """Every UDP packet, in both directions, with this chance."""
        self.forward(f"meta l4proto udp numgen random mod 100 < {percent} drop")

    def lock(self, side, size):
        """The router believes that the way to this side is narrow; None: it does not."""
        how = ["mtu", "lock", str(size)] if size else []
        v4 = network.ADDRESS[side, 4].rsplit(".", 1)[0] + ".0/24"
        v6 = network.ADDRESS[side, 6].split("::")[0] + "::/64"
        self.ip("r", "route", "replace", v4, "dev", f"r{side}", "src", network.ROUTER[side, 4],
                *how)
        self.ip("r", "-6", "route", "replace", v6, "dev", f"r{side}", "metric", "256", *how)
