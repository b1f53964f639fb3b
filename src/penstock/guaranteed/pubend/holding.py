"""HOLD: finds where a subscription begins, and keeps from being trimmed what lies behind it.

A time is the time of publication, by the wall clock of the broker; ticks may run ahead of it. What
is known in memory leads close to the first message of that time, and the log is read from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.log_record import Fetched
from penstock.guaranteed.pubend.retention import LogSize
from penstock.guaranteed.pubend.rows import Rows
from penstock.guaranteed.settings import PubendSettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import BrokerFrame, Serial, StartKind
from penstock.wire.frames.guaranteed.rows import Held, Hold

OnFound = Callable[[int], None]


class Holding:
    """Of one pubend; `newest` is the last tick that is decided, `oldest` the trim point."""

    def __init__(
        self,
        pubend: int,
        log: str,
        *,
        disk: Disk,
        rows: Rows,
        size: LogSize,
        settings: PubendSettings,
        send: Callable[[BrokerFrame], None],
        newest: Callable[[Instant], int],
        oldest: Callable[[], int],
        wall_ns: Callable[[Instant], int],
    ) -> None:
        self._pubend: Final = pubend
        self._log: Final = log
        self._disk: Final = disk
        self._rows: Final = rows
        self._size: Final = size
        self._slice_bytes: Final = settings.repair_slice_bytes
        self._send: Final = send
        self._newest: Final = newest
        self._oldest: Final = oldest
        self._wall_ns: Final = wall_ns
        # HOLDs whose time is looked for: they are repeated meanwhile.
        self._searching: Final[dict[tuple[str, Serial], None]] = {}

    @property
    def searches(self) -> int:
        """How many are under way."""
        return len(self._searching)

    def on_hold(self, frame: Hold, *, now: Instant) -> None:
        """Answers with HELD, once that is on disk; a name of another host is refused."""
        durable, host = frame.durable, frame.host
        owner = self._rows.host_of.get(durable, host) if durable else host
        if owner != host:
            self._answer(frame, 0, owner)
            return
        if durable and not frame.keep:
            self._rows.release(
                durable, host, frame.serial, then=lambda _now: self._answer(frame, 0)
            )
            return
        key = (host, frame.serial)
        if key in self._searching:
            return
        tick = self._resolve(frame, now)

        def kept(then: Instant) -> None:
            if frame.start.kind is not StartKind.TIME:
                self._answer(frame, tick)
                return
            self._searching[key] = None
            self._search(frame, tick + 1, self._newest(then) + 1)

        if frame.keep:
            wall_ns = self._wall_ns(now)
            self._rows.hold(host, frame.serial, durable, tick, wall_ns=wall_ns, then=kept)
        else:
            kept(now)

    def _resolve(self, frame: Hold, now: Instant) -> int:
        """The tick behind which it begins, not below the trim point; of a time, a little before."""
        newest, oldest = self._newest(now), self._oldest()
        kind, value = frame.start
        if kind is StartKind.NOW:
            return newest
        if kind is StartKind.FIRST:
            return oldest
        tick = self._size.last_before(value) if kind is StartKind.TIME else value
        return min(max(tick, oldest), newest)

    def _search(self, frame: Hold, start: int, stop: int) -> None:
        """Reads on until a message was published at that time or later."""

        def fetched(result: Fetched, _now: Instant) -> None:
            for record in result.records:
                if record.published_ns >= frame.start.value:
                    self._found(frame, record.tick - 1)
                    return
            if result.stop >= stop:
                # What comes from now on is later than all that is there.
                self._found(frame, stop - 1)
            else:
                self._search(frame, result.stop, stop)

        if start >= stop:
            self._found(frame, stop - 1)
        else:
            self._disk.fetch(self._log, start, stop, bytes_max=self._slice_bytes, then=fetched)

    def _found(self, frame: Hold, tick: int) -> None:
        del self._searching[frame.host, frame.serial]
        self._answer(frame, tick)

    def _answer(self, frame: Hold, tick: int, other_host: str = "") -> None:
        self._send(
            Held(
                pubend=self._pubend,
                host=frame.host,
                serial=frame.serial,
                tick=tick,
                other_host=other_host,
            )
        )
