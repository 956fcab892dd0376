"""Networks for the path MTU: what makes a path narrow, silent, lossy and two-faced.

    OneRouter   a --- r --- b                      as network.py has it
    TwoRouters  a --- r === s --- b                both of its hosts are behind wide links

Between r and s are three links: "near" (all UDP, unless told otherwise), "far" (another next hop)
and one that only TCP takes, so that a fleet's control channel is not what a test breaks.
"""

import json
import os
import sys

import network
from network import ADDRESS, ROUTER

HERE = os.path.dirname(os.path.abspath(__file__))
WIDE, WIDEST = 9216, 65535  # of a host's own link; no veth is wider than that
HEADERS = {4: 28, 6: 48}
TOO_BIG = {4: "icmp type destination-unreachable icmp code frag-needed drop",
           6: "icmpv6 type packet-too-big drop"}
# Nobody listens there, and its host says so.
REACH = """
import socket, sys
address = sys.argv[1]
probe = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
probe.settimeout(0.5)
probe.connect((address, 9))
probe.send(b"")
try:
    probe.recv(1)
except ConnectionRefusedError:
    sys.exit(0)
sys.exit(1)
"""


class Path:
    """What both networks can do to their UDP datagrams and to ICMP."""

    routers = ("r",)

    def filter_icmp(self, where, versions=(4, 6)):
        """No "too big" leaves the routers ("router"), or comes into a host ("host a")."""
        places = ([(router, "output") for router in self.routers] if where == "router"
                  else [(where.split()[1], "input")])
        rules = "\n".join(TOO_BIG[version] for version in versions)
        for host, hook in places:
            self.nft(host, f"""
                table inet path_icmp {{
                    chain filter_icmp {{
                        type filter hook {hook} priority 0;
                        {rules}
                    }}
                }}""")

    def pass_icmp(self):
        for host in self.hosts:
            self.forget(host, "path_icmp")

    def forget(self, host, table):
        """Removes a table of `nft`, if it is there; its family is inet."""
        self.run(host, "nft", "delete", "table", "inet", table, check=False)

    def forward(self, *rules, sets=""):
        """Rules of the router r for what it forwards."""
        body = "\n".join(rules)
        self.nft("r", f"""
            table inet path_rules {{
                {sets}
                chain rules {{
                    type filter hook forward priority 0;
                    {body}
                }}
            }}""")

    def forget_rules(self):
        self.forget("r", "path_rules")

    def lose_some(self, percent, above=0):
        """Every UDP packet that is longer than that, in both directions, with this chance."""
        self.forward(f"meta l4proto udp meta length > {above} numgen random mod 10000 < "
                     f"{round(percent * 100)} drop")

    def lose_first(self, count, sizes_from=1200):
        """The first `count` packets of every flow, direction and size are lost, from a size on."""
        self.forward(
            "meta l4proto udp meta length >= %d update @seen { udp sport . udp dport . meta length "
            "limit rate 1/day burst %d packets } drop" % (sizes_from, count),
            sets="""set seen {
                typeof udp sport . udp dport . meta length
                flags dynamic
                size 65535
            }""")

    def drop_fragments(self, host):
        self.nft(host, """
            table inet path_fragments {
                chain drop_fragments {
                    type filter hook prerouting priority -450;
                    ip frag-off & 0x1fff != 0 drop
                    exthdr frag exists drop
                }
            }""")

    def clear_df(self, host, interface):
        """What comes in there over IPv4 may be cut, whatever its sender said."""
        self.nft(host, f"""
            table inet path_df {{
                chain clear_df {{
                    type filter hook prerouting priority -300;
                    iifname "{interface}" ip protocol udp ip frag-off set 0
                }}
            }}""")

    def forge(self, mode):
        """Starts forge_icmp.py beside host A; the process. A's cache believes some of it: flush."""
        forger = network.spawn(self.inside("r", sys.executable, os.path.join(HERE, "forge_icmp.py"),
                                           "ra", mode))
        self.processes.append(forger)
        return forger

    def flush(self):
        """What the hosts' kernels have learned of paths."""
        for host in network.SIDES:
            for version in ("-4", "-6"):
                self.ip(host, version, "route", "flush", "cache")


class OneRouter(Path, network.Network):
    def lock(self, side, size):
        """The router believes that the way to this side is narrow; None: it does not."""
        how = ["mtu", "lock", str(size)] if size else []
        v4 = ADDRESS[side, 4].rsplit(".", 1)[0] + ".0/24"
        v6 = ADDRESS[side, 6].split("::")[0] + "::/64"
        self.ip("r", "route", "replace", v4, "dev", f"r{side}", "src", ROUTER[side, 4], *how)
        self.ip("r", "-6", "route", "replace", v6, "dev", f"r{side}", "metric", "256", *how)


class TwoRouters(Path, network.Network):
    hosts = ("a", "r", "s", "b")
    routers = ("r", "s")
    controller = {"a": ROUTER["a", 4], "b": ROUTER["a", 4]}
    AT = {"a": "r", "b": "s"}  # a host's router
    LINKS = {"near": "10.9.3", "far": "10.9.4", "tcp": "10.9.5"}
    FAR = 100  # the routing table of the link "far"; of "tcp": 101

    def _connect(self):
        self.middle, self.ways = {}, None
        for router in self.routers:
            self.forwards(router)
        for side, router in self.AT.items():
            self.attach(side, router)
            self.edge(side, WIDE)
        for name in self.LINKS:
            self.link("r", name, "s", name)
            self.narrow(name, 1500 if name != "tcp" else WIDEST)
        for side, router in self.AT.items():
            self.ip(router, "rule", "add", "ipproto", "tcp", "table", "101")
            for version in ("-4", "-6"):
                self.ip(router, version, "rule", "add", "fwmark", "1", "table", str(self.FAR))
        self.route("near", "near")

    # --- links and routes ------------------------------------------------------------------------

    def edge(self, side, size):
        """Both ends of the link of a host."""
        self.ip(side, "link", "set", f"{side}0", "mtu", str(size))
        self.ip(self.AT[side], "link", "set", f"r{side}", "mtu", str(size))

    def edges(self, size):
        for side in network.SIDES:
            self.edge(side, size)

    def narrow(self, name, size):
        """Both ends of a link between the routers. Below 1280 it has no IPv6."""
        had = self.middle.get(name, 0)
        self.middle[name] = size
        for router in self.routers:
            self.ip(router, "link", "set", name, "mtu", str(size))
        if had < 1280 <= size or had == 0:
            self.mend_link(name)

    def cut_link(self, name):
        """Takes it down; `mend_link` brings it back, with its IPv6."""
        self.ip("r", "link", "set", name, "down")

    def mend_link(self, name):
        for router, last in (("r", 1), ("s", 2)):
            self._address_again(router, name, last)
        self._routes(name)

    def _address_again(self, router, name, last):
        base = self.LINKS[name]
        self.ip(router, "address", "replace", f"{base}.{last}/24", "dev", name)
        if self.middle[name] >= 1280:
            self.ip(router, "address", "replace", f"{self._six(name)}::{last}/64", "dev", name,
                    "nodad")
        self.ip(router, "link", "set", name, "up")

    def _six(self, name):
        return "fd00:9:" + self.LINKS[name].rsplit(".", 1)[1]

    def _routes(self, name):
        """The tables of "far" and "tcp", and what `route` has chosen again."""
        if name == "near":
            if self.ways is not None:
                self.route(*self.ways)
            return
        for side in network.SIDES:
            self._via(side, name, table=str(self.FAR if name == "far" else 101))

    def _via(self, side, name, table="main"):
        """The way to a side leads over this link."""
        router, last = ("r", 2) if side == "b" else ("s", 1)
        v4 = ADDRESS[side, 4].rsplit(".", 1)[0] + ".0/24"
        v6 = ADDRESS[side, 6].split("::")[0] + "::/64"
        self.ip(router, "route", "replace", v4, "via", f"{self.LINKS[name]}.{last}", "table", table)
        if self.middle[name] >= 1280:
            self.ip(router, "-6", "route", "replace", v6, "via", f"{self._six(name)}::{last}",
                    "table", table)

    def route(self, forward, reverse):
        """By which link datagrams go from A to B, and from B to A."""
        self.ways = (forward, reverse)
        self._via("b", forward)
        self._via("a", reverse)

    def bring_up(self, seconds=10):
        """Waits until the hosts reach each other in both families; links that have just come up
        may take their time with IPv6."""
        def reach():
            """a reaches b"""
            return all(self.run("a", sys.executable, "-c", REACH, ADDRESS["b", version],
                                check=False).returncode == 0 for version in (4, 6))
        network.wait_for(reach, seconds)

    # --- two next hops ---------------------------------------------------------------------------

    def spread(self, every):
        """Every N-th new flow from A goes over the link "far", and its answers too."""
        self.nft("r", f"""
            table inet path_spread {{
                set narrow {{
                    type inet_service
                    flags dynamic
                    size 4096
                }}
                chain spread {{
                    type filter hook prerouting priority -140;
                    iifname "ra" meta l4proto udp ct state new ct mark set numgen inc mod {every}
                    iifname "ra" meta l4proto udp meta mark set ct mark
                    iifname "ra" meta l4proto udp ct mark 1 add @narrow {{ udp sport }}
                }}
            }}""")
        self.nft("s", """
            table inet path_spread {
                chain spread {
                    type filter hook prerouting priority -140;
                    iifname "far" meta l4proto udp ct mark set 1
                    iifname "rb" meta l4proto udp meta mark set ct mark
                }
            }""")

    def spread_ports(self):
        """Source ports of A that went over the link "far" so far."""
        text = self.run("r", "nft", "-j", "list", "set", "inet", "path_spread", "narrow").stdout
        found = next(part["set"] for part in json.loads(text)["nftables"] if "set" in part)
        return {entry if isinstance(entry, int) else entry["elem"]["val"]
                for entry in found.get("elem", [])}

    def no_spread(self):
        for router in self.routers:
            self.forget(router, "path_spread")

    # --- time ------------------------------------------------------------------------------------

    def delay(self, microseconds):
        """From now on the link "near" takes that long for each packet, on both ways (delay.py)."""
        self.ip("r", "link", "delete", "near")
        self.processes.append(network.spawn(
            [sys.executable, os.path.join(HERE, "delay.py"), self.name("r"), self.name("s"), "near",
             str(microseconds)]))
        self.narrow("near", self.middle.pop("near"))
