"""How far a host has read each pubend, as its parents are told, so that logs can be trimmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.holds import Holds
from penstock.guaranteed.host.roster import Roster
from penstock.wire.frames.guaranteed.base import WITHDRAWN, BrokerFrame
from penstock.wire.frames.guaranteed.rows import Ack, HostAck


class CursorAcks:
    """Moves cursors over silence, and acknowledges what is stored of them."""

    def __init__(
        self,
        host: str,
        roster: Roster,
        holds: Holds,
        *,
        disk: Disk,
        ask: Callable[[BrokerFrame], None],
    ) -> None:
        self._host: Final = host
        self._roster: Final = roster
        self._holds: Final = holds
        self._disk: Final = disk
        self._ask: Final = ask
        # What parents were last told, by pubend. With a new serial it is told again: the HOLD that
        # it counts may have overtaken what was said before.
        self._acknowledged: Final[dict[int, HostAck]] = {}

    @property
    def has_untold(self) -> bool:
        """Whether there is a pubend that has not been told anything."""
        return any(pubend not in self._acknowledged for pubend in self._roster.readings)

    def forget(self, pubend: int) -> None:
        """The way to a pubend was interrupted, or it is gone: what was told may be lost."""
        self._acknowledged.pop(pubend, None)

    def move_idle_cursors(self) -> None:
        """A cursor moves over silence too, else the log piles up behind a rare filter."""
        for subscription in self._roster.reader_of.values():
            durable = subscription.durable
            if durable is None or not subscription.is_attached:
                continue
            for feed in subscription.feeds.values():
                feed.attempts.renew(feed.position)
            if self._roster.move_cursors(subscription, durable):
                durable.save(self._disk)

    def tell_parents(self) -> None:
        """The smallest stored cursor of all durable names, read or not."""
        lowest: dict[int, int] = {}
        for durable in self._roster.durables.values():
            for pubend, tick in durable.cursors.items():
                # One that is about to be stored for the first time, or further back, counts too.
                stored = min(tick, durable.saved_cursors.get(pubend, tick))
                lowest[pubend] = min(stored, lowest.get(pubend, stored))
        # A pubend that nobody here reads is told too: an earlier life may have held it.
        for pubend in {**self._acknowledged, **lowest, **self._roster.readings}:
            if self._holds.is_open(pubend):
                # A HOLD under way may ask for less than this.
                continue
            tick = lowest.get(pubend, WITHDRAWN)
            entry = HostAck(self._host, self._holds.last_serial(pubend), tick)
            if entry != self._acknowledged.get(pubend) and pubend in self._roster.readings:
                self._acknowledged[pubend] = entry
                self._ask(Ack(pubend=pubend, entries=(entry,)))
