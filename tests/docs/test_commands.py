#!/usr/bin/env python3
"""The runner of the documents' commands must find the blocks, and fail when a command fails."""

import os
import tempfile
import unittest

import commands

PAGE = """# Title
```sh
one
```
1. a list
   ```sh
   two
     three
   ```
```sh skip
four
```
```console
$ five
```
```sh on=paris
six
```
"""


class Blocks(unittest.TestCase):
    def test_only_marked_blocks_are_found(self):
        self.assertEqual([(3, "one\n"), (7, "two\n  three\n")], list(commands.blocks(PAGE)))


class Running(unittest.TestCase):
    def run_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return commands.run_document(path, "/bin/true")

    def test_blocks_share_a_folder(self):
        self.assertEqual((2, None), self.run_page("```sh\n: >x\n```\n```sh\ntest -f x\n```\n"))

    def test_failing_command_fails(self):
        count, wrong = self.run_page("```sh\ntrue\nfalse\ntrue\n```\n")
        self.assertEqual(0, count)
        self.assertIn("page.md:2: ", wrong)

    def test_unset_variable_and_unknown_command_fail(self):
        for script in ("echo $nothing_of_that_name", "no-command-of-that-name"):
            self.assertIsNotNone(self.run_page(f"```sh\n{script}\n```\n")[1], script)


if __name__ == "__main__":
    unittest.main()
