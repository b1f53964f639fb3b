"""Samples of a network: what happened since the sample before, and how things stand."""

from __future__ import annotations

import pytest

from penstock.guaranteed.settings import BrokerSettings, CongestionSettings, HostSettings
from penstock.kernel.instant import SECOND
from penstock.sim.guaranteed.crossings import CrossingCounter
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.samples import StreamSampler
from penstock.sim.guaranteed.steady_programs import (
    KINDS,
    PromptReader,
    SteadyWriter,
    WantedKinds,
    bodies_of,
)
from penstock.trace.records import CrossingSample, LinkSample, QueueSample, Row, StreamSample


class Rows(list[Row]):
    """Collects everything."""

    def add(self, row: Row) -> None:
        self.append(row)

    def collects(self, record: type[Row]) -> bool:
        return True


class Pair:
    """A pubend and a host of it, which are sampled each second."""

    def __init__(self, settings: BrokerSettings | None = None) -> None:
        self.network = network = StreamNetwork(3, settings=settings, link_window_bytes=1_000)
        network.add_broker("PB", streams={1: "one"})
        network.add_broker("SB", parents=1)
        network.connect("SB", "PB")
        self.rows, crossings = Rows(), CrossingCounter(network.brokers)
        network.watchers.append(crossings)
        self.writer = SteadyWriter(
            network, "w", "PB", stream="one", bodies=bodies_of(345), rate=100, spread=0,
            rng=network.seeds.rng("w"),
        )  # fmt: skip
        network.run(SECOND // 4)
        reader = PromptReader(network, "r", "SB", streams=("one",), wanted=WantedKinds(KINDS))
        reader.open()
        network.run(SECOND // 4)
        StreamSampler(
            network,
            self.rows,
            pubends={1: "one"},
            writers={1: self.writer},
            readers={"SB": reader},
            crossings=crossings,
        ).start(SECOND)
        self.writer.start(network.events.now, until=1_000 * SECOND)

    def run(self, seconds: int) -> list[Row]:
        """The rows of these seconds."""
        self.rows.clear()
        self.network.run(seconds * SECOND)
        return [*self.rows]


def of_host(rows: list[Row]) -> list[StreamSample]:
    return [row for row in rows if isinstance(row, StreamSample) and row.broker == "SB"]


def test_counts_are_since_the_sample_before() -> None:
    pair = Pair()
    pair.run(1)
    rows = pair.run(3)
    stored = [row for row in rows if isinstance(row, StreamSample) and row.broker == "PB"]
    assert [row.published_messages for row in stored] == pytest.approx([100] * 3, abs=1)
    assert [row.behind_ns for row in stored] == [None] * 3
    counts = [(row.wanted_messages, row.delivered_messages) for row in of_host(rows)]
    assert counts == [pytest.approx((100, 100), abs=1)] * 3
    assert all(0 < (row.behind_ns or 0) < SECOND // 10 for row in of_host(rows))
    assert not any(row.is_recovering for row in of_host(rows))
    assert [row.demanded_messages for row in stored] == pytest.approx([100] * 3, abs=1)
    assert {row.demanded_messages for row in of_host(rows)} == {None}
    assert [row.doubt_rate for row in of_host(rows)] == pytest.approx([1] * 3, abs=0.02)
    assert {row.doubt_rate for row in stored} == {row.rate_limit_mps for row in stored} == {None}
    crossings = [row for row in rows if isinstance(row, CrossingSample)]
    assert [row.first_messages for row in crossings] == pytest.approx([100] * 3, abs=1)
    assert {row.link for row in crossings} == {"PB-SB"}
    assert [row.necessary_bytes for row in crossings] == pytest.approx([34_500] * 3, abs=400)


def test_a_limited_link_shows_in_its_samples_and_its_queue() -> None:
    pair = Pair(BrokerSettings(congestion=CongestionSettings(rate_law="off")))
    pair.run(1)
    pair.network.set_rate("SB", "PB", 50 * 345 * 8)
    rows = pair.run(2)
    links = [row for row in rows if isinstance(row, LinkSample) and row.link == "PB-SB"]
    assert [row.capacity_bps for row in links] == [50 * 345 * 8] * 2
    assert all(48 * 345 < row.sent_bytes < 54 * 345 for row in links)
    queues = [row for row in rows if isinstance(row, QueueSample) and row.queue == "PB-SB"]
    assert 40 * 345 < queues[0].held_bytes < queues[1].held_bytes
    assert all((row.peak_bytes or 0) >= row.held_bytes for row in queues)
    assert sum(row.delivered_messages for row in of_host(rows)) < 110


def test_a_link_that_was_cut_has_an_empty_queue_and_goes_on_counting() -> None:
    pair = Pair()
    pair.run(1)
    pair.network.cut("SB", "PB")
    rows = pair.run(2)
    links = [row for row in rows if isinstance(row, LinkSample) and row.link == "PB-SB"]
    assert [row.sent_bytes for row in links] == [0, 0]
    # Each second the doubt horizon is a second further behind.
    first, second = (row.behind_ns or 0 for row in of_host(rows))
    assert second - first == SECOND
    pair.network.connect("SB", "PB")
    rows = pair.run(2)
    assert sum(row.delivered_messages for row in of_host(rows)) > 300


def test_a_host_that_is_further_behind_than_it_can_keep_recovers_until_it_is_near() -> None:
    pair = Pair(BrokerSettings(host=HostSettings(receive_window_ns=SECOND)))
    pair.run(1)
    pair.network.cut("SB", "PB")
    pair.run(4)
    pair.network.set_rate("SB", "PB", 200 * 345 * 8)
    pair.network.connect("SB", "PB")
    states = [row.is_recovering for row in of_host(pair.run(20))]
    assert states[0]
    assert not states[-1]
    # Once, without a break.
    assert states == sorted(states, reverse=True)


def test_a_publisher_that_is_slowed_down_shows_its_limit_and_what_it_wants() -> None:
    congestion = CongestionSettings(rate_law="model", window_law="vegas")
    pair = Pair(BrokerSettings(congestion=congestion))
    pair.run(1)
    pair.network.set_rate("SB", "PB", 50 * 345 * 8)
    rows = pair.run(20)
    stored = [row for row in rows if isinstance(row, StreamSample) and row.broker == "PB"][10:]
    assert [row.rate_limit_mps for row in stored] == pytest.approx([50] * 10, rel=0.4)
    assert sum(row.demanded_messages or 0 for row in stored) == pytest.approx(1_000, abs=2)
    assert sum(row.published_messages for row in stored) == pytest.approx(500, rel=0.15)
