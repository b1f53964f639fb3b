"""Congestion control of casts: the rate follows the receiver that bears least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from random import Random
from statistics import fmean
from typing import Any

import pytest

from penstock.bloomcast.coding.block_layout import cut_into_blocks
from penstock.bloomcast.facts import ObjectComplete, Offer, TransferFinished, TransferStopped
from penstock.bloomcast.machines import with_bfs_relays
from penstock.bloomcast.node import CastNode
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_link import CastLink
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.symbol_loss import SymbolLoss
from penstock.sim.tcp.connection import Passing, TcpConnection, TcpOptions
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.topology import CastRole
from tests.sim.cast.scenes import CONTROLLER, DISCOVERY, ITEM, cast, complete

SYMBOL_BYTES = 1_280
# Of the datagrams of 1 412 bytes that a link carries.
PAYLOAD = SYMBOL_BYTES / 1_412


@dataclass
class Heard:
    """What was said of rates, as it arrived; in seconds and bytes a second."""

    codec: CastCodec | None = None
    network: CastNetwork | None = None
    in_force: dict[Item, list[tuple[float, int]]] = field(default_factory=dict)
    slowest: list[int] = field(default_factory=list)
    # At every hop.
    allowed: Counter[int] = field(default_factory=Counter)
    longest_train: int = 0
    in_repair_rounds: int = 0

    def tap(self, frame: CastFrame) -> CastFrame:
        if isinstance(frame, Packet):
            assert self.network is not None
            at = self.network.events.now / SECOND
            body, item = frame.body, frame.header.item
            if isinstance(body, RateInForce):
                self.in_force.setdefault(item, []).append((at, body.rate_bps))
                self.slowest.append(body.slowest)
            elif isinstance(body, AllowedRate):
                self.allowed[body.child] += 1
                self.in_repair_rounds += frame.header.generation > 0
            elif isinstance(body, Symbols):
                self.longest_train = max(self.longest_train, len(body.numbers))
        return frame if self.codec is None else self.codec.decode(self.codec.encode(frame))

    def mean_mbit(self, begin: float, end: float, item: Item = ITEM) -> float:
        """Of the rate in force, sampled every 10 ms."""
        said = self.in_force[item]
        rates = []
        for step in range(round(begin * 100), round(end * 100)):
            rates.append([rate for at, rate in said if at <= step / 100][-1])
        return fmean(rates) * 8 / 1e6


def settings(*, rate_bps: int | None = None, rate_min_bps: int | None = None) -> CastSettings:
    default = CastSettings()
    return replace(
        default,
        publisher=replace(default.publisher, rate_bps=rate_bps),
        rate=replace(default.rate, rate_min_bps=rate_min_bps),
    )


def world(
    seed: int, chosen: CastSettings | None = None, *, codec: CastCodec | None = None
) -> tuple[CastNetwork, Heard]:
    heard = Heard(codec)
    heard.network = CastNetwork(
        Seeds(seed), settings=chosen or CastSettings(), through_codec=heard.tap
    )
    return heard.network, heard


def star(
    seed: int,
    mbit: int | None,
    chosen: CastSettings | None = None,
    *,
    codec: CastCodec | None = None,
) -> tuple[CastNetwork, Heard]:
    """A publisher and three hosts at a router; the way to host1 has a rate and a short queue."""
    network, heard = world(seed, chosen, codec=codec)
    network.add_node("router", CONTROLLER)
    for name in ("publisher", "host0", "host1", "host2"):
        network.add_node(name)
        if mbit is not None and name == "host1":
            network.connect("router", name, rate_bps=mbit * 1_000_000, queue_bytes=64_000)
        else:
            network.connect("router", name)
    return network, heard


HOSTS = ["host0", "host1", "host2"]


@pytest.fixture(scope="module")
def bottleneck() -> tuple[CastNetwork, Heard]:
    """10 Mbit/s before one of three."""
    network, heard = star(1, 10)
    cast(network, HOSTS, length_bytes=4_000 * SYMBOL_BYTES)
    return network, heard


def test_the_rate_settles_at_what_the_slowest_link_carries(
    bottleneck: tuple[CastNetwork, Heard],
) -> None:
    _, heard = bottleneck
    began = heard.in_force[ITEM][0][0]
    ended = heard.in_force[ITEM][-1][0]
    assert ended - began == pytest.approx(4_000 * SYMBOL_BYTES * 8 / (10e6 * PAYLOAD), rel=0.35)
    assert 0.7 < heard.mean_mbit(began + 1, ended) / (10 * PAYLOAD) < 1.1


def test_little_is_lost_at_the_bottleneck(bottleneck: tuple[CastNetwork, Heard]) -> None:
    network, _ = bottleneck
    link = network.link("router", "host1")
    assert 0 < link.dropped < 0.04 * link.offered


def test_all_finish_whoever_is_slowest(bottleneck: tuple[CastNetwork, Heard]) -> None:
    network, _ = bottleneck
    assert complete(network) == HOSTS
    [(_, finished)] = network.nodes["publisher"].told(TransferFinished)
    assert finished == TransferFinished(ITEM, 3, ())


def test_only_the_slowest_receiver_reports(bottleneck: tuple[CastNetwork, Heard]) -> None:
    network, heard = bottleneck
    slow = network.nodes["host1"].number
    assert heard.slowest[-1] == slow
    assert heard.allowed[slow] > 100
    assert sum(heard.allowed.values()) - heard.allowed[slow] < 20


def test_without_a_bottleneck_the_rate_doubles_up_to_the_ceiling() -> None:
    network, heard = star(1, None, settings(rate_bps=12_500_000))
    cast(network, HOSTS, length_bytes=4_000 * SYMBOL_BYTES)
    assert complete(network) == HOSTS
    rates = [rate for _, rate in heard.in_force[ITEM]]
    assert rates[0] == 1_250_000
    assert rates[-1] == 12_500_000 == max(rates)
    assert all(after <= 2 * before for before, after in pairwise(rates))
    reached = next(at for at, rate in heard.in_force[ITEM] if rate == 12_500_000)
    assert reached - heard.in_force[ITEM][0][0] < 0.3
    assert network.crossings.total("Repair") == 0


def test_trains_are_short_while_the_rate_is_low() -> None:
    """At 10 Mbit/s a train of 46 symbols would take 50 ms of a link, and fill its queue."""
    network, heard = star(1, None, settings(rate_bps=2_500_000))
    cast(network, HOSTS, length_bytes=500 * SYMBOL_BYTES, for_ns=4 * SECOND)
    assert complete(network) == HOSTS
    assert heard.longest_train == 2_500_000 * 2 // 1_000 // SYMBOL_BYTES


def publish(offer: Offer, node: CastNode, now: Instant) -> None:
    node.publish(offer, now=now)


def subscribe(item: Item, node: CastNode, now: Instant) -> None:
    node.subscribe(item, now=now)


def test_two_casts_share_a_link() -> None:
    network, heard = world(5)
    network.add_node("west", CONTROLLER)
    network.add_node("east", CastRole.ROUTER)
    network.connect("west", "east", rate_bps=20_000_000, queue_bytes=64_000)
    items = {"one": Item(1, 1), "other": Item(1, 2)}
    for name in items:
        network.add_node(name)
        network.connect(name, "west")
        network.add_node(f"{name}-host")
        network.connect("east", f"{name}-host")
    network.run(DISCOVERY)
    layout = cut_into_blocks(4_000 * SYMBOL_BYTES, block_symbols=1_000)
    for name, item in items.items():
        offer = Offer(
            item=item,
            epoch=7,
            object_id=bytes(16),
            length_bytes=4_000 * SYMBOL_BYTES,
            symbol_bytes=SYMBOL_BYTES,
            block_symbols=tuple(map(layout.symbols_of, range(layout.blocks))),
            manifest_bytes=1_000,
            manifest_symbols=1,
            receivers=1,
        )
        network.nodes[name].call(partial(publish, offer))
        network.nodes[f"{name}-host"].call(partial(subscribe, item))
    network.run(30 * SECOND)
    assert sorted(complete(network)) == ["one-host", "other-host"]
    began = heard.in_force[items["one"]][0][0]
    ended = min(heard.in_force[item][-1][0] for item in items.values())
    means = [heard.mean_mbit(began + 0.5, ended, item) for item in items.values()]
    assert max(means) < 2 * min(means)
    assert 0.7 < sum(means) / (20 * PAYLOAD) < 1.1


class TcpWay:
    """One direction of a connection of TCP over a link of casts, past the node at its end."""

    def __init__(self, link: CastLink, rng: Random) -> None:
        self.name = "way"
        self._link, self._rng = link, rng

    def divert(self, kind: type[Passing], deliver: Callable[[Passing], None]) -> None:
        def arrive(frame: Any) -> None:
            if isinstance(frame, kind):
                deliver(frame)

        self._link.connect(1_000, arrive, SymbolLoss(0.0, self._rng))

    def send(self, frame: Any, size_bytes: int, urgent: bool = False) -> None:
        assert not urgent
        self._link.send(frame, size_bytes)


def test_a_cast_leaves_a_tcp_connection_its_share() -> None:
    network, heard = star(6, 10)
    there: Any = TcpWay(network.link("router", "host1"), Random(1))
    back: Any = TcpWay(network.link("host1", "router"), Random(1))
    seeds = Seeds(6).child("tcp")
    connection = TcpConnection("tcp", there, back, TcpOptions(), events=network.events, seeds=seeds)
    # After the discovery, which takes 2 s.
    connection.plan(3 * SECOND, 100 * SECOND)
    cast(network, HOSTS, length_bytes=4_000 * SYMBOL_BYTES, for_ns=9 * SECOND)
    at = network.events.now / SECOND
    tcp_mbit = connection.counts().new_bytes * 8 / (at - 3) / 1e6
    cast_mbit = heard.mean_mbit(3.5, min(at, heard.in_force[ITEM][-1][0])) / PAYLOAD
    assert tcp_mbit + cast_mbit == pytest.approx(10, rel=0.2)
    assert 1 / 3 < tcp_mbit / cast_mbit < 3


def test_of_many_behind_one_bottleneck_few_report() -> None:
    """40 hosts of a network lose the same: one of them is the slowest, and stands for all."""
    network, heard = world(3)
    network.add_node("router", CONTROLLER)
    network.add_node("publisher")
    network.connect("publisher", "router", rate_bps=10_000_000, queue_bytes=32_000)
    hosts = [f"host{i}" for i in range(40)]
    for host in hosts:
        network.add_node(host)
    network.add_lan("router", hosts)
    cast(network, hosts, length_bytes=500 * SYMBOL_BYTES, for_ns=4 * SECOND)
    assert complete(network) == hosts
    began, ended = (heard.in_force[ITEM][place][0] for place in (0, -1))
    # Some are surprised by the first losses. Later the slowest alone reports, or who follows it.
    assert max(heard.allowed.values()) > 10
    assert sum(count > 6 for count in heard.allowed.values()) < 10
    assert sum(heard.allowed.values()) < 100 * (ended - began) + 150


def test_a_relay_passes_on_the_slowest_receiver_behind_it() -> None:
    """More hosts than one filter holds: the one behind the bottleneck is found through a relay."""
    network, heard = world(3, with_bfs_relays(CastSettings()))
    network.add_node("core", CONTROLLER)
    network.add_node("publisher")
    network.connect("publisher", "core")
    hosts = []
    for site in range(3):
        edge = f"edge{site}"
        network.add_node(edge, CastRole.ROUTER)
        network.connect("core", edge)
        for place in range(10):
            host = f"host{site}-{place}"
            hosts.append(host)
            network.add_node(host)
            if host == "host2-3":
                network.connect(edge, host, rate_bps=10_000_000, queue_bytes=64_000)
            else:
                network.connect(edge, host)
    cast(network, hosts, length_bytes=1_500 * SYMBOL_BYTES, for_ns=6 * SECOND)
    assert network.crossings.total("DownRelayConfig") > 0
    assert complete(network) == hosts
    slow = network.nodes["host2-3"].number
    assert heard.slowest[-1] == slow
    # Heard at the edge and on each hop to the publisher.
    assert heard.allowed[slow] > 60
    ended = heard.in_force[ITEM][-1][0]
    assert 0.6 < heard.mean_mbit(ended - 0.5, ended) / (10 * PAYLOAD) < 1.1


def test_who_bears_less_than_the_minimum_is_left_behind() -> None:
    network, heard = star(2, 1, settings(rate_min_bps=500_000))
    cast(network, HOSTS, length_bytes=2_800 * SYMBOL_BYTES)
    assert complete(network) == ["host0", "host2"]
    slow = network.nodes["host1"]
    [(_, finished)] = network.nodes["publisher"].told(TransferFinished)
    assert finished == TransferFinished(ITEM, 2, (slow.number,))
    [(at, stopped)] = slow.told(TransferStopped)
    assert stopped == TransferStopped(ITEM, "slow")
    began = heard.in_force[ITEM][0][0]
    # STOP waits behind what the link had queued.
    assert 5 < at / SECOND - began < 7
    # The others are served at the minimum meanwhile, and faster afterwards.
    [(done_at, _)] = network.nodes["host0"].told(ObjectComplete)
    assert done_at / SECOND - began < 2_800 * SYMBOL_BYTES / 500_000


def test_who_loses_by_chance_is_not_left_behind() -> None:
    """10 % at random look like congestion to the equation, but what arrives says otherwise."""
    network, heard = world(2, settings(rate_min_bps=500_000))
    network.add_node("router", CONTROLLER)
    for name in ("publisher", *HOSTS):
        network.add_node(name)
        network.connect("router", name, loss=0.1 if name == "host1" else 0.0)
    cast(network, HOSTS, length_bytes=2_800 * SYMBOL_BYTES)
    assert complete(network) == HOSTS
    # There nobody can tell what was lost from what was not for him.
    assert network.crossings.total("Repair") > 0
    assert heard.in_repair_rounds == 0


def test_a_slow_disk_limits_the_rate() -> None:
    network, heard = star(1, None)
    network.events.schedule(
        DISCOVERY + 400 * MILLISECOND,
        lambda: network.nodes["host1"].call(lambda node, _now: node.disk_rate(ITEM, 2_000_000)),
    )
    cast(network, HOSTS, length_bytes=8_000 * SYMBOL_BYTES, for_ns=8 * SECOND)
    assert heard.slowest[-1] == network.nodes["host1"].number
    assert heard.in_force[ITEM][-1][1] == 2_000_000


def test_the_codec_in_the_path_changes_nothing() -> None:
    def rates(codec: CastCodec | None) -> list[tuple[float, int]]:
        network, heard = star(4, 10, codec=codec)
        cast(network, HOSTS, length_bytes=1_000 * SYMBOL_BYTES, for_ns=4 * SECOND)
        return heard.in_force[ITEM]

    plain = rates(None)
    assert len(plain) > 50
    assert plain == rates(CastCodec(Blake2Sealer(b""), has_trains=True))
