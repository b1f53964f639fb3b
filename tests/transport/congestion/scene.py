"""A publisher and who wants what it publishes, on a bus that loses some of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.testing.shared_bus import Loses
from penstock.tfrc.throughput_equation import tcp_throughput
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, OTHER = 1, 2, 3


class Lossy:
    """Loses so much of what goes to some."""

    def __init__(self, share: float, *receivers: int) -> None:
        self.share = share
        self.receivers = set(receivers)
        self._draws = Random(5)

    def __call__(self, _sender: int, receiver: int, frame: TransportFrame) -> bool:
        is_lossy = receiver in self.receivers and isinstance(frame, Data)
        return is_lossy and self._draws.random() < self.share


class Upstream:
    """Loses so much before ways part: all lose the same messages."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._draws = Random(3)
        self._lost: dict[int, bool] = {}

    def __call__(self, _sender: int, _receiver: int, frame: TransportFrame) -> bool:
        if not isinstance(frame, Data):
            return False
        return self._lost.setdefault(frame.seq, self._draws.random() < self._share)


def bus_of(
    control: CongestionSettings, *interests: str, delay_ms: int, loses: Loses | None = None
) -> Bus:
    """The publisher, and a receiver for each interest: `ONE`, `OTHER`; records of two entries."""
    bus = Bus(delay_ns=delay_ms * MILLISECOND, loses=loses)
    bus.add(PUBLISHER, None, record=2, congestion=control)
    for me, interest in enumerate(interests, start=ONE):
        bus.add(me, None, interest=interest, congestion=control)
    return bus


def received(bus: Bus, during: Callable[[], None]) -> Counter[tuple[int, Value]]:
    """How many messages each receiver got during that, by their value of `a`."""
    before = {me: len(deliveries) for me, deliveries in bus.deliveries.items()}
    during()
    return Counter(
        (me, delivery.frame.message.attributes["a"])
        for me, deliveries in bus.deliveries.items()
        for delivery in deliveries[before[me] :]
    )


def publish(bus: Bus, rate: int, for_s: float, *values: int) -> None:
    """So many a second, of each of these."""
    for _ in range(round(rate * for_s)):
        for value in values:
            bus.submit(PUBLISHER, a=value)
        bus.run(SECOND // rate)


def fair_rate(loss: float, rtt_s: float) -> float:
    """T at the rate of loss events: what is lost within a round trip of a loss is of one event."""
    rate = tcp_throughput(1, rtt_s, loss)
    for _ in range(20):
        rate = tcp_throughput(1, rtt_s, 1 / (1 / loss + rate * rtt_s))
    return rate * (1 - loss)
