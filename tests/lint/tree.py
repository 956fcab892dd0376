#!/usr/bin/env python3
"""The tree: nothing at its top but what the design names, no generated files, no secrets, and
links between documents that lead somewhere."""

import os
import re
import sys

from sources import ROOT, paths, read, report

TOP = set("""CMakeLists.txt agent controller proto certs deploy tests docs README.md CHANGELOG.md
    LICENSE run""".split())

GENERATED = re.compile(r"\.(o|a|so|dylib|obj|pyc|gcda|gcno|profraw|log|tmp|orig|rej|swp|zip|gz)$|"
                       r"(^|/)(CMakeCache\.txt|CMakeFiles|build\.ninja|compile_commands\.json|"
                       r"node_modules|__pycache__|sonde-runs|core(\.\d+)?)(/|$)")
KEY_FILE = re.compile(r"\.(pem|key|p12|pfx|jks)$|"
                      r"(^|/)(id_(rsa|ed25519|ecdsa)|\.env|\.netrc|\.npmrc)$")
SECRET = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|"
                    r"\bgh[pousr]_[A-Za-z0-9]{36}\b|\bnpm_[A-Za-z0-9]{36}\b")
LARGEST = 1024 * 1024

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def check_paths(found):
    for path in found:
        top = path.split("/")[0]
        if top not in TOP and not top.startswith("."):
            yield path, 1, f"{top} is not one of the top level's names"
        if GENERATED.search(path):
            yield path, 1, "is a generated file"
        if KEY_FILE.search(path):
            yield path, 1, "is named like a key"


def check_content(path, text):
    for match in SECRET.finditer(text):
        yield path, text.count("\n", 0, match.start()) + 1, "looks like a secret"
    if len(text) > LARGEST:
        yield path, 1, f"{len(text)} bytes; {LARGEST} is the limit"


def anchors(text):
    """The names under which a page's headings can be linked to."""
    for heading in re.findall(r"^#+\s+(.*?)\s*#*$", FENCE.sub("", text), re.MULTILINE):
        words = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words))


def check_links(path, text, exists, page):
    """`exists` tells of a path, `page` gives a page's text."""
    prose = FENCE.sub(lambda match: re.sub(r"[^\n]", "", match.group()), text)
    for match in LINK.finditer(prose):
        target, _, anchor = match.group(1).partition("#")
        line = prose.count("\n", 0, match.start()) + 1
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not exists(file):
            yield path, line, f"links to {target}, which does not exist"
        elif anchor and file.endswith(".md") and anchor not in anchors(page(file)):
            yield path, line, f"links to #{anchor}, which {file} does not have"


def main():
    def exists(path):
        return os.path.exists(os.path.join(ROOT, path))

    found = paths()
    problems = list(check_paths(found))
    for path in found:
        text = read(path)
        problems += check_content(path, text)
        if path.endswith(".md"):
            problems += check_links(path, text, exists, read)
    return report("tree", problems)


if __name__ == "__main__":
    sys.exit(main())
