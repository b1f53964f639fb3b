"""A node in the simulator: its machine, its links, and an application that decodes by the law."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from penstock.bloomcast.facts import (
    BlockDecodable,
    BlockEnded,
    BlockFilled,
    CastFact,
    SymbolsArrived,
    TransferOpened,
)
from penstock.bloomcast.node import CastNode
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Port, Send
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_link import CastLink
from penstock.sim.cast.sim_decoder import SimDecoder
from penstock.wire.frames.cast.base import HASH_BYTES, CastFrame, Item
from penstock.wire.frames.cast.topology import CastRole, PortKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.sim.cast.cast_network import CastNetwork


class SimNode:
    """One node, and what it told its driver."""

    def __init__(
        self,
        network: CastNetwork,
        name: str,
        number: int,
        roles: CastRole,
        scopes: tuple[int, ...] = (),
    ) -> None:
        self.name: Final = name
        self.number: Final = number
        self.roles: Final = roles
        self.scopes: Final = scopes
        self._network: Final = network
        self._events: Final = network.events
        self._links: Final[dict[Port, CastLink]] = {}
        self._kinds: Final[dict[Port, PortKind]] = {}
        # Links whose loss the node has noticed.
        self._lost_ports: Final[set[Port]] = set()
        self._armed_at: Instant | None = None
        # How often it has started.
        self.boot = 1
        self.is_up = True
        # What it said, and when; symbols left out.
        self.facts: Final[list[tuple[Instant, CastFact]]] = []
        self.machine = self._new_machine(network.seeds.child("node", name))
        self._decoder: Final = SimDecoder(network.seeds.child("decoder", name))
        self._arm()

    def _new_machine(self, seeds: Seeds) -> CastNode:
        return CastNode(
            self.number,
            self.name,
            boot=self.boot,
            roles=self.roles,
            scopes=self.scopes,
            seeds=seeds,
            now=self._events.now,
            settings=self._network.settings,
        )

    def link_up(self, port: Port, link: CastLink, kind: PortKind) -> None:
        """A link came up."""
        self._links[port], self._kinds[port] = link, kind
        self.call(lambda node, _now: node.link_up(port, kind=kind))

    def notice_cut(self, port: Port) -> None:
        """The node is told at once that a link is down, as of a cable that is pulled."""
        if port not in self._lost_ports:
            self._lost_ports.add(port)
            if self.is_up:
                self.call(lambda node, now: node.link_down(port, now=now))

    def notice_mend(self, port: Port) -> None:
        """It is up again."""
        if port in self._lost_ports:
            self._lost_ports.remove(port)
            if self.is_up:
                self.call(lambda node, _now: node.link_up(port, kind=self._kinds[port]))

    def crash(self) -> None:
        """All is lost but the blocks that were verified."""
        self.is_up = False
        self._armed_at = None
        self._decoder.forget()

    def restart(self) -> None:
        """The next start; what it wanted, its application wants again."""
        assert not self.is_up, self.name
        self.boot += 1
        self.is_up = True
        self.machine = self._new_machine(
            self._network.seeds.child("node", self.name, f"boot {self.boot}")
        )
        for port, kind in self._kinds.items():
            if port not in self._lost_ports:
                self.machine.link_up(port, kind=kind)
        for watcher in self._network.watchers:
            watcher.on_restart(self.name)
        self._drain()

    def poison(self, item: Item, block: int, number: int) -> None:
        """This symbol is not the publisher's."""
        self._decoder.false.add((item, block, number))

    def call(self, verb: Callable[[CastNode, Instant], Any]) -> None:
        """Has the machine do something."""
        if self.is_up:
            verb(self.machine, self._events.now)
            self._drain()

    def arrive(self, frame: CastFrame, via: Port) -> None:
        """A frame arrived."""
        if not self.is_up or via in self._lost_ports:
            return
        observer = self._network.observer
        if observer is not None:
            observer.arrived(self.name, frame, now=self._events.now)
        self.machine.receive(frame, via=via, now=self._events.now)
        self._drain()

    def told(self, kind: type[CastFact]) -> list[tuple[Instant, CastFact]]:
        """The facts of a kind."""
        return [(at, fact) for at, fact in self.facts if isinstance(fact, kind)]

    def _drain(self) -> None:
        poll, network = self.machine.poll, self._network
        observer = network.observer
        while (output := poll()) is not None:
            if isinstance(output, Send):
                size_bytes = network.size_of(output.frame)
                network.crossings.note(self.name, output.port, output.frame, size_bytes)
                if observer is not None:
                    observer.sent(
                        self.name, output.port, output.frame, size_bytes, now=self._events.now
                    )
                self._links[output.port].send(output.frame, size_bytes)
            elif isinstance(output, Deliver):
                self._on_fact(output.item)
        self._arm()

    def _on_fact(self, fact: object) -> None:
        if isinstance(fact, SymbolsArrived):
            self._decoder.on_symbols(fact)
            for watcher in self._network.watchers:
                watcher.on_symbols(self.name, fact)
            return
        if isinstance(fact, BlockDecodable):
            verdict = self._decoder.verdict(fact)
            for watcher in self._network.watchers:
                watcher.on_verdict(self.name, fact, verdict)
            self.machine.decoded(fact.item, fact.block, verdict)
            return
        if isinstance(fact, TransferOpened):
            self._decoder.on_opened(fact)
        elif isinstance(fact, BlockEnded):
            self._decoder.on_ended(fact)
        elif isinstance(fact, BlockFilled):
            digest = digest_of(fact.block, fact.symbols)
            now = self._events.now
            self.machine.close_block(fact.item, fact.block, digest, now=now)
        self.facts.append((self._events.now, fact))  # type: ignore[arg-type]
        for watcher in self._network.watchers:
            watcher.on_fact(self.name, fact)  # type: ignore[arg-type]

    def _arm(self) -> None:
        at = self.machine.next_wakeup()
        if at is not None and (self._armed_at is None or at < self._armed_at):
            self._armed_at = max(at, self._events.now)
            self._events.schedule(self._armed_at, self._wake, self._armed_at)

    def _wake(self, armed_at: Instant) -> None:
        if armed_at != self._armed_at:
            # Armed again, for an earlier time.
            return
        self._armed_at = None
        self.machine.wake(now=self._events.now)
        self._drain()


def digest_of(block: int, symbols: int) -> bytes:
    """Blocks without bytes have hashes all the same."""
    return blake2b(f"{block} {symbols}".encode(), digest_size=HASH_BYTES).digest()
