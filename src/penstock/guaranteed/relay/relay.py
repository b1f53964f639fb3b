"""One pubend at one broker: from its parent to all children that want it.

The parent is a pubend of the same broker or another broker; the children are other brokers and the
host of this one. A relay never covers what it does not know: a gap in what it gets is a gap to its
children, and it asks its parent only for what they ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.covering import covers, minimal
from penstock.content.filter import Predicate
from penstock.content.limits import FILTERS_MAX
from penstock.guaranteed.relay.alert_merge import AlertMerge
from penstock.guaranteed.relay.child import Child
from penstock.guaranteed.relay.nack_table import NackTable
from penstock.guaranteed.relay.reader_answers import ReaderAnswers
from penstock.guaranteed.relay.report_merge import ReportMerge
from penstock.guaranteed.relay.tick_cache import TickCache
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import RelaySettings
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import (
    ACK_ENTRIES_MAX,
    DEAD_RANGES_MAX,
    NACK_RANGES_MAX,
    BrokerFrame,
    ReaderId,
    TickRange,
)
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Live,
)
from penstock.wire.frames.guaranteed.hello import Announcement
from penstock.wire.frames.guaranteed.knowledge import Gap, Horizon
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold, HostAck

Answer = Run | Gap

# Filters that the parent has not answered: what changes meanwhile is asked for after that.
_REQUESTS_MAX: Final = 4


class Relay:
    """Relays one pubend."""

    def __init__(
        self,
        pubend: int,
        *,
        settings: RelaySettings,
        send: Callable[[Port, BrokerFrame | Run], None],
    ) -> None:
        self.pubend: Final = pubend
        self.parent: Port | None = None
        # The first tick that is not decided, as far as the parent has said.
        self.horizon = 0
        # The first tick that no reader has been told about.
        self._told_readers = 0
        self._dead_ranges: tuple[TickRange, ...] = ()
        self._settings: Final = settings
        self.cache = self._new_cache()
        self._send: Final = send
        self._children: Final[dict[Port, Child]] = {}
        self._nacks: Final = NackTable(settings.outstanding_ns)
        # Which port a host is behind.
        self._port_of: Final[dict[str, Port]] = {}
        # What the parent was asked for last; what it sends now; requests that it has not answered.
        self._asked: Predicate | None = None
        self._granted: Predicate | None = None
        self._requests: Final[dict[int, Predicate]] = {}
        self._epoch = 0
        # All cached silence is silence under this filter.
        self._silence_filter: Predicate | None = None
        # The last of each host, and those that have not left: a link may lose them.
        self._last_acks: Final[dict[str, HostAck]] = {}
        self._acks: Final[dict[str, HostAck]] = {}
        self._acks_at: Instant | None = None
        self._reports: Final = ReportMerge(pubend)
        self._alerts: Final = AlertMerge(pubend, keeps_all=settings.keeps_late_alerts)
        self._readers: Final = ReaderAnswers(pubend, settings.readers_max)
        # All before it is said as soon as it is known: hosts are asked about it.
        self._queried_stop = 0
        # Whether the parent sends new messages, as far as it was told.
        self._is_live = True

    def _new_cache(self) -> TickCache:
        span_ns = self._settings.cache_ns
        ticks_max = None if span_ns is None else duration_ticks(span_ns)
        return TickCache(self._settings.cache_bytes, ticks_max=ticks_max)

    @property
    def is_idle(self) -> bool:
        """Whether nothing that was asked for is outstanding."""
        return self._nacks.is_idle and not self._requests

    @property
    def passed(self) -> int:
        """The first tick that nothing has been passed on about."""
        return max(self.horizon, self._told_readers)

    def table_sizes(self) -> list[tuple[str, int]]:
        """Names and sizes of what grows with brokers and requests, for checkers."""
        return [
            ("children", len(self._children)),
            ("hosts", len(self._port_of)),
            ("filters asked for", len(self._requests)),
            ("acknowledgements", len(self._acks)),
            ("requested ranges", self._nacks.ranges),
            ("readers", len(self._readers)),
        ]

    # Links

    def parent_up(self, port: Port) -> None:
        """Takes the pubend from this parent from now on."""
        self.parent_down()
        self.parent = port
        if self._asked is not None:
            self._ask_filter(self._asked)
        self._tell_live()
        if self._last_acks:
            self._acks.update(self._last_acks)
            self._acks_at = 0

    def parent_down(self) -> None:
        """Nothing comes until there is a parent again; what is known stays known."""
        if not self._is_live:
            # Its link may still be up, and it may be the parent again: it keeps what it was told.
            self._send_up(Live(pubend=self.pubend, is_on=True))
        if self._asked is not None:
            # Nor is it to send what comes from another parent from now on.
            self._epoch += 1
            nothing = union([])
            self._send_up(FilterRequest(pubend=self.pubend, epoch=self._epoch, predicate=nothing))
        self.parent = None
        self._granted = None
        # At both ends of a new link LIVE is on.
        self._is_live = True
        self._requests.clear()
        self._nacks.forget_parent()

    def heard(self, announcement: Announcement) -> None:
        """What HELLO says: a relay that knows more than the pubend has ever said forgets it.

        Its log was restored from a backup. Ticks between two of its lives are as telling as the
        lease: whoever knows anything there has it from a life that the log knows nothing of.
        """
        new = [each for each in announcement.dead_ranges if each not in self._dead_ranges]
        if not new:
            # Another parent may know less of the same life.
            return
        self._dead_ranges = tuple(sorted({*self._dead_ranges, *new})[-DEAD_RANGES_MAX:])
        if self.passed > announcement.lease + 1 or any(start < self.passed for start, _ in new):
            self.cache = self._new_cache()
            self.horizon = self._told_readers = 0
            self._silence_filter = None

    def port_of(self, reader: ReaderId) -> Port | None:
        """By which port answers to a reader leave."""
        return self._port_of.get(reader.host)

    def child_up(self, port: Port) -> None:
        """A child may ask from now on."""
        self._children[port] = Child(self.pubend, port, send=self._send)

    def child_down(self, port: Port) -> None:
        """Forgets a child, and what it wanted."""
        self._children.pop(port, None)
        self._nacks.forget_child(port)
        self._readers.gone({host for host, at in self._port_of.items() if at == port})
        self._reports.gone(port)
        self._ask_for_all()
        self._tell_live()

    # From the parent

    def receive_from_parent(self, frame: BrokerFrame | Run, *, now: Instant) -> None:
        """What the parent says, in the order of the link."""
        if isinstance(frame, Run | Gap):
            if frame.reader is not None:
                self._pass_to_reader(frame)
            elif isinstance(frame, Gap):
                self._answer_gap(frame, now)
            else:
                self._learn(frame, now)
        elif isinstance(frame, Horizon):
            self._on_horizon(frame.stop, now)
        elif isinstance(frame, FilterAck):
            self._on_filter_ack(frame, now)
        elif isinstance(frame, Held):
            # From now on a cursor may be there.
            self._told_readers = max(self._told_readers, frame.tick + 1)
            self._send_to_host(frame.host, frame)
        elif isinstance(frame, CongestionQuery):
            self._on_query(frame, now)
        elif isinstance(frame, LagAnswer):
            self._send_to_host(frame.host, frame)
        elif isinstance(frame, ReaderRequest):
            self._send_to_host(frame.reader.host, frame)

    def _learn(self, run: Run, now: Instant) -> None:
        if self._asked is not None and self._granted is None:
            # By a link that was not cut, a parent of earlier goes on under the filter of then:
            # what is silence under that one need not be silence. Its answer says where to begin.
            return
        self.cache.add(run)
        if run.stop > self.horizon:
            self._extend(run, now)
        self._answer_askers(run, now)

    def _extend(self, run: Run, now: Instant) -> None:
        """The next of the chain; a hole before it stays a hole to the children."""
        start, stop = run.start, run.stop
        if start > self.horizon:
            for child in self._children.values():
                child.say_silence(self.horizon, now=now)
                child.skip(start)
        items = run.items_between(self.horizon, stop)
        self.horizon = stop
        for child in self._children.values():
            if items:
                child.say_items(items, now=now)
            is_asked_for = child.position < self._queried_stop <= stop
            if is_asked_for or now - child.said_at >= self._settings.silence_ns:
                child.say_silence(stop, now=now)

    def _answer_askers(self, run: Run, now: Instant) -> None:
        for port, ranges in self._nacks.answer(run.start, run.stop, now=now):
            for start, stop in ranges:
                self._children[port].repair(start, stop, run.items_between(start, stop))

    def _answer_gap(self, frame: Gap, now: Instant) -> None:
        """Goes to those that have asked, and is not kept."""
        for port, ranges in self._nacks.answer(frame.start, frame.stop, now=now):
            for start, stop in ranges:
                self._send(
                    port,
                    Gap(
                        pubend=self.pubend,
                        start=start,
                        stop=stop,
                        reason=frame.reason,
                        messages=frame.messages,
                    ),
                )

    def _pass_to_reader(self, frame: Answer) -> None:
        """An answer under a reader's own predicate is for its host alone."""
        assert frame.reader is not None
        self._told_readers = max(self._told_readers, frame.stop)
        self._send_to_host(frame.reader.host, frame)

    def _on_horizon(self, stop: int, now: Instant) -> None:
        if stop <= self.horizon:
            return
        for child in self._children.values():
            child.say_silence(self.horizon, now=now)
            child.say_horizon(stop, now=now)
        self.horizon = stop

    def _on_query(self, frame: CongestionQuery, now: Instant) -> None:
        """DCQ goes to all that take part, and their answers are awaited."""
        asked = [child for child in self._children.values() if child.predicate is not None]
        self._reports.on_query(frame.seq, [child.port for child in asked], now=now)
        for child in asked:
            self._send(child.port, frame)
        if self._settings.tells_with_queries:
            # The query may have overtaken what it speaks of.
            self._queried_stop = frame.newest + 1
            for child in asked:
                child.say_silence(self.horizon, now=now)

    def _on_filter_ack(self, frame: FilterAck, now: Instant) -> None:
        granted = self._requests.pop(frame.epoch, None)
        if granted is None:
            return
        for epoch in [each for each in self._requests if each < frame.epoch]:
            del self._requests[epoch]
        if self._silence_filter is None or not covers(self._silence_filter, granted):
            self.cache.widen(frame.tick)
        self._granted = self._silence_filter = granted
        self._on_horizon(frame.tick, now)
        for child in self._children.values():
            self._grant(child, now)
        self._ask_for_all()

    # From a child

    def receive_from_child(self, port: Port, frame: BrokerFrame, *, now: Instant) -> None:
        """What a child asks for."""
        child = self._children[port]
        if isinstance(frame, FilterRequest):
            child.requested = frame
            self._grant(child, now)
            # Behind that: a narrower filter holds at once, and the parent need not send more.
            self._ask_for_all()
            self._tell_live()
        elif isinstance(frame, Nack):
            if frame.reader is not None:
                self._on_reader_nack(port, frame.reader, frame)
            else:
                self._on_nack(child, frame, now)
        elif isinstance(frame, Hold | LagRequest):
            self._port_of[frame.host] = port
            self._send_up(frame)
        elif isinstance(frame, ReaderRequest):
            self._port_of[frame.reader.host] = port
            self._readers.register(frame)
            self._send_up(frame)
        elif isinstance(frame, Ack):
            self._gather_acks(frame, now)
        elif isinstance(frame, Live):
            child.set_live(frame.is_on, horizon=self.horizon, now=now)
            self._tell_live()
        elif isinstance(frame, CongestionReport):
            self._reports.add(port, frame, now=now)
            self._send_report(now)
        elif isinstance(frame, CongestionAlert):
            alert = self._alerts.add(frame)
            if alert is not None:
                self._send_up(alert)

    def _send_report(self, now: Instant) -> None:
        report = self._reports.due(now)
        if report is not None:
            self._send_up(report)

    def _on_reader_nack(self, port: Port, reader: ReaderId, frame: Nack) -> None:
        """Answers a reader from the cache; the rest is asked for in its name."""
        self._port_of[reader.host] = port
        runs, unknown = self._readers.answer(
            frame, self.cache.known, under=self._silence_filter, horizon=self.horizon
        )
        for run in runs:
            self._send(port, run)
        for each in unknown:
            self._send_up(each)

    def _on_nack(self, child: Child, frame: Nack, now: Instant) -> None:
        if child.predicate is None:
            return
        wanted: list[TickRange] = []
        known = self.cache.known
        for start, end in frame.ranges:
            stop = min(end, self.horizon)
            at = start
            for begin, behind in known.unknown(start, stop) if start < stop else ():
                self._repair_from_cache(child, at, begin)
                wanted += self._nacks.ask(child.port, begin, behind, now=now)
                at = behind
            self._repair_from_cache(child, at, stop)
        for at in range(0, len(wanted), NACK_RANGES_MAX):
            self._send_up(Nack(pubend=self.pubend, ranges=tuple(wanted[at : at + NACK_RANGES_MAX])))

    def _repair_from_cache(self, child: Child, start: int, stop: int) -> None:
        if start < stop:
            items = [item for _, item in self.cache.known.data_between(start, stop)]
            child.repair(start, stop, items)

    def _grant(self, child: Child, now: Instant) -> None:
        """Gives a child the filter it asked for, once the parent has granted enough."""
        request = child.requested
        if request is None or self._granted is None:
            return
        # A narrower filter may be on its way up: until its answer it counts as granted already.
        granted = (self._granted, *self._requests.values())
        if all(covers(each, request.predicate) for each in granted):
            child.set_filter(request, horizon=self.horizon, now=now)

    def _ask_for_all(self) -> None:
        """Asks the parent for what all children want together."""
        predicates = [p for child in self._children.values() for p in child.wants]
        wanted = union(predicates)
        if not predicates and self._asked is None:
            return
        if wanted != self._asked and len(self._requests) < _REQUESTS_MAX:
            self._ask_filter(wanted)

    def _ask_filter(self, wanted: Predicate) -> None:
        self._asked = wanted
        self._epoch += 1
        if self.parent is not None:
            self._requests[self._epoch] = wanted
            self._send_up(FilterRequest(pubend=self.pubend, epoch=self._epoch, predicate=wanted))

    def _tell_live(self) -> None:
        """Has the parent send no new messages while no child wants any."""
        asking = [child for child in self._children.values() if child.wants]
        is_live = not asking or any(child.is_live for child in asking)
        if self.parent is not None and is_live != self._is_live:
            self._is_live = is_live
            self._send_up(Live(pubend=self.pubend, is_on=is_live))

    def _gather_acks(self, frame: Ack, now: Instant) -> None:
        for entry in frame.entries:
            # A later entry of the same host says all that the earlier did; hosts are never merged.
            self._acks[entry.host] = self._last_acks[entry.host] = entry
        if self._acks_at is None:
            self._acks_at = now + self._settings.acks_ns

    # Time

    def wake(self, *, now: Instant) -> None:
        """Passes on acknowledgements and reports that have waited long enough."""
        self._send_report(now)
        if self._acks_at is not None and now >= self._acks_at:
            self._acks_at = None
            entries = list(self._acks.values())
            self._acks.clear()
            for at in range(0, len(entries), ACK_ENTRIES_MAX):
                self._send_up(
                    Ack(pubend=self.pubend, entries=tuple(entries[at : at + ACK_ENTRIES_MAX]))
                )

    def next_wakeup(self) -> Instant | None:
        """When acknowledgements or reports leave."""
        return earliest(self._acks_at, self._reports.next_wakeup())

    # Ways out

    def _send_up(self, frame: BrokerFrame) -> None:
        if self.parent is not None:
            self._send(self.parent, frame)

    def _send_to_host(self, host: str, frame: BrokerFrame | Run) -> None:
        port = self._port_of.get(host)
        if port in self._children:
            self._send(port, frame)


def union(predicates: list[Predicate]) -> Predicate:
    """What matches any of them, or more where that would be too long to say."""
    filters = minimal(f for predicate in predicates for f in predicate.filters)
    return Predicate(filters) if len(filters) <= FILTERS_MAX else EVERYTHING
