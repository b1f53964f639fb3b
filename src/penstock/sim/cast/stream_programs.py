"""Programs that write and read streams, and survive restarts of their nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.bloomcast.facts import (
    BlockEnded,
    BlockFilled,
    BlockReady,
    BlocksGone,
    CastFact,
    Offer,
    StreamInterrupted,
    TransferBegan,
    TransferFinished,
    TransferOpened,
    TransferStopped,
    WriterHeld,
    WriterReleased,
)
from penstock.bloomcast.node import CastNode
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.cast_watcher import CastWatcher
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.membership import ObjectKind


def stream_of(
    item: Item, *, symbol_bytes: int, epoch: int = 1, receivers: int = 0, wait_ms: int = 1_000
) -> Offer:
    """A stream, of which nothing has been written yet."""
    return Offer(
        item=item,
        epoch=epoch,
        object_id=bytes(16),
        length_bytes=0,
        symbol_bytes=symbol_bytes,
        block_symbols=(),
        kind=ObjectKind.STREAM,
        receivers=receivers,
        wait_ms=wait_ms,
    )


@dataclass(slots=True)
class Written:
    """Under one epoch."""

    # Symbols by block that was filled, and blocks that were given up.
    blocks: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)


class WritingProgram(CastWatcher):
    """Writes so many symbols at a rate, waits when it is told to, and then ends the stream."""

    def __init__(
        self,
        network: CastNetwork,
        node: str,
        offer: Offer,
        *,
        symbols: int,
        symbols_per_s: int,
        # So many at a time.
        part: int,
    ) -> None:
        self.node: Final = node
        self.offer = offer
        self.is_running = False
        self.finished: Final[list[tuple[Instant, TransferFinished]]] = []
        # The offers that were made, and when.
        self.offers: Final[list[tuple[Instant, Offer]]] = []
        # By epoch.
        self.lives: Final[dict[int, Written]] = {}
        # Symbols that were taken, under the latest one.
        self.written = 0
        self._network: Final = network
        self._symbols: Final = symbols
        self._part: Final = part
        self._step_ns: Final[Duration] = part * SECOND // symbols_per_s
        # It was told to wait.
        self.is_held = False
        network.watchers.append(self)

    @property
    def latest(self) -> Written:
        """What became of the latest offer."""
        return self.lives[self.offer.epoch]

    def publish(self) -> None:
        """Offers the stream, and begins to write when somebody listens."""
        self.is_running = True
        offered = self.offer
        self.offers.append((self._network.events.now, offered))
        self.lives[offered.epoch] = Written()
        self.written = 0
        self.is_held = False
        self._call(lambda node, now: node.publish(offered, now=now))

    def pause(self) -> None:
        """Writes nothing for a while."""
        self.is_held = True

    def go_on(self) -> None:
        """Writes again."""
        self.is_held = False
        self._network.events.schedule(self._network.events.now, self._write, self.offer.epoch)

    def publish_again(self) -> None:
        """Under a new epoch, from the beginning."""
        self.offer = replace(self.offer, epoch=self.offer.epoch + 1_000)
        self.publish()

    def _call(self, verb: Callable[[CastNode, Instant], object]) -> None:
        self._network.nodes[self.node].call(verb)

    def _write(self, epoch: int) -> None:
        """What has been written in an earlier life is not continued."""
        if epoch != self.offer.epoch or not self.is_running or self.is_held:
            return
        part = min(self._part, self._symbols - self.written)
        taken: list[int] = []
        item = self.offer.item
        self._call(lambda node, now: taken.append(node.write(item, part, now=now)))
        self.written += sum(taken)
        if self.written == self._symbols:
            self._call(lambda node, now: node.finish(item, now=now))
        elif not self.is_held and taken:
            events = self._network.events
            events.schedule(events.now + self._step_ns, self._write, epoch)

    def on_fact(self, node: str, fact: CastFact) -> None:
        """What becomes of what was written."""
        if node != self.node:
            return
        if isinstance(fact, TransferBegan):
            self._network.events.schedule(self._network.events.now, self._write, self.offer.epoch)
        elif isinstance(fact, BlockFilled):
            self.latest.blocks[fact.block] = fact.symbols
        elif isinstance(fact, BlocksGone):
            self.latest.gone.update(range(fact.start, fact.stop))
        elif isinstance(fact, WriterHeld):
            self.is_held = True
        elif isinstance(fact, WriterReleased):
            self.go_on()
        elif isinstance(fact, TransferFinished):
            self.is_running = False
            self.finished.append((self._network.events.now, fact))

    def on_restart(self, node: str) -> None:
        """The command is given again."""
        if node == self.node and self.is_running:
            self.publish_again()


class ReadingProgram(CastWatcher):
    """Wants a stream until it ends, or until it is told that it will not get it."""

    def __init__(self, network: CastNetwork, node: str, item: Item) -> None:
        self.node: Final = node
        self._network: Final = network
        self._item: Final = item
        self.is_wanted = False
        self.is_subscribed = False
        # It has been there at the end.
        self.is_complete = False
        # Of the latest life: what was said of blocks, in order.
        self.passed: Final[list[BlockReady | BlocksGone]] = []
        self.ended: Final[dict[int, BlockEnded]] = {}
        self.epoch = 0
        self.interruptions = 0
        # When its node forgot what it wanted, unless it has wanted it again since.
        self.forgotten_at: Instant | None = None
        self.stopped: Final[list[tuple[Instant, str]]] = []
        network.watchers.append(self)

    @property
    def ready(self) -> list[int]:
        """Blocks that it has."""
        return [fact.block for fact in self.passed if isinstance(fact, BlockReady)]

    @property
    def gone(self) -> list[int]:
        """Blocks that were given up."""
        gone = [fact for fact in self.passed if isinstance(fact, BlocksGone)]
        return [block for fact in gone for block in range(fact.start, fact.stop)]

    def subscribe(self) -> None:
        """Wants the stream, from now on."""
        self.is_wanted = True
        if self.is_subscribed or self.is_complete or not self._network.nodes[self.node].is_up:
            return
        self.is_subscribed = True
        self.forgotten_at = None
        self._call(lambda node, now: node.subscribe(self._item, kind=ObjectKind.STREAM, now=now))

    def leave(self) -> None:
        """Does not want it any more."""
        self.is_wanted = False
        if self.is_subscribed:
            self.is_subscribed = False
            self._call(lambda node, now: node.leave(self._item, now=now))

    def _call(self, verb: Callable[[CastNode, Instant], object]) -> None:
        self._network.nodes[self.node].call(verb)

    def on_fact(self, node: str, fact: CastFact) -> None:
        """Notes what is handed over."""
        if node != self.node:
            return
        if isinstance(fact, TransferOpened):
            self.passed.clear()
            self.ended.clear()
            self.epoch = fact.first.epoch
        elif isinstance(fact, BlockReady | BlocksGone):
            self.passed.append(fact)
        elif isinstance(fact, BlockEnded):
            self.ended[fact.block] = fact
        elif isinstance(fact, StreamInterrupted):
            self.interruptions += 1
        elif isinstance(fact, TransferStopped):
            self.is_subscribed = False
            self.is_complete = not fact.reason
            self.stopped.append((self._network.events.now, fact.reason))

    def on_restart(self, node: str) -> None:
        """The command is given again."""
        if node == self.node:
            self.is_subscribed = False
            self.forgotten_at = self._network.events.now
            if self.is_wanted:
                self.subscribe()
