"""Every table of every node has a bound, whatever goes wrong around it.

Tables are found by walking from a machine to all that it holds, so that a new one is found too: one
without a bound in the list below is reported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from penstock.bloomcast.controller.offers import OFFERS_MAX
from penstock.bloomcast.controller.topology import NODES_MAX
from penstock.bloomcast.facts import Offer
from penstock.bloomcast.segment.question import BLOCKS_MAX
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.subscriber.block_state import EXCESS_MAX
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.timers import Timers
from penstock.sim.cast.cast_applications import blocks_of
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.checkers.cast.base import CastChecker
from penstock.wire.frames.cast.base import (
    CHOICES,
    PAGES_MAX,
    STREAM_BLOCKS_MAX,
    TRAIN_SYMBOLS_MAX,
)
from penstock.wire.frames.cast.membership import ObjectKind

_SKIPPED: Final = (int, float, str, bytes, bool, Enum, type, CastSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What tables may grow with."""

    # Those that there are, and one for each that was forged.
    nodes: int
    blocks: int
    # Of the largest block.
    symbols: int
    settings: CastSettings


def _nodes(sizes: Sizes) -> int:
    return sizes.nodes


def _links(sizes: Sizes) -> int:
    """In both directions, of a network that is little more than a tree."""
    return 4 * sizes.nodes


def _blocks(sizes: Sizes) -> int:
    return sizes.blocks


def _open_blocks(_sizes: Sizes) -> int:
    return STREAM_BLOCKS_MAX


def _symbols(sizes: Sizes) -> int:
    return sizes.symbols


def _repairs(sizes: Sizes) -> int:
    return sizes.symbols + EXCESS_MAX


def _few(_sizes: Sizes) -> int:
    return 8


def _pages(_sizes: Sizes) -> int:
    return PAGES_MAX


def _pending(sizes: Sizes) -> int:
    return min(4 * sizes.nodes + 8, sizes.settings.discovery.control_pending_max)


def _controllers(sizes: Sizes) -> int:
    return sizes.settings.discovery.controllers_max


def _items(sizes: Sizes) -> int:
    return sizes.settings.controller.items_max


def _neighbours(sizes: Sizes) -> int:
    return min(sizes.nodes, sizes.settings.discovery.neighbours_max)


# By class and attribute. A `BoundedDict` knows its own.
BOUNDS: Final[dict[str, Callable[[Sizes], int]]] = {
    "BlockState._repair": _repairs,
    "BlockState._source": _symbols,
    "BlockTable._begun": _blocks,
    "BlockTable._complete": _blocks,
    "Control._pending": _pending,
    "Control._timers": _pending,
    "Control._unrouted": lambda sizes: sizes.settings.discovery.control_pending_max,
    "EndTable._ends": _nodes,
    "EndTable._gone": _nodes,
    "EndTable.failed": _nodes,
    "FileContents._blocks": _blocks,
    "FreshSymbols._next": _blocks,
    "HeadPlan.segments": _links,
    "HeadSegment.paths": _nodes,
    "Neighbours._arrived_at": _nodes,
    "Neighbours._heard": _neighbours,
    "Neighbours._timers": _links,
    "Network.exits": _nodes,
    "Network.is_router": _nodes,
    "Network.ways": _nodes,
    "NetworkMap._boots": _nodes,
    "Offers._offers": lambda _sizes: OFFERS_MAX,
    "Outbox._outputs": lambda _sizes: 0,
    "Participants._held_offers": _few,
    "Participants.publishers": _few,
    "Participants.subscribers": _few,
    "PlanPages._pages": _pages,
    "PlanService._asked": _items,
    "Ports._ports": _nodes,
    "Progress._needs": lambda sizes: min(sizes.blocks, BLOCKS_MAX),
    "Publisher._timers": _few,
    "Question._answers": _nodes,
    "Question._excused": lambda _sizes: 2,
    "Questions._of_blocks": _open_blocks,
    "RelayPoint._of_blocks": _open_blocks,
    "RelayPoints._relays": lambda sizes: sizes.settings.head.groups_max,
    "RemoteTopology._requests": _items,
    "RemoteTopology._timers": _items,
    "RemoteTopology._versions": _items,
    "Rendezvous._items": _items,
    "Rendezvous._timers": _items,
    "Rendezvous._void": _nodes,
    "Rendezvous._void_timers": _nodes,
    "RepairTargets._exact": lambda sizes: 2 * sizes.blocks,
    "RepairTargets._targets": lambda sizes: 2 * sizes.blocks,
    "Repairs._blocks": _blocks,
    # As many as ends need different ones, or as there are symbols in a train.
    "Repairs._ready": lambda sizes: max(sizes.nodes, TRAIN_SYMBOLS_MAX),
    "Repairs._sent": _blocks,
    "Repairs._sent_exactly": _blocks,
    "Repairs._symbols": _blocks,
    "RoundTable._slots": lambda _sizes: 2,
    "Rounds._symbols": _blocks,
    "Rounds._timers": _few,
    "Routes._routes": _nodes,
    "SendingRate.slow": _nodes,
    "StreamBlocks._begun": _open_blocks,
    "StreamBlocks._complete": _open_blocks,
    "StreamContents._blocks": _open_blocks,
    "StreamContents._closed": _open_blocks,
    "StreamContents._timers": _few,
    "Subscriber._timers": _few,
    "TaggedNetwork._exits": lambda _sizes: CHOICES,
    "TaggedNetwork._tags": _links,
    "TopologyManager._nodes": lambda sizes: min(sizes.nodes, NODES_MAX),
    "Tree.branches": _nodes,
    "Tree.steps": _nodes,
    "TransferPlan.heads": _nodes,
    "TransferPlan.segments": _links,
    "TransferPlans._timers": _items,
    "TransferPlans._transfers": _items,
    "TransferRequest.subscribers": _nodes,
    "Uplinks._controllers": _controllers,
    "Uplinks._repeats": _controllers,
    "Uplinks._timers": lambda sizes: _controllers(sizes) * (sizes.nodes + 1),
    "_Asked.pages": _pages,
    "_Controller.ways": _nodes,
    "_Node.next_pages": _pages,
    "_Slot.everything": _nodes,
    "_Slot.exact": lambda sizes: min(sizes.blocks, BLOCKS_MAX),
    "_Slot.listed": lambda sizes: min(sizes.blocks, BLOCKS_MAX),
    "_Slot.needs": lambda sizes: min(sizes.blocks, BLOCKS_MAX),
    "_Slot.partial": _nodes,
    "_Slot.parts": _nodes,
    "_Slot.reported": _nodes,
    "_Transfer.forgetful": _nodes,
    "_Transfer.subscribers": _nodes,
    "_Transfer.waits_for": _nodes,
}


class BoundsOfTablesChecker(CastChecker):
    """Looks at every node that is up."""

    name = "bounds of tables"

    def __init__(self, network: CastNetwork, offer: Offer, *, forged_nodes: int = 0) -> None:
        super().__init__()
        stream = network.settings.stream
        is_stream = offer.kind is ObjectKind.STREAM
        # Of a stream, as many as are open.
        blocks = (
            dict.fromkeys(range(STREAM_BLOCKS_MAX), stream.block_symbols)
            if is_stream
            else blocks_of(offer)
        )
        self._sizes: Final = Sizes(
            nodes=len(network.nodes) + forged_nodes,
            blocks=len(blocks),
            symbols=max(blocks.values(), default=0),
            settings=network.settings,
        )

    def sample(self, network: CastNetwork) -> None:
        """Walks through all machines."""
        for name, node in network.nodes.items():
            if node.is_up:
                for table, size in tables_of(node.machine):
                    bound = BOUNDS.get(table)
                    if bound is None:
                        self.report(f"{name}: {table} has no bound")
                    elif size > bound(self._sizes):
                        self.report(f"{name}: {table} has {size}, above {bound(self._sizes)}")


def tables_of(machine: object) -> Iterator[tuple[str, int]]:
    """The name and size of each table that a machine holds."""
    seen: set[int] = set()
    waiting: list[Any] = [machine]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or not type(thing).__module__.startswith("penstock.bloomcast"):
            continue
        seen.add(id(thing))
        owner = type(thing).__name__
        for name, value in _attributes(thing):
            if isinstance(value, _SKIPPED) or value is None:
                continue
            if isinstance(value, BoundedDict):
                if len(value) > value.max_entries:
                    yield f"{owner}.{name}", len(value)
                waiting += value.values()
            elif isinstance(value, dict | list | set | deque | Timers | bytearray):
                yield f"{owner}.{name}", len(value)
                waiting += value.values() if isinstance(value, dict) else ()
                waiting += value if isinstance(value, list) else ()
            else:
                waiting.append(value)


def _attributes(thing: object) -> Iterator[tuple[str, Any]]:
    yield from getattr(thing, "__dict__", {}).items()
    for owner in type(thing).__mro__:
        for name in getattr(owner, "__slots__", ()):
            if hasattr(thing, name):
                yield name, getattr(thing, name)
