"""No message is sent over a link more often than it must be.

- Always: in one life a broker sends a packet towards each destination once, by
  whichever link; so a packet in a loop dies out. What it has forgotten, because
  more packets than `seen_max` came by since, it may send again.
- In calm: a message crosses each link once, counting both ways together.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, message_of, named
from penstock.sim.link import Link
from penstock.wire.frames.data import MessageId
from penstock.wire.frames.packet import Packet, PacketId


class Crossings(Checker):
    """Counts packets on links between brokers."""

    name = "crossings"

    def __init__(self) -> None:
        self._crossed: Counter[tuple[tuple[str, ...], MessageId]] = Counter()
        self._sent: set[tuple[int, PacketId, int]] = set()
        self._machines: dict[int, object] = {}
        self._packets: dict[PacketId, None] = {}

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:  # noqa: ARG002
        """A packet leaves a broker."""
        message = message_of(frame) if type(frame) is Packet else None
        if message is None or self.watch.terms.garbles:
            return
        ends = self.watch.broker_links[link.name]
        self._towards_each_once(ends[0], frame)
        known, calm = self.watch.published.get(message.id), self.watch.calm_since
        if known is not None and calm is not None and known.at >= calm:
            key = (tuple(sorted(ends)), message.id)
            self._crossed[key] += 1
            if self._crossed[key] > 1:
                self.object_to(link.name, f"{named(message)} crosses for the second time")

    def _towards_each_once(self, broker: str, packet: Packet) -> None:
        self._packets[packet.id] = None
        if len(self._packets) > self.watch.terms.settings.seen_max:
            return
        machine = self.watch.network.world.hosts[broker].machine
        self._machines[id(machine)] = machine
        for destination in packet.destinations:
            key = (id(machine), packet.id, destination)
            if key in self._sent:
                self.object_to(broker, f"sends {packet.id} towards broker {destination} again")
            self._sent.add(key)
