#!/usr/bin/env python3
"""The manual pages and the programs name the same commands and flags, with the same placeholders
and defaults; mandoc, where it is installed, has nothing to say about the pages.

usage: test_manual.py PATH-OF-SONDE
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANUAL = os.path.join(ROOT, "docs", "sonde.1")
CERTS, CERTS_MANUAL = [os.path.join(ROOT, path) for path in ("certs/sonde-certs",
                                                             "docs/sonde-certs.1")]
SONDE = "sonde"

HELP_FLAG = re.compile(r"^  --([a-z-]+)(?: (\S+))?(?=  |$)", re.MULTILINE)
HELP_DEFAULT = re.compile(r";\s+default\s+([^)]*)\)")
MANUAL_FLAG = re.compile(r"^\.It Fl -(\S+)(?: Ar (\S+))?$", re.MULTILINE)
MANUAL_DEFAULT = re.compile(r"^Default: (.*)\.$", re.MULTILINE)


def flags(pattern, default, text):
    """{flag: (placeholder or None, default or None)}; a flag's text goes on to the next flag's."""
    found, starts = {}, list(pattern.finditer(text))
    for start, after in zip(starts, starts[1:] + [None]):
        described = text[start.end():after.start() if after else len(text)]
        value = default.search(described)
        found[start.group(1)] = (start.group(2), value.group(1) if value else None)
    return found


def flags_of_help(text):
    """What `sonde COMMAND --help` says, --help itself left out: the page has it once for all."""
    section = text.split("\nFlags:\n", 1)[1].split("\n\n", 1)[0]
    found = flags(HELP_FLAG, HELP_DEFAULT, re.sub(r"\n {7,}", "  ", section))
    del found["help"]
    return found


def lint_of_mandoc(page):
    """(exit code, words), or None where mandoc is not installed."""
    if shutil.which("mandoc") is None:
        return None
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout.decode()


def flags_of_manual(page):
    """{command: flags} of a page, "" being what stands before the first command."""
    parts = re.split(r"^\.(?:Ss sonde (\S+)|S[hs] .*)$", page, flags=re.MULTILINE)
    found = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        these = flags(MANUAL_FLAG, MANUAL_DEFAULT, text)
        if name or these:
            found[name or ""] = these
    return found


def ask(*words):
    done = subprocess.run([SONDE, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=60, check=True)
    return done.stdout.decode()


class Readers(unittest.TestCase):
    """What these tests would see of a difference."""

    HELP = ("Usage: sonde x\n\nFlags:\n  --payload BYTES,...  sizes, bytes (each an\n"
            "                       integer; default\n                       1,2)\n"
            "  --json               print --nothing else\n  --help               print this\n\n"
            "Examples:\n  --no-flag\n")
    PAGE = (".Sh A\n.It Fl -version\nx\n.Ss sonde x\n.It Fl -payload Ar BYTES,...\nSizes.\n"
            "Default: 1,2.\n.It Fl -json\nText.\n.Sh B\n.It Ev NO\n")

    def test_help(self):
        self.assertEqual({"payload": ("BYTES,...", "1,2"), "json": (None, None)},
                         flags_of_help(self.HELP))

    def test_manual(self):
        self.assertEqual({"": {"version": (None, None)},
                          "x": {"payload": ("BYTES,...", "1,2"), "json": (None, None)}},
                         flags_of_manual(self.PAGE))


class Manual(unittest.TestCase):
    def setUp(self):
        with open(MANUAL, encoding="ascii") as file:
            self.page = file.read()
        listed = ask("--help").split("\nCommands:\n", 1)[1].split("\n\n", 1)[0]
        self.commands = re.findall(r"^  (\S+)", listed, re.MULTILINE)

    def test_commands_are_the_program_s(self):
        self.assertIn("loopback", self.commands)
        self.assertEqual({"", *self.commands}, set(flags_of_manual(self.page)))
        synopsis = self.page.split(".Sh SYNOPSIS", 1)[1].split(".Sh", 1)[0]
        self.assertEqual({"help", *self.commands}, set(re.findall(r"^\.Cm (\S+)", synopsis,
                                                                  re.MULTILINE)))

    def test_flags_are_the_program_s(self):
        found = flags_of_manual(self.page)
        self.assertEqual({"help", "version"}, set(found[""]))
        for command in self.commands:
            told = flags_of_help(ask(command, "--help"))
            self.assertTrue(told, command)
            self.assertEqual(set(told), set(found[command]), command)
            for name, (placeholder, default) in told.items():
                self.assertEqual(placeholder, found[command][name][0], f"{command} --{name}")
                if default is not None:
                    self.assertEqual(default, found[command][name][1], f"{command} --{name}")

    def test_no_other_flag_is_spoken_of(self):
        known = {name for these in flags_of_manual(self.page).values() for name in these}
        for name in re.findall(r"\bFl -(\S+)", self.page) + re.findall(r"--([a-z-]+)", self.page):
            self.assertIn(name, known)

    def test_mandoc_has_nothing_to_say(self):
        self.assertIn(lint_of_mandoc(MANUAL), [None, (0, "")])


class CertsManual(unittest.TestCase):
    """sonde-certs has one list of commands and one of options."""

    def setUp(self):
        with open(CERTS_MANUAL, encoding="ascii") as file:
            self.page = file.read()
        self.help = subprocess.run([CERTS, "--help"], stdout=subprocess.PIPE, timeout=60,
                                   check=True).stdout.decode()

    def test_commands_are_the_program_s(self):
        listed = self.help.split("\nCommands:\n", 1)[1].split("\n\n", 1)[0]
        told = [row.rstrip().replace("|", " | ") for row in
                re.findall(r"^  ((?:\S+ )+)", listed, re.MULTILINE)]
        self.assertIn("agent NAME", told)
        described = [re.sub(r" Op Ar (.*)", r" [\1]", row).replace(" Ar", "")
                     for row in re.findall(r"^\.It Cm (.*)$", self.page, re.MULTILINE)]
        self.assertEqual(told, described)
        synopsis = self.page.split(".Sh SYNOPSIS", 1)[1].split(".Sh", 1)[0]
        self.assertEqual([row.split()[0] for row in told] + ["help"],
                         re.findall(r"^\.Cm (\S+)", synopsis, re.MULTILINE))

    def test_options_are_the_program_s(self):
        section = self.help.split("\nOptions:\n", 1)[1].split("\n\n", 1)[0]
        told = flags(HELP_FLAG, re.compile(r"\(default: ([^)]*)\)"),
                     re.sub(r"\n {7,}", " ", section))
        self.assertIn("domain", told)
        found = flags(MANUAL_FLAG, MANUAL_DEFAULT, self.page.split(".Sh ENVIRONMENT")[0])
        self.assertEqual(told, found)
        for name in re.findall(r"\bFl -(\S+)", self.page) + re.findall(r" --([a-z-]+)", self.page):
            self.assertIn(name, told)

    def test_mandoc_has_nothing_to_say(self):
        self.assertIn(lint_of_mandoc(CERTS_MANUAL), [None, (0, "")])


if __name__ == "__main__":
    SONDE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
