"""Real brokers and clients on simulated hosts: exact delivery, reordering, the same run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Deliver
from penstock.kernel.seeds import Seeds
from penstock.overlay.broker import Broker
from penstock.overlay.client import OverlayClient
from penstock.sim.host import Framing, Host, Outlets, Workers, exponential
from penstock.sim.link_spec import LinkSpec
from penstock.sim.observer import Observer
from penstock.sim.publish_schedule import Constant, departures
from penstock.sim.topic_workload import TopicWorkload
from penstock.sim.topology import tree
from penstock.sim.world import World
from penstock.wire import decode, encode, size_of
from penstock.wire.frames.data import Data
from penstock.wire.frames.packet import Packet
from tests.frames import data

BROKERS = 8
CLIENTS = 24
PUBLISHERS = 4
STABLE = 3 * SECOND
STOP = 13 * SECOND


@dataclass
class Crossings(Observer):
    """How often each message crossed each link between brokers."""

    counts: Counter[tuple[str, int, int]] = field(default_factory=Counter)

    def on_send(self, link: Any, frame: Any, size_bytes: int, *, now: Instant) -> None:
        if isinstance(frame, Packet):
            data = frame.carried.frame
            assert isinstance(data, Data)
            self.counts[link.name, data.pub, data.seq] += 1


@dataclass
class Run:
    """One run: who got what and when, and who should have."""

    got: list[tuple[str, int, int, Instant]]
    expected: list[tuple[str, int, int]]
    crossings: Counter[tuple[str, int, int]]

    def violations(self) -> int:
        """Deliveries after a higher number of the same publisher."""
        highest: dict[tuple[str, int], int] = {}
        late = 0
        for subscriber, publisher, seq, _at in self.got:
            late += seq < highest.get((subscriber, publisher), -1)
            highest[subscriber, publisher] = max(seq, highest.get((subscriber, publisher), -1))
        return late


def simulate(seed: int, *, workers: int | None, codec: bool = False) -> Run:
    seeds = Seeds(seed)
    world: World[Any] = World(
        seeds.child("world"),
        Framing(size_of=size_of, codec=(encode, decode) if codec else None),
    )
    topology = tree(BROKERS, 5, seeds.child("topology"))
    service = None
    if workers is not None:
        service = Workers(count=workers, service_time=exponential(4 * MILLISECOND))
    for number, name in enumerate(topology.nodes, start=1):
        world.add_host(name, broker_numbered(number), workers=service)
    world.connect_all(
        topology,
        LinkSpec(rate_bps=10_000_000, delay_ns=50 * MILLISECOND, jitter_ns=5 * MILLISECOND),
    )
    for edge in topology.edges:
        for one, other in ((edge.one, edge.other), (edge.other, edge.one)):
            world.call_at(0, one, saying("link_up", other, 1))

    got: list[tuple[str, int, int, Instant]] = []

    def take(host: Host[Any, Any], output: Deliver) -> None:
        assert isinstance(output.item, Data)
        got.append((host.name, output.item.pub, output.item.seq, host.now))

    topics = TopicWorkload(hot=8, cold=30, hot_share=0.9, interest_max=0.6)
    interests: dict[str, Predicate] = {}
    for i in range(CLIENTS):
        name, broker = f"c{i}", topology.nodes[i % BROKERS]
        world.add_host(name, client_of(broker), outlets=Outlets(deliver=take))
        world.connect(name, broker, LinkSpec())
        world.call_at(0, name, saying("link_up"))
        interests[name] = topics.interest(seeds.rng("interest", name))
        world.call_at(MILLISECOND, name, saying("subscribe", 1, interests[name]))

    expected = []
    crossings = Crossings()
    world.observe(crossings)
    for publisher in range(PUBLISHERS):
        rng = seeds.rng("publisher", str(publisher))
        times = departures(Constant(60), start=STABLE, stop=STOP, rng=rng)
        for seq, at in enumerate(times):
            message = topics.message(rng)
            frame = data(seq, {}, pub=publisher, message=message)
            world.call_at(at, f"c{publisher}", saying("publish", frame))
            expected += [(n, publisher, seq) for n, p in interests.items() if p.matches(message)]
    world.run(STOP + 5 * SECOND)
    return Run(got, expected, crossings.counts)


def broker_numbered(number: int) -> Callable[[Instant], Broker]:
    return lambda _now: Broker(number, 1, Encoder(b"salt"))


def client_of(broker: str) -> Callable[[Instant], OverlayClient]:
    return lambda _now: OverlayClient(broker, 1)


def saying(verb: str, *arguments: object) -> Callable[[Any, Instant], object]:
    """What a workload says to a machine, when its time has come."""
    return lambda machine, now: getattr(machine, verb)(*arguments, now=now)


@pytest.mark.parametrize("seed", [1, 2])
def test_everybody_gets_what_was_asked_for_once(seed: int) -> None:
    run = simulate(seed, workers=4)
    assert len(run.expected) > 1000
    assert sorted((s, p, n) for s, p, n, _ in run.got) == sorted(run.expected)
    assert set(run.crossings.values()) == {1}


def test_parallel_workers_reorder_and_a_single_path_does_not() -> None:
    assert simulate(1, workers=None).violations() == 0
    assert simulate(1, workers=4).violations() > 0


def test_the_codec_in_the_path_changes_nothing() -> None:
    assert simulate(3, workers=4).got == simulate(3, workers=4, codec=True).got
