#!/usr/bin/env python3
"""`sonde mtu` between real daemons: exact to the byte, whoever filters ICMP, loses or lies, and why
it is what it is. Usage: test_mtu.py SONDE; needs root. With SONDE_SLOW=1 all sizes in all ways."""

import json

import network
from hosts import main
from mtu_hosts import FAMILIES, QUICK, SLOW, WAYS, MtuHosts, say
from mtu_network import WIDE, WIDEST
from network import ADDRESS, ROUTER

SIZES = [1280, 1281, 1300, 1399, 1400, 1420, 1450, 1492, 1500, 1501, 8999, 9000, 16384]
SOME = [1280, 1399, 1500, 9000]


class Exact(MtuHosts):
    def path(self, size):
        self.network.edges(WIDE if size < WIDE else WIDEST)
        self.network.narrow("near", size)

    def exact(self, what, sizes, verdict, *flags):
        for size in sizes:
            self.path(size)
            run = self.mtu(*QUICK, *flags)
            self.assert_exact(run, size, verdict)
            self.assert_parts(run)
            slowest = max(run["cases"], key=lambda case: case["seconds"])
            say(f"{size} {what}: at most {slowest['seconds']:.3f} s and "
                f"{max(case['probes'] for case in run['cases'])} datagrams")

    # --- who filters ---------------------------------------------------------------------------

    def test_where_icmp_says_so(self):
        self.exact("with ICMP", SIZES if SLOW else SIZES[::2], "signalled")

    def test_in_a_black_hole(self):
        self.network.filter_icmp("router")
        self.exact("in a black hole", SIZES if SLOW else SOME, "black_hole")

    def test_where_a_host_filters_icmp(self):
        for side, way in (("a", "forward"), ("b", "reverse")):
            self.network.filter_icmp(f"host {side}")
            for size in SIZES if SLOW else [1400]:
                self.path(size)
                run = self.mtu(*QUICK)
                self.assert_exact(run, size)
                for case in run["cases"]:
                    self.assertEqual("black_hole" if case["direction"] == way else "signalled",
                                     case["verdict"], case)
            self.network.pass_icmp()

    def test_where_one_family_filters_icmp(self):
        for version, family in ((4, "ipv4"), (6, "ipv6")):
            self.network.filter_icmp("router", (version,))
            for size in SIZES if SLOW else [1450]:
                self.path(size)
                run = self.mtu(*QUICK)
                self.assert_exact(run, size)
                for case in run["cases"]:
                    self.assertEqual("black_hole" if case["family"] == family else "signalled",
                                     case["verdict"], case)
            self.network.pass_icmp()

    def test_forward_and_reverse_differ(self):
        self.network.narrow("near", 1400)
        self.network.narrow("far", 1300)
        self.network.route("near", "far")
        self.assert_exact(self.mtu(*QUICK), {"forward": 1400, "reverse": 1300}, "signalled")
        self.network.filter_icmp("router")
        self.network.route("far", "near")
        self.assert_exact(self.mtu(*QUICK), {"forward": 1300, "reverse": 1400}, "black_hole")

    def test_one_direction_one_family_one_address(self):
        for family, version in (("ipv4", 4), ("ipv6", 6)):
            for way in WAYS:
                run = self.mtu(*QUICK, "--family", family, "--direction", way)
                self.assert_exact(run, 1500, "signalled")
                self.assert_parts(run, [family], [way])
            run = self.mtu(*QUICK, "--address", ADDRESS["b", version])
            self.assert_exact(run, 1500, "signalled")
            self.assert_parts(run, [family])

    def test_nothing_between_the_hosts_is_narrower(self):
        for size in (1500, WIDEST) if SLOW else (1500,):
            self.network.edges(size)
            self.network.narrow("near", size)
            run = self.mtu(*QUICK)
            self.assert_exact(run, size, "clean")
            self.assertEqual({size}, {case["local_mtu"] for case in run["cases"]})

    def test_65535_behind_a_larger_link(self):
        """No veth is wider than that; between two agents of one host all goes over lo."""
        self.network.ip("a", "link", "set", "lo", "mtu", "70000")
        self.fleet.address["a2"] = self.fleet.address["a"]
        self.fleet.start_agent("a2", host="a")
        self.fleet.wait_connected(["a2"])
        out, err = self.start("mtu", *QUICK, "--family", "ipv4", "--json",
                              target="a2").communicate(timeout=60)
        self.assertEqual([("forward", 65535, 65507, "clean"), ("reverse", 65535, 65507, "clean")],
                         [tuple(case[name] for name in ("direction", "path_mtu", "udp_payload",
                                                        "verdict"))
                          for case in json.loads(out)["cases"]], err)

    def test_a_ceiling_and_a_floor_are_kept(self):
        self.network.narrow("near", 1400)
        run = self.mtu(*QUICK, "--ceiling", "1350")
        self.assert_exact(run, 1350, "clean")
        run = self.mtu(*QUICK, "--floor", "1401", code=1)
        for case in run["cases"]:
            self.assertEqual(("below_floor", None, "undecided"),
                             (case["outcome"], case["path_mtu"], case["verdict"]), case)
        self.assertIn("not even the floor of 1,401 passes", self.report)

    def test_less_than_a_path_must_carry(self):
        """Nobody may offer less than 1280 for IPv6 or, in practice, less than 1200 for IPv4."""
        self.network.forward("meta l4proto udp meta length > 1190 drop")
        run = self.mtu(*QUICK)
        self.assertEqual({("ipv4", 1190, "below_base"), ("ipv6", None, "below_base")},
                         {(case["family"], case["path_mtu"], case["verdict"])
                          for case in run["cases"]})

    def test_zz_576(self):
        """The last one: the link's IPv6 goes with it."""
        for silent in (False, True):
            self.network.narrow("near", 576)
            if silent:
                self.network.filter_icmp("router")
            run = self.mtu(*QUICK, "--family", "ipv4")
            self.assert_exact(run, 576, "below_base")
            run = self.mtu(*QUICK, "--family", "ipv4", "--floor", "140")
            self.assert_exact(run, 576, "below_base")

    # --- loss ----------------------------------------------------------------------------------

    def test_random_loss_does_not_move_it(self):
        self.network.narrow("near", 1400)
        for percent in (1, 5, 10, 20):
            for silent in (False, True) if SLOW or percent in (5, 20) else (percent == 10,):
                if silent:
                    self.network.filter_icmp("router")
                for _ in range(5 if SLOW else 1):
                    self.network.lose_some(percent)
                    run = self.mtu(*QUICK)
                    self.network.forget_rules()
                    self.assert_exact(run, 1400, "black_hole" if silent else "signalled")
                self.network.pass_icmp()

    def test_each_size_is_lost_once_or_twice_before_it_passes(self):
        self.network.narrow("near", 1400)
        self.network.filter_icmp("router")
        for count in (1, 2):
            self.network.lose_first(count)
            self.assert_exact(self.mtu(*QUICK), 1400, "black_hole")
            self.network.forget_rules()

    # --- lies ----------------------------------------------------------------------------------

    def test_forged_icmp_is_not_believed(self):
        self.network.narrow("near", 1400)
        self.network.filter_icmp("router")  # the forger's own is sent below the filter
        self.addCleanup(network.end, self.network.forge("lies"))
        run = self.mtu(*QUICK)
        self.assert_exact(run, 1400, "black_hole")
        for family in FAMILIES:
            self.assertEqual([], run.one(family, "reverse")["icmp"])
            icmp = run.one(family, "forward")["icmp"]
            self.assertNotEqual([], icmp)
            for one in icmp:
                self.assertNotEqual(1290, one["mtu"], "that was for another flow")
                if one["mtu"] in (68, 0, 67, 1279, 65000) and (family, one["mtu"]) != ("ipv4", 68):
                    self.assertFalse(one["accepted"], one)
            self.assertIn("not sent by us", {one["judged"] for one in icmp})

    def test_size_that_comes_in_fragments_is_not_carried(self):
        self.network.narrow("near", 1400)
        self.network.clear_df("r", "ra")
        self.addCleanup(self.network.forget, "r", "path_df")
        run = self.mtu(*QUICK, "--family", "ipv4", "--direction", "forward")
        case = run.one("ipv4", "forward")
        self.assertEqual((1400, 1401, True),
                         (case["path_mtu"], case["next_size"], case["confirmed"]), case)
        answered = run.session("ipv4")["answered_forward"]
        self.assertTrue(answered["fragments_told"])
        self.assertGreater(answered["in_fragments"], 5)
        self.assertGreater(run["hosts"][1]["counters"]["delta"]["ip.reassembled"], 5)

    def test_peer_that_does_not_take_more(self):
        """Its host's filter drops what is larger, or says that it is not allowed."""
        for how in ("drop", "reject with icmpx type admin-prohibited"):
            self.network.nft("b", f"""
                table inet path_limit {{
                    chain limit_size {{
                        type filter hook input priority 0;
                        meta l4proto udp meta length > 1350 {how}
                    }}
                }}""")
            run = self.mtu(*QUICK, "--direction", "forward")
            self.network.forget("b", "path_limit")
            for case in run["cases"]:
                self.assertEqual((1350, "black_hole"), (case["path_mtu"], case["verdict"]), case)

    # --- flows ---------------------------------------------------------------------------------

    def test_flows_over_two_next_hops(self):
        self.network.edges(9000)
        self.network.narrow("far", 1400)
        for silent in (False, True):
            if silent:
                self.network.filter_icmp("router")
            self.network.spread(4)
            run = self.mtu(*QUICK, "--flows", "16", "--family", "ipv4")
            narrow = self.network.spread_ports()
            self.network.no_spread()
            self.assert_parts(run, ["ipv4"], flows=16)
            for way in WAYS:
                flows = run.flows("ipv4", way)
                ports = {case["source_port"] for case in flows}
                self.assertEqual(16, len(ports))
                self.assertEqual(4, len(ports & narrow))
                self.assertEqual({port: 1400 if port in narrow else 1500 for port in ports},
                                 {case["source_port"]: case["path_mtu"] for case in flows})
                self.assertEqual({"black_hole" if silent else "signalled"},
                                 {case["verdict"] for case in flows})
            for port in narrow & ports:
                self.assertRegex(self.report, rf"\b{port}\b")
            say(f"16 flows, {'silent' if silent else 'with ICMP'}: 1400 on ports {sorted(narrow)}")

    # --- why -----------------------------------------------------------------------------------

    def test_signalled_names_the_router(self):
        self.network.narrow("near", 1400)
        run = self.mtu(*QUICK)
        for side, way in (("a", "forward"), ("b", "reverse")):
            for family, version in (("ipv4", 4), ("ipv6", 6)):
                self.assertIn({"from": ROUTER[side, version], "mtu": 1400, "accepted": True},
                              [{name: one[name] for name in ("from", "mtu", "accepted")}
                               for one in run.one(family, way)["icmp"]])
                self.assertIn(f"{ROUTER[side, version]} said so", self.report)

    def test_black_hole_names_the_hops(self):
        self.network.narrow("near", 1400)
        self.network.filter_icmp("router")
        run = self.mtu("--no-fragments")
        for side, way, beyond in (("a", "forward", "{}2"), ("b", "reverse", "{}1")):
            for family, version, base in (("ipv4", 4, "10.9.3."), ("ipv6", 6, "fd00:9:3::")):
                hops = run.one(family, way)["hops"]
                first = beyond.format(base)
                self.assertEqual((1400, 1401, 1, 2, False),
                                 tuple(hops[name] for name in ("passing", "failing", "last_hop",
                                                               "first_hop", "first_is_peer")), hops)
                self.assertEqual((ROUTER[side, version], first), (hops["last"], hops["first"]))
                self.assertIn(ROUTER[side, version], self.report)
                self.assertIn(first, self.report)
        self.assertIn("vanish", self.report)

    def test_nobody_answers(self):
        """The hellos pass, and nothing after them."""
        self.network.forward("meta l4proto udp limit rate over 1/day burst 8 packets drop")
        run = self.mtu(*QUICK, "--family", "ipv4")
        for case in run["cases"]:
            self.assertEqual("unreachable", case["verdict"], case)

    def test_check_fails_unless_clean_or_signalled(self):
        self.network.narrow("near", 1400)
        one = (*QUICK, "--family", "ipv4", "--direction", "forward", "--check")
        self.mtu(*one)
        self.network.filter_icmp("router")
        self.mtu(*one, code=3)

    def test_fragments_pass_or_do_not(self):
        self.network.narrow("near", 1400)
        for dropped in (False, True):
            if dropped:
                for host in "ab":
                    self.network.drop_fragments(host)
                    self.addCleanup(self.network.forget, host, "path_fragments")
            run = self.mtu("--no-trace")
            self.assert_exact(run, 1400)
            for case in run["cases"]:
                probes = case["fragment_probes"]
                self.assertEqual("dropped" if dropped else "pass", case["fragments"], case)
                self.assertEqual(probes["small_sent"], probes["small_arrived"])
                self.assertEqual(0 if dropped else probes["sent"], probes["arrived"])
                self.assertGreater(probes["size"], 1400)
            for host, counters in ((one, one["counters"]["delta"]) for one in run["hosts"]):
                # IPv6 is cut by its sender, IPv4 by the router
                self.assertGreaterEqual(counters["ip6.fragments_created"], 20, host["name"])
                for name in ("ip.reassembled", "ip6.reassembled"):
                    if dropped:
                        self.assertEqual(0, counters[name], host["name"])
                    else:
                        self.assertGreaterEqual(counters[name], 10, host["name"])
            self.assertIn("ragment", self.report)

    def test_tunnels_are_recognized_by_their_number(self):
        for size, name in ((1420, "WireGuard"), (1450, "VXLAN"), (1492, "PPPoE"), (1476, "GRE")):
            self.network.narrow("near", size)
            self.mtu(*QUICK, "--family", "ipv4", "--direction", "forward")
            self.assertIn(name, self.report)

    # --- changes between runs ------------------------------------------------------------------

    def test_raised_again_at_once(self):
        self.network.narrow("near", 1400)
        self.assert_exact(self.mtu(*QUICK), 1400, "signalled")
        self.network.narrow("near", 1500)
        run = self.mtu(*QUICK)
        self.assert_exact(run, 1500, "signalled")
        # what programs get from the kernel of a host is still the old value
        self.assertEqual(1400, run.one("ipv4", "forward")["kernel_before"])

    def test_repeated_runs_notice_a_change(self):
        one = (*QUICK, "--family", "ipv4")
        self.network.narrow("near", 1440)
        self.mtu(*one)
        self.network.narrow("near", 1430)
        done = self.fleet.sonde("mtu", "--from", "a", "--to", "b", *one, "--output",
                                self.fleet.path("runs"))
        self.assertIn("was 1440", done.stdout + done.stderr)
        listed = self.fleet.sonde("results", "--kind", "mtu").stdout
        self.assertRegex(listed, r"1430.*was 1440|1440.*1430")
        rows = json.loads(self.fleet.sonde("results", "--kind", "mtu", "--json").stdout)
        say(json.dumps(rows)[:300])

    def test_show_says_the_same(self):
        run = self.mtu(*QUICK, "--family", "ipv4")
        shown = json.loads(self.fleet.sonde("show", run["id"], "--json").stdout)
        self.assertEqual(run["cases"], shown["cases"])
        self.assertEqual(run["sessions"], shown["sessions"])


if __name__ == "__main__":
    main()
