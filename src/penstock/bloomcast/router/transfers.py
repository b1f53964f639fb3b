"""The relay points of a router, one for each transfer that gave it a configuration."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.machines import MACHINES, AnyRelayPoint
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.segment_head import Forward
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig
from penstock.wire.frames.cast.rate import AllowedRate
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import FirstRequest


class RelayPoints:
    """By item."""

    def __init__(self, out: Outbox, *, settings: CastSettings, forward: Forward) -> None:
        self._out: Final = out
        self._settings: Final = settings
        self._forward: Final = forward
        self._relays: Final[dict[Item, AnyRelayPoint]] = {}
        self._make: Final = MACHINES[settings.variant].relay_point

    def __len__(self) -> int:
        return len(self._relays)

    def __contains__(self, item: Item) -> bool:
        return item in self._relays

    def configure(self, item: Item, config: RelayConfig, now: Instant) -> None:
        """The controller makes this router a relay point, changes it, or releases it."""
        relay = self._relays.get(item)
        if relay is None:
            if not config.segments and config.pages == 1:
                # Released already.
                return
            if len(self._relays) >= self._settings.head.groups_max:
                self._out.tell(Overflow("relay points"))
                return
            relay = self._relays[item] = self._make(
                self._out, item, settings=self._settings, forward=self._forward
            )
        relay.configure(config, now)
        self._free(item, relay)

    def takes_reports_for(self, header: Header) -> bool:
        """Whether a relay point here speaks for this node to the head of this segment."""
        relay = self._relays.get(header.item)
        return relay is not None and relay.parent_segment == header.segment

    def on_local_report(self, packet: Packet, now: Instant) -> None:
        """A subscriber at this node reports: it is one of the relay point's ends."""
        relay, body = self._relays[packet.header.item], packet.body
        if isinstance(body, Report):
            relay.on_report(packet.header, body, now)
        elif isinstance(body, AllowedRate):
            relay.on_rate(packet.header, body, now)

    def on_packet(self, packet: Packet, now: Instant, *, is_subscribed: bool) -> None:
        """A packet passes: it may be for a relay point here, from above or below."""
        relay = self._relays.get(packet.header.item)
        if relay is None:
            return
        relay.set_local_end(is_subscribed)
        body = packet.body
        if isinstance(body, Report | FirstRequest | AllowedRate):
            if relay.head.has_segment(packet.header.segment):
                if isinstance(body, Report):
                    relay.on_report(packet.header, body, now)
                elif isinstance(body, AllowedRate):
                    relay.on_rate(packet.header, body, now)
                else:
                    relay.on_first_request(body, now)
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

    def _free(self, item: Item, relay: AnyRelayPoint) -> None:
        if relay.is_stopped:
            del self._relays[item]
