"""The pubends that a broker stores: their logs, and whether links take what they repair."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.guaranteed.pubend.pubend import Pubend
from penstock.guaranteed.pubend.pubend_state import PubendState
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import ReaderId
from penstock.wire.frames.guaranteed.publication import StoredRun

if TYPE_CHECKING:
    from penstock.guaranteed.broker import AnyFrame, Broker
    from penstock.guaranteed.output.link_queues import LinkQueues


class OwnPubends:
    """All pubends of one broker."""

    def __init__(
        self,
        broker: Broker,
        queues: LinkQueues[AnyFrame],
        *,
        confirm: Callable[[Port, str, list[StoredRun]], None],
    ) -> None:
        self.by_id: Final[dict[int, Pubend]] = {}
        self._broker: Final = broker
        self._queues: Final = queues
        self._confirm: Final = confirm
        # Logs without room that are not those of a pubend yet.
        self._full_logs: Final[dict[str, None]] = {}

    def add(self, state: PubendState, *, wall_ns: int, now: Instant) -> None:
        """A log is here: takes publications for its stream."""
        broker = self._broker
        pubend = Pubend(
            state,
            disk=broker.disk,
            settings=broker.settings.pubend,
            congestion=broker.settings.congestion,
            send=partial(broker.router.say, state.id),
            confirm=self._confirm,
            tell=broker.tell,
            may_repair=partial(self._may_repair, state.id),
            wall_ns=wall_ns,
            now=now,
        )
        pubend.is_disk_full = self._full_logs.pop(pubend.log, self) is not self
        self.by_id[state.id] = pubend
        broker.streams.add(pubend)
        broker.router.pubend_up(state.id)

    def remove(self, pubend: Pubend) -> None:
        """Takes a pubend away, with all that was saved of it."""
        del self.by_id[pubend.id]
        self._broker.streams.remove(pubend)
        pubend.delete_saved()

    def of_log(self, log: str) -> Pubend | None:
        """The pubend of a log; None if its stream was deleted, or is just being created."""
        return self.by_id.get(int(log, 16))

    def disk_full(self, log: str, is_full: bool) -> None:
        """There is no room for another segment of a log, or there is again."""
        pubend = self.of_log(log)
        if pubend is not None:
            pubend.is_disk_full = is_full
        elif is_full:
            # Its stream is just being created.
            self._full_logs[log] = None
        else:
            self._full_logs.pop(log, None)

    def resume_repairs(self, *, now: Instant) -> bool:
        """Goes on with repairs that have waited for room; returns whether there were any."""
        held_up = [pubend for pubend in self.by_id.values() if pubend.repairs.is_held_up]
        for pubend in held_up:
            pubend.repairs.proceed(now=now)
        return bool(held_up)

    def _may_repair(self, pubend: int, reader: ReaderId | None) -> bool:
        relay = self._broker.relays.get(pubend)
        if relay is None:
            # One that was deleted while its log was read answers nobody.
            return False
        if not self._broker.settings.pubend.repairs_wait:
            return True
        # Answers leave by links that may be full; the host here asks for no more than it takes.
        ports = self._broker.links.children()
        return all(
            self._queues.by_port[port].is_below_half
            for port in ports
            if reader is None or relay.port_of(reader) == port
        )
