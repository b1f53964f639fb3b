"""What it takes to code a block: any K of its symbols, or a few more, give it back.

K is how many source symbols a block has. Symbols are numbered as by the `raptorq` library: source
symbols from 0, repair symbols from K on. Machines handle these numbers only; drivers hold the
bytes, and simulations do without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class BlockEncoder(Protocol):
    """Makes the repair symbols of one block."""

    def symbols(self, start: int, stop: int) -> list[bytes]:
        """The repair symbols from number `start` up to, not including, `stop`."""


class BlockDecoder(Protocol):
    """Gives a block back from enough of its symbols."""

    def decode(self, symbols: Mapping[int, bytes]) -> bytes | None:
        """The block with the padding of its last symbol; None if more symbols are needed."""


class DecodingLaw(Protocol):
    """Says whether one receiver can decode one block, without any bytes."""

    def is_decodable(self, *, source: int, repair: int) -> bool:
        """Whether so many distinct source and repair symbols are enough."""


class RandomSource(Protocol):
    """The part of `random.Random` that is drawn from."""

    def random(self) -> float:
        """A number from 0 up to, not including, 1."""
