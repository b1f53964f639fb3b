"""Receivers that are gone, that wait, and to whom nothing gets through: nobody waits for ever."""

from __future__ import annotations

from dataclasses import replace

from penstock.bloomcast.facts import ObjectComplete, TransferBegan, TransferFinished
from penstock.bloomcast.settings import (
    CastSettings,
    PublisherSettings,
    RateSettings,
    SubscriberSettings,
)
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.cast.cast_network import CastNetwork
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols
from tests.sim.cast.scenes import CONTROLLER, ITEM, UNCONTROLLED, cast, complete, one_router, world


def outcomes(network: CastNetwork) -> list[TransferFinished]:
    told = [told for _at, told in network.nodes["publisher"].told(TransferFinished)]
    return [each for each in told if isinstance(each, TransferFinished)]


def lose_symbols(network: CastNetwork, source: str, target: str, *, generation: int | None) -> None:
    """All of them on a link, or one of those of a generation."""
    link = network.link(source, target)
    send, lost = link.send, list[Symbols]()

    def lossy(frame: CastFrame, size_bytes: int) -> None:
        if isinstance(frame, Packet) and isinstance(frame.body, Symbols):
            if generation is None:
                return
            if frame.header.generation == generation and not lost:
                lost.append(frame.body)
                return
        send(frame, size_bytes)

    link.send = lossy  # type: ignore[method-assign]


def test_a_sender_whom_nobody_hears_stops_and_names_all() -> None:
    """12 MB were sent for 988 s, and nobody was named."""
    network = world(1, settings=CastSettings())
    network.add_node("publisher", CONTROLLER)
    network.add_node("one")
    network.connect("publisher", "one")
    cast(network, ["one"], length_bytes=12 << 20, for_ns=0)
    while not network.nodes["publisher"].told(TransferBegan):
        network.run(MILLISECOND)
    network.run(60 * MILLISECOND)
    network.nodes["one"].crash()
    network.run(25 * SECOND)
    (outcome,) = outcomes(network)
    assert (outcome.done, outcome.failed) == (0, (network.nodes["one"].number,))


def test_who_waits_while_another_is_served_does_not_give_up() -> None:
    silence_ns = 6 * SECOND
    settings = replace(
        UNCONTROLLED,
        rate=RateSettings(is_controlled=False),
        publisher=PublisherSettings(rate_bps=1_280 * 100),
        subscriber=SubscriberSettings(silence_ns=silence_ns),
    )
    network = one_router(1, loss=0.0, settings=settings)
    lose_symbols(network, "router", "one", generation=0)
    cast(network, ["one"], length_bytes=1_000 * 1_280, block_symbols=500, for_ns=9 * SECOND)
    network.nodes["other"].call(lambda node, now: node.subscribe(ITEM, now=now))
    network.run(25 * SECOND)
    assert complete(network) == ["one", "other"]
    done_at = [
        at for name in complete(network) for at, _ in network.nodes[name].told(ObjectComplete)
    ]
    assert max(done_at) - 9 * SECOND > silence_ns
    assert [each.failed for each in outcomes(network)] == [()]


def test_who_answers_and_gets_no_symbols_is_given_up() -> None:
    network = one_router(1, loss=0.0)
    lose_symbols(network, "router", "other", generation=None)
    cast(network, ["one", "other"], length_bytes=2 * 1_280, block_symbols=2, for_ns=45 * SECOND)
    (outcome,) = outcomes(network)
    assert (outcome.done, outcome.failed) == (1, (network.nodes["other"].number,))


def test_symbols_that_no_one_gets_are_not_sent_for_ever() -> None:
    """While the rate is controlled it falls and falls, though all answer when they are asked."""
    network = one_router(1, loss=0.0, settings=CastSettings())
    lose_symbols(network, "publisher", "router", generation=None)
    cast(network, ["one", "other"], length_bytes=12 << 20, for_ns=50 * SECOND)
    (outcome,) = outcomes(network)
    assert outcome.done == 0
    assert len(outcome.failed) == 2
