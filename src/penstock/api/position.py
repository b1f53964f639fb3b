"""Where a message stands in a stream, as text and back."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from penstock.api.message import MessageId
from penstock.api.units import quoted
from penstock.kernel.errors import UsageError

U64_MAX: Final = 2**64 - 1
_TEXT: Final = re.compile(r"([0-9a-f]{1,16})\.([0-9a-f]{1,16})")


class Position(msgspec.Struct, frozen=True, gc=False):
    """The place of a message: a `tick` of the pubend that keeps it, both of 64 bits.

    Positions in one pubend, and so all of one publisher to one stream, are ordered; between pubends
    there is no order, and to compare such positions is an error.
    """

    pubend: int
    tick: int

    def __post_init__(self) -> None:
        # One test for both: there is a position for every message.
        if (
            type(self.pubend) is int
            and type(self.tick) is int
            and not (self.pubend | self.tick) >> 64
        ):
            return
        for name, number in (("pubend", self.pubend), ("tick", self.tick)):
            if type(number) is not int or not 0 <= number <= U64_MAX:
                raise UsageError(
                    f"{name} is a number of 64 bits, not {quoted(number)}:"
                    " take a position from a message or a confirmation"
                )

    @classmethod
    def parse(cls, text: str) -> Position:
        """The position whose text this is."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{quoted(text)} is no position: write one as it was printed, such as"
                " 00f9c03bb1d25a4e.1a04"
            )
        return cls(int(found[1], 16), int(found[2], 16))

    @property
    def message_id(self) -> MessageId:
        """The id of the message at this position."""
        return MessageId(f"{self.pubend:016x}", 0, self.tick)

    def __str__(self) -> str:
        return f"{self.pubend:016x}.{self.tick:x}"

    def __repr__(self) -> str:
        # As it is written everywhere else: what holds a position is printed, too.
        return f"Position.parse('{self}')"

    def __lt__(self, other: Position) -> bool:
        return self.tick < self._tick_of(other)

    def __le__(self, other: Position) -> bool:
        return self.tick <= self._tick_of(other)

    def __gt__(self, other: Position) -> bool:
        return self.tick > self._tick_of(other)

    def __ge__(self, other: Position) -> bool:
        return self.tick >= self._tick_of(other)

    def _tick_of(self, other: Position) -> int:
        if not isinstance(other, Position):
            raise UsageError(f"{quoted(other)} is no position: compare with message.position")
        if other.pubend != self.pubend:
            raise UsageError(
                f"positions {self} and {other} have no order:"
                " compare positions with the same part before the dot"
            )
        return other.tick
