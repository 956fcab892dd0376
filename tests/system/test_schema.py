"""The JSON Schema that sonde prints is a valid one, and says what the archive promises.

Usage: test_schema.py PATH-OF-SONDE. Exit 77: this sonde has no `report --schema` (yet), or this
Python has no jsonschema.
"""
import json
import subprocess
import sys

SKIPPED = 77


def skip(why):
    print(f"SKIPPED: {why}", file=sys.stderr)
    sys.exit(SKIPPED)


def property_of(schema, *path):
    """The schema of a value: keys lead into objects, 0 into the elements of a list."""
    for step in path:
        for choice in schema.get("anyOf", []):
            if choice != {"type": "null"}:
                schema = choice
        schema = schema["items"] if step == 0 else schema["properties"][step]
    return schema


def refused(jsonschema, schema, value):
    return any(True for _ in jsonschema.Draft202012Validator(schema).iter_errors(value))


def main():
    try:
        import jsonschema
    except ImportError:
        skip("no jsonschema here (Debian: python3-jsonschema)")
    printed = subprocess.run([sys.argv[1], "report", "--schema"], capture_output=True, timeout=60)
    if printed.returncode != 0:
        if b"schema" in subprocess.run([sys.argv[1], "report", "--help"], capture_output=True,
                                       timeout=60).stdout:
            sys.exit(f"sonde report --schema failed: {printed.stderr.decode(errors='replace')}")
        skip("this sonde has no `report --schema`")
    schema = json.loads(printed.stdout.decode("utf-8"))

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", schema["$schema"]
    jsonschema.Draft202012Validator.check_schema(schema)

    leg = property_of(schema, "cases", 0, "phases", "measure", "forward")
    assert set(property_of(leg, "refused")["required"]) == {
        "EAGAIN", "ENOBUFS", "EMSGSIZE", "EPERM", "ECONNREFUSED", "other"}
    assert set(property_of(leg, "lost_to")["required"]) == {
        "receive_buffer", "sender_host", "receiver_host", "network", "unattributed"}
    assert property_of(leg, "evidence")["enum"] == ["per-socket", "system-wide"]
    for key in ("schema", "id", "kind", "tool", "command", "started", "finished", "interrupted",
                "hosts", "plan", "cases"):
        assert key in schema["required"], key

    count = property_of(leg, "sent")
    assert not refused(jsonschema, count, 2**63 - 1)
    assert refused(jsonschema, count, -1)
    assert refused(jsonschema, count, "1")
    assert refused(jsonschema, count, None)
    rate = property_of(schema, "cases", 0, "phases", "measure", "echoes_per_second")
    assert not refused(jsonschema, rate, None)
    assert refused(jsonschema, rate, -0.5)
    counter = property_of(schema, "hosts", 0, "counters", "delta", "udp.receive_buffer_full")
    assert not refused(jsonschema, counter, None)
    assert refused(jsonschema, counter, -1)
    assert refused(jsonschema, schema, {})


if __name__ == "__main__":
    main()
