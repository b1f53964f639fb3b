"""A link that knows no short cut: what `penstock.sim.link` must agree with.

Packets wait in lists, the transmitter looks at them at every departure, and the
occupancy of the queue is added up anew for each packet.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.seeds import Seeds
from penstock.sim.impairments import LOST, Impairments
from penstock.sim.link_spec import LinkSpec


@dataclass
class Packet:
    number: int
    size_bytes: int
    is_urgent: bool
    is_lost: bool
    extra_ns: int


@dataclass
class NaiveLink:
    name: str
    spec: LinkSpec
    seeds: Seeds
    arrived: list[tuple[int, int]] = field(default_factory=list)
    dropped: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mishaps = Impairments(self.spec, self.seeds.child("link", self.name))
        self.rate_bps = self.spec.rate_bps
        self.waiting: list[Packet] = []
        self.busy_until = 0
        self.last_arrival = 0
        # (arrival, packet), in order of transmission.
        self.wire: list[tuple[int, Packet]] = []

    def transmit_ns(self, size_bytes: int) -> int:
        return 0 if self.rate_bps is None else size_bytes * 8_000_000_000 // self.rate_bps

    def advance(self, now: int) -> None:
        """Every departure up to and including `now`, one by one."""
        while self.waiting and self.busy_until <= now:
            urgent = [p for p in self.waiting if p.is_urgent]
            packet = (urgent or self.waiting)[0]
            self.waiting.remove(packet)
            own_ns = self.transmit_ns(packet.size_bytes)
            self.busy_until += own_ns
            flown_ns = self.busy_until + self.spec.delay_ns + packet.extra_ns
            at = max(self.last_arrival + own_ns, flown_ns)
            self.last_arrival = at
            self.wire.append((at, packet))

    def send(self, number: int, size_bytes: int, is_urgent: bool, now: int) -> None:
        self.advance(now)
        own = [p for p in self.waiting if p.is_urgent == is_urgent]
        rest_ns = max(0, self.busy_until - now)
        unsent_ns = rest_ns + sum(self.transmit_ns(p.size_bytes) for p in own)
        room_ns = self.transmit_ns(self.spec.queue_bytes_max)
        if self.rate_bps is not None and unsent_ns + self.transmit_ns(size_bytes) > room_ns:
            self.dropped.append((now, number, "queue_full"))
            return
        mishap, extra_ns = self.mishaps.draw()
        self.waiting.append(Packet(number, size_bytes, is_urgent, mishap == LOST, extra_ns))
        self.busy_until = max(self.busy_until, now)
        self.advance(now)

    def set_rate(self, rate_bps: int | None, now: int) -> None:
        self.advance(now)
        self.rate_bps = rate_bps

    def cut(self, now: int) -> None:
        self.advance(now)
        self.settle(now - 1)
        for _at, packet in self.wire:
            self.dropped.append((now, packet.number, "down"))
        for packet in sorted(self.waiting, key=lambda p: p.is_urgent):
            self.dropped.append((now, packet.number, "down"))
        self.wire, self.waiting = [], []
        self.busy_until = self.last_arrival = now

    def settle(self, now: int) -> None:
        """Hands over what has arrived by `now`."""
        self.advance(now)
        while self.wire and self.wire[0][0] <= now:
            at, packet = self.wire.pop(0)
            if packet.is_lost:
                self.dropped.append((at, packet.number, "loss"))
            else:
                self.arrived.append((at, packet.number))
