#!/usr/bin/env python3
"""`sonde mtu --watch` between real daemons: no change is made up, and a change is told once, in
time. Usage: test_mtu_watch.py SONDE; needs root. With SONDE_SLOW=1 it watches for a minute."""

import signal
import threading
import time

from hosts import main
from mtu_hosts import FAMILIES, SLOW, MtuHosts, say
from network import wait_for

CHECK_S = 0.5
LATEST_S = CHECK_S + 1  # as agent/probe/search.h states it, without random loss
MARGIN_S = 0.5          # of a machine that does other things too
WATCH = ("--check-every", str(CHECK_S), "--json")


class Lines:
    """What a command says on stderr, with when it was read."""

    def __init__(self, process):
        self.process, self.lines = process, []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line.rstrip()))

    def when(self, *words, seconds=15):
        """When a line with these words came."""
        def came():
            return [at for at, line in list(self.lines) if all(word in line for word in words)]
        try:
            return wait_for(came, seconds)[0]
        except TimeoutError as error:
            raise AssertionError(f"no line with {words}: {self.lines}") from error


class Watch(MtuHosts):
    def setUp(self):
        super().setUp()
        self.network.edges(1500)

    def watch(self, seconds, family, *flags):
        process = self.start("mtu", "--watch", str(seconds), "--family", family, *WATCH, *flags)
        return process, Lines(process)

    def ended(self, process, lines):
        """The run, when the command has ended by itself or was told to."""
        out = process.stdout.read()
        lines.thread.join()
        process.wait()
        self.assertEqual(0, process.returncode, lines.lines)
        return self.checked(out)

    @staticmethod
    def events(run, family, direction="forward"):
        return [(event["change"], event["from"], event["to"])
                for event in run.session(family)[f"events_{direction}"]]

    def each_family(self, seconds, *flags):
        """Both families watched at the same time, forward; {family: (process, lines)}."""
        both = {family: self.watch(seconds, family, "--direction", "forward", *flags)
                for family in FAMILIES}
        for _, lines in both.values():
            lines.when("1500")
        return both

    # --- what is told --------------------------------------------------------------------------

    def test_random_loss_is_no_change(self):
        self.network.lose_some(15)
        seconds = 60 if SLOW else 8
        for family, (process, lines) in self.each_family(seconds).items():
            run = self.ended(process, lines)
            self.assertEqual([("known", None, 1500)], self.events(run, family))
            self.assert_exact(run, 1500, "clean")
            say(f"{family}: {seconds} s under 15 % loss, {run.one(family, 'forward')['probes']} "
                "datagrams, no change")

    def test_cut_while_watching_is_one_event_in_time(self):
        for silent in (False, True):
            if silent:
                self.network.filter_icmp("router")
            both = self.each_family(6)
            time.sleep(1)
            cut = time.monotonic()
            self.network.narrow("near", 1400)
            for family, (process, lines) in both.items():
                told = lines.when("1400", "was 1500") - cut
                run = self.ended(process, lines)
                self.assertEqual([("known", None, 1500), ("changed", 1500, 1400)],
                                 self.events(run, family))
                self.assert_exact(run, 1400, "black_hole" if silent else "signalled")
                say(f"{family}, {'silent' if silent else 'with ICMP'}: told {told:.2f} s after")
                self.assertLess(told, LATEST_S + MARGIN_S)
            self.network.narrow("near", 1500)

    def test_raised_while_watching(self):
        self.network.narrow("near", 1400)
        process, lines = self.watch(8, "ipv4", "--direction", "forward", "--raise-every", "1")
        lines.when("1400")
        raised = time.monotonic()
        self.network.narrow("near", 1500)
        told = lines.when("1500", "was 1400") - raised
        run = self.ended(process, lines)
        self.assertEqual([("known", None, 1400), ("changed", 1400, 1500)],
                         self.events(run, "ipv4"))
        self.assertEqual(1500, run.one("ipv4", "forward")["path_mtu"])
        self.assertLess(told, 1 + LATEST_S + MARGIN_S)

    def test_path_that_is_gone_for_a_while(self):
        process, lines = self.watch(12, "ipv4", "--direction", "forward")
        lines.when("1500")
        self.network.forward("meta l4proto udp drop")
        lines.when("unreachable")
        self.network.forget_rules()
        run = self.ended(process, lines)
        self.assertEqual([("known", None, 1500), ("unreachable", 1500, None),
                          ("known", 1500, 1500)], self.events(run, "ipv4"))

    def test_both_directions_one_after_the_other(self):
        process, lines = self.watch(2, "ipv4")
        run = self.ended(process, lines)
        self.assert_parts(run, ["ipv4"])
        for way in ("forward", "reverse"):
            self.assertEqual([("known", None, 1500)], self.events(run, "ipv4", way))

    def test_interrupt_is_a_watchs_regular_end(self):
        process, lines = self.watch(100, "ipv4", "--direction", "forward")
        lines.when("1500")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        run = self.ended(process, lines)
        self.assertLess(time.monotonic() - began, 5)
        self.assertTrue(run["interrupted"])
        self.assertEqual(1500, run.one("ipv4", "forward")["path_mtu"])


if __name__ == "__main__":
    main()
