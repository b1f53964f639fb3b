"""A best-effort network of a few endpoints: every frame takes a while, and some are lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Deliver, Port, Record
from penstock.trace.fates import ReceiverFate
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Unseen
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import (
    DEFAULT,
    EndpointSettings,
    OrderingSettings,
    RecordSettings,
)
from penstock.wire import decode, encode
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.request import Request

ENCODER = Encoder(b"bus")
# Who sends, who receives, what: whether it is lost.
Loses = Callable[[int, int, TransportFrame], bool]


class Tap:
    """One endpoint's way into the bus."""

    def __init__(self, bus: Bus, me: int) -> None:
        self.bus = bus
        self.me = me
        self.asked: dict[int, tuple[TrafficClass, Predicate]] = {}
        self.out: deque[Deliver] = deque()

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        self.bus.carry(self.me, frame, traffic, now)

    def subscribe(
        self,
        subscription: int,
        predicate: Predicate,
        *,
        traffic: TrafficClass = TrafficClass.DATA,
        now: Instant,
    ) -> None:
        self.asked[subscription] = traffic, predicate

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        del self.asked[subscription]

    def wants(self, frame: TransportFrame, traffic: TrafficClass) -> bool:
        own = [predicate for class_, predicate in self.asked.values() if class_ is traffic]
        if traffic is TrafficClass.REQUEST:
            assert isinstance(frame, Request)
            sets = [ENCODER.filter_bits(f) for predicate in own for f in predicate.filters]
            return any(bits & frame.bloom == bits for bits in sets)
        message = frame.message  # type: ignore[attr-defined]
        return any(predicate.matches(message) for predicate in own)

    def receive(self, frame: TransportFrame, *, via: Port, now: Instant) -> None:
        self.out.append(Deliver(frame))

    def wake(self, *, now: Instant) -> None:
        pass

    def next_wakeup(self) -> Instant | None:
        return None

    def poll(self) -> Deliver | None:
        return self.out.popleft() if self.out else None


class Bus:
    """All endpoints, one clock; what every application was told is kept."""

    def __init__(self, *, delay_ns: int = 10 * MILLISECOND, loses: Loses | None = None) -> None:
        self.now: Instant = SECOND
        self.delay_ns = delay_ns
        self.loses: Loses = loses or (lambda _sender, _receiver, _frame: False)
        self.endpoints: dict[int, Endpoint[TransportFrame]] = {}
        self.taps: dict[int, Tap] = {}
        self.sent: list[tuple[int, TransportFrame]] = []
        self.receipts: dict[int, list[Delivery]] = {}
        self.absences: dict[int, list[Absence]] = {}
        self.unseen: dict[int, list[Unseen]] = {}
        self.dropped = 0
        self._on_the_way: list[tuple[Instant, int, int, TransportFrame]] = []
        self._serial = count()

    def add(
        self,
        me: int,
        recovery: RecoverySettings | None,
        *,
        record: int = 10,
        epoch: int = 1,
        interest: str | None = None,
        ordering: OrderingSettings = DEFAULT,
        congestion: CongestionSettings | None = None,
    ) -> Endpoint[TransportFrame]:
        tap = self.taps[me] = Tap(self, me)
        settings = EndpointSettings(
            record=RecordSettings(size=record), recovery=recovery, congestion=congestion
        )
        endpoint = Endpoint[TransportFrame](
            tap,
            endpoint_id=me,
            epoch=epoch,
            encoder=ENCODER,
            settings=settings,
            draw=Random(me).random,
        )
        self.endpoints[me] = endpoint
        self.receipts.setdefault(me, [])
        self.absences.setdefault(me, [])
        self.unseen.setdefault(me, [])
        if interest is not None:
            endpoint.subscribe(parse(interest), ordering=ordering, now=self.now)
        return endpoint

    def remove(self, me: int) -> None:
        """It crashes."""
        del self.endpoints[me], self.taps[me]

    def publish(self, me: int, **attributes: int) -> Data:
        return self.endpoints[me].publish(Message(attributes), now=self.now)

    def offer(self, me: int, **attributes: int) -> None:
        self.endpoints[me].submit(Message(attributes), now=self.now)

    def carry(
        self, sender: int, frame: TransportFrame, traffic: TrafficClass, now: Instant
    ) -> None:
        self.sent.append((sender, frame))
        copy = decode(encode(frame))
        assert copy == frame, "what is sent is not at wire precision"
        for me, tap in self.taps.items():
            if tap.wants(frame, traffic) and (me != sender or traffic is TrafficClass.DATA):
                if me != sender and self.loses(sender, me, frame):
                    continue
                at = now + self.delay_ns
                heappush(self._on_the_way, (at, next(self._serial), me, frame))

    def run(self, for_ns: int) -> None:
        """Lets time pass."""
        end = self.now + for_ns
        while True:
            self._drain()
            wakes = [e.next_wakeup() for e in self.endpoints.values()]
            times = [at for at in wakes if at is not None]
            if self._on_the_way:
                times.append(self._on_the_way[0][0])
            at = min(times, default=end)
            if at >= end:
                break
            self.now = max(self.now, at)
            while self._on_the_way and self._on_the_way[0][0] <= self.now:
                _, _, me, frame = heappop(self._on_the_way)
                if me in self.endpoints:
                    self.endpoints[me].receive(frame, via="bus", now=self.now)
            for endpoint in list(self.endpoints.values()):
                due = endpoint.next_wakeup()
                if due is not None and due <= self.now:
                    endpoint.wake(now=self.now)
        self.now = end

    def _drain(self) -> None:
        for me, endpoint in list(self.endpoints.items()):
            while (output := endpoint.poll()) is not None:
                if isinstance(output, Record):
                    continue
                assert isinstance(output, Deliver)
                fact = output.item
                if isinstance(fact, Delivery):
                    self.receipts[me].append(fact)
                elif isinstance(fact, Unseen):
                    self.unseen[me].append(fact)
                elif isinstance(fact, DroppedAtSource):
                    self.dropped += 1
                else:
                    assert isinstance(fact, Absence)
                    self.absences[me].append(fact)

    # What came of it.

    def got(self, me: int) -> list[int]:
        """The numbers that an application got, in its order."""
        dropped = ReceiverFate.DROPPED_LATE
        return [r.frame.seq for r in self.receipts[me] if r.fate is not dropped]

    def frames(self, kind: type[TransportFrame]) -> list[TransportFrame]:
        """All of a kind that were sent."""
        return [frame for _, frame in self.sent if type(frame) is kind]
