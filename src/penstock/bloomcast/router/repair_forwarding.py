"""Repairs on their way down: a relay point sends each to those of its ends that need it.

A symbol of the block itself goes to whoever lists it. Symbols of the code are alike: what counts is
how many have come, not which.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import msgspec

from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.symbols import Symbols

# Blocks of a generation whose repair symbols are counted.
_COUNTED_BLOCKS_MAX: Final = 4_096


class RepairForwarding:
    """Of one relay point."""

    def __init__(self, head: SegmentHead) -> None:
        self._head: Final = head
        # By generation and block, how many symbols of the code have come.
        self._received: Final[BoundedDict[tuple[int, int], int]] = BoundedDict(_COUNTED_BLOCKS_MAX)

    def clear(self) -> None:
        """Another epoch: generations are counted from 0 again."""
        self._received.clear()

    def forward(self, header: Header, body: Symbols) -> None:
        """A train of repairs has come."""
        symbols_of = self._head.symbols_of
        question = self._head.questions.get(self._head.questions.key_of(header))
        if symbols_of is None or question is None:
            # Nobody has been asked what it needs.
            return
        generation, block, targets = header.generation, header.block, question.targets
        exact = bisect_left(body.numbers, symbols_of(block))
        for group in targets.split_exact(generation, block, body.numbers[:exact]):
            self._send(header, group.numbers, group.ends)
        coded = body.numbers[exact:]
        key = (generation, block)
        start = self._received.get(key, 0)
        stop = self._received[key] = start + len(coded)
        for piece in targets.split(generation, block, start, stop):
            self._send(header, coded[piece.start - start : piece.stop - start], piece.ends)

    def _send(self, header: Header, numbers: tuple[int, ...], ends: tuple[int, ...]) -> None:
        onward, body = msgspec.structs.replace(header, symbol=numbers[0]), Symbols(numbers=numbers)
        self._head.send_to(ends, onward, lambda _segment: body, has_origin=False)
