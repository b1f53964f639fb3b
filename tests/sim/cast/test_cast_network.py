"""Transfers in the simulator: everybody ends with the object, and little more than it is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.bloomcast.facts import TransferFinished, TransferStopped
from penstock.kernel.instant import SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.topology import scale_free
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.topology import CastRole
from tests.sim.cast.scenes import (
    CONTROLLER,
    ITEM,
    UNCONTROLLED,
    cast,
    complete,
    one_router,
    world,
)


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.2])
def test_everybody_has_the_object_in_the_end(loss: float) -> None:
    network = one_router(2, loss=loss)
    # All copies of STOP may be lost: who has all then ends when nothing has come for a minute.
    cast(network, ["one", "other"], for_ns=100 * SECOND)
    assert complete(network) == ["one", "other"]
    [(_, finished)] = network.nodes["publisher"].told(TransferFinished)
    assert finished == TransferFinished(ITEM, 2, ())
    for name in ("one", "other"):
        [(_, stopped)] = network.nodes[name].told(TransferStopped)
        assert stopped == TransferStopped(ITEM, "")


def test_without_losses_nothing_is_sent_twice() -> None:
    network = one_router(1, loss=0)
    cast(network, ["one", "other"])
    assert network.crossings.total("Repair") == 0
    # 2 000 symbols and one of the manifest, on three links.
    assert network.crossings.total("Symbols") == 3 * 2_001


def test_what_was_lost_is_repaired_for_all_at_once() -> None:
    """Two subscribers lose 5 % twice: the publisher sends what the worse of them needs."""
    network = one_router(1, loss=0.05)
    cast(network, ["one", "other"])
    repairs = sum(
        count
        for (sender, _, kind), count in network.crossings.datagrams.items()
        if sender == "publisher" and kind.name == "Repair"
    )
    lost = 2_001 * (1 - 0.95**2)
    assert lost < repairs < 1.5 * lost


def test_all_hosts_of_a_lan_hear_the_same_datagrams() -> None:
    network = world(2, loss=0.05)
    network.add_node("sender", CONTROLLER)
    hosts = [f"host{i}" for i in range(20)]
    for host in hosts:
        network.add_node(host)
    network.add_lan("sender", hosts)
    cast(network, hosts, publisher="sender")
    assert complete(network) == hosts
    assert network.crossings.total("Symbols") == 2_001
    # Each lost 5 %; one repair symbol serves all.
    assert 0.05 * 2_001 < network.crossings.total("Repair") < 0.1 * 2_001


def scattered(seed: int, *, routers: int, hosts: int, loss: float) -> CastNetwork:
    """Hosts at drawn routers of a scale-free network."""
    network = world(seed, loss=loss)
    rng = Seeds(seed).rng("places")
    topology = scale_free(routers, Seeds(seed))
    for place, name in enumerate(topology.nodes):
        network.add_node(name, CastRole.ROUTER if place else CONTROLLER)
    for edge in topology.edges:
        network.connect(edge.one, edge.other)
    for name in ["publisher", *(f"host{i}" for i in range(hosts))]:
        network.add_node(name)
        network.connect(name, rng.choice(topology.nodes))
    return network


def test_relay_points_bring_an_object_to_more_hosts_than_one_filter_holds() -> None:
    network = scattered(3, routers=150, hosts=50, loss=0.002)
    hosts = [f"host{i}" for i in range(50)]
    cast(network, hosts)
    assert complete(network) == hosts
    assert network.crossings.total("DownRelayConfig") > 0
    # Relay points answer for all below them.
    reports = sum(
        count
        for (_, port, kind), count in network.crossings.datagrams.items()
        if port == "publisher" and kind.name == "Report"
    )
    assert 0 < reports < 50


def test_the_same_seed_gives_the_same_run() -> None:
    def crossings(seed: int) -> list[tuple[object, int]]:
        network = one_router(seed, loss=0.05)
        cast(network, ["one", "other"])
        return sorted(network.crossings.datagrams.items())

    assert crossings(4) == crossings(4)
    assert crossings(4) != crossings(5)


def test_single_symbols_and_trains_lose_the_same_symbols() -> None:
    """Whether a link carries a train or its symbols one by one is nothing to its losses."""

    def repairs(train_symbols: int) -> int:
        settings = UNCONTROLLED
        publisher = replace(settings.publisher, train_symbols=train_symbols)
        network = one_router(6, loss=0.05, settings=replace(settings, publisher=publisher))
        cast(network, ["one", "other"])
        assert complete(network) == ["one", "other"]
        return network.crossings.total("Repair")

    assert repairs(1) == pytest.approx(repairs(46), rel=0.1)


def test_the_codec_in_the_path_changes_nothing() -> None:
    codec = CastCodec(Blake2Sealer(b""), has_trains=True)
    frames = 0

    def through_codec(frame: CastFrame) -> CastFrame:
        nonlocal frames
        frames += 1
        return codec.decode(codec.encode(frame))

    def crossings(network: CastNetwork) -> list[tuple[object, int]]:
        network.add_node("router", CONTROLLER)
        for host in ("publisher", "one", "other"):
            network.add_node(host)
            network.connect(host, "router")
        cast(network, ["one", "other"])
        assert complete(network) == ["one", "other"]
        return sorted(network.crossings.datagrams.items())

    plain = crossings(CastNetwork(Seeds(7), loss=0.05, settings=UNCONTROLLED))
    coded = crossings(
        CastNetwork(Seeds(7), loss=0.05, settings=UNCONTROLLED, through_codec=through_codec)
    )
    assert plain == coded
    assert frames > 200
