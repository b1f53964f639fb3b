"""Whoever reads a stream has the blocks that were written, in order, but for those that are gone.

Where all are there from the beginning, and nothing fails, they begin with block 0, and only those
blocks are gone that the publisher has given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.bloomcast.facts import (
    BlockReady,
    BlocksGone,
    CastFact,
    SymbolsArrived,
    TransferOpened,
    TransferStopped,
)
from penstock.kernel.machine import Port
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.sim_node import digest_of
from penstock.sim.cast.stream_programs import ReadingProgram, WritingProgram
from penstock.sim.checkers.cast.base import CastChecker
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols


class IdenticalBlocksChecker(CastChecker):
    """Follows every symbol and every block."""

    name = "identical blocks"

    def __init__(
        self,
        network: CastNetwork,
        writer: WritingProgram,
        readers: Sequence[ReadingProgram],
        *,
        # All are there from the beginning, and nothing fails.
        is_calm: bool,
    ) -> None:
        super().__init__()
        self._network: Final = network
        self._writer: Final = writer
        self._readers: Final = {reader.node: reader for reader in readers}
        self._is_calm: Final = is_calm
        self._sent: Final[dict[int, set[int]]] = {}
        # By node and block, of what it receives now.
        self._arrived: Final[dict[str, dict[int, set[int]]]] = {}
        # The block that each is told of next.
        self._next: Final[dict[str, int]] = {}

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:  # noqa: ARG002
        """The publisher makes symbols, nobody else."""
        if isinstance(frame, Packet) and isinstance(frame.body, Symbols):
            known = self._sent.setdefault(frame.header.block, set())
            if node == self._writer.node:
                known.update(frame.body.numbers)
            elif not known.issuperset(frame.body.numbers):
                self.report(f"{node} sends symbols of {frame.header.block} that nobody made")

    def on_symbols(self, node: str, fact: SymbolsArrived) -> None:
        """Each one is new, and was sent."""
        there = self._arrived.setdefault(node, {}).setdefault(fact.block, set())
        if there.intersection(fact.numbers):
            self.report(f"{node} is given symbols of block {fact.block} twice")
        there.update(fact.numbers)
        if not self._sent.get(fact.block, set()).issuperset(fact.numbers):
            self.report(f"{node} is given symbols of block {fact.block} that were not sent")
        if fact.block < self._next.get(node, 0):
            self.report(f"{node} is given symbols of block {fact.block}, which is over")

    def on_fact(self, node: str, fact: CastFact) -> None:
        """Blocks are handed over one after the other."""
        if node not in self._readers:
            return
        if isinstance(fact, TransferOpened):
            self._arrived[node] = {}
            self._next.pop(node, None)
        elif isinstance(fact, BlockReady):
            self._follow(node, fact.block, fact.block + 1)
            self._compare(node, fact.block)
        elif isinstance(fact, BlocksGone):
            self._follow(node, fact.start, fact.stop)
            if self._is_calm:
                self._check_gone(node, fact)
        elif isinstance(fact, TransferStopped) and not fact.reason:
            self._check_end(node)

    def _follow(self, node: str, start: int, stop: int) -> None:
        due = self._next.get(node, 0 if self._is_calm else start)
        if start != due:
            self.report(f"{node} is told of block {start}, and not of {due}")
        self._next[node] = stop

    def _compare(self, node: str, block: int) -> None:
        reader = self._readers[node]
        ended = reader.ended[block]
        written = self._writer.lives[reader.epoch].blocks.get(block)
        if (written, digest_of(block, written or 0)) != (ended.symbols, ended.digest):
            self.report(f"{node} has a block {block} of {ended.symbols} symbols, not {written}")
        if len(self._arrived.get(node, {}).get(block, ())) < ended.symbols:
            self.report(f"{node} has block {block} of too few symbols")

    def _check_gone(self, node: str, fact: BlocksGone) -> None:
        epoch = self._readers[node].epoch
        lost = set(range(fact.start, fact.stop)) - self._writer.lives[epoch].gone
        if lost:
            self.report(f"{node} lacks {sorted(lost)}, which the publisher has not given up")

    def _check_end(self, node: str) -> None:
        blocks = self._writer.lives[self._readers[node].epoch].blocks
        end = max(blocks, default=-1) + 1
        if self._next.get(node, end) != end:
            self.report(f"{node} is told of the end at block {self._next[node]} of {end}")

    def on_restart(self, node: str) -> None:
        """Symbols are lost."""
        self._arrived[node] = {}
        self._next.pop(node, None)
