"""`start=time` goes by the time of publication, not by ticks, which may run ahead of the clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.log_record import LogRecord
from penstock.guaranteed.pubend.retention import RECORD_BYTES, LogSize
from penstock.guaranteed.settings import BrokerSettings, PubendSettings, Retention
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram
from penstock.wire.frames.guaranteed.base import Start, StartKind

from .asking import Operator
from .line import Line


def read_from(line: Line, name: str, time_ns: int, *, durable: bool = True) -> list[object]:
    reader = ReadingProgram(
        line.network,
        name,
        "s",
        stream="orders",
        durable=name if durable else "",
        start=Start(StartKind.TIME, time_ns),
    )
    line.run(50)
    reader.open()
    line.run(3_000)
    return [*reader.values()]


def test_a_subscription_starts_with_the_first_message_of_a_time() -> None:
    line = Line(31)
    line.publish(10, every_ms=100)
    time_ns = line.network.brokers["p"].wall_ns
    line.publish(10, every_ms=100)
    assert read_from(line, "durable", time_ns) == [*range(10, 20)]
    assert read_from(line, "other", time_ns, durable=False) == [*range(10, 20)]
    assert read_from(line, "first", 1) == [*range(20)]
    assert read_from(line, "future", time_ns + 3600 * SECOND) == []
    line.publish(1)
    assert read_from(line, "between", time_ns + 500 * MILLISECOND)[0] in (15, 16)


def test_ticks_that_run_ahead_of_the_clock_do_not_matter() -> None:
    """The clock was an hour ahead in an earlier life, and so is stream time ever since."""
    line = Line(32)
    broker = line.network.brokers["p"]
    broker.wall_offset_ns += 3600 * SECOND
    line.network.crash("p")
    line.network.restart("p")
    line.connect()
    line.run(500)
    broker.wall_offset_ns -= 3600 * SECOND
    line.network.crash("p")
    line.network.restart("p")
    line.connect()
    line.run(500)
    line.publish(10, every_ms=100)
    time_ns = broker.wall_ns
    line.publish(10, every_ms=100)
    assert read_from(line, "r", time_ns) == [*range(10, 20)]
    line.network.crash("p")
    line.network.restart("p")
    line.connect()
    line.run(500)
    assert read_from(line, "again", time_ns) == [*range(10, 20)]


def test_a_name_is_moved_to_a_time() -> None:
    settings = BrokerSettings(pubend=PubendSettings(repair_slice_bytes=100))
    line = Line(33, settings)
    reader = line.reader("r")
    line.publish(30, every_ms=20)
    time_ns = line.network.brokers["p"].wall_ns
    line.publish(30, every_ms=20)
    operator = Operator(line.network, "s")
    assert operator.ask("seek", durable="r", start="time", value=time_ns) == {}
    line.run(2_000)
    assert reader.values() == [*range(30, 60)]
    assert line.is_idle


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 300)), max_size=40), st.integers(0, 60)
)
def test_the_tick_that_memory_knows_is_never_too_late(
    messages: list[tuple[int, int]], time_ns: int
) -> None:
    """Published at any times, in any order."""
    size = LogSize(Retention(size_bytes=16 * 4 * RECORD_BYTES))
    for tick, (published_ns, body_bytes) in enumerate(messages, start=1):
        size.add([LogRecord(tick, published_ns, "p", tick, bytes(body_bytes))])
    wanted = [tick for tick, (at, _) in enumerate(messages, start=1) if at >= time_ns]
    assert size.last_before(time_ns) < min(wanted, default=len(messages) + 1)
