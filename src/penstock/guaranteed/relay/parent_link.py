"""What a relay asks of its parent: a filter for all its children, and whether to send what is new.

Both are asked for again when another parent takes over, which knows of neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.covering import covers
from penstock.content.filter import Predicate
from penstock.guaranteed.predicate_union import union
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import NOTHING
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.congestion import Live
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest

# Filters that the parent has not answered: what changes meanwhile is asked for after that.
_REQUESTS_MAX: Final = 4


class ParentLink:
    """Of one pubend; without a parent what is sent is lost."""

    def __init__(self, pubend: int, *, send: Callable[[Port, BrokerFrame | Run], None]) -> None:
        self.port: Port | None = None
        # Whether it is another broker.
        self.is_far = False
        # What the parent was asked for last.
        self.asked: Predicate | None = None
        self._pubend: Final = pubend
        self._send: Final = send
        # What it sends now; requests that it has not answered.
        self._granted: Predicate | None = None
        self._requests: Final[dict[int, Predicate]] = {}
        self._epoch = 0
        # Whether the parent sends new messages, as far as it was told.
        self._is_live = True

    @property
    def requests(self) -> int:
        """How many filters the parent has not answered."""
        return len(self._requests)

    @property
    def awaits_filter(self) -> bool:
        """Whether this parent has not granted any filter yet."""
        return self.asked is not None and self._granted is None

    def grants(self, predicate: Predicate) -> bool:
        """Whether the parent sends all that matches, and goes on doing so."""
        # A narrower filter may be on its way up: until its answer it counts as granted already.
        return self._granted is not None and all(
            covers(each, predicate) for each in (self._granted, *self._requests.values())
        )

    def up(self, port: Port, *, is_far: bool) -> None:
        """This is the parent from now on."""
        self.port, self.is_far = port, is_far
        if self.asked is not None:
            self._ask_filter(self.asked)

    def down(self) -> None:
        """There is no parent any more."""
        if not self._is_live:
            # Its link may still be up, and it may be the parent again: it keeps what it was told.
            self.send(Live(pubend=self._pubend, is_on=True))
        if self.asked is not None:
            # Nor is it to send what comes from another parent from now on.
            self._epoch += 1
            self.send(FilterRequest(pubend=self._pubend, epoch=self._epoch, predicate=NOTHING))
        self.port = None
        self._granted = None
        # At both ends of a new link LIVE is on.
        self._is_live = True
        self._requests.clear()

    def send(self, *frames: BrokerFrame) -> None:
        """Sends frames to the parent."""
        if self.port is not None:
            for frame in frames:
                self._send(self.port, frame)

    def ask_for(self, predicates: list[Predicate]) -> None:
        """Asks for what children want, all together."""
        wanted = union(predicates)
        if not predicates and self.asked is None:
            return
        if wanted != self.asked and len(self._requests) < _REQUESTS_MAX:
            self._ask_filter(wanted)

    def _ask_filter(self, wanted: Predicate) -> None:
        self.asked = wanted
        self._epoch += 1
        if self.port is not None:
            self._requests[self._epoch] = wanted
            self.send(FilterRequest(pubend=self._pubend, epoch=self._epoch, predicate=wanted))

    def on_filter_ack(self, frame: FilterAck) -> Predicate | None:
        """The parent has answered; returns what it grants, None if nobody waits for that."""
        granted = self._requests.pop(frame.epoch, None)
        if granted is not None:
            for epoch in [each for each in self._requests if each < frame.epoch]:
                del self._requests[epoch]
            self._granted = granted
        return granted

    def set_live(self, is_live: bool) -> None:
        """Has the parent send new messages, or none."""
        if self.port is not None and is_live != self._is_live:
            self._is_live = is_live
            self.send(Live(pubend=self._pubend, is_on=is_live))
