#!/usr/bin/env python3
"""Calls that the house does not make, and descriptors that would leak into other programs."""

import re
import sys

from sources import code_only, report, sources

# A function, and what to use instead.
BANNED = {
    "atoi": "text.h", "atol": "text.h", "atoll": "text.h", "atof": "text.h",
    "strcpy": "snprintf", "strcat": "snprintf or buf.h", "stpcpy": "snprintf",
    "strncpy": "snprintf", "strncat": "snprintf or buf.h",
    "sprintf": "snprintf", "vsprintf": "vsnprintf", "gets": "fgets",
    "strtok": "strcspn", "strtok_r": "strcspn",
    "gmtime": "gmtime_r", "localtime": "nothing: times are UTC", "localtime_r": "gmtime_r",
    "ctime": "clock.h", "asctime": "clock.h",
    "sleep": "a poll with a timeout", "usleep": "a poll with a timeout",
    "nanosleep": "a poll with a timeout", "clock_nanosleep": "a poll with a timeout",
    "alloca": "an array of a fixed size", "system": "nothing", "popen": "nothing",
    "tmpnam": "mkstemp", "mktemp": "mkstemp", "rand": "digest_random", "srand": "digest_random",
    "random": "digest_random", "setjmp": "a status", "longjmp": "a status",
}
# What a test may do all the same: set up and clean up what it tests in.
TESTS_MAY = {"system", "popen", "nanosleep"}
# Only a program's main may end it, or a signal that comes again, or the process that runs one
# function for its parent (child.c); tests' own programs are programs.
ENDING = {"exit", "_exit", "_Exit", "quick_exit"}
MAINS = {"controller/main.c", "agent/main.c", "certs/main.c"}
MAY_END = MAINS | {"controller/command/interrupt.c", "agent/host/child.c"}

CALL = re.compile(r"(?<![\w.])(?<!->)(\w+)\s*\(")

# Calls that make a descriptor, and what makes it close-on-exec. macOS has no flag for socket,
# accept and pipe: there fcntl follows, in agent/host's *_macos.c.
OPENING = {
    "open": "O_CLOEXEC", "openat": "O_CLOEXEC", "socket": "SOCK_CLOEXEC",
    "socketpair": "SOCK_CLOEXEC", "accept4": "SOCK_CLOEXEC", "pipe2": "O_CLOEXEC",
    "epoll_create1": "EPOLL_CLOEXEC", "eventfd": "EFD_CLOEXEC", "timerfd_create": "TFD_CLOEXEC",
    "fopen": '"[^"]*e[^"]*"',
}
# As OPENING, but there is no flag at all: what sets FD_CLOEXEC follows within a few lines.
UNFLAGGED = {"accept": "accept4", "pipe": "pipe2", "epoll_create": "epoll_create1", "dup": "fcntl",
             "dup2": "fcntl", "creat": "open"}
FOLLOWS_WITHIN = 500  # characters
DECLARATION = re.compile(r"^[a-z][\w \t*]*[ \t*]$")


def arguments(text, at):
    """The text of a call's arguments, from behind its opening parenthesis."""
    depth = 1
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0:
            return text[at:end]
    return text[at:]


def judge(path, name, given, after):
    ours = not path.startswith("tests/")
    if name in BANNED and (ours or name not in TESTS_MAY):
        return f"{name} is not used here; instead: {BANNED[name]}"
    if name in ENDING and ours and path not in MAY_END:
        return f"{name} outside of main: return a status"
    # standard.c opens what a program's children are to have.
    if path.endswith("_macos.c") or path == "proto/base/standard.c":
        return None
    if ours and name in OPENING and not re.search(OPENING[name], given):
        return f"{name} without {OPENING[name]}: descriptors are close-on-exec from birth"
    if ours and name in UNFLAGGED and "FD_CLOEXEC" not in after[:FOLLOWS_WITHIN]:
        return f"{name} cannot make a close-on-exec descriptor; instead: {UNFLAGGED[name]}"
    return None


def check(files):
    problems = []
    for path, text in files.items():
        code = code_only(text)
        for match in CALL.finditer(code):
            line_start = code.rfind("\n", 0, match.start()) + 1
            before = code[line_start:match.start()]
            if DECLARATION.match(before) and not re.match(r"\s*(return|else|do)\b", before):
                continue  # a function or a member of that name, not a call
            words = judge(path, match.group(1), arguments(text, match.end()),
                          text[match.end():])
            if words:
                problems.append((path, code.count("\n", 0, match.start()) + 1, words))
    return problems


if __name__ == "__main__":
    sys.exit(report("banned", check(sources((".c", ".h")))))
