"""Finds, in one pass, where any of many short byte strings stands in a longer one.

One or a few are searched for one by one. For more, each byte of the text is
replaced by the classes (eight bits, eight classes) of the needles that it could
be the first byte of, and again by those that it could be the second of; where a
byte and the next have a class in common, a needle may stand, and is looked for.
The work is done on the text as a whole, as one number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

# Up to so many are searched for one by one.
_REGEX_NEEDLES_MAX: Final = 3
# Beyond so many, classes tell so little that every place is looked at.
_CLASS_NEEDLES_MAX: Final = 320
_CLASSES: Final = 8


class ByteSearch:
    """Needles of one length, at least one byte."""

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
        # Of needles of one byte there is no second to look at: any will do.
        self._second_byte_classes = self._class_table(1) if self._length > 1 else None
        # Of a few bytes in some hundred, a regular expression is quicker than `bytes.find`.
        self._searches = [
            re.compile(re.escape(n), re.DOTALL).search
            for n in self._sorted_needles[:_REGEX_NEEDLES_MAX]
        ]
        # Where, from start on, a needle stands that ends by stop; in any order.
        self.find: Callable[[bytes, int, int], Sequence[int]] = self._find_by_class
        if len(self._sorted_needles) == 1:
            self.find = self._find_one
        elif len(self._sorted_needles) <= _REGEX_NEEDLES_MAX:
            self.find = self._find_by_regex
        elif len(self._sorted_needles) > _CLASS_NEEDLES_MAX:
            self.find = self._find_by_scan

    def _find_one(self, text: bytes, start: int, stop: int) -> Sequence[int]:
        # Nearly always it is not there.
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
        """For each byte, the classes of needles that have it at this index."""
        table = [0] * 256
        for i, needle in enumerate(self._sorted_needles):
            table[needle[index]] |= 1 << i % _CLASSES
        return bytes(table)
