"""The filter of a pubend at one host: what all that read there want, and what parents grant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.covering import covers
from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest


class FilterGrant:
    """Asks for what is wanted, one epoch after the other."""

    def __init__(self, pubend: int, *, ask: Callable[[BrokerFrame], None]) -> None:
        self._pubend: Final = pubend
        self._ask: Final = ask
        self._epoch = 0
        self._asked: Predicate | None = None
        # None before the first filter is granted.
        self._granted: Predicate | None = None
        self._granted_epoch = 0
        # Silence before that tick may be silence under another filter.
        self.since = 0
        # After a restart the first filter waits for those that have read before.
        self.gathers_until: Instant | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is asked for."""
        return self._granted == self._asked

    def grants(self, predicate: Predicate) -> bool:
        """Whether all that matches it comes.

        While a filter is on its way up, it may be a narrower one: its answer has to come first.
        """
        is_answered = self._epoch == self._granted_epoch
        return self._granted is not None and is_answered and covers(self._granted, predicate)

    def ask(self, wanted: Predicate) -> None:
        """From now on this is wanted."""
        if wanted == self._asked or self.gathers_until is not None:
            return
        self._asked = wanted
        self._epoch += 1
        self._ask(FilterRequest(pubend=self._pubend, epoch=self._epoch, predicate=wanted))

    def on_ack(self, frame: FilterAck) -> bool:
        """Whether that grants what was last asked for."""
        if frame.epoch != self._epoch:
            return False
        self._granted, self.since = self._asked, frame.tick
        self._granted_epoch = frame.epoch
        return True

    def reset(self) -> None:
        """Nothing is wanted."""
        self._asked = self._granted = None
