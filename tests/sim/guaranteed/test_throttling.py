"""Publishers that are slowed down wait in turn, and lose nothing."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.guaranteed.broker import Broker
from penstock.kernel.instant import SECOND, Instant
from penstock.sim.guaranteed.application import Writer
from penstock.wire.frames.guaranteed.congestion import CongestionReport, Progress

from .asking import Operator
from .line import PUBEND, Line

# What the host of the line says by itself answers earlier queries.
LATER = 1 << 62


def slow_down(line: Line, *, seq: int = LATER) -> None:
    """A host says that it lags: publishers get the least that they ever get."""
    slow = Progress(host="slow", start=0, stop=1, elapsed_ns=SECOND, over_lag_ns=5 * SECOND)
    report = CongestionReport(pubend=PUBEND, seq=seq, normal=slow)

    def tell(broker: Broker, now: Instant) -> None:
        broker.pubends[PUBEND].throttle.on_report(report, now=now)

    line.network.brokers["p"].call(tell)


def test_what_waits_is_taken_in_turn_and_confirmed_in_the_end() -> None:
    line = Line(50)
    reader = line.reader("r", window=1_000)
    others = [Writer(line.network, f"writer {at}", "p") for at in range(2)]
    line.run(100)
    line.publish(100, every_ms=10)
    slow_down(line)
    throttle = line.network.brokers["p"].machine.pubends[PUBEND].throttle
    assert throttle.rate == 25
    for number in range(20):
        line.publish(1, every_ms=0)
        for other in others:
            other.publish("orders", {"n": 1_000 + number, "k": 0})
    line.run(1_000)
    waiting = [writer.unconfirmed for writer in (line.writer, *others)]
    assert all(10 <= each <= 13 for each in waiting)
    assert not line.network.brokers["p"].machine.is_idle
    line.run(10_000)
    assert not any(writer.unconfirmed for writer in (line.writer, *others))
    assert len(reader.values()) == 160
    assert line.is_idle


def test_a_client_that_breaks_off_while_it_waits_has_everything_stored_once() -> None:
    line = Line(51)
    reader = line.reader("r", window=1_000)
    line.publish(100, every_ms=10)
    slow_down(line)
    line.publish(50, every_ms=0)
    line.run(200)
    line.writer.client.disconnect()
    line.run(500)
    line.writer.client.connect()
    line.run(10_000)
    assert reader.values() == [*range(150)]
    assert line.is_idle


def test_what_waits_when_its_stream_is_deleted_is_refused() -> None:
    line = Line(52)
    line.publish(100, every_ms=10)
    slow_down(line)
    line.publish(50, every_ms=0)
    line.run(100)
    line.network.brokers["p"].recreate("orders")
    line.run(5_000)
    assert not line.writer.unconfirmed
    assert len(line.writer.refused) > 30


def of_stream(operator: Operator) -> dict[str, Any]:
    """What `list` says of the one stream."""
    (stream,) = operator.ask("list")["streams"]
    found: dict[str, Any] = stream
    return found


def test_status_says_who_slows_publishers_down_and_by_how_much() -> None:
    line = Line(53)
    at_p, at_s = Operator(line.network, "p"), Operator(line.network, "s")
    line.reader("r", window=1_000)
    line.publish(100, every_ms=10)
    (before,) = of_stream(at_p)["throttles"]
    assert before["throttled_seconds"] == 0
    assert before["limited_by"] is before["rate_limit_per_second"] is None
    slow_down(line)
    line.publish(100, every_ms=0)
    line.run(1_000)
    (during,) = of_stream(at_p)["throttles"]
    assert during["pubend"] == f"{PUBEND:016x}"
    assert during["limited_by"] == "slow"
    # The publisher is new: what it wants is a mean over the time that it has been there.
    assert during["rate_limit_per_second"] == pytest.approx(25, rel=0.2)
    assert during["demand_per_second"] == pytest.approx(100, rel=0.2)
    assert 1 <= during["throttled_seconds"] < 2
    # What others read is theirs to tell, and who publishes is not.
    assert of_stream(at_s)["throttles"] == []
    assert of_stream(at_p)["readings"] == []


def test_status_of_a_host_says_that_it_recovers_and_how_fast() -> None:
    line = Line(54)
    line.reader("r", window=1_000)
    operator = Operator(line.network, "s")

    def reading() -> dict[str, Any]:
        (found,) = of_stream(operator)["readings"]
        return dict(found)

    line.publish(50, every_ms=20)
    keeps_up = reading()
    assert (keeps_up["pubend"], keeps_up["is_recovering"]) == (f"{PUBEND:016x}", False)
    assert 0.9 <= keeps_up["doubt_horizon_rate"] <= 1.1
    line.network.cut("s", "i")
    line.publish(750, every_ms=20)
    # It does not know yet how far it is behind, and nothing can come.
    assert reading() == {**keeps_up, "doubt_horizon_rate": None}
    line.network.set_rate("s", "i", 8 * 10_000)
    line.network.connect("s", "i")
    line.run(3_000)
    recovering = reading()
    assert recovering["is_recovering"]
    assert recovering["doubt_horizon_rate"] > 1
    line.run(20_000)
    assert not reading()["is_recovering"]
