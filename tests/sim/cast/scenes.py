"""Small worlds of casts."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.bloomcast.coding.block_layout import cut_into_blocks
from penstock.bloomcast.facts import ObjectComplete, Offer
from penstock.bloomcast.settings import CastSettings, RateSettings
from penstock.kernel.instant import SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_network import CastNetwork
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.topology import CastRole

CONTROLLER = CastRole.ROUTER | CastRole.RENDEZVOUS | CastRole.TOPOLOGY
ITEM = Item(1, 2)
# Losses that are drawn would be taken for congestion: most scenes are about repairs.
UNCONTROLLED = CastSettings(rate=RateSettings(is_controlled=False))
# For the network to learn of itself.
DISCOVERY: Duration = 2 * SECOND


def world(seed: int, *, loss: float = 0.0, settings: CastSettings | None = None) -> CastNetwork:
    return CastNetwork(Seeds(seed), loss=loss, settings=settings or UNCONTROLLED)


def one_router(seed: int, *, loss: float, settings: CastSettings | None = None) -> CastNetwork:
    """A publisher and two subscribers at one router, which is the controller too."""
    network = world(seed, loss=loss, settings=settings)
    network.add_node("router", CONTROLLER)
    for host in ("publisher", "one", "other"):
        network.add_node(host)
        network.connect(host, "router")
    return network


def cast(
    network: CastNetwork,
    subscribers: Iterable[str],
    *,
    publisher: str = "publisher",
    length_bytes: int = 2_000 * 1_280,
    block_symbols: int = 1_000,
    for_ns: Duration = 30 * SECOND,
) -> None:
    """Sends an object to all of them."""
    network.run(DISCOVERY)
    names = list(subscribers)
    layout = cut_into_blocks(length_bytes, block_symbols=block_symbols)
    offer = Offer(
        item=ITEM,
        epoch=7,
        object_id=bytes(16),
        length_bytes=length_bytes,
        symbol_bytes=layout.symbol_bytes,
        block_symbols=tuple(map(layout.symbols_of, range(layout.blocks))),
        manifest_bytes=1_000,
        manifest_symbols=1,
        receivers=len(names),
    )
    network.nodes[publisher].call(lambda node, now: node.publish(offer, now=now))
    for name in names:
        network.nodes[name].call(lambda node, now: node.subscribe(ITEM, now=now))
    network.run(for_ns)


def complete(network: CastNetwork) -> list[str]:
    """Who has the whole object."""
    return [name for name, node in network.nodes.items() if node.told(ObjectComplete)]
