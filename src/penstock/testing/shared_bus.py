"""A best-effort network of a few endpoints on one bus, with one clock.

Each copy of a frame takes the same time, and the caller decides which copies are lost.
Does not know brokers or queues: `penstock.sim` has those.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, TypeAlias

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Deliver, Record
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.trace.fates import ReceiverFate
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Unseen
from penstock.transport.settings import DEFAULT, EndpointSettings, OrderingSettings
from penstock.wire import decode, encode
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.request import Request

ENCODER: Final = Encoder(b"bus")

# Whether the copy from one endpoint to another is lost: sender, receiver, frame.
Loses: TypeAlias = Callable[[int, int, TransportFrame], bool]


class BusPort(LoopbackNetwork):
    """The network as one endpoint on the bus sees it."""

    def __init__(self, bus: SharedBus, endpoint_id: int) -> None:
        super().__init__()
        self._bus: Final = bus
        self._endpoint_id: Final = endpoint_id

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Hands it to the bus, for all endpoints."""
        self._bus.carry(self._endpoint_id, frame, traffic, now)

    def wants(self, frame: TransportFrame, traffic: TrafficClass) -> bool:
        """Matches a message exactly, and a request by its Bloom set, as brokers do."""
        own = [predicate for class_, predicate in self.subscriptions.values() if class_ is traffic]
        if traffic is TrafficClass.REQUEST:
            assert isinstance(frame, Request)
            sets = [ENCODER.filter_bits(f) for predicate in own for f in predicate.filters]
            return any(bits & frame.bloom == bits for bits in sets)
        message: Message = frame.message  # type: ignore[attr-defined]
        return any(predicate.matches(message) for predicate in own)


class SharedBus:
    """Endpoints by their id, and all that their applications were told.

    `sent` has every frame with its sender; `loses` may be changed at any time. Frames
    are checked to survive the codec, and are handed over as they are.
    """

    def __init__(self, *, delay_ns: int = 10 * MILLISECOND, loses: Loses | None = None) -> None:
        self.now: Instant = SECOND
        self.delay_ns = delay_ns
        self.loses: Loses = loses or (lambda _sender, _receiver, _frame: False)
        self.endpoints: Final[dict[int, Endpoint[TransportFrame]]] = {}
        self.ports: Final[dict[int, BusPort]] = {}
        self.sent: Final[list[tuple[int, TransportFrame]]] = []
        self.deliveries: Final[dict[int, list[Delivery]]] = {}
        self.absences: Final[dict[int, list[Absence]]] = {}
        self.unseen: Final[dict[int, list[Unseen]]] = {}
        # Messages that waited at their publisher and were dropped there.
        self.dropped = 0
        self._in_flight: Final[list[tuple[Instant, int, int, TransportFrame]]] = []
        self._serial: Final = count()

    def attach(
        self,
        endpoint_id: int,
        settings: EndpointSettings,
        *,
        epoch: int = 1,
        interest: Predicate | None = None,
        ordering: OrderingSettings = DEFAULT,
    ) -> Endpoint[TransportFrame]:
        """Starts an endpoint, which subscribes to `interest`; a second time it is a restart."""
        port = self.ports[endpoint_id] = BusPort(self, endpoint_id)
        endpoint = self.endpoints[endpoint_id] = Endpoint[TransportFrame](
            port,
            endpoint_id=endpoint_id,
            epoch=epoch,
            encoder=ENCODER,
            settings=settings,
            draw=Random(endpoint_id).random,
        )
        self.deliveries.setdefault(endpoint_id, [])
        self.absences.setdefault(endpoint_id, [])
        self.unseen.setdefault(endpoint_id, [])
        if interest is not None:
            endpoint.subscribe(interest, ordering=ordering, now=self.now)
        return endpoint

    def detach(self, endpoint_id: int) -> None:
        """The endpoint crashes: it sends nothing more, and frames to it are dropped."""
        del self.endpoints[endpoint_id], self.ports[endpoint_id]

    def publish(self, endpoint_id: int, /, **attributes: Value) -> Data:
        """Publishes at once, without congestion control."""
        return self.endpoints[endpoint_id].publish(Message(attributes), now=self.now)

    def submit(self, endpoint_id: int, /, **attributes: Value) -> None:
        """Publishes as soon as congestion control permits."""
        self.endpoints[endpoint_id].submit(Message(attributes), now=self.now)

    def carry(
        self, sender: int, frame: TransportFrame, traffic: TrafficClass, now: Instant
    ) -> None:
        """Puts a copy on the way to each endpoint that wants it and does not lose it."""
        self.sent.append((sender, frame))
        assert decode(encode(frame)) == frame, "what is sent is not at wire precision"
        for receiver, port in self.ports.items():
            is_own = receiver == sender
            if not port.wants(frame, traffic) or (is_own and traffic is not TrafficClass.DATA):
                continue
            if is_own or not self.loses(sender, receiver, frame):
                arrival = now + self.delay_ns
                heappush(self._in_flight, (arrival, next(self._serial), receiver, frame))

    def run(self, for_ns: int) -> None:
        """Lets time pass."""
        end = self.now + for_ns
        while True:
            self._drain()
            wakes = [endpoint.next_wakeup() for endpoint in self.endpoints.values()]
            times = [at for at in wakes if at is not None]
            if self._in_flight:
                times.append(self._in_flight[0][0])
            at = min(times, default=end)
            if at >= end:
                break
            self.now = max(self.now, at)
            while self._in_flight and self._in_flight[0][0] <= self.now:
                _, _, receiver, frame = heappop(self._in_flight)
                if receiver in self.endpoints:
                    self.endpoints[receiver].receive(frame, via="bus", now=self.now)
            for endpoint in list(self.endpoints.values()):
                due = endpoint.next_wakeup()
                if due is not None and due <= self.now:
                    endpoint.wake(now=self.now)
        self.now = end

    def delivered_seqs(self, endpoint_id: int) -> list[int]:
        """The sequence numbers that an application got, in its order."""
        dropped = ReceiverFate.DROPPED_LATE
        return [d.frame.seq for d in self.deliveries[endpoint_id] if d.fate is not dropped]

    def frames(self, kind: type[TransportFrame]) -> list[TransportFrame]:
        """All frames of a kind that were sent."""
        return [frame for _, frame in self.sent if type(frame) is kind]

    def _drain(self) -> None:
        for endpoint_id, endpoint in list(self.endpoints.items()):
            while (output := endpoint.poll()) is not None:
                if isinstance(output, Record):
                    continue
                assert isinstance(output, Deliver)
                fact = output.item
                if isinstance(fact, Delivery):
                    self.deliveries[endpoint_id].append(fact)
                elif isinstance(fact, Unseen):
                    self.unseen[endpoint_id].append(fact)
                elif isinstance(fact, DroppedAtSource):
                    self.dropped += 1
                else:
                    assert isinstance(fact, Absence)
                    self.absences[endpoint_id].append(fact)
