"""LINK_STATE: the links of a node, as it tells the topology manager."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.cast.base import (
    NAME_BYTES_MAX,
    PORTS_MAX,
    SECRET_BYTES,
    CastBody,
    check_length,
    check_page,
)
from penstock.wire.frames.texts import check_text


class PortKind(IntEnum):
    """What is at the other end of a port."""

    POINT_TO_POINT = 0
    # All hosts of the network hear it; there is one entry a host, with the same port and secret.
    LAN = 1


class CastRole(IntFlag):
    """What a node does beside sending and receiving."""

    ROUTER = 1
    RENDEZVOUS = 2
    TOPOLOGY = 4


_ROLE_BITS: Final = 3
CONTROLLER: Final = CastRole.RENDEZVOUS | CastRole.TOPOLOGY


class PortState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One direction of a link: from the sender of LINK_STATE to `neighbour`."""

    port: int
    kind: PortKind
    neighbour: int
    # Its tags follow from it.
    secret: bytes
    cost: int = 1

    def __post_init__(self) -> None:
        check_unsigned(16, port=self.port, cost=self.cost)
        check_unsigned(32, neighbour=self.neighbour)
        check_length("the secret of a link", self.secret, SECRET_BYTES)


class LinkState(CastBody, frozen=True, kw_only=True, gc=False):
    """A page of the ports of a node; a new `number` replaces all pages of the one before."""

    node: int
    name: str
    roles: CastRole
    number: int
    page: int
    pages: int
    ports: tuple[PortState, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, node=self.node, number=self.number)
        check_text("the name of a node", self.name, NAME_BYTES_MAX)
        check_roles(self.roles)
        check_page(self.page, self.pages)
        check_count("ports", self.ports, PORTS_MAX)


def check_roles(roles: CastRole) -> None:
    """Refuses roles that there are not."""
    if int(roles) >> _ROLE_BITS:
        raise UsageError(f"roles {int(roles):#04x} are not all known")
