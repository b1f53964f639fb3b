"""What has crossed each link, by kind of frame and generation."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.control import Down, Up
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols


class Kind(NamedTuple):
    """What crossed."""

    # The class of the frame, or of what a packet carries: First, Symbols, Repair, End, Report, …
    name: str
    generation: int


class Crossings:
    """Datagrams and bytes by link and kind; a link is (sender, port)."""

    def __init__(self) -> None:
        self.datagrams: Final[Counter[tuple[str, str, Kind]]] = Counter()
        self.bytes: Final[Counter[tuple[str, str, Kind]]] = Counter()

    def note(self, sender: str, port: str, frame: CastFrame, size_bytes: int) -> None:
        """A frame is sent."""
        kind, count = kind_of(frame)
        self.datagrams[sender, port, kind] += count
        self.bytes[sender, port, kind] += size_bytes

    def total(self, name: str) -> int:
        """All datagrams of a kind."""
        return sum(n for (_, _, kind), n in self.datagrams.items() if kind.name == name)


def kind_of(frame: CastFrame) -> tuple[Kind, int]:
    """What a frame is counted as, and how many datagrams it is."""
    if not isinstance(frame, Packet):
        return Kind(type(frame).__name__, 0), 1
    body, header = frame.body, frame.header
    if isinstance(body, Symbols):
        name = "Repair" if header.flags & Flag.REPAIR else "Symbols"
        return Kind(name, header.generation), len(body.numbers)
    if isinstance(body, Up | Down):
        return Kind(type(body).__name__ + type(body.body).__name__, 0), 1
    return Kind(type(body).__name__, header.generation), 1
