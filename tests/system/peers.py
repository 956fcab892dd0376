"""Connections to a controller as a test makes them, byte by byte if it wants to."""

import socket
import ssl
import struct
import uuid

import msgpack


class Peer:
    """One connection with a certificate; frames in and out are maps."""

    def __init__(self, port, files, source="127.0.0.1", receive_buffer=0):
        ca, certificate, key = files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.load_verify_locations(ca)
        if certificate:
            context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["sonde/1"])
        self.read = b""
        with socket.socket() as raw:
            raw.settimeout(10)
            if receive_buffer:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            raw.bind((source, 0))
            raw.connect(("127.0.0.1", port))
            self.socket = context.wrap_socket(raw)

    def send(self, message):
        self.send_frame(msgpack.packb(message))

    def send_frame(self, body):
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def frame(self):
        """The next one, pings included; None at the end."""
        while True:
            if len(self.read) >= 4:
                length = struct.unpack(">I", self.read[:4])[0]
                if len(self.read) >= 4 + length:
                    body, self.read = self.read[4:4 + length], self.read[4 + length:]
                    return msgpack.unpackb(body)
            more = self.socket.recv(65536)
            if not more:
                return None
            self.read += more

    def receive(self, kind):
        """The next of this type; others are passed over. A bye, or the end, ends the wait."""
        while True:
            message = self.frame()
            if message is None or message["type"] == kind:
                return message
            if message["type"] == "bye":
                raise AssertionError(f"bye: {message['reason']}")

    def close(self):
        self.socket.close()


class Agent(Peer):
    """An agent that has said hello."""

    def __init__(self, port, files, **more):
        super().__init__(port, files, **more)
        try:
            self.hello()
        except BaseException:
            self.close()
            raise

    def hello(self):
        self.send({"type": "hello", "protocol": 1, "version": "0.1.0", "instance": new_id(),
                   "os": "Linux", "os_release": "6.1", "arch": "x86_64",
                   "clock": {"sync": "unknown", "max_error_ns": None},
                   "spool": {"waiting": 0, "bytes": 0, "dropped": 0},
                   "addresses": ["127.0.0.1"], "sessions_max": 4})
        if self.receive("welcome") is None:
            raise ConnectionError("no welcome")

    def result(self, name, body, kind="note"):
        self.send({"type": "result", "id": name, "kind": kind, "body": body})

    def committed(self, count):
        """The ids of the next answers, at least `count`."""
        ids = []
        while len(ids) < count:
            answer = self.receive("committed")
            if answer is None:
                break
            ids += answer["ids"]
        return ids


def new_id():
    return str(uuid.uuid4())


def new_id():
    return str(uuid.uuid4())
