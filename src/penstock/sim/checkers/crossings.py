"""Checks that no message crosses a link more often than necessary.

- Always: in one life a broker sends a packet towards each destination once, by whichever
  link; so a packet in a loop dies out. A packet that the duplicate filter has forgotten,
  because more than `seen_max` packets passed since, may be sent again.
- When calm: a message crosses each link once, counting both directions together.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, describe_message, message_of
from penstock.sim.link import Link
from penstock.wire.frames.data import MessageId
from penstock.wire.frames.packet import Packet, PacketId


class Crossings(Checker):
    """Counts packets on links between brokers."""

    name = "crossings"

    def __init__(self) -> None:
        self._crossings: Counter[tuple[tuple[str, ...], MessageId]] = Counter()
        self._sent_towards: set[tuple[int, PacketId, int]] = set()
        self._machines: dict[int, object] = {}
        self._packets: dict[PacketId, None] = {}

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:  # noqa: ARG002
        """Checks a packet that a broker sends."""
        message = message_of(frame) if type(frame) is Packet else None
        if message is None or self.runner.guarantees.corrupts_frames:
            return
        ends = self.runner.broker_links[link.name]
        self._check_destinations(ends[0], frame)
        known, calm = self.runner.published.get(message.id), self.runner.calm_since
        if known is not None and calm is not None and known.at >= calm:
            key = (tuple(sorted(ends)), message.id)
            self._crossings[key] += 1
            if self._crossings[key] > 1:
                self.report_violation(
                    link.name, f"{describe_message(message)} crosses for the second time"
                )

    def _check_destinations(self, broker: str, packet: Packet) -> None:
        self._packets[packet.id] = None
        if len(self._packets) > self.runner.guarantees.settings.seen_max:
            return
        machine = self.runner.network.world.hosts[broker].machine
        self._machines[id(machine)] = machine
        for destination in packet.destinations:
            key = (id(machine), packet.id, destination)
            if key in self._sent_towards:
                self.report_violation(
                    broker, f"sends {packet.id} towards broker {destination} again"
                )
            self._sent_towards.add(key)
