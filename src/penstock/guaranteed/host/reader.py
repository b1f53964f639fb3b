"""A reader: what is known of one pubend above its doubt horizon, and what is in doubt.

Everything below `doubt` has been handed on, in order; a tick at or above it may be known already.
`doubt` never moves back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from penstock.content.filter import Predicate
from penstock.guaranteed.host.gap_requests import GapRequests
from penstock.guaranteed.host.request_window import request_window
from penstock.guaranteed.knowledge_stream import KnowledgeStream
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.guaranteed.stream_item import StreamItem, size_of_item
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import TickRange
from penstock.wire.frames.guaranteed.knowledge import Gap, Horizon

Decided: TypeAlias = StreamItem | Gap


class Reader:
    """Reader 0 follows the link; others catch up with it by requests alone."""

    def __init__(
        self,
        number: int,
        doubt: int,
        *,
        settings: HostSettings,
        congestion: CongestionSettings,
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
        window = request_window(settings, congestion)
        self.requests: Final = GapRequests(settings, window=window, retry_ns=congestion.retry_ns)
        if number:
            # It reads nothing but what it has asked for.
            self.requests.begin_recovery()
        self._alarm_ns: Final = settings.gap_alarm_ns
        # The doubt that an alarm was told of.
        self.is_alarmed_at = -1

    def learn(self, said: Run | Gap | Horizon) -> Sequence[Decided]:
        """Takes what the link says; returns what has thereby come out of doubt, in order."""
        stop, doubt = said.stop, self.doubt
        self.evidence = max(self.evidence, stop)
        if isinstance(said, Horizon) or stop <= doubt:
            return ()
        start = max(said.start, doubt)
        if isinstance(said, Gap):
            if self._known.final(start, stop) != [(start, stop)]:
                self._known.add_final(start, stop)
                self._gaps.append(said)
        elif start == doubt and self._known.is_empty:
            # In order, as nearly always: nothing needs to be kept.
            self.doubt = stop
            return said.items_between(start, stop)
        else:
            self._keep(said, start)
        return self._advance()

    def _keep(self, run: Run, start: int) -> None:
        """Keeps what is ahead of the doubt, except what is far ahead.

        Of that only silence that follows on what is known: it takes no memory, and may be long.
        """
        limit = self.doubt + self._window
        known = self._known
        items = run.items_between(start, run.stop)
        if start > limit and not known.is_known(start - 1, start):
            self.ignored += len(items)
            return
        for at, item in enumerate(items):
            known.add_silence(start, item.tick)
            if item.tick > limit:
                self.ignored += len(items) - at
                return
            known.add_data(item.tick, item)
            start = item.tick + 1
        known.add_silence(start, run.stop)

    @property
    def is_ahead(self) -> bool:
        """Whether anything is known behind the first tick in doubt."""
        return not self._known.is_empty

    @property
    def alarm_at(self) -> Instant | None:
        """When a gap has been open for too long; told once."""
        since = self.requests.open_since
        if since is None or self.is_alarmed_at == self.doubt:
            return None
        return since + self._alarm_ns

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
