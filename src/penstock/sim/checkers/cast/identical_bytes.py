"""Whoever completes an object has it from symbols that were sent, each block exactly once.

The simulator has no bytes: a block is right if its symbols were the publisher's, and enough.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.facts import (
    BlockDecodable,
    CastFact,
    ObjectComplete,
    SymbolsArrived,
    TransferOpened,
    Verdict,
)
from penstock.kernel.machine import Port
from penstock.sim.checkers.cast.base import CastChecker
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols


class IdenticalBytesChecker(CastChecker):
    """Follows every symbol; `blocks` are the source symbols of each block."""

    name = "identical bytes"

    def __init__(self, publisher: str, blocks: dict[int, int]) -> None:
        super().__init__()
        self._publisher: Final = publisher
        self._blocks: Final = blocks
        self._sent: Final[dict[int, set[int]]] = {}
        # Of each node's present life, by block.
        self._arrived: Final[dict[str, dict[int, set[int]]]] = {}
        # What a node's driver has stored, which a restart does not take away.
        self._stored: Final[dict[str, set[int]]] = {}
        self._complete: Final[set[str]] = set()

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:  # noqa: ARG002
        """The publisher makes symbols, nobody else."""
        if isinstance(frame, Packet) and isinstance(frame.body, Symbols):
            known = self._sent.setdefault(frame.header.block, set())
            if node == self._publisher:
                known.update(frame.body.numbers)
            elif not known.issuperset(frame.body.numbers):
                self.report(f"{node} sends symbols of {frame.header.block} that nobody made")

    def on_symbols(self, node: str, fact: SymbolsArrived) -> None:
        """Each one is new, and was sent."""
        there = self._arrived.setdefault(node, {}).setdefault(fact.block, set())
        if there.intersection(fact.numbers) or len(set(fact.numbers)) < len(fact.numbers):
            self.report(f"{node} is given symbols of block {fact.block} twice")
        there.update(fact.numbers)
        if not self._sent.get(fact.block, set()).issuperset(fact.numbers):
            self.report(f"{node} is given symbols of block {fact.block} that were not sent")
        if fact.block in self._stored.get(node, ()):
            self.report(f"{node} is given symbols of block {fact.block}, which it has")

    def on_verdict(self, node: str, fact: BlockDecodable, verdict: Verdict) -> None:
        """Enough of them make a block."""
        there = self._arrived.setdefault(node, {}).get(fact.block, set())
        symbols = self._blocks.get(fact.block, -1)
        if verdict is Verdict.POISONED:
            self._arrived[node][fact.block] = set()
        if verdict is not Verdict.COMPLETE:
            return
        if not 0 < symbols <= len(there):
            self.report(f"{node} stores block {fact.block} with {len(there)} symbols")
        stored = self._stored.setdefault(node, set())
        if fact.block in stored:
            self.report(f"{node} stores block {fact.block} twice")
        stored.add(fact.block)

    def on_fact(self, node: str, fact: CastFact) -> None:
        """An object is complete when every block is stored."""
        if isinstance(fact, TransferOpened):
            # Symbols of what is not stored are dropped between two attempts.
            self._arrived[node] = {}
        elif isinstance(fact, ObjectComplete):
            if self._stored.get(node, set()) != set(self._blocks):
                self.report(f"{node} is complete with {len(self._stored.get(node, ()))} blocks")
            if node in self._complete:
                self.report(f"{node} is complete twice")
            self._complete.add(node)

    def on_restart(self, node: str) -> None:
        """What was not stored is lost."""
        self._arrived[node] = {}
