"""Counts what the tables of paper 004 are made of: feedback, repairs, who missed what, and when.

A *crossing* is one packet on one directed link, those that no tree needs included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.trace.cast_words import CastKind
from penstock.wire.frames.cast.base import CastBody, CastFrame
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop


@dataclass(slots=True)
class Amount:
    """Of packets of one kind; `numbers` are symbols that reports ask for."""

    packets: int = 0
    bytes: int = 0
    numbers: int = 0

    def add(self, size_bytes: int, packets: int = 1, numbers: int = 0) -> None:
        """One more frame."""
        self.packets += packets
        self.bytes += size_bytes
        self.numbers += numbers


class PaperCounts:
    """The observer of one run; nodes by name."""

    def __init__(self, size_of: Callable[[CastFrame], int], *, block_symbols: int) -> None:
        self._size_of: Final = size_of
        self._block_symbols: Final = block_symbols
        # By node, its number; by segment, the number of its head: set by the scene.
        self.numbers: Mapping[str, int] = {}
        self.heads: Mapping[int, int] = {}
        # The first and the last packet of the first distribution.
        self._publisher = ""
        self.first_data_at: Instant | None = None
        self.last_data_at: Instant | None = None
        # By node, a bit for each packet of the first distribution.
        self.received: Final[dict[str, int]] = {}
        # By node, generation and block, a bit for each repair packet that it sent.
        self._repairs: Final[dict[tuple[str, int, int], int]] = {}
        # By node, port, kind and generation.
        self.crossings: Final[dict[tuple[str, Port, CastKind, int], Amount]] = {}
        # Reports that nodes made, and that heads received: by node and kind.
        self.made: Final[dict[tuple[str, CastKind], Amount]] = {}
        self.taken: Final[dict[tuple[str, CastKind], Amount]] = {}

    def repairs_by_node(self) -> dict[str, int]:
        """How many repair packets each node sent, by however many links."""
        found: dict[str, int] = {}
        for (node, _, _), packets in self._repairs.items():
            found[node] = found.get(node, 0) + packets.bit_count()
        return found

    def sent(
        self, node: str, port: Port, frame: CastFrame, size_bytes: int, *, now: Instant
    ) -> None:
        """A node has sent a frame."""
        if not isinstance(frame, Packet):
            self._cross(node, port, CastKind.CONTROL, 0).add(size_bytes)
            return
        header, body = frame.header, frame.body
        kind = kind_of_packet(header, body)
        crossing = self._cross(node, port, kind, header.generation)
        if isinstance(body, Symbols):
            crossing.add(size_bytes, len(body.numbers))
            if kind is CastKind.REPAIR:
                key = (node, header.generation, header.block)
                self._repairs[key] = self._repairs.get(key, 0) | bits_of(body.numbers)
            else:
                self._note_data(node, now)
        elif isinstance(body, Report):
            numbers = numbers_of(body)
            crossing.add(size_bytes, numbers=numbers)
            if body.child == self.numbers.get(node):
                made = self.made.setdefault((node, kind), Amount())
                made.add(size_bytes, numbers=numbers)
        else:
            crossing.add(size_bytes)

    def _cross(self, node: str, port: Port, kind: CastKind, generation: int) -> Amount:
        key = (node, port, kind, generation)
        found = self.crossings.get(key)
        if found is None:
            found = self.crossings[key] = Amount()
        return found

    def _note_data(self, node: str, now: Instant) -> None:
        if self.first_data_at is None:
            # It is the publisher's.
            self.first_data_at = now
            self._publisher = node
        if node == self._publisher:
            self.last_data_at = now

    def arrived(self, node: str, frame: CastFrame, *, now: Instant) -> None:  # noqa: ARG002
        """A frame has come to a node."""
        if not isinstance(frame, Packet):
            return
        header, body = frame.header, frame.body
        if isinstance(body, Symbols):
            if not header.flags & Flag.REPAIR:
                came = bits_of(body.numbers) << header.block * self._block_symbols
                self.received[node] = self.received.get(node, 0) | came
        elif isinstance(body, Report) and self.heads.get(header.segment) == self.numbers[node]:
            taken = self.taken.setdefault((node, kind_of_packet(header, body)), Amount())
            taken.add(self._size_of(frame), numbers=numbers_of(body))


def kind_of_packet(header: Header, body: CastBody) -> CastKind:
    """What a packet is counted as."""
    if isinstance(body, Symbols):
        return CastKind.REPAIR if header.flags & Flag.REPAIR else CastKind.DATA
    if isinstance(body, Report):
        if header.flags & Flag.OPENING:
            return CastKind.READY
        return CastKind.NEEDS if body.needs or body.ranges else CastKind.DONE
    if isinstance(body, AllowedRate | RateInForce):
        return CastKind.RATE
    if isinstance(body, First | FirstRequest | End | Stop):
        return CastKind.TRANSFER
    return CastKind.CONTROL


def numbers_of(report: Report) -> int:
    """How many symbols a report asks for."""
    listed = sum(stop - start for _, ranges in report.ranges for start, stop in ranges)
    return listed + sum(need for _, need in report.needs)


def bits_of(numbers: tuple[int, ...]) -> int:
    """A bit for each number; numbers ascend."""
    first, last = numbers[0], numbers[-1]
    if last - first == len(numbers) - 1:
        return ((1 << len(numbers)) - 1) << first
    return sum(1 << number for number in numbers)
