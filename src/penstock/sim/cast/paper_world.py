"""One run of an experiment of paper 004: who does what when, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.bloomcast.baselines.bounds import time_bounds_ns
from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.coding.block_layout import BlockLayout, cut_into_blocks
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.facts import BlockReady, ObjectComplete, Offer, TransferFinished
from penstock.bloomcast.literal.nak import nak_bytes
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.datagram_sizes import datagram_bytes
from penstock.sim.cast.paper_counts import PaperCounts
from penstock.sim.cast.paper_places import PUBLISHER, PaperPlaces
from penstock.sim.cast.paper_scene import LINK_DELAY_NS, PACKET_BYTES, PaperProtocol, PaperScene
from penstock.sim.cast.paper_yardsticks import yardsticks
from penstock.sim.cast.stream_programs import WritingProgram, stream_of
from penstock.sim.events import EventQueue
from penstock.trace.cast_words import CastPart, Direction
from penstock.trace.records import (
    CastCrossing,
    CastNodeTotal,
    CastReport,
    CastTransfer,
    CastYardstick,
    Row,
)
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import Report

# For nodes to learn of one another, and the controller of all.
DISCOVERY_NS: Final[Duration] = 3 * SECOND
# How often the world is looked at: whether plans have changed, and whether all is over.
_LOOK_NS: Final[Duration] = 100 * MILLISECOND
_ITEM: Final = Item(1, 2)


class PaperWorld:
    """Publisher, routers and subscribers; at first they only discover one another."""

    def __init__(self, scene: PaperScene) -> None:
        self._scene: Final = scene
        self._seeds: Final = Seeds(scene.seed).child("paper")
        self.places: Final = PaperPlaces(scene)
        places, tree = self.places, self.places.tree
        self.link_loss: Final = scene.link_loss(
            tree_links=len(tree.steps), mean_hops=sum(places.hops) / len(places.hops)
        )
        self._layout: Final = _layout_of(scene)
        self._counts: Final = PaperCounts(_size_of, block_symbols=self._layout.block_symbols)
        self._network: Final = CastNetwork(
            self._seeds,
            settings=scene.settings(max(places.hops)),
            delay_ns=LINK_DELAY_NS,
            loss=self.link_loss,
            burst=scene.burst_packets,
            size_of=_size_of,
            observer=self._counts,
        )
        for name, roles in places.roles.items():
            self._network.add_node(name, roles)
        for one, other in places.links:
            self._network.connect(one, other)
        self._counts.numbers = places.numbers
        self._heads: Final[dict[int, int]] = {}
        self._counts.heads = self._heads
        # The first plan; later ones are without those who have left.
        self._plan: TransferPlan | None = None
        self._latest_plan: TransferPlan | None = None
        # Everybody who ever was a relay, with its filters.
        self._filters: Final[dict[str, int]] = {}
        self._asked_at: Final[dict[str, Instant]] = {}
        self._is_sending = False
        self.is_over = False

    @property
    def events(self) -> EventQueue:
        """The clock of this world."""
        return self._network.events

    def start_at(self, at: Instant) -> None:
        """When the transfer begins; nodes know one another by then."""
        self.events.schedule(at, self._start)

    def _start(self) -> None:
        scene, layout, network = self._scene, self._layout, self._network
        late = 0 if scene.late is None else scene.late.count
        in_time = self.places.subscribers[: scene.subscribers - late]
        if scene.protocol is PaperProtocol.STREAM:
            self._write(len(in_time))
        else:
            offer = Offer(
                item=_ITEM,
                epoch=1,
                object_id=bytes(16),
                length_bytes=layout.length_bytes,
                symbol_bytes=layout.symbol_bytes,
                block_symbols=tuple(map(layout.symbols_of, range(layout.blocks))),
                receivers=len(in_time),
            )
            network.nodes[PUBLISHER].call(lambda node, now: node.publish(offer, now=now))
        for name in in_time:
            self._subscribe(name)
        self._look()

    def _write(self, receivers: int) -> None:
        scene = self._scene
        writer = WritingProgram(
            self._network,
            PUBLISHER,
            stream_of(_ITEM, symbol_bytes=PACKET_BYTES, receivers=receivers),
            symbols=scene.packets,
            symbols_per_s=scene.packets_per_s,
            part=scene.train_symbols,
        )
        writer.publish()

    def _subscribe(self, name: str) -> None:
        self._asked_at[name] = self.events.now
        is_stream = self._scene.protocol is PaperProtocol.STREAM
        kind = ObjectKind.STREAM if is_stream else ObjectKind.FILE
        self._network.nodes[name].call(lambda node, now: node.subscribe(_ITEM, kind=kind, now=now))

    def _look(self) -> None:
        self._look_at_plan()
        if self._network.nodes[PUBLISHER].told(TransferFinished):
            self._end()
            return
        if self._counts.first_data_at is not None and not self._is_sending:
            self._is_sending = True
            self._on_data(self._counts.first_data_at)
        self.events.schedule(self.events.now + _LOOK_NS, self._look)

    def _on_data(self, began: Instant) -> None:
        """The first distribution has begun: what is to happen during it has its time."""
        scene, events = self._scene, self.events
        if scene.late is not None:
            at = began + round(scene.late.after * scene.sending_ns)
            for name in self.places.subscribers[scene.subscribers - scene.late.count :]:
                events.schedule(at, self._subscribe, name)
        if scene.failure is not None:
            at = began + scene.failure.after_ns
            events.schedule(at, self._fail)

    def _fail(self) -> None:
        assert self._scene.failure is not None
        node = self._network.nodes[self._who_fails()]
        node.crash()
        at = self.events.now + self._scene.failure.replaced_after_ns
        self.events.schedule(at, node.restart)

    def _who_fails(self) -> str:
        """Never the controller, whose loss is another matter, nor a host."""
        assert self._plan is not None
        places = self.places
        able = [
            node
            for node in places.tree.steps
            if places.roles[places.names[node]] and places.names[node] != places.controller
        ]
        relays = [node for node in able if node in self._plan.relays]
        return places.names[max(relays or able, key=places.below)]

    def _look_at_plan(self) -> None:
        """Segments change while subscribers join and leave."""
        found: list[TransferPlan | None] = []
        controller = self._network.nodes[self.places.controller]
        controller.call(lambda node, _now: found.append(node.plan_of(_ITEM)))
        [plan] = found
        if plan is None or plan is self._latest_plan:
            return
        if self._plan is None:
            links = sum(len(segment.links) for segment in plan.segments.values())
            if self._scene.late is None and links != len(self.places.tree.steps):
                # All bounds are those of the tree that would be planned with all links.
                raise UsageError(
                    "the controller has yet to learn of some links: let the warm-up be longer"
                )
            self._plan = plan
        self._latest_plan = plan
        for number, segment in plan.segments.items():
            self._heads[number] = segment.head
        for head, its in plan.heads.items():
            name = self.places.names[head]
            self._filters[name] = max(self._filters.get(name, 0), len(its.segments))

    def _end(self) -> None:
        """Nobody says anything any more."""
        self.is_over = True
        for node in self._network.nodes.values():
            node.crash()

    # What came of it.

    def rows(self) -> Iterator[Row]:
        """Of all tables of casts; of a run that is not over nothing is compared with others."""
        losses = self.losses()
        yield from self._transfers(losses)
        yield from self._crossings()
        yield from self._nodes()
        yield from self._reports()
        if self.is_over:
            yield from self._yardsticks(losses)

    def losses(self) -> LossTree:
        """What every node missed of the first distribution."""
        tree, received = self.places.tree, self._counts.received
        whole = (1 << self._scene.packets) - 1
        return LossTree(
            root=tree.root,
            parents={node: step.parent for node, step in tree.steps.items()},
            subscribers=tree.ends,
            missed={node: whole & ~received.get(self.places.names[node], 0) for node in tree.steps},
            loss=self.link_loss,
        )

    def _transfers(self, losses: LossTree) -> Iterator[CastTransfer]:
        counts = self._counts
        if counts.first_data_at is None or counts.last_data_at is None:
            return
        bounds = time_bounds_ns(
            losses,
            packets=self._scene.packets,
            packets_per_s=self._scene.packets_per_s,
            at_once=self._scene.train_symbols,
            link_delay_ns=LINK_DELAY_NS,
        )
        for name, asked_at in self._asked_at.items():
            number = self.places.numbers[name]
            yield CastTransfer(
                subscriber=name,
                publisher=PUBLISHER,
                asked_ns=asked_at,
                began_ns=counts.first_data_at,
                ended_ns=counts.last_data_at,
                sent_packets=self._scene.packets,
                missed_packets=losses.missed_by(number),
                bound_ns=bounds[number],
                completed_ns=self._completed_at(name),
            )

    def _completed_at(self, name: str) -> Instant | None:
        """A file is complete at once, a stream with its last block."""
        node = self._network.nodes[name]
        complete = node.told(ObjectComplete)
        ready = node.told(BlockReady)
        if len(ready) == self._layout.blocks:
            complete = ready[-1:]
        return complete[0][0] if complete else None

    def _crossings(self) -> Iterator[CastCrossing]:
        names = self.places.names
        planned = {(names[s.parent], names[s.node]) for s in self.places.tree.steps.values()}
        for (node, port, kind, generation), amount in self._counts.crossings.items():
            yield CastCrossing(
                link=f"{node}-{port}",
                kind=kind,
                generation=generation,
                is_planned=(node, port) in planned or (port, node) in planned,
                crossed_packets=amount.packets,
                crossed_bytes=amount.bytes,
            )

    def _nodes(self) -> Iterator[CastNodeTotal]:
        repairs = self._counts.repairs_by_node()
        for name in self.places.roles:
            filters = self._filters.get(name, 0)
            yield CastNodeTotal(name, self.part_of(name), filters, repairs.get(name, 0))

    def part_of(self, name: str) -> CastPart:
        """What a node does in this transfer."""
        if name == PUBLISHER:
            return CastPart.PUBLISHER
        if name in self._filters:
            return CastPart.RELAY
        return CastPart.ROUTER if self.places.roles[name] else CastPart.SUBSCRIBER

    def _reports(self) -> Iterator[CastReport]:
        counts = self._counts
        for direction, amounts in (
            (Direction.SENT, counts.made),
            (Direction.RECEIVED, counts.taken),
        ):
            for (node, kind), amount in amounts.items():
                yield CastReport(
                    node=node,
                    part=self.part_of(node),
                    direction=direction,
                    kind=kind,
                    reported_messages=amount.packets,
                    reported_bytes=amount.bytes,
                    reported_packets=amount.numbers,
                )

    def _yardsticks(self, losses: LossTree) -> Iterator[CastYardstick]:
        plan = self._plan
        if self._scene.late is not None or self._scene.failure is not None:
            # Whom the segments of the first plan reach is not who takes part.
            plan = None
        yield from yardsticks(losses, self._seeds, plan, self.places.tree)


def run_paper_scene(scene: PaperScene, *, until: Instant = 300 * SECOND) -> PaperWorld:
    """Runs until every subscriber has the object and the publisher knows it, or time is up."""
    world = PaperWorld(scene)
    world.start_at(DISCOVERY_NS)
    while not world.is_over and world.events.now < until:
        world.events.run(world.events.now + SECOND)
    return world


def _layout_of(scene: PaperScene) -> BlockLayout:
    """The blocks of a file are equal; of a stream all but the last are full."""
    length_bytes = scene.packets * PACKET_BYTES
    if scene.protocol is PaperProtocol.STREAM:
        return BlockLayout(length_bytes, PACKET_BYTES, scene.stream_block_packets)
    return cut_into_blocks(length_bytes, symbol_bytes=PACKET_BYTES)


def _size_of(frame: CastFrame) -> int:
    if isinstance(frame, Packet) and isinstance(frame.body, Report) and frame.body.ranges:
        return nak_bytes(frame.body)
    return datagram_bytes(frame, PACKET_BYTES)
