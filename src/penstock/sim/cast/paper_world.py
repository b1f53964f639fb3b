"""The setting of paper 004, figure 6: one object on a scale-free network that loses a little.

20 000 packets of 1 KB at 1 000 packets/s, 5 ms a link and no link rate; publisher and subscribers
are hosts at drawn routers, whose links count and lose. The loss of a link is such that a share
`reported` of the packets is lost somewhere in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.baselines.bounds import (
    RepairBound,
    caches_bound,
    publisher_only_bound,
    time_bound_ns,
    uncoded_bound,
)
from penstock.bloomcast.baselines.exact_bitmaps import ExactBitmaps, exact_bitmaps
from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.baselines.ncf import NcfSegment, NcfSuppression, ncf_suppression
from penstock.bloomcast.baselines.unicast_recovery import UnicastRecovery, unicast_recovery
from penstock.bloomcast.coding.block_layout import cut_into_blocks
from penstock.bloomcast.controller.network import network_of
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tree import Tree, shortest_path_tree
from penstock.bloomcast.facts import ObjectComplete, Offer, TransferFinished
from penstock.bloomcast.literal.nak import nak_bytes
from penstock.bloomcast.machines import with_bfs_relays
from penstock.bloomcast.settings import CastSettings, Variant
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.datagram_sizes import datagram_bytes
from penstock.sim.cast.paper_counts import Amount, Feedback, PaperCounts
from penstock.sim.topology import scale_free
from penstock.wire.frames.cast.base import SECRET_BYTES, CastFrame, Item
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.topology import CastRole, PortKind, PortState

PACKET_BYTES: Final = 1_024
LINK_DELAY_NS: Final[Duration] = 5 * MILLISECOND
# For nodes to learn of each other, and the controller of all.
DISCOVERY_NS: Final[Duration] = 3 * SECOND
_STEP_NS: Final[Duration] = 100 * MILLISECOND
_ITEM: Final = Item(1, 2)
_PUBLISHER: Final = "publisher"
_CONTROLLER: Final = CastRole.ROUTER | CastRole.RENDEZVOUS | CastRole.TOPOLOGY


class PaperVariant(Enum):
    """Which protocol."""

    DEFAULT = auto()
    # As the default, but with the relays of the paper.
    BFS = auto()
    LITERAL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperScene:
    """One run."""

    seed: int
    routers: int = 200
    subscribers: int = 50
    variant: PaperVariant = PaperVariant.DEFAULT
    # Another seed for graph and subscribers: runs of several seeds then differ in the position of
    # the publisher alone, as published, and in what is lost.
    graph_seed: int | None = None
    packets: int = 20_000
    packets_per_s: int = 1_000
    # The share of packets that are lost somewhere in the tree.
    reported_loss: float = 0.03
    # Of a train, which leaves at once; the gap to the next keeps the rate. Three trains of 34 take
    # what a relay point holds NAKs for, 0.1 s: about as many packets as when each leaves alone.
    train_symbols: int = 34
    time_max_ns: Duration = 300 * SECOND


@dataclass(frozen=True, kw_only=True)
class PaperResult:
    """What one run counted, and what others would take for the same losses."""

    scene: PaperScene
    tree_links: int
    link_loss: float
    relays: int
    # Of the publisher and of all relays.
    filters: int
    # From SUBSCRIBE to the first DATA.
    setup_ns: Duration
    # From the first DATA to the last subscriber's last block.
    time_ns: Duration
    # Crossings of links.
    opening: Amount
    needs: Amount
    done: Amount
    # Messages with needs or done, by who made or received them.
    by_subscribers: Amount
    to_publisher: Amount
    to_relays: Amount
    by_relays: Amount
    # Of repair packets: all crossings, those of links that are none of the tree, and packets times
    # nodes that transmitted them.
    repair_links: int
    repair_false_links: int
    repair_nodes: int
    unicast: UnicastRecovery
    # With the relays of this run as its elements.
    ncf: NcfSuppression
    exact: ExactBitmaps
    publisher_only: RepairBound
    caches: RepairBound
    uncoded: RepairBound
    time_bound_ns: Duration


def run_paper_scene(scene: PaperScene) -> PaperResult:
    """Runs until every subscriber has the object and the publisher knows it."""
    world = _PaperWorld(scene)
    world.run()
    return world.result()


class _PaperWorld:
    def __init__(self, scene: PaperScene) -> None:
        self._scene: Final = scene
        self._seeds: Final = Seeds(scene.seed).child("paper")
        places = _Places(scene)
        self._tree: Final = places.tree
        self._link_loss: Final = 1 - (1 - scene.reported_loss) ** (1 / len(places.tree.steps))
        self._layout: Final = cut_into_blocks(
            scene.packets * PACKET_BYTES, symbol_bytes=PACKET_BYTES
        )
        self._counts: Final = PaperCounts(_size_of, block_symbols=self._layout.block_symbols)
        self._network: Final = CastNetwork(
            self._seeds,
            settings=_settings(scene, places.depth),
            delay_ns=LINK_DELAY_NS,
            loss=self._link_loss,
            size_of=_size_of,
            observer=self._counts,
        )
        self._subscribers: Final = places.subscribers
        for name, roles in places.roles.items():
            self._network.add_node(name, roles)
        self._names: Final = {node.number: name for name, node in self._network.nodes.items()}
        assert {name: number for number, name in self._names.items()} == places.numbers
        self._counts.numbers = places.numbers
        for one, other in places.links:
            self._network.connect(one, other)
        self._plan: TransferPlan | None = None
        self._heads: Final[dict[int, int]] = {}
        self._counts.heads = self._heads
        self._asked_at = 0

    def run(self) -> None:
        """All of it."""
        network, layout, scene = self._network, self._layout, self._scene
        network.run(DISCOVERY_NS)
        self._asked_at = network.events.now
        offer = Offer(
            item=_ITEM,
            epoch=1,
            object_id=bytes(16),
            length_bytes=layout.length_bytes,
            symbol_bytes=layout.symbol_bytes,
            block_symbols=tuple(map(layout.symbols_of, range(layout.blocks))),
            receivers=scene.subscribers,
        )
        publisher = network.nodes[_PUBLISHER]
        publisher.call(lambda node, now: node.publish(offer, now=now))
        for name in self._subscribers:
            network.nodes[name].call(lambda node, now: node.subscribe(_ITEM, now=now))
        while not publisher.told(TransferFinished):
            if network.events.now - self._asked_at > scene.time_max_ns:
                raise UsageError(f"{scene} is not over after {scene.time_max_ns // SECOND} s")
            network.run(_STEP_NS)
            self._look()

    def _look(self) -> None:
        """Segments change while subscribers leave."""
        controller = next(iter(self._network.nodes.values()))
        found: list[TransferPlan | None] = []
        controller.call(lambda node, _now: found.append(node.plan_of(_ITEM)))
        [plan] = found
        if plan is not None and plan is not self._plan:
            if self._plan is None:
                links = sum(len(segment.links) for segment in plan.segments.values())
                assert links == len(self._tree.steps), "the controller has yet to learn of links"
                self._plan = plan
            for number, segment in plan.segments.items():
                self._heads[number] = segment.head

    def result(self) -> PaperResult:
        """What came of it."""
        scene, counts, plan = self._scene, self._counts, self._plan
        assert plan is not None
        assert counts.first_data_at is not None
        losses = self._losses()
        tree_ports = {
            (self._names[step.parent], self._names[step.node]) for step in self._tree.steps.values()
        }
        false = sum(n for link, n in counts.repairs.items() if link not in tree_ports)
        relays = [self._names[node] for node in plan.relays]
        complete = [self._complete_at(name) for name in self._subscribers]
        return PaperResult(
            scene=scene,
            tree_links=len(self._tree.steps),
            link_loss=self._link_loss,
            relays=len(relays),
            filters=len(plan.segments),
            setup_ns=counts.first_data_at - self._asked_at,
            time_ns=max(complete) - counts.first_data_at,
            opening=counts.crossings[Feedback.OPENING],
            needs=counts.crossings[Feedback.NEEDS],
            done=counts.crossings[Feedback.DONE],
            by_subscribers=_total(counts.made, self._subscribers),
            to_publisher=_total(counts.taken, [_PUBLISHER]),
            to_relays=_total(counts.taken, relays),
            by_relays=_total(counts.made, relays),
            repair_links=counts.repairs.total(),
            repair_false_links=false,
            repair_nodes=counts.node_packets,
            unicast=unicast_recovery(losses, self._seeds.rng("unicast")),
            ncf=ncf_suppression(
                losses,
                _ncf_segments(plan, self._tree),
                self._seeds.rng("ncf"),
                link_delay_ns=LINK_DELAY_NS,
            ),
            exact=exact_bitmaps(losses, self._seeds.rng("exact bitmaps")),
            publisher_only=publisher_only_bound(losses),
            caches=caches_bound(losses),
            uncoded=uncoded_bound(losses),
            time_bound_ns=time_bound_ns(
                losses,
                packets=scene.packets,
                packets_per_s=scene.packets_per_s,
                link_delay_ns=LINK_DELAY_NS,
            ),
        )

    def _losses(self) -> LossTree:
        tree, received = self._tree, self._counts.received
        whole = (1 << self._scene.packets) - 1
        return LossTree(
            root=tree.root,
            parents={node: step.parent for node, step in tree.steps.items()},
            subscribers=tree.ends,
            missed={node: whole & ~received.get(self._names[node], 0) for node in tree.steps},
            loss=self._link_loss,
        )

    def _complete_at(self, name: str) -> int:
        [(at, _)] = self._network.nodes[name].told(ObjectComplete)
        return at


class _Places:
    """Who is where, and the tree that follows from it."""

    def __init__(self, scene: PaperScene) -> None:
        graph_seed = scene.seed if scene.graph_seed is None else scene.graph_seed
        graph = scale_free(scene.routers, Seeds(graph_seed))
        places = Seeds(graph_seed).rng("places")
        self.subscribers: Final = [f"host{i}" for i in range(scene.subscribers)]
        at = {name: places.choice(graph.nodes) for name in self.subscribers}
        at[_PUBLISHER] = Seeds(scene.seed).rng("place of the publisher").choice(graph.nodes)
        self.links: Final = [(edge.one, edge.other) for edge in graph.edges] + list(at.items())
        self.roles: Final[dict[str, CastRole]] = dict.fromkeys(graph.nodes, CastRole.ROUTER)
        self.roles[graph.nodes[0]] = _CONTROLLER
        self.roles.update(dict.fromkeys(at, CastRole(0)))
        self.numbers: Final = {name: place + 1 for place, name in enumerate(self.roles)}
        self.tree: Final = self._find_tree()
        # Hops to the farthest subscriber.
        self.depth: Final = max(len(self.tree.path(self.tree.root, end)) for end in self.tree.ends)

    def _find_tree(self) -> Tree:
        """As the controller finds it: trees do not depend on secrets, nor on numbers of ports."""
        ports: dict[str, list[PortState]] = {name: [] for name in self.roles}
        for link in self.links:
            for one, other in (link, link[::-1]):
                state = PortState(
                    port=len(ports[one]),
                    kind=PortKind.POINT_TO_POINT,
                    neighbour=self.numbers[other],
                    secret=bytes(SECRET_BYTES),
                )
                ports[one].append(state)
        network = network_of(
            (self.numbers[name], roles, tuple(ports[name])) for name, roles in self.roles.items()
        )
        ends = [self.numbers[name] for name in self.subscribers]
        return shortest_path_tree(network, self.numbers[_PUBLISHER], ends)


def _settings(scene: PaperScene, hops: int) -> CastSettings:
    settings = CastSettings()
    settings = replace(settings, rate=replace(settings.rate, is_controlled=False))
    if scene.variant is not PaperVariant.DEFAULT:
        settings = with_bfs_relays(settings)
    if scene.variant is PaperVariant.LITERAL:
        literal = replace(settings.literal, hops=hops, link_delay_ns=LINK_DELAY_NS)
        settings = replace(settings, variant=Variant.LITERAL, literal=literal)
    publisher = replace(
        settings.publisher,
        rate_bps=scene.packets_per_s * PACKET_BYTES,
        train_symbols=scene.train_symbols,
    )
    return replace(settings, publisher=publisher)


def _size_of(frame: CastFrame) -> int:
    if isinstance(frame, Packet) and isinstance(frame.body, Report) and frame.body.ranges:
        return nak_bytes(frame.body)
    return datagram_bytes(frame, PACKET_BYTES)


def _total(amounts: dict[tuple[str, Feedback], Amount], nodes: list[str]) -> Amount:
    """Of these nodes, without what was said before anything was sent."""
    total = Amount()
    for node in nodes:
        for kind in (Feedback.NEEDS, Feedback.DONE):
            amount = amounts.get((node, kind))
            if amount is not None:
                total.messages += amount.messages
                total.bytes += amount.bytes
                total.numbers += amount.numbers
    return total


def _ncf_segments(plan: TransferPlan, tree: Tree) -> list[NcfSegment]:
    return [
        NcfSegment(
            head,
            len(plan.segments[number].links),
            {end.node: len(tree.path(head, end.node)) for end in plan.segments[number].ends},
        )
        for head in plan.heads
        for number in plan.heads[head].segments
    ]
