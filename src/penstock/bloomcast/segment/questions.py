"""The open questions of a head: of a file one, of a stream one for each block that is open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.bloomcast.segment.end_table import End, EndTable
from penstock.bloomcast.segment.question import Question
from penstock.bloomcast.settings import CastSettings
from penstock.wire.frames.cast.base import STREAM_BLOCKS_MAX
from penstock.wire.frames.cast.header import Flag, Header

# The key of what FIRST asks; a file has no other question.
OPENING: Final = -1


class Questions:
    """By block."""

    def __init__(self, ends: EndTable, settings: CastSettings) -> None:
        self._ends: Final = ends
        self._settings: Final = settings
        self.opening: Final = Question(ends, settings)
        self._of_blocks: Final[dict[int, Question]] = {}
        # Whether blocks have questions of their own.
        self.is_stream = False

    def __iter__(self) -> Iterator[Question]:
        yield self.opening
        yield from self._of_blocks.values()

    def key_of(self, header: Header) -> int:
        """Which question END asks, repairs serve, and a report answers."""
        return header.block if self.is_stream and not header.flags & Flag.OPENING else OPENING

    def get(self, key: int) -> Question | None:
        """The question, if it is open."""
        return self.opening if key == OPENING else self._of_blocks.get(key)

    def open(self, key: int) -> Question | None:
        """The question, which may be new; None if it is older than all for which there is room."""
        question = self.get(key)
        if question is None:
            if len(self._of_blocks) >= STREAM_BLOCKS_MAX:
                oldest = min(self._of_blocks)
                if key < oldest:
                    return None
                del self._of_blocks[oldest]
            question = Question(self._ends, self._settings, is_of_stream=True)
            self._of_blocks[key] = question
        return question

    def settle(self, end: End) -> None:
        """An end has said with a later block that it lacks nothing of earlier ones."""
        for block, question in self._of_blocks.items():
            if block < end.lacks_from:
                question.settle(end)

    def close_before(self, block: int) -> None:
        """Blocks before this one are over."""
        for key in [key for key in self._of_blocks if key < block]:
            del self._of_blocks[key]

    def begin_epoch(self) -> None:
        """Everything begins anew."""
        self._of_blocks.clear()
        self.opening.begin_epoch()
