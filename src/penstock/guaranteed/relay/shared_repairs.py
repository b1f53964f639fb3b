"""What hosts behind a relay have missed alike: the first to ask asks for all of them.

Each asks in a name of its own, so that it gets nothing that it does not want. Where many want all
that comes by the link of the relay, that link would carry as many times what all have missed: of
hosts that were cut off together none would ever catch up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from penstock.content.filter import Predicate
from penstock.guaranteed.relay.nack_table import NackTable, nacks_of
from penstock.guaranteed.relay.reader_answers import ReaderAnswers
from penstock.guaranteed.run import Run
from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId, TickRange
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.requests import Nack


class SharedRepairs:
    """Of one pubend; `send` takes an answer to a host."""

    def __init__(
        self,
        pubend: int,
        readers: ReaderAnswers,
        *,
        outstanding_ns: Duration,
        send: Callable[[str, BrokerFrame | Run], None],
    ) -> None:
        self._pubend: Final = pubend
        self._readers: Final = readers
        self._send: Final = send
        self._nacks: Final[NackTable[ReaderId]] = NackTable(outstanding_ns)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for anything."""
        return self._nacks.is_idle

    @property
    def ranges(self) -> int:
        """How many ranges readers wait for."""
        return self._nacks.ranges

    def ask(
        self, unknown: Sequence[Nack], *, under: Predicate | None, horizon: int, now: Instant
    ) -> list[Nack]:
        """Of the requests of one reader, what the parent has to be asked for."""
        asked: list[Nack] = []
        for nack in unknown:
            reader = nack.reader
            # What lies behind the horizon is in nobody's cache, nor will it be.
            is_known = nack.ranges[-1].stop <= horizon
            if reader is None or not is_known or not self._readers.share(reader, under):
                asked.append(nack)
                continue
            wanted: list[TickRange] = []
            for start, stop in nack.ranges:
                wanted += self._nacks.ask(reader, start, stop, now=now)
            asked += nacks_of(self._pubend, wanted, reader)
        return asked

    def on_answer(self, frame: Run | Gap, *, under: Predicate | None, now: Instant) -> list[Run]:
        """A reader is answered: so are others that wait for it; returns what may be kept."""
        reader = frame.reader
        assert reader is not None
        waited_for = self._nacks.answer_one(reader, frame.start, frame.stop)
        if not self._readers.share(reader, under):
            return []
        for other, ranges in self._nacks.answer(frame.start, frame.stop, now=now):
            if self._readers.share(other, under):
                for start, stop in ranges:
                    self._answer(frame, other, start, stop)
        if isinstance(frame, Gap):
            return []
        # And no more than was asked for: whoever begins long ago would go through known silence
        # step by step.
        return [
            Run(self._pubend, start, stop, frame.items_between(start, stop))
            for start, stop in waited_for
        ]

    def _answer(self, frame: Run | Gap, reader: ReaderId, start: int, stop: int) -> None:
        if isinstance(frame, Gap):
            own: Run | Gap = msgspec.structs.replace(frame, start=start, stop=stop, reader=reader)
        else:
            # It may say more than was asked for: the next message may be far away.
            items = frame.items_between(start, frame.stop)
            own = Run(self._pubend, start, frame.stop, items, reader)
        self._send(reader.host, own)

    def forget(self, reader: ReaderId) -> None:
        """It has ended; what was asked for in its name is asked for again by others."""
        self._nacks.forget_child(reader)

    def parent_down(self) -> None:
        """What the parent was asked for does not come any more: readers ask again."""
        self._nacks.forget_parent()
