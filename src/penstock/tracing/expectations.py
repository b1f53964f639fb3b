"""Ground truth: which subscribers should receive each message.

No machine knows this, only who set up all of them: a simulator or a testbed registers the
predicates of all subscribers. A single node on a socket registers none, and gets no rows.
"""

from __future__ import annotations

from typing import Final

from penstock.content.filter import Predicate
from penstock.content.index import MatchingIndex
from penstock.kernel.instant import Instant
from penstock.trace.records import Expected
from penstock.tracing.names import Names
from penstock.tracing.row_sink import AddRow
from penstock.wire.frames.data import Data


class Expectations:
    """Adds an `Expected` for each message and each subscriber whose predicate it matches."""

    __slots__ = ("_add", "_interests", "_names", "_subscribers")

    def __init__(self, add: AddRow, names: Names) -> None:
        self._add: Final = add
        self._names: Final = names
        self._subscribers: Final[list[str]] = []
        # Predicates by index of their subscriber.
        self._interests: Final[MatchingIndex[int]] = MatchingIndex()

    def add_subscriber(self, name: str, predicate: Predicate) -> None:
        """Expects `name` to receive each later message that its predicate matches."""
        self._interests.add(len(self._subscribers), predicate)
        self._subscribers.append(name)

    def on_published(self, frame: Data, now: Instant) -> None:
        """Adds the subscribers of a message sent now."""
        publisher = self._names[frame.pub]
        # Sorted by subscription, because the order of the index differs between machines.
        for index in sorted(self._interests.match(frame.message)):
            self._add(Expected(publisher, frame.epoch, frame.seq, self._subscribers[index], now))
