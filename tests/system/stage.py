"""A controller that says what a test tells it to: for tests of an operator's commands. It speaks
the control channel to one operator after the other, and knows no agent."""

import json
import socket
import ssl
import threading

from peers import Peer

LIMIT_PART = 256 << 10


class Operator(Peer):
    """The other end of an operator's connection."""

    def __init__(self, connection):  # pylint: disable=super-init-not-called
        self.socket, self.read = connection, b""


class Stage:
    """Use it as a context manager. `run` is called with (operator, message) for each order, once
    it is accepted, and tells what happens; `rows` are answered to list_results, by kind."""

    def __init__(self, files, run=None, archive=None, rows=None, accepts=None):
        ca, certificate, key = files
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.load_verify_locations(ca)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["sonde/1"])
        self.run, self.archive, self.rows = run, archive, rows or {}
        self.accepts = {"run": "run-1", "cases": 2, "waits_for": None, **(accepts or {})}
        self.heard, self.wrong = [], []

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(30)

    def of(self, kind):
        """The messages of this type that were heard."""
        return [message for message in self.heard if message["type"] == kind]

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            try:
                connection.settimeout(30)
                with self.context.wrap_socket(connection, server_side=True) as secure:
                    self._talk(Operator(secure))
            except (OSError, AssertionError) as error:
                self.wrong.append(error)

    def _talk(self, operator):
        operator.send({"type": "ping"})  # whoever connects waits for a first word
        while True:
            try:
                message = operator.frame()
            except ConnectionError:
                return
            if message is None or message["type"] == "bye":
                return
            if message["type"] != "ping":
                self.heard.append(message)
                self._answer(operator, message)

    def _answer(self, operator, message):
        request = message.get("request")
        if message["type"] == "run":
            operator.send({"type": "accepted", "request": request, **self.accepts})
            if self.run:
                self.run(operator, message)
        elif message["type"] == "stop":
            operator.send({"type": "run_done", "run": message["run"], "outcome": "stopped",
                           "reason": "stopped by tester"})
        elif message["type"] == "show":
            self._show(operator, request)
        elif message["type"] == "list_results":
            rows = [row for row in self.rows.get(message["kind"], ())
                    if message["before"] is None or row["row"] < message["before"]]
            page = rows[:message["limit"]]
            operator.send({"type": "results", "request": request, "more": len(rows) > len(page),
                           "rows": page if message["kind"] == "pair" else [],
                           "mtu_rows": page if message["kind"] == "mtu" else []})

    def _show(self, operator, request):
        if self.archive is None:
            operator.send({"type": "error", "request": request, "reason": "there is no such run"})
            return
        text = json.dumps(self.archive).encode()
        for at in range(0, len(text), LIMIT_PART):
            data = text[at:at + LIMIT_PART]
            operator.send({"type": "part", "request": request, "offset": at, "total": len(text),
                           "data": data, "last": at + len(data) == len(text)})
