"""Messages that the network marked: as many slow down as if they were lost, and nothing is."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import msgspec
import pytest

from penstock.kernel.instant import MILLISECOND, Instant
from penstock.transport.congestion.settings import DEFAULT, LITERAL, WINDOW, CongestionSettings
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.feedback import Feedback
from penstock.wire.frames.request import Request
from tests.transport.congestion.scene import ONE, PUBLISHER, fair_rate, publish
from tests.transport.recovery.bus import Bus


class Marking(Bus):
    """Marks so many messages, and loses none."""

    def __init__(self, share: float, delay_ms: int = 25) -> None:
        super().__init__(delay_ns=delay_ms * MILLISECOND)
        self.share = share
        self._draws = Random(5)

    def carry(
        self, sender: int, frame: TransportFrame, traffic: TrafficClass, now: Instant
    ) -> None:
        if isinstance(frame, Data) and self._draws.random() < self.share:
            frame = msgspec.structs.replace(frame, congestion_experienced=True)
        super().carry(sender, frame, traffic, now)


def control(law: CongestionSettings) -> CongestionSettings:
    return replace(law, policy="drop-oldest", queue_max=50)


@pytest.mark.parametrize("law", [DEFAULT, WINDOW], ids=lambda law: law.law)
def test_it_is_slowed_down_as_if_they_were_lost(law: CongestionSettings) -> None:
    bus = Marking(0.03)
    bus.add(PUBLISHER, None, record=2, congestion=control(law))
    bus.add(ONE, None, interest="a = 1", congestion=control(law))
    publish(bus, 250, 10, 1)
    before = len(bus.deliveries[ONE])
    publish(bus, 250, 20, 1)
    rate = (len(bus.deliveries[ONE]) - before) / 20
    assert rate == pytest.approx(fair_rate(0.03, 0.05), rel=0.3)
    endpoint = bus.endpoints[ONE]
    assert endpoint.counters["marked"] > 50
    assert endpoint.congestion is not None
    assert [session.loss_events.lost_messages for session in endpoint.congestion.sessions] == [0]
    said = [
        flow.congestion_experienced
        for ack in bus.frames(Ack)
        if isinstance(ack, Ack)
        for flow in ack.flows
    ]
    assert any(said) == (law.law == "window")
    assert not all(said) or not said


def test_who_orders_and_recovers_never_sees_them() -> None:
    bus = Marking(0.5)
    recovery = RecoverySettings()
    bus.add(PUBLISHER, None, congestion=control(DEFAULT))
    bus.add(ONE, recovery, interest="a = 1", congestion=control(DEFAULT))
    publish(bus, 50, 4, 1)
    assert len(bus.deliveries[ONE]) > 20
    assert not bus.absences[ONE]
    assert not bus.frames(Request)
    assert not any(receipt.frame.congestion_experienced for receipt in bus.deliveries[ONE])


def test_without_control_nobody_minds() -> None:
    bus = Marking(0.5)
    bus.add(PUBLISHER, None)
    bus.add(ONE, None, interest="a = 1")
    for _ in range(100):
        bus.publish(PUBLISHER, a=1)
        bus.run(10 * MILLISECOND)
    bus.run(1_000 * MILLISECOND)
    assert bus.delivered_seqs(ONE) == sorted(bus.delivered_seqs(ONE))
    assert len(bus.delivered_seqs(ONE)) == 100


def test_chapter_five_knows_none() -> None:
    bus = Marking(0.5)
    bus.add(PUBLISHER, None, record=2, congestion=control(LITERAL))
    bus.add(ONE, None, interest="a = 1", congestion=control(LITERAL))
    publish(bus, 50, 4, 1)
    assert not bus.frames(Feedback)
