"""Publishers that are slowed down wait in turn, and lose nothing."""

from __future__ import annotations

from penstock.guaranteed.broker import Broker
from penstock.kernel.instant import SECOND, Instant
from penstock.sim.guaranteed.application import Writer
from penstock.wire.frames.guaranteed.congestion import CongestionReport, Progress

from .line import PUBEND, Line

# What the host of the line says by itself answers earlier queries.
LATER = 1 << 32


def slow_down(line: Line, *, seq: int = LATER) -> None:
    """A host says that it lags: publishers get the least that they ever get."""
    slow = Progress(host="h", start=0, stop=1, elapsed_ns=SECOND, over_lag_ns=5 * SECOND)
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
