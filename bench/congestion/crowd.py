"""So many receivers of the same messages behind one bottleneck, and what they say.

A real publisher offers more than the link bears. The link is a queue that drops what it
has no room for, so that all lose the same; behind it each receiver has a delay of its own,
5 to 50 ms there and as much back. What receivers say does not go through the queue.

All want the same, and so any of them could limit it. Receivers are the real machines that
measure and report (`Receiver`); that a message was lost they are told when the next one
has come, as a record would.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Send
from penstock.kernel.seeds import Seeds
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.transport.congestion.receiver.feedback_sender import FrameSent
from penstock.transport.congestion.receiver.sessions import SessionTable
from penstock.transport.congestion.settings import DEFAULT, CongestionSettings
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Loss
from penstock.transport.settings import EndpointSettings, RecordSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.feedback import Feedback

PUBLISHER: Final = 1
FIRST_RECEIVER: Final = 1_000
SIZE_BYTES: Final = 284
NEAR_NS: Final = 5 * MILLISECOND
FAR_NS: Final = 50 * MILLISECOND
_ENCODER: Final = Encoder(b"crowd")
_INTEREST: Final = parse("topic = 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdCase:
    """One case."""

    receivers: int
    offered_mps: float = 80.0
    capacity_mps: float = 40.0
    queue_max: int = 10
    duration_ns: Duration = 25 * SECOND
    # From then on the link bears half.
    halved_at_ns: Duration = 15 * SECOND
    settings: CongestionSettings = DEFAULT


class ArrivalRate(NamedTuple):
    """Messages a second that came to the publisher, on average and in the worst second."""

    mean: float
    peak: int


class Outcome(NamedTuple):
    """Feedback in the first 5 s, then, and in the 5 s after the link was halved; and the rest."""

    start: ArrivalRate
    steady: ArrivalRate
    halved: ArrivalRate
    # Requests for round trips, once all have joined.
    echoes: ArrivalRate
    # Of the link, once all have begun and before it is halved; and what it dropped then.
    use: float
    lost_share: float


class Crowd:
    """All of it, and one clock."""

    def __init__(
        self, case: CrowdCase, seeds: Seeds, on_progress: Callable[[str], None] = lambda _said: None
    ) -> None:
        self._case: Final = case
        self._on_progress: Final = on_progress
        settings = replace(case.settings, policy="drop-oldest", queue_max=20)
        self._publisher: Final[Endpoint[TransportFrame]] = Endpoint(
            LoopbackNetwork(),
            endpoint_id=PUBLISHER,
            epoch=1,
            encoder=_ENCODER,
            settings=EndpointSettings(congestion=settings, record=RecordSettings(size=0)),
            draw=seeds.rng("publisher").random,
        )
        rng = seeds.rng("delays")
        self._delays: Final = [rng.randint(NEAR_NS, FAR_NS) for _ in range(case.receivers)]
        self._order: Final = sorted(range(case.receivers), key=self._delays.__getitem__)
        self._receivers: Final = [
            SessionTable(
                FIRST_RECEIVER + index,
                settings,
                _ENCODER,
                draw=seeds.rng("receiver", str(index)).random,
                send=partial(self._send, index),
            )
            for index in range(case.receivers)
        ]
        for receiver in self._receivers:
            receiver.subscribed(1, _INTEREST)
        self._events: Final[list[tuple[Instant, int, Callable[[Instant], None]]]] = []
        self._serial: Final = count()
        self._armed: Final[list[Instant | None]] = [None] * case.receivers
        # What waits at the bottleneck, and the losses that the next message tells of.
        self._queue: Final[deque[Data]] = deque()
        self._is_busy = False
        self._lost: list[Data] = []
        self._feedback: Final[list[Instant]] = []
        self._echo_requests: Final[list[Instant]] = []
        self._carried_at: Final[list[Instant]] = []
        self._dropped_at: Final[list[Instant]] = []

    def run(self) -> Outcome:
        """From the first message to the last."""
        self._publish(0)
        self._next_wake(0)
        while self._events:
            now, _, do = heappop(self._events)
            if now > self._case.duration_ns:
                break
            do(now)
        return self._outcome()

    # The publisher.

    def _publish(self, now: Instant) -> None:
        self._publisher.submit(Message({"topic": 1, "at": now}), now=now)
        self._drain(now)
        self._schedule(now + round(SECOND / self._case.offered_mps), self._publish)
        if now % SECOND == 0:
            counts = (
                f"{len(self._feedback)} reports, {len(self._echo_requests)} requests for echoes"
            )
            self._on_progress(
                f"{self._case.receivers:,} receivers: second {now // SECOND}: {counts}"
            )

    def _next_wake(self, now: Instant) -> None:
        """Every 5 ms is often enough: the publisher has one flow."""
        at = self._publisher.next_wakeup()
        if at is not None and at <= now:
            self._publisher.wake(now=now)
            self._drain(now)
        self._schedule(now + 5 * MILLISECOND, self._next_wake)

    def _drain(self, now: Instant) -> None:
        while (output := self._publisher.poll()) is not None:
            if not isinstance(output, Send):
                continue
            frame = output.frame
            if isinstance(frame, Data):
                self._enqueue(frame, now)
            elif isinstance(frame, EchoReply):
                index = frame.to - FIRST_RECEIVER
                self._schedule(now + self._delays[index], partial(self._echo, index, frame))

    def _on_frame(self, frame: TransportFrame, now: Instant) -> None:
        (self._feedback if isinstance(frame, Feedback) else self._echo_requests).append(now)
        self._publisher.receive(frame, via="", now=now)
        self._drain(now)

    # The bottleneck.

    def _enqueue(self, frame: Data, now: Instant) -> None:
        if len(self._queue) >= self._case.queue_max:
            self._dropped_at.append(now)
            self._lost.append(frame)
            return
        self._queue.append(frame)
        if not self._is_busy:
            self._is_busy = True
            self._schedule(now + self._service_ns(now), self._serve)

    def _serve(self, now: Instant) -> None:
        frame = self._queue.popleft()
        self._carried_at.append(now)
        lost, self._lost = self._lost, []
        self._deliver(0, frame, lost, now)
        self._is_busy = bool(self._queue)
        if self._is_busy:
            self._schedule(now + self._service_ns(now), self._serve)

    def _service_ns(self, now: Instant) -> Duration:
        is_halved = now >= self._case.halved_at_ns
        return round(SECOND / self._case.capacity_mps * (2 if is_halved else 1))

    # The receivers.

    def _deliver(self, place: int, frame: Data, lost: list[Data], left_ns: Instant) -> None:
        """To the closest first; those that follow are reached when it is their time."""
        if place == len(self._order):
            return
        at = left_ns + self._delays[self._order[place]]
        self._schedule(at, partial(self._reach, place, frame, lost, left_ns))

    def _reach(
        self, place: int, frame: Data, lost: list[Data], left_ns: Instant, now: Instant
    ) -> None:
        index = self._order[place]
        receiver = self._receivers[index]
        receiver.on_data(frame, SIZE_BYTES, now)
        for lost_frame in lost:
            receiver.on_loss(Loss(1, lost_frame.id, left_ns, now, None, False), now=now)
        self._arm(index)
        self._deliver(place + 1, frame, lost, left_ns)

    def _send(self, index: int, sent: FrameSent, now: Instant) -> None:
        frame = sent.frame
        self._schedule(now + self._delays[index], partial(self._on_frame, frame))

    def _arm(self, index: int) -> None:
        at = self._receivers[index].next_wakeup()
        armed = self._armed[index]
        if at is not None and (armed is None or at < armed):
            self._armed[index] = at
            self._schedule(at, partial(self._wake, index))

    def _wake(self, index: int, now: Instant) -> None:
        if self._armed[index] == now:
            self._armed[index] = None
            self._receivers[index].wake(now)
            self._arm(index)

    def _echo(self, index: int, reply: EchoReply, now: Instant) -> None:
        self._receivers[index].on_echo(reply, now)
        self._arm(index)

    def _schedule(self, at: Instant, do: Callable[[Instant], None]) -> None:
        heappush(self._events, (at, next(self._serial), do))

    # What came of it.

    def _outcome(self) -> Outcome:
        case = self._case
        halved = case.halved_at_ns
        carried = _within(self._carried_at, 5 * SECOND, halved)
        dropped = _within(self._dropped_at, 5 * SECOND, halved)
        capacity = case.capacity_mps * (halved - 5 * SECOND) / SECOND
        return Outcome(
            start=_arrival_rate(self._feedback, 0, 5 * SECOND),
            steady=_arrival_rate(self._feedback, 5 * SECOND, halved),
            halved=_arrival_rate(self._feedback, halved, halved + 5 * SECOND),
            echoes=_arrival_rate(self._echo_requests, 5 * SECOND, case.duration_ns),
            use=carried / capacity,
            lost_share=dropped / max(1, carried + dropped),
        )


def _within(times: list[Instant], start: Instant, stop: Instant) -> int:
    return sum(start <= at < stop for at in times)


def _arrival_rate(times: list[Instant], start: Instant, stop: Instant) -> ArrivalRate:
    seconds = [_within(times, at, at + SECOND) for at in range(start, stop, SECOND)]
    return ArrivalRate(sum(seconds) / len(seconds), max(seconds))
