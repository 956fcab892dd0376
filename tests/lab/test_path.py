#!/usr/bin/env python3
"""A path that delays, reorders, doubles, keeps and alters datagrams: each is counted as what it is.
Usage: test_path.py SONDE; needs root."""

import threading

from fleet import check_account, measured
from hosts import Hosts, closed, main, paced
from network import ADDRESS, wait_for

LARGE = {"above": 600}  # datagrams of the phases, not hellos
# Offset in the datagram, new bytes: under the HMAC, and behind it. Octets 28 and up that a sender
# leaves zero hold the echo role's timestamp and copies on the way back.
UNDER_HMAC = [[0, "ffffffff"], [4, "01"], [16, "00" * 8], [16, "ff" * 8], [24, "0000"],
              [26, "ffff"], [32, "11" * 8], [48, "eeeeeeee"], [64, "22" * 8], [95, "01"],
              [96, "00" * 16], [110, "a5a5"]]
BEHIND_HMAC = [[112, "10"], [113, "08"], [114, "ffff"], [400, "0123456789abcdef"],
               [792, "5a5a5a5a5a5a5a5a"]]


class Path(Hosts):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network.start_relay()
        cls.network.count_udp()

    def relay(self, command, **arguments):
        self.addCleanup(self.network.tell_relay, "clear")
        return self.network.tell_relay(command, **arguments)

    def difference(self, name, before):
        return self.network.tell_relay("counts")[name] - before[name]

    # --- delay ---------------------------------------------------------------------------------

    def test_delay_is_no_loss(self):
        self.relay("delay", ms=200)
        run, forward, reverse = self.measure(*paced(interval_ms=10))
        self.assert_counts(forward)
        self.assert_counts(reverse)
        # A machine that is busy may leave bursts out; none is made up for.
        skipped = measured(run)["skipped_bursts"]
        self.assertGreaterEqual(forward["sent"] + skipped, 95)
        self.assertGreaterEqual(run["cases"][0]["rtt_ns"]["min"], 400e6)

    def test_delay_beyond_the_phase_and_the_least_drain_is_no_loss(self):
        self.relay("delay", ms=650)
        run, forward, reverse = self.measure(*paced(interval_ms=10, seconds=0.2))
        self.assert_counts(forward)
        self.assert_counts(reverse)
        self.assertEqual("pass", run["cases"][0]["status"])
        self.assertGreaterEqual(run["cases"][0]["rtt_ns"]["min"], 1300e6)

    # --- order and number ----------------------------------------------------------------------

    def test_reordering_is_counted_in_its_leg(self):
        for side, legs in (("b", ("forward", "reverse")), ("a", ("reverse", "forward"))):
            before = self.relay("reorder", every=10, by=3, towards=ADDRESS[side, 4], **LARGE)
            run, *_ = self.measure(*paced(interval_ms=1))
            phase = run["cases"][0]["phases"]["measure"]
            done = self.difference("reordered", before)
            self.assertGreater(done, 50)
            # The last of them may have had nobody left to be overtaken by.
            self.assertIn(phase[legs[0]]["reordered"], (done - 1, done))
            self.assert_counts(phase[legs[0]], reordered=phase[legs[0]]["reordered"])
            self.assert_counts(phase[legs[1]])
            self.assertEqual("pass", run["cases"][0]["status"])
            self.network.tell_relay("clear")

    def test_duplicates_are_counted_in_their_leg_and_not_answered(self):
        for side, legs in (("b", ("forward", "reverse")), ("a", ("reverse", "forward"))):
            before = self.relay("duplicate", every=10, towards=ADDRESS[side, 4], **LARGE)
            run, *_ = self.measure(*closed(seconds=0.3))
            phase = run["cases"][0]["phases"]["measure"]
            done = self.difference("duplicated", before)
            self.assertGreater(done, 10)
            self.assert_counts(phase[legs[0]], duplicates=done)
            self.assert_counts(phase[legs[1]])
            self.assertEqual(phase["forward"]["received"], phase["reverse"]["attempted"])
            self.network.tell_relay("clear")

    # --- other times ---------------------------------------------------------------------------

    def release_meanwhile(self, passed):
        """Lets what is held go when the relay has passed on so many more."""
        before = self.network.tell_relay("counts")

        def run():
            wait_for(lambda: self.difference("passed", before) > passed)
            self.network.tell_relay("release")
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def test_what_a_run_left_behind_is_foreign_in_the_next(self):
        self.relay("hold", count=50, towards=ADDRESS["b", 4], **LARGE)
        _, forward, _ = self.measure(*closed(seconds=0.3, clients=2, window=50))
        self.assert_places(forward, network=50)
        thread = self.release_meanwhile(200)
        run, forward, reverse = self.measure(*paced(interval_ms=2))
        thread.join()
        self.assert_counts(forward, foreign=50)
        self.assert_counts(reverse)
        self.assertEqual("pass", run["cases"][0]["status"])

    def test_what_a_warm_up_left_behind_is_foreign_in_the_measure_phase(self):
        for side, legs in (("b", ("forward", "reverse")), ("a", ("reverse", "forward"))):
            before = self.relay("hold", count=50, towards=ADDRESS[side, 4], **LARGE)
            thread = self.release_meanwhile(450)
            run, *_ = self.measure(*paced(interval_ms=2, warmup=0.4))
            thread.join()
            phases = run["cases"][0]["phases"]
            self.assertEqual(50, self.difference("held", before))
            self.assert_counts(phases["warmup"][legs[0]], lost=50)
            self.assert_counts(phases["measure"][legs[0]], foreign=50)
            self.assert_counts(phases["measure"][legs[1]])
            self.assertEqual("pass", run["cases"][0]["status"])
            self.network.tell_relay("clear")

    # --- other contents ------------------------------------------------------------------------

    def altered(self, side, edits):
        """A run in which every third datagram towards a side has one of the edits."""
        self.relay("rewrite", every=3, edits=edits, towards=ADDRESS[side, 4], **LARGE)
        run, forward, reverse = self.measure(*paced(interval_ms=1, payload=800))
        counts = self.network.tell_relay("counts")
        self.assertGreater(min(counts["edits"]), 5)
        self.assertLess(run["cases"][0]["rtt_ns"]["max"], 2e9)
        self.assertLess(run["cases"][0]["rtt_ns"]["p50"], 100e6)
        under, behind = counts["edits"][:len(UNDER_HMAC)], counts["edits"][len(UNDER_HMAC):]
        return sum(under), sum(behind), forward, reverse

    def test_altered_requests_are_not_answered(self):
        foreign, corrupt, forward, reverse = self.altered("b", UNDER_HMAC + BEHIND_HMAC)
        self.assert_counts(forward, foreign=foreign, corrupt=corrupt, lost=foreign + corrupt)
        self.assert_places(forward, network=foreign + corrupt)
        self.assert_counts(reverse)
        self.assertEqual(forward["received"], reverse["attempted"])

    def test_altered_replies_are_not_believed(self):
        foreign, corrupt, forward, reverse = self.altered("a", UNDER_HMAC + BEHIND_HMAC)
        self.assert_counts(reverse, foreign=foreign, corrupt=corrupt, lost=foreign + corrupt)
        self.assert_places(reverse, network=foreign + corrupt)
        self.assert_counts(forward)

    def test_altered_hellos_are_as_good_as_lost(self):
        for side in ("a", "b"):
            self.relay("rewrite", every=2, edits=UNDER_HMAC, towards=ADDRESS[side, 4], below=112)
            run, forward, reverse = self.measure(*closed(seconds=0.1))
            self.assertEqual("pass", run["cases"][0]["status"])
            agreement = run["cases"][0]["agreement"]
            self.assertGreater(agreement["hellos_sent"], agreement["hellos_answered"])
            self.network.tell_relay("clear")
        self.relay("rewrite", edits=UNDER_HMAC, towards=ADDRESS["a", 4], below=112)
        before = {side: self.network.udp_from(side) for side in "ab"}
        done = self.fleet.sonde("run", "--from", "a", "--to", "b", *closed(), "--output",
                                self.fleet.path("runs"), check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("20 hellos to 10.9.2.2:7870, 0 answered, no agreement", done.stderr)
        # 20 went there and came back; nothing else did.
        after = {side: self.network.udp_from(side) for side in "ab"}
        self.assertEqual([20, 20], [after[side] - before[side] for side in "ab"])

    # --- the first of a flow -------------------------------------------------------------------

    def test_set_up_that_loses_the_first_two_of_each_flow(self):
        self.network.nft("r", """
            table inet lab_first {
                set flows {
                    type ipv4_addr . inet_service . ipv4_addr . inet_service
                    flags dynamic
                    size 4096
                }
                chain forward {
                    type filter hook forward priority 0;
                    meta l4proto udp update @flows { ip saddr . udp sport . ip daddr . udp dport \\
                        limit rate 1/day burst 2 packets } drop
                }
            }""")
        self.addCleanup(self.network.run, "r", "nft", "delete", "table", "inet", "lab_first")
        run, forward, reverse = self.measure(*closed(seconds=0.3, clients=3, warmup=0.2))
        agreement = run["cases"][0]["agreement"]
        # 2 hellos and 2 answers were lost, and are in no phase.
        self.assertEqual({"hellos_sent": 6, "hellos_answered": 2, "strangers": 0,
                          "rtt_ns": agreement["rtt_ns"]},
                         agreement)
        self.assert_counts(forward)
        self.assert_counts(reverse)
        # The two other clients' flows lose theirs in the warm-up.
        warmup = run["cases"][0]["phases"]["warmup"]
        self.assert_places(warmup["forward"], network=4)
        self.assert_places(warmup["reverse"], network=4)
        shown = self.fleet.sonde("show", run["id"]).stdout
        self.assertIn("hellos", shown)


if __name__ == "__main__":
    main()
