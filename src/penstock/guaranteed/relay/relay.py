"""One pubend at one broker: from its parent to all children that want it.

The parent is a pubend of the same broker or another broker; the children are other brokers and the
host of this one. A relay never covers what it does not know: a gap in what it gets is a gap to its
children, and it asks its parent only for what they ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from penstock.content.filter import Predicate
from penstock.guaranteed.relay.alert_merge import AlertMerge
from penstock.guaranteed.relay.child import Child
from penstock.guaranteed.relay.child_repairs import ChildRepairs
from penstock.guaranteed.relay.gathered_acks import GatheredAcks
from penstock.guaranteed.relay.host_ports import HostPorts
from penstock.guaranteed.relay.parent_link import ParentLink
from penstock.guaranteed.relay.reader_answers import ReaderAnswers
from penstock.guaranteed.relay.reader_shares import ReaderShares
from penstock.guaranteed.relay.report_merge import ReportMerge
from penstock.guaranteed.relay.tick_cache import TickCache
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import RelaySettings
from penstock.guaranteed.stream_item import matching
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import SECOND, Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import (
    DEAD_RANGES_MAX,
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
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold

Answer = Run | Gap

# After so much silence each reader asks for itself.
_SILENCE: Final = duration_ticks(1 * SECOND)


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
        # The first tick that is not decided, as far as the parent has said.
        self.horizon = 0
        # The first tick that no reader has been told about.
        self._told_readers = 0
        self._dead_ranges: tuple[TickRange, ...] = ()
        self._settings: Final = settings
        self.cache = self._new_cache()
        self._send: Final = send
        self._children: Final[dict[Port, Child]] = {}
        self._repairs: Final = ChildRepairs(
            pubend,
            self._children,
            outstanding_ns=settings.outstanding_ns,
            send=send,
            tell=self._tell_reader,
        )
        self._hosts: Final = HostPorts(self._children, send=send)
        self._up: Final = ParentLink(pubend, send=send)
        self._acks: Final = GatheredAcks(pubend, wait_ns=settings.acks_ns)
        self._reports: Final = ReportMerge(pubend)
        self._alerts: Final = AlertMerge(pubend, keeps_all=settings.keeps_late_alerts)
        self._readers: Final = ReaderAnswers(pubend, settings.readers_max)
        self._shares: Final = ReaderShares(settings.readers_max)
        # All before it is said as soon as it is known: hosts are asked about it.
        self._queried_stop = 0

    def _new_cache(self) -> TickCache:
        span_ns = self._settings.cache_ns
        ticks_max = None if span_ns is None else duration_ticks(span_ns)
        return TickCache(self._settings.cache_bytes, ticks_max=ticks_max)

    @property
    def parent(self) -> Port | None:
        """Whom the pubend is taken from."""
        return self._up.port

    @property
    def asked(self) -> Predicate | None:
        """The filter that parents were asked for last."""
        return self._up.asked

    @property
    def is_idle(self) -> bool:
        """Whether nothing that was asked for is outstanding."""
        return self._repairs.is_idle and not self._up.requests

    @property
    def passed(self) -> int:
        """The first tick that nothing has been passed on about."""
        return max(self.horizon, self._told_readers)

    def table_sizes(self) -> list[tuple[str, int]]:
        """Names and sizes of what grows with brokers and requests, for checkers."""
        return [
            ("children", len(self._children)),
            ("hosts", len(self._hosts)),
            ("filters asked for", self._up.requests),
            ("acknowledgements", len(self._acks)),
            ("requested ranges", self._repairs.ranges),
            ("readers", len(self._readers)),
            ("readers that ask", len(self._shares)),
        ]

    # Links

    def parent_up(self, port: Port, *, is_far: bool = True) -> None:
        """Takes the pubend from this parent from now on; `is_far` if that is another broker."""
        self.parent_down()
        self._up.up(port, is_far=is_far)
        self._tell_live()
        self._acks.repeat()

    def parent_down(self) -> None:
        """Nothing comes until there is a parent again; what is known stays known."""
        self._up.down()
        self._repairs.parent_down()

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

    def port_of(self, reader: ReaderId) -> Port | None:
        """By which port answers to a reader leave."""
        return self._hosts.port_of(reader.host)

    def child_up(self, port: Port) -> None:
        """A child may ask from now on."""
        self._children[port] = Child(self.pubend, port, send=self._send)

    def child_down(self, port: Port) -> None:
        """Forgets a child, and what it wanted."""
        self._children.pop(port, None)
        self._repairs.forget(port)
        for reader in self._readers.gone(self._hosts.behind(port)):
            self._forget_reader(reader)
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
                self._repairs.on_gap(frame, now=now)
            else:
                self._learn(frame, now)
        elif isinstance(frame, Horizon):
            self._on_horizon(frame.stop, now)
        elif isinstance(frame, FilterAck):
            self._on_filter_ack(frame, now)
        elif isinstance(frame, Held):
            # From now on a cursor may be there.
            self._told_readers = max(self._told_readers, frame.tick + 1)
            self._hosts.send(frame.host, frame)
        elif isinstance(frame, CongestionQuery):
            self._on_query(frame, now)
        elif isinstance(frame, LagAnswer):
            self._hosts.send(frame.host, frame)
        elif isinstance(frame, ReaderRequest):
            self._hosts.send(frame.reader.host, frame)

    def _learn(self, run: Run, now: Instant) -> None:
        if self._up.awaits_filter:
            # By a link that was not cut, a parent of earlier goes on under the filter of then:
            # what is silence under that one need not be silence. Its answer says where to begin.
            return
        self.cache.add(run)
        if run.stop > self.horizon:
            self._extend(run, now)
        self._repairs.on_run(run, now=now)

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

    def _pass_to_reader(self, frame: Answer) -> None:
        """An answer under a reader's own predicate is for its host alone."""
        assert frame.reader is not None
        self._told_readers = max(self._told_readers, frame.stop)
        self._shares.answered(frame.reader)
        self._hosts.send(frame.reader.host, frame)

    def _tell_reader(self, reader: ReaderId, answer: Answer) -> None:
        """Everybody's answer, as far as this reader wants it."""
        if isinstance(answer, Run):
            predicate = self._readers.predicate(reader, under=self.cache.silence_filter)
            if predicate is None:
                # The filter is narrower by now: what is silence under it need not be silence.
                return
            answer = msgspec.structs.replace(answer, items=matching(answer.items, predicate))
        self._hosts.send(reader.host, answer)

    def _forget_reader(self, reader: ReaderId) -> None:
        self._repairs.forget(reader)
        self._shares.forget(reader)

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
        granted = self._up.on_filter_ack(frame)
        if granted is None:
            return
        self.cache.set_filter(granted, frame.tick)
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
                self._on_reader_nack(port, frame.reader, frame, now)
            else:
                unknown = self._repairs.on_nack(
                    child, frame, self.cache.known, horizon=self.horizon, now=now
                )
                self._up.send(*unknown)
        elif isinstance(frame, Hold | LagRequest):
            self._hosts.learn(frame.host, port)
            self._up.send(frame)
        elif isinstance(frame, ReaderRequest):
            self._hosts.learn(frame.reader.host, port)
            self._readers.register(frame)
            if frame.predicate is None:
                self._forget_reader(frame.reader)
            self._up.send(frame)
        elif isinstance(frame, Ack):
            self._acks.add(frame, now=now)
        elif isinstance(frame, Live):
            child.set_live(frame.is_on, horizon=self.horizon, now=now)
            self._tell_live()
        elif isinstance(frame, CongestionReport):
            self._reports.add(port, frame, now=now)
            self._send_report(now)
        elif isinstance(frame, CongestionAlert):
            alert = self._alerts.add(frame)
            if alert is not None:
                self._up.send(alert)

    def _send_report(self, now: Instant) -> None:
        report = self._reports.due(now)
        if report is not None:
            self._up.send(report)

    def _on_reader_nack(self, port: Port, reader: ReaderId, frame: Nack, now: Instant) -> None:
        """Answers a reader from the cache; the rest is asked for in its name, or in everybody's."""
        self._hosts.learn(reader.host, port)
        horizon = self.horizon
        runs, unknown = self._readers.answer(
            frame, self.cache.known, under=self.cache.silence_filter, horizon=horizon
        )
        for run in runs:
            self._send(port, run)
        if unknown and self._is_for_all(reader, unknown, now):
            unknown = self._repairs.ask_for_all(reader, unknown, now=now)
        self._up.send(*unknown)

    def _is_for_all(self, reader: ReaderId, unknown: list[Nack], now: Instant) -> bool:
        """Whether a reader waits for what all are told, instead of an answer of its own."""
        cache = self.cache
        predicate = self._readers.predicate(reader, under=cache.silence_filter)
        if predicate is None or self._up.awaits_filter or not self._up.is_far:
            return False
        start, stop = unknown[0].ranges[0].start, unknown[-1].ranges[-1].stop
        return (
            self._shares.ask(reader, predicate, start, cache, now=now)
            # What lies behind the horizon is in nobody's cache, nor will it be.
            and stop <= self.horizon
            and cache.keeps(start)
            # There an answer of its own says where the next message is: else it would go there
            # range by range.
            and not cache.is_silent(start - _SILENCE, start)
        )

    def _grant(self, child: Child, now: Instant) -> None:
        """Gives a child the filter it asked for, once the parent has granted enough."""
        request = child.requested
        if request is not None and self._up.grants(request.predicate):
            child.set_filter(request, horizon=self.horizon, now=now)

    def _ask_for_all(self) -> None:
        """Asks the parent for what all children want together."""
        self._up.ask_for([p for child in self._children.values() for p in child.wants])

    def _tell_live(self) -> None:
        """Has the parent send no new messages while no child wants any."""
        asking = [child for child in self._children.values() if child.wants]
        self._up.set_live(not asking or any(child.is_live for child in asking))

    # Time

    def wake(self, *, now: Instant) -> None:
        """Passes on acknowledgements and reports that have waited long enough."""
        self._send_report(now)
        self._up.send(*self._acks.due(now))

    def next_wakeup(self) -> Instant | None:
        """When acknowledgements or reports leave."""
        return earliest(self._acks.next_wakeup(), self._reports.next_wakeup())
