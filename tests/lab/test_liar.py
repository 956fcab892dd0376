#!/usr/bin/env python3
"""What a controller or a peer that lies cannot make an agent do.
Usage: test_liar.py SONDE; needs root."""

import secrets
import time

from fleet import PORT, Fleet
from hosts import Hosts, main
from liar import HELLO_BYTES, Gone, Liar, Order, Wire, nonce_of, send_forged
from network import ADDRESS

A, B = ADDRESS["a", 4], ADDRESS["b", 4]
PATIENCE_S = 30  # docs/protocol.md: an end that is told nothing closes its session
LIMITS = {"peers": ["10.9.0.0/16"], "max_payload": 1400, "max_clients": 8, "max_outstanding": 64,
          "max_seconds": 5, "max_sessions": 5, "max_io_threads": 2, "max_socket_buffer": 100000}


class Lied(Fleet):
    """Two agents whose controller is a liar."""

    def __enter__(self):
        self.liar = None
        self.overrides = {"a": {"admission": LIMITS}, "b": {"echo": {"first_port": 7870}}}
        return super().__enter__()

    def start_controller(self):
        self.liar = Liar(self.network, "r", PORT, self.path("issued", "controller-controller"))

    def wait_connected(self, names=None, seconds=30):
        for name in names or self.names:
            self.liar.wait(name, seconds)

    def __exit__(self, *_):
        if self.liar is not None:
            self.liar.close()
        super().__exit__()


class Lies(Hosts):
    @classmethod
    def make_fleet(cls):
        return Lied(cls.network, cls.sonde)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network.count_udp()
        # Left open; the last test looks what has become of them.
        cls.left_at = time.monotonic()
        cls.left = {"a": Order("echo"), "b": Order("echo")}
        for name, order in cls.left.items():
            order.opened(cls.fleet.liar.wait(name))

    def setUp(self):
        self.a, self.b = (self.fleet.liar.wait(name) for name in "ab")
        self.before = {side: self.network.udp_from(side) for side in "ab"}

    def sent_by(self, side):
        """UDP packets of a host since the test began."""
        return self.network.udp_from(side) - self.before[side]

    def wire(self, *arguments, **more):
        wire = Wire(self.network, *arguments, **more)
        self.addCleanup(wire.close)
        return wire

    # --- a controller that lies

    def test_nothing_but_hellos_to_who_has_not_agreed(self):
        orders = {}

        def garbage(datagram):
            order = orders["garbage"]
            other = Order("echo")
            seen = order.reply(datagram, 7)
            return [b"", b"x", bytes(HELLO_BYTES), secrets.token_bytes(HELLO_BYTES),
                    secrets.token_bytes(1400), datagram, other.reply(datagram, 7), seen[:-1],
                    seen + b"\0", seen[:-1] + bytes([seen[-1] ^ 1])]

        def unseen(_):
            # It has the key from its friend the controller, but it has not seen the hello.
            order = orders["unseen"]
            blind = order.request("hello", secrets.randbits(32), secrets.randbits(64))
            confirm = order.request("confirm", secrets.randbits(32), secrets.randbits(64))
            return [order.reply(blind, 7), order.reply(confirm, 7)]

        def replay(datagram):
            replayed.append(orders["replay"].reply(datagram, 7))
            return []
        replayed = []
        answers = {"silent": lambda _: [], "garbage": garbage, "unseen": unseen, "replay": replay}
        came = {}
        for port, (name, answer) in enumerate(answers.items(), 9000):
            wire = self.wire("b", B, port)
            orders[name] = Order("sender", f"{B}:{port}", clients=4, seconds=2.0)
            came[name] = wire.serve(answer, seconds=14)
            orders[name].open_at(self.a)
            orders[name].begin(self.a)
        for name, order in orders.items():
            last, report = order.report(self.a)
            self.assertEqual("failed", last["type"])
            self.assertIn("20 hellos", last["reason"], name)
            agreement = report["agreement"]
            self.assertEqual((20, 0), (agreement["hellos_sent"], agreement["hellos_answered"]))
            self.assertIsNone(report["phases"]["measure"])
        for name, datagrams in came.items():
            self.assertEqual([HELLO_BYTES] * 20, [len(one) for one in datagrams], name)
        self.assertEqual(80, self.sent_by("a"))
        # What was an answer once is none in another session, not even to the same key.
        again = Order("sender", f"{B}:9003")
        again.key, again.ssid = orders["replay"].key, orders["replay"].ssid
        wire = self.wire("b", B, 9005)
        again.target = f"{B}:9005"
        came = wire.serve(lambda _: replayed, seconds=3)
        again.open_at(self.a)
        time.sleep(1.5)
        again.begin(self.a)
        time.sleep(0.5)
        last, report = again.close(self.a)
        self.assertEqual(0, report["agreement"]["hellos_answered"])
        self.assertEqual({HELLO_BYTES}, {len(one) for one in came})
        self.assertLessEqual(len(came), 20)

    def test_who_has_the_key_and_the_hello_agrees(self):
        """So the test before does not pass because its replies are wrong."""
        order = Order("sender", f"{B}:9010", seconds=0.2)
        wire = self.wire("b", B, 9010)
        came = wire.serve(lambda datagram: [order.reply(datagram, 7)], seconds=8)
        order.opened(self.a)
        # A phase that is not this case's, or one that comes twice, breaks the session.
        order.begin(self.a)
        self.a.hear(("ended",), order.id)
        self.assertGreater(len(came), 4)
        count = len(came)
        order.begin(self.a)
        last, _ = order.report(self.a)
        self.assertEqual("begin came for a phase that is over", last["reason"])
        time.sleep(0.3)
        self.assertEqual(count, len(came))

    def refusal(self, order, **instead):
        order.open_at(self.a, **instead)
        return self.a.hear(("refused",), instead.get("session", order.id))["reason"]

    def test_nothing_beyond_admission(self):
        target = f"{B}:9020"
        too_much = [
            ({"payload": 1401}, "admission.max_payload allows 1400 bytes, 1401 were asked for"),
            ({"clients": 9}, "admission.max_clients allows 8 clients, 9 were asked for"),
            ({"clients": 8, "window": 9},
             "admission.max_outstanding allows 64 datagrams outstanding, 72 were"),
            ({"seconds": 5.5}, "admission.max_seconds allows 5 seconds, 5.5 were asked for"),
            ({"seconds": 3.0, "warmup_s": 3.0},
             "admission.max_seconds allows 5 seconds, 6 were asked for"),
            ({"io_threads": 3}, "admission.max_io_threads allows 2 threads, 3 were asked for"),
            ({"rcvbuf": 100001},
             "admission.max_socket_buffer allows 100000 bytes to receive into, 100001"),
            ({"sndbuf": 2 ** 31 - 1},
             "admission.max_socket_buffer allows 100000 bytes to send from"),
            ({"payload": 113}, "payload: 113 is not allowed between hosts"),
            ({"payload": 44}, "payload: 44 is not allowed between hosts"),
            ({"family": "ipv6"}, f"target: {target} is not allowed: the order asks for ipv6"),
        ]
        for params, reason in too_much:
            self.assertIn(reason, self.refusal(Order("sender", target, **params)))
        for wrong, reason in (("255.255.255.255:7870", "it is every host's address"),
                              ("224.0.0.1:7870", "it is a group's address"),
                              ("0.0.0.0:7870", "no host has this address"),
                              (f"{B}:0", "its port is 0"),
                              (f"[::ffff:{B}]:0", "its port is 0"),
                              ("192.0.2.1:7870",
                               "admission.peers allows 1 range of hosts, 192.0.2.1:7870 is in no"),
                              ("host.example:7870", "target: ")):
            self.assertIn(reason, self.refusal(Order("sender", wrong)))
        for wrong, reason in (("[ff02::1]:7870", "it is a group's address"),
                              ("[fe80::1]:7870", "needs a zone"),
                              ("[fd00:9:2::2]:7870", "admission.peers allows"),
                              ("[::]:7870", "no host has this address")):
            self.assertIn(reason, self.refusal(Order("sender", wrong, family="ipv6")))
        self.assertIn("target: ", self.refusal(Order("sender", None)))
        self.assertIn("the echo role has none", self.refusal(Order("echo", target)))
        self.assertIn("admission.max_seconds allows",
                      self.refusal(Order("sender", target), idle_s=3600.0))
        self.assertEqual(0, self.sent_by("a"))

    def test_the_subnets_broadcast_address_gets_nothing(self):
        order = Order("sender", "10.9.1.255:7870").open_at(self.a)
        message = self.a.hear(("refused", "failed"), order.id)
        self.assertIn("Permission denied", message["reason"])
        self.assertEqual(0, self.sent_by("a"))

    def test_sessions_are_counted_and_are_one_each(self):
        # And the one that is left open.
        orders = [Order("echo") for _ in range(LIMITS["max_sessions"] - 1)]
        for order in orders:
            order.opened(self.a)
        self.assertIn("this session is open here already",
                      self.refusal(orders[0], role="sender", target=f"{B}:9030"))
        self.assertIn("admission.max_sessions allows 5 sessions at once, 5 are open",
                      self.refusal(Order("echo")))
        for order in orders:
            last, _ = order.close(self.a)
            self.assertEqual("closed", last["type"])
        self.a.say("begin", session=orders[0].id, phase="measure")
        self.assertEqual("this session is not open here",
                         self.a.hear(("failed",), orders[0].id)["reason"])
        self.assertEqual(0, self.sent_by("a"))

    def test_z_messages_that_a_controller_may_not_send_end_the_connection(self):
        lies = [("opened", {"session": Order("echo").id, "port": 7870}),
                ("list_agents", {"request": 1}),
                ("dance", {}), ("open", {"session": 7}),
                ("begin", {"session": Order("echo").id, "phase": "afterwards"})]
        agent = self.a
        order = Order("echo")
        order.opened(agent)
        for kind, fields in lies:
            agent.say(kind, **fields)
            with self.assertRaises(Gone) as gone:
                agent.hear(("never",), seconds=5)
            self.assertTrue(gone.exception.args[0], kind)
            agent = self.fleet.liar.wait("a", other_than=agent)
        # A session does not outlive its connection, and its report waits until there is one.
        self.assertIn(f"session {order.id}: closed", self.fleet.log("a"))

    # --- a peer that lies

    def test_echo_answers_nothing_but_its_session(self):
        order, other = Order("echo"), Order("echo")
        port = order.opened(self.b)
        wire = self.wire("a", A, to=(B, port))
        stranger = self.wire("r", "10.9.2.254", to=(B, port))
        hello = order.request("hello", 5, 6)
        phase = [order.request("measure", sequence) for sequence in range(40)]
        rubbish = [b"", b"x", bytes(44), bytes(HELLO_BYTES), secrets.token_bytes(HELLO_BYTES),
                   secrets.token_bytes(1400), other.request("hello", 5, 6), hello[:-1], hello[:44],
                   hello + bytes(4),
                   hello[:-1] + bytes([hello[-1] ^ 1])]
        # Before anybody has said hello.
        wire.send(*rubbish, *phase[:3], order.request("confirm", 5, 6), order.request("warmup", 0))
        self.assertEqual([], wire.take())
        strangers = len(rubbish) + 3 + 1 + 1
        welcome = wire.ask(hello)
        self.assertEqual(HELLO_BYTES, len(welcome))
        sequence, timestamp = nonce_of(welcome)
        # An answer sent back, phases before a confirm, a confirm from who is not the guest.
        wire.send(welcome, *phase[:3])
        stranger.send(order.request("confirm", sequence, timestamp))
        self.assertEqual([], wire.take() + stranger.take(0.1))
        strangers += 5
        self.assertEqual(HELLO_BYTES, len(wire.ask(order.request("confirm", sequence, timestamp))))
        wire.send(phase[0])
        self.assertEqual([], wire.take())
        strangers += 1
        order.begin(self.b)
        self.b.hear(("begun",), order.id)
        # In the phase.
        replies = [wire.ask(datagram) for datagram in phase[:10]]
        self.assertEqual({HELLO_BYTES}, {len(reply) for reply in replies})
        wire.send(*phase[:10])
        self.assertEqual([], wire.take())
        wire.send(*rubbish, *replies, order.request("warmup", 3))
        stranger.send(phase[20], phase[0])
        self.assertEqual([], wire.take() + stranger.take(0.1))
        self.assertEqual(HELLO_BYTES, len(wire.ask(phase[10])))
        self.b.say("end", session=order.id, phase="measure")
        self.b.hear(("ended",), order.id)
        wire.send(*phase[:2], phase[11], *replies[:2])
        self.assertEqual([], wire.take())
        strangers += 5
        last, report = order.close(self.b)
        self.assertEqual("closed", last["type"])
        # Everything is counted.
        forward, reverse = (report["phases"]["measure"][leg] for leg in ("forward", "reverse"))
        self.assertEqual((11, 10, 0), (forward["received"], forward["duplicates"],
                                       forward["corrupt"]))
        self.assertEqual(len(rubbish) + len(replies) + 1 + 2, forward["foreign"])
        self.assertEqual((11, 11), (reverse["attempted"], reverse["sent"]))
        # Four hellos and confirms, two of them wrong.
        self.assertEqual((4, 2, strangers), tuple(report["agreement"][key] for key in
                                                  ("hellos_sent", "hellos_answered", "strangers")))
        # Afterwards.
        wire.send(hello, *phase, *replies)
        self.assertEqual([], wire.take())
        self.assertEqual(2 + 11, self.sent_by("b"))

    def test_an_echo_never_answers_an_echo(self):
        order = Order("echo")
        ports = {name: order.opened(agent) for name, agent in (("a", self.a), ("b", self.b))}
        # Two echo roles with one key: a hello to B that seems to come from A's.
        send_forged(self.network, "a", (A, ports["a"]), (B, ports["b"]),
                    order.request("hello", 1, 2))
        time.sleep(0.5)
        self.assertEqual((1, 1), (self.sent_by("a"), self.sent_by("b")))
        for agent in (self.a, self.b):
            order.begin(agent)
            agent.hear(("begun",), order.id)
        send_forged(self.network, "a", (A, ports["a"]), (B, ports["b"]),
                    order.request("measure", 1))
        send_forged(self.network, "b", (B, ports["b"]), (A, ports["a"]),
                    order.request("hello", 3, 4))
        send_forged(self.network, "b", (B, ports["b"]), (A, ports["a"]),
                    order.reply(order.request("measure", 1), 1))
        time.sleep(0.5)
        self.assertEqual((2, 3), (self.sent_by("a"), self.sent_by("b")))
        foreign = {}
        for name, agent in (("a", self.a), ("b", self.b)):
            agent.say("end", session=order.id, phase="measure")
            _, report = order.close(agent)
            foreign[name] = report["phases"]["measure"]["forward"]["foreign"]
        self.assertEqual({"a": 1, "b": 1}, foreign)

    # --- sessions that are left open

    def test_zz_sessions_that_are_left_open_close_by_themselves(self):
        left = self.left_at + PATIENCE_S + 3 - time.monotonic()
        last, report = self.left["b"].report(self.fleet.liar.wait("b"), seconds=max(left, 1))
        self.assertEqual("the controller asked for nothing any more", last["reason"])
        self.assertEqual(last["reason"], report["error"])
        self.assertGreater(time.monotonic() - self.left_at, PATIENCE_S - 1)
        order = Order("echo")
        order.opened(self.b)
        order.close(self.b)


if __name__ == "__main__":
    main()
