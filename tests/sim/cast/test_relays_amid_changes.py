"""Relay points while plans change: what they say of their ends, and what they pass on."""

from __future__ import annotations

from dataclasses import replace

from penstock.bloomcast.coding.block_layout import cut_into_blocks
from penstock.bloomcast.facts import ObjectComplete, Offer, TransferBegan, TransferFinished
from penstock.bloomcast.settings import (
    CastSettings,
    ControllerSettings,
    PublisherSettings,
    SubscriberSettings,
)
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_network import CastNetwork
from penstock.wire.frames.cast.topology import CastRole
from tests.sim.cast.scenes import CONTROLLER, DISCOVERY, ITEM, UNCONTROLLED

HOSTS = ("h0", "h1", "h2")


def chain(settings: CastSettings) -> CastNetwork:
    """A publisher at the controller, and filters so small that routers become relay points."""
    settings = replace(settings, controller=ControllerSettings(filter_ones_max=22))
    network = CastNetwork(
        Seeds(3), settings=settings, delay_ns=2 * MILLISECOND, rate_bps=100_000_000
    )
    network.add_node("c", CONTROLLER)
    for router in ("r1", "r2"):
        network.add_node(router, CastRole.ROUTER)
    for host in ("p", *HOSTS):
        network.add_node(host)
    links = (("c", "r1"), ("r1", "r2"), ("p", "c"), ("h0", "r1"), ("h1", "r2"), ("h2", "r2"))
    for one, other in links:
        network.connect(one, other, queue_bytes=500_000)
    network.run(DISCOVERY)
    return network


def publish(network: CastNetwork, megabytes: int, receivers: int) -> None:
    layout = cut_into_blocks(megabytes << 20)
    offer = Offer(
        item=ITEM,
        epoch=7,
        object_id=bytes(16),
        length_bytes=layout.length_bytes,
        symbol_bytes=layout.symbol_bytes,
        block_symbols=tuple(map(layout.symbols_of, range(layout.blocks))),
        receivers=receivers,
    )
    network.nodes["p"].call(lambda node, now: node.publish(offer, now=now))


def subscribe(network: CastNetwork, host: str) -> None:
    network.nodes[host].call(lambda node, now: node.subscribe(ITEM, now=now))


def run_until_began(network: CastNetwork) -> None:
    while not network.nodes["p"].told(TransferBegan):
        network.run(MILLISECOND)


def relays(network: CastNetwork) -> int:
    plan = network.nodes["c"].machine.plan_of(ITEM)
    assert plan is not None
    return len(plan.relays)


def test_rates_still_come_through_when_the_controller_has_restarted() -> None:
    """It numbers segments anew: a relay point says RATE by its new one."""
    network = chain(CastSettings())
    publish(network, 8, len(HOSTS))
    for host in HOSTS:
        subscribe(network, host)
    run_until_began(network)
    network.run(200 * MILLISECOND)
    assert relays(network)
    controller = network.nodes["c"]
    controller.crash()
    network.run(300 * MILLISECOND)
    controller.restart()
    network.run(15 * SECOND)
    [(_, finished)] = network.nodes["p"].told(TransferFinished)
    assert finished == TransferFinished(ITEM, len(HOSTS), ())


def test_who_joins_late_behind_a_new_relay_point_gets_what_is_still_to_come() -> None:
    """The relay point answers FIRST before its end has: it must not say that nothing is needed."""
    # For four seconds; data comes before anybody has answered.
    publisher = PublisherSettings(rate_bps=2_000_000)
    subscriber = SubscriberSettings(report_delay_ns=500 * MILLISECOND)
    network = chain(replace(UNCONTROLLED, publisher=publisher, subscriber=subscriber))
    publish(network, 8, 1)
    subscribe(network, "h0")
    run_until_began(network)
    assert not relays(network)
    network.run(300 * MILLISECOND)
    for host in ("h1", "h2"):
        subscribe(network, host)
    network.run(400 * MILLISECOND)
    assert relays(network)
    network.run(15 * SECOND)
    assert all(network.nodes[host].told(ObjectComplete) for host in HOSTS)
    # What was sent before they had joined, a quarter at most, over five links; and not all of it.
    assert 0 < network.crossings.total("Repair") < 5 * (8 << 20) // 1_280 // 4
