"""What the lints share: which files there are, C without comments and strings, C's functions.

A lint is a function that takes {path: text} and returns problems as (path, line, words), so that
test_lints.py can feed it sources that no file holds.
"""

import bisect
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED_FOLDERS = {"build", ".git", "sonde-runs", "__pycache__", "node_modules"}


def paths(root=ROOT):
    """Every file that is committed or could be, relative to the root; links are left out."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], capture_output=True) if has_git(root) else None
    if listed and listed.returncode == 0:
        found = listed.stdout.decode().split("\0")
    else:
        found = list(walk(root))
    full = [(path, os.path.join(root, path)) for path in found if path]
    return sorted(path for path, name in full if os.path.isfile(name) and not os.path.islink(name))


def has_git(root):
    search = os.environ.get("PATH", "").split(os.pathsep)
    return os.path.exists(os.path.join(root, ".git")) and any(
        os.access(os.path.join(folder, "git"), os.X_OK) for folder in search)


def walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def read(path, root=ROOT):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def sources(endings, root=ROOT):
    return {path: read(path, root) for path in paths(root) if path.endswith(endings)}


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def code_only(text):
    """The text with comments and the insides of strings blanked; lines stay where they are."""

    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] + " " * (len(token) - 2) + token[-1]
        return re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(blank, text)


class Function:
    """A function's definition: where its head starts and its body ends (lines from 1)."""

    def __init__(self, name, line, end, parameters):
        self.name, self.line, self.end, self.parameters = name, line, end, parameters

    @property
    def lines(self):
        return self.end - self.line + 1


DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
BODY = re.compile(r"^\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)


def functions(text):
    """The functions that a C source defines. The format puts a body's braces in column 0, and
    nothing else's."""
    code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", "", match.group()), code_only(text))
    starts = [0] + [match.end() for match in re.finditer("\n", code)]
    for match in BODY.finditer(code):
        head = re.search(r"(?:\A|[;}]\n|\n\s*\n)((?:(?!\n\s*\n)[^;}])*)\Z", code[:match.start()])
        if head is None or not head.group(1).strip() or "=" in head.group(1):
            continue
        words = head.group(1)
        first = head.start(1) + len(words) - len(words.lstrip())
        named = re.search(r"(\w+)\s*\(", words)
        if named is None:
            continue
        yield Function(named.group(1), bisect.bisect_right(starts, first),
                       bisect.bisect_right(starts, match.end() - 1),
                       split_parameters(words[named.end():]))


def split_parameters(words):
    """The parameters in "int a, int (*b)(int), ...) rest", without the dots of a variadic."""
    depth, found, current = 0, [], ""
    for sign in words:
        if sign in ")]" and depth == 0:
            break
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            found.append(current.strip())
            current = ""
        else:
            current += sign
    found.append(current.strip())
    return [one for one in found if one not in ("", "void", "...")]


def report(name, problems):
    """Prints the problems; returns the exit code."""
    for path, line, words in sorted(problems):
        print(f"{path}:{line}: {words} [{name}]", file=sys.stderr)
    return 1 if problems else 0
