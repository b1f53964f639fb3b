"""A host that was away for longer than its receive window: what it asks for, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.syntax import parse
from penstock.guaranteed.settings import BrokerSettings, CongestionSettings
from penstock.sim.guaranteed.watcher import NetworkWatcher
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.congestion import CongestionReport
from penstock.wire.frames.guaranteed.knowledge import Data
from penstock.wire.frames.guaranteed.requests import Nack

from .line import PUBEND, Line

OUTAGE_MS = 15_000


class Frames(NetworkWatcher):
    """All that leaves one broker."""

    def __init__(self, broker: str) -> None:
        self.sent: Final[list[BrokerFrame]] = []
        self._broker: Final = broker

    def on_frame(self, sender: str, frame: BrokerFrame) -> None:
        """Keeps it."""
        if sender == self._broker:
            self.sent.append(frame)

    def count(self, kind: type[Data | Nack], wanted: Callable[[Data | Nack], bool]) -> int:
        return sum(isinstance(frame, kind) and wanted(frame) for frame in self.sent)


def away(line: Line) -> None:
    """Messages are published while the link of the host is cut."""
    line.publish(50, every_ms=20)
    line.network.cut("s", "i")
    line.publish(OUTAGE_MS // 20, every_ms=20)
    line.network.connect("s", "i")


def test_what_was_missed_comes_once_through_the_hosts_own_filters() -> None:
    line = Line(60)
    everything = line.reader("t", "i", window=1_000)
    reader = line.reader("r", predicate=parse("k = 1"), window=1_000)
    asked, said = Frames("s"), Frames("i")
    away(line)
    line.network.watchers.extend([asked, said])
    reading = line.network.brokers["s"].machine.host.readings[PUBEND]
    recovering = []
    for duration_ms in (15, 3_000):
        line.run(duration_ms)
        recovering.append(reading.is_recovering)
    assert recovering == [True, False]
    assert reading.window_ms == 100
    assert reading.repeated == 0
    assert reader.values() == [*range(1, line.published, 4)]
    assert len(everything.values()) == line.published
    missed = OUTAGE_MS // 20 // 4
    in_its_name = said.count(Data, lambda frame: frame.reader is not None)
    assert missed - 5 <= in_its_name <= missed + 1
    assert asked.count(Nack, lambda frame: frame.reader is not None) > 5
    assert line.is_idle


def test_it_says_that_it_recovers_as_soon_as_it_knows() -> None:
    """A query may overtake the data: what was not got while the link was down is no congestion."""
    line = Line(61)
    line.reader("r", window=1_000)
    away(line)
    reports = Frames("s")
    line.network.watchers.append(reports)
    line.run(3_000)
    said = [frame for frame in reports.sent if isinstance(frame, CongestionReport)]
    lags_ns = [frame.normal.over_lag_ns for frame in said if frame.normal is not None]
    assert lags_ns
    assert max(lags_ns) < 500_000_000
    assert line.network.brokers["p"].machine.pubends[PUBEND].throttle.rate is None


def test_every_law_recovers() -> None:
    for congestion in (
        CongestionSettings(rate_law="off", window_law="none"),
        CongestionSettings(rate_law="corrected", window_law="vegas"),
        CongestionSettings(rate_law="literal", window_law="literal"),
        CongestionSettings(window_law="fixed", live=False, filtered_repair=False),
    ):
        line = Line(62, BrokerSettings(congestion=congestion))
        reader = line.reader("r", window=1_000)
        away(line)
        line.run(60_000)
        assert reader.values() == [*range(line.published)]
        assert line.is_idle


def test_a_host_that_was_down_for_long_recovers_as_one_that_was_cut_off() -> None:
    """Its readers connect again one after the other; what they have missed is asked for once."""
    line = Line(63)
    readers = [line.reader(f"r{number}", window=1_000) for number in range(2)]
    line.publish(50, every_ms=20)
    line.network.crash("s")
    line.publish(OUTAGE_MS // 20, every_ms=20)
    line.network.restart("s")
    said = Frames("i")
    line.network.watchers.append(said)
    line.network.connect("s", "i")
    for reader in readers:
        line.run(1_200)
        reader.client.connect()
    reading = line.network.brokers["s"].machine.host.readings[PUBEND]
    seen = []
    for duration_ms in (100, 5_000):
        line.run(duration_ms)
        seen.append((reading.is_recovering, reading.catch_up_readers))
    assert seen == [(True, 0), (False, 0)]
    assert [reader.values() for reader in readers] == 2 * [[*range(line.published)]]
    assert reading.repeated == 0
    missed = OUTAGE_MS // 20
    assert missed <= said.count(Data, lambda _frame: True) <= missed + 10
    assert line.is_idle


def test_a_host_that_ended_before_it_had_read_anything_does_not_begin_in_1970() -> None:
    """Found by the swarm: it would go through all that silence, a window at a time."""
    line = Line(64, BrokerSettings(congestion=CongestionSettings(filtered_repair=False)))
    reader = line.reader("r", window=1_000, opens_for_ms=60)
    line.network.crash("s")
    line.publish(50)
    line.network.restart("s")
    line.connect()
    line.run(5_000)
    assert reader.values() == [*range(50)]
    assert line.is_idle
