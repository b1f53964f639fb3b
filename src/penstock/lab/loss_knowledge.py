"""What receivers of different means would make of the same arrivals.

Each is a session of the transport's own congestion control, told what came and, as far as
its means go, what did not:

    ideal       every loss, when the next message has come
    numbers     what the numbers of its flow tell
    record-k    what a record of k messages tells, with our correction for the rest [C4]
    literal-k   the same by the dissertation's rule: gaps count, and every loss is an event
    literal-all the dissertation's rule with every loss known

Nobody obeys them, so that all see the same. Knows nothing of files and traces.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.transport.congestion.receiver.flow_view import FlowView
from penstock.transport.congestion.receiver.session import CongestionSession
from penstock.transport.congestion.settings import DEFAULT, LITERAL
from penstock.wire.frames.data import Data
from penstock.wire.frames.record import PublicationRecord
from penstock.wire.limits import RECORD_ENTRIES_MAX

_SIZE_BYTES: Final = 284
_MESSAGE: Final = Message({})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message that the receiver wants; `arrived_ns` is None if it never came."""

    seq: int
    published_ns: Instant
    arrived_ns: Instant | None


@dataclass(frozen=True, slots=True)
class Means:
    """How a receiver learns of losses."""

    by: Literal["all", "numbers", "record"]
    record: int = 2
    is_literal: bool = False


MEANS: Final[dict[str, Means]] = {
    "ideal": Means("all", RECORD_ENTRIES_MAX),
    "numbers": Means("numbers"),
    "record-5": Means("record", 5),
    "record-2": Means("record", 2),
    "literal-all": Means("all", RECORD_ENTRIES_MAX, is_literal=True),
    "literal-5": Means("record", 5, is_literal=True),
    "literal-2": Means("record", 2, is_literal=True),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a receiver thinks at the end of a second."""

    loss_event_rate: float
    allowed_mps: float
    events: int
    losses: int


def replay(
    means: Means, wanted: Sequence[Wanted], sent_mps: float, start: Instant, seconds: int
) -> list[Estimate]:
    """What it thinks second by second; `wanted` is in order of number."""
    return list(_Replay(means, wanted, sent_mps, start).run(seconds))


class _Replay:
    def __init__(
        self, means: Means, wanted: Sequence[Wanted], sent_mps: float, start: Instant
    ) -> None:
        self._means: Final = means
        self._wanted: Final = wanted
        self._start: Final = start
        came = [(each.arrived_ns, place) for place, each in enumerate(wanted) if each.arrived_ns]
        self._arrivals: Final = sorted(came)
        # The shortest way here is as long as the way back, where no queue is.
        self._back_ns: Final[Duration] = min(
            (at - wanted[place].published_ns for at, place in came), default=0
        )
        self._revealed: Final = self._reveal()
        self._sent_mps: Final = sent_mps
        self._record: Final = PublicationRecord.from_columns(
            [0] * means.record, [b""] * means.record
        )
        self._entry: Final = FlowView(Filter([]), 0)

    def run(self, seconds: int) -> Iterator[Estimate]:
        session: CongestionSession | None = None
        arrivals = iter([*self._arrivals, (None, 0)])
        at, place = next(arrivals)
        reckon_at: Instant = 0
        for second in range(1, seconds + 1):
            end = self._start + second * SECOND
            while at is not None and at < end:
                if session is None:
                    session, reckon_at = self._begin(place, at), at
                while reckon_at <= at:
                    session.update(reckon_at)
                    reckon_at += session.rtt.mean_ns
                self._take(session, place, at)
                at, place = next(arrivals)
            yield _estimate(session)

    def _begin(self, place: int, at: Instant) -> CongestionSession:
        settings = LITERAL if self._means.is_literal else DEFAULT
        session = CongestionSession(settings, self._frame(place), at)
        way_ns = at - self._wanted[place].published_ns
        was_ns = session.rtt.mean_ns
        session.rtt.on_echo(way_ns + self._back_ns, way_ns, is_limiting=False)
        session.on_round_trip_measured(was_ns)
        session.flow_views.append(self._entry)
        if self._means.by != "record":
            # The publisher numbers what the filter matches.
            self._entry.on_flow(1, is_limiting=False, now=at)
        return session

    def _take(self, session: CongestionSession, place: int, at: Instant) -> None:
        way_ns = at - self._wanted[place].published_ns
        session.rtt.on_message(way_ns, at)
        session.on_data(self._frame(place), [self._entry], _SIZE_BYTES, at)
        if self._means.by == "numbers":
            due = self._entry.loss_detector.on_received(place, session.rtt.mean_ns, at)
        else:
            due = [self._wanted[lost].published_ns + way_ns for lost in self._revealed[place]]
        for due_ns in due:
            if session.on_loss(due_ns, at):
                session.update(at)

    def _frame(self, place: int) -> Data:
        return Data(
            pub=1,
            epoch=0,
            seq=self._wanted[place].seq,
            send_ts_us=0,
            since_previous_100us=0,
            send_rate_mps=self._sent_mps,
            max_round_trip_code=0,
            feedback_round=0,
            message=_MESSAGE,
            record=self._record,
        )

    def _reveal(self) -> dict[int, list[int]]:
        """Of each message, in its place, the places of those whose loss it tells of."""
        revealed: dict[int, list[int]] = defaultdict(list)
        for place, lost in enumerate(self._wanted):
            if lost.arrived_ns is None:
                teller = self._teller(place)
                if teller is not None:
                    revealed[teller].append(place)
        return revealed

    def _teller(self, lost: int) -> int | None:
        for place in range(lost + 1, len(self._wanted)):
            each = self._wanted[place]
            is_told = each.seq - self._wanted[lost].seq <= self._means.record
            if not is_told and self._means.by == "record":
                return None
            if each.arrived_ns is not None:
                return place
        return None


def _estimate(session: CongestionSession | None) -> Estimate:
    if session is None:
        return Estimate(0.0, 0.0, 0, 0)
    losses = session.loss_events
    return Estimate(
        session.loss_event_rate, session.allowed_mps, losses.events, losses.lost_messages
    )
