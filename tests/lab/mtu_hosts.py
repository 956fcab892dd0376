"""What lab tests of `sonde mtu` and `sonde sizes` have in common: the network of two routers with
one fleet for all tests of a file, and how their archives are read."""

import json
import os
import subprocess

from fleet import PORT
from hosts import Hosts
from mtu_network import HEADERS, WIDE, TwoRouters

SLOW = os.environ.get("SONDE_SLOW") == "1"
FAMILIES = ("ipv4", "ipv6")
WAYS = ("forward", "reverse")
QUICK = ("--no-fragments", "--no-trace")


class Run(dict):
    """A run.json of kind "mtu"."""

    def flows(self, family, direction):
        return [case for case in self["cases"]
                if (case["family"], case["direction"]) == (family, direction)]

    def one(self, family, direction):
        (case,) = self.flows(family, direction)
        return case

    def session(self, family):
        return next(one for one in self["sessions"] if one["family"] == family)

    def told(self):
        """(family, direction, path MTU, verdict) of all cases, for a message."""
        return [(case["family"], case["direction"], case["path_mtu"], case["verdict"])
                for case in self["cases"]]


class MtuHosts(Hosts):
    @classmethod
    def make_network(cls):
        return TwoRouters()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network.bring_up()

    def setUp(self):
        self.addCleanup(self.restore)

    def restore(self):
        """The path as it was: 9216 at the hosts, 1500 between the routers, ICMP and all passes."""
        self.network.pass_icmp()
        self.network.forget_rules()
        self.network.no_spread()
        self.network.flush()
        self.network.edges(WIDE)
        self.network.narrow("near", 1500)
        self.network.route("near", "near")

    # --- commands ------------------------------------------------------------------------------

    def command(self, what, *flags, source="a", target="b"):
        """The words of a command that measures, as it is called in the network."""
        return self.network.inside(
            "r", self.fleet.programs.sonde, what, "--from", source, "--to", target, "--controller",
            f"127.0.0.1:{PORT}", "--identity", self.fleet.operator, "--output",
            self.fleet.path("runs"), *flags)

    def start(self, what, *flags, **more):
        """The command as a process that goes on."""
        process = subprocess.Popen(self.command(what, *flags, **more), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.network.processes.append(process)
        return process

    def finish(self, process, code=0, timeout=60):
        """Of a command with --json: the run, which has passed the validator; what it said."""
        out, err = process.communicate(timeout=timeout)
        self.assertEqual(code, process.returncode, f"{err}\n{out[:2000]}")
        return self.checked(out), err

    def checked(self, text):
        """A run.json, whose archive is whole and adds up."""
        self.assertNotEqual("", text)
        run = Run(json.loads(text))
        self.assertEqual("mtu", run["kind"])
        folders = [name for name in os.listdir(self.fleet.path("runs"))
                   if name.endswith(f"-mtu-{run['id'].replace('-', '')[-8:]}") or
                   run["id"][-8:] in name]
        self.assertEqual(1, len(folders), folders)
        folder = self.fleet.path("runs", folders[0])
        subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
        done = subprocess.run([self.fleet.programs.sonde, "report", folder], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.report = done.stdout
        return run

    def mtu(self, *flags, what="mtu", code=0, timeout=120):
        """Measures; the run."""
        return self.finish(self.start(what, *flags, "--json"), code, timeout)[0]

    # --- what must hold ------------------------------------------------------------------------

    def assert_clear(self, run):
        """Nothing odd beside the answers."""
        self.assertFalse(run["interrupted"])
        for session in run["sessions"]:
            self.assertEqual("", session["error"] or "")
            for way in WAYS:
                answered = session[f"answered_{way}"]
                if answered is not None:
                    self.assertEqual((0, 0), (answered["in_fragments"], answered["damaged"]))

    def assert_exact(self, run, sizes, verdict=None):
        """Each case has found exactly this size (or that of its direction), and both ends of the
        answer are proven; its verdict is that, if one is named."""
        self.assert_clear(run)
        self.assertNotEqual([], run["cases"])
        for case in run["cases"]:
            size = sizes[case["direction"]] if isinstance(sizes, dict) else sizes
            version = 4 if case["family"] == "ipv4" else 6
            self.assertEqual(("found", size, size - HEADERS[version], True),
                             (case["outcome"], case["path_mtu"], case["udp_payload"],
                              case["confirmed"]), case)
            self.assertEqual(0, case["odd_answers"], case)
            if case["limit"] == "path":
                self.assertEqual(size + 1, case["next_size"], case)
            if verdict is not None:
                self.assertEqual(verdict, case["verdict"], case)

    def assert_parts(self, run, families=FAMILIES, ways=WAYS, flows=1):
        self.assertEqual(sorted((family, way) for family in families for way in ways
                                for _ in range(flows)),
                         sorted((case["family"], case["direction"]) for case in run["cases"]))


def say(what):
    print(f"    {what}", flush=True)
