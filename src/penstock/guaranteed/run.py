"""A run: what a stretch of a pubend holds, messages and the silence between them.

The parts of one broker pass runs to each other, many messages at once; on links a run is one DATA
for each message, and SILENCE for what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from penstock.guaranteed.stream_item import StreamItem
from penstock.wire.frames.guaranteed.base import ReaderId
from penstock.wire.frames.guaranteed.knowledge import Data, Silence

NO_ITEMS: Final[list[StreamItem]] = []


class Run(msgspec.Struct):
    """All ticks from `start` up to `stop` are silence, except those of the items."""

    pubend: int
    start: int
    stop: int
    # By rising ticks; never changed once it is here.
    items: list[StreamItem]
    # The reader whose request this answers, under its predicate; None for everybody.
    reader: ReaderId | None = None

    def items_between(self, start: int, stop: int) -> list[StreamItem]:
        """The items of a part of it."""
        items = self.items
        if not items or (start <= items[0].tick and items[-1].tick < stop):
            return items
        return [item for item in items if start <= item.tick < stop]


def run_of(frame: Data | Silence) -> Run:
    """What a frame says, as a run."""
    if type(frame) is Data:
        item = StreamItem(frame.tick, frame.published_ns, frame.body)
        return Run(frame.pubend, frame.start, frame.tick + 1, [item], frame.reader)
    assert type(frame) is Silence
    return Run(frame.pubend, frame.start, frame.stop, NO_ITEMS, frame.reader)


def frames_of(run: Run) -> Iterator[Data | Silence]:
    """The frames that say it on a link."""
    start, pubend, reader = run.start, run.pubend, run.reader
    for item in run.items:
        yield Data(
            pubend=pubend,
            start=start,
            tick=item.tick,
            published_ns=item.published_ns,
            body=item.body,
            reader=reader,
        )
        start = item.tick + 1
    if start < run.stop:
        yield Silence(pubend=pubend, start=start, stop=run.stop, reader=reader)
