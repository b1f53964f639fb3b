"""Repairs for the children of a relay: from its cache, else from its parent.

What one child asks for is asked of the parent once, and the answer goes to all that wait for it,
also to readers that are not asked for in their own names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from penstock.guaranteed.knowledge_stream import KnowledgeStream
from penstock.guaranteed.relay.child import Child
from penstock.guaranteed.relay.nack_table import Asker, NackTable, nacks_of
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import StreamItem
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId, TickRange
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.requests import Nack


class ChildRepairs:
    """Of one pubend; `tell` takes an answer to a reader."""

    def __init__(
        self,
        pubend: int,
        children: Mapping[Port, Child],
        *,
        outstanding_ns: Duration,
        send: Callable[[Port, BrokerFrame | Run], None],
        tell: Callable[[ReaderId, Run | Gap], None],
    ) -> None:
        self._pubend: Final = pubend
        self._children: Final = children
        self._send: Final = send
        self._tell: Final = tell
        self._nacks: Final = NackTable(outstanding_ns)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for anything."""
        return self._nacks.is_idle

    @property
    def ranges(self) -> int:
        """How many ranges children wait for."""
        return self._nacks.ranges

    def on_nack(
        self,
        child: Child,
        frame: Nack,
        known: KnowledgeStream[StreamItem],
        *,
        horizon: int,
        now: Instant,
    ) -> list[Nack]:
        """Answers what is known; returns what the parent has to be asked for."""
        if child.predicate is None:
            return []
        wanted: list[TickRange] = []
        for start, end in frame.ranges:
            for begin, behind, is_known in known.pieces(start, min(end, horizon)):
                if is_known:
                    items = [item for _, item in known.data_between(begin, behind)]
                    child.repair(begin, behind, items)
                else:
                    wanted += self._nacks.ask(child.port, begin, behind, now=now)
        return nacks_of(self._pubend, wanted)

    def ask_for_all(self, reader: ReaderId, nacks: Sequence[Nack], *, now: Instant) -> list[Nack]:
        """What a reader asks for, in everybody's name."""
        wanted: list[TickRange] = []
        for nack in nacks:
            for start, stop in nack.ranges:
                wanted += self._nacks.ask(reader, start, stop, now=now)
        return nacks_of(self._pubend, wanted)

    def on_run(self, run: Run, *, now: Instant) -> None:
        """The parent has said this: those that wait for any of it get it."""
        for asker, ranges in self._nacks.answer(run.start, run.stop, now=now):
            for start, stop in ranges:
                items = run.items_between(start, stop)
                if isinstance(asker, ReaderId):
                    self._tell(asker, Run(self._pubend, start, stop, items, asker))
                else:
                    self._children[asker].repair(start, stop, items)

    def on_gap(self, gap: Gap, *, now: Instant) -> None:
        """Goes to those that have asked, and is not kept."""
        for asker, ranges in self._nacks.answer(gap.start, gap.stop, now=now):
            for start, stop in ranges:
                own = msgspec.structs.replace(gap, start=start, stop=stop)
                if isinstance(asker, ReaderId):
                    self._tell(asker, msgspec.structs.replace(own, reader=asker))
                else:
                    self._send(asker, own)

    def forget(self, asker: Asker) -> None:
        """A child is gone, or a reader has ended."""
        self._nacks.forget(asker)

    def parent_down(self) -> None:
        """What the parent was asked for does not come any more: children ask again."""
        self._nacks.forget_parent()
