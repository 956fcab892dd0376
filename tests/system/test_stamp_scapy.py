#!/usr/bin/python3
"""A witness that knows nothing of sonde reads our STAMP datagrams, and writes some for us to read.

    test_stamp_scapy.py SONDE STAMP_TOOL [--capture]

It reads and writes what STAMP_TOOL decodes and builds, and then (with --capture: only) reads what
it captures on lo: datagrams of a small sender here and of a run of SONDE ("-" for none). Capturing
needs root. The witness is scapy's scapy.contrib.stamp. It has no authenticated mode: there the
bytes are read by struct and the HMAC is made by Python's own hmac module.
"""
import hashlib
import hmac
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from scapy.contrib.stamp import (ErrorEstimate, STAMPSessionReflectorTestUnauthenticated,
                                 STAMPSessionSenderTestUnauthenticated, STAMPTestTLV)
from scapy.config import conf
from scapy.layers.inet import UDP

from lo_capture import Capture, private_network

SIZES = (44, 48, 49, 100, 1472, 65507)
AUTH_SIZES = (112, 116, 117, 1472, 65507)
CAPTURE_SIZES = (48, 1472, 8192)
RUN_SAMPLE = 32  # of a run, each datagram whose sequence number is a multiple of it, and its echo
KEY = bytes(range(32))
U, M, I = 0x80, 0x40, 0x20
SKIPPED = 77

TOOL = ""
RANDOM = random.Random()


def tool(words, datagram=None):
    """Runs stamp_tool; its exit code and what it printed."""
    done = subprocess.run([TOOL] + [str(word) for word in words], capture_output=True, text=True,
                          input=None if datagram is None else datagram.hex(), timeout=60)
    return done.returncode, done.stdout.strip()


def built(words, datagram=None):
    code, text = tool(words, datagram)
    assert code == 0, (words, text)
    return bytes.fromhex(text)


def decoded(words, datagram):
    """The fields that stamp_tool printed, as numbers, and its TLVs as (flags, type, value)."""
    code, text = tool(words, datagram)
    assert code == 0, (words, text)
    fields, tlvs = {}, []
    for line in text.splitlines():
        name, value = line.split("=", 1)
        if name != "tlv":
            fields[name] = int(value)
        elif value != "cut":
            flags, kind, length, octets = value.split(",")
            assert int(length) == len(bytes.fromhex(octets))
            tlvs.append((int(flags), int(kind), bytes.fromhex(octets)))
    return fields, tlvs


def scapy_reads(layer, datagram):
    """The layer asks its parent for the UDP length, which scapy sets only when it is told to."""
    conf.debug_dissector = True
    packet = layer(datagram, _parent=UDP(len=8 + len(datagram)))
    again = packet.copy()
    again.clear_cache()  # else scapy hands out the bytes that it was given
    assert bytes(again) == datagram, "scapy builds other bytes from what it read"
    return packet


def scapy_tlvs(packet):
    """As (flags, type, value). Flags as a number: scapy's letters count from the low bit, where
    RFC 8972 figure 6 counts from the high one."""
    return [(int(tlv.flags), tlv.type, tlv.value) for tlv in packet.tlv_objects]


def estimate_of(packet):
    return packet.S << 15 | packet.Z << 14 | packet.scale << 8 | packet.multiplier


def some_fields(z_bit):
    return {"seq": RANDOM.getrandbits(32), "ts": RANDOM.getrandbits(64),
            "estimate": RANDOM.choice((0, 0x8000)) | z_bit << 14 | RANDOM.getrandbits(6) << 8 |
                        RANDOM.randint(1, 255),
            "ssid": RANDOM.randint(1, 65535)}


def our_request(fields, size, mode="plain", key=()):
    return built(["request", mode, fields["seq"], fields["ts"], fields["estimate"], fields["ssid"],
                  size, *key])


def our_reply(fields, received, ttl, request, mode="plain", key=()):
    return built(["reflect", mode, fields["seq"], fields["ts"], fields["estimate"], received, ttl,
                  *key], request)


def padding_of(size, base):
    return bytes(i % 251 for i in range(size - base - 4))


def scapy_estimate(estimate):
    return ErrorEstimate(S=estimate >> 15, Z=estimate >> 14 & 1, scale=estimate >> 8 & 63,
                         multiplier=estimate & 255)


def scapy_request(fields, tlvs):
    packet = STAMPSessionSenderTestUnauthenticated(
        seq=fields["seq"], ssid=fields["ssid"], err_estimate=scapy_estimate(fields["estimate"]),
        tlv_objects=[STAMPTestTLV(flags=flags, type=kind, len=len(value), value=value)
                     for flags, kind, value in tlvs])
    packet.fields["ts"] = fields["ts"]  # raw: scapy's own conversion rounds
    return bytes(packet)


class PlainDatagrams(unittest.TestCase):
    def check_request(self, packet, fields):
        self.assertEqual(packet.seq, fields["seq"])
        self.assertEqual(packet.fields["ts"], fields["ts"])
        self.assertEqual(estimate_of(packet.err_estimate), fields["estimate"])
        self.assertEqual(packet.ssid, fields["ssid"])
        self.assertEqual(packet.mbz, 0)

    def check_reply(self, packet, reply, received, ttl, request):
        self.assertEqual(packet.seq, reply["seq"])
        self.assertEqual(packet.fields["ts"], reply["ts"])
        self.assertEqual(estimate_of(packet.err_estimate), reply["estimate"])
        self.assertEqual(packet.ssid, request["ssid"])
        self.assertEqual(packet.fields["ts_rx"], received)
        self.assertEqual(packet.seq_sender, request["seq"])
        self.assertEqual(packet.fields["ts_sender"], request["ts"])
        self.assertEqual(estimate_of(packet.err_estimate_sender), request["estimate"])
        self.assertEqual(packet.ttl_sender, ttl)
        self.assertEqual((packet.mbz1, packet.mbz2), (0, 0))

    def test_scapy_reads_our_requests(self):
        for size in SIZES:
            for z_bit in (0, 1):
                with self.subTest(size=size, z_bit=z_bit):
                    fields = some_fields(z_bit)
                    datagram = our_request(fields, size)
                    self.assertEqual(len(datagram), size)
                    packet = scapy_reads(STAMPSessionSenderTestUnauthenticated, datagram)
                    self.check_request(packet, fields)
                    expected = [(U, 1, padding_of(size, 44))] if size > 44 else []
                    self.assertEqual(scapy_tlvs(packet), expected)

    def test_scapy_reads_our_replies(self):
        for size in SIZES:
            for z_bit in (0, 1):
                with self.subTest(size=size, z_bit=z_bit):
                    request, reply = some_fields(z_bit), some_fields(1 - z_bit)
                    received, ttl = RANDOM.getrandbits(64), RANDOM.getrandbits(8)
                    datagram = our_reply(reply, received, ttl, our_request(request, size))
                    self.assertEqual(len(datagram), size)
                    packet = scapy_reads(STAMPSessionReflectorTestUnauthenticated, datagram)
                    self.check_reply(packet, reply, received, ttl, request)
                    expected = [(0, 1, padding_of(size, 44))] if size > 44 else []
                    self.assertEqual(scapy_tlvs(packet), expected)

    def test_we_read_what_scapy_builds(self):
        for size in SIZES:
            fields = some_fields(RANDOM.getrandbits(1))
            tlvs = [(U, 1, padding_of(size, 44))] if size > 44 else []
            with self.subTest(size=size):
                datagram = scapy_request(fields, tlvs)
                self.assertEqual(datagram, our_request(fields, size))
                self.assertEqual(decoded(["decode-request", "plain"], datagram), (fields, tlvs))

    def test_we_read_a_reply_that_scapy_builds(self):
        for size in SIZES:
            fields, tlvs = some_fields(0), [(0, 1, bytes(size - 48))] if size > 44 else []
            more = {"ts_rx": RANDOM.getrandbits(64), "seq_sender": RANDOM.getrandbits(32),
                    "ts_sender": RANDOM.getrandbits(64), "estimate_sender": 0x8587,
                    "ttl_sender": 63}
            packet = STAMPSessionReflectorTestUnauthenticated(
                seq=fields["seq"], ssid=fields["ssid"], seq_sender=more["seq_sender"],
                err_estimate=scapy_estimate(fields["estimate"]),
                err_estimate_sender=scapy_estimate(more["estimate_sender"]),
                ttl_sender=more["ttl_sender"],
                tlv_objects=[STAMPTestTLV(flags=flags, type=kind, len=len(value), value=value)
                             for flags, kind, value in tlvs])
            packet.fields.update(ts=fields["ts"], ts_rx=more["ts_rx"],
                                 ts_sender=more["ts_sender"])
            with self.subTest(size=size):
                self.assertEqual(decoded(["decode-reply", "plain"], bytes(packet)),
                                 (dict(fields, **more), tlvs))

    def test_our_answer_to_several_tlvs_is_read_by_scapy(self):
        fields = some_fields(0)
        sent = [(U, 1, b"abc"), (U, 4, b"\x2c\0\0\0"), (U, 7, b"\xff" * 16), (U, 250, b"beyond"),
                (U, 1, b"")]
        reply = our_reply(some_fields(0), 1, 64, scapy_request(fields, sent))
        packet = scapy_reads(STAMPSessionReflectorTestUnauthenticated, reply)
        self.assertEqual(scapy_tlvs(packet),
                         [(0, 1, b"abc"), (U, 4, b"\x2c\0\0\0"), (0, 7, bytes(16)),
                          (U, 250, b"beyond"), (0, 1, b"")])

    def test_a_multiplier_of_zero_built_by_scapy_is_refused(self):
        fields = dict(some_fields(0), estimate=0x8500)
        self.assertEqual(tool(["decode-request", "plain"], scapy_request(fields, [])),
                         (1, "invalid"))

    def test_sizes_that_do_not_exist_are_refused(self):
        datagram = scapy_request(some_fields(0), [])
        for size in (0, 1, 43, 45, 46, 47):
            self.assertEqual(tool(["decode-request", "plain"], (datagram + bytes(3))[:size]),
                             (1, "invalid"))


class AuthenticatedDatagrams(unittest.TestCase):
    """RFC 8762 figures 5 and 7, by struct."""
    REQUEST = struct.Struct("!I12xQHH68x16s")
    REPLY = struct.Struct("!I12xQHH4xQ8xI12xQH6xB15x16s")

    def mac(self, datagram):
        return hmac.new(KEY, datagram[:96], hashlib.sha256).digest()[:16]

    def test_the_layouts_have_the_size_of_the_standard(self):
        self.assertEqual((self.REQUEST.size, self.REPLY.size), (112, 112))

    def test_python_reads_our_requests(self):
        for size in AUTH_SIZES:
            with self.subTest(size=size):
                fields = some_fields(0)
                datagram = our_request(fields, size, "auth", (KEY.hex(),))
                self.assertEqual(self.REQUEST.unpack(datagram[:112]),
                                 (fields["seq"], fields["ts"], fields["estimate"], fields["ssid"],
                                  self.mac(datagram)))
                if size > 112:
                    self.assertEqual(datagram[112:], struct.pack("!BBH", U, 1, size - 116) +
                                     padding_of(size, 112))

    def test_python_reads_our_replies(self):
        for size in AUTH_SIZES:
            with self.subTest(size=size):
                request, reply = some_fields(0), some_fields(1)
                datagram = our_reply(reply, 77, 61,
                                     our_request(request, size, "auth", (KEY.hex(),)),
                                     "auth", (KEY.hex(),))
                self.assertEqual(len(datagram), size)
                self.assertEqual(self.REPLY.unpack(datagram[:112]),
                                 (reply["seq"], reply["ts"], reply["estimate"], request["ssid"],
                                  77, request["seq"], request["ts"], request["estimate"], 61,
                                  self.mac(datagram)))
                if size > 112:
                    self.assertEqual(datagram[112:], struct.pack("!BBH", 0, 1, size - 116) +
                                     padding_of(size, 112))

    def request_of(self, fields, tlvs=b""):
        """What another implementation would send; reserved octets are not even zero."""
        base = bytearray(self.REQUEST.pack(fields["seq"], fields["ts"], fields["estimate"],
                                           fields["ssid"], bytes(16)))
        base[4:16], base[28:96] = b"\xaa" * 12, b"\x55" * 68
        base[96:112] = self.mac(bytes(base))
        return bytes(base) + tlvs

    def test_we_read_what_python_builds(self):
        fields = some_fields(0)
        words = ["decode-request", "auth", KEY.hex()]
        self.assertEqual(decoded(words, self.request_of(fields)), (fields, []))
        damaged = bytearray(self.request_of(fields))
        damaged[40] ^= 1
        self.assertEqual(tool(words, bytes(damaged)), (1, "denied"))

    def test_an_hmac_tlv_of_python_is_verified_and_ours_is_verified_by_python(self):
        fields = some_fields(0)
        sequence = struct.pack("!I", fields["seq"])
        front = struct.pack("!BBH", U, 200, 5) + b"extra"
        tag = hmac.new(KEY, sequence + front, hashlib.sha256).digest()[:16]
        behind = struct.pack("!BBH", U, 1, 9) + b"padding.."
        tlvs = front + struct.pack("!BBH", U, 8, 16) + tag + behind
        reply = some_fields(0)
        datagram = our_reply(reply, 1, 64, self.request_of(fields, tlvs), "auth", (KEY.hex(),))
        new_tag = hmac.new(KEY, struct.pack("!I", reply["seq"]) + front, hashlib.sha256).digest()
        self.assertEqual(datagram[112:], front + struct.pack("!BBH", 0, 8, 16) + new_tag[:16] +
                         b"\0" + behind[1:])
        damaged = tlvs.replace(b"extra", b"extrA")
        datagram = our_reply(reply, 1, 64, self.request_of(fields, damaged), "auth", (KEY.hex(),))
        self.assertEqual([datagram[112], datagram[121], datagram[141]], [U | I] * 3)
        self.assertEqual(datagram[113:121], damaged[1:9])


def check_pairs(datagrams, dropped):
    """Every captured datagram is a STAMP sender or reflector packet with padding up to its size,
    and replies belong to requests. Returns the number of pairs by size. `datagrams`: as captured,
    (source port, destination port, payload); `dropped`: frames that the capture itself lost."""
    requests, pairs, alone = {}, {}, 0
    for source, destination, payload in datagrams:
        # A sender's octets 16 to 43 must be zero, a reflector's hold T2.
        if not any(payload[16:44]):
            packet = scapy_reads(STAMPSessionSenderTestUnauthenticated, payload)
            name = (source, destination, packet.ssid, packet.seq)
            assert name not in requests, f"sequence number used twice: {name}"
            requests[name] = packet
        else:
            packet = scapy_reads(STAMPSessionReflectorTestUnauthenticated, payload)
            name = (destination, source, packet.ssid, packet.seq_sender)
            if name not in requests:
                alone += 1
            else:
                check_pair(requests[name], packet)
                pairs[len(payload)] = pairs.get(len(payload), 0) + 1
        check_padding(packet, payload)
    assert alone == 0 or (dropped > 0 and alone * 10 < sum(pairs.values())), \
        f"{alone} replies to nothing, {dropped} frames lost by the capture"
    return pairs


def check_padding(packet, payload):
    sender = isinstance(packet, STAMPSessionSenderTestUnauthenticated)
    tlvs = scapy_tlvs(packet)
    assert packet.err_estimate.multiplier != 0 and packet.ssid != 0
    if len(payload) == 44:
        assert tlvs == []
    else:
        assert [tlv[:2] for tlv in tlvs] == [(U if sender else 0, 1)], tlvs
        assert packet.tlv_objects[0].len == len(tlvs[0][2]) == len(payload) - 48


def check_pair(request, reply):
    assert reply.fields["ts_sender"] == request.fields["ts"]
    assert estimate_of(reply.err_estimate_sender) == estimate_of(request.err_estimate)
    assert [tlv[1:] for tlv in scapy_tlvs(reply)] == [tlv[1:] for tlv in scapy_tlvs(request)]
    assert reply.ttl_sender > 0


def small_sender(count):
    """Requests of stamp_tool to a socket on lo that answers with stamp_tool's replies."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for end in (echo, client):
            end.bind(("127.0.0.1", 0))
            end.settimeout(5)
        for sequence in range(count):
            for number, size in enumerate(CAPTURE_SIZES, 1):
                fields = dict(some_fields(0), seq=sequence, ssid=number)
                client.sendto(our_request(fields, size), echo.getsockname())
                request, sender = echo.recvfrom(1 << 16)
                echo.sendto(our_reply(some_fields(0), 1 << 62, 64, request), sender)
                assert len(client.recv(1 << 16)) == size


class CapturedDatagrams(unittest.TestCase):
    sonde = None

    @classmethod
    def setUpClass(cls):
        try:
            private_network()
        except PermissionError:
            raise unittest.SkipTest("capturing needs root") from None

    def captured(self, traffic, sample=1):
        capture = Capture(CAPTURE_SIZES, sample)
        capture.start()
        try:
            traffic()
            time.sleep(0.3)
        finally:
            datagrams, dropped = capture.stop()
        return datagrams, dropped

    def test_of_a_small_sender(self):
        datagrams, dropped = self.captured(lambda: small_sender(5))
        self.assertEqual(check_pairs(datagrams, dropped), {size: 5 for size in CAPTURE_SIZES})

    def test_of_a_sample_of_it(self):
        datagrams, dropped = self.captured(lambda: small_sender(5), sample=2)
        self.assertEqual(check_pairs(datagrams, dropped), {size: 3 for size in CAPTURE_SIZES})

    def test_damaged_ones_are_noticed(self):
        datagrams, _ = self.captured(lambda: small_sender(2))
        source, destination, payload = datagrams[1]
        for offset in (14, 24, 28, 44, 46):  # SSID, sender's sequence and time, TLV flags, length
            damaged = bytearray(payload)
            damaged[offset] ^= 0x40
            broken = datagrams[:1] + [(source, destination, bytes(damaged))] + datagrams[2:]
            with self.subTest(offset=offset), self.assertRaises(Exception):
                check_pairs(broken, 0)

    def test_of_a_loopback_run(self):
        if self.sonde is None:
            self.skipTest("no sonde given")
        with tempfile.TemporaryDirectory() as folder:
            words = [self.sonde, "loopback", "--payload", ",".join(map(str, CAPTURE_SIZES)),
                     "--window", "2", "--clients", "2", "--repeat", "1", "--warmup", "0",
                     "--seconds", "0.2", "--engine", "all", "--output", folder, "--json"]

            def run():
                done = subprocess.run(words, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)

            datagrams, dropped = self.captured(run, RUN_SAMPLE)
        # Zeros to a socket that reads none of them: how a run measures what the kernel charges.
        datagrams = [datagram for datagram in datagrams if any(datagram[2])]
        pairs = check_pairs(datagrams, dropped)
        print("pairs by payload:", pairs, "frames lost by the capture:", dropped)
        for size in CAPTURE_SIZES:
            self.assertGreaterEqual(pairs.get(size, 0), 20)


def main(argv):
    global TOOL
    TOOL = os.path.abspath(argv[2])
    CapturedDatagrams.sonde = None if argv[1] == "-" else os.path.abspath(argv[1])
    seed = int(os.environ.get("SONDE_SEED", time.time()))
    print(f"SONDE_SEED={seed}")
    RANDOM.seed(seed)
    cases = [PlainDatagrams, AuthenticatedDatagrams, CapturedDatagrams]
    if argv[3:] == ["--capture"]:
        cases = [CapturedDatagrams]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case)
                               for case in cases)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful():
        return 1
    return SKIPPED if len(cases) == 1 and os.geteuid() != 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
