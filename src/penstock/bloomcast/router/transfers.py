"""The relay points of a router, one for each transfer that gave it a configuration."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.router.relay_point import RelayPoint
from penstock.bloomcast.segment.segment_head import Forward
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import FirstRequest


class RelayPoints:
    """By item."""

    def __init__(self, out: Outbox, *, settings: CastSettings, forward: Forward) -> None:
        self._out: Final = out
        self._settings: Final = settings
        self._forward: Final = forward
        self._relays: Final[dict[Item, RelayPoint]] = {}

    def __len__(self) -> int:
        return len(self._relays)

    def configure(self, item: Item, config: RelayConfig, now: Instant) -> None:
        """The controller makes this router a relay point, changes it, or releases it."""
        relay = self._relays.get(item)
        if relay is None:
            if len(self._relays) >= self._settings.head.groups_max:
                self._out.tell(Overflow("relay points"))
                return
            relay = self._relays[item] = RelayPoint(
                self._out, item, settings=self._settings, forward=self._forward
            )
        relay.configure(config, now)

    def on_packet(self, packet: Packet, now: Instant) -> None:
        """A packet passes: it may be for a relay point here, from above or below."""
        relay = self._relays.get(packet.header.item)
        if relay is None:
            return
        body = packet.body
        if isinstance(body, Report | FirstRequest):
            if relay.head.has_segment(packet.header.segment):
                if isinstance(body, Report):
                    relay.on_report(packet.header, body, now)
                else:
                    relay.on_first_request(body)
        else:
            relay.on_packet(packet, now)
            self._free(packet.header.item, relay)

    def wake(self, now: Instant) -> None:
        """Lets each do what is due."""
        for item, relay in list(self._relays.items()):
            at = relay.next_wakeup()
            if at is not None and at <= now:
                relay.wake(now)
                self._free(item, relay)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(*[relay.next_wakeup() for relay in self._relays.values()])

    def _free(self, item: Item, relay: RelayPoint) -> None:
        if relay.is_stopped:
            del self._relays[item]
