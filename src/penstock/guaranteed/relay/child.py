"""One child of a relay: what it wants of a pubend, and how far it has been told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from penstock.content.filter import Predicate
from penstock.guaranteed.stream_item import StreamItem
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.knowledge import Data, Horizon, Silence
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest


class Child:
    """The chain of one pubend towards one child.

    From `position` up to the relay's horizon everything is known, is silence to this child, and has
    not been said yet.
    """

    def __init__(
        self, pubend: int, port: Port, *, send: Callable[[Port, BrokerFrame], None]
    ) -> None:
        self.port: Final = port
        # What it wants now; None before its first FILTER, and then it gets nothing.
        self.predicate: Predicate | None = None
        # A filter that waits for the parent.
        self.requested: FilterRequest | None = None
        self.position = 0
        self.said_at: Instant = 0
        self._pubend: Final = pubend
        self._send: Final = send

    @property
    def wants(self) -> list[Predicate]:
        """What it gets now, and what it has asked for."""
        requested = [] if self.requested is None else [self.requested.predicate]
        return requested if self.predicate is None else [self.predicate, *requested]

    def set_filter(self, request: FilterRequest, *, horizon: int, now: Instant) -> None:
        """All that follows is under this filter."""
        if self.predicate is not None:
            self.say_silence(horizon, now=now)
        self.requested = None
        self.predicate = request.predicate
        self.position, self.said_at = horizon, now
        self._send(self.port, FilterAck(pubend=self._pubend, epoch=request.epoch, tick=horizon))
        self._send(self.port, Horizon(pubend=self._pubend, stop=horizon))

    def say_data(self, item: StreamItem, *, now: Instant) -> None:
        """Passes on the next message, if the child wants it."""
        predicate = self.predicate
        if predicate is None or not item.matches(predicate):
            return
        self._send(self.port, _data(self._pubend, self.position, item))
        self.position, self.said_at = item.tick + 1, now

    def say_silence(self, horizon: int, *, now: Instant) -> None:
        """Says what has not been said up to the horizon."""
        if self.predicate is not None and self.position < horizon:
            self._send(self.port, Silence(pubend=self._pubend, start=self.position, stop=horizon))
            self.position, self.said_at = horizon, now

    def skip(self, position: int) -> None:
        """What lies before is not known here: it stays a gap to the child."""
        self.position = position

    def say_horizon(self, horizon: int, *, now: Instant) -> None:
        """Everything up to here has been decided."""
        if self.predicate is not None:
            self.position, self.said_at = horizon, now
            self._send(self.port, Horizon(pubend=self._pubend, stop=horizon))

    def repair(self, start: int, stop: int, items: Iterable[StreamItem]) -> None:
        """Answers a request: these messages, as far as it wants them, and silence between."""
        predicate = self.predicate
        if predicate is None:
            return
        for item in items:
            if item.matches(predicate):
                self._send(self.port, _data(self._pubend, start, item))
                start = item.tick + 1
        if start < stop:
            self._send(self.port, Silence(pubend=self._pubend, start=start, stop=stop))


def _data(pubend: int, start: int, item: StreamItem) -> Data:
    return Data(
        pubend=pubend,
        start=start,
        tick=item.tick,
        published_ns=item.published_ns,
        body=item.body,
    )
