#!/usr/bin/env python3
"""A function fits a screen, takes five parameters at most; a file stays under 500 lines, a line
within 100 columns."""

import sys

from sources import functions, report, sources

FUNCTION_LINES, TABLE_LINES, PARAMETERS, FILE_LINES, COLUMNS = 50, 80, 5, 500, 100

# Functions of up to TABLE_LINES lines: "path:function" and why it is one piece.
LONG = {}

# Functions whose parameters a library asks for: "path:function" and which one.
IMPOSED = {
    "proto/link/tls_context.c:choose_protocol": "SSL_CTX_set_alpn_select_cb",
    "tests/proto/link/wild.c:choose": "SSL_CTX_set_alpn_select_cb",
}


def check_file(path, text, long):
    lines = text.split("\n")
    if len(lines) > FILE_LINES:
        yield path, FILE_LINES, f"{len(lines) - 1} lines; a file stays under {FILE_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > COLUMNS:
            yield path, number, f"{len(line)} columns; {COLUMNS} is the limit"


def check_functions(path, text, long):
    for function in functions(text):
        limit = TABLE_LINES if f"{path}:{function.name}" in long else FUNCTION_LINES
        if function.lines > limit:
            yield (path, function.line,
                   f"{function.name} has {function.lines} lines; {limit} is the limit")
        if (len(function.parameters) > PARAMETERS
                and f"{path}:{function.name}" not in IMPOSED):
            yield (path, function.line, f"{function.name} has {len(function.parameters)} "
                                        f"parameters; {PARAMETERS} is the limit")


def check(files, long=LONG):
    problems = []
    for path, text in files.items():
        problems += check_file(path, text, long)
        if path.endswith(".c"):
            problems += check_functions(path, text, long)
    for entry in long:
        path, name = entry.split(":")
        if name not in [function.name for function in functions(files.get(path, ""))]:
            problems.append((path, 1, f"{name} stands in LONG of sizes.py but does not exist"))
    return problems


if __name__ == "__main__":
    sys.exit(report("sizes", check(sources((".c", ".h", ".py", ".sh", ".cmake")))))
