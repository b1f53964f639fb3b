"""Publishers and receivers together: how fast it gets, and whom it slows down."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.content.syntax import parse
from penstock.content.syntax.writer import format_filter
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.congestion.receiver.session import SessionState
from penstock.transport.congestion.settings import DEFAULT
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback
from tests.transport.congestion.scene import (
    ONE,
    OTHER,
    PUBLISHER,
    Lossy,
    Upstream,
    bus_of,
    fair_rate,
    publish,
    received,
)
from tests.transport.recovery.bus import Bus

CONTROL = replace(DEFAULT, policy="drop-oldest", queue_max=50)


@pytest.mark.parametrize(("loss", "delay_ms"), [(0.01, 50), (0.03, 25), (0.05, 100)])
def test_in_the_long_run_it_gets_what_a_connection_would(loss: float, delay_ms: int) -> None:
    bus = bus_of(CONTROL, "a = 1", delay_ms=delay_ms, loses=Lossy(loss, ONE))
    publish(bus, 250, 20, 1)
    rate = received(bus, lambda: publish(bus, 250, 80, 1))[ONE, 1] / 80
    assert rate == pytest.approx(fair_rate(loss, 2 * delay_ms / 1_000), rel=0.2)


@pytest.mark.parametrize(("kinds", "loss"), [(10, 0.02), (20, 0.05)])
def test_who_wants_less_than_a_connection_would_get_is_not_slowed_down(
    kinds: int, loss: float
) -> None:
    """Of so many kinds it wants one: records tell it of a fifth of its losses, or a tenth."""
    bus = bus_of(CONTROL, "a = 1", delay_ms=50, loses=Lossy(loss, ONE))
    offered = Random(1).choices(range(kinds), k=60 * 250)
    for kind in offered:
        bus.submit(PUBLISHER, a=kind)
        bus.run(4 * MILLISECOND)
    assert len(bus.deliveries[ONE]) > 0.95 * (1 - loss) * offered.count(1)
    reports = [each for each in bus.frames(Feedback) if isinstance(each, Feedback)]
    asked = [request.quota_mps for report in reports for request in report.requests]
    assert min(asked, default=250) > 0.6 * 250 / kinds


def test_who_gets_something_else_keeps_its_rate() -> None:
    bus = bus_of(CONTROL, "a = 1", "a = 2", delay_ms=50, loses=Lossy(0.05, ONE))
    publish(bus, 200, 10, 1, 2)
    got = received(bus, lambda: publish(bus, 200, 10, 1, 2))
    assert got[ONE, 1] < 0.4 * 2_000
    assert got[OTHER, 2] > 0.95 * 2_000


def test_who_gets_the_same_is_slowed_down_with_it() -> None:
    bus = bus_of(CONTROL, "a = 1", "a >= 1", delay_ms=50, loses=Lossy(0.05, ONE))
    publish(bus, 200, 10, 1, 2)
    got = received(bus, lambda: publish(bus, 200, 10, 1, 2))
    assert got[OTHER, 1] < 0.4 * 2_000
    assert got[OTHER, 2] > 0.95 * 2_000


def test_where_nothing_is_lost_nothing_is_said() -> None:
    bus = Bus(delay_ns=20 * MILLISECOND)
    bus.add(PUBLISHER, None, congestion=CONTROL)
    bus.add(ONE, None, interest="a = 1", congestion=CONTROL)
    publish(bus, 100, 20, 1)
    assert not bus.frames(Feedback)
    assert len(bus.frames(EchoRequest)) <= 5
    # It began at a hundred a second, and waited for nothing.
    assert len(bus.deliveries[ONE]) >= 1_990
    assert not bus.endpoints[PUBLISHER].congestion.controlled_flows  # type: ignore[union-attr]


def test_the_states_of_a_session() -> None:
    lossy = Lossy(0.0, ONE)
    bus = Bus(delay_ns=20 * MILLISECOND, loses=lossy)
    bus.add(PUBLISHER, None, congestion=CONTROL)
    bus.add(ONE, None, interest="a = 1", congestion=CONTROL)
    congestion = bus.endpoints[ONE].congestion
    assert congestion is not None
    publish(bus, 50, 0.06, 1)
    assert [session.state for session in congestion.sessions] == [SessionState.JOIN]
    publish(bus, 50, 1, 1)
    (session,) = congestion.sessions

    def state() -> SessionState:
        return session.state

    assert state() is SessionState.SLOWSTART
    assert session.rtt.mean_ns == pytest.approx(40 * MILLISECOND, rel=0.01)
    lossy.share = 0.2
    publish(bus, 50, 2, 1)
    assert state() is SessionState.CONTROL
    said = len(bus.frames(Feedback))
    assert said > 0
    bus.run(30 * SECOND)
    assert state() is SessionState.IDLE
    quiet = len(bus.frames(Feedback))
    bus.run(30 * SECOND)
    assert len(bus.frames(Feedback)) == quiet
    lossy.share = 0.0
    publish(bus, 50, 1, 1)
    assert state() is SessionState.SLOWSTART


def test_of_many_who_lose_the_same_few_speak() -> None:
    bus = Bus(delay_ns=20 * MILLISECOND, loses=Upstream(0.02))
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    for me in range(10, 110):
        bus.add(me, None, interest="a = 1", congestion=CONTROL)
    publish(bus, 100, 10, 1)
    said = bus.frames(Feedback)
    # A hundred receivers in ten seconds, each of which could speak 25 times a second.
    assert 0 < len(said) < 10 * 40
    assert len(bus.endpoints[PUBLISHER].congestion.controlled_flows) == 1  # type: ignore[union-attr]


def test_who_leaves_does_not_hold_up_the_others() -> None:
    bus = Bus(delay_ns=20 * MILLISECOND, loses=Lossy(0.1, ONE))
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    one = bus.add(ONE, None, congestion=CONTROL)
    bus.add(OTHER, None, interest="a >= 1", congestion=CONTROL)
    number = one.subscribe(parse("a = 1"), now=bus.now)
    assert received(bus, lambda: publish(bus, 200, 10, 1))[OTHER, 1] < 0.6 * 2_000
    one.unsubscribe(number, now=bus.now)
    publish(bus, 200, 4, 1)
    assert received(bus, lambda: publish(bus, 200, 4, 1))[OTHER, 1] > 0.95 * 800


def test_as_many_filters_as_one_likes_are_told_of_in_frames_that_fit() -> None:
    bus = Bus(delay_ns=30 * MILLISECOND, loses=Lossy(0.2, ONE))
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    long = " and ".join(f"exists another_attribute_of_{i}" for i in range(6))
    interest = " or ".join(f"(a = {value} and {long})" for value in range(30))
    bus.add(ONE, None, interest=interest, congestion=CONTROL)
    others = {f"another_attribute_of_{i}": i for i in range(6)}
    for number in range(1_500):
        bus.submit(PUBLISHER, a=number % 30, **others)
        bus.run(2 * MILLISECOND)
    told = [frame for frame in bus.frames(Feedback) if isinstance(frame, Feedback)]
    # The bus writes all of them, which none could be that is too large.
    assert max(len(frame.requests) for frame in told) < 30
    asked = {format_filter(each.filter) for frame in told for each in frame.requests if each.filter}
    assert len(asked) == 30
