#!/usr/bin/python3
"""The sonde binary as a user meets it: help, versions, misspelt words, broken standard descriptors.

usage: test_cli.py PATH-OF-SONDE

What a command measures is tested elsewhere; of commands only the help is looked at here.
"""
import os
import re
import subprocess
import sys
import time
import unittest

SONDE = ""
COMMANDS = ("loopback", "report", "budget", "counters")


def run(*words, **options):
    """Exit code, stdout and stderr of one call."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([SONDE, *words], stderr=subprocess.PIPE, timeout=20, **options)
    return done.returncode, (done.stdout or b"").decode(), done.stderr.decode()


def run_shell(line):
    """The same through a shell, where `sonde` is the binary."""
    script = f'sonde() {{ "$SONDE" "$@"; }}\n{line}'
    done = subprocess.run(["/bin/sh", "-c", script], env={**os.environ, "SONDE": SONDE},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=20)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Case(unittest.TestCase):
    def assert_one_line(self, text, *words):
        """Exactly one line that has these words and no control bytes."""
        self.assertTrue(text.endswith("\n"), repr(text))
        self.assertEqual(text.count("\n"), 1, repr(text))
        self.assertNotRegex(text[:-1], r"[\x00-\x1f\x7f\x80-\x9f]")
        for word in words:
            self.assertIn(word, text)

    def assert_fits(self, text):
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100, line)


class Usage(Case):
    def test_version_names_the_sources(self):
        code, out, err = run("--version")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\Asonde \d+\.\d+\.\d+ \(source [0-9a-f]{64}\)\n\Z")

    def test_help_lists_every_command(self):
        code, out, err = run("--help")
        self.assertEqual((code, err), (0, ""))
        for command in COMMANDS:
            self.assertRegex(out, rf"(?m)^  {command} +\S")
        self.assert_fits(out)
        self.assertEqual(run("help"), (code, out, err))
        self.assertEqual(run("-h"), (code, out, err))

    def test_no_words_are_wrong_usage(self):
        code, out, err = run()
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, run("--help")[1])

    def test_each_command_has_its_help(self):
        for command in COMMANDS:
            with self.subTest(command):
                code, out, err = run(command, "--help")
                self.assertEqual((code, err), (0, ""))
                self.assertTrue(out.startswith(f"Usage: sonde {command} "), out)
                self.assertRegex(out, r"(?m)^  --help +\S")
                self.assert_fits(out)
                self.assertEqual(run("help", command), (code, out, err))

    def test_a_misspelt_command_gets_the_nearest_suggested(self):
        for word, meant in (("lopback", "loopback"), ("reprot", "report"), ("hlep", "help"),
                            ("--verison", "--version"), ("--hlep", "--help")):
            with self.subTest(word):
                code, out, err = run(word)
                self.assertEqual((code, out), (2, ""))
                self.assert_one_line(err, f'"{word}"', f"did you mean {meant}?")
                self.assert_one_line(run("help", word)[2], f'"{word}"')

    def test_an_unknown_word_is_shown_short_and_masked(self):
        code, out, err = run("x\n\x1b[2J")
        self.assertEqual((code, out), (2, ""))
        self.assert_one_line(err, 'unknown command "x??[2J"')
        self.assertNotIn("did you mean", err)
        code, out, err = run("y" * 10000)
        self.assertEqual((code, out), (2, ""))
        self.assert_one_line(err)
        self.assertLess(len(err), 200)
        self.assert_one_line(run("")[2], 'unknown command ""')

    def test_words_behind_help_and_version_are_refused(self):
        for words in (("--version", "x"), ("help", "budget", "x")):
            code, out, err = run(*words)
            self.assertEqual((code, out), (2, ""))
            self.assert_one_line(err, words[0])

    def test_a_misspelt_flag_gets_the_nearest_suggested(self):
        for command in COMMANDS:
            with self.subTest(command):
                code, out, err = run(command, "--hlep")
                self.assertEqual((code, out), (2, ""))
                self.assert_one_line(err, f"sonde {command}: ", "did you mean --help?",
                                     f"try 'sonde {command} --help'")


class StandardDescriptors(Case):
    def assert_stdout_failed(self, result, reason):
        code, _, err = result
        self.assertEqual(code, 1)
        self.assert_one_line(err, "standard output", reason)

    def test_a_closed_stdout_is_an_error(self):
        self.assert_stdout_failed(run_shell("sonde --version >&-"), "Bad file descriptor")

    def test_all_three_may_be_closed(self):
        code, out, err = run_shell("sonde --version <&- >&- 2>&-")
        self.assertEqual((code, out, err), (1, "", ""))

    def test_a_closed_stdin_or_stderr_is_no_error(self):
        code, out, err = run_shell("sonde --version <&- 2>&-")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith("sonde "))

    @unittest.skipUnless(os.path.exists("/dev/full"), "this system has no /dev/full")
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            self.assert_stdout_failed(run("--help", stdout=full), "No space left on device")

    def test_a_reader_that_went_away_is_an_error_not_a_signal(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        try:
            self.assert_stdout_failed(run("--help", stdout=write_end), "Broken pipe")
        finally:
            os.close(write_end)

    def test_another_exit_code_is_kept(self):
        code, _, err = run_shell("sonde nonsense >&-")
        self.assertEqual(code, 2)
        self.assert_one_line(err, "nonsense")

    def test_no_descriptor_is_left_for_a_socket_to_take(self):
        """While a command runs, what was closed points to /dev/null."""
        if not os.path.isdir("/proc/self/fd") or "--watch" not in run("counters", "--help")[1]:
            self.skipTest("needs /proc and a command that waits")
        watch = subprocess.Popen([SONDE, "counters", "--watch", "20"], stdout=subprocess.PIPE,
                                 preexec_fn=lambda: (os.close(0), os.close(2)))
        try:
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and not self.is_null(watch.pid, 2):
                time.sleep(0.02)
            self.assertTrue(self.is_null(watch.pid, 0) and self.is_null(watch.pid, 2))
            self.assertIsNone(watch.poll())
        finally:
            watch.kill()
            watch.communicate()

    @staticmethod
    def is_null(pid, descriptor):
        try:
            return os.readlink(f"/proc/{pid}/fd/{descriptor}") == "/dev/null"
        except OSError:
            return False


class Surroundings(Case):
    def test_locale_time_zone_and_home_change_nothing(self):
        plain = run("--help")
        for env in ({}, {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kathmandu"}, {"HOME": "/nowhere"}):
            self.assertEqual(run("--help", env=env), plain)
        self.assertFalse(re.search("[^\x00-\x7f]", plain[1]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    SONDE = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
