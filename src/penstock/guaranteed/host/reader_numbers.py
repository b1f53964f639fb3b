"""Numbers of readers, as pubends know them."""

from __future__ import annotations

from typing import Final

# Of readers in a life of the host, and of lives before they come again: 32 bits.
_NUMBERS: Final = 1 << 20
_LIVES: Final = 1 << 12


class ReaderNumbers:
    """Of one pubend at one host; 0 is no reader that a pubend knows."""

    def __init__(self, life: int) -> None:
        # A pubend may still have readers of an earlier life: theirs are other numbers.
        self._start: Final = life % _LIVES * _NUMBERS
        self._last = 0

    def next(self) -> int:
        """A number that no other reader has, or had until long ago."""
        self._last = self._last % (_NUMBERS - 1) + 1
        return self._start + self._last
