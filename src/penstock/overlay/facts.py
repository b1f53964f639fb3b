"""Facts that a broker records about the messages it handles, one for each action.

The literals are those of `trace.fates`, repeated because this package does not import the trace.
The driver adds the time and the name of the broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.kernel.machine import Port
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.packet import PacketId

RoutingAction: TypeAlias = Literal[
    "entered", "forwarded", "handed_over", "filtered", "no_match", "dropped"
]
RoutingDropReason: TypeAlias = Literal["ttl", "no_route", "duplicate"]


@dataclass(frozen=True, slots=True)
class RoutingDecision:
    """One action of a broker; `packet_id` is None until a message leaves its first broker.

    `frame` is the published frame; `towards` is the neighbour or client that gets a copy; `reason`
    says why a copy, or some of its destinations, was dropped.
    """

    action: RoutingAction
    packet_id: PacketId | None
    frame: TransportFrame
    towards: Port | None = None
    reason: RoutingDropReason | None = None
