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
from penstock.guaranteed.relay.nack_table import nacks_of
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import StreamItem, matching
from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.guaranteed.base import ReaderId, TickRange
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

    def gone(self, hosts: Collection[str]) -> list[ReaderId]:
        """These hosts are not to be reached any more: their readers register again."""
        gone = [each for each in self._predicates if each.host in hosts]
        for reader in gone:
            del self._predicates[reader]
        return gone

    def predicate(self, reader: ReaderId, *, under: Predicate | None) -> Predicate | None:
        """What it wants, if silence `under` that filter is silence to it."""
        predicate = self._predicates.get(reader)
        if predicate is None or under is None or not covers(under, predicate):
            return None
        return predicate

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
        predicate = self.predicate(reader, under=under)
        if predicate is None:
            return [], [frame]
        runs: list[Run] = []
        unknown: list[TickRange] = []

        for start, end in frame.ranges:
            stop = max(start, min(end, horizon))
            for begin, behind, is_known in known.pieces(start, stop):
                if is_known:
                    items = [item for _, item in known.data_between(begin, behind)]
                    wanted = matching(items, predicate)
                    runs.append(Run(self._pubend, begin, behind, wanted, reader))
                else:
                    unknown.append(TickRange(begin, behind))
            if stop < end:
                unknown.append(TickRange(stop, end))
        return runs, nacks_of(self._pubend, unknown, reader)
