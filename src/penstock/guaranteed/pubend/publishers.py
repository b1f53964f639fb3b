"""Which publications of which publishers are stored: each counts once, however often it comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from penstock.guaranteed.log_record import LogRecord
from penstock.kernel.bounded import BoundedDict


class _Publisher(msgspec.Struct):
    """Publications so far; ids rise, but need not be dense."""

    last: int
    # Id and tick of the youngest.
    recent: deque[tuple[int, int]]


class Publishers:
    """The publishers of one pubend, least recently used out."""

    def __init__(self, publishers_max: int, recent_max: int) -> None:
        self._known: Final[BoundedDict[str, _Publisher]] = BoundedDict(publishers_max, recent=True)
        self._recent_max: Final = recent_max

    def __len__(self) -> int:
        return len(self._known)

    def find(self, publisher: str, publication: int) -> int | None:
        """The tick of a stored publication, 0 if it is long past; None if it is new.

        Below the last one there may be ids that were refused: they are new when they are repeated.
        """
        known = self._known.get(publisher)
        if known is None or publication > known.last:
            return None
        recent = known.recent
        # From the youngest: what is repeated was lost a moment ago.
        for id_, tick in reversed(recent):
            if id_ == publication:
                return tick
        is_forgotten = len(recent) == self._recent_max and publication < min(recent)[0]
        return 0 if is_forgotten else None

    def add(self, publisher: str, publication: int, tick: int) -> None:
        """Notes a publication that is new."""
        known = self._known.use(publisher)
        if known is None:
            known = self._known[publisher] = _Publisher(0, deque(maxlen=self._recent_max))
        known.last = max(known.last, publication)
        known.recent.append((publication, tick))

    def snapshot(self) -> bytes:
        """All of it, for the log; the oldest first."""
        return msgspec.msgpack.encode(
            [(name, known.last, list(known.recent)) for name, known in self._known.items()]
        )

    def restore(self, snapshot: bytes | None, since: Iterable[LogRecord]) -> None:
        """Takes up what the log says."""
        if snapshot is not None:
            rows = msgspec.msgpack.decode(
                snapshot, type=list[tuple[str, int, list[tuple[int, int]]]]
            )
            for name, last, recent in rows:
                self._known[name] = _Publisher(last, deque(recent, maxlen=self._recent_max))
        for record in since:
            if self.find(record.publisher, record.publication) is None:
                self.add(record.publisher, record.publication, record.tick)
