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

from penstock.bench.ordering import Straight
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Send
from penstock.kernel.seeds import Seeds
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
FIRST: Final = 1_000
SIZE_BYTES: Final = 284
NEAR_NS: Final = 5 * MILLISECOND
FAR_NS: Final = 50 * MILLISECOND
_ENCODER: Final = Encoder(b"crowd")
_WANTED: Final = parse("topic = 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One case."""

    receivers: int
    offered_mps: float = 80.0
    capacity_mps: float = 40.0
    queue_max: int = 10
    for_ns: Duration = 25 * SECOND
    # From then on the link bears half.
    halved_ns: Duration = 15 * SECOND
    settings: CongestionSettings = DEFAULT


class Heard(NamedTuple):
    """Messages a second that came to the publisher, on average and in the worst second."""

    mean: float
    most: int


class Outcome(NamedTuple):
    """Feedback in the first 5 s, then, and in the 5 s after the link was halved; and the rest."""

    start: Heard
    steady: Heard
    halved: Heard
    # Requests for round trips, once all have joined.
    echoes: Heard
    # Of the link, once all have begun and before it is halved; and what it dropped then.
    use: float
    lost_share: float


class Crowd:
    """All of it, and one clock."""

    def __init__(
        self, scene: Scene, seeds: Seeds, tell: Callable[[str], None] = lambda _said: None
    ) -> None:
        self._scene: Final = scene
        self._tell: Final = tell
        settings = replace(scene.settings, policy="drop-oldest", queue_max=20)
        self._publisher: Final[Endpoint[TransportFrame]] = Endpoint(
            Straight(),
            endpoint_id=PUBLISHER,
            epoch=1,
            encoder=_ENCODER,
            settings=EndpointSettings(congestion=settings, record=RecordSettings(size=0)),
            draw=seeds.rng("publisher").random,
        )
        rng = seeds.rng("delays")
        self._delays: Final = [rng.randint(NEAR_NS, FAR_NS) for _ in range(scene.receivers)]
        self._order: Final = sorted(range(scene.receivers), key=self._delays.__getitem__)
        self._receivers: Final = [
            SessionTable(
                FIRST + me,
                settings,
                _ENCODER,
                draw=seeds.rng("receiver", str(me)).random,
                send=partial(self._say, me),
            )
            for me in range(scene.receivers)
        ]
        for receiver in self._receivers:
            receiver.subscribed(1, _WANTED)
        self._events: Final[list[tuple[Instant, int, Callable[[Instant], None]]]] = []
        self._serial: Final = count()
        self._armed: Final[list[Instant | None]] = [None] * scene.receivers
        # What waits at the bottleneck, and the losses that the next message tells of.
        self._queue: Final[deque[Data]] = deque()
        self._is_busy = False
        self._lost: list[Data] = []
        self._feedback: Final[list[Instant]] = []
        self._asked: Final[list[Instant]] = []
        self._carried_at: Final[list[Instant]] = []
        self._dropped_at: Final[list[Instant]] = []

    def run(self) -> Outcome:
        """From the first message to the last."""
        self._publish(0)
        self._next_wake(0)
        while self._events:
            now, _, do = heappop(self._events)
            if now > self._scene.for_ns:
                break
            do(now)
        return self._outcome()

    # The publisher.

    def _publish(self, now: Instant) -> None:
        self._publisher.submit(Message({"topic": 1, "at": now}), now=now)
        self._drain(now)
        self._at(now + round(SECOND / self._scene.offered_mps), self._publish)
        if now % SECOND == 0:
            said = f"{len(self._feedback)} reports, {len(self._asked)} requests for echoes"
            self._tell(f"{self._scene.receivers:,} receivers: second {now // SECOND}: {said}")

    def _next_wake(self, now: Instant) -> None:
        """Every 5 ms is often enough: the publisher has one flow."""
        at = self._publisher.next_wakeup()
        if at is not None and at <= now:
            self._publisher.wake(now=now)
            self._drain(now)
        self._at(now + 5 * MILLISECOND, self._next_wake)

    def _drain(self, now: Instant) -> None:
        while (output := self._publisher.poll()) is not None:
            if not isinstance(output, Send):
                continue
            frame = output.frame
            if isinstance(frame, Data):
                self._enqueue(frame, now)
            elif isinstance(frame, EchoReply):
                me = frame.to - FIRST
                self._at(now + self._delays[me], partial(self._echo, me, frame))

    def _heard(self, frame: TransportFrame, now: Instant) -> None:
        (self._feedback if isinstance(frame, Feedback) else self._asked).append(now)
        self._publisher.receive(frame, via="", now=now)
        self._drain(now)

    # The bottleneck.

    def _enqueue(self, frame: Data, now: Instant) -> None:
        if len(self._queue) >= self._scene.queue_max:
            self._dropped_at.append(now)
            self._lost.append(frame)
            return
        self._queue.append(frame)
        if not self._is_busy:
            self._is_busy = True
            self._at(now + self._service_ns(now), self._serve)

    def _serve(self, now: Instant) -> None:
        frame = self._queue.popleft()
        self._carried_at.append(now)
        lost, self._lost = self._lost, []
        self._deliver(0, frame, lost, now)
        self._is_busy = bool(self._queue)
        if self._is_busy:
            self._at(now + self._service_ns(now), self._serve)

    def _service_ns(self, now: Instant) -> Duration:
        is_halved = now >= self._scene.halved_ns
        return round(SECOND / self._scene.capacity_mps * (2 if is_halved else 1))

    # The receivers.

    def _deliver(self, place: int, frame: Data, lost: list[Data], left_ns: Instant) -> None:
        """To the closest first; those that follow are reached when it is their time."""
        if place == len(self._order):
            return
        at = left_ns + self._delays[self._order[place]]
        self._at(at, partial(self._reach, place, frame, lost, left_ns))

    def _reach(
        self, place: int, frame: Data, lost: list[Data], left_ns: Instant, now: Instant
    ) -> None:
        me = self._order[place]
        receiver = self._receivers[me]
        receiver.on_data(frame, SIZE_BYTES, now)
        for each in lost:
            receiver.on_loss(Loss(1, each.id, left_ns, now, None, False), now=now)
        self._arm(me)
        self._deliver(place + 1, frame, lost, left_ns)

    def _say(self, me: int, said: FrameSent, now: Instant) -> None:
        frame = said.frame
        self._at(now + self._delays[me], partial(self._heard, frame))

    def _arm(self, me: int) -> None:
        at = self._receivers[me].next_wakeup()
        armed = self._armed[me]
        if at is not None and (armed is None or at < armed):
            self._armed[me] = at
            self._at(at, partial(self._wake, me))

    def _wake(self, me: int, now: Instant) -> None:
        if self._armed[me] == now:
            self._armed[me] = None
            self._receivers[me].wake(now)
            self._arm(me)

    def _echo(self, me: int, reply: EchoReply, now: Instant) -> None:
        self._receivers[me].on_echo(reply, now)
        self._arm(me)

    def _at(self, at: Instant, do: Callable[[Instant], None]) -> None:
        heappush(self._events, (at, next(self._serial), do))

    # What came of it.

    def _outcome(self) -> Outcome:
        scene = self._scene
        halved = scene.halved_ns
        carried = _within(self._carried_at, 5 * SECOND, halved)
        dropped = _within(self._dropped_at, 5 * SECOND, halved)
        bearable = scene.capacity_mps * (halved - 5 * SECOND) / SECOND
        return Outcome(
            start=_heard(self._feedback, 0, 5 * SECOND),
            steady=_heard(self._feedback, 5 * SECOND, halved),
            halved=_heard(self._feedback, halved, halved + 5 * SECOND),
            echoes=_heard(self._asked, 5 * SECOND, scene.for_ns),
            use=carried / bearable,
            lost_share=dropped / max(1, carried + dropped),
        )


def _within(times: list[Instant], start: Instant, stop: Instant) -> int:
    return sum(start <= at < stop for at in times)


def _heard(times: list[Instant], start: Instant, stop: Instant) -> Heard:
    seconds = [_within(times, at, at + SECOND) for at in range(start, stop, SECOND)]
    return Heard(sum(seconds) / len(seconds), max(seconds))
