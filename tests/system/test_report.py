#!/usr/bin/python3
"""sonde report reads archives, draws them, and refuses what does not add up.

usage: test_report.py PATH-OF-SONDE PATH-OF-MAKE-ARCHIVE

Archives are made by a tool of the tests; nothing is measured here.
"""
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

try:
    import jsonschema
except ImportError:
    jsonschema = None

SONDE = ""
MAKE_ARCHIVE = ""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHAPES = ("seed", "small", "split", "macos", "engines", "interrupted", "error", "capped")
BUFFERS_SHAPES = ("buffers", "buffers-small", "buffers-macos", "buffers-many", "buffers-one",
                  "buffers-interrupted", "buffers-error")
MTU_SHAPES = ("mtu", "mtu-flows", "mtu-sizes", "mtu-failed", "mtu-interrupted")
FIGURES = (("seed", "loss.svg"), ("buffers", "buffers.svg"), ("mtu-sizes", "mtu.svg"))
SCHEMAS = {"loopback": "run.schema.json", "buffers": "buffers.schema.json",
           "mtu": "mtu.schema.json"}
SECONDS = 20  # of one call; with sanitizers everything is slower
MEMORY_MIB = 1024  # a file of the largest size may be read, but not many times over


def run(*words, memory_mib=None, **options):
    """Exit code, stdout and stderr of one call."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))

    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    # Sanitizers reserve terabytes of addresses.
    if memory_mib is not None and not os.environ.get("SONDE_SANITIZE"):
        options["preexec_fn"] = limit
    done = subprocess.run([SONDE, "report", *words], stderr=subprocess.PIPE, timeout=SECONDS,
                          check=False, **options)
    return done.returncode, (done.stdout or b"").decode(), done.stderr.decode()


def make(parent, shape, *more):
    """The folder of a new sample archive."""
    done = subprocess.run([MAKE_ARCHIVE, parent, shape, *more], stdout=subprocess.PIPE,
                          check=True, timeout=SECONDS)
    return done.stdout.decode().rstrip("\n")


def first_line_of(shape):
    if shape in SHAPES:
        return "UDP loopback on probe-1"
    return "UDP buffers on probe-1" if shape in BUFFERS_SHAPES else "Path MTU from probe-1"


def measure_of(run_json, index):
    return run_json["cases"][index]["phases"]["measure"]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-report-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.svg = os.path.join(self.folder, "out.svg")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make(self, shape="small", *more):
        return make(self.path("runs"), shape, *more)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def load(self, archive):
        with open(os.path.join(archive, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def assert_refused(self, path, *words):
        """Exit 1, exactly one line that names file and place, nothing drawn, and soon."""
        began = time.monotonic()
        code, out, err = run(path, "--output", self.svg, memory_mib=MEMORY_MIB)
        self.assertLess(time.monotonic() - began, SECONDS / 2)
        self.assertEqual((code, out), (1, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith(f"sonde report: {path}"), err)
        self.assertNotRegex(err[:-1], r"[\x00-\x1f\x7f]")
        for word in words:
            self.assertRegex(err, word)
        self.assertFalse(os.path.exists(self.svg))


class Reading(Case):
    def test_every_shape_is_drawn_and_told(self):
        for shape in SHAPES + BUFFERS_SHAPES + MTU_SHAPES:
            with self.subTest(shape):
                archive = self.make(shape)
                code, out, err = run(archive, "--output", self.svg)
                self.assertEqual((code, out, err), (0, "", ""))
                self.assertTrue(ElementTree.parse(self.svg).getroot().tag.endswith("svg"))
                code, out, err = run(archive)
                self.assertEqual((code, err), (0, ""))
                self.assertTrue(out.startswith(first_line_of(shape)), out)
                self.assertTrue(out.isascii())
                code, again, err = run(os.path.join(archive, "run.json"))
                self.assertEqual((code, again, err), (0, out, ""))

    def test_several_archives_make_one_figure(self):
        archives = [self.make(shape) for shape in ("seed", "small", "macos")]
        code, _, err = run(*archives, "--output", self.svg)
        self.assertEqual((code, err), (0, ""))
        with open(self.svg, encoding="utf-8") as file:
            self.assertEqual(file.read().count('class="panel"'), 3)

    def test_several_buffers_archives_make_one_figure(self):
        archives = [self.make(shape) for shape in ("buffers", "buffers-macos")]
        code, _, err = run(*archives, "--output", self.svg)
        self.assertEqual((code, err), (0, ""))
        with open(self.svg, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count(">The queue over time"), 2)
        self.assertEqual(text.count(">Held against buffer"), 2)

    def test_kinds_that_do_not_stand_in_one_figure_are_named(self):
        seed, buffers, mtu = (self.make(shape) for shape in ("seed", "buffers", "mtu"))
        for pair in ((seed, buffers), (buffers, seed), (mtu, buffers), (seed, mtu)):
            code, out, err = run(*pair, "--output", self.svg)
            self.assertEqual((code, out), (2, ""), err)
            self.assertRegex(err, r"\Asonde report: --output: \S+ is of kind \w+ and \S+ of kind "
                                  r"\w+; draw a figure of each\n\Z")
            self.assertFalse(os.path.exists(self.svg))
        code, out, err = run(seed, buffers)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("UDP loopback on", out)
        self.assertIn("UDP buffers on", out)

    def test_the_archive_has_the_figure_that_report_draws(self):
        for shape, name in FIGURES:
            archive = self.make(shape)
            run(archive, "--output", self.svg)
            with open(self.svg, "rb") as mine, open(os.path.join(archive, name), "rb") as kept:
                self.assertEqual(mine.read(), kept.read())

    def test_sums_are_those_of_the_ordinary_tool(self):
        if shutil.which("sha256sum") is None:
            self.skipTest("no sha256sum here")
        for shape, name in FIGURES:
            done = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"],
                                  cwd=self.make(shape), stdout=subprocess.PIPE, check=False)
            self.assertEqual((done.returncode, done.stdout.decode()),
                             (0, f"run.json: OK\n{name}: OK\n"))

    def test_every_bad_archive_has_its_line(self):
        good = self.make()
        code, out, err = run("/nonexistent", good, "/dev/null", "--output", self.svg)
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, r"\Asonde report: /nonexistent: .*\nsonde report: /dev/null: .*\n\Z")
        self.assertFalse(os.path.exists(self.svg))

    def test_an_output_that_cannot_be_made_says_so(self):
        code, _, err = run(self.make(), "--output", self.path("no", "such", "x.svg"))
        self.assertEqual(code, 1)
        self.assertRegex(err, r"\Asonde report: .*x\.svg: No such file or directory\n\Z")

    def test_a_stdout_that_is_full_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        with open("/dev/full", "wb") as full:
            code, _, err = run(self.make(), stdout=full)
        self.assertEqual(code, 1)
        self.assertIn("standard output could not be written", err)

    def test_locale_and_time_zone_change_nothing(self):
        archive = self.make("seed")
        outputs = set()
        for env in ({"LC_ALL": "C"}, {"LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati"}):
            outputs.add(run(archive, env={**os.environ, **env}))
        self.assertEqual(len(outputs), 1)

    def test_an_mtu_archive_that_does_not_add_up_is_refused(self):
        def spoil(change):
            run_json = self.load(self.make("mtu"))
            change(run_json["cases"][2])
            return self.write("bad.json", json.dumps(run_json).encode())

        self.assert_refused(spoil(lambda c: c.update(udp_payload=1372)),
                            r": /cases/2/udp_payload: ")
        self.assert_refused(spoil(lambda c: c.update(verdict="clean")), r": /cases/2/verdict: ")
        self.assert_refused(spoil(lambda c: c.update(next_size=1400)), r": /cases/2/next_size: ")
        self.assert_refused(spoil(lambda c: c.update(flow=1)), r": /cases/2/flow: ")

    def test_usage(self):
        for words in ((), ("--schema", "x"), ("--schema",), ("--schema", "loopback", "x"),
                      ("--schema", "pair"), ("--outptu", "x"), ("--output",)):
            code, _, err = run(*words)
            self.assertEqual(code, 2, words)
            self.assertEqual(err.count("\n"), 1, err)


class Schema(Case):
    def schema(self, kind):
        code, out, err = run("--schema", kind)
        self.assertEqual((code, err), (0, ""))
        return out

    def validator(self, kind):
        schema = json.loads(self.schema(kind))
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema)

    def test_the_documents_have_what_report_prints(self):
        for kind, name in SCHEMAS.items():
            with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
                self.assertEqual(file.read(), self.schema(kind))

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_every_archive_follows_that_of_its_kind_alone(self):
        validators = {kind: self.validator(kind) for kind in SCHEMAS}
        for shape in SHAPES + BUFFERS_SHAPES + MTU_SHAPES:
            with self.subTest(shape):
                run_json = self.load(self.make(shape))
                validators[run_json["kind"]].validate(run_json)
                for kind in SCHEMAS.keys() - {run_json["kind"]}:
                    self.assertFalse(validators[kind].is_valid(run_json), kind)

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_they_refuse_what_is_out_of_range(self):
        self.check_spoilt("loopback", "small", (
            lambda r: r.update(kind="other"),
            lambda r: r["cases"][0].update(payload=-1),
            lambda r: r["cases"][0].update(window="1"),
            lambda r: r.pop("id"),
            lambda r: measure_of(r, 0)["forward"].update(sent=-1)))
        self.check_spoilt("buffers", "buffers-small", (
            lambda r: r["cases"][0].update(experiment="other"),
            lambda r: r["cases"][0].update(experiment="hold"),
            lambda r: r["cases"][5].pop("held"),
            lambda r: r["cases"][7].update(queue=[[1]]),
            lambda r: r["cases"][10]["owners"][0].pop("port"),
            lambda r: r["plan"].update(sends=0)))
        self.check_spoilt("mtu", "mtu-sizes", (
            lambda r: r["cases"][0].update(verdict="other"),
            lambda r: r["cases"][0].update(path_mtu=-1),
            lambda r: r["cases"][0].update(source_port=65536),
            lambda r: r["cases"][0].pop("confirmed"),
            lambda r: r["cases"][0]["loss_by_size"][0].pop("lost"),
            lambda r: r["sessions"][0].update(family="ipx"),
            lambda r: r["plan"].update(flows=257)))

    def check_spoilt(self, kind, shape, spoilers):
        validator, good = self.validator(kind), self.load(self.make(shape))
        for spoil in spoilers:
            bad = json.loads(json.dumps(good))
            spoil(bad)
            self.assertFalse(validator.is_valid(bad))


class Refusals(Case):
    """Each of these has exit 1, one line with file and place, and no output file."""

    def refuse_text(self, data, *words):
        self.assert_refused(self.write("bad.json", data), *words)

    def good_text(self):
        with open(os.path.join(self.make(), "run.json"), "rb") as file:
            return file.read()

    def refuse_changed(self, change, *words):
        run_json = self.load(self.make())
        change(run_json)
        self.refuse_text(json.dumps(run_json).encode(), *words)

    def test_missing(self):
        self.assert_refused(self.path("nothing"), r": No such file or directory$")

    def test_empty_file(self):
        self.refuse_text(b"", r"bad\.json: /: ")

    def test_half_a_file(self):
        text = self.good_text()
        self.refuse_text(text[:len(text) // 2], r"bad\.json: /cases/\d+")

    def test_nuls(self):
        self.refuse_text(bytes(4096), r"bad\.json: /: ")

    def test_text_before_the_json(self):
        self.refuse_text(b"warning: something\n" + self.good_text(), r"bad\.json: /: ")

    def test_text_behind_the_json(self):
        self.refuse_text(self.good_text() + b"done\n", r"bad\.json: /: ")

    def test_duplicate_key(self):
        text = self.good_text().replace(b'"window":1,', b'"window":1,"window":1,', 1)
        self.refuse_text(text, r"/cases/0", r"window")

    def test_byte_order_mark(self):
        self.refuse_text(b"\xef\xbb\xbf" + self.good_text(), r"byte order mark|BOM")

    def test_utf16(self):
        self.refuse_text(self.good_text().decode().encode("utf-16"), r"bad\.json: /: ")

    def test_not_utf8(self):
        self.refuse_text(self.good_text().replace(b"probe-1", b"probe\xff1"), r"/hosts/0/name")

    def test_unknown_schema(self):
        self.refuse_changed(lambda r: r.update(schema="sonde.run/2"), r": /schema: .*sonde\.run/2")

    def test_unknown_schema_of_another_form(self):
        self.refuse_text(b'{"schema": "sonde.run/9", "id": 5}', r": /schema: .*sonde\.run/9")

    def test_unknown_kind(self):
        self.refuse_changed(lambda r: r.update(kind="other"), r": /kind: ")

    def test_string_for_a_number(self):
        self.refuse_changed(lambda r: r["cases"][3].update(window="64"), r": /cases/3/window: ")

    def test_negative_count(self):
        self.refuse_changed(lambda r: measure_of(r, 2)["forward"].update(sent=-1),
                            r": /cases/2/phases/measure/forward/sent: ")

    def test_number_that_is_not_finite(self):
        text = self.good_text()
        for word in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
            with self.subTest(word):
                bad, count = re.subn(rb'"idle_s":1\b', b'"idle_s":' + word, text)
                self.assertEqual(count, 1)
                self.refuse_text(bad, r": /plan/idle_s")

    def test_number_beyond_64_bits(self):
        self.refuse_changed(
            lambda r: measure_of(r, 2)["forward"].update(duplicates=2 ** 63),
            r": /cases/2/phases/measure/forward/duplicates")

    def test_fraction_of_a_datagram(self):
        self.refuse_changed(lambda r: r["cases"][1].update(window=1.5), r": /cases/1/window: ")

    def test_missing_key(self):
        self.refuse_changed(lambda r: measure_of(r, 1)["reverse"].pop("late"),
                            r": /cases/1/phases/measure/reverse/late: ")

    def test_missing_cell(self):
        self.refuse_changed(lambda r: r["cases"].pop(5), r": /cases: case 5 is missing")

    def test_cell_twice(self):
        self.refuse_changed(lambda r: r["cases"].append(r["cases"][-1]),
                            r": /cases/8: the same cell as /cases/7")

    def refuse_buffers(self, change, *words):
        run_json = self.load(make(tempfile.mkdtemp(dir=self.folder), "buffers-small"))
        change(run_json)
        self.refuse_text(json.dumps(run_json).encode(), *words)

    def test_buffers_that_do_not_add_up(self):
        self.refuse_buffers(lambda r: r["cases"][5].update(held=13), r": /cases/5/held: ")
        self.refuse_buffers(lambda r: r["cases"][7].update(lost=0), r": /cases/7/lost: ")
        self.refuse_buffers(lambda r: r["cases"].pop(6), r": /cases: case 6 is missing \(sweep\)")
        self.refuse_buffers(lambda r: r["cases"][4].update(experiment="sweep"),
                            r": /cases/4/experiment: sweep, but the plan has hold")

    def test_buffers_of_another_form(self):
        self.refuse_buffers(lambda r: r["cases"][4].update(experiment="x"),
                            r": /cases/4/experiment: ")
        self.refuse_buffers(lambda r: r["cases"][4].pop("held"), r": /cases/4/held: missing")
        self.refuse_buffers(lambda r: r["cases"][7]["queue"].append([1]),
                            r": /cases/7/queue/\d+: .*a pair of numbers")
        self.refuse_buffers(lambda r: r.update(kind="loopback"), r": /plan/payloads|/plan/windows")

    def test_leg_that_does_not_add_up(self):
        def change(run_json):
            measure_of(run_json, 3)["forward"]["received"] += 1
        self.refuse_changed(change, r": /cases/3/phases/measure/forward/sent: ")

    def test_places_that_do_not_add_up(self):
        def change(run_json):
            measure_of(run_json, 3)["forward"]["lost_to"]["network"] += 1
        self.refuse_changed(change, r": /cases/3/phases/measure/forward/lost: ")

    def test_wrong_sum(self):
        archive = self.make()
        with open(os.path.join(archive, "run.json"), "ab") as file:
            file.write(b"\n")
        self.assert_refused(archive, r"run\.json: its SHA-256 is")
        self.assert_refused(os.path.join(archive, "run.json"), r"its SHA-256 is")

    def test_changed_figure(self):
        archive = self.make()
        with open(os.path.join(archive, "loss.svg"), "ab") as file:
            file.write(b"<!-- -->")
        self.assert_refused(archive, r"loss\.svg: its SHA-256 is")

    def test_valid_sums_do_not_excuse_a_bad_run(self):
        archive = self.make()
        run_json = self.load(archive)
        measure_of(run_json, 3)["lost_echoes"] = 0
        data = json.dumps(run_json).encode()
        with open(os.path.join(archive, "run.json"), "wb") as file:
            file.write(data)
        with open(os.path.join(archive, "SHA256SUMS"), "w", encoding="ascii") as file:
            file.write(f"{hashlib.sha256(data).hexdigest()}  run.json\n")
        self.assert_refused(archive, r"run\.json: /cases/3/phases/measure/lost_echoes: ")

    def test_too_large(self):
        path = self.write("bad.json", b"")
        os.truncate(path, 300 << 20)
        self.assert_refused(path, r"too large")

    def test_nesting(self):
        deep = b'{"schema":' + b"[" * 1000 + b"]" * 1000 + b"}"
        self.refuse_text(deep, r"bad\.json: /schema", r"32|nest")

    def test_loop_of_links(self):
        os.symlink(self.path("b"), self.path("a"))
        os.symlink(self.path("a"), self.path("b"))
        self.assert_refused(self.path("a"), r": Too many levels of symbolic links")

    def test_what_is_no_file(self):
        os.mkfifo(self.path("pipe"))
        self.assert_refused(self.path("pipe"), r"not a regular file")
        self.assert_refused("/dev/zero", r"not a regular file")
        os.mkdir(self.path("empty"))
        self.assert_refused(self.path("empty"), r"SHA256SUMS: No such file")

    def test_control_bytes_in_what_is_refused(self):
        path = self.write("a\x1b[2Jb.json", b"{")
        code, _, err = run(path)
        self.assertEqual(code, 1)
        self.assertNotIn("\x1b", err)


class HostileNames(Case):
    NAMES = (r"</text><script>alert(1)</script>", r'" onload="x', r"&amp; &#0; ]]>",
             r"\xe2\x80\xaegnp.exe", r"\x01\x02 \x1b[2J", r"\xe2\x81\xa6x", "x" * 255,
             r"\xe6\x9d\xb1" * 85)

    def check_svg(self, path):
        for element in ElementTree.parse(path).iter():
            self.assertFalse(element.tag.lower().endswith(("script", "foreignobject", "image")))
            for name, value in element.attrib.items():
                self.assertFalse(name.lower().startswith("on"), name)
                self.assertNotIn("href", name)
                self.assertNotIn("javascript", value)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
        if shutil.which("xmllint") is not None:
            subprocess.run(["xmllint", "--noout", path], check=True)

    def test_a_host_name_is_only_text(self):
        for i, name in enumerate(self.NAMES):
            with self.subTest(name):
                buffers = make(self.path(f"runs{i}"), "buffers-small", name)
                self.check_svg(os.path.join(buffers, "buffers.svg"))
                archive = make(self.path(f"runs{i}"), "small", name)
                self.check_svg(os.path.join(archive, "loss.svg"))
                code, _, err = run(archive, "--output", self.svg)
                self.assertEqual((code, err), (0, ""))
                self.check_svg(self.svg)
                code, out, err = run(archive)
                self.assertEqual((code, err), (0, ""))
                self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    SONDE, MAKE_ARCHIVE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
