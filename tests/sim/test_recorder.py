"""What a recorder makes of a run: every table, in terms of global time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.broker_network import BrokerNetwork
from penstock.sim.faults import LinkDown
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import ListedLosses
from penstock.sim.observer import Observer
from penstock.sim.publishing_app import EndpointPublishingApp, PublishingApp
from penstock.sim.recorder import Recorder
from penstock.sim.topology import Edge, Topology
from penstock.trace.records import (
    Arrival,
    Delivery,
    Drop,
    Expected,
    Hop,
    LinkSample,
    Loss,
    Publication,
    QueueSample,
    Run,
)
from penstock.trace.schema import TABLES
from penstock.tracefile.reader import TraceReader
from penstock.tracefile.retention import Recording
from penstock.transport.settings import OFF, EndpointSettings, RecordSettings, constant

LATCH = 30 * MILLISECOND
TWO_BROKERS = Topology(("B1", "B2"), (Edge("B1", "B2"),))
SLOW = LinkSpec(rate_bps=1_000_000, delay_ns=10 * MILLISECOND)
RUN = Run(
    experiment="t", profile="quick", variant="off", seed=1, parameters="{}",
    duration_ns=SECOND, code_version="0",
)  # fmt: skip
# Published at 3.0, 3.1, … s.
DEPARTURES = [3 * SECOND + i * 100 * MILLISECOND for i in range(10)]


def two_brokers(
    recording: Recording, *, sample_every_ns: int | None = None
) -> tuple[Recorder, BrokerNetwork]:
    """B1-B2, recorded; the link between them fails from 3.45 to 3.55 s."""
    recorder = Recorder(recording)
    network = BrokerNetwork(
        Seeds(1),
        TWO_BROKERS,
        SLOW,
        outlets=recorder.outlets,
        records_decisions=recorder.records_decisions,
    )
    recorder.attach(network, sample_every_ns=sample_every_ns)
    down = LinkDown(start=3450 * MILLISECOND, stop=3550 * MILLISECOND, one="B1", other="B2")
    down.apply(network.world)
    return recorder, network


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> TraceReader:
    """B1-B2: `near` and `far` want everything, `picky` nothing; the link fails for a while."""
    place: Path = tmp_path_factory.mktemp("traces")
    with Recording("r", keep=place) as recording:
        recorder, network = two_brokers(recording, sample_every_ns=SECOND)
        wishes = {"near": ("B1", "n >= 0"), "far": ("B2", "n >= 0"), "picky": ("B2", "n < 0")}
        for name, (broker, text) in wishes.items():
            network.add_client(name, broker)
            network.subscribe(name, parse(text))
            recorder.add_subscriber(name, parse(text))
        writer = network.add_client("writer", "B1")
        recorder.add_name("writer", 7)
        numbers = iter(range(10))
        PublishingApp(
            network.world,
            writer,
            7,
            iter(DEPARTURES),
            lambda: Message({"n": next(numbers)}),
            on_published=recorder.on_published,
        )
        network.world.run(5 * SECOND)
        recording.finish(RUN)
    return TraceReader(place)


def rows(trace: TraceReader, record: Any) -> list[Any]:
    return list(trace.records(record, "r"))


def test_publications_and_who_was_expected(trace: TraceReader) -> None:
    published = rows(trace, Publication)
    assert [row.published_ns for row in published] == DEPARTURES
    assert [row.seq for row in published] == list(range(10))
    expected = rows(trace, Expected)
    assert [(row.seq, row.subscriber) for row in expected[:4]] == [
        (0, "near"), (0, "far"), (1, "near"), (1, "far"),
    ]  # fmt: skip
    assert expected[2].published_ns == DEPARTURES[1]


def test_arrivals_have_delays_and_distances(trace: TraceReader) -> None:
    arrivals = rows(trace, Arrival)
    near = [row for row in arrivals if row.subscriber == "near"]
    far = [row for row in arrivals if row.subscriber == "far"]
    assert [row.seq for row in near] == list(range(10))
    assert {row.brokers for row in near} == {1}
    assert {row.arrived_ns - row.published_ns for row in near} == {0}
    # The link was down when number 5 was sent.
    assert [row.seq for row in far] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert {row.brokers for row in far} == {2}
    assert all(row.arrived_ns - row.published_ns > 10 * MILLISECOND for row in far)
    deliveries = rows(trace, Delivery)
    assert [(d.subscriber, d.seq) for d in deliveries] == [(a.subscriber, a.seq) for a in arrivals]
    assert {row.ordering for row in deliveries} == {"off"}


def test_drops_say_which_message_it_was(trace: TraceReader) -> None:
    lost = [row for row in rows(trace, Drop) if row.traffic_class == "data"]
    assert [(row.where, row.reason, row.publisher, row.seq) for row in lost] == [
        ("B1-B2", "down", "writer", 5)
    ]
    assert lost[0].packet_origin == 1


def test_hops_tell_what_brokers_decided(trace: TraceReader) -> None:
    of_first = [row for row in rows(trace, Hop) if row.seq == 0]
    assert [(row.broker, row.decision, row.towards) for row in of_first] == [
        ("B1", "entered", None),
        ("B1", "handed_over", "near"),
        ("B1", "forwarded", "B2"),
        ("B2", "handed_over", "far"),
    ]


def test_samples_are_of_the_time_since_the_one_before(trace: TraceReader) -> None:
    samples = [row for row in rows(trace, LinkSample) if row.link == "B1-B2"]
    assert [row.sampled_ns for row in samples] == [i * SECOND for i in range(1, 6)]
    # In the fourth second there are messages, in the third and the fifth only HELLOs and the like.
    assert samples[3].sent_bytes > 3 * max(samples[2].sent_bytes, samples[4].sent_bytes)
    assert samples[3].down_packets >= 1
    assert samples[2].down_packets == 0
    assert {row.capacity_bps for row in samples} == {1_000_000}
    # Access links have no limit: there is nothing to be seen of them.
    assert {row.queue for row in rows(trace, QueueSample)} == {"B1-B2", "B2-B1"}


def test_a_recorder_hears_drops_and_slows_nothing_else() -> None:
    class Ear(Observer):
        drops_only = True

        def __init__(self) -> None:
            self.heard: list[str] = []

        def on_send(self, *_: object, **__: object) -> None:
            self.heard.append("send")

        def on_drop(self, *told: Any, **_: object) -> None:
            self.heard.append(told[2])

    network = BrokerNetwork(
        Seeds(1),
        TWO_BROKERS,
        LinkSpec(delay_ns=MILLISECOND, loss=ListedLosses(frozenset({0}))),
    )
    ear = Ear()
    network.world.observe(ear)
    network.world.run(SECOND)
    assert ear.heard == ["loss", "loss"]


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> TraceReader:
    """B1-B2: two orderings on `far`, whose clock is ahead; the link loses one message."""
    place: Path = tmp_path_factory.mktemp("ordered")
    with Recording("r", keep=place) as recording:
        recorder, network = two_brokers(recording)
        settings = EndpointSettings(record=RecordSettings(size=4))
        hosts = {
            name: network.add_endpoint(
                name, broker, publisher=number, settings=settings, on_arrived=recorder.on_arrived
            )
            for number, (name, broker) in enumerate({"writer": "B1", "far": "B2"}.items(), start=1)
        }
        hosts["far"].step_clock(SECOND)
        wish = parse('kind = "tick"')
        waits = constant(LATCH, record_used=4)
        network.subscribe_endpoint("far", wish, {"off": OFF, "waits": waits})
        recorder.add_subscriber("far", wish)
        recorder.add_name("writer", 1)
        numbers = iter(range(10))
        EndpointPublishingApp(
            network.world,
            hosts["writer"],
            iter(DEPARTURES),
            lambda: Message({"kind": "tick", "n": next(numbers)}),
            on_published=recorder.on_published,
        )
        network.world.run(8 * SECOND)
        network.close_endpoints()
        recording.finish(RUN)
    return TraceReader(place)


def test_arrivals_are_heard_below_the_transport_once(ordered: TraceReader) -> None:
    arrivals = rows(ordered, Arrival)
    assert [row.seq for row in arrivals] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert {row.subscriber for row in arrivals} == {"far"}
    assert all(10 < (a.arrived_ns - a.published_ns) / MILLISECOND < 15 for a in arrivals)
    assert [row.epoch for row in rows(ordered, Publication)] == [0] * 10


def test_every_ordering_has_its_deliveries_in_global_time(ordered: TraceReader) -> None:
    arrived = {row.seq: row.arrived_ns for row in rows(ordered, Arrival)}
    deliveries = rows(ordered, Delivery)
    assert [d.seq for d in deliveries if d.ordering == "off"] == list(arrived)
    assert [d.seq for d in deliveries if d.ordering == "waits"] == list(arrived)
    for row in deliveries:
        # 6 is the one that tells of 5.
        waits = row.ordering == "waits" and row.seq == 6
        assert row.arrived_ns == arrived[row.seq]
        assert row.delivered_ns - row.arrived_ns == (LATCH if waits else 0)
        assert row.latch_ns == (LATCH if waits else None)
        assert row.fate == "delivered"


def test_a_missing_number_has_its_whole_life_recorded(ordered: TraceReader) -> None:
    arrived = {row.seq: row.arrived_ns for row in rows(ordered, Arrival)}
    (loss,) = rows(ordered, Loss)
    assert (loss.ordering, loss.publisher, loss.seq) == ("waits", "writer", 5)
    assert (loss.found_by, loss.state, loss.resolution) == ("record", "lost", "given_up")
    assert arrived[6] == loss.detected_ns < loss.lost_ns < loss.resolved_ns == 8 * SECOND


def test_an_endpoint_asks_again_after_a_restart() -> None:
    network = BrokerNetwork(Seeds(1), Topology(("B1",), ()), SLOW)
    settings = EndpointSettings()
    host = network.add_endpoint("far", "B1", publisher=1, settings=settings)
    network.subscribe_endpoint("far", parse("n = 1"), {"off": OFF, "waits": constant(LATCH)})
    before = dict(network.orderings["far"])
    network.world.run(SECOND)
    host.crash()
    host.restart()
    assert network.orderings["far"] == before == {1: "off", 2: "waits"}
    network.world.run(3 * SECOND)
    frame = host.machine.publish(Message({"n": 1}), now=host.now)
    assert (frame.epoch, frame.seq) == (1, 0)


def test_what_nobody_wants_recorded_is_not() -> None:
    tables = [TABLES[name] for name in ("publications", "arrivals")]
    with Recording("r", keep=None, tables=tables) as recording:
        recorder = Recorder(recording)
        network = BrokerNetwork(
            Seeds(1),
            Topology(("B1",), ()),
            SLOW,
            outlets=recorder.outlets,
            records_decisions=recorder.records_decisions,
        )
        recorder.attach(network, sample_every_ns=SECOND)
        writer = network.add_client("writer", "B1")
        network.add_client("near", "B1")
        network.subscribe("near", parse("n = 1"))
        recorder.add_subscriber("near", parse("n = 1"))
        recorder.add_name("writer", 7)
        PublishingApp(
            network.world,
            writer,
            7,
            iter(DEPARTURES),
            lambda: Message({"n": 1}),
            on_published=recorder.on_published,
        )
        network.world.run(5 * SECOND)
        recording.finish(RUN)
