"""DATA: symbols of one block.

Machines handle numbers of symbols, in trains; drivers hold the bytes. On a socket a train is so
many datagrams with one header each.
"""

from __future__ import annotations

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_ascending, check_unsigned
from penstock.wire.frames.cast.base import TRAIN_SYMBOLS_MAX, CastBody


class Symbols(CastBody, frozen=True, kw_only=True, gc=False):
    """The numbers of a train, of which the first is that of the header."""

    numbers: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.numbers) <= TRAIN_SYMBOLS_MAX:
            raise UsageError(
                f"a train has 1 to {TRAIN_SYMBOLS_MAX} symbols, not {len(self.numbers)}"
            )
        check_ascending("symbols", self.numbers)
        check_unsigned(32, symbol=self.numbers[-1])
