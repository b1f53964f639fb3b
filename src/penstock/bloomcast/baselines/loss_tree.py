"""A tree, and which packets of the first distribution each of its nodes missed.

The one input of all bounds and baselines, so that they are counted for the same losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, kw_only=True)
class LossTree:
    """Nodes by their ids."""

    root: int
    # By node, the one before it; parents come before their children.
    parents: Mapping[int, int]
    subscribers: tuple[int, ...]
    # By node, a bit for each packet that it missed.
    missed: Mapping[int, int]
    # The probability that a link loses a packet.
    loss: float

    @cached_property
    def hops(self) -> dict[int, int]:
        """By node, how far it is from the root."""
        found = {self.root: 0}
        for node, parent in self.parents.items():
            found[node] = found[parent] + 1
        return found

    @cached_property
    def depth(self) -> int:
        """Hops to the farthest subscriber."""
        return max((self.hops[node] for node in self.subscribers), default=0)

    def missed_by(self, node: int) -> int:
        """How many packets a node missed."""
        return self.missed[node].bit_count()
