#!/usr/bin/python3
"""sonde counters on this host and on made-up trees of /proc.

usage: test_counters.py PATH-OF-SONDE
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SONDE = ""
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "counters.md"
NAME = re.compile(r"^\| `([a-z0-9]+\.[a-z_]+)` \|", re.MULTILINE)

SNMP = """\
Ip: Forwarding DefaultTTL InDiscards OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs \
ReasmFails FragOKs FragFails FragCreates
Ip: 1 64 1 2 3 4 5 6 7 8 9 10
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors \
IgnoredMulti MemErrors
Udp: 11 12 13 14 15 16 17 18 19
"""
SHORT_SNMP = """\
IcmpMsg: InType3 OutType3
IcmpMsg: 8 9
Udp: InDatagrams NoPorts InErrors OutDatagrams
Udp: 100 1 2 90
"""
SNMP6 = "Ip6FragOKs \t5\nUdp6InDatagrams 6\nUdp6NoPorts\t\t7\n"
SOFTNET = ("0000000f 00000001 00000002 0 0 0 0 0 0 0 0 0 00000000 0 0\n"
           "000000ff 0000000a 00000010 0 0 0 0 0 0 0 0 0 00000003 0 0\n")
DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo \
colls carrier compressed
    lo:18446744073709551614 224490607 1 2 3 0 0 0 181005683161 224490607 4 5 6 0 0 0
veth0abc@if7:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
"""


def run(*words, **options):
    """Exit code, stdout and stderr of sonde counters."""
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([SONDE, "counters", *words], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=30, **options)
    return done.returncode, (done.stdout or b"").decode(), done.stderr.decode()


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), keys
    return dict(pairs)


def parse(line):
    return json.loads(line, object_pairs_hook=no_duplicates, parse_constant=lambda word: 1 / 0)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sonde-counters-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def tree(self):
        """What `sonde counters --json` says of the tree, its shape checked."""
        code, out, err = run("--json", "--proc-root", str(self.root))
        self.assertEqual((code, err), (0, ""))
        return self.check_shape(out)

    def check_shape(self, out):
        self.assertEqual(out.count("\n"), 1, out)
        answer = parse(out)
        self.assertEqual(list(answer), ["schema", "host", "proc_root", "namespace", "taken",
                                        "counters", "unavailable", "interval", "cpus",
                                        "interfaces"])
        self.assertEqual(answer["schema"], "sonde.counters/1")
        self.assertEqual(list(answer["host"]), ["name", "os", "os_release", "arch", "cpu", "cpus",
                                                "memory_bytes", "libraries", "limits"])
        self.assertEqual(answer["host"]["name"], os.uname().nodename)
        self.assertRegex(answer["taken"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
        missing = {name for name, value in answer["counters"].items() if value is None}
        self.assertEqual(missing, set(answer["unavailable"]))
        for reason in answer["unavailable"].values():
            self.assertTrue(reason)
        for value in answer["counters"].values():
            self.assertTrue(value is None or type(value) is int and 0 <= value < 2**63, value)
        return answer


class Trees(Case):
    def test_a_whole_tree(self):
        for name, text in (("snmp", SNMP), ("snmp6", SNMP6), ("softnet_stat", SOFTNET),
                           ("dev", DEV)):
            self.put(f"self/net/{name}", text)
        answer = self.tree()
        counters = answer["counters"]
        self.assertEqual([counters[f"ip.{name}"] for name in (
            "discards_in", "discards_out", "no_route", "reassembly_timeouts", "reassembled",
            "reassembly_failures", "fragmented", "fragment_failures", "fragments_created")],
            [1, 2, 3, 4, 6, 7, 8, 9, 10])
        self.assertEqual([counters[f"udp.{name}"] for name in (
            "delivered", "no_socket", "errors", "sent", "receive_buffer_full",
            "send_buffer_full", "checksum_errors", "memory_errors")],
            [11, 12, 13, 14, 15, 16, 17, 19])
        self.assertEqual((counters["ip6.fragmented"], counters["udp6.delivered"],
                          counters["udp6.no_socket"], counters["udp6.sent"]), (5, 6, 7, None))
        self.assertEqual((counters["softnet.dropped"], counters["softnet.squeezed"]), (11, 18))
        self.assertEqual((counters["interface.rx_dropped"], counters["interface.tx_dropped"],
                          counters["interface.rx_errors"], counters["interface.tx_errors"]),
                         (6, 17, 4, 15))
        self.assertEqual(answer["unavailable"]["qdisc.dropped"], "not in /proc")
        self.assertEqual(answer["cpus"], [
            {"cpu": 0, "processed": 15, "dropped": 1, "squeezed": 2},
            {"cpu": 3, "processed": 255, "dropped": 10, "squeezed": 16}])
        self.assertEqual(answer["proc_root"], str(self.root))

    def test_huge_values_are_exact(self):
        self.put("net/dev", DEV)
        code, out, _ = run("--json", "--proc-root", str(self.root))
        self.assertEqual(code, 0)
        self.assertIn('"rx_bytes":18446744073709551614,', out)
        interfaces = self.check_shape(out)["interfaces"]
        self.assertEqual([i["name"] for i in interfaces], ["lo", "veth0abc@if7"])
        self.assertEqual((interfaces[0]["rx_dropped"], interfaces[0]["tx_dropped"]), (2, 5))
        self.assertEqual(interfaces[0]["tx_bytes"], 181005683161)

    def test_an_old_kernels_columns_are_null_and_never_0(self):
        self.put("net/snmp", SHORT_SNMP)
        answer = self.tree()
        counters = answer["counters"]
        self.assertEqual((counters["udp.delivered"], counters["udp.no_socket"],
                          counters["udp.errors"], counters["udp.sent"]), (100, 1, 2, 90))
        for name in ("receive_buffer_full", "send_buffer_full", "checksum_errors",
                     "memory_errors"):
            self.assertIsNone(counters[f"udp.{name}"])
        self.assertEqual(answer["unavailable"]["udp.receive_buffer_full"],
                         f"no Udp: RcvbufErrors in {self.root}/net/snmp")

    def test_absent_files_cost_their_own_counters_alone(self):
        self.put("net/snmp", SNMP)
        answer = self.tree()
        self.assertEqual(answer["counters"]["udp.delivered"], 11)
        for name, file in (("udp6.sent", "snmp6"), ("ip6.no_route", "snmp6"),
                           ("softnet.dropped", "softnet_stat"), ("interface.rx_errors", "dev")):
            self.assertEqual(answer["unavailable"][name],
                             f"{self.root}/net/{file}: No such file or directory")
        self.assertEqual((answer["cpus"], answer["interfaces"]), ([], []))

    def test_an_empty_tree_is_no_failure(self):
        answer = self.tree()
        self.assertEqual(set(answer["counters"].values()), {None})
        code, out, err = run("--proc-root", str(self.root))
        self.assertEqual((code, err), (0, ""))
        for group in ("udp", "udp6", "ip", "ip6", "softnet", "interface"):
            lines = [line for line in out.splitlines() if line.startswith(f"  {group}.")]
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], rf"^  {group}\.\*: /.*: No such file or directory$")
        self.assertIn("  qdisc.*: not in /proc\n", out)

    def test_a_folder_in_a_files_place_is_said(self):
        (self.root / "net/snmp").mkdir(parents=True)
        self.assertRegex(self.tree()["unavailable"]["udp.sent"], "not a regular file")

    def test_rubbish_is_no_counter_and_no_failure(self):
        for name in ("snmp", "snmp6", "softnet_stat", "dev"):
            self.put(f"net/{name}", bytes(range(256)) * 40 + b"\0" * 128 + b"\n")
        answer = self.tree()
        self.assertEqual(set(answer["counters"].values()), {None})

    def test_odd_names_make_valid_json_and_move_no_cursor(self):
        header = DEV.split("    lo:")[0]
        numbers = ":1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
        self.put("net/dev", header.encode() + b'a"b\\c' + numbers.encode() + b"\x1b[2J\xff"
                 + numbers.encode() + "ä:ü".encode() + numbers.encode())
        names = [i["name"] for i in self.tree()["interfaces"]]
        self.assertEqual(names, ['a"b\\c', "?[2J?", "ä:ü"])
        self.assertNotIn("\x1b", run("--proc-root", str(self.root))[1])

    def test_a_value_beyond_63_bits_is_unavailable_and_says_so(self):
        self.put("net/snmp", "Udp: InDatagrams NoPorts\nUdp: 9223372036854775808 5\n")
        answer = self.tree()
        self.assertEqual(answer["unavailable"]["udp.delivered"],
                         f"Udp: InDatagrams in {self.root}/net/snmp is above 2^63-1")
        self.assertEqual(answer["counters"]["udp.no_socket"], 5)

    def test_a_root_that_is_none_is_refused(self):
        self.put("file", "")
        for root in (self.root / "none", self.root / "file"):
            code, out, err = run("--proc-root", str(root))
            self.assertEqual((code, out), (1, ""))
            self.assertEqual(err, f"sonde counters: --proc-root: {root}: not a folder\n")

    def test_another_namespace_than_process_1s_is_a_warning(self):
        for process, inode in (("self", 1), ("1", 2)):
            (self.root / process / "ns").mkdir(parents=True)
            (self.root / process / "ns/net").symlink_to(f"net:[{inode}]")
        code, out, err = run("--json", "--proc-root", str(self.root))
        self.assertEqual(code, 0)
        self.assertEqual(parse(out)["namespace"], "net:[1]")
        self.assertEqual(err.count("\n"), 1)
        for word in ("warning", "net:[1]", "net:[2]", str(self.root)):
            self.assertIn(word, err)

    def test_the_text_has_every_value(self):
        self.put("net/snmp", SNMP.replace("Udp: 11 ", "Udp: 1234567 "))
        self.put("net/softnet_stat", SOFTNET)
        self.put("net/dev", DEV)
        code, out, err = run("--proc-root", str(self.root))
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, rf"\AKernel counters in {self.root}, at \S+Z\n")
        self.assertRegex(out, r"(?m)^  udp\.delivered +1,234,567$")
        self.assertRegex(out, r"(?m)^  ip\.no_route +3$")
        self.assertRegex(out, r"(?m)^  cpu 3 +255 +10 +16$")
        self.assertRegex(out, r"(?m)^  veth0abc@if7 +4 +3 +12 +11$")
        for line in out.splitlines():
            self.assertLessEqual(len(line), 100 + len(str(self.root)), line)


class Watch(Case):
    def start(self, *words):
        process = subprocess.Popen([SONDE, "counters", "--proc-root", str(self.root), *words],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def udp(self, **fields):
        names, values = " ".join(fields), " ".join(map(str, fields.values()))
        path = self.root / "net/snmp.new"
        self.put("net/snmp.new", f"Udp: {names}\nUdp: {values}\n")
        path.rename(self.root / "net/snmp")

    def next_change(self, process):
        """The first line of JSON in which something changed."""
        for line in process.stdout:
            answer = parse(line)
            self.assertEqual(list(answer["interval"]), ["seconds", "delta", "reset"])
            if any(answer["interval"]["delta"].values()) or answer["interval"]["reset"]:
                return answer["interval"]
        return self.fail("the watch ended")

    def test_differences_and_resets(self):
        self.udp(InDatagrams=4000000000, NoPorts=4294967290)
        process = self.start("--json", "--watch", "0.05")
        process.stdout.readline()
        self.udp(InDatagrams=4000000100, NoPorts=4294967290)
        change = self.next_change(process)
        self.assertEqual((change["delta"]["udp.delivered"], change["delta"]["udp.no_socket"]),
                         (100, 0))
        self.assertEqual(change["reset"], [])
        self.assertIsNone(change["delta"]["udp.sent"])
        self.udp(InDatagrams=12, NoPorts=5)
        change = self.next_change(process)
        self.assertEqual(change["reset"], ["udp.delivered", "udp.no_socket"])
        self.assertIsNone(change["delta"]["udp.delivered"])
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        self.assertEqual((process.wait(10), process.stderr.read()), (0, ""))

    def test_text_marks_resets_and_quiet(self):
        self.udp(InDatagrams=50, NoPorts=5)
        process = self.start("--watch", "1", "--count", "2")
        self.assertRegex(process.stdout.readline(), r"\A\S+Z, after \d\.\d\d s\n\Z")
        self.assertEqual(process.stdout.readline(), "  nothing changed\n")
        self.udp(InDatagrams=1234, NoPorts=4)
        out = process.stdout.read()
        self.assertRegex(out, r"(?m)^  udp\.delivered +\+1,184$")
        self.assertRegex(out, r"(?m)^  udp\.no_socket +reset$")
        self.assertEqual(process.wait(10), 0)

    def test_count_is_a_number_of_differences_at_a_steady_pace(self):
        self.udp(NoPorts=1)
        start = time.monotonic()
        process = self.start("--json", "--watch", "0.1", "--count", "5")
        lines = process.stdout.read().splitlines()
        took = time.monotonic() - start
        self.assertEqual(len(lines), 5)
        self.assertGreaterEqual(took, 0.5)
        self.assertLess(took, 5)
        total = sum(parse(line)["interval"]["seconds"] for line in lines)
        self.assertGreaterEqual(total, 0.49)
        self.assertLessEqual(total, took)

    def test_a_signal_ends_the_wait_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("--watch", "3600")
            time.sleep(0.3)
            start = time.monotonic()
            process.send_signal(number)
            self.assertEqual(process.wait(10), 0)
            self.assertLess(time.monotonic() - start, 2)

    def test_a_tree_that_vanishes_ends_it_with_its_name(self):
        self.udp(NoPorts=1)
        process = self.start("--watch", "0.1")
        process.stdout.readline()
        moved = self.root.with_name(self.root.name + "-moved")
        self.root.rename(moved)
        try:
            self.assertEqual(process.wait(10), 1)
            self.assertIn(f"{self.root}: not a folder", process.stderr.read())
        finally:
            moved.rename(self.root)

    def test_a_reader_that_goes_away_ends_it(self):
        self.udp(NoPorts=1)
        process = subprocess.Popen([SONDE, "counters", "--watch", "0.05", "--proc-root",
                                    str(self.root)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(10), 1)


class ThisHost(Case):
    def test_what_it_does_shows(self):
        code, out, err = run("--json")
        self.assertEqual((code, err), (0, ""))
        before = self.check_shape(out)["counters"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(20):
                sender.sendto(b"x", ("127.0.0.1", port))
        time.sleep(0.2)
        after = self.check_shape(run("--json")[1])
        self.assertGreaterEqual(after["counters"]["udp.no_socket"] - before["udp.no_socket"], 20)
        self.assertGreaterEqual(after["counters"]["udp.sent"] - before["udp.sent"], 20)
        self.assertIsNone(after["proc_root"])

    @unittest.skipUnless(sys.platform == "linux", "Linux")
    def test_a_qdiscs_drops_are_counted(self):
        """A slow tbf in a namespace of its own: what tc(8) says was dropped, sonde says too."""
        script = ("ip link set lo up && ip link add d0 type veth peer name d1 && "
                  "ip addr add 198.51.100.1/24 dev d0 && "
                  "ip link set d0 up && ip link set d1 up && "
                  "tc qdisc add dev d0 root tbf rate 8kbit burst 2000 limit 3000 && "
                  "ip neigh add 198.51.100.2 lladdr 02:00:00:00:00:01 dev d0 && "
                  "\"$1\" counters --json && "
                  "/usr/bin/python3 -c 'import socket; s = socket.socket(2, 2); "
                  "[s.sendto(b\"x\" * 1000, (\"198.51.100.2\", 9)) for _ in range(50)]' ; "
                  "\"$1\" counters --json; tc -s qdisc show dev d0")
        done = subprocess.run(["unshare", "-rn", "/bin/sh", "-c", script, "sh", SONDE],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=30)
        lines = done.stdout.decode().splitlines()
        if len(lines) < 3 or not lines[0].startswith("{"):
            self.skipTest(f"no namespace, tc or tbf here: {done.stderr.decode().strip()}")
        before, after = parse(lines[0]), parse(lines[1])
        dropped = int(re.search(r"dropped (\d+)", "\n".join(lines[2:])).group(1))
        self.assertGreater(dropped, 10)
        self.assertEqual(before["counters"]["qdisc.dropped"], 0)
        self.assertEqual(after["counters"]["qdisc.dropped"], dropped)
        self.assertNotEqual(after["namespace"], os.readlink("/proc/self/ns/net"))

    @unittest.skipUnless(sys.platform == "linux", "Linux")
    def test_proc_itself_as_root_is_this_host_without_qdisc(self):
        answer = self.check_shape(run("--json", "--proc-root", "/proc")[1])
        self.assertEqual(answer["unavailable"]["qdisc.dropped"], "not in /proc")
        self.assertEqual(answer["namespace"], os.readlink("/proc/self/ns/net"))
        self.assertGreaterEqual(len(answer["cpus"]), 1)
        self.assertIn("lo", [i["name"] for i in answer["interfaces"]])


class Document(Case):
    def test_it_names_exactly_the_counters(self):
        documented = NAME.findall(DOCUMENT.read_text(encoding="utf-8"))
        printed = list(self.tree()["counters"])
        self.assertEqual(sorted(documented), sorted(printed))

    def test_it_names_exactly_the_keys(self):
        text = DOCUMENT.read_text(encoding="utf-8").split("## The command")[1]
        keys = re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)
        self.assertEqual(sorted(keys), sorted(self.tree()))


class Usage(Case):
    def refused(self, *words):
        code, out, err = run(*words)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        return err

    def test_wrong_flags_are_refused_in_one_line(self):
        self.assertIn("--watch", self.refused("--count", "3"))
        for value in ("0", "-1", "abc", "nan", "86401", "1e3"):
            self.assertIn("--watch", self.refused(f"--watch={value}"))
        for value in ("0", "-1", "1.5", "x"):
            self.assertIn("--count", self.refused("--watch", "1", f"--count={value}"))
        self.assertIn("did you mean --json?", self.refused("--jsn"))
        self.refused("word")

    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for words in ((), ("--json",), ("--watch", "0.05")):
            with open("/dev/full", "wb") as full:
                code, _, err = run(*words, stdout=full)
            self.assertEqual((code, err.count("\n")), (1, 1), err)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    SONDE = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=1)
