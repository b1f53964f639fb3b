"""A source symbol crosses each link of the plan once, in generation 0 of one epoch.

A packet that has taken a link outside of the plan, by chance, may come back and cross another one
again: such symbols are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from penstock.bloomcast.controller.network import DirectedLink
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.kernel.machine import Port
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.checkers.cast.base import CastChecker
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import First

# Epoch, block, number.
_Symbol = tuple[int, int, int]


class OneCrossingChecker(CastChecker):
    """For runs whose plan stays as it is."""

    name = "one crossing"

    def __init__(self, network: CastNetwork, controller: str, item: Item) -> None:
        super().__init__()
        self._network: Final = network
        self._controller: Final = controller
        self._item: Final = item
        self._links: Final[Counter[tuple[str, Port, _Symbol]]] = Counter()
        self._plan: TransferPlan | None = None
        # Those that took links outside of the plan.
        self._false: Final[set[_Symbol]] = set()
        self.false_crossings = 0
        self._epoch = 0

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:
        """Notes where source symbols go."""
        if not isinstance(frame, Packet):
            return
        if isinstance(frame.body, First):
            self._epoch = max(self._epoch, frame.body.epoch)
        if not isinstance(frame.body, Symbols):
            return
        if frame.header.flags & Flag.REPAIR:
            return
        self._plan = self._network.nodes[self._controller].machine.plan_of(self._item) or self._plan
        is_planned = self._is_planned(node, port, frame.header.segment)
        for number in frame.body.numbers:
            symbol = (self._epoch, frame.header.block, number)
            self._links[node, port, symbol] += 1
            if not is_planned:
                self._false.add(symbol)
                self.false_crossings += 1

    def _is_planned(self, name: str, port: Port, segment: int) -> bool:
        plan, node = self._plan, self._network.nodes[name]
        if plan is None or segment not in plan.segments:
            return False
        number = node.machine.port_number(port)
        return DirectedLink(node.number, number) in plan.segments[segment].links

    def at_end(self, network: CastNetwork) -> None:  # noqa: ARG002
        """No symbol has crossed a link twice."""
        for (node, port, symbol), count in self._links.items():
            if count > 1 and symbol not in self._false:
                self.report(f"symbol {symbol} crosses {node}-{port} {count} times")
