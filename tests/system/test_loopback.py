#!/usr/bin/python3
"""`sonde loopback` as its users run it: real sockets, real bursts, real archives.

usage: test_loopback.py PATH-OF-SONDE
"""
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import udp_lab

SONDE = ""
ROOT = pathlib.Path(__file__).resolve().parents[2]
SANITIZED = bool(os.environ.get("SONDE_SANITIZE"))
QUICK = ["--warmup", "0.05", "--seconds", "0.1", "--idle", "0.1"]


class Run:
    """One call: its exit code, output and, with --json, the run."""

    def __init__(self, *words, output=None, **options):
        self.folder = output or tempfile.mkdtemp(prefix="sonde-test-")
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("timeout", 200)
        done = subprocess.run([SONDE, "loopback", "--output", self.folder, *words],
                              stderr=subprocess.PIPE, check=False, **options)
        self.code = done.returncode
        self.out = (done.stdout or b"").decode()
        self.err = done.stderr.decode()
        if output is None:
            self.archives = archives_in(self.folder)
            shutil.rmtree(self.folder)

    @property
    def run(self):
        return json.loads(self.out)

    @property
    def cases(self):
        return self.run["cases"]


def archives_in(folder):
    """What lies in an output folder, hidden files too."""
    return sorted(os.listdir(folder))


def measure(*words, **options):
    done = Run("--json", *words, **options)
    assert done.code == 0, done.err
    return done.run


class Case(unittest.TestCase):
    def assert_adds_up(self, run):
        for case in run["cases"]:
            self.assertNotEqual(case["status"], "error", case)
            for phase in case["phases"].values():
                if phase is not None:
                    self.assert_phase_adds_up(phase)

    def assert_phase_adds_up(self, phase):
        for leg in (phase["forward"], phase["reverse"]):
            refused = sum(leg["refused"].values())
            self.assertEqual(leg["attempted"], leg["sent"] + refused)
            self.assertEqual(leg["sent"], leg["received"] + leg["late"] + leg["lost"])
            self.assertEqual(leg["lost"], sum(leg["lost_to"].values()))
        self.assertEqual(phase["lost_echoes"],
                         phase["forward"]["lost"] + phase["reverse"]["lost"] +
                         sum(phase["reverse"]["refused"].values()))

    def assert_one_error(self, done, code, *words):
        self.assertEqual(done.code, code, done.err)
        self.assertEqual(done.out, "")
        self.assertEqual(done.err.count("\n"), 1, done.err)
        for word in words:
            self.assertIn(word, done.err)

    def assert_losing_cells_are_explained(self, run):
        """Each lost echo is a drop of the echo socket, in every repeat, as predicted."""
        losing = {}
        for case in run["cases"]:
            measured = case["phases"]["measure"]
            forward = measured["forward"]
            self.assertEqual(forward["lost_to"]["unattributed"], 0, case)
            self.assertEqual(measured["reverse"]["lost"], 0, case)
            self.assertEqual(forward["lost_to"]["receive_buffer"], measured["lost_echoes"], case)
            burst = case["first_burst"]
            self.assertAlmostEqual(burst["predicted_lost"], burst["lost"], delta=1)
            cell = (case["payload"], case["window"], case["engine"])
            losing.setdefault(cell, []).append((measured["lost_echoes"], burst["sent"]))
        for cell, repeats in losing.items():
            lost = [n for n, _ in repeats]
            self.assertLessEqual(max(lost) - min(lost), 0.01 * repeats[0][1], cell)
        return {cell: repeats[0][0] for cell, repeats in losing.items()}


class Matrix(Case):
    WORDS = ["--payload", "1472,8192,65507", "--window", "1,16,64", "--repeat", "3",
             "--rcvbuf", "4194304", *QUICK]

    def test_every_lost_echo_is_a_drop_of_the_echo_socket(self):
        run = measure(*self.WORDS)
        self.assert_adds_up(run)
        self.assertEqual(len(run["cases"]), 27)
        lost = self.assert_losing_cells_are_explained(run)
        granted = run["cases"][0]["sockets"]["rcvbuf"]["granted"]
        if granted == 8 << 20:  # this host's limit allows what is asked
            passed = {cell[:2] for cell, n in lost.items() if n == 0}
            self.assertEqual(passed, {(1472, 1), (1472, 16), (1472, 64), (8192, 1), (8192, 16),
                                      (65507, 1)})

    def test_a_noisy_neighbour_changes_nothing(self):
        with udp_lab.NoisyNeighbour():
            run = measure(*self.WORDS)
        self.assert_adds_up(run)
        self.assert_losing_cells_are_explained(run)
        noise = run["hosts"][0]["counters"]["idle"]["delta"]["udp.receive_buffer_full"]
        self.assertGreater(noise, 0, "the neighbour must be visible, or this test shows nothing")

    def test_every_engine_and_family_loses_alike(self):
        lost = []
        for family in ("ipv4", "ipv6"):
            run = measure("--engine", "all", "--payload", "44,8192", "--window", "64", "--repeat",
                          "1", "--rcvbuf", "212992", "--family", family, *QUICK)
            self.assert_adds_up(run)
            cells = self.assert_losing_cells_are_explained(run)
            lost.append({engine: {payload: n for (payload, _, e), n in cells.items()
                                  if e == engine} for _, _, engine in cells})
        for by_engine in lost:
            self.assertEqual(len({json.dumps(v) for v in by_engine.values()}), 1, by_engine)

    def test_the_figures_of_a_host_are_there(self):
        host = measure("--payload", "48", "--window", "1", "--repeat", "1", *QUICK)["hosts"][0]
        self.assertEqual(host["role"], "local")
        self.assertTrue(host["limits_unchanged"])
        self.assertGreater(host["cpus"], 0)
        self.assertGreater(host["counters"]["delta"]["udp.sent"], 0)
        self.assertIn("jansson", host["libraries"])


class Prediction(Case):
    """The first burst, predicted and measured, at every step of the charge per datagram."""

    def test_prediction_and_measurement_agree_around_every_step(self):
        steps = udp_lab.steps(44, 20000)
        self.assertGreater(len(steps), 3, steps)
        mtu = int(pathlib.Path("/sys/class/net/lo/mtu").read_text())
        around = {44, 48, 100, 65506, 65507, 40000} | {
            size + d for size in [*steps, mtu - 28, 16356] for d in (-1, 0, 1)}
        payloads = sorted(p for p in around if p == 44 or 48 <= p <= 65507)
        limit = int(pathlib.Path("/proc/sys/net/core/rmem_max").read_text())
        # A sanitizer has nothing to say about the larger ones.
        for rcvbuf in (212992,) if SANITIZED else (212992, 1 << 20, 4 << 20, 8 << 20):
            # As large a burst as overflows the buffer with the smallest datagrams.
            window = min(rcvbuf, limit) * 2 // 700 // 16 + 2
            run = measure("--payload", ",".join(map(str, payloads)), "--window", str(window),
                          "--repeat", "1", "--rcvbuf", str(rcvbuf), "--warmup", "0", "--seconds",
                          "0.02", "--idle", "0")
            for case in run["cases"]:
                burst = case["first_burst"]
                self.assertGreater(burst["lost"], 0, "a burst that fits shows nothing")
                self.assertAlmostEqual(burst["predicted_lost"], burst["lost"], delta=1,
                                       msg=(rcvbuf, case["payload"], case["sockets"]))

    def test_a_buffer_that_the_kernel_caps_is_named_and_the_run_goes_on(self):
        limit = int(pathlib.Path("/proc/sys/net/core/rmem_max").read_text())
        done = Run("--payload", "8192", "--window", "64", "--repeat", "1", "--rcvbuf",
                   str(limit * 4), *QUICK)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("net.core.rmem_max", done.out)
        run = measure("--payload", "8192", "--window", "64", "--repeat", "1", "--rcvbuf",
                      str(limit * 4), *QUICK)
        rcvbuf = run["cases"][0]["sockets"]["rcvbuf"]
        self.assertEqual(rcvbuf, {"asked": limit * 4, "granted": limit * 2,
                                  "limit": "net.core.rmem_max"})


class Models(Case):
    def test_split_with_one_client_loses_nothing(self):
        if SANITIZED:
            self.skipTest("a sanitizer's reader is too slow to race a burst")
        words = ["--io-model", "split", "--io-threads", "1", "--clients", "1", "--repeat", "1",
                 "--engine", "batch", *QUICK]
        for sizes, window in (("64,1472,8192", "64"), ("65507", "16")):
            run = measure("--payload", sizes, "--window", window, *words)
            self.assert_adds_up(run)
            for case in run["cases"]:
                self.assertEqual(case["status"], "pass", case)
                self.assertIsNone(case["first_burst"]["predicted_lost"])

    def test_many_clients_and_threads(self):
        for model in ("shared", "split"):
            run = measure("--clients", "300", "--io-threads", "4", "--io-model", model,
                          "--payload", "44,1472", "--window", "2", "--repeat", "1", *QUICK)
            self.assert_adds_up(run)
            for case in run["cases"]:
                sent = case["phases"]["measure"]["forward"]["sent"]
                self.assertGreaterEqual(sent, 600)

    def test_work_is_not_round_trip_time(self):
        run = measure("--clients", "1", "--payload", "100", "--window", "1", "--repeat", "1",
                      "--work", "2000000", *QUICK)
        case = run["cases"][0]
        self.assertLess(case["phases"]["measure"]["echoes_per_second"], 501)
        self.assertLess(case["rtt_ns"]["p50"], 2000000)

    def test_an_open_loop_keeps_its_pace_or_says_how_it_slipped(self):
        run = measure("--clients", "2", "--payload", "100", "--window", "3", "--repeat", "1",
                      "--interval", "10000000", "--warmup", "0", "--seconds", "0.5", "--idle", "0")
        measured = run["cases"][0]["phases"]["measure"]
        self.assert_adds_up(run)
        bursts = measured["forward"]["attempted"] / 6 + measured["skipped_bursts"] / 1
        self.assertAlmostEqual(bursts, 50, delta=2)
        self.assertGreaterEqual(measured["slip_ns"], 0)

    def test_the_one_case_command_of_the_first_measurement(self):
        done = Run(*"--protocol udp --payload 65507 --clients 16 --window 1 --io-model shared "
                    "--io-threads 1 --work 0 --warmup 0.25 --seconds 1".split(), "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual({c["status"] for c in done.cases}, {"pass"})

    def test_memory_stays_small(self):
        if SANITIZED:
            self.skipTest("a sanitizer's memory is not ours")
        script = ("import resource, subprocess, sys\n"
                  "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL,"
                  " stderr=subprocess.DEVNULL)\n"
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", script, SONDE, "loopback", "--output",
                                   folder, *Matrix.WORDS], stdout=subprocess.PIPE, check=True)
        self.assertLess(int(done.stdout), 64 << 10, "KiB")


class Usage(Case):
    REFUSED = [
        (["--payload", "43"], "44"), (["--payload", "45"], "48"), (["--payload", "47"], "48"),
        (["--payload", "65508"], "65507"), (["--family", "ipv6", "--payload", "65528"], "65527"),
        (["--payload", "0"], "44"), (["--payload", "-1"], "44"), (["--payload", "abc"], "44"),
        (["--payload", "1e3"], "44"), (["--payload", "1472,,8192"], "empty"),
        (["--payload", "1472,"], "empty"), (["--payload", ""], "empty"),
        (["--payload", "1472,1472"], "twice"), (["--window", "0"], "from 1"),
        (["--clients", "0"], "from 1"), (["--repeat", "0"], "from 1"),
        (["--engine", "bach"], "batch"), (["--engine", "uring"], "uring"),
        (["--engine", "batch,"], "not allowed"), (["--protocol", "tcp"], "udp"),
        (["--paylod", "1472"], "--payload"), (["--seconds", "0"], "0.01"),
        (["--seconds", "nan"], "number"), (["--clients", "60000", "--window", "65536"], "at most"),
        (["stray"], "stray"),
    ]

    def test_each_bad_value_gets_one_line_and_exit_2(self):
        for words, allowed in self.REFUSED:
            with self.subTest(words=words):
                done = Run(*words)
                self.assert_one_error(done, 2, allowed)
                self.assertEqual(done.archives, [])

    def test_clients_beyond_the_descriptor_limit(self):
        done = Run("--clients", "500", preexec_fn=lambda: __import__("resource").setrlimit(
            __import__("resource").RLIMIT_NOFILE, (200, 200)))
        self.assert_one_error(done, 2, "descriptors", "500")

    def test_an_output_folder_that_cannot_be_made_is_refused_before_measuring(self):
        began = time.monotonic()
        done = Run(output="/dev/null/runs")
        self.assert_one_error(done, 2, "/dev/null")
        self.assertLess(time.monotonic() - began, 5)

    def test_check_exits_3_when_a_case_fails(self):
        words = ["--payload", "8192", "--window", "64", "--repeat", "1", "--rcvbuf", "212992"]
        self.assertEqual(Run(*words, *QUICK, "--check").code, 3)
        self.assertEqual(Run(*words, *QUICK).code, 0)


class Surroundings(Case):
    WORDS = ["--payload", "1472", "--window", "4", "--repeat", "1", *QUICK]

    def test_no_home_no_locale_no_stdin(self):
        env = {"PATH": os.environ["PATH"], "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"}
        for name in os.environ:
            if "SAN_OPTIONS" in name:
                env[name] = os.environ[name]
        run = measure(*self.WORDS, env=env)
        started = time.strptime(run["started"], "%Y-%m-%dT%H:%M:%SZ")
        self.assertLess(abs(__import__("calendar").timegm(started) - time.time()), 60)

    def test_json_is_alone_on_stdout(self):
        done = Run("--json", *self.WORDS)
        self.assertEqual(done.out.count("\n"), 1)
        self.assertEqual(done.run["schema"], "sonde.run/1")

    def test_a_full_stdout_is_an_error_and_the_archive_is_there(self):
        with open("/dev/full", "wb") as full:
            done = Run(*self.WORDS, stdout=full)
        self.assertEqual(done.code, 1)
        self.assertIn("standard output", done.err)
        self.assertEqual(len(done.archives), 1)

    def test_a_closed_stdout_is_an_error_and_no_datagram_goes_there(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", SONDE, "loopback",
                                   "--output", folder, *self.WORDS], stderr=subprocess.PIPE,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(len(archives_in(folder)), 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become nobody")
    def test_nobody_can_run_it(self):
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            copy = os.path.join(folder, "sonde")
            shutil.copy(SONDE, copy)
            os.chmod(copy, 0o755)
            done = subprocess.run([copy, "loopback", "--json", "--output", folder + "/runs",
                                   *self.WORDS], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[],
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_adds_up(json.loads(done.stdout))

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a small file system")
    def test_a_full_disk_keeps_what_was_measured(self):
        with tempfile.TemporaryDirectory() as top:
            small = os.path.join(top, "small")
            spare = os.path.join(top, "spare")
            os.mkdir(small)
            os.mkdir(spare)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], check=True)
            try:
                done = Run(*self.WORDS, output=small, env={**os.environ, "TMPDIR": spare})
                self.assertEqual(done.code, 1)
                self.assertIn("No space left", done.err)
                self.assertEqual(archives_in(small), [])
            finally:
                subprocess.run(["umount", small], check=True)
            kept = archives_in(spare)
            self.assertEqual(len(kept), 1, done.err)
            self.assertEqual(subprocess.run(["sha256sum", "-c", "SHA256SUMS"], check=False,
                                            cwd=os.path.join(spare, kept[0]),
                                            stdout=subprocess.DEVNULL).returncode, 0)

    def test_an_archive_checks_and_fits_the_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not here")
        with tempfile.TemporaryDirectory() as folder:
            Run("--payload", "8192,65507", "--window", "1,64", "--repeat", "2", "--engine", "all",
                *QUICK, output=folder)
            archive = pathlib.Path(folder, archives_in(folder)[0])
            subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=archive, check=True)
            run = json.loads((archive / "run.json").read_text())
            schema = json.loads((ROOT / "docs" / "run.schema.json").read_text())
            jsonschema.Draft202012Validator(schema).validate(run)
            done = subprocess.run([SONDE, "report", str(archive)], stdout=subprocess.PIPE,
                                  check=False)
            self.assertEqual(done.returncode, 0)


class Signals(Case):
    def start(self, folder, *words):
        return subprocess.Popen([SONDE, "loopback", "--output", folder, "--payload", "1472",
                                 "--window", "1", "--idle", "0", *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL)

    def end(self, process, *numbers, pause=0.3):
        for number in numbers:
            time.sleep(pause)
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out.decode(), err.decode()

    def test_one_interrupt_finishes_the_case_and_archives(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as folder:
                process = self.start(folder, "--repeat", "100", "--warmup", "0", "--seconds", "1",
                                     "--json")
                code, out, err = self.end(process, number, pause=0.5)
                self.assertEqual(code, 1, err)
                run = json.loads(out)
                self.assertTrue(run["interrupted"])
                self.assertEqual(len(run["cases"]), 1)
                self.assert_adds_up(run)
                self.assertEqual(len(archives_in(folder)), 1)
                report = subprocess.run([SONDE, "report",
                                         os.path.join(folder, archives_in(folder)[0])],
                                        stdout=subprocess.DEVNULL, check=False)
                self.assertEqual(report.returncode, 0)

    def test_a_second_interrupt_stops_at_once_without_half_an_archive(self):
        with tempfile.TemporaryDirectory() as folder:
            process = self.start(folder, "--repeat", "3", "--warmup", "0", "--seconds", "50")
            began = time.monotonic()
            code, _, err = self.end(process, signal.SIGINT, signal.SIGINT)
            self.assertEqual(code, 1, err)
            self.assertLess(time.monotonic() - began, 20)
            for name in archives_in(folder):
                self.assertIn("run.json", os.listdir(os.path.join(folder, name)))
                self.assertIn("SHA256SUMS", os.listdir(os.path.join(folder, name)))

    def test_killed_at_any_moment_it_leaves_no_half_archive(self):
        for moment in (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35):
            with tempfile.TemporaryDirectory() as folder:
                process = self.start(folder, "--repeat", "2", "--warmup", "0", "--seconds", "0.1")
                self.end(process, signal.SIGKILL, pause=moment)
                for name in archives_in(folder):
                    if name.startswith("."):
                        continue  # a name that no reader takes for an archive
                    self.assertIn("SHA256SUMS", os.listdir(os.path.join(folder, name)))


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
