"""Finds all positions of many short byte strings of one length in a longer one.

Up to three needles are searched one by one. For more, the needles fall into eight classes.
Each byte of the text is translated to the classes whose needles can start with it, and
again to those whose second byte it can be. Where a byte and its successor have a class in
common, a needle may start, and the bytes are compared. The text is processed as a single
integer. Does not know records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

# Up to this number, needles are searched one by one.
_REGEX_NEEDLES_MAX: Final = 3
# Above this number, classes exclude so little that every position is compared.
_CLASS_NEEDLES_MAX: Final = 320
_CLASSES: Final = 8


class ByteSearch:
    """A set of needles, all of the same length of at least one byte."""

    __slots__ = (
        "_first_byte_classes",
        "_length",
        "_needles",
        "_searches",
        "_second_byte_classes",
        "_sorted_needles",
        "find",
    )

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._sorted_needles = sorted(set(needles))
        self._needles = frozenset(self._sorted_needles)
        self._length = len(self._sorted_needles[0]) if self._sorted_needles else 1
        assert self._length > 0
        assert all(len(needle) == self._length for needle in self._sorted_needles)
        self._first_byte_classes = self._class_table(0)
        # Needles of one byte have no second byte to test.
        self._second_byte_classes = self._class_table(1) if self._length > 1 else None
        # For a few bytes in some hundred, a regular expression is faster than `bytes.find`.
        self._searches = [
            re.compile(re.escape(n), re.DOTALL).search
            for n in self._sorted_needles[:_REGEX_NEEDLES_MAX]
        ]
        # (text, start, stop) -> positions of needles within text[start:stop], in any order.
        self.find: Callable[[bytes, int, int], Sequence[int]] = self._find_by_class
        if len(self._sorted_needles) == 1:
            self.find = self._find_one
        elif len(self._sorted_needles) <= _REGEX_NEEDLES_MAX:
            self.find = self._find_by_regex
        elif len(self._sorted_needles) > _CLASS_NEEDLES_MAX:
            self.find = self._find_by_scan

    def _find_one(self, text: bytes, start: int, stop: int) -> Sequence[int]:
        # There is almost never a hit: avoid building a list.
        if self._searches[0](text, start, stop) is None:
            return ()
        return self._find_by_regex(text, start, stop)

    def _find_by_regex(self, text: bytes, start: int, stop: int) -> list[int]:
        found = []
        for search in self._searches:
            hit = search(text, start, stop)
            while hit is not None:
                found.append(hit.start())
                hit = search(text, hit.start() + 1, stop)
        return found

    def _find_by_class(self, whole: bytes, start: int, stop: int) -> list[int]:
        text = whole[start:stop]
        marks = int.from_bytes(text.translate(self._first_byte_classes), "little")
        if self._second_byte_classes is not None:
            marks &= int.from_bytes(text.translate(self._second_byte_classes), "little") >> 8
        needles, length = self._needles, self._length
        found = []
        while marks:
            at = marks.bit_length() - 1 >> 3
            marks &= (1 << 8 * at) - 1
            if text[at : at + length] in needles:
                found.append(start + at)
        return found

    def _find_by_scan(self, text: bytes, start: int, stop: int) -> list[int]:
        needles, length = self._needles, self._length
        last = stop - length + 1
        return [at for at in range(start, last) if text[at : at + length] in needles]

    def _class_table(self, index: int) -> bytes:
        """Return, for each byte value, the classes of needles that have it at this index."""
        table = [0] * 256
        for i, needle in enumerate(self._sorted_needles):
            table[needle[index]] |= 1 << i % _CLASSES
        return bytes(table)
