"""What a receiver thinks of one publisher: how much may come, and of which filters.

    state        begins with                  allows
    JOIN         the first message            nothing is said yet: the round trip is not known
    SLOWSTART    the round trip               twice what comes
    CONTROL      the first loss               T(s, R, p): see `response`
    IDLE         ten round trips of silence   nothing is said; the losses are forgotten

Once a round trip it is reckoned what may come. If less may come than does, every filter
gets its share; if more, those flows that we limit may grow, by a part of what comes.
Knows nothing of how that is said, or when: see `reporter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from math import inf, sqrt
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.tfrc.loss_events import Losses, detection, literal_count
from penstock.tfrc.rate_meter import Meter
from penstock.tfrc.round_trip import R_FIRST_NS, Rtt
from penstock.tfrc.throughput_equation import loss_rate, throughput
from penstock.transport.congestion.quotas import max_min
from penstock.transport.congestion.receiver.flow_view import Entry
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.frames.data import Data
from penstock.wire.serial import SEQ_BITS, distance

# One message in so many seconds is always allowed.
_RATE_MIN_MPS: Final = 1 / 8
_IDLE_RTTS: Final = 10
# Less than this share of a quota is used: more would not be either.
_USED: Final = 0.8
# RFC 5348 §4.2: messages in the first round trip.
_WINDOW: Final = 4
_SIZE_KEEP: Final = 0.95
# A round trip so much longer than the shortest means that a queue has filled.
_QUEUED: Final = 2
_QUEUED_NS: Final = 50 * MILLISECOND


class State(Enum):
    """How far a session is."""

    JOIN = "join"
    SLOWSTART = "slowstart"
    CONTROL = "control"
    IDLE = "idle"


class Session:
    """Of one publisher's epoch and one receiver with these filters."""

    def __init__(self, settings: CongestionSettings, first: Data, now: Instant) -> None:
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        self.pub: Final = first.pub
        self.epoch: Final = first.epoch
        self.rtt: Final = Rtt()
        self.meter: Final = Meter()
        self.losses: Final = Losses(is_literal=self._is_literal)
        self.entries: list[Entry] = []
        self.state = State.JOIN
        # X: messages a second; and what comes.
        self.allowed_mps = inf
        self.rate_mps = 0.0
        self._heard_ns = now
        self._last_seq: int | None = None
        self._sent_mps = first.send_rate_mps
        self._record = first.record.count
        self._told = 1.0
        self._size_bytes: float | None = None

    # What comes.

    def on_data(
        self, frame: Data, matching: Iterable[Entry], size_bytes: int, now: Instant
    ) -> None:
        """A message that came for the first time, and the filters that it matches."""
        if self.state is State.IDLE:
            self.state = State.SLOWSTART if self.rtt.is_measured else State.JOIN
        self._heard_ns = now
        self._sent_mps, self._record = frame.send_rate_mps, frame.record.count
        size = size_bytes if self._size_bytes is None else self._size_bytes
        self._size_bytes = _SIZE_KEEP * size + (1 - _SIZE_KEEP) * size_bytes
        self.meter.count(now)
        for entry in matching:
            entry.meter.count(now)
        self.losses.on_came(self._literal_count(frame.seq, now) if self._is_literal else self._told)

    def on_lost(self, due_ns: Instant, now: Instant) -> bool:
        """One did not come; whether it was the first of an event."""
        if self.losses.has_any:
            return self.losses.on_lost(due_ns, self.rtt.ns)
        self.losses.on_lost(due_ns, self.rtt.ns)
        self._begin_control(now)
        return True

    def on_marked(self, now: Instant) -> bool:
        """One comes that the network has marked; whether that was the first of an event."""
        if self._is_literal:
            return False
        if self.losses.has_any:
            return self.losses.on_marked(now, self.rtt.ns)
        self.losses.on_marked(now, self.rtt.ns)
        self._begin_control(now)
        return True

    def _begin_control(self, now: Instant) -> None:
        if self._is_literal:
            self.losses.begin(max(1.0, self.losses.intervals.current), now)
        else:
            # What went before is as if a connection had got just what came, or the window that
            # it begins with: who wants little does not know what it might get.
            rate_mps = max(self.meter.rate(now), _WINDOW / self._rtt_s)
            self.losses.begin(1 / loss_rate(1, self._rtt_s, rate_mps), now)
        self.state = State.CONTROL

    def on_measured(self, was_ns: Duration) -> None:
        """The round trip is known: what was reckoned with another is put right."""
        if self.losses.has_any:
            self.losses.intervals.scale((self.rtt.ns / was_ns) ** 2)
        elif self.state is State.JOIN:
            self.state = State.SLOWSTART

    # What may come.

    def reckon(self, now: Instant) -> None:
        """Once a round trip, and when something was lost."""
        if now - self._heard_ns > _IDLE_RTTS * max(self.rtt.ns, R_FIRST_NS // 10):
            self.state = State.IDLE
            self.losses.clear()
            return
        over_ns = 2 * self.rtt.ns
        for meter in (self.meter, *(entry.meter for entry in self.entries)):
            meter.over(over_ns)
        self.rate_mps = self.meter.rate(now)
        for entry in self.entries:
            entry.rate_mps = entry.meter.rate(now)
        self._told = self._told_share()
        if self.state is State.SLOWSTART and not self._is_literal and self._has_queue():
            # Before the first loss, which comes when all of the queue is full.
            self._begin_control(now)
        self.allowed_mps = max(_RATE_MIN_MPS, self._allowed())
        if self._settings.law == "window":
            self._liken()
        elif self.allowed_mps < self.rate_mps:
            self._share(self.allowed_mps)
        elif self.allowed_mps > self.rate_mps:
            self._grow(self.allowed_mps - self.rate_mps)

    @property
    def p(self) -> float:
        """The rate of loss events."""
        return self.losses.rate

    @property
    def is_exact(self) -> bool:
        """Whether numbers tell of every loss of what comes."""
        active = [entry for entry in self.entries if entry.rate_mps > 0]
        return bool(active) and all(entry.flow_id is not None for entry in active)

    @property
    def is_limiting(self) -> bool:
        """Whether we limit any flow."""
        return any(entry.is_limiting for entry in self.entries)

    def wanting(self) -> Sequence[Entry]:
        """The filters that get more than they may."""
        return [entry for entry in self.entries if entry.quota_mps < entry.rate_mps]

    def _allowed(self) -> float:
        if self.state is not State.CONTROL:
            return 2 * max(self.rate_mps, 1 / self._rtt_s)
        # In messages, whatever their size: T is proportional to it.
        allowed = throughput(1, self._rtt_s, self.p)
        nominal = self._settings.nominal_bytes
        if nominal is not None and self._size_bytes:
            allowed *= nominal / self._size_bytes
        if self._is_literal or not self.rtt.is_measured:
            return allowed
        # RFC 5348 §4.5: less while the queue grows, more while it shrinks.
        return allowed * sqrt(self.rtt.ns / self.rtt.now_ns)

    def _has_queue(self) -> bool:
        return self.rtt.now_ns > _QUEUED * self.rtt.least_ns + _QUEUED_NS

    def _share(self, allowed_mps: float) -> None:
        shares = max_min(
            [entry.rate_mps for entry in self.entries],
            allowed_mps,
            [entry.weight for entry in self.entries],
        )
        for entry, share in zip(self.entries, shares, strict=True):
            entry.quota_mps = share

    def _liken(self) -> None:
        """With windows no rate is asked for, but told what a connection would get of each."""
        for entry in self.entries:
            if self.rate_mps > 0:
                entry.quota_mps = self.allowed_mps * entry.rate_mps / self.rate_mps

    def _grow(self, unused_mps: float) -> None:
        """Of what is not used, those flows get a part that we limit."""
        limited = [entry for entry in self.entries if entry.is_limiting]
        for entry in self.entries:
            if not entry.is_limiting:
                entry.quota_mps = max(entry.quota_mps, entry.rate_mps)
        for entry in limited:
            most = self._settings.increase * entry.rate_mps
            if not self._is_literal:
                most = max(most, 1 / self._rtt_s)
            quota_mps = entry.rate_mps + min(most, unused_mps / len(limited))
            if not self._is_literal and entry.rate_mps < _USED * entry.quota_mps:
                # The publisher has no more to send, or the network bears no more.
                quota_mps = min(max(quota_mps, entry.quota_mps), entry.rate_mps + unused_mps)
            entry.quota_mps = quota_mps

    # What it is reckoned with.

    @property
    def _rtt_s(self) -> float:
        # The dissertation's changes with every message.
        return (self.rtt.now_ns if self._is_literal else self.rtt.ns) / SECOND

    def _told_share(self) -> float:
        """Of so many losses we are told."""
        if self.is_exact:
            return 1.0
        return detection(self._share_of(self.rate_mps), self._record)

    def _share_of(self, came_mps: float) -> float:
        """Of all that the publisher says it sends."""
        return came_mps / self._sent_mps if self._sent_mps else 1.0

    def _literal_count(self, seq: int, now: Instant) -> float:
        gap = 0
        if self._last_seq is not None:
            gap = max(0, distance(seq, self._last_seq, SEQ_BITS) - 1)
        self._last_seq = seq
        return literal_count(gap, self._record, min(1.0, self._share_of(self.meter.rate(now))))
