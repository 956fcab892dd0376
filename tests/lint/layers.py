#!/usr/bin/env python3
"""Who may include what: the layers of docs/architecture.md, third-party and system headers, cycles
between modules, and where code may ask for the operating system."""

import os
import re
import sys

from sources import code_only, report, sources

# A folder, and the folders that it may include besides itself.
ALLOWED = {
    "proto/base": [],
    "proto/wire": ["proto/base"],
    "proto/link": ["proto/wire", "proto/base"],
    "agent/host": ["proto/wire", "proto/base"],
    "agent/probe": ["agent/host", "proto/wire", "proto/base"],
    "agent": ["agent/probe", "agent/host", "proto/link", "proto/wire", "proto/base"],
    "controller/report": ["proto/wire", "proto/base"],
    "controller/fleet": ["proto/link", "proto/wire", "proto/base"],
    "controller/command": ["controller/report", "controller/fleet", "agent/probe", "agent/host",
                           "proto/link", "proto/wire", "proto/base"],
    "controller/web": ["controller/report", "controller/fleet", "agent/probe", "agent/host",
                       "proto/link", "proto/wire", "proto/base"],
    "controller": ["controller/command", "proto/base"],
    "certs": ["proto/link", "proto/wire", "proto/base"],
}

# A third-party header (as a pattern), and the paths (as patterns) that alone may include it.
THIRD_PARTY = {
    r"jansson\.h": r"proto/wire/record_\w*(json|schema)\.c",
    r"openssl/.*": r"proto/base/digest\.c|proto/link/.*\.[ch]|certs/.*\.c",
    r"zmq\.h": r"proto/link/.*\.c",
    r"msgpack.*": r"proto/wire/record_\w*msgpack\.c",
    r"yaml\.h": r"proto/wire/record_\w*yaml\.c",
    r"sqlite3\.h": r"agent/spool\w*\.c|controller/fleet/store\w*\.c",
    r"microhttpd\.h": r"controller/web/.*\.c",
    r"liburing\.h": r"agent/probe/io_uring.*\.c",
    r"systemd/.*": r"agent/.*_linux\.c",
}

# C11 and POSIX: allowed everywhere.
STANDARD = set("""
    assert.h complex.h ctype.h errno.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h
    stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h
    string.h time.h wchar.h
    arpa/inet.h dirent.h fcntl.h fnmatch.h langinfo.h net/if.h netdb.h netinet/in.h netinet/tcp.h
    poll.h pthread.h sched.h strings.h sys/ioctl.h sys/mman.h sys/random.h sys/resource.h
    sys/select.h sys/socket.h sys/stat.h sys/statvfs.h sys/time.h sys/types.h sys/uio.h sys/un.h
    sys/utsname.h sys/wait.h termios.h unistd.h""".split())

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
SYSTEM_NAMES = re.compile(r"\b(__linux__|__linux|linux|__gnu_linux__|__APPLE__|__MACH__|__unix__|"
                          r"__FreeBSD__|__OpenBSD__|__NetBSD__|_WIN32|TARGET_OS_\w+)\b")
CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b((?:[^\n]*\\\n)*[^\n]*)",
                       re.MULTILINE)


def includes(text):
    """(line, "<" or '"', header) of every include that is not in a comment."""
    for number, (code, line) in enumerate(zip(code_only(text).split("\n"), text.split("\n")), 1):
        match = INCLUDE.match(line) if re.match(r"\s*#\s*include", code) else None
        if match:
            yield number, match.group(1), match.group(2)


def check_own(path, header, known):
    folder, target = os.path.dirname(path), os.path.dirname(header)
    if header == "source_hash.h":  # generated
        return None if folder in ("controller/command", "controller/fleet") else (
            "source_hash.h is for controller/command and controller/fleet")
    if not header.endswith(".h"):
        return f"includes {header}: only headers are included"
    if header not in known:
        return f"includes {header}, which is not a file (from the root of the tree)"
    if target != folder and target not in ALLOWED.get(folder, []):
        return f"{folder} must not include {target} ({header})"
    return None


def check_other(path, header):
    for pattern, where in THIRD_PARTY.items():
        if re.fullmatch(pattern, header):
            return None if re.fullmatch(where, path) else f"<{header}> is not for this file"
    if header in STANDARD or path.startswith("agent/host/"):
        return None
    if re.search(r"_(linux|macos)\.c$", path):
        return None
    return f"<{header}> is neither C nor POSIX: system headers stay in agent/host"


def module(path):
    """x.h, x.c, x_linux.c and x_macos.c are one module."""
    return re.sub(r"(_linux|_macos)?\.[ch]$", "", path)


def owners(edges):
    """{x_part: x} for each module x_part that nobody but x and x's parts include: a large module
    may have private parts, which share its types."""
    users = {}
    for source, targets in edges.items():
        for target in targets:
            users.setdefault(target, set()).add(source)
    found = {}
    for part, by in users.items():
        for owner in edges:
            if part.startswith(owner + "_") and all(
                    user == owner or user.startswith(owner + "_") for user in by):
                found[part] = owner
    return found


def merged(edges):
    """The edges with each private part taken for its owner."""
    owner, result = owners(edges), {}
    for source, targets in edges.items():
        source = owner.get(source, source)
        for target in targets:
            if owner.get(target, target) != source:
                result.setdefault(source, set()).add(owner.get(target, target))
    return result


def cycles(edges):
    """The groups of modules that reach one another (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def check(files):
    problems, edges = [], {}
    for path, text in files.items():
        if os.path.dirname(path) not in ALLOWED:
            problems.append((path, 1, "no folder of ours: see ALLOWED in tests/lint/layers.py"))
        for line, kind, header in includes(text):
            words = check_own(path, header, files) if kind == '"' else check_other(path, header)
            if words:
                problems.append((path, line, words))
            if kind == '"' and module(header) != module(path):
                edges.setdefault(module(path), set()).add(module(header))
        if not re.search(r"_(linux|macos)\.[ch]$", path):
            code = code_only(text)
            for match in CONDITION.finditer(code):
                if SYSTEM_NAMES.search(match.group(1)):
                    problems.append((path, code.count("\n", 0, match.start()) + 1,
                                     "asks for the system: that belongs into x_linux.c, x_macos.c"))
    for group in cycles(merged(edges)):
        problems.append((group[0], 1, "modules include one another: " + ", ".join(group)))
    return problems


def main():
    files = {path: text for path, text in sources((".c", ".h")).items()
             if path.split("/")[0] in ("proto", "agent", "controller", "certs")}
    return report("layers", check(files))


if __name__ == "__main__":
    sys.exit(main())
