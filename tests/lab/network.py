"""A network of three hosts as namespaces: A, the router R, and B.

    a --- 10.9.1.0/24, fd00:9:1::/64 --- r --- 10.9.2.0/24, fd00:9:2::/64 --- b

Everything is named with a prefix of its own and removed by name. Needs root. What a test changes
(MTU, filters, queues, a relay) it changes through this class.
"""

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
ADDRESS = {("a", 4): "10.9.1.1", ("b", 4): "10.9.2.2",
           ("a", 6): "fd00:9:1::1", ("b", 6): "fd00:9:2::2"}
ROUTER = {("a", 4): "10.9.1.254", ("b", 4): "10.9.2.254",
          ("a", 6): "fd00:9:1::fe", ("b", 6): "fd00:9:2::fe"}
SIDES = ("a", "b")
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000


def sh(*words, check=True, **more):
    """Runs a command; its output is in the error when it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60,
                          **more)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done


def why_impossible():
    """What keeps this machine from having such a network, or None."""
    if os.geteuid() != 0:
        return "it needs root"
    name = f"sonde-probe-{os.getpid()}"
    done = sh("ip", "netns", "add", name, check=False)
    if done.returncode != 0:
        return f"network namespaces cannot be made: {done.stderr.strip()}"
    sh("ip", "netns", "delete", name)
    return None


class Network:
    """The three hosts, up. Use it as a context manager."""

    hosts = ("a", "r", "b")
    controller = {"a": ROUTER["a", 4], "b": ROUTER["b", 4]}  # as a host sees it

    def __init__(self):
        self.prefix = f"sl{os.getpid() % 100000}"
        self.processes = []
        self.relay = None

    def name(self, host):
        return f"{self.prefix}-{host}"

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)
        for host in self.hosts:
            sh("ip", "netns", "delete", self.name(host), check=False)

    def _make(self):
        for host in self.hosts:
            sh("ip", "netns", "add", self.name(host))
            self.run(host, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0",
                     "net.ipv4.conf.default.rp_filter=0", "net.ipv6.conf.all.accept_dad=0",
                     "net.ipv6.conf.default.accept_dad=0")
            self.ip(host, "link", "set", "lo", "up")
        self._connect()

    def _connect(self):
        self.forwards("r")
        for side in SIDES:
            self.attach(side, "r")

    def forwards(self, host):
        self.run(host, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")

    def attach(self, side, router):
        """The link of a side to its router, its addresses and default routes."""
        self.link(side, f"{side}0", router, f"r{side}")
        self._address(side, f"{side}0", ADDRESS[side, 4], ADDRESS[side, 6])
        self._address(router, f"r{side}", ROUTER[side, 4], ROUTER[side, 6])
        self.ip(side, "route", "add", "default", "via", ROUTER[side, 4])
        self.ip(side, "-6", "route", "add", "default", "via", ROUTER[side, 6])

    def link(self, host, interface, other, its):
        sh("ip", "link", "add", interface, "netns", self.name(host), "gso_max_segs", "1", "type",
           "veth", "peer", "name", its, "netns", self.name(other), "gso_max_segs", "1")

    def _address(self, host, interface, v4, v6):
        self.ip(host, "address", "add", f"{v4}/24", "dev", interface)
        self.ip(host, "address", "add", f"{v6}/64", "dev", interface, "nodad")
        self.ip(host, "link", "set", interface, "up")

    # --- commands on a host --------------------------------------------------------------------

    def inside(self, host, *words):
        return ["ip", "netns", "exec", self.name(host), *map(str, words)]

    def run(self, host, *words, **more):
        return sh(*self.inside(host, *words), **more)

    def ip(self, host, *words):
        return sh("ip", "-n", self.name(host), *words)

    def popen(self, host, *words, **more):
        process = subprocess.Popen(self.inside(host, *words), **more)
        self.processes.append(process)
        return process

    # --- the path ------------------------------------------------------------------------------

    def mtu(self, side, size):
        """Both ends of the link of a side; an MTU below 1280 takes its IPv6 addresses away."""
        self.ip(side, "link", "set", f"{side}0", "mtu", str(size))
        self.ip("r", "link", "set", f"r{side}", "mtu", str(size))

    def nft(self, host, rules):
        """Adds rules (nft's own language) in a table of this host; they go with the host."""
        self.run(host, "nft", "-f", "-", input=rules)

    def lose(self, towards, every, above=0, offset=0):
        """The router drops every N-th UDP datagram towards a side (longer than `above` bytes of IP
        packet); returns the name of its counter."""
        name = f"lost_{towards}_{every}_{above}"
        self.nft("r", f"""
            table inet lab_{towards} {{
                counter {name} {{ }}
                chain forward {{
                    type filter hook forward priority 0;
                    oifname "r{towards}" meta l4proto udp meta length > {above} \
                        numgen inc mod {every} == {offset} counter name {name} drop
                }}
            }}""")
        return name

    def lost(self, towards, name):
        """How many a `lose` has dropped."""
        text = self.run("r", "nft", "-j", "list", "counter", "inet", f"lab_{towards}", name).stdout
        return next(part["counter"]["packets"] for part in json.loads(text)["nftables"]
                    if "counter" in part)

    def no_loss(self, towards):
        self.run("r", "nft", "delete", "table", "inet", f"lab_{towards}", check=False)

    def throttle(self, host, rate="1mbit", burst="4k", latency="10ms"):
        """A token bucket on the host's own interface, above which its own queue drops."""
        self.run(host, "tc", "qdisc", "replace", "dev", f"{host}0", "root", "tbf", "rate", rate,
                 "burst", burst, "latency", latency)

    def throttled(self, host):
        """Datagrams that it has dropped."""
        text = self.run(host, "tc", "-s", "qdisc", "show", "dev", f"{host}0").stdout
        return int(re.search(r"dropped (\d+)", text).group(1))

    def no_throttle(self, host):
        self.run(host, "tc", "qdisc", "delete", "dev", f"{host}0", "root", check=False)

    def cut(self, host, port):
        """Nothing of TCP to or from this port passes the host's filter, without a word."""
        self.nft(host, f"""
            table inet lab_cut {{
                chain input {{
                    type filter hook input priority -10;
                    tcp sport {port} drop
                    tcp dport {port} drop
                }}
                chain output {{
                    type filter hook output priority -10;
                    tcp sport {port} drop
                    tcp dport {port} drop
                }}
            }}""")

    def mend(self, host):
        self.run(host, "nft", "delete", "table", "inet", "lab_cut", check=False)

    def count_udp(self):
        """From now on `udp_from` counts in the router, before anything is dropped there."""
        self.nft("r", """
            table inet lab_count {
                counter from_a { }
                counter from_b { }
                chain prerouting {
                    type filter hook prerouting priority 10;
                    iifname "ra" meta l4proto udp counter name from_a
                    iifname "rb" meta l4proto udp counter name from_b
                }
            }""")

    def udp_from(self, side):
        """UDP packets that have come to the router from a host."""
        text = self.run("r", "nft", "list", "counter", "inet", "lab_count", f"from_{side}").stdout
        return int(re.search(r"packets (\d+)", text).group(1))

    # --- the relay -----------------------------------------------------------------------------

    def start_relay(self):
        """Leads every UDP packet between A and B through a program in the router (relay.py)."""
        relay = self.popen("r", sys.executable, os.path.join(HERE, "relay.py"),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if relay.stdout.readline().strip() != "ready":
            raise RuntimeError("the relay did not start")
        self.ip("r", "link", "set", "relay0", "up", "mtu", "65535")
        self.run("r", "sysctl", "-qw", "net.ipv4.conf.relay0.rp_filter=0")
        self.nft("r", """
            table inet lab_relay {
                chain prerouting {
                    type filter hook prerouting priority mangle;
                    iifname { "ra", "rb" } meta l4proto udp meta mark set 9
                }
            }""")
        for version in ("-4", "-6"):
            self.ip("r", version, "rule", "add", "fwmark", "9", "table", "99")
            self.ip("r", version, "route", "add", "default", "dev", "relay0", "table", "99")
        self.relay = relay

    def tell_relay(self, command, **arguments):
        """One command of relay.py; returns its answer."""
        self.relay.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
        self.relay.stdin.flush()
        return json.loads(self.relay.stdout.readline())


class Local(dict):
    """Every host sees the controller here."""

    def __missing__(self, name):
        return "127.0.0.1"


class Alone:
    """One host without a network: this process and all that it starts, with a loopback interface
    and mounts of their own. It has what a fleet asks of a Network; every host is this one."""

    controller = Local(a="127.0.0.1")

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET | CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        sh("mount", "--make-rprivate", "/")
        sh("ip", "link", "set", "lo", "up")
        self.processes, self.disks = [], []
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)
        for path in self.disks:
            sh("umount", path, check=False)

    def disk(self, path, size):
        """A small disk of its own at this path; a new size when it is there."""
        there = path in self.disks
        if not there:
            os.makedirs(path)
            self.disks.append(path)
        sh("mount", "-t", "tmpfs", "-o", f"{'remount,' if there else ''}size={size}", "sonde", path)
        return path

    def inside(self, _host, *words):
        return [str(word) for word in words]

    def run(self, host, *words, **more):
        return sh(*self.inside(host, *words), **more)

    def popen(self, host, *words, **more):
        process = subprocess.Popen(self.inside(host, *words), **more)
        self.processes.append(process)
        return process


def spawn(words):
    """Starts a program that says "ready" first."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline().strip()
    process.stdout.close()
    if line != "ready":
        end(process)
        raise RuntimeError(f"{' '.join(words)} did not start")
    return process


def end(process, patience=10):
    """Ends a process that was started here."""
    if process.poll() is not None:
        return process.returncode
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(patience)
    process.kill()
    return process.wait()


def wait_for(what, seconds=20, pause=0.05):
    """Calls `what` until it is true; its value."""
    until = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds} s: {getattr(what, '__doc__', None) or what}")
        time.sleep(pause)
