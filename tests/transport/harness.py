"""Endpoints without a network: frames are handed over by hand, when the test says so."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.machine import Deliver
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.trace.fates import ReceiverFate
from penstock.transport.endpoint import Endpoint, LossObserver
from penstock.transport.facts import Absence, Delivery
from penstock.transport.settings import DEFAULT, EndpointSettings, OrderingSettings, RecordSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data

ENCODER = Encoder(b"test")


def endpoint(
    pub: int = 1,
    *,
    epoch: int = 1,
    record: RecordSettings | None = None,
    publishers_max: int = 1_000,
    missing_max: int = 65_536,
    listeners: Iterable[LossObserver] = (),
) -> Endpoint[TransportFrame]:
    settings = EndpointSettings(
        record=record or RecordSettings(),
        publishers_max=publishers_max,
        missing_total_max=missing_max,
    )
    return Endpoint(
        LoopbackNetwork(),
        endpoint_id=pub,
        epoch=epoch,
        encoder=ENCODER,
        settings=settings,
        observers=tuple(listeners),
    )


def message(topic: Value = 1, **others: Value) -> Message:
    return Message({"topic": topic, **others})


def published(
    topics: Iterable[Value], *, every_ns: int = MILLISECOND, epoch: int = 1, size: int = 10
) -> list[Data]:
    """A message a millisecond from publisher 1, numbered from 0."""
    sender = endpoint(epoch=epoch, record=RecordSettings(size=size))
    return [
        sender.publish(message(topic, at=i), now=i * every_ns) for i, topic in enumerate(topics)
    ]


class Receiver:
    """A subscriber, its clock, and everything that it was told."""

    def __init__(
        self,
        interest: str = "topic = 1",
        ordering: OrderingSettings = DEFAULT,
        *,
        publishers_max: int = 1_000,
        listeners: Iterable[LossObserver] = (),
    ) -> None:
        self.endpoint = endpoint(99, publishers_max=publishers_max, listeners=listeners)
        self.now: Instant = 0
        self.receipts: list[Delivery] = []
        self.absences: list[Absence] = []
        self.subscription = self.subscribe(interest, ordering)

    def subscribe(self, interest: str, ordering: OrderingSettings = DEFAULT) -> int:
        return self.endpoint.subscribe(parse(interest), ordering=ordering, now=self.now)

    def hear(self, *frames: Data, at: Instant | None = None) -> None:
        """Frames arrive now, or at a time by which everything that is due has happened."""
        if at is not None:
            self.wait_until(at)
        for frame in frames:
            self.endpoint.receive(frame, via="all", now=self.now)
            self.drain()

    def wait_until(self, at: Instant) -> None:
        while (due := self.endpoint.next_wakeup()) is not None and due <= at:
            self.now = max(self.now, due)
            self.endpoint.wake(now=self.now)
            self.drain()
        self.now = max(self.now, at)

    def wait_for_all(self) -> None:
        while (due := self.endpoint.next_wakeup()) is not None:
            self.wait_until(due)

    def drain(self) -> None:
        while (output := self.endpoint.poll()) is not None:
            assert isinstance(output, Deliver)
            if isinstance(output.item, Delivery):
                self.receipts.append(output.item)
            else:
                assert isinstance(output.item, Absence)
                self.absences.append(output.item)

    @property
    def numbers(self) -> list[int]:
        """What the application got, in order."""
        return [r.frame.seq for r in self.receipts if r.fate is not ReceiverFate.DROPPED_LATE]

    @property
    def fates(self) -> dict[int, str]:
        """How each missing number ended."""
        return {absence.id.seq: str(absence.resolution) for absence in self.absences}
