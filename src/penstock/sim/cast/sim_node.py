"""A node in the simulator: its machine, its links, and an application that decodes by the law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.bloomcast.facts import (
    BlockDecodable,
    CastFact,
    SymbolsArrived,
    TransferOpened,
    Verdict,
)
from penstock.bloomcast.node import CastNode
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Port, Send
from penstock.sim.cast.cast_link import CastLink
from penstock.sim.cast.sim_decoder import SimDecoder
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.topology import CastRole, PortKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.sim.cast.cast_network import CastNetwork


class SimNode:
    """One node, and what it told its driver."""

    def __init__(self, network: CastNetwork, name: str, number: int, roles: CastRole) -> None:
        self.name: Final = name
        self.number: Final = number
        self._network: Final = network
        self._events: Final = network.events
        self._links: Final[dict[Port, CastLink]] = {}
        self._armed_at: Instant | None = None
        # What it said, and when; symbols left out.
        self.facts: Final[list[tuple[Instant, CastFact]]] = []
        self._machine: Final = CastNode(
            number,
            name,
            boot=1,
            roles=roles,
            seeds=network.seeds.child("node", name),
            now=self._events.now,
            settings=network.settings,
        )
        self._decoder: Final = SimDecoder(network.seeds.child("decoder", name))
        self._arm()

    def link_up(self, port: Port, link: CastLink, kind: PortKind) -> None:
        """A link came up."""
        self._links[port] = link
        self.call(lambda node, _now: node.link_up(port, kind=kind))

    def call(self, verb: Callable[[CastNode, Instant], Any]) -> None:
        """Has the machine do something."""
        verb(self._machine, self._events.now)
        self._drain()

    def arrive(self, frame: CastFrame, via: Port) -> None:
        """A frame arrived."""
        self._machine.receive(frame, via=via, now=self._events.now)
        self._drain()

    def told(self, kind: type[CastFact]) -> list[tuple[Instant, CastFact]]:
        """The facts of a kind."""
        return [(at, fact) for at, fact in self.facts if isinstance(fact, kind)]

    def _drain(self) -> None:
        poll, network = self._machine.poll, self._network
        while (output := poll()) is not None:
            if isinstance(output, Send):
                size_bytes = network.size_of(output.frame)
                network.crossings.note(self.name, output.port, output.frame, size_bytes)
                self._links[output.port].send(output.frame, size_bytes)
            elif isinstance(output, Deliver):
                self._on_fact(output.item)
        self._arm()

    def _on_fact(self, fact: object) -> None:
        if isinstance(fact, SymbolsArrived):
            self._decoder.on_symbols(fact)
            return
        if isinstance(fact, BlockDecodable):
            enough = self._decoder.is_decodable(fact)
            verdict = Verdict.COMPLETE if enough else Verdict.UNDECODED
            self._machine.decoded(fact.item, fact.block, verdict)
            return
        if isinstance(fact, TransferOpened):
            self._decoder.on_opened(fact)
        self.facts.append((self._events.now, fact))  # type: ignore[arg-type]

    def _arm(self) -> None:
        at = self._machine.next_wakeup()
        if at is not None and (self._armed_at is None or at < self._armed_at):
            self._armed_at = max(at, self._events.now)
            self._events.schedule(self._armed_at, self._wake, self._armed_at)

    def _wake(self, armed_at: Instant) -> None:
        if armed_at != self._armed_at:
            # Armed again, for an earlier time.
            return
        self._armed_at = None
        self._machine.wake(now=self._events.now)
        self._drain()
