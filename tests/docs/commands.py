#!/usr/bin/env python3
"""Runs the commands of the documents: commands.py PATH-OF-SONDE [DOCUMENT...]

A block that is fenced as ```sh is run, as a script that stops at the first failing command; any
other ("```sh skip", "```console", "```text") is not, nor is "```sh on=HOST", which
tests/lab/test_operations.py runs. Each document gets an empty folder of its own,
in which its blocks run one after another; `sonde`, `sonde-certs` and `./run` are there.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS = 180
BLOCK = re.compile(r"^( *)```(.*?)\n(.*?)^\1```[ ]*$", re.DOTALL | re.MULTILINE)


def blocks(text):
    """(line, script) of each block that is to be run."""
    for match in BLOCK.finditer(text):
        if match.group(2).strip() == "sh":
            indent = len(match.group(1))
            script = "".join(line[indent:] for line in match.group(3).splitlines(True))
            yield text.count("\n", 0, match.start()) + 2, script


def run_script(script, folder, sonde):
    """Runs one block in `folder`; returns what is wrong, or None."""
    environment = dict(os.environ, HOME=folder,
                       PATH=":".join([os.path.dirname(os.path.abspath(sonde)),
                                      os.path.join(ROOT, "certs"), os.environ["PATH"]]))
    try:
        done = subprocess.run(["sh", "-eu", "-c", script], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    if done.returncode != 0:
        return f"exit code {done.returncode}\n" + done.stdout.decode(errors="replace")
    return None


def run_document(path, sonde):
    """Runs a document's blocks; returns how many ran and what is wrong (None when nothing)."""
    with open(path, encoding="utf-8") as file:
        found = list(blocks(file.read()))
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "run"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{ROOT}/run" "$@"\n')
        os.chmod(os.path.join(folder, "run"), 0o755)
        for line, script in found:
            start = time.monotonic()
            wrong = run_script(script, folder, sonde)
            print(f"{os.path.relpath(path, ROOT)}:{line}: {time.monotonic() - start:.1f} s")
            if wrong:
                return 0, f"{path}:{line}: {script}{wrong}"
    return len(found), None


def documents():
    folder = os.path.join(ROOT, "docs")
    pages = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(ROOT, "README.md")] + [
        os.path.join(folder, page) for page in pages if page.endswith(".md")]


def main():
    sonde, paths = sys.argv[1], sys.argv[2:] or documents()
    total = 0
    for path in paths:
        count, wrong = run_document(path, sonde)
        if wrong:
            print(wrong, file=sys.stderr)
            return 1
        total += count
    if total == 0:
        print("no document has a command that is run", file=sys.stderr)
        return 1
    print(f"{total} blocks of commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
