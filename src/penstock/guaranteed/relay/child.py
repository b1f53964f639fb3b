"""One child of a relay: what it wants of a pubend, and how far it has been told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.filter import Predicate
from penstock.guaranteed.run import NO_ITEMS, Run
from penstock.guaranteed.stream_item import StreamItem, matching
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.knowledge import Horizon
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest


class Child:
    """The chain of one pubend towards one child.

    From `position` up to the relay's horizon everything is known, is silence to this child, and has
    not been said yet.
    """

    def __init__(
        self, pubend: int, port: Port, *, send: Callable[[Port, BrokerFrame | Run], None]
    ) -> None:
        self.port: Final = port
        # What it wants now; None before its first FILTER, and then it gets nothing.
        self.predicate: Predicate | None = None
        # A filter that waits for the parent.
        self.requested: FilterRequest | None = None
        # Whether it wants new messages; if not, it hears where they are, and asks for them.
        self.is_live = True
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

    def say_items(self, items: list[StreamItem], *, now: Instant) -> None:
        """Passes on the next messages, those that the child wants."""
        predicate = self.predicate
        if predicate is None or not self.is_live:
            return
        wanted = matching(items, predicate)
        if wanted:
            stop = wanted[-1].tick + 1
            self._send(self.port, Run(self._pubend, self.position, stop, wanted))
            self.position, self.said_at = stop, now

    def say_silence(self, horizon: int, *, now: Instant) -> None:
        """Says what has not been said up to the horizon."""
        if self.predicate is None or self.position >= horizon:
            return
        if not self.is_live:
            # What it was not sent is no silence.
            self.say_horizon(horizon, now=now)
            return
        self._send(self.port, Run(self._pubend, self.position, horizon, NO_ITEMS))
        self.position, self.said_at = horizon, now

    def set_live(self, is_live: bool, *, horizon: int, now: Instant) -> None:
        """Begins or ceases to pass on new messages; what lies between is asked for."""
        if self.is_live and not is_live:
            self.say_silence(horizon, now=now)
        elif is_live and not self.is_live:
            self.say_horizon(horizon, now=now)
        self.is_live = is_live

    def skip(self, position: int) -> None:
        """What lies before is not known here: it stays a gap to the child."""
        self.position = position

    def say_horizon(self, horizon: int, *, now: Instant) -> None:
        """Everything up to here has been decided."""
        if self.predicate is not None:
            self.position, self.said_at = horizon, now
            self._send(self.port, Horizon(pubend=self._pubend, stop=horizon))

    def repair(self, start: int, stop: int, items: list[StreamItem]) -> None:
        """Answers a request: these messages, as far as it wants them, and silence between."""
        predicate = self.predicate
        if predicate is not None:
            self._send(self.port, Run(self._pubend, start, stop, matching(items, predicate)))
