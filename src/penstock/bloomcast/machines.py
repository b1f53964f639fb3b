"""The machines of each variant: what a node makes when it publishes, relays and subscribes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from penstock.bloomcast.controller.planner import RelayChoice
from penstock.bloomcast.filters.packet_filter import LITERAL_UP_ONES_MAX
from penstock.bloomcast.literal.publisher import LiteralPublisher
from penstock.bloomcast.literal.relay_point import LiteralRelayPoint
from penstock.bloomcast.literal.subscriber import LiteralSubscriber
from penstock.bloomcast.publisher.publisher import Publisher
from penstock.bloomcast.router.relay_point import RelayPoint
from penstock.bloomcast.settings import CastSettings, Variant
from penstock.bloomcast.subscriber.subscriber import Subscriber

AnyPublisher: TypeAlias = Publisher | LiteralPublisher
AnyRelayPoint: TypeAlias = RelayPoint | LiteralRelayPoint
AnySubscriber: TypeAlias = Subscriber | LiteralSubscriber


@dataclass(frozen=True, slots=True)
class Machines:
    """Of one variant."""

    publisher: type[AnyPublisher]
    relay_point: type[AnyRelayPoint]
    subscriber: type[AnySubscriber]


MACHINES: Final[Mapping[Variant, Machines]] = {
    Variant.DEFAULT: Machines(Publisher, RelayPoint, Subscriber),
    Variant.LITERAL: Machines(LiteralPublisher, LiteralRelayPoint, LiteralSubscriber),
}


def with_bfs_relays(settings: CastSettings) -> CastSettings:
    """The relays of the paper, whose upstream filters may be fuller than ours."""
    controller = replace(settings.controller, relay_choice=RelayChoice.BFS)
    return replace(settings, controller=controller, forwarded_ones_max=LITERAL_UP_ONES_MAX)
