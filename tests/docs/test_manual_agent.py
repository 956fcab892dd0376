#!/usr/bin/env python3
"""sonde-agent's manual page and the program name the same flags and the same keys of the
configuration, with the same defaults; mandoc, where it is installed, has nothing to say about it.

usage: test_manual_agent.py PATH-OF-SONDE-AGENT
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANUAL = os.path.join(ROOT, "docs", "sonde-agent.1")
AGENT = "sonde-agent"

HELP_FLAG = re.compile(r"^  --([a-z-]+)(?: (\S+))?(?=  |$)", re.MULTILINE)
MANUAL_ITEM = re.compile(r"^\.It (?:Fl -(?P<flag>\S+)(?: Ar (?P<word>\S+))?|Va (?P<key>\S+))$",
                         re.MULTILINE)
MANUAL_DEFAULT = re.compile(r"^Default: (.*)\.$", re.MULTILINE)


def ask(*words):
    return subprocess.run([AGENT, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=60, check=True).stdout.decode()


def keys(value, prefix=""):
    """{dotted key: value} of a nested mapping."""
    found = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            found.update(keys(inner, f"{prefix}{key}."))
        else:
            found[prefix + key] = inner
    return found


def as_text(value):
    """A default as the page writes it; nothing for what is empty."""
    if value in ("", [], None):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


class Manual(unittest.TestCase):
    def setUp(self):
        with open(MANUAL, encoding="ascii") as file:
            self.page = file.read()
        self.flags, self.keys = {}, {}
        items = list(MANUAL_ITEM.finditer(self.page))
        for item, after in zip(items, items[1:] + [None]):
            text = self.page[item.end():after.start() if after else len(self.page)]
            default = MANUAL_DEFAULT.search(text.split("\n.It ")[0])
            default = default.group(1) if default else None
            if item.group("flag"):
                self.flags[item.group("flag")] = (item.group("word"), default)
            else:
                self.keys[item.group("key")] = default

    def test_flags_are_the_program_s(self):
        told = dict(HELP_FLAG.findall(ask("--help").split("\nFlags:\n", 1)[1]))
        self.assertIn("config", told)
        self.assertEqual({name: word or None for name, word in told.items()},
                         {name: word for name, (word, _) in self.flags.items()})
        self.assertIn(f"default {self.flags['config'][1]})", ask("--help"))

    def test_synopsis_names_every_flag(self):
        synopsis = self.page.split(".Sh SYNOPSIS", 1)[1].split(".Sh", 1)[0]
        self.assertEqual(set(self.flags), set(re.findall(r"\bFl -(\S+)", synopsis)))

    def test_keys_are_the_program_s(self):
        told = keys(yaml.safe_load(ask("--print-config")))
        self.assertIn("controller.address", told)
        self.assertEqual({key: as_text(value) for key, value in told.items()}, self.keys)

    def test_mandoc_has_nothing_to_say(self):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed")
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", MANUAL], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stdout.decode()))


if __name__ == "__main__":
    AGENT = os.path.abspath(sys.argv.pop(1))
    unittest.main()
