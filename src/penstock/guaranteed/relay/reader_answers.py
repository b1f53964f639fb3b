"""What readers behind a relay ask for under their own predicates, answered from the cache.

The cache knows silence under the filter of the relay. A reader whose predicate that filter covers
wants no other message: what is silence there is silence to it. Others are answered by the pubend.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from penstock.content.covering import covers
from penstock.content.filter import Predicate
from penstock.guaranteed.knowledge_stream import KnowledgeStream
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import StreamItem, matching
from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.guaranteed.base import NACK_RANGES_MAX, ReaderId, TickRange
from penstock.wire.frames.guaranteed.requests import Nack, ReaderRequest


class ReaderAnswers:
    """The readers of one pubend behind one relay; least recently registered out."""

    def __init__(self, pubend: int, readers_max: int) -> None:
        self._pubend: Final = pubend
        self._predicates: Final[BoundedDict[ReaderId, Predicate]] = BoundedDict(readers_max)

    def __len__(self) -> int:
        return len(self._predicates)

    def register(self, frame: ReaderRequest) -> None:
        """READER: one begins or ends."""
        self._predicates.pop(frame.reader, None)
        if frame.predicate is not None:
            self._predicates[frame.reader] = frame.predicate

    def gone(self, hosts: Collection[str]) -> None:
        """These hosts are not to be reached any more: they register again."""
        for reader in [each for each in self._predicates if each.host in hosts]:
            del self._predicates[reader]

    def answer(
        self,
        frame: Nack,
        known: KnowledgeStream[StreamItem],
        *,
        under: Predicate | None,
        horizon: int,
    ) -> tuple[list[Run], list[Nack]]:
        """What the cache knows of a request, and what the parent has to be asked for.

        Silence in the cache is silence `under` that filter; what lies behind the horizon is
        nobody's to say here.
        """
        reader = frame.reader
        assert reader is not None
        predicate = self._predicates.get(reader)
        if predicate is None or under is None or not covers(under, predicate):
            return [], [frame]
        runs: list[Run] = []
        unknown: list[TickRange] = []

        def tell(start: int, stop: int) -> None:
            if start < stop:
                items = [item for _, item in known.data_between(start, stop)]
                runs.append(Run(self._pubend, start, stop, matching(items, predicate), reader))

        for start, end in frame.ranges:
            at, stop = start, max(start, min(end, horizon))
            for begin, behind in known.unknown(start, stop) if start < stop else ():
                tell(at, begin)
                unknown.append(TickRange(begin, behind))
                at = behind
            tell(at, stop)
            if stop < end:
                unknown.append(TickRange(stop, end))
        return runs, [
            Nack(
                pubend=self._pubend,
                ranges=tuple(unknown[place : place + NACK_RANGES_MAX]),
                reader=reader,
            )
            for place in range(0, len(unknown), NACK_RANGES_MAX)
        ]
