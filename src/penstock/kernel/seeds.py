"""Randomness as an argument: a tree of named seeds.

A generator depends only on the root seed and its own path of names, so a new component, or one more
draw in an old one, changes no other component's numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np


@dataclass(frozen=True, slots=True)
class Seeds:
    """A node of the seed tree."""

    root: int
    path: tuple[str, ...] = ()

    def child(self, *names: str) -> Seeds:
        """The subtree below `names`."""
        return Seeds(self.root, self.path + names)

    def derived_seed(self, *names: str) -> int:
        """The 64-bit seed of this path."""
        digest = blake2b(str(self.root).encode(), digest_size=8)
        for name in self.path + names:
            encoded = name.encode()
            # Lengths keep ("ab", "c") and ("a", "bc") apart.
            digest.update(len(encoded).to_bytes(4, "big") + encoded)
        return int.from_bytes(digest.digest(), "big")

    def rng(self, *names: str) -> random.Random:
        """A scalar generator, quick for one draw at a time."""
        return random.Random(self.derived_seed(*names))

    def generator(self, *names: str) -> np.random.Generator:
        """An array generator, quick for many draws at once."""
        return np.random.Generator(np.random.PCG64(self.derived_seed(*names)))
