"""Real daemons in a network of network.py: certificates, a controller in the router, agents in A
and B, and an operator's commands."""

import json
import os
import shutil
import subprocess
import tempfile

from network import end, sh, wait_for

PORT = 7862


class Programs:
    """Where the built programs are."""

    def __init__(self, sonde):
        self.sonde = os.path.abspath(sonde)
        self.agent = os.path.join(os.path.dirname(self.sonde), "sonde-agent")
        self.certs = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                                  "../../certs/sonde-certs"))


class Certificates:
    """An authority in a folder of its own, and what it issues."""

    def __init__(self, programs, folder, domain="lab.test"):
        self.programs, self.folder = programs, os.path.join(folder, "ca")
        self.out = os.path.join(folder, "issued")
        self.call("init", "--domain", domain)

    def call(self, *words, **more):
        return sh(self.programs.certs, words[0], "--dir", self.folder, *words[1:], **more)

    def issue(self, role, name, *more):
        """Returns the folder with ca.pem, ROLE.pem and ROLE-key.pem of this name."""
        out = os.path.join(self.out, f"{role}-{name}")
        self.call(role, name, "--out", out, *more)
        return out


class Fleet:
    """A controller and agents, connected. Use it as a context manager."""

    def __init__(self, network, sonde, agents=("a", "b"), address=None, controller=None):
        self.network, self.programs = network, Programs(sonde)
        self.names = agents
        self.controller_config = controller or {}
        self.address = address or network.controller
        self.folder = tempfile.mkdtemp(prefix="sonde-lab-")
        self.agents, self.server, self.overrides = {}, None, {}
        self.around = {}  # name: words in front of a daemon's own, as ("env", "NAME=value")

    def __enter__(self):
        try:
            self.certificates = Certificates(self.programs, self.folder)
            self.certificates.issue("controller", "controller", "--ip",
                                    ",".join(sorted(set(self.address.values()))))
            self.operator = self.certificates.issue("operator", "tester")
            self.start_controller()
            if self.server is not None:  # a test may have a controller of its own
                wait_for(lambda: "listens on" in self.log("controller"))
            for name in self.names:
                self.start_agent(name)
            self.wait_connected()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in [*self.agents.values(), *filter(None, [self.server])]:
            end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- daemons -------------------------------------------------------------------------------

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write_config(self, name, config):
        """YAML is a superset of JSON, so a configuration can be written as JSON."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.path(name)

    def log(self, name):
        with open(self.path(f"{name}.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self, host, name, *words, **more):
        with open(self.path(f"{name}.log"), "a", encoding="utf-8") as log:
            return self.network.popen(host, *words, stderr=log, stdout=log, **more)

    def write_controller(self):
        """Its configuration; the path."""
        issued = self.path("issued", "controller-controller")
        config = {"listen": f"0.0.0.0:{PORT}",
                  "tls": {"ca": f"{issued}/ca.pem", "certificate": f"{issued}/controller.pem",
                          "key": f"{issued}/controller-key.pem"},
                  "store": {"path": self.path("sonde.sqlite")}, **self.controller_config}
        return self.write_config("controller.yaml", config)

    def start_controller(self, *before, **more):
        self.server = self.start("r", "controller", *before, *self.around.get("controller", ()),
                                 self.programs.sonde, "serve", "--config",
                                 self.write_controller(), **more)

    def agent_config(self, name):
        issued = self.path("issued", f"agent-{name}")
        if not os.path.isdir(issued):
            self.certificates.issue("agent", name)
        config = {"controller": {"address": f"{self.address[name]}:{PORT}"},
                  "tls": {"ca": f"{issued}/ca.pem", "certificate": f"{issued}/agent.pem",
                          "key": f"{issued}/agent-key.pem"},
                  "spool": {"path": self.path(f"{name}.sqlite")}}
        config.update(self.overrides.get(name, {}))
        return config

    def start_agent(self, name, host=None, **more):
        path = self.write_config(f"{name}.yaml", self.agent_config(name))
        self.agents[name] = self.start(host or name, name, *self.around.get(name, ()),
                                       self.programs.agent, "--config", path, **more)
        return self.agents[name]

    # --- an operator's commands ------------------------------------------------------------------

    def sonde(self, *words, check=True, timeout=120, **more):
        done = subprocess.run(self.network.inside("r", self.programs.sonde, *words, "--controller",
                                                  f"127.0.0.1:{PORT}", "--identity", self.operator),
                              capture_output=True, text=True, timeout=timeout, **more)
        if check and done.returncode != 0:
            raise RuntimeError(f"sonde {' '.join(map(str, words))}: {done.returncode}: "
                               f"{done.stderr}\ncontroller:\n{self.log('controller')[-2000:]}")
        return done

    def rows(self):
        done = self.sonde("agents", "--json", check=False)
        if done.returncode != 0:
            return []
        return json.loads(done.stdout)["agents"]

    def wait_connected(self, names=None, seconds=30):
        names = set(names or self.names)

        def connected():
            return names <= {row["name"] for row in self.rows() if row["connected"]}
        try:
            wait_for(connected, seconds, pause=0.2)
        except TimeoutError as error:
            logs = "".join(f"--- {name}\n{self.log(name)[-1500:]}"
                           for name in ["controller", *sorted(names)])
            raise TimeoutError(f"{names} did not connect\n{logs}") from error

    def run(self, *flags, source="a", target="b", **more):
        """Measures and returns run.json."""
        done = self.sonde("run", "--from", source, "--to", target, "--json", "--output",
                          self.path("runs"), *flags, **more)
        return json.loads(done.stdout)


def measured(run, case=0):
    """The measure phase of a case."""
    found = run["cases"][case]
    if found["status"] == "error":
        raise AssertionError(found["error"])
    return found["phases"]["measure"]


def check_account(test, run):
    """Every phase of every case adds up."""
    for case in run["cases"]:
        test.assertNotEqual("error", case["status"], case["error"])
        for phase in filter(None, case["phases"].values()):
            for leg in (phase["forward"], phase["reverse"]):
                test.assertEqual(leg["attempted"], leg["sent"] + sum(leg["refused"].values()))
                test.assertEqual(leg["sent"], leg["received"] + leg["late"] + leg["lost"])
                test.assertEqual(leg["lost"], sum(leg["lost_to"].values()))
