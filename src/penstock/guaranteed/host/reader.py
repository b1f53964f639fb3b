"""A reader: what is known of one pubend above its doubt horizon, and what is in doubt.

Everything below `doubt` has been handed on, in order; a tick at or above it may be known already.
`doubt` never moves back.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from penstock.content.filter import Predicate
from penstock.guaranteed.host.gap_requests import GapRequests
from penstock.guaranteed.knowledge_stream import KnowledgeStream
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.stream_item import StreamItem, size_of_item
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import TickRange
from penstock.wire.frames.guaranteed.knowledge import Data, Gap, Horizon, Silence

Decided: TypeAlias = StreamItem | Gap


class Reader:
    """Reader 0 follows the link; others catch up with it by requests alone."""

    def __init__(
        self,
        number: int,
        doubt: int,
        *,
        settings: HostSettings,
        predicate: Predicate | None = None,
    ) -> None:
        self.number: Final = number
        # Of a reader that catches up: what its subscription wants.
        self.predicate: Final = predicate
        # The first tick in doubt.
        self.doubt = doubt
        # All ticks before it have been decided, whatever is known of them here.
        self.evidence = doubt
        self.ignored = 0
        self._window: Final = duration_ticks(settings.receive_window_ns)
        self._known: Final[KnowledgeStream[StreamItem]] = KnowledgeStream(size_of=size_of_item)
        self._gaps: list[Gap] = []
        self.requests: Final = GapRequests(settings)

    def learn(self, frame: Data | Silence | Gap | Horizon) -> list[Decided]:
        """Takes what the link says; returns what has thereby come out of doubt, in order."""
        if isinstance(frame, Horizon):
            self.evidence = max(self.evidence, frame.stop)
            return []
        stop = frame.tick + 1 if isinstance(frame, Data) else frame.stop
        self.evidence = max(self.evidence, stop)
        if stop <= self.doubt:
            return []
        start = max(frame.start, self.doubt)
        if isinstance(frame, Data):
            if start < frame.tick:
                self._known.add_silence(start, frame.tick)
            if frame.tick > self.doubt + self._window:
                self.ignored += 1
            else:
                item = StreamItem(frame.tick, frame.published_ns, frame.body)
                self._known.add_data(frame.tick, item)
        elif isinstance(frame, Silence):
            self._known.add_silence(start, stop)
        else:
            self._known.add_final(start, stop)
            self._gaps.append(frame)
        return self._advance()

    def knows(self, tick: int) -> bool:
        """Whether the tick is not in doubt."""
        return tick < self.doubt or self._known.is_known(tick, tick + 1)

    def in_doubt(self) -> list[tuple[int, int]]:
        """The ranges that have been decided and are not known here."""
        if self.evidence <= self.doubt:
            return []
        return self._known.unknown(self.doubt, self.evidence)

    def to_ask(self, *, now: Instant) -> tuple[TickRange, ...]:
        """The ranges to ask for now."""
        return self.requests.due(self.doubt, self.in_doubt(), now=now)

    def _advance(self) -> list[Decided]:
        decided_to = self._known.known_end(self.doubt)
        if decided_to == self.doubt:
            return []
        decided: list[Decided] = [
            item for _, item in self._known.data_between(self.doubt, decided_to)
        ]
        if self._gaps:
            decided = self._with_gaps(decided, decided_to)
        self._known.forget_below(decided_to)
        self.doubt = decided_to
        return decided

    def _with_gaps(self, items: list[Decided], decided_to: int) -> list[Decided]:
        passed = [gap for gap in self._gaps if gap.start < decided_to]
        self._gaps = [gap for gap in self._gaps if gap.start >= decided_to]
        return sorted(
            [*items, *passed], key=lambda each: each.start if isinstance(each, Gap) else each.tick
        )
