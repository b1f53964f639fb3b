"""Replays the same arrivals to receivers that differ in how they learn of losses.

Each receiver is a session of the transport's own congestion control. It gets every
arrival, and the losses that its kind of knowledge reveals:

    ideal       every loss, at the next arrival
    numbers     losses revealed by the sequence numbers of its flow
    record-k    losses revealed by records of k messages, corrected for the rest [C4]
    literal-k   the same with the dissertation's rule: gaps count, every loss is an event
    literal-all the dissertation's rule with every loss known

The publisher does not obey their allowed rates, so that all receivers see the same
arrivals. Knows nothing of files and traces.
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
class ExpectedMessage:
    """A message that matches the receiver's filter; `arrived_ns` is None if it was lost."""

    seq: int
    published_ns: Instant
    arrived_ns: Instant | None


@dataclass(frozen=True, slots=True)
class LossKnowledge:
    """How a receiver learns of losses; `record` is the length of a record in messages."""

    source: Literal["all", "numbers", "record"]
    record: int = 2
    is_literal: bool = False


LOSS_KNOWLEDGE: Final[dict[str, LossKnowledge]] = {
    "ideal": LossKnowledge("all", RECORD_ENTRIES_MAX),
    "numbers": LossKnowledge("numbers"),
    "record-5": LossKnowledge("record", 5),
    "record-2": LossKnowledge("record", 2),
    "literal-all": LossKnowledge("all", RECORD_ENTRIES_MAX, is_literal=True),
    "literal-5": LossKnowledge("record", 5, is_literal=True),
    "literal-2": LossKnowledge("record", 2, is_literal=True),
}


@dataclass(frozen=True, slots=True)
class ReplayEstimate:
    """A receiver's loss event rate, allowed rate and loss counts at the end of a second."""

    loss_event_rate: float
    allowed_mps: float
    events: int
    losses: int


def replay(
    knowledge: LossKnowledge,
    expected: Sequence[ExpectedMessage],
    sent_mps: float,
    start: Instant,
    seconds: int,
) -> list[ReplayEstimate]:
    """Replays one receiver, one estimate per second; `expected` is sorted by `seq`."""
    return list(_Replay(knowledge, expected, sent_mps, start).run(seconds))


class _Replay:
    def __init__(
        self,
        knowledge: LossKnowledge,
        expected: Sequence[ExpectedMessage],
        sent_mps: float,
        start: Instant,
    ) -> None:
        self._knowledge: Final = knowledge
        self._expected: Final = expected
        self._start: Final = start
        arrivals = [
            (message.arrived_ns, index)
            for index, message in enumerate(expected)
            if message.arrived_ns
        ]
        self._arrivals: Final = sorted(arrivals)
        # The return path has no queue: its delay is the minimum one-way delay.
        self._return_ns: Final[Duration] = min(
            (at - expected[index].published_ns for at, index in arrivals), default=0
        )
        self._revealed: Final = self._find_revealed()
        self._sent_mps: Final = sent_mps
        self._record: Final = PublicationRecord.from_columns(
            [0] * knowledge.record, [b""] * knowledge.record
        )
        self._entry: Final = FlowView(Filter([]), 0)

    def run(self, seconds: int) -> Iterator[ReplayEstimate]:
        session: CongestionSession | None = None
        arrivals = iter([*self._arrivals, (None, 0)])
        at, index = next(arrivals)
        update_at: Instant = 0
        for second in range(1, seconds + 1):
            end = self._start + second * SECOND
            while at is not None and at < end:
                if session is None:
                    session, update_at = self._start_session(index, at), at
                while update_at <= at:
                    session.update(update_at)
                    update_at += session.rtt.mean_ns
                self._receive(session, index, at)
                at, index = next(arrivals)
            yield _estimate(session)

    def _start_session(self, index: int, at: Instant) -> CongestionSession:
        settings = LITERAL if self._knowledge.is_literal else DEFAULT
        session = CongestionSession(settings, self._frame(index), at)
        one_way_ns = at - self._expected[index].published_ns
        previous_ns = session.rtt.mean_ns
        session.rtt.on_echo(one_way_ns + self._return_ns, one_way_ns, is_limiting=False)
        session.on_round_trip_measured(previous_ns)
        session.flow_views.append(self._entry)
        if self._knowledge.source != "record":
            # The publisher numbers the messages that the filter matches.
            self._entry.on_flow(1, is_limiting=False, now=at)
        return session

    def _receive(self, session: CongestionSession, index: int, at: Instant) -> None:
        one_way_ns = at - self._expected[index].published_ns
        session.rtt.on_message(one_way_ns, at)
        session.on_data(self._frame(index), [self._entry], _SIZE_BYTES, at)
        if self._knowledge.source == "numbers":
            expected_times = self._entry.loss_detector.on_received(index, session.rtt.mean_ns, at)
        else:
            expected_times = [
                self._expected[lost].published_ns + one_way_ns for lost in self._revealed[index]
            ]
        for expected_ns in expected_times:
            if session.on_loss(expected_ns, at):
                session.update(at)

    def _frame(self, index: int) -> Data:
        return Data(
            pub=1,
            epoch=0,
            seq=self._expected[index].seq,
            send_ts_us=0,
            since_previous_100us=0,
            send_rate_mps=self._sent_mps,
            max_round_trip_code=0,
            feedback_round=0,
            message=_MESSAGE,
            record=self._record,
        )

    def _find_revealed(self) -> dict[int, list[int]]:
        """Maps the index of a message to the indices of the losses that its arrival reveals."""
        revealed: dict[int, list[int]] = defaultdict(list)
        for index, lost in enumerate(self._expected):
            if lost.arrived_ns is None:
                revealing = self._revealing_index(index)
                if revealing is not None:
                    revealed[revealing].append(index)
        return revealed

    def _revealing_index(self, lost: int) -> int | None:
        for index in range(lost + 1, len(self._expected)):
            message = self._expected[index]
            is_described = message.seq - self._expected[lost].seq <= self._knowledge.record
            if not is_described and self._knowledge.source == "record":
                return None
            if message.arrived_ns is not None:
                return index
        return None


def _estimate(session: CongestionSession | None) -> ReplayEstimate:
    if session is None:
        return ReplayEstimate(0.0, 0.0, 0, 0)
    losses = session.loss_events
    return ReplayEstimate(
        session.loss_event_rate, session.allowed_mps, losses.events, losses.lost_messages
    )
