"""Repairs for the children of a relay: from its cache, else from its parent.

What one child asks for is asked of the parent once, and the answer goes to all that wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from penstock.guaranteed.knowledge_stream import KnowledgeStream
from penstock.guaranteed.relay.child import Child
from penstock.guaranteed.relay.nack_table import NackTable, nacks_of
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import StreamItem
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import BrokerFrame, TickRange
from penstock.wire.frames.guaranteed.knowledge import Gap
from penstock.wire.frames.guaranteed.requests import Nack


class ChildRepairs:
    """Of one pubend, without those requests that name a reader."""

    def __init__(
        self,
        pubend: int,
        children: Mapping[Port, Child],
        *,
        outstanding_ns: Duration,
        send: Callable[[Port, BrokerFrame | Run], None],
    ) -> None:
        self._pubend: Final = pubend
        self._children: Final = children
        self._send: Final = send
        self._nacks: Final[NackTable[Port]] = NackTable(outstanding_ns)

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

    def on_run(self, run: Run, *, now: Instant) -> None:
        """The parent has said this: those that wait for any of it get it."""
        for port, ranges in self._nacks.answer(run.start, run.stop, now=now):
            for start, stop in ranges:
                self._children[port].repair(start, stop, run.items_between(start, stop))

    def on_gap(self, gap: Gap, *, now: Instant) -> None:
        """Goes to those that have asked, and is not kept."""
        for port, ranges in self._nacks.answer(gap.start, gap.stop, now=now):
            for start, stop in ranges:
                self._send(port, msgspec.structs.replace(gap, start=start, stop=stop))

    def child_down(self, port: Port) -> None:
        """A child waits no longer."""
        self._nacks.forget_child(port)

    def parent_down(self) -> None:
        """What the parent was asked for does not come any more: children ask again."""
        self._nacks.forget_parent()
