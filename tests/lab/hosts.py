"""What lab tests have in common: the network and its fleet for a class of tests, and their main."""

import sys
import unittest

from fleet import Fleet, check_account, measured
from network import SKIPPED, Network, why_impossible

PLACES = ("receive_buffer", "sender_host", "receiver_host", "network", "unattributed")


def closed(seconds=0.5, payload=800, clients=1, window=4, warmup=0):
    """Flags of one closed-loop case."""
    flags = {"payload": payload, "window": window, "clients": clients, "warmup": warmup,
             "seconds": seconds, "idle": 0}
    return tuple(word for name, value in flags.items() for word in (f"--{name}", str(value)))


def paced(interval_ms=1, seconds=1, window=1, **more):
    """Flags of one open-loop case."""
    return (*closed(seconds=seconds, window=window, **more), "--interval",
            str(int(interval_ms * 1e6)))


class Hosts(unittest.TestCase):
    """Tests in one network with one fleet, which a class makes in its own way."""
    sonde = sys.argv[1] if len(sys.argv) > 1 else "sonde"

    @classmethod
    def make_network(cls):
        return Network()

    @classmethod
    def make_fleet(cls):
        return Fleet(cls.network, cls.sonde)

    @classmethod
    def setUpClass(cls):
        cls.network = cls.make_network().__enter__()
        try:
            cls.fleet = cls.make_fleet().__enter__()
        except BaseException:
            cls.network.__exit__()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__()
        cls.network.__exit__()

    def assert_places(self, leg, **expected):
        self.assertEqual({place: expected.get(place, 0) for place in PLACES}, leg["lost_to"])

    def assert_counts(self, leg, **expected):
        """Of what may be wrong with a leg's datagrams, what is not named here is 0."""
        names = ("late", "lost", "duplicates", "reordered", "corrupt", "foreign")
        self.assertEqual({name: expected.get(name, 0) for name in names},
                         {name: leg[name] for name in names})
        self.assertEqual(expected.get("refused", 0), sum(leg["refused"].values()))

    def measure(self, *flags, **more):
        """Runs one case; returns run, forward leg, reverse leg, all of which add up."""
        run = self.fleet.run(*flags, **more)
        check_account(self, run)
        phase = measured(run)
        return run, phase["forward"], phase["reverse"]


def main():
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])
