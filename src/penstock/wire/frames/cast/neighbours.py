"""HELLO and BEACON: who is at the other end of a link, and where controllers are."""

from __future__ import annotations

import msgspec

from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.cast.base import (
    ADDRESS_BYTES_MAX,
    DOMAIN_BYTES,
    SCOPES_MAX,
    CastFrame,
    Origin,
    check_length,
)
from penstock.wire.frames.cast.packet import check_origin
from penstock.wire.frames.cast.topology import CONTROLLER, CastRole, check_roles
from penstock.wire.frames.texts import check_text


class Hello(CastFrame, frozen=True, kw_only=True, gc=False):
    """Every second on every link."""

    origin: Origin
    domain: bytes
    # The neighbour that was heard on this link, 0 if none was.
    heard: int = 0
    # Whether the sender hears what is multicast on this link.
    hears_multicast: bool = False
    # A host forwards nothing.
    is_router: bool = False

    def __post_init__(self) -> None:
        check_origin(self.origin)
        check_length("a domain", self.domain, DOMAIN_BYTES)
        check_unsigned(32, heard=self.heard)


class Beacon(CastFrame, frozen=True, kw_only=True, gc=False):
    """Flooded every second by a controller; each router that passes it on adds a hop."""

    origin: Origin
    controller: int
    domain: bytes
    tag_epoch: int
    number: int
    hops: int
    # Where the controller takes frames, "" in a simulation.
    address: str = ""
    # Rendezvous point, topology manager or both.
    roles: CastRole = CONTROLLER
    # The scopes it is the rendezvous point of; none: all that nobody else is.
    scopes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_origin(self.origin)
        check_length("a domain", self.domain, DOMAIN_BYTES)
        check_unsigned(32, controller=self.controller, tag_epoch=self.tag_epoch, number=self.number)
        check_unsigned(8, hops=self.hops)
        check_roles(self.roles)
        check_text("an address", self.address, ADDRESS_BYTES_MAX)
        check_count("scopes", self.scopes, SCOPES_MAX)
        for scope in self.scopes:
            check_unsigned(64, scope=scope)


class Probe(CastFrame, frozen=True, kw_only=True, gc=False):
    """Asks who hears this, at this size."""

    origin: Origin
    size_bytes: int

    def __post_init__(self) -> None:
        check_origin(self.origin)
        check_unsigned(16, size_bytes=self.size_bytes)


class HeardSize(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The largest probe that arrived in one way; 0: none did."""

    multicast_bytes: int
    unicast_bytes: int

    def __post_init__(self) -> None:
        check_unsigned(16, multicast=self.multicast_bytes, unicast=self.unicast_bytes)


class ProbeAnswer(CastFrame, frozen=True, kw_only=True, gc=False):
    """What a host heard of a probe."""

    origin: Origin
    name: str
    heard: HeardSize
    buffer_bytes: int
    # Whether the system cuts and joins trains.
    has_segmentation: bool

    def __post_init__(self) -> None:
        check_origin(self.origin)
        check_text("the name of a host", self.name, ADDRESS_BYTES_MAX)
        check_unsigned(32, buffer_bytes=self.buffer_bytes)
