"""Results in agents' spools and in the controller's store, as tests put and find them there."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import uuid

TOOLS = os.environ.get("SONDE_TOOLS") or os.path.join(
    os.path.dirname(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "")), "tests", "bin")
TOOL = os.path.join(TOOLS, "spool_tool")


def put(path, sizes, max_bytes=1 << 30, command=()):
    """Puts a result of each size into a spool that nobody has open; their ids."""
    ids = [str(uuid.uuid4()) for _ in sizes]
    lines = "".join(f"{name} {size}\n" for name, size in zip(ids, sizes))
    done = subprocess.run([*command, TOOL, "put", path, str(max_bytes)], input=lines, text=True,
                          capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return ids


def listed(path):
    """What a spool holds: ids, oldest first, and how many it has dropped."""
    done = subprocess.run([TOOL, "list", path], text=True, capture_output=True, timeout=60,
                          check=True)
    *rows, totals = done.stdout.splitlines()
    return [row.split()[0] for row in rows], int(totals.split()[2])


def body(name, size):
    """What spool_tool puts."""
    return (name * (size // len(name) + 1))[:size].encode()


def stored(store, agent):
    """What the controller has of an agent: (id, body), in the order in which it came."""
    uri = f"file:{store}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=20)) as database:
        return [(str(uuid.UUID(bytes=name)) if isinstance(name, bytes) else name, content)
                for name, content in database.execute(
                    "SELECT id, body FROM results WHERE agent = ? ORDER BY seq", (agent,))]


def count(store):
    """How many results the controller has."""
    uri = f"file:{store}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=20)) as database:
        return database.execute("SELECT count(*) FROM results").fetchone()[0]
