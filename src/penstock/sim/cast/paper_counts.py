"""Counts what the tables of paper 004 are made of: feedback, repairs, who missed what, and when.

A *crossing* is one packet on one directed link, those that no tree needs included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols


class Feedback(Enum):
    """What a REPORT says."""

    # The answer to FIRST, before anything is sent.
    OPENING = auto()
    # A NAK is one, too.
    NEEDS = auto()
    # That nothing is needed.
    DONE = auto()


@dataclass(slots=True)
class Amount:
    """Of feedback; `numbers` are symbols that it asks for."""

    messages: int = 0
    bytes: int = 0
    numbers: int = 0

    def add(self, size_bytes: int, numbers: int) -> None:
        """One more message."""
        self.messages += 1
        self.bytes += size_bytes
        self.numbers += numbers


def feedback_of(header_flags: Flag, report: Report) -> Feedback:
    """What a report is counted as."""
    if header_flags & Flag.OPENING:
        return Feedback.OPENING
    return Feedback.NEEDS if report.needs or report.ranges else Feedback.DONE


def numbers_of(report: Report) -> int:
    """How many symbols a report asks for."""
    listed = sum(stop - start for _, ranges in report.ranges for start, stop in ranges)
    return listed + sum(need for _, need in report.needs)


class PaperCounts:
    """The observer of one run; nodes by name."""

    def __init__(self, size_of: Callable[[CastFrame], int], *, block_symbols: int) -> None:
        self._size_of: Final = size_of
        self._block_symbols: Final = block_symbols
        # By node, its number; by segment, the number of its head: set by the scene.
        self.numbers: Mapping[str, int] = {}
        self.heads: Mapping[int, int] = {}
        self.first_data_at: Instant | None = None
        # By node, a bit for each packet of generation 0.
        self.received: Final[dict[str, int]] = {}
        # By node, generation and block, a bit for each repair packet that it transmitted.
        self._transmitted: Final[dict[tuple[str, int, int], int]] = {}
        # By node and port.
        self.repairs: Final[Counter[tuple[str, Port]]] = Counter()
        self.crossings: Final[dict[Feedback, Amount]] = {kind: Amount() for kind in Feedback}
        # What nodes sent themselves, and what heads received: by node.
        self.made: Final[dict[tuple[str, Feedback], Amount]] = {}
        self.taken: Final[dict[tuple[str, Feedback], Amount]] = {}

    @property
    def node_packets(self) -> int:
        """Repair packets times nodes that transmitted them at least once."""
        return sum(packets.bit_count() for packets in self._transmitted.values())

    def sent(
        self, node: str, port: Port, frame: CastFrame, size_bytes: int, *, now: Instant
    ) -> None:
        """A node has sent a frame."""
        if not isinstance(frame, Packet):
            return
        header, body = frame.header, frame.body
        if isinstance(body, Symbols):
            if header.flags & Flag.REPAIR:
                self.repairs[node, port] += len(body.numbers)
                key = (node, header.generation, header.block)
                self._transmitted[key] = self._transmitted.get(key, 0) | bits_of(body.numbers)
            elif self.first_data_at is None:
                self.first_data_at = now
        elif isinstance(body, Report):
            kind, numbers = feedback_of(header.flags, body), numbers_of(body)
            self.crossings[kind].add(size_bytes, numbers)
            if body.child == self.numbers.get(node):
                self.made.setdefault((node, kind), Amount()).add(size_bytes, numbers)

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
            kind = feedback_of(header.flags, body)
            amount = self.taken.setdefault((node, kind), Amount())
            amount.add(self._size_of(frame), numbers_of(body))


def bits_of(numbers: tuple[int, ...]) -> int:
    """A bit for each number; numbers ascend."""
    first, last = numbers[0], numbers[-1]
    if last - first == len(numbers) - 1:
        return ((1 << len(numbers)) - 1) << first
    return sum(1 << number for number in numbers)
