#!/usr/bin/env python3
"""However the network cuts what agent and controller say, every result is stored once and in order.
Usage: test_bytes.py SONDE; needs root."""

import random
import sys
import unittest

import spools
from fleet import PORT, Fleet
from network import SKIPPED, Alone, wait_for, why_impossible
from proxy import Proxy, Split, single

SONDE = sys.argv[1] if len(sys.argv) > 1 else "sonde"


class Bytes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.seed = random.randrange(1 << 32)
        print(f"seed {cls.seed}", file=sys.stderr)
        cls.host = Alone().__enter__()
        cls.fleet = Fleet(cls.host, SONDE, agents=()).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__()
        cls.host.__exit__()

    def carried(self, name, sizes, **how):
        """Results of these sizes go from an agent's spool to the store through a proxy."""
        names = spools.put(self.fleet.path(f"{name}.sqlite"), sizes)
        expected = [(one, spools.body(one, size)) for one, size in zip(names, sizes)]
        with Proxy(("127.0.0.1", PORT), **how) as proxy:
            self.fleet.overrides[name] = {"controller": {"address": f"127.0.0.1:{proxy.port}"}}
            self.fleet.start_agent(name)

            def all_there():
                return len(spools.stored(self.fleet.path("sonde.sqlite"), name)) >= len(names)
            wait_for(all_there, 40, pause=0.2)
            wait_for(lambda: self.fleet.log(name).count("connected to") == 1)
            self.assertEqual(expected, spools.stored(self.fleet.path("sonde.sqlite"), name))
            self.assertEqual(1, len(proxy.came), "it had to connect again")
            self.assertEqual(0, self.fleet.agents[name].poll() or 0)
            wait_for(lambda: self.is_empty(name), 10, pause=0.2)

    def is_empty(self, name):
        """Acknowledgements come through the same proxy."""
        return spools.listed(self.fleet.path(f"{name}.sqlite"))[0] == []

    def some_sizes(self, count, largest=200_000):
        chance = random.Random(self.seed)
        sizes = [10, 11, 200_000]
        sizes += [int(10 * (largest / 10) ** chance.random()) for _ in range(count)]
        chance.shuffle(sizes)
        return sizes

    def test_one_byte_at_a_time(self):
        self.carried("single", self.some_sizes(8, 2_000), cut=single)

    def test_gathered_for_300_ms(self):
        self.carried("gathered", self.some_sizes(60), gather=0.3)

    def test_split_at_random(self):
        self.carried("split", self.some_sizes(40), cut=Split(self.seed))

    def test_gathered_and_split_at_random(self):
        self.carried("both", self.some_sizes(20), cut=Split(self.seed), gather=0.3)


if __name__ == "__main__":
    reason = why_impossible()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v"])
