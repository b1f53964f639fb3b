"""Programs that cast and receive, for as long as it takes: they survive restarts of their nodes."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.coding.block_layout import cut_into_blocks
from penstock.bloomcast.facts import (
    BlockDecodable,
    CastFact,
    Held,
    ObjectComplete,
    Offer,
    TransferFinished,
    TransferOpened,
    TransferStopped,
    Verdict,
)
from penstock.bloomcast.node import CastNode
from penstock.kernel.instant import Instant
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.cast_watcher import CastWatcher
from penstock.sim.cast.sim_node import SimNode
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, Item


def offer_of(
    item: Item,
    *,
    symbols: int,
    block_symbols: int,
    manifest_symbols: int = 0,
    epoch: int = 1,
    receivers: int = 0,
    wait_ms: int = 1_000,
    symbol_bytes: int = 64,
) -> Offer:
    """An object of so many symbols."""
    length_bytes = symbols * symbol_bytes
    layout = cut_into_blocks(length_bytes, symbol_bytes=symbol_bytes, block_symbols=block_symbols)
    return Offer(
        item=item,
        epoch=epoch,
        object_id=symbols.to_bytes(16, "big"),
        length_bytes=length_bytes,
        symbol_bytes=symbol_bytes,
        block_symbols=tuple(map(layout.symbols_of, range(layout.blocks))),
        manifest_bytes=manifest_symbols * symbol_bytes,
        manifest_symbols=manifest_symbols,
        receivers=receivers,
        wait_ms=wait_ms,
    )


class SendingProgram(CastWatcher):
    """Offers an object, and after each restart again, under a new epoch."""

    def __init__(self, network: CastNetwork, node: str, offer: Offer) -> None:
        self.node: Final = node
        self.offer = offer
        self.is_running = False
        self.finished: Final[list[tuple[Instant, TransferFinished]]] = []
        # The offers that were made, and when.
        self.offers: Final[list[tuple[Instant, Offer]]] = []
        self._network: Final = network
        network.watchers.append(self)

    def publish(self, offer: Offer | None = None) -> None:
        """Offers the object, or another."""
        self.offer = self.offer if offer is None else offer
        self.is_running = True
        offered = self.offer
        self.offers.append((self._network.events.now, offered))
        self._network.nodes[self.node].call(lambda node, now: node.publish(offered, now=now))

    def publish_again(self) -> None:
        """Under a new epoch."""
        offer = self.offer
        self.publish(
            Offer(
                item=offer.item,
                epoch=offer.epoch + 1_000,
                object_id=offer.object_id,
                length_bytes=offer.length_bytes,
                symbol_bytes=offer.symbol_bytes,
                block_symbols=offer.block_symbols,
                manifest_bytes=offer.manifest_bytes,
                manifest_symbols=offer.manifest_symbols,
                receivers=offer.receivers,
                wait_ms=offer.wait_ms,
            )
        )

    def on_fact(self, node: str, fact: CastFact) -> None:
        """It is over."""
        if node == self.node and isinstance(fact, TransferFinished):
            self.is_running = False
            self.finished.append((self._network.events.now, fact))

    def on_restart(self, node: str) -> None:
        """The command is given again."""
        if node == self.node and self.is_running:
            self.publish_again()


class ReceivingProgram(CastWatcher):
    """Wants an object until it has it, or is told that it will not get it."""

    def __init__(self, network: CastNetwork, node: str, item: Item) -> None:
        self.node: Final = node
        self._network: Final = network
        self._item: Final = item
        self._object_id = b""
        self.verified: Final[set[int]] = set()
        # It wants the object, and its machine knows.
        self.is_wanted = False
        self.is_subscribed = False
        self.is_complete = False
        self.stopped: Final[list[tuple[Instant, str]]] = []
        # When its node forgot what it wanted, unless it has wanted it again since.
        self.forgotten_at: Instant | None = None
        network.watchers.append(self)

    def subscribe(self) -> None:
        """Wants the object, but for what it has."""
        self.is_wanted = True
        if self.is_subscribed or self.is_complete or not self._sim_node.is_up:
            return
        self.is_subscribed = True
        self.forgotten_at = None
        held = Held(object_id=self._object_id, blocks=frozenset(self.verified))

        def subscribe(node: CastNode, now: Instant) -> None:
            node.subscribe(self._item, held=held if self._object_id else None, now=now)

        self._sim_node.call(subscribe)

    def leave(self) -> None:
        """Does not want it any more."""
        self.is_wanted = False
        if self.is_subscribed:
            self.is_subscribed = False
            self._sim_node.call(lambda node, now: node.leave(self._item, now=now))

    @property
    def _sim_node(self) -> SimNode:
        return self._network.nodes[self.node]

    def on_fact(self, node: str, fact: CastFact) -> None:
        """Notes what has come, and what was said."""
        if node != self.node:
            return
        if isinstance(fact, TransferOpened):
            if fact.first.object_id != self._object_id:
                self._object_id = fact.first.object_id
                self.verified.clear()
        elif isinstance(fact, ObjectComplete):
            self.is_complete = True
        elif isinstance(fact, TransferStopped):
            self.is_subscribed = False
            self.stopped.append((self._network.events.now, fact.reason))

    def on_verdict(self, node: str, fact: BlockDecodable, verdict: Verdict) -> None:
        """A block is stored."""
        if node == self.node and verdict is Verdict.COMPLETE:
            self.verified.add(fact.block)

    def on_restart(self, node: str) -> None:
        """The command is given again."""
        if node == self.node:
            self.is_subscribed = False
            self.forgotten_at = self._network.events.now
            if self.is_wanted:
                self.subscribe()


def blocks_of(offer: Offer) -> dict[int, int]:
    """Source symbols by block."""
    blocks = dict(enumerate(offer.block_symbols))
    if offer.manifest_symbols:
        blocks[MANIFEST_BLOCK] = offer.manifest_symbols
    return blocks
