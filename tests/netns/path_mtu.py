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
