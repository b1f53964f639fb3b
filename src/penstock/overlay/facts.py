"""What a broker tells of the messages it handles, one fact for each thing it does with one.

The words are those of `trace.fates`, spelled out: this room does not know that
one. Whoever keeps the trace knows the time and the names.
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
    """`packet_id` is None while a message has none: before it leaves its first broker.

    `frame` is what the client published; `towards` the neighbour or client that
    gets a copy; `reason` why a copy, or a part of its destinations, was dropped.
    """

    action: RoutingAction
    packet_id: PacketId | None
    frame: TransportFrame
    towards: Port | None = None
    reason: RoutingDropReason | None = None
