"""A pubend: takes publications, gives them ticks, stores, confirms and sends them, and repairs.

Nothing is sent before it is synced: a tick above the synced lease is never said, and silence ends
at the horizon, the tick before the oldest message that is not yet on disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.log_record import LogRecord, LogSnapshot, RecoveredLog
from penstock.guaranteed.pubend.publishers import Publishers
from penstock.guaranteed.pubend.repair import Repairs
from penstock.guaranteed.pubend.retention import LogSize
from penstock.guaranteed.pubend.rows import Rows
from penstock.guaranteed.settings import PubendSettings, Retention
from penstock.guaranteed.stream_clock import StreamClock
from penstock.guaranteed.tick import tick_of
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import MILLISECOND, Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.codec.guaranteed.body import read_attributes_of
from penstock.wire.frames.guaranteed.base import (
    BrokerFrame,
    ReaderId,
    Start,
    StartKind,
    TickRange,
)
from penstock.wire.frames.guaranteed.hello import Announcement
from penstock.wire.frames.guaranteed.knowledge import Data, Horizon, Silence
from penstock.wire.frames.guaranteed.publication import Stored
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold

DEAD_RANGES_MAX: Final = 16


class _Pending(msgspec.Struct, frozen=True, gc=False):
    """An append that is not synced yet."""

    number: int
    record: LogRecord
    # Who waits for the confirmation.
    port: Port


class PubendState(msgspec.Struct, frozen=True, kw_only=True):
    """What a pubend takes up from its disk when it starts."""

    id: int
    stream: str
    log: RecoveredLog
    # What was saved under `pubend/ID/`, by the rest of the key.
    saved: dict[str, bytes]
    # None for the default.
    retention: Retention | None = None


class Pubend:
    """One durable, ordered stream of messages."""

    def __init__(
        self,
        state: PubendState,
        *,
        disk: Disk,
        settings: PubendSettings,
        send: Callable[[BrokerFrame], None],
        confirm: Callable[[Port, str, int, Stored], None],
        may_repair: Callable[[ReaderId | None], bool],
        wall_ns: int,
        now: Instant,
    ) -> None:
        self.id: Final = state.id
        self.stream: Final = state.stream
        self.log: Final = f"{state.id:016x}"
        self.settings: Final = settings
        self._disk: Final = disk
        self._send: Final = send
        self._confirm: Final = confirm
        key = f"pubend/{self.log}"
        recovered = state.log
        self.clock: Final = StreamClock(now, wall_ns // MILLISECOND, recovered.lease)
        self.clock.set_wall(wall_ns, now)
        self._synced_lease = recovered.lease
        self._next_number = recovered.next_number
        self.trimmed_upto = recovered.trimmed_upto
        self._pending: Final[deque[_Pending]] = deque()
        # Repetitions of what is not synced yet, by its tick.
        self._repeated: Final[dict[int, list[Port]]] = {}
        # The first tick that nothing has been said about.
        self._said = self.clock.now_tick(now)
        self._said_at: Instant = now
        self._rows_at: Instant = now + settings.rows_ns
        self._lease_asked_at: Instant = now
        # A filter that waits for the first lease of this life.
        self._waiting_filter: FilterRequest | None = None
        self.is_disk_full = False
        self.dead_ranges: Final = self._find_dead_ranges(state, key)
        self.publishers: Final = Publishers(settings.publishers_max, settings.recent_ids_max)
        self.publishers.restore(recovered.snapshot, recovered.since_snapshot)
        self.rows: Final = Rows(key, disk)
        self.rows.restore(state.saved)
        self.size: Final = LogSize(state.retention or settings.retention)
        self.size.restore(recovered.segments)
        self.repairs: Final = Repairs(
            self.id,
            self.log,
            disk=disk,
            settings=settings,
            answer=send,
            may_answer=may_repair,
            horizon=self.horizon,
        )
        # Before anything is said, a lease must be on disk.
        self._append_lease(now)

    def _find_dead_ranges(self, state: PubendState, key: str) -> tuple[TickRange, ...]:
        """Between the lease that was found and the first tick of this life nothing is ever said."""
        stored = state.saved.get("dead_ranges")
        ranges = (
            [TickRange(*r) for r in msgspec.msgpack.decode(stored, type=list[tuple[int, int]])]
            if stored is not None
            else []
        )
        if state.log.lease:
            ranges = [*ranges, TickRange(state.log.lease + 1, self._said)][-DEAD_RANGES_MAX:]
            self._disk.save(
                f"{key}/dead_ranges", msgspec.msgpack.encode([tuple(r) for r in ranges])
            )
        return tuple(ranges)

    # What is asked of it

    @property
    def unsynced(self) -> int:
        """How many messages are not on disk yet."""
        return len(self._pending)

    def horizon(self, now: Instant) -> int:
        """The first tick that is not decided: all before it is on disk or will never be."""
        if self._pending:
            decided = self._pending[0].record.tick
        else:
            decided = max(self.clock.now_tick(now), self.clock.last + 1)
        return min(decided, self._synced_lease + 1)

    def announcement(self) -> Announcement:
        """What HELLO says of it."""
        return Announcement(
            pubend=self.id,
            stream=self.stream,
            distance=0,
            lease=self._synced_lease,
            dead_ranges=self.dead_ranges,
        )

    def publish(
        self, port: Port, publisher: str, publication: int, body: bytes, *, now: Instant
    ) -> str | None:
        """Takes a publication; confirmed when it is on disk. Returns why not, as one word."""
        try:
            # Nothing that a filter cannot read may reach the log: it would stay there.
            read_attributes_of(body)
        except PeerError:
            return "malformed"
        if len(body) > self.settings.message_bytes_max:
            return "too_large"
        known = self.publishers.find(publisher, publication)
        if known is not None:
            self._confirm_again(port, publication, known)
            return None
        if self.is_disk_full:
            return "disk_full"
        if self.size.is_full(len(body)):
            self._trim(now, needed_bytes=len(body))
            if self.size.is_full(len(body)):
                return "stream_full"
        tick = self.clock.next_tick(now)
        record = LogRecord(tick, self.clock.published_ns(now), publisher, publication, body)
        self.publishers.add(publisher, publication, tick)
        self.size.add(tick, record.published_ns, len(body))
        self._pending.append(_Pending(self._next_number, record, port))
        self._append(record, now)
        return None

    def appended(self, upto: int, lease: int, *, now: Instant) -> None:
        """All records up to this number, and the lease, are on disk."""
        self._synced_lease = max(self._synced_lease, lease)
        if self._waiting_filter is not None and self._said <= self._synced_lease + 1:
            waiting, self._waiting_filter = self._waiting_filter, None
            self._on_filter(waiting, now)
        pending = self._pending
        while pending and pending[0].number <= upto:
            done = pending.popleft()
            record = done.record
            assert record.tick <= self._synced_lease, "a message above its own lease"
            stored = Stored(self.id, record.tick, False)
            self._confirm(done.port, self.stream, record.publication, stored)
            for port in self._repeated.pop(record.tick, ()):
                stored = Stored(self.id, record.tick, True)
                self._confirm(port, self.stream, record.publication, stored)
            self._send(
                Data(
                    pubend=self.id,
                    start=self._said,
                    tick=record.tick,
                    published_ns=record.published_ns,
                    body=record.body,
                )
            )
            self._said, self._said_at = record.tick + 1, now

    def rolled(self, *, now: Instant) -> None:
        """A segment of the log has begun: it gets a snapshot of what is known of publishers."""
        self._append(LogSnapshot(self.publishers.snapshot()), now)

    def receive(self, frame: BrokerFrame, *, now: Instant) -> None:
        """Takes a frame of the relay beside it."""
        if isinstance(frame, Nack):
            self.repairs.on_nack(frame, now=now)
        elif isinstance(frame, Ack):
            for entry in frame.entries:
                self.rows.acknowledge(entry, wall_ns=self.clock.published_ns(now))
        elif isinstance(frame, Hold):
            self._on_hold(frame, now)
        elif isinstance(frame, FilterRequest):
            self._on_filter(frame, now)
        else:
            assert isinstance(frame, ReaderRequest), f"a pubend takes no {frame!r}"
            self.repairs.on_reader(frame)

    def delete_saved(self) -> None:
        """The stream is deleted: nothing of it stays in the store."""
        self.rows.delete_all()
        self._disk.save(f"pubend/{self.log}/dead_ranges", None)

    def proceed(self) -> None:
        """Goes on with repairs: there may be room again."""
        self.repairs.proceed()

    def wake(self, *, now: Instant) -> None:
        """Says silence, renews the lease, saves rows and trims."""
        if now >= self._said_at + self.settings.silence_ns:
            self._say_silence(now)
        if self.clock.needs_renewal(now) and now >= self._lease_asked_at + 500 * MILLISECOND:
            self._append_lease(now)
        if now >= self._rows_at:
            self._rows_at = now + self.settings.rows_ns
            self.rows.save_raised()
            self._trim(now)

    def next_wakeup(self) -> Instant | None:
        """The next of its timers."""
        renewal = max(self.clock.renewal_at, self._lease_asked_at + 500 * MILLISECOND)
        return earliest(self._said_at + self.settings.silence_ns, renewal, self._rows_at)

    # How it does it

    def _append(self, record: LogRecord | LogSnapshot, now: Instant) -> None:
        self._disk.append(self.log, self._next_number, record, self.clock.lease(now))
        self._next_number += 1

    def _append_lease(self, now: Instant) -> None:
        self._lease_asked_at = now
        self._disk.append(self.log, self._next_number - 1, None, self.clock.lease(now))

    def _confirm_again(self, port: Port, publication: int, tick: int) -> None:
        if self._pending and tick >= self._pending[0].record.tick:
            self._repeated.setdefault(tick, []).append(port)
        else:
            self._confirm(port, self.stream, publication, Stored(self.id, tick, True))

    def _say_silence(self, now: Instant) -> None:
        self._said_at = now
        horizon = self.horizon(now)
        if self._said < horizon:
            self._send(Silence(pubend=self.id, start=self._said, stop=horizon))
            self._said = horizon

    def _on_filter(self, frame: FilterRequest, now: Instant) -> None:
        """The relay beside it takes everything and filters itself, so any filter holds at once.

        But not before a lease is on disk: the next life could give out the ticks before `_said`.
        """
        if self._said > self._synced_lease + 1:
            self._waiting_filter = frame
            return
        self._say_silence(now)
        self._send(FilterAck(pubend=self.id, epoch=frame.epoch, tick=self._said))
        self._send(Horizon(pubend=self.id, stop=self._said))

    def _on_hold(self, frame: Hold, now: Instant) -> None:
        owner = self.rows.host_of.get(frame.durable, frame.host) if frame.durable else frame.host
        tick = self._resolve(frame.start, now)

        def held(other_host: str = "") -> None:
            self._send(
                Held(
                    pubend=self.id,
                    host=frame.host,
                    serial=frame.serial,
                    tick=tick,
                    other_host=other_host,
                )
            )

        if owner != frame.host:
            held(owner)
        elif frame.keep:
            self.rows.hold(
                frame.host,
                frame.serial,
                frame.durable,
                tick,
                wall_ns=self.clock.published_ns(now),
                then=lambda _now: held(),
            )
        elif frame.durable:
            self.rows.release(frame.durable, frame.host, frame.serial, then=lambda _now: held())
        else:
            held()

    def _resolve(self, start: Start, now: Instant) -> int:
        """The tick behind which a subscription begins, not below the trim point."""
        newest = self.horizon(now) - 1
        if start.kind is StartKind.NOW:
            return newest
        if start.kind is StartKind.FIRST:
            return self.trimmed_upto
        tick = start.value
        if start.kind is StartKind.TIME:
            tick = max(0, tick_of(start.value // MILLISECOND) - 1)
        return min(max(tick, self.trimmed_upto), newest)

    def _trim(self, now: Instant, *, needed_bytes: int = 0) -> None:
        upto = self.size.trim(
            self.rows.trim_limit(),
            synced=self.horizon(now) - 1,
            wall_ns=self.clock.published_ns(now),
            needed_bytes=needed_bytes,
        )
        if upto is not None:
            self.trimmed_upto = max(self.trimmed_upto, upto)
            self._disk.trim(self.log, upto)
