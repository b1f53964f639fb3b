"""LINK_STATE on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.framing import packet_bytes_max
from penstock.wire.codec.guaranteed.fields import read_text, size_text, write_text
from penstock.wire.codec.reader import U8, U32, Reader, check_flags, decode_enum
from penstock.wire.frames.cast.base import NAME_BYTES_MAX, PORTS_MAX, SECRET_BYTES
from penstock.wire.frames.cast.topology import CastRole, LinkState, PortKind, PortState

_STATE: Final = Struct(">BIBBB")
_PORT: Final = Struct(f">HBI{SECRET_BYTES}sH")
# As a number: `~` of an IntFlag leaves out the bits that have no name, and would let them pass.
ALL_ROLES: Final = int(CastRole.ROUTER | CastRole.RENDEZVOUS | CastRole.TOPOLOGY)


class LinkStateCodec:
    """LINK_STATE: a page of the ports of a node.

    +------+-------+------+-------+--------+------+-------+-------+
    | node | bytes | name | roles | number | page | pages | count |
    +------+-------+------+-------+--------+------+-------+-------+
      4      1       bytes  1       4        1      1       1
    each port:
    +------+------+-----------+--------+------+
    | port | kind | neighbour | secret | cost |
    +------+------+-----------+--------+------+
      2      1      4           16       2
    """

    BYTES_MAX: Final = packet_bytes_max(
        U32.size + (U8.size + NAME_BYTES_MAX) + _STATE.size + _PORT.size * PORTS_MAX
    )

    @staticmethod
    def size(body: LinkState) -> int:
        """The size of the body in bytes."""
        return U32.size + size_text(body.name) + _STATE.size + _PORT.size * len(body.ports)

    @staticmethod
    def write(body: LinkState) -> bytes:
        """Encodes the body."""
        parts = [
            U32.pack(body.node),
            write_text(body.name),
            _STATE.pack(body.roles, body.number, body.page, body.pages, len(body.ports)),
        ]
        for own in body.ports:
            parts.append(_PORT.pack(own.port, own.kind, own.neighbour, own.secret, own.cost))
        return b"".join(parts)

    @staticmethod
    def read(cursor: Reader) -> LinkState:
        """Decodes the body."""
        node = cursor.unpack_one(U32)
        name = read_text(cursor)
        roles, number, page, pages, count = cursor.unpack(_STATE)
        ports = cursor.read_bytes(count * _PORT.size)
        return LinkState(
            node=node,
            name=name,
            roles=CastRole(check_flags(roles, ALL_ROLES)),
            number=number,
            page=page,
            pages=pages,
            ports=tuple(
                [
                    PortState(
                        port=port,
                        kind=decode_enum(PortKind, kind),
                        neighbour=neighbour,
                        secret=secret,
                        cost=cost,
                    )
                    for port, kind, neighbour, secret, cost in _PORT.iter_unpack(ports)
                ]
            ),
        )
