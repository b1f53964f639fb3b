"""Which publications of which publishers are stored: each counts once, however often it comes.

Ids rise, but need not be dense. One that was refused may be repeated behind later ones: it is new
then, so those that were refused are remembered. Of all others that are older than the last few, it
is certain that they were stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

import msgspec

from penstock.guaranteed.log_record import LogRecord
from penstock.kernel.bounded import BoundedDict


class _Publisher(msgspec.Struct):
    """Publications so far."""

    # Id and tick of the youngest.
    recent: deque[tuple[int, int]]
    last: int = -1
    # The highest id that is no longer among the youngest.
    forgotten: int = -1
    # Ids that were refused and not repeated yet, the oldest first.
    refused: dict[int, None] = {}


class _Stored(msgspec.Struct, array_like=True):
    """A publisher in a snapshot; add fields at the end."""

    name: str
    last: int
    recent: list[tuple[int, int]]
    forgotten: int = -1
    refused: list[int] = []


class Publishers:
    """The publishers of one pubend, least recently used out."""

    def __init__(self, publishers_max: int, recent_max: int) -> None:
        self._known: Final[BoundedDict[str, _Publisher]] = BoundedDict(publishers_max, recent=True)
        self._recent_max: Final = recent_max

    def __len__(self) -> int:
        return len(self._known)

    def find(self, publisher: str, publication: int) -> int | None:
        """The tick of a stored publication, 0 if it is long past; None if it is new."""
        known = self._known.get(publisher)
        if known is None or publication > known.last or publication in known.refused:
            return None
        # From the youngest: what is repeated was lost a moment ago.
        for id_, tick in reversed(known.recent):
            if id_ == publication:
                return tick
        return 0 if publication <= known.forgotten else None

    def last_id(self, publisher: str) -> int:
        """The highest id of a publisher: those above it are new. -1 if there is none."""
        known = self._known.get(publisher)
        return -1 if known is None else known.last

    def add(self, publisher: str, records: Sequence[LogRecord]) -> None:
        """Notes publications that are new."""
        known = self._use(publisher)
        recent = known.recent
        new = [(record.publication, record.tick) for record in records]
        excess = len(recent) + len(new) - self._recent_max
        if excess > 0:
            gone = max(islice(chain(recent, new), excess))[0]
            known.forgotten = max(known.forgotten, gone)
        recent.extend(new)
        known.last = max(known.last, max(new)[0])
        if known.refused:
            for id_, _ in new:
                known.refused.pop(id_, None)

    def refuse(self, publisher: str, publication: int) -> None:
        """A publication was refused: it is new when it is repeated."""
        refused = self._use(publisher).refused
        refused[publication] = None
        if len(refused) > self._recent_max:
            del refused[next(iter(refused))]

    def _use(self, publisher: str) -> _Publisher:
        known = self._known.use(publisher)
        if known is None:
            known = self._known[publisher] = _Publisher(deque(maxlen=self._recent_max))
        return known

    def snapshot(self) -> bytes:
        """All of it, for the log; the oldest first."""
        return msgspec.msgpack.encode(
            [
                _Stored(name, known.last, list(known.recent), known.forgotten, list(known.refused))
                for name, known in self._known.items()
            ]
        )

    def restore(self, snapshot: bytes | None, since: Iterable[LogRecord]) -> None:
        """Takes up what the log says."""
        if snapshot is not None:
            for stored in msgspec.msgpack.decode(snapshot, type=list[_Stored]):
                self._known[stored.name] = _Publisher(
                    deque(stored.recent, maxlen=self._recent_max),
                    stored.last,
                    stored.forgotten,
                    dict.fromkeys(stored.refused),
                )
        for record in since:
            if self.find(record.publisher, record.publication) is None:
                self.add(record.publisher, [record])
