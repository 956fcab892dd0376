#!/usr/bin/env python3
"""docs/protocol.md holds what the programs' own tables say.

usage: test_protocol.py PATH-OF-PROTOCOL_TABLES [--write]

With --write the page is changed instead of compared.
"""

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "protocol.md")
BEGIN = "<!-- generated: build/gcc/tests/bin/protocol_tables -->\n"
END = "<!-- end -->\n"
TOOL = "protocol_tables"


def tables():
    return subprocess.run([TOOL], stdout=subprocess.PIPE, timeout=60, check=True).stdout.decode()


def parts(page):
    """What stands before the markers, between them and behind."""
    before, rest = page.split(BEGIN)
    between, behind = rest.split(END)
    return before, between, behind


def read():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def write():
    before, _, behind = parts(read())
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + tables() + END + behind)


class Protocol(unittest.TestCase):
    maxDiff = None

    def test_the_page_says_what_the_tables_say(self):
        self.assertEqual(tables(), parts(read())[1])

    def test_headings_are_there_once(self):
        headings = [line.strip("# ").lower() for line in read().splitlines()
                    if line.startswith("#")]
        self.assertEqual(sorted(set(headings)), sorted(headings))

    def test_every_field_has_a_meaning(self):
        for line in tables().splitlines():
            if line.startswith("| `"):
                self.assertEqual(3, len([cell for cell in line.split("|")[1:-1] if cell.strip()]),
                                 line)


if __name__ == "__main__":
    TOOL = sys.argv[1]
    if sys.argv[2:] == ["--write"]:
        write()
    else:
        unittest.main(argv=sys.argv[:1])
