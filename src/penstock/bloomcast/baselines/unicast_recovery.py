"""Recovery by unicast: a NAK to the publisher for each packet lost, and a repair to each asker.

A computation, not a machine: NAKs and repairs of one subscriber meet no others, so that nothing but
the path and the losses matters. It takes what each subscriber missed from the run that it is
compared with, and draws the losses of NAKs and repairs anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.coding.base import RandomSource

NAK_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class UnicastRecovery:
    """NAKs and repairs, by all links that they cross; a repair's are its transmitting nodes too."""

    naks: int
    nak_crossings: int
    repair_crossings: int

    @property
    def nak_bytes(self) -> int:
        """All crossings of NAKs, in bytes."""
        return self.nak_crossings * NAK_BYTES


def unicast_recovery(tree: LossTree, rng: RandomSource) -> UnicastRecovery:
    """Each packet is asked for again until it comes."""
    naks = nak_crossings = repair_crossings = 0
    for node in tree.subscribers:
        hops = tree.hops[node]
        for _ in range(tree.missed_by(node)):
            repaired = False
            while not repaired:
                naks += 1
                crossed, arrived = _send(hops, tree.loss, rng)
                nak_crossings += crossed
                if arrived:
                    crossed, repaired = _send(hops, tree.loss, rng)
                    repair_crossings += crossed
    return UnicastRecovery(naks, nak_crossings, repair_crossings)


def _send(hops: int, loss: float, rng: RandomSource) -> tuple[int, bool]:
    """How many links a packet crosses, and whether it arrives; it crosses the one that loses it."""
    for crossed in range(1, hops + 1):
        if rng.random() < loss:
            return crossed, False
    return hops, True
