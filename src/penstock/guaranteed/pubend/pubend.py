"""A pubend: takes publications, gives them ticks, stores, confirms and sends them, and repairs.

Nothing is sent before it is synced: a tick above the synced lease is never said, and silence ends
at the horizon, the tick before the oldest message that is not yet on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.facts import Alarm
from penstock.guaranteed.log_record import (
    LogRecord,
    LogSnapshot,
)
from penstock.guaranteed.pubend.dead_ranges import dead_ranges_at_start, delete_dead_ranges
from penstock.guaranteed.pubend.holding import Holding
from penstock.guaranteed.pubend.log_writer import LogWriter
from penstock.guaranteed.pubend.pubend_state import PubendState
from penstock.guaranteed.pubend.publishers import Publishers
from penstock.guaranteed.pubend.repair import Repairs
from penstock.guaranteed.pubend.retention import record_bytes
from penstock.guaranteed.pubend.rows import Rows
from penstock.guaranteed.pubend.stored_messages import StoredMessages
from penstock.guaranteed.pubend.throttle import Throttle
from penstock.guaranteed.pubend.unsynced import Unsynced
from penstock.guaranteed.rate.laws import rate_law
from penstock.guaranteed.run import NO_ITEMS, Run
from penstock.guaranteed.settings import CongestionSettings, PubendSettings
from penstock.guaranteed.stream_clock import StreamClock
from penstock.guaranteed.stream_item import StreamItem
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import MILLISECOND, Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.codec.guaranteed.body import read_attributes_of
from penstock.wire.frames.guaranteed.base import (
    BrokerFrame,
    ReaderId,
)
from penstock.wire.frames.guaranteed.congestion import CongestionAlert, CongestionReport, Live
from penstock.wire.frames.guaranteed.hello import Announcement
from penstock.wire.frames.guaranteed.knowledge import Horizon
from penstock.wire.frames.guaranteed.lag import LagRequest
from penstock.wire.frames.guaranteed.publication import Stored, StoredRun, stored_at
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest
from penstock.wire.frames.guaranteed.rows import Ack, Hold


class Pubend:
    """One durable, ordered stream of messages."""

    def __init__(
        self,
        state: PubendState,
        *,
        disk: Disk,
        settings: PubendSettings,
        congestion: CongestionSettings,
        send: Callable[[BrokerFrame | Run], None],
        confirm: Callable[[Port, str, list[StoredRun]], None],
        tell: Callable[[Alarm], None],
        may_repair: Callable[[ReaderId | None], bool],
        wall_ns: int,
        now: Instant,
    ) -> None:
        self.id: Final = state.id
        self.stream: Final = state.stream
        self.slow_host: Final = state.slow_host
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
        self._writer: Final = LogWriter(
            self.log, disk=disk, clock=self.clock, next_number=recovered.next_number
        )
        # Of the newest message.
        self._last_tick = recovered.last_tick
        self._unsynced: Final = Unsynced()
        # The first tick that nothing has been said about.
        self._said = self.clock.now_tick(now)
        self._said_at: Instant = now
        self._rows_at: Instant = now + settings.rows_ns
        # A filter that waits for the first lease of this life.
        self._waiting_filter: FilterRequest | None = None
        self.is_disk_full = False
        self.dead_ranges: Final = dead_ranges_at_start(
            disk, self.log, state.saved, lease=recovered.lease, first_tick=self._said
        )
        self.publishers: Final = Publishers(settings.publishers_max, settings.recent_ids_max)
        self.publishers.restore(recovered.snapshot, recovered.since_snapshot)
        self.rows: Final = Rows(key, disk)
        self.rows.restore(state.saved)
        self.stored: Final = StoredMessages(
            self.id,
            self.log,
            stream=self.stream,
            recovered=recovered,
            saved=state.saved,
            retention=state.retention or settings.retention,
            disk=disk,
            rows=self.rows,
            tell=tell,
            wall_ns=self.clock.published_ns,
        )
        self.holding: Final = Holding(
            self.id,
            self.log,
            disk=disk,
            rows=self.rows,
            size=self.stored.size,
            settings=settings,
            send=send,
            newest=lambda then: self.horizon(then) - 1,
            oldest=lambda: self.stored.trimmed_upto,
            wall_ns=self.clock.published_ns,
        )
        self.repairs: Final = Repairs(
            self.id,
            self.log,
            disk=disk,
            settings=settings,
            answer=send,
            may_answer=may_repair,
            horizon=self.horizon,
            last_tick=lambda: self._last_tick,
            on_read=self.stored.on_read,
        )
        # What hosts are asked about, they shall know.
        self._tells_before_asking: Final = congestion.rate_law == "model"
        self.throttle: Final = Throttle(
            self.id,
            rate_law(congestion.rate_law, congestion.rate, slow_host=state.slow_host),
            quickens=congestion.rate_law == "model" and congestion.queries_quicken,
            start=self._said,
            now=now,
        )
        # Before anything is said, a lease must be on disk.
        self._writer.append_lease(now)

    # What is asked of it

    @property
    def unsynced(self) -> int:
        """How many messages are not on disk yet."""
        return len(self._unsynced)

    def horizon(self, now: Instant) -> int:
        """The first tick that is not decided: all before it is on disk or will never be."""
        decided = self._unsynced.first_tick
        if decided is None:
            decided = max(self.clock.now_tick(now), self.clock.last + 1)
        return min(decided, self._synced_lease + 1)

    def announcement(self, address: str = "") -> Announcement:
        """What HELLO says of it; clients reach its broker at `address`."""
        return Announcement(
            pubend=self.id,
            stream=self.stream,
            distance=0,
            lease=self._synced_lease,
            dead_ranges=self.dead_ranges,
            address=address,
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
        refusal = self._find_no_room(body, now)
        if refusal is not None:
            self.publishers.refuse(publisher, publication)
            return refusal
        tick = self.clock.next_tick(now)
        record = LogRecord(tick, self.clock.published_ns(now), publisher, publication, body)
        self._take(port, publisher, [record], now)
        return None

    def _find_no_room(self, body: bytes, now: Instant) -> str | None:
        if self.is_disk_full:
            return "disk_full"
        if not self.stored.has_room(body, synced=self.horizon(now) - 1, now=now):
            return "stream_full"
        return None

    def publish_new(
        self,
        port: Port,
        publisher: str,
        ids: Sequence[int],
        bodies: Sequence[bytes],
        *,
        now: Instant,
    ) -> int:
        """Takes publications that are plainly new and within all limits, many at once.

        Returns how many, from the first on; what follows has to go through `publish`.
        """
        if self.is_disk_full:
            return 0
        last_id = self.publishers.last_id(publisher)
        room_bytes, bytes_max = self.stored.size.room_bytes, self.settings.message_bytes_max
        count = 0
        for id_, body in zip(ids, bodies, strict=True):
            room_bytes -= record_bytes(body)
            if id_ <= last_id or len(body) > bytes_max or room_bytes < 0:
                break
            try:
                read_attributes_of(body)
            except PeerError:
                break
            last_id = id_
            count += 1
        if count:
            published_ns = self.clock.published_ns(now)
            new = zip(self.clock.next_ticks(count, now), ids, bodies, strict=False)
            records = [
                LogRecord(tick, published_ns, publisher, id_, body) for tick, id_, body in new
            ]
            self._take(port, publisher, records, now)
        return count

    def _take(self, port: Port, publisher: str, records: list[LogRecord], now: Instant) -> None:
        self._last_tick = records[-1].tick
        self.throttle.logged(self._last_tick, len(records))
        self.publishers.add(publisher, records)
        self.stored.size.add(records)
        self._unsynced.add(self._writer.next_number, records, port)
        self._writer.append(records, now)

    def appended(self, upto: int, lease: int, *, now: Instant) -> None:
        """All records up to this number, and the lease, are on disk."""
        self._synced_lease = max(self._synced_lease, lease)
        if self._waiting_filter is not None and self._said <= self._synced_lease + 1:
            waiting, self._waiting_filter = self._waiting_filter, None
            self._on_filter(waiting, now)
        unsynced, id_ = self._unsynced, self.id
        items: list[StreamItem] = []
        confirmed: dict[Port, list[StoredRun]] = {}
        for batch in unsynced.take(upto):
            confirmed.setdefault(batch.port, []).extend(_runs_of(id_, batch.records))
            for record, port in unsynced.take_repeated(batch):
                again = stored_at(record.publication, Stored(id_, record.tick, True))
                confirmed.setdefault(port, []).append(again)
            items.extend(
                StreamItem(record.tick, record.published_ns, record.body)
                for record in batch.records
            )
        for port, entries in confirmed.items():
            self._confirm(port, self.stream, entries)
        if items:
            last = items[-1].tick
            assert last <= self._synced_lease, "a message above its own lease"
            self._send(Run(self.id, self._said, last + 1, items))
            self._said, self._said_at = last + 1, now

    def rolled(self, *, now: Instant) -> None:
        """A segment of the log has begun: it gets a snapshot of what is known of publishers."""
        self._writer.append([LogSnapshot(self.publishers.snapshot())], now)

    def receive(self, frame: BrokerFrame, *, now: Instant) -> None:
        """Takes a frame of the relay beside it."""
        if isinstance(frame, Nack):
            self.repairs.on_nack(frame, now=now)
        elif isinstance(frame, Ack):
            for entry in frame.entries:
                self.rows.acknowledge(entry, wall_ns=self.clock.published_ns(now))
        elif isinstance(frame, Hold):
            self.holding.on_hold(frame, now=now)
        elif isinstance(frame, FilterRequest):
            self._on_filter(frame, now)
        elif isinstance(frame, LagRequest):
            self.stored.count_behind(frame, self._send, synced=self.horizon(now) - 1)
        elif isinstance(frame, CongestionAlert):
            self.throttle.on_alert(frame, now=now)
        elif isinstance(frame, CongestionReport):
            self.throttle.on_report(frame, now=now)
        elif not isinstance(frame, Live):
            # Between a pubend and the relay beside it nothing is narrow.
            assert isinstance(frame, ReaderRequest), f"a pubend takes no {frame!r}"
            self.repairs.on_reader(frame)

    def unconfirmed(self) -> Iterator[tuple[Port, int]]:
        """Who waits for which publication."""
        return self._unsynced.waiting()

    def delete_saved(self) -> None:
        """The stream is deleted: nothing of it stays in the store."""
        self.rows.delete_all()
        delete_dead_ranges(self._disk, self.log)
        self.stored.delete_saved()

    def wake(self, *, now: Instant) -> None:
        """Says silence, renews the lease, saves rows and trims."""
        if now >= self._said_at + self.settings.silence_ns:
            self._say_silence(now)
        self._writer.wake(now=now)
        if now >= self._rows_at:
            self._rows_at = now + self.settings.rows_ns
            self.rows.save_raised()
            self.stored.trim(synced=self.horizon(now) - 1, now=now)
        query = self.throttle.wake(max(0, self.horizon(now) - 1), now=now)
        if query is not None:
            if self._tells_before_asking:
                self._say_silence(now)
            self._send(query)

    def next_wakeup(self) -> Instant | None:
        """The next of its timers."""
        return earliest(
            self._said_at + self.settings.silence_ns,
            self._writer.next_wakeup(),
            self._rows_at,
            self.throttle.next_wakeup(),
        )

    # How it does it

    def _confirm_again(self, port: Port, publication: int, tick: int) -> None:
        if not self._unsynced.repeat(tick, port):
            run = stored_at(publication, Stored(self.id, tick, True))
            self._confirm(port, self.stream, [run])

    def _say_silence(self, now: Instant) -> None:
        self._said_at = now
        horizon = self.horizon(now)
        if self._said < horizon:
            self._send(Run(self.id, self._said, horizon, NO_ITEMS))
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


def _runs_of(pubend: int, records: Sequence[LogRecord]) -> Iterator[StoredRun]:
    """Where messages of one batch are stored: mostly one run, since ids and ticks follow on."""
    first, last, count = records[0], records[-1], len(records)
    # Both rise, so that their ends say whether any number is left out.
    if last.publication - first.publication == count - 1 == last.tick - first.tick:
        yield StoredRun(first.publication, count, pubend, first.tick, False)
        return
    for record in records:
        yield stored_at(record.publication, Stored(pubend, record.tick, False))
