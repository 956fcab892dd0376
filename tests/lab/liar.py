"""A controller that says what a test wants it to, and datagrams that a test makes by hand.

It speaks the channel of docs/protocol.md with modules of Python's own and msgpack, so nothing in it
is the programs' own code. Times are real."""

import contextlib
import ctypes
import hashlib
import hmac
import os
import secrets
import select
import socket
import ssl
import struct
import threading
import time
import uuid

import msgpack

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
HELLO_BYTES = 112
PARTS = {"hello": 0, "confirm": 1, "warmup": 2, "measure": 3}  # of a session's four SSIDs


@contextlib.contextmanager
def inside(network, host):
    """This thread is on a host meanwhile; sockets made there stay there."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{network.name(host)}", os.O_RDONLY)
    try:
        if LIBC.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        yield
    finally:
        if LIBC.setns(home, CLONE_NEWNET) != 0:
            raise SystemExit("this thread cannot come home")
        os.close(home)
        os.close(there)


# --- the channel


class Gone(Exception):
    """The agent has closed the connection; the text is what its bye says."""


class Agent:
    """One agent's connection. A thread reads; what came waits in order."""

    def __init__(self, connection):
        self.connection = connection
        names = dict(connection.getpeercert()["subjectAltName"])
        self.name = names["URI"].rsplit("/", 1)[1]
        self.came, self.results, self.bye, self.gone = [], {}, None, False
        self.changed = threading.Condition()
        self.lock = threading.Lock()  # OpenSSL's objects are one thread's at a time
        connection.setblocking(False)
        threading.Thread(target=self._read, daemon=True).start()

    def _piece(self):
        """What can be read, empty when nothing can yet; None at the end."""
        select.select([self.connection], [], [], 1)
        with self.lock, contextlib.suppress(ssl.SSLWantReadError):
            return self.connection.recv(65536) or None
        return b""

    def _read(self):
        data = b""
        with contextlib.suppress(OSError, ValueError):
            while (piece := self._piece()) is not None:
                data += piece
                while len(data) >= 4 and \
                        len(data) >= (end := 4 + struct.unpack_from("!I", data)[0]):
                    self._take(msgpack.unpackb(data[4:end]))
                    data = data[end:]
        with self.changed:
            self.gone = True
            self.changed.notify_all()

    def _take(self, message):
        if message["type"] == "result":
            self.say("committed", ids=[message["id"]])
        with self.changed:
            if message["type"] == "bye":
                self.bye = message["reason"]
            elif message["type"] == "result":
                self.results[message["id"]] = msgpack.unpackb(message["body"])
            elif message["type"] not in ("ping", "status", "progress"):
                self.came.append(message)
            self.changed.notify_all()

    def say(self, kind, /, **fields):
        body = msgpack.packb({"type": kind, **fields})
        data = struct.pack("!I", len(body)) + body
        while data:
            with self.lock, contextlib.suppress(ssl.SSLWantWriteError):
                data = data[self.connection.send(data):]

    def _wait(self, what, found, seconds):
        with self.changed:
            self.changed.wait_for(lambda: found() or self.gone, seconds)
            if found():
                return found()
            if self.gone:
                raise Gone(self.bye)
            said = [(message["type"], message.get("reason")) for message in self.came]
            raise AssertionError(f"{self.name}: no {what} within {seconds} s, but {said}")

    def hear(self, kinds, session=None, seconds=20):
        """The next message of these kinds, of this session; others wait for who asks for them."""
        def found():
            return next((message for message in self.came
                         if message["type"] in kinds and session in (None, message.get("session"))),
                        None)
        message = self._wait(kinds, found, seconds)
        self.came.remove(message)
        return message

    def result(self, name, seconds=20):
        return self._wait(f"result {name}", lambda: self.results.get(name), seconds)

    def drop(self):
        self.connection.close()


class Liar:
    """Listens as the controller does, and welcomes whoever comes."""

    def __init__(self, network, host, port, folder):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(f"{folder}/controller.pem", f"{folder}/controller-key.pem")
        context.load_verify_locations(f"{folder}/ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        context.set_alpn_protocols(["sonde/1"])
        self.agents, self.changed = {}, threading.Condition()
        with inside(network, host):
            listener = socket.create_server(("0.0.0.0", port))
        self.listener = context.wrap_socket(listener, server_side=True)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except ssl.SSLError:
                continue
            except OSError:
                return
            agent = Agent(connection)
            agent.say("ping")
            agent.hear(("hello",))
            agent.say("welcome", protocol=1, version="9.9.9")
            with self.changed:
                self.agents[agent.name] = agent
                self.changed.notify_all()

    def wait(self, name, seconds=30, other_than=None):
        """The connection of this agent, a newer one than `other_than`."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.agents.get(name) not in (None, other_than),
                                         seconds):
                raise TimeoutError(f"{name} did not come within {seconds} s")
            return self.agents[name]

    def close(self):
        self.listener.close()
        for agent in self.agents.values():
            agent.drop()


class Order:
    """A session as a controller orders it."""

    def __init__(self, role, target=None, **params):
        self.id = str(uuid.uuid4())
        self.key = secrets.token_bytes(32)
        self.ssid = 1 + secrets.randbelow(60000)
        self.role, self.target = role, target
        self.params = {"payload": 112, "window": 4, "repeat": 1, "engine": "batch",
                       "family": "ipv4", "clients": 1, "io_model": "split", "io_threads": 1,
                       "work_ns": 0, "warmup_s": 0.0,
                       "seconds": 1.0, "interval_ns": 0, "rcvbuf": 65536, "sndbuf": 65536, **params}

    def open_at(self, agent, **instead):
        agent.say("open", **{"session": self.id, "run": str(uuid.uuid4()), "index": 0,
                             "role": self.role, "key": self.key, "ssid": self.ssid,
                             "target": self.target, "kind": "pair", "idle_s": 0.0,
                             "params": self.params, **instead})
        return self

    def opened(self, agent):
        """The port, once it stands."""
        self.open_at(agent)
        return agent.hear(("opened",), self.id)["port"]

    def begin(self, agent, phase="measure"):
        agent.say("begin", session=self.id, phase=phase)

    def close(self, agent):
        """Closes it; the report."""
        agent.say("close", session=self.id, reason=None)
        return self.report(agent)

    def report(self, agent, seconds=20):
        """Of a session that is over: its last word and its report."""
        last = agent.hear(("closed", "failed"), self.id, seconds)
        return last, agent.result(last["result"], seconds)

    # --- its datagrams

    def sign(self, head):
        """96 octets and their HMAC under the session's key."""
        return bytes(head) + hmac.new(self.key, bytes(head), hashlib.sha256).digest()[:16]

    def request(self, part, sequence, timestamp=1 << 32):
        head = bytearray(96)
        struct.pack_into("!I", head, 0, sequence)
        struct.pack_into("!QHH", head, 16, timestamp, 1, self.ssid + PARTS[part])
        return self.sign(head)

    def reply(self, request, sequence, timestamp=2 << 32):
        """What an echo role that has the key would answer."""
        head = bytearray(96)
        struct.pack_into("!I", head, 0, sequence)
        struct.pack_into("!QHH", head, 16, timestamp, 1, struct.unpack_from("!H", request, 26)[0])
        struct.pack_into("!Q", head, 32, timestamp)
        head[48:52] = request[0:4]
        head[64:72] = request[16:24]
        head[72:74] = request[24:26]
        head[80] = 255
        return self.sign(head)


def nonce_of(reply):
    """Sequence and timestamp that a reply has of its own."""
    return struct.unpack_from("!I", reply, 0)[0], struct.unpack_from("!Q", reply, 16)[0]


class Wire:
    """A UDP socket on a host, for datagrams made by hand."""

    def __init__(self, network, host, address, port=0, to=None):
        with inside(network, host):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.to = to

    def send(self, *datagrams):
        for datagram in datagrams:
            self.socket.sendto(datagram, self.to)

    def take(self, seconds=0.3):
        """The datagrams that come, until none has for so long."""
        came = []
        self.socket.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            while True:
                came.append(self.socket.recv(65536))
        return came

    def ask(self, datagram, seconds=2):
        """One datagram, and the one that comes back."""
        self.send(datagram)
        self.socket.settimeout(seconds)
        return self.socket.recv(65536)

    def serve(self, answer, seconds):
        """Answers each datagram with what `answer` makes of it, in a thread; the list fills with
        all that came."""
        came = []
        until = time.monotonic() + seconds

        def run():
            with contextlib.suppress(OSError):
                while (left := until - time.monotonic()) > 0:
                    self.socket.settimeout(left)
                    datagram, peer = self.socket.recvfrom(65536)
                    came.append(datagram)
                    for one in answer(datagram):
                        self.socket.sendto(one, peer)
        threading.Thread(target=run, daemon=True).start()
        return came

    def close(self):
        self.socket.close()


def send_forged(network, host, source, to, data):
    """One UDP datagram with a source that is not this host's."""
    header = struct.pack("!HHHH", source[1], to[1], 8 + len(data), 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 17, 0, socket.inet_aton(source[0]),
                     socket.inet_aton(to[0]))
    with inside(network, host):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    with raw:
        raw.sendto(ip + header + data, (to[0], 0))
