"""The JSON Schemas that sonde prints are valid ones, and say what the archive promises.

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


def schema_of(kind):
    printed = subprocess.run([sys.argv[1], "report", "--schema", kind], capture_output=True,
                             timeout=60)
    if printed.returncode != 0:
        if b"schema" in subprocess.run([sys.argv[1], "report", "--help"], capture_output=True,
                                       timeout=60).stdout:
            sys.exit(f"sonde report --schema failed: {printed.stderr.decode(errors='replace')}")
        skip("this sonde has no `report --schema`")
    return json.loads(printed.stdout.decode("utf-8"))


def check_head(jsonschema, schema):
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", schema["$schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    for key in ("schema", "id", "kind", "tool", "command", "started", "finished", "interrupted",
                "hosts", "plan", "cases"):
        assert key in schema["required"], key
    counter = property_of(schema, "hosts", 0, "counters", "delta", "udp.receive_buffer_full")
    assert not refused(jsonschema, counter, None)
    assert refused(jsonschema, counter, -1)
    assert refused(jsonschema, schema, {})


def check_loopback(jsonschema):
    schema = schema_of("loopback")
    check_head(jsonschema, schema)
    leg = property_of(schema, "cases", 0, "phases", "measure", "forward")
    assert set(property_of(leg, "refused")["required"]) == {
        "EAGAIN", "ENOBUFS", "EMSGSIZE", "EPERM", "ECONNREFUSED", "other"}
    assert set(property_of(leg, "lost_to")["required"]) == {
        "receive_buffer", "sender_host", "receiver_host", "network", "unattributed"}
    assert property_of(leg, "evidence")["enum"] == ["per-socket", "system-wide"]
    count = property_of(leg, "sent")
    assert not refused(jsonschema, count, 2**63 - 1)
    assert refused(jsonschema, count, -1)
    assert refused(jsonschema, count, "1")
    assert refused(jsonschema, count, None)
    rate = property_of(schema, "cases", 0, "phases", "measure", "echoes_per_second")
    assert not refused(jsonschema, rate, None)
    assert refused(jsonschema, rate, -0.5)


def check_buffers(jsonschema):
    """Which keys a case must have depends on its experiment."""
    schema = schema_of("buffers")
    check_head(jsonschema, schema)
    case = property_of(schema, "cases", 0)
    ladder = {"index": 0, "experiment": "ladder", "error": None, "buffer": "rcvbuf", "asked": None,
              "granted": 212992, "limit": None}
    closed = {"index": 1, "experiment": "closed_port", "error": None, "sent": 100,
              "refused": dict.fromkeys(property_of(case, "refused")["required"], 0),
              "no_socket": {"system": 100}, "receive_buffer": {"system": None}}
    for good in (ladder, closed):
        assert not refused(jsonschema, case, good), good
        for key in good:
            assert refused(jsonschema, case, {k: v for k, v in good.items() if k != key}), key
    assert refused(jsonschema, case, dict(ladder, experiment="closed_port"))
    assert refused(jsonschema, case, dict(closed, experiment="ladder"))
    assert refused(jsonschema, case, dict(ladder, experiment="other"))
    assert refused(jsonschema, case, dict(ladder, buffer="both"))
    point = property_of(case, "queue", 0)
    assert not refused(jsonschema, point, [0.25, 4096])
    for bad in ([0.25], [0.25, 1, 2], [0.25, None], "0.25"):
        assert refused(jsonschema, point, bad), bad
    ratio = property_of(case, "loss_ratio")
    assert not refused(jsonschema, ratio, None)
    assert refused(jsonschema, ratio, 1.01)


def check_mtu(jsonschema):
    """A case is one flow in one direction; its parts may be null."""
    schema = schema_of("mtu")
    check_head(jsonschema, schema)
    case = property_of(schema, "cases", 0)
    for key in ("family", "direction", "flow", "source_port", "path_mtu", "udp_payload", "verdict",
                "local_mtu", "kernel_path_mtu", "icmp", "probes", "retries", "seconds",
                "confirmed", "fragments", "loss_by_size"):
        assert key in case["required"], key
    assert property_of(case, "verdict")["enum"] == [
        "clean", "signalled", "black_hole", "lossy", "below_base", "unreachable", "undecided"]
    assert property_of(case, "fragments")["enum"] == ["untested", "pass", "dropped"]
    for key in ("path_mtu", "udp_payload", "hops", "size_effect", "source_port"):
        assert not refused(jsonschema, property_of(case, key), None), key
    assert refused(jsonschema, property_of(case, "path_mtu"), 65576)
    assert refused(jsonschema, property_of(case, "icmp", 0), {"from": "10.9.2.254", "mtu": 1400})


def main():
    try:
        import jsonschema
    except ImportError:
        skip("no jsonschema here (Debian: python3-jsonschema)")
    check_loopback(jsonschema)
    check_buffers(jsonschema)
    check_mtu(jsonschema)


if __name__ == "__main__":
    main()
