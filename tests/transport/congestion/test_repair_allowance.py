"""What recovery may send beside what is controlled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.congestion.repair_allowance import (
    REQUESTS_SHARE,
    RepairAllowance,
    request_allowance,
)
from penstock.transport.congestion.settings import DEFAULT
from penstock.transport.recovery import settings as recovery
from penstock.wire.frames.data import Data, FlowTag
from penstock.wire.frames.repair import Repair
from penstock.wire.limits import FIRST_CONTROLLED_FLOW
from tests import frames
from tests.transport.congestion.scene import Lossy
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, OTHER = 1, 2, 3
CONTROL = replace(DEFAULT, policy="drop-oldest", queue_max=200)


def data(*flows: FlowTag) -> Data:
    return frames.data(1, {"a": 1}, flows=flows)


def test_requests_have_a_twentieth_of_what_comes() -> None:
    requests = request_allowance()
    while requests.try_take(0, 100):
        pass
    asked = 0
    for number in range(1, 1_001):
        requests.deposit(REQUESTS_SHARE * 300)
        asked += requests.try_take(number * 10 * MILLISECOND, 100)
    # 300 kB in ten seconds, and 200 bytes a second in any case.
    assert asked * 100 == pytest.approx(0.05 * 300_000 + 2_000, rel=0.02)


def test_who_gets_nothing_may_still_ask() -> None:
    requests = request_allowance()
    while requests.try_take(0, 100):
        pass
    assert sum(requests.try_take(second * SECOND, 100) for second in range(1, 11)) == 10
    # The clock is set back.
    assert not requests.try_take(0, 2_000)
    assert requests.try_take(SECOND, 100)


def test_a_peers_repairs_have_a_tenth_of_each_flow() -> None:
    repairs = RepairAllowance()
    slow = data(
        FlowTag(FIRST_CONTROLLED_FLOW, 50.0, 7), FlowTag(FIRST_CONTROLLED_FLOW + 1, 200.0, 7)
    )
    times = range(0, 10 * SECOND, 10 * MILLISECOND)
    assert sum(repairs.try_take(slow, now) for now in times) == pytest.approx(50, abs=3)
    # A flow that is only tracked limits nothing.
    assert all(repairs.try_take(data(FlowTag(3, 0.0, 7)), now) for now in times)


@pytest.mark.parametrize("digests", [False, True])
def test_both_together_give_back_what_congestion_loses(digests: bool) -> None:
    """Flows that are controlled and flows that are tracked bear numbers in one header."""
    recovers = replace(recovery.DEFAULT, digests=digests, tracks=True)
    bus = Bus(delay_ns=20 * MILLISECOND, loses=Lossy(0.03, ONE))
    bus.add(PUBLISHER, recovers, record=2, congestion=CONTROL)
    bus.add(ONE, recovers, interest="a = 1", congestion=CONTROL)
    bus.add(OTHER, recovers, interest="a = 2", congestion=CONTROL)
    for number in range(2_000):
        bus.submit(PUBLISHER, a=1 + number % 2)
        bus.run(5 * MILLISECOND)
    bus.run(5 * SECOND)
    sent = [
        frame.seq
        for sender, frame in bus.sent
        if sender == PUBLISHER and isinstance(frame, Data) and frame.message.attributes["a"] == 1
    ]
    frames = [frame for _, frame in bus.sent]
    flows = [flow for frame in frames if isinstance(frame, Data) for flow in frame.flows]
    assert any(flow.quota_mps for flow in flows), "nothing was slowed down"
    assert len(set(sent) - set(bus.delivered_seqs(ONE))) <= 2
    repairs = [frame.original for frame in frames if isinstance(frame, Repair)]
    assert repairs
    assert all(flow.flow_id < FIRST_CONTROLLED_FLOW for each in repairs for flow in each.flows)
